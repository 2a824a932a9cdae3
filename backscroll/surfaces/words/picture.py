"""A prompt as a picture: a bar by section, the tokens of each section, and every message with its reason.

Owns drawing a receipt for a terminal. Refuses: what is in it; the engine decided, and `surfaces/receipts.py` has the texts.
Widths are measured in cells, so Chinese stays in its columns; without colours every section has a letter of its own in the bar.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from backscroll.surfaces import receipts
from backscroll.surfaces.i18n import t
from backscroll.surfaces.screen.cells import wrap
from backscroll.surfaces.screen.screen import Screen
from backscroll.surfaces.screen.table import Column, table
from backscroll.surfaces.words.parts import fold_part

if TYPE_CHECKING:
    from backscroll.engine.inputs.inputs import CropMark
    from backscroll.engine.prompts.builder import Prompt, PromptDifference, Receipt
    from backscroll.vocab.prompt import Block

#: Without colours: the letter of a section.
LETTERS = {
    "tools": "t", "system": "s", "memory": "m", "summaries": "∑", "history": "h", "recent": "r",
    "operations": "o", "recalled": "c", "graph": "g", "profile": "u", "lore": "l", receipts.AROUND: "+",
    "reserve": "·",
}  # fmt: skip
_WIDEST = 72
_NAMES_FROM = 110  # minimum cells for a row to show the name of its section beside its mark
_EXCERPT = 160


def _mark(screen: Screen, section: str) -> str:
    return "█" if screen.coloured else LETTERS.get(section, "?")


def bar(screen: Screen, sections: Mapping[str, int], budget: int) -> str:
    """Return one line: every section as long as its share of the budget, and at least one cell."""
    room = min(screen.width, _WIDEST)
    lengths = _lengths(list(sections.values()), max(budget, sum(sections.values()), 1), room)
    drawn = [
        screen.style(_mark(screen, name) * cells, f"section_{name}")
        for name, cells in zip(sections, lengths, strict=True)
    ]
    rest = room - sum(lengths)
    return "".join(drawn) + screen.style(("░" if screen.coloured else ".") * rest, "dim")


def _lengths(parts: Sequence[int], whole: int, room: int) -> list[int]:
    """Return cells for each part: by its share, at least one if it is not empty, at the expense of the longest."""
    cells = [max(1, round(part / whole * room)) if part else 0 for part in parts]
    most = (
        room if sum(parts) >= whole else max(sum(map(bool, parts)), room - 1)
    )  # a free token is visible too
    while sum(cells) > most:
        longest = max(range(len(cells)), key=lambda n: cells[n])
        if cells[longest] <= 1:
            break
        cells[longest] -= 1
    return cells


def summary(screen: Screen, receipt: Receipt) -> Iterator[str]:
    """Yield the bar, and the figures under it."""
    yield screen.style(receipts.about(receipt), "dim")
    sections = receipts.shares(receipt)
    yield bar(screen, sections, receipt.budget)
    yield receipts.usage(receipt)
    columns = [Column(""), Column("", style="strong"), Column("", right=True), Column("", right=True)]
    rows = [
        (
            _mark(screen, name),
            receipts.section_name(name),
            receipts.number(tokens),
            receipts.share(tokens, receipt.budget),
        )
        for name, tokens in sections.items()
    ]
    for line, name in zip(table(screen, columns, rows), sections, strict=True):
        yield "  " + screen.style(line[:1], f"section_{name}") + line[1:]


def facts(screen: Screen, receipt: Receipt, crops: Sequence[CropMark] = ()) -> Iterator[str]:
    """Yield the other facts of the receipt, wrapped; warnings last."""
    for line in receipts.facts(receipt, crops):
        yield from _hanging(screen, line)
    for line in receipts.warnings(receipt):
        yield from (screen.style(piece, "warn") for piece in _hanging(screen, line))


def _hanging(screen: Screen, text: str) -> Iterator[str]:
    """Yield a sentence, with continuation lines indented."""
    first = next(iter(wrap(text, screen.width)), "")
    yield first
    rest = text[len(first) :].strip()
    if rest:
        yield from (f"  {line}" for line in wrap(rest, screen.width - 2))


def items(screen: Screen, prompt: Prompt) -> Iterator[str]:
    """Yield every message of the prompt: its size, its resolution, the reason, and its opening words."""
    named = screen.width >= _NAMES_FROM
    columns = [
        Column(""),
        Column(t("columns.section")),
        Column(t("columns.role")),
        Column(t("columns.tokens"), right=True, style="strong"),
        Column(""),
        Column(t("columns.level")),
        Column(t("columns.handle"), style="dim"),
        Column(t("columns.why"), shrinks=True),
    ]
    found = prompt.receipt.items
    rows = [
        (
            _mark(screen, item.section),
            receipts.section_name(item.section) if named else "",
            receipts.role_name(item.role),
            receipts.number(item.tokens),
            "≡" if item.cached else "",
            receipts.level_name(item.level),
            item.handle,
            " · ".join(filter(None, (receipts.reason_words(item.reason), _opening(block)))),
        )
        for item, block in zip(found, prompt.blocks, strict=True)
    ]
    if not rows:
        return
    header, *lines = table(screen, columns, rows)
    yield header
    for line, item in zip(lines, found, strict=True):
        yield screen.style(line[:1], f"section_{item.section}") + line[1:]


def _opening(block: Block) -> str:
    """Return the opening words of a message, on one line."""
    return next((line for part in block.parts if (line := fold_part(part, _EXCERPT))), "")


def difference(screen: Screen, found: PromptDifference) -> Iterator[str]:
    """Yield what changed since the previous prompt."""
    same = {"n": receipts.number(found.same), "tokens": receipts.number(found.cached)}
    yield from _hanging(screen, t("context.same", **same) if found.same else t("context.nothing_same"))
    for mark, style, changed in (("-", "removed", found.gone), ("+", "added", found.new)):
        for item in changed:
            for line in _hanging(screen, f"{mark} {receipts.item_words(item)}"):
                yield screen.style(line, style)
    if not found.gone and not found.new:
        yield t("context.no_difference")
