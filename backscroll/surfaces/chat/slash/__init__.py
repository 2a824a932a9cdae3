"""Slash commands of the chat. `catalogue` lists them, `registry` finds and runs them, `commands` holds their functions.

To add one: a row in `catalogue`, a function `<name>_slash(talk, rest)` in `commands`, a help text in `i18n` (`slash_help`).
"""
