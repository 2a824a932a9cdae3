"""Approval of calls: rules, modes, protected paths, and parsing of command lines.

`approval` decides and asks the user; `rules` and `permissions` are its input; `shell`, `git` and `readonly_commands` read commands.
Nothing here runs a call: the loop does that. A refusal always gives a reason.
"""
