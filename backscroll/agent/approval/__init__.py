"""Approval of calls: rules, modes, protected paths, and parsing of command lines.

`approval` decides; `rules` and `permissions` are what it goes by; `shell`, `git` and `readonly_commands` read commands. Nothing here runs
anything or asks anybody: the loop does that. A refusal always says why.
"""
