"""Shell commands: run with limits on time and output, in a sandbox if the system has one.

`commands` starts them, `supervisor` and `sandbox_entry` are small separate programs between us and the command.
Whether a command may run is decided in `agent/approval/approval`, never here.
"""
