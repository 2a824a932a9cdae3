"""What a crop costs and when it pays: everything after the first removed message is written to the cache again.

Owns the arithmetic, in plain input tokens and with the prices of the model, as for a compaction. A prompt is never longer
than its budget, so no more than that is counted. Cropping itself is in `engine/crops/crops`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backscroll.engine.budget.costs import window_of
from backscroll.engine.budget.counts import counts_for
from backscroll.llm.tokens.tokens import tokenizer_for

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope
    from backscroll.vocab.message import Message

_USUAL = 128_000  # tokens of a prompt, if neither a budget nor a model determines it
_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class CropPrice:
    """What a crop saves and costs, in plain input tokens."""

    cost_now: float
    saves_per_call: float
    pays_back_after: int | None  # calls; None: never


def crop_price(engine: EngineScope, behind: Iterable[Message], saved: int, summary: int) -> CropPrice:
    """Return the price of a crop: `behind` are the remaining messages after its first one, newest first."""
    from backscroll.engine.budget.request import prices_for  # start-up: an agent starts without it

    prices = prices_for(engine, engine.settings.model)
    cost = (_tokens(engine, behind) + summary) * (prices.write - prices.read)
    per_call = max(0, saved) * prices.read
    return CropPrice(cost, per_call, None if per_call <= 0 else max(1, round(cost / per_call)))


def _tokens(engine: EngineScope, messages: Iterable[Message]) -> int:
    """Return the tokens of messages, up to what fits into a prompt."""
    settings = engine.settings
    tokenizer = tokenizer_for(settings.model)
    window = window_of(engine, settings.model) if settings.model else None
    most = settings.budget or (window.tokens if window is not None and window.known else _USUAL)
    total = 0
    some: list[Message] = []
    for message in messages:
        some.append(message)
        if len(some) == _AT_ONCE:
            total += sum(counts_for(engine, some, tokenizer, settings.wire).values())
            some = []
            if total >= most:
                return most
    total += sum(counts_for(engine, some, tokenizer, settings.wire).values())
    return min(total, most)
