"""How long an answer may be: what is kept free for it in a prompt, and what is asked for when the prompt is sent.

Owns the arithmetic. What a model can answer at most is in its table (`llm/prices/windows`), thinking included; a service
that allows less says so once, and is believed. In a prompt's budget an eighth is kept free, so that long prompts leave room for
long answers; what is asked for is all that the model can answer, as far as it fits into the window beside the prompt, and as far as
limits on money allow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from backscroll.engine.budget.costs import limits_of, rates_of, window_of
from backscroll.engine.budget.counts import correction
from backscroll.llm.prices.families import plain_name
from backscroll.llm.prices.ledger import Tokens
from backscroll.llm.tokens.tokens import tokenizer_for

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope, ThreadScope

#: Tokens that are kept free for an answer where no model is named, and in small budgets.
USUAL = 4096
_SHARE = 8  # of a budget, this part is kept free; never more than a quarter
_REFUSED = "answer limits"  # where the figures are kept that services named
_MODELS = 64
#: Of what is left of a window, so much is not asked for: others count tokens in other ways.
_MARGIN, _EXACT_MARGIN, _FRAME = 0.06, 0.01, 64
_OF_MONEY = 0.25  # of what limits on money leave, one answer may cost this share


def output_limit(engine: EngineScope, model: str) -> int:
    """Return tokens that an answer of a model can have at most, thinking included."""
    known = window_of(engine, model).output
    told: int | None = engine.memo.shelf(_REFUSED, _MODELS).get(plain_name(model))
    return known if told is None else min(known, told)


def learn_output_limit(engine: EngineScope, model: str, most: int) -> None:
    """Remember what a service said when it was asked for more."""
    engine.memo.shelf(_REFUSED, _MODELS)[plain_name(model)] = max(1, most)


def reserve_for(engine: EngineScope, model: str, budget: int) -> int:
    """Return tokens of a budget that are kept free for the answer, by default."""
    share = min(max(USUAL, budget // _SHARE), budget // 4)
    return min(share, output_limit(engine, model)) if model else min(USUAL, share)


def longest_answer(
    engine: EngineScope, model: str, *, sent: int, reserve: int, budget: int, window: int | None = None
) -> int:
    """Return tokens to ask for beside a prompt of `sent` tokens, tools included: what the model can answer, as far as there is room.

    `window` is what a service said of itself; else the table counts, and for unknown models the `budget`.
    """
    if not model:
        return reserve
    known = window_of(engine, model)
    whole = window or (known.tokens if known.known else budget)
    margin = _EXACT_MARGIN if tokenizer_for(model).exact else _MARGIN
    left = int(whole - sent * correction(engine, model) * (1 + margin)) - _FRAME
    return max(1, min(output_limit(engine, model), max(left, reserve)))


def reserve_within(engine: EngineScope, model: str, budget: int | None, wanted: object) -> int | None:
    """Return what to keep free for an answer that a program limits to `wanted` tokens; None: what is usual.

    A program may ask for longer answers than its budget for prompts holds. Then only so much is kept free as keeps prompt and
    answer within the window, and never more than half of the budget.
    """
    if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted <= 0:
        return None
    window = window_of(engine, model) if model else None
    known = window.tokens if window is not None and window.known else None
    size = budget or engine.settings.budget or known
    if not size or wanted <= size // 4:
        return wanted
    least = reserve_for(engine, model, size)
    return min(size // 2, max(least, size - (known - wanted) if known is not None else wanted))


def affordable_answer(
    engine: EngineScope, thread: ThreadScope, model: str, *, sent: int, most: int, provider: str = ""
) -> int:
    """Return tokens of an answer of at most `most` that limits on money allow; never less than is usual, which the limits then refuse."""
    limits = limits_of(engine, thread)
    rates = rates_of(engine, model, provider) if limits else None
    if rates is None:
        return most
    left = min(limit.left for limit in limits) - rates.nano(Tokens(input=sent))
    each = int(rates.at(sent)["output"] * 1000)
    if each <= 0:
        return most
    return max(min(USUAL, most), min(most, int(left * _OF_MONEY) // each))
