"""Expand macros of role-play texts: `{{user}}`, `{{char}}` and the few that depend on the text alone.

A macro that depends on a clock, on randomness or on another program's state stays unchanged. Pure.
"""

from __future__ import annotations

import re

_NAMES = re.compile(r"\{\{\s*(user|char|bot|charIfNotGroup)\s*\}\}|<(USER|BOT|CHAR)>", re.IGNORECASE)
_QUIET = re.compile(r"\{\{//[^{}]*\}\}|\{\{\s*(?:noop|original)\s*\}\}", re.IGNORECASE)
_NEWLINE = re.compile(r"\{\{\s*newline\s*\}\}", re.IGNORECASE)
_TRIM = re.compile(r"\s*\{\{\s*trim\s*\}\}\s*", re.IGNORECASE)


def fill_macros(text: str, user: str, char: str) -> str:
    """Return the text with the names in it, and without comments; empty names leave their macros as they are."""
    if "{{" not in text and "<" not in text:
        return text

    def name(found: re.Match[str]) -> str:
        wanted = (found[1] or found[2]).casefold()
        return (user if wanted == "user" else char) or found[0]

    text = _NAMES.sub(name, text)
    if "{{" not in text:
        return text
    return _TRIM.sub("", _NEWLINE.sub("\n", _QUIET.sub("", text)))
