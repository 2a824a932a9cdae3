"""Diffs in colour, shortened for the terminal.

Owns how a unified diff looks in a terminal. Its text comes from elsewhere, so it is made safe first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.text import Text

from backscroll.surfaces.chat.screen.invisible_characters import reveal_invisible
from backscroll.surfaces.i18n import t

#: Lines of a diff that are shown at first.
BRIEF = 30
_STYLES: Mapping[str, str] = {"+": "green", "-": "red", "@": "cyan", "\\": "dim"}
_HEADERS = ("diff --git ", "similarity ", "rename ", "new file", "deleted file", "new mode")


def diff_lines(diff: str, most: int | None = BRIEF) -> list[Text]:
    """Return a unified diff as lines; with `most`, only the beginning and how much is left."""
    lines = _telling(reveal_invisible(diff).rstrip("\n").split("\n")) if diff.strip() else []
    shown = lines if most is None or len(lines) <= most + 1 else lines[:most]
    out = [_line(line) for line in shown]
    if len(shown) < len(lines):
        out.append(Text(t("chat.diff_more", n=len(lines) - len(shown)), style="dim"))
    return out


def count_changes(diff: str) -> tuple[int, int]:
    """Count the lines that a diff adds and removes."""
    added = removed = 0
    for line in diff.split("\n"):
        if line.startswith("+") and not line.startswith("+++ "):
            added += 1
        elif line.startswith("-") and not line.startswith("--- "):
            removed += 1
    return added, removed


def _telling(lines: Sequence[str]) -> list[str]:
    """Return lines without what only machines read: the hashes, and the first line of a file whose name is repeated below it."""
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
