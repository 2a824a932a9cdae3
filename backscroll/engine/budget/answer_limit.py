"""The length of answers: how many tokens a prompt reserves for one, and how many are requested when it is sent.

Owns the arithmetic. A model's maximum output is in its table (`llm/prices/windows`), thinking included; if a service
reports a lower limit, that limit is remembered. A prompt's budget reserves an eighth, so that long prompts leave room for
long answers; the request then asks for all that the model can answer, as far as the window and the spending limits allow.
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

#: Tokens reserved for an answer if no model is named, and in small budgets.
USUAL = 4096
_SHARE = 8  # this fraction of a budget is reserved; never more than a quarter
_REFUSED = "answer limits"  # where limits reported by services are stored
_MODELS = 64
#: This much of the remaining window is not requested: services count tokens differently.
_MARGIN, _EXACT_MARGIN, _FRAME = 0.06, 0.01, 64
_OF_MONEY = 0.25  # share of the remaining spending limit that one answer may cost


def output_limit(engine: EngineScope, model: str) -> int:
    """Return the maximum number of tokens in a model's answer, thinking included."""
    known = window_of(engine, model).output
    told: int | None = engine.memo.shelf(_REFUSED, _MODELS).get(plain_name(model))
    return known if told is None else min(known, told)


def learn_output_limit(engine: EngineScope, model: str, most: int) -> None:
    """Remember the limit that a service reported when more was requested."""
    engine.memo.shelf(_REFUSED, _MODELS)[plain_name(model)] = max(1, most)


def reserve_for(engine: EngineScope, model: str, budget: int) -> int:
    """Return the tokens of a budget that are reserved for the answer by default."""
    share = min(max(USUAL, budget // _SHARE), budget // 4)
    return min(share, output_limit(engine, model)) if model else min(USUAL, share)


def longest_answer(
    engine: EngineScope, model: str, *, sent: int, reserve: int, budget: int, window: int | None = None
) -> int:
    """Return the tokens to request beside a prompt of `sent` tokens, tools included: the model's maximum, as far as there is room.

    `window` is what a service reported; else the table applies, and for unknown models the `budget`.
    """
    if not model:
        return reserve
    known = window_of(engine, model)
    whole = window or (known.tokens if known.known else budget)
    margin = _EXACT_MARGIN if tokenizer_for(model).exact else _MARGIN
    left = int(whole - sent * correction(engine, model) * (1 + margin)) - _FRAME
    return max(1, min(output_limit(engine, model), max(left, reserve)))


def reserve_within(engine: EngineScope, model: str, budget: int | None, wanted: object) -> int | None:
    """Return the reserve for an answer that a program limits to `wanted` tokens; None: the default.

    A program may request longer answers than its prompt budget holds. Then the reserve only keeps prompt and answer within
    the window, and is never more than half of the budget.
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
    """Return the part of an answer of `most` tokens that spending limits allow; never less than the default, which the limits then refuse."""
    limits = limits_of(engine, thread)
    rates = rates_of(engine, model, provider) if limits else None
    if rates is None:
        return most
    left = min(limit.left for limit in limits) - rates.nano(Tokens(input=sent))
    each = int(rates.at(sent)["output"] * 1000)
    if each <= 0:
        return most
    return max(min(USUAL, most), min(most, int(left * _OF_MONEY) // each))
