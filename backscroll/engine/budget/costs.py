"""The ledger: every model call with its tokens, its price on the day, and its purpose.

Owns recording calls, summing them, and the spending limits. Every call is recorded, with an unknown price or as failed if
need be. It is recorded before it is sent, as unanswered and at its maximum cost; its outcome then replaces that entry, so
the sum never misses a call that a crash interrupted. Prices are in `llm/prices/prices`, shapes of usage in
`llm/prices/ledger`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING

from backscroll.engine.core.clock import add_timezone
from backscroll.errors import BudgetExceeded, InvalidInput
from backscroll.llm.prices.families import ContextWindow, plain_name
from backscroll.llm.prices.ledger import Tokens, tokens_of
from backscroll.llm.prices.limits import Limit, LimitCheck, dollars, in_nano, judge_limits
from backscroll.llm.prices.prices import Price, Rates, price_for, rates_for
from backscroll.llm.prices.table import PriceTable, price_table
from backscroll.llm.prices.windows import window_for
from backscroll.llm.tokens.calibration import key_of, restore_calibration, update_calibration
from backscroll.llm.tokens.tokens import tokenizer_for
from backscroll.record.derived import UNANSWERED, Charge, SpendingTotal
from backscroll.vocab.ids import THREAD_ID
from backscroll.vocab.values.moment import microseconds

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope, ThreadScope
    from backscroll.record.ports import Writer

#: What calls can be grouped by.
GROUPS = ("model", "provider", "purpose", "thread", "task", "turn", "day")
FAILED = "failed"
#: Purposes of calls with which a model reads and writes about a conversation.
UNDERSTANDING = ("summary", "extraction", "retry")
_LONGEST = 100  # characters of a purpose, a provider, a task


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a model has yet to write, and what that would cost."""

    texts: int
    input: int  # tokens
    output: int  # tokens, at most
    dollars: float | None  # None: the price is unknown


def prices_of(engine: EngineScope) -> PriceTable:
    """Return the user's own price table, or an empty one."""
    return price_table(engine.settings.prices)


def window_of(engine: EngineScope, model: str = "") -> ContextWindow:
    """Return the context window of a model (default: the one in the settings)."""
    return window_for(model or engine.settings.model, table=prices_of(engine))


def price_of(engine: EngineScope, model: str = "", *, provider: str = "") -> Price:
    """Return relative prices of a model (default: the one in the settings), for deciding what pays."""
    at = datetime.fromisoformat(engine.means.now())
    return price_for(model or engine.settings.model, provider=provider, at=at, table=prices_of(engine))


# -- recording ---------------------------------------------------------------------------------------------------


def record_call(
    engine: EngineScope,
    *,
    model: str,
    usage: object,
    purpose: str,
    thread: ThreadScope | str | None = None,
    task: str | None = None,
    turn: int | None = None,
    provider: str = "",
    at: str | datetime | None = None,
    counted: int | None = None,
    also: Callable[[Writer], None] | None = None,
    settles: Charge | None = None,
) -> Charge:
    """Record a call. `usage` is what the vendor reported, in its own shape; None if it reported nothing.

    With `counted` (the tokens of the prompt by our count) the correction for this model learns from the report. `also` is
    written in the same transaction, so that no paid answer is recorded and then lost. `settles` is the entry that
    `record_asked` wrote when the call was sent; this replaces it.
    """
    tokens = tokens_of(usage)
    said = _moment(engine, at)
    charge = Charge(
        id=engine.means.random(16).hex() if settles is None else settles.id,
        at=said,
        at_us=microseconds(said),
        model=_name(model, "model"),
        purpose=_name(purpose, "purpose", needed=True),
        input=tokens.input,
        cached=tokens.cached,
        written=tokens.written,
        output=tokens.output,
        reasoning=tokens.reasoning,
        nano=_compute_cost(engine, model, provider, purpose, tokens, datetime.fromisoformat(said)),
        provider=_name(provider, "provider"),
        thread=_thread(engine, thread),
        task=_name(task or "", "task"),
        turn=_turn(turn),
        estimated=tokens.estimated,
        day=said[:10],
    )
    learns = counted is not None and not tokens.estimated and not tokenizer_for(model).exact

    def work(tx: Writer) -> Charge:
        if settles is None:
            tx.charge(charge)
        else:
            tx.settle(charge)
        if also is not None:
            also(tx)
        if learns:
            key = key_of(plain_name(model))
            before = restore_calibration(tx.meta(key))
            after = update_calibration(before, counted=counted or 0, reported=tokens.input)
            if after != before:
                tx.set_meta(key, after.to_json())
        return charge

    return engine.store.write(work)


def record_asked(
    engine: EngineScope,
    *,
    model: str,
    counted: int,
    reserve: int = 0,
    thread: ThreadScope | str | None = None,
    task: str | None = None,
    turn: int | None = None,
    provider: str = "",
) -> Charge:
    """Record that a call is about to be sent, for `record_call` to settle; durable when this returns.

    Until then the ledger has it as unanswered: with the tokens of its prompt by our count (`counted`) and its maximum cost,
    with an answer of `reserve` tokens.
    """
    said = engine.means.now()
    most = Tokens(input=counted, output=reserve, estimated=True)
    charge = Charge(
        id=engine.means.random(16).hex(),
        at=said,
        at_us=microseconds(said),
        model=_name(model, "model"),
        purpose=UNANSWERED,
        input=counted,
        nano=_compute_cost(engine, model, provider, UNANSWERED, most, datetime.fromisoformat(said)),
        provider=_name(provider, "provider"),
        thread=_thread(engine, thread),
        task=_name(task or "", "task"),
        turn=_turn(turn),
        estimated=True,
        day=said[:10],
    )
    engine.store.write(lambda tx: tx.charge(charge))
    return charge


def _compute_cost(
    engine: EngineScope, model: str, provider: str, purpose: str, tokens: Tokens, at: datetime
) -> int | None:
    if tokens.cost is not None:
        return in_nano(tokens.cost)
    if tokens.estimated and not tokens.input and not tokens.output:
        # A call that failed before any output is not billed; whether a successful one is, is unknown.
        return 0 if purpose == FAILED else None
    try:
        table = prices_of(engine)
    except InvalidInput:
        # The call was made and must be on the ledger; `cost` and `check_limits` report the broken table.
        return None
    found = rates_for(model, provider=provider, at=at, table=table, tier=tokens.tier)
    return None if found is None else found.nano(tokens)


def _moment(engine: EngineScope, at: str | datetime | None) -> str:
    try:
        return add_timezone(at) or engine.means.now()
    except ValueError as error:
        raise InvalidInput(
            f"invalid time: {at!r}", hint="give an ISO 8601 time such as 2026-11-01T12:00"
        ) from error


def _name(text: str, what: str, *, needed: bool = False) -> str:
    if needed and not text.strip():
        raise InvalidInput(
            f"the {what} of a call is empty", hint="say what the call is for: answer, summary …"
        )
    return text.strip()[:_LONGEST]


def _turn(turn: int | None) -> int | None:
    if turn is not None and turn < 0:
        raise InvalidInput(f"turn {turn} not found", hint="turns count from 0")
    return turn


def _thread(engine: EngineScope, thread: ThreadScope | str | None) -> str:
    if thread is None:
        return ""
    if not isinstance(thread, str):
        return thread.id
    # A full id is used unchecked: a call is recorded even if its thread is gone by now.
    return thread if THREAD_ID.fullmatch(thread) else engine.resolve(thread)


# -- summing -----------------------------------------------------------------------------------------------------


def spending(
    engine: EngineScope,
    by: str | Sequence[str] = (),
    *,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    thread: ThreadScope | str | None = None,
) -> list[SpendingTotal]:
    """Return sums over the ledger, `until` included; without `by`, one sum over everything."""
    groups = (by,) if isinstance(by, str) else tuple(by)
    for name in groups:
        if name not in GROUPS:
            raise InvalidInput(f"costs are not summed by {name!r}", hint=f"use one of {', '.join(GROUPS)}")
    first, last = _span(engine, since, until)
    only = None if thread is None else _thread(engine, thread)
    return engine.store.read(
        lambda reader: reader.sum_spending(groups, thread=only, since_us=first, until_us=last)
    )


def sum_costs(sums: Iterable[SpendingTotal], name: str = "") -> SpendingTotal:
    """Add up several sums under one name."""
    held = list(sums)
    figures = [figure.name for figure in fields(SpendingTotal) if figure.name != "group"]
    return SpendingTotal((name,), *(sum(getattr(s, figure) for s in held) for figure in figures))


def calls(
    engine: EngineScope,
    *,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    thread: ThreadScope | str | None = None,
    limit: int = 100,
) -> list[Charge]:
    """Return the recorded calls, newest first."""
    if limit < 0:
        raise InvalidInput(f"cannot read {limit} calls", hint="give a number of 0 or more")
    first, last = _span(engine, since, until)
    only = None if thread is None else _thread(engine, thread)
    return engine.store.read(
        lambda reader: reader.charges(thread=only, since_us=first, until_us=last, limit=limit)
    )


def _span(
    engine: EngineScope, since: str | datetime | None, until: str | datetime | None
) -> tuple[int | None, int | None]:
    first = None if since is None else microseconds(_moment(engine, since))
    last = (
        None if until is None else microseconds(_moment(engine, until)) + 1
    )  # the store's range excludes its end
    return first, last


# -- limits ------------------------------------------------------------------------------------------------------


def limits_of(engine: EngineScope, thread: ThreadScope | str | None = None) -> tuple[Limit, ...]:
    """Return the limits in force, with what was spent under each so far."""
    settings, out = engine.settings, list[Limit]()
    if settings.thread_limit and thread is not None:
        name = _thread(engine, thread)
        out.append(_limit(engine, "thread", settings.thread_limit, thread=name))
    if settings.day_limit:
        out.append(_limit(engine, "day", settings.day_limit, day=engine.means.now()[:10]))
    return tuple(out)


def _limit(
    engine: EngineScope, scope: str, allowed: float, *, thread: str | None = None, day: str | None = None
) -> Limit:
    sums = engine.store.read(lambda reader: reader.sum_spending((), thread=thread, day=day))
    spent, unpriced = (sums[0].nano, sums[0].unpriced) if sums else (0, 0)
    return Limit("thread" if scope == "thread" else "day", in_nano(allowed), spent, unpriced)


def check_limits(
    engine: EngineScope, thread: ThreadScope | str | None = None, expected: float | None = 0.0
) -> LimitCheck:
    """Return whether a call that is expected to cost so many US dollars (None: unknown) is allowed.

    `verdict.state` is ok, warn or stop; `verdict.enforced()` raises `BudgetExceeded` on stop.
    """
    nano = None if expected is None else in_nano(expected)
    return judge_limits(limits_of(engine, thread), nano, engine.settings.warn_at)


def check_allowance(engine: EngineScope, expected: float | None = 0.0) -> None:
    """Raise if today's background calls have used up their allowance."""
    allowed = engine.settings.understanding_limit
    if not allowed:
        return
    day = engine.means.now()[:10]
    sums = engine.store.read(lambda reader: reader.sum_spending(("purpose",), day=day))
    spent = sum(s.nano for s in sums if s.group[0] in UNDERSTANDING)
    if spent + in_nano(expected or 0.0) > in_nano(allowed):
        raise BudgetExceeded(
            f"understanding has cost {dollars(spent)} of {dollars(in_nano(allowed))} today",
            hint="raise the setting `understanding_limit`, or set it to 0 for no limit; rules serve meanwhile",
            scope="understanding",
            allowed=in_nano(allowed),
            spent=spent,
        )


def expected_cost(
    engine: EngineScope, model: str, *, input: int, output: int = 0, cached: int = 0, provider: str = ""
) -> float | None:
    """Return what a call would cost in US dollars; None if unknown."""
    rates = rates_of(engine, model, provider)
    return None if rates is None else rates.nano(Tokens(input=input, cached=cached, output=output)) / 1e9


def rates_of(engine: EngineScope, model: str, provider: str = "") -> Rates | None:
    """Return the current prices of a model; None if unknown."""
    at = datetime.fromisoformat(engine.means.now())
    return rates_for(model, provider=provider, at=at, table=prices_of(engine))
