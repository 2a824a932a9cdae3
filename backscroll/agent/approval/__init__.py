"""Whether a call may go ahead: rules, modes, protected paths, and the reading of command lines that they need.

`approval` decides; `rules` and `permissions` are what it goes by; `shell`, `git` and `looking` read commands. Nothing here runs
anything or asks anybody: the loop does that. A refusal always says why.
"""
