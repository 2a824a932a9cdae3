"""The texts of a receipt, for a terminal and for a page alike.

Owns the names of sections, levels and reasons in the language in use, the figures, and the sentences below them. Refuses:
deciding (the engine did) and layout (`words/picture`, `pages/context`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from backscroll.surfaces.i18n import count, find, t
from backscroll.surfaces.i18n.translation import say
from backscroll.surfaces.screen.plain import one_line

if TYPE_CHECKING:
    from backscroll.engine.inputs.inputs import CropMark
    from backscroll.engine.prompts.builder import Receipt, ReceiptItem

#: Tokens counted that belong to no message: what a wire puts around them, and what repairs may have added.
AROUND = "around"
_LORE = re.compile(
    r"lorebook entry «(.*)» of «(.*)»: (?:always|woken by «(.*?)»(?: in entry «(.*)»)?)", re.DOTALL
)
_NUMBERED = re.compile(r"(\d+) (.+)")


def number(value: int) -> str:
    """Return a number with thousands separators."""
    return f"{value:,}"


def share(part: int, whole: int) -> str:
    """Return a share of the budget; a non-zero share is never shown as zero."""
    value = part / max(1, whole)
    return "<0.1%" if 0 < value < 0.0005 else f"{value:.1%}"


def dollars(nano: int) -> str:
    """Return billionths of a dollar as an amount to read."""
    value = nano / 1_000_000_000
    return f"${value:.4f}" if value < 1 else f"${value:,.2f}"


def section_name(section: str) -> str:
    """Return the display name of a section."""
    return find(f"sections.{section}") or section


def level_name(level: str) -> str:
    """Return how much of something is shown, in words."""
    return find(f"levels.{level}") or level


def role_name(role: str) -> str:
    """Return the display name of a role."""
    return find(f"roles.{role}") or role


def reason_words(reason: str) -> str:
    """Return why something is in the prompt, or is not, in the language in use."""
    if lore := _LORE.fullmatch(reason):
        facts = {"name": lore[1], "book": lore[2], "key": lore[3] or "", "other": lore[4] or ""}
        return t(f"lore.why_{'through' if lore[4] else 'key' if lore[3] else 'always'}", **facts)
    counted = _NUMBERED.fullmatch(reason)
    if counted:
        key = f"reasons.{_key(counted[2])}"
        return count(key, int(counted[1])) if find(f"{key}.other") else reason
    return find(f"reasons.{_key(reason)}") or reason


def _key(reason: str) -> str:
    return "_".join(re.findall(r"[a-z0-9]+", reason.lower()))


def shares(receipt: Receipt) -> dict[str, int]:
    """Return tokens by section so that they add up to the total; what belongs to no message comes before the answer."""
    out = receipt.sections()
    around = receipt.total - sum(out.values())
    if around > 0:
        answer = out.pop("reserve", 0)
        out[AROUND] = around
        if answer:
            out["reserve"] = answer
    return out


def about(receipt: Receipt) -> str:
    """Return which model the prompt is for, and how it was counted."""
    words = [receipt.wire, receipt.model or receipt.tokenizer]
    return " · ".join([*map(one_line, words), *([] if receipt.exact else [t("context.estimated")])])


def usage(receipt: Receipt) -> str:
    """Return how much of the budget is used."""
    return t(
        "context.usage",
        total=number(receipt.total),
        budget=number(receipt.budget),
        share=f"{receipt.usage:.0%}",
        free=number(max(0, receipt.room)),
    )


def facts(receipt: Receipt, crops: Sequence[CropMark] = ()) -> Iterator[str]:
    """Yield further facts, a sentence each."""
    if not receipt.items:
        yield t("context.nothing")
    if receipt.cached:
        yield t("context.cached", tokens=number(receipt.cached))
    if receipt.left_out:
        yield count("context.left_out", receipt.left_out, all=number(receipt.messages))
    if receipt.summarised and receipt.unseen:
        yield count("context.unseen", receipt.unseen)
    if receipt.pending:
        yield count("context.pending", receipt.pending)
    for crop in crops:
        yield count("context.cropped", crop.count, handle=crop.handle)
    if receipt.compaction:
        yield _compaction(receipt)
    if receipt.money.cold is not None:
        yield _money(receipt)
    if receipt.recall:
        yield t("context.recall", why=reason_words(receipt.recall))
    if receipt.repairs:
        yield t("context.repairs", rules="; ".join(_rules(receipt.repairs)))


def _compaction(receipt: Receipt) -> str:
    told = receipt.compaction
    return t(
        "context.compacted",
        reason=find(f"context.because_{told['reason']}") or str(told["reason"]),
        before=number(int(told["before"])),
        after=number(int(told["after"])),
    )


def _money(receipt: Receipt) -> str:
    cold, warm = receipt.money.cold or 0, receipt.money.warm
    if not receipt.cached or warm is None or warm >= cold:
        return t("context.money_cold", cold=dollars(cold))
    return t("context.money", warm=dollars(warm), cold=dollars(cold))


def _rules(ids: Sequence[str]) -> Iterator[str]:
    # start-up: few receipts name rules
    from backscroll.engine.exchange.validation import rules

    known = rules()
    for name in ids:
        yield f"{name} {say(known[name].title)}" if name in known else name


def warnings(receipt: Receipt) -> list[str]:
    """Return the warnings of the window monitor."""
    return [reason_words(warning) for warning in receipt.warnings]


def item_words(item: ReceiptItem) -> str:
    """Return an item in a line, without its text."""
    where = item.handle or role_name(item.role)
    return (
        f"{section_name(item.section)} · {where} · {number(item.tokens)} · {level_name(item.level)}"
        f" · {reason_words(item.reason)}"
    )
