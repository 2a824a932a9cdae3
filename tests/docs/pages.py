"""Pages of the documentation and the fenced blocks in them, told apart by what stands behind the fence.

- `python`: runs; a `text` block right after it is what it prints
- `python file=backscroll/...`: an excerpt, which must stand in that file; a line `...` leaves something out
- `console`: `$ command` and what it prints; a line `…` stands for any number of lines
- `console counts`: its numbers are counts of tokens, which differ a little from run to run
- `sh`, `text`, `json` and so on: only shown
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.house import tree

_OPENS = re.compile(r"^(?P<fence>`{3,})(?P<info>[^`]*)$")


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, what else stands behind the fence, its text and where it is."""

    language: str
    more: str
    text: str
    line: int


@cache
def pages() -> tuple[Path, ...]:
    """Every page that people read, in a steady order."""
    top = [path for path in sorted(tree.ROOT.glob("*.md")) if path.name != "AGENTS.md"]
    return (*top, *sorted((tree.ROOT / "docs").rglob("*.md")))


def page_name(page: Path) -> str:
    """The page as people call it."""
    return tree.name(page)


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page in order."""
    return list(_blocks(page.read_text(encoding="utf-8").splitlines()))


def _blocks(lines: list[str]) -> Iterator[Block]:
    fence, info, first = "", "", 0
    inside: list[str] = []
    for number, line in enumerate(lines, 1):
        if fence:
            if line == fence:
                language, _, more = info.partition(" ")
                yield Block(language, more.strip(), "\n".join(inside), first)
                fence = ""
            else:
                inside.append(line)
        elif found := _OPENS.match(line):
            fence, info, first, inside = found["fence"], found["info"].strip(), number, []
    assert not fence, f"a block that begins in line {first} never ends"


def prose(page: Path) -> str:
    """The text of a page without its fenced blocks."""
    out: list[str] = []
    fence = ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if fence:
            fence = "" if line == fence else fence
        elif found := _OPENS.match(line):
            fence = found["fence"]
        else:
            out.append(line)
    return "\n".join(out)
