"""A prompt as a picture: a bar by section, what each section takes, and every message with its reason.

Owns drawing a receipt for a terminal. Refuses: what is in it; the engine decided. Widths are measured in cells, so Chinese
stays in its columns; without colours every section has a letter of its own in the bar.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from backscroll.surfaces.cli.screen import Screen
from backscroll.surfaces.cli.table import Column, table
from backscroll.surfaces.i18n import find, t

if TYPE_CHECKING:
    from backscroll.engine.prompting import Difference, Item, Receipt

_STYLE = {
    "tools": "tool",
    "system": "system",
    "memory": "match",
    "summaries": "user",
    "history": "assistant",
    "recent": "strong",
    "operations": "tool",
    "recalled": "match",
    "graph": "user",
    "reserve": "dim",
}
_LETTER = {
    "tools": "t", "system": "s", "memory": "m", "summaries": "∑", "history": "h", "recent": "r",
    "operations": "o", "recalled": "c", "graph": "g", "reserve": "·",
}  # fmt: skip
_WIDEST = 72


def number(value: int) -> str:
    """A number with its thousands apart."""
    return f"{value:,}"


def section_name(section: str) -> str:
    """The name of a section for people."""
    return find(f"sections.{section}") or section


def reason_words(reason: str) -> str:
    """Why something is in the prompt, in the language in use."""
    key = "".join(c if c.isalnum() else "_" for c in reason.lower()).strip("_")
    return find(f"reasons.{key}") or reason


def bar(screen: Screen, sections: dict[str, int], budget: int) -> str:
    """One line: every section as long as its share of the budget."""
    room = min(screen.width, _WIDEST)
    total = max(budget, sum(sections.values()), 1)
    out, used, exact = "", 0, 0.0
    for name, tokens in sections.items():
        exact += tokens / total * room
        cells = max(1 if tokens else 0, round(exact) - used)
        cells = min(cells, room - used)
        mark = "█" if screen.coloured else _LETTER.get(name, "?")
        out += screen.style(mark * cells, _STYLE.get(name, ""))
        used += cells
    return out + screen.style("░" if screen.coloured else ".", "dim") * (room - used)


def summary(screen: Screen, receipt: Receipt) -> Iterator[str]:
    """The bar, and the figures under it."""
    about = f"{receipt.wire} · {receipt.model or receipt.tokenizer}"
    counted = "" if receipt.exact else f" · {t('context.estimated')}"
    yield screen.style(f"{about}{counted}", "dim")
    yield bar(screen, receipt.sections(), receipt.budget)
    yield t(
        "context.usage",
        total=number(receipt.total),
        budget=number(receipt.budget),
        share=f"{receipt.usage:.0%}",
        free=number(max(0, receipt.room)),
    )
    columns = [Column(""), Column("", style="strong"), Column("", right=True), Column("", right=True)]
    rows = [
        (
            "█" if screen.coloured else _LETTER.get(name, "?"),
            section_name(name),
            number(tokens),
            f"{tokens / max(1, receipt.budget):.1%}",
        )
        for name, tokens in receipt.sections().items()
    ]
    for line, (name, *_) in zip(table(screen, columns, rows), receipt.sections().items(), strict=True):
        yield "  " + (screen.style(line[:1], _STYLE.get(name, "")) + line[1:] if screen.coloured else line)


def facts(screen: Screen, receipt: Receipt) -> Iterator[str]:
    """What else the receipt says."""
    if receipt.cached:
        yield t("context.cached", tokens=number(receipt.cached))
    if receipt.left_out:
        yield t("context.left_out", n=number(receipt.left_out), all=number(receipt.messages))
    if receipt.compaction:
        facts_of = receipt.compaction
        yield t(
            "context.compacted",
            reason=t(f"context.because_{facts_of['reason']}"),
            before=number(int(facts_of["before"])),
            after=number(int(facts_of["after"])),
        )
    if receipt.money.cold is not None:
        warm = receipt.money.warm if receipt.money.warm is not None else receipt.money.cold
        yield t("context.money", warm=dollars(warm), cold=dollars(receipt.money.cold))
    if receipt.recall:
        yield t("context.recall", why=reason_words(receipt.recall))
    if receipt.repairs:
        yield t("context.repairs", rules=", ".join(receipt.repairs))
    for warning in receipt.warnings:
        yield screen.style(reason_words(warning), "warn")


def dollars(nano: int) -> str:
    """Billionths of a dollar for people."""
    value = nano / 1_000_000_000
    return f"${value:.4f}" if value < 1 else f"${value:,.2f}"


def items(screen: Screen, found: Sequence[Item]) -> Iterator[str]:
    """Every message of the prompt: where it stands, how large it is, at which resolution and why."""
    columns = [
        Column("#", right=True, style="dim"),
        Column(t("columns.section")),
        Column(t("columns.role")),
        Column(t("columns.tokens"), right=True, style="strong"),
        Column(t("columns.level")),
        Column(t("columns.handle"), style="dim"),
        Column(""),
        Column(t("columns.why"), shrinks=True),
    ]
    rows = [
        (
            str(n),
            section_name(item.section),
            find(f"roles.{item.role}") or item.role,
            number(item.tokens),
            find(f"levels.{item.level}") or item.level,
            item.handle,
            "≡" if item.cached else "",
            reason_words(item.reason),
        )
        for n, item in enumerate(found, 1)
    ]
    yield from table(screen, columns, rows)


def difference(screen: Screen, found: Difference) -> Iterator[str]:
    """What changed since the previous prompt."""
    yield t("context.same", n=number(found.same), tokens=number(found.cached))
    for mark, style, changed in (("-", "removed", found.gone), ("+", "added", found.new)):
        for item in changed:
            words = f"{section_name(item.section)} · {item.handle or item.role} · {number(item.tokens)}"
            yield screen.style(f"{mark} {words} · {reason_words(item.reason)}", style)
