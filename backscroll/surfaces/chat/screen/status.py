"""The status line: context use, tokens, cached share, cost, model.

Owns the current figures of one conversation, and their layout in the available width: a narrow terminal gets the most
important ones. Refuses: counting (the agent counts) and drawing (`player`, `line`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backscroll.llm.prices.limits import dollars
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.screen.cells import cut, width
from backscroll.surfaces.screen.plain import one_line

if TYPE_CHECKING:
    from backscroll.agent.events import Asked, RunUsage

_BETWEEN = " · "
_TEN_THOUSAND = 10_000


@dataclass(frozen=True, slots=True)
class AnswerProgress:
    """An answer in progress, as estimated."""

    input: int = 0
    cached: int = 0
    output: int = 0
    nano: int | None = None


@dataclass(frozen=True, slots=True)
class StatusFigures:
    """The figures of the status line."""

    tokens: int = 0  # of the newest prompt
    budget: int = 0
    input: int = 0  # of the whole thread
    cached: int = 0
    output: int = 0
    nano: int | None = None  # US dollars × 10⁹
    calls: int = 0
    model: str = ""
    provider: str = ""
    offline: bool = False
    works: int = 0  # in the background
    under_way: AnswerProgress | None = None  # usage that the service has not reported yet

    @property
    def share(self) -> int:
        """The share of the budget that the newest prompt takes, in percent."""
        return round(100 * self.tokens / self.budget) if self.budget else 0

    @property
    def cached_share(self) -> int:
        """The cached share of what was sent, in percent."""
        return round(100 * self.cached / self.input) if self.input else 0


def update_after_prompt(figures: StatusFigures, happening: Asked) -> StatusFigures:
    """Return the figures after a prompt was sent."""
    from dataclasses import replace

    return replace(
        figures,
        tokens=happening.tokens,
        budget=happening.budget,
        model=happening.model or figures.model,
    )


def update_totals(figures: StatusFigures, sums: RunUsage) -> StatusFigures:
    """Return the figures with the totals of the whole thread."""
    from dataclasses import replace

    return replace(
        figures, input=sums.input, cached=sums.cached, output=sums.output, nano=sums.nano, calls=sums.calls
    )


def status_line(figures: StatusFigures, room: int) -> str:
    """Return as much as fits, the most important figures last to go."""
    parts = _parts(figures)
    # What is dropped first if there is too little room; context and cost stay to the end.
    for dropped in ("works", "service", "tokens", "cached", "model", "budget"):
        line = _BETWEEN.join(words for name, words in parts if words and not _is_redundant(name, parts))
        if width(line) <= room:
            return line
        parts = [(name, words) for name, words in parts if name != dropped]
        if dropped == "budget":
            parts = [(n, w if n != "context" else f"{figures.share}%") for n, w in parts]
    return cut(_BETWEEN.join(words for _, words in parts if words), room)


def _is_redundant(name: str, parts: Sequence[tuple[str, str]]) -> bool:
    """Return True for `context` next to `budget`: it says the same, shorter, and is used only if that was dropped."""
    return name == "context" and any(n == "budget" for n, _ in parts)


def about_tokens(text: str) -> float:
    """Estimate the tokens of a text: four letters each, fewer Chinese, Japanese or Korean characters."""
    wide = sum(character > "\u2e7f" for character in text)
    return wide * 0.75 + (len(text) - wide) / 4


def with_under_way(figures: StatusFigures) -> tuple[StatusFigures, str]:
    """Return the totals with what is in progress, and the sign that they are estimates."""
    now = figures.under_way
    if now is None:
        return figures, ""
    from dataclasses import replace

    known = figures.nano is not None or not figures.calls
    nano = None if now.nano is None or not known else (figures.nano or 0) + now.nano
    summed = replace(
        figures,
        input=figures.input + now.input,
        cached=figures.cached + now.cached,
        output=figures.output + now.output,
        nano=nano,
    )
    return summed, "~"


def _parts(figures: StatusFigures) -> list[tuple[str, str]]:
    figures, about = with_under_way(figures)
    service = "" if figures.offline or not figures.provider else one_line(figures.provider)
    model = t("chat.offline") if figures.offline else one_line(figures.model)
    budget = ""
    if figures.budget:
        budget = t(
            "chat.context_use",
            used=short(figures.tokens),
            budget=short(figures.budget),
            share=figures.share,
        )
    spent = figures.calls or figures.input or figures.output
    return [
        ("model", model),
        ("service", service if service != model else ""),
        ("budget", budget),
        ("context", f"{figures.share}%" if figures.budget else ""),
        ("tokens", f"{about}↑{short(figures.input)} {about}↓{short(figures.output)}" if spent else ""),
        ("cached", t("chat.cached_share", share=figures.cached_share) if figures.cached else ""),
        ("cost", f"{about if figures.nano is not None else ''}{money(figures.nano)}" if spent else ""),
        ("works", count("chat.works", figures.works) if figures.works else ""),
    ]


def short(number: int) -> str:
    """Return a number of tokens in a few cells: 912, 4.1k, 120k, 1.2M."""
    if number < 1000:
        return str(number)
    if number < _TEN_THOUSAND:
        return f"{number / 1000:.1f}k"
    if number < 1_000_000:
        return f"{number // 1000}k"
    return f"{number / 1_000_000:.1f}M"


def money(nano: int | None) -> str:
    """Return dollars; a question mark if the price is unknown."""
    if nano is None:
        return "$?"
    return dollars(nano)
