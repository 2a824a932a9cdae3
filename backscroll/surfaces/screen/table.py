"""Tables without rules: columns separated by two spaces, a dim header, Chinese measured correctly.

A column that may shrink is cut with an ellipsis when the screen is too narrow; the others keep their width. Drawn by hand
because loading a layout library takes longer than listing a store.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from backscroll.surfaces.screen.cells import cut, pad_text, width
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.screen.screen import Screen

_GAP = 2
_LEAST = 8


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its header, and how it behaves."""

    header: str
    right: bool = False
    shrinks: bool = False
    style: str = ""


def table(
    screen: Screen, columns: Sequence[Column], rows: Sequence[Sequence[str]], indent: int = 0
) -> Iterator[str]:
    """Yield the lines of a table; columns that are empty in every row are left out."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    shown = [i for i in range(len(columns)) if any(row[i] for row in cells)]
    wide = {i: max(width(columns[i].header), *(width(row[i]) for row in cells)) for i in shown}
    _shrink(wide, {i for i in shown if columns[i].shrinks}, screen.width - indent)
    margin = " " * indent
    if any(columns[i].header for i in shown):
        header = _row([columns[i].header for i in shown], [columns[i] for i in shown], list(wide.values()))
        yield margin + screen.style(header.rstrip(), "dim")
    for row in cells:
        yield (
            margin + _row([row[i] for i in shown], [columns[i] for i in shown], list(wide.values()), screen)
        ).rstrip()


def _shrink(wide: dict[int, int], soft: set[int], room: int) -> None:
    """Take the missing cells from the widest of the columns that may shrink."""
    excess = sum(wide.values()) + _GAP * (len(wide) - 1) - room
    while excess > 0 and soft:
        widest = max(soft, key=lambda i: wide[i])
        if wide[widest] <= _LEAST:
            return
        wide[widest] -= 1
        excess -= 1


def _row(
    cells: Sequence[str], columns: Sequence[Column], wide: Sequence[int], screen: Screen | None = None
) -> str:
    out: list[str] = []
    for cell, column, room in zip(cells, columns, wide, strict=True):
        text = pad_text(cut(cell, room), room, right=column.right)
        out.append(screen.style(text, column.style) if screen and column.style else text)
    return (" " * _GAP).join(out)
