"""Commands of a shell: run with bounds on time and output, in a sandbox where the system has one.

`commands` starts them, `warden` and `sandbox_entry` are small programs of their own that stand between us and the command.
Whether a command may run is decided in `act/approval/approval`, never here.
"""
