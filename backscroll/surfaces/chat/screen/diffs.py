"""Diffs in colour, and no longer than one wants to see.

Owns how a unified diff looks in a terminal. Everything in it was written by somebody else, so it is made safe first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.text import Text

from backscroll.surfaces.chat.screen.invisible_characters import reveal_invisible
from backscroll.surfaces.i18n import t

#: Lines of a diff that are shown before one asks for all.
BRIEF = 30
_STYLES: Mapping[str, str] = {"+": "green", "-": "red", "@": "cyan", "\\": "dim"}
_HEADERS = ("diff --git ", "similarity ", "rename ", "new file", "deleted file", "new mode")


def diff_lines(diff: str, most: int | None = BRIEF) -> list[Text]:
    """A unified diff, line by line; with `most`, the beginning and how much is left."""
    lines = _telling(reveal_invisible(diff).rstrip("\n").split("\n")) if diff.strip() else []
    shown = lines if most is None or len(lines) <= most + 1 else lines[:most]
    out = [_line(line) for line in shown]
    if len(shown) < len(lines):
        out.append(Text(t("chat.diff_more", n=len(lines) - len(shown)), style="dim"))
    return out


def count_changes(diff: str) -> tuple[int, int]:
    """Lines that a diff adds and takes away."""
    added = removed = 0
    for line in diff.split("\n"):
        if line.startswith("+") and not line.startswith("+++ "):
            added += 1
        elif line.startswith("-") and not line.startswith("--- "):
            removed += 1
    return added, removed


def _telling(lines: Sequence[str]) -> list[str]:
    """Without what only machines read: the hashes, and the first line of a file whose name stands below it once more."""
    out: list[str] = []
    for number, line in enumerate(lines):
        named = line.startswith("diff --git ") and any(
            lines[n].startswith("--- ") for n in range(number + 1, min(number + 4, len(lines)))
        )
        hashes = line.startswith("index ") and number > 0 and lines[number - 1].startswith(_HEADERS)
        if not named and not hashes:
            out.append(line)
    return out


def _line(line: str) -> Text:
    if line.startswith(("+++ ", "--- ", "diff ", "rename ", "index ", "new file", "deleted file")):
        return Text(line, style="bold")
    return Text(line, style=_STYLES.get(line[:1], ""))
