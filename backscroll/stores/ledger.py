"""The ledger in both stores: columns of a charge, grouping of sums, and their order.

Costs are computed by the caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from backscroll.errors import InvalidInput
from backscroll.record.derived import UNANSWERED, Charge, SpendingTotal
from backscroll.stores.columns import plain

#: In the order of the columns.
CHARGE = (
    "id, at, at_us, day, model, provider, purpose, thread, task, turn, "
    "input, cached, written, output, reasoning, nano, estimated"
)
_OPEN = f"CASE WHEN purpose = '{UNANSWERED}' THEN"
SUMS = (
    "count(*), coalesce(sum(input), 0), coalesce(sum(cached), 0), coalesce(sum(written), 0), coalesce(sum(output), 0), "
    "coalesce(sum(reasoning), 0), coalesce(sum(nano), 0), count(*) - count(nano), "
    "count(CASE WHEN estimated AND input + output > 0 THEN 1 END), "
    f"count({_OPEN} 1 END), coalesce(sum({_OPEN} input + output END), 0), coalesce(sum({_OPEN} nano END), 0)"
)
_GROUPS = ("model", "provider", "purpose", "thread", "task", "turn", "day")


def columns_of(charge: Charge) -> tuple[object, ...]:
    """Return the values of a charge in the order of `CHARGE`."""
    return (
        plain(charge.id),
        charge.at,
        charge.at_us,
        plain(charge.day),
        plain(charge.model),
        plain(charge.provider),
        plain(charge.purpose),
        plain(charge.thread),
        plain(charge.task),
        charge.turn,
        charge.input,
        charge.cached,
        charge.written,
        charge.output,
        charge.reasoning,
        charge.nano,
        charge.estimated,
    )


def charge_of(row: Sequence[Any]) -> Charge:
    """Return the charge that a row of `CHARGE` columns holds."""
    (id_, at, at_us, day, model, provider, purpose, thread, task, turn, *counts, nano, estimated) = row
    taken, cached, written, output, reasoning = counts
    return Charge(
        id_,
        at,
        at_us,
        model,
        purpose,
        taken,
        cached,
        written,
        output,
        reasoning,
        nano,
        provider,
        thread,
        task,
        turn,
        bool(estimated),
        day,
    )


def grouping(by: Sequence[str]) -> tuple[str, ...]:
    """Return the fields to group by, or raise a clear error."""
    for name in by:
        if name not in _GROUPS:
            raise InvalidInput(f"charges are not summed by {name!r}", hint=f"use any of {', '.join(_GROUPS)}")
    return tuple(by)


def sums(by: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[SpendingTotal]:
    """Return rows of the groups and `SUMS`, in the order of the groups; turns sort as numbers, not as text."""
    ordered = sorted(rows, key=lambda row: [_rank(value) for value in row[: len(by)]])
    return [
        SpendingTotal(
            tuple("" if value is None else str(value) for value in row[: len(by)]),
            *(int(value) for value in row[len(by) :]),
        )
        for row in ordered
    ]


def _rank(value: object) -> tuple[int, str]:
    return (-1, "") if value is None else (value, "") if isinstance(value, int) else (0, str(value))


def when(
    thread: str | None, since_us: int | None, until_us: int | None, day: str | None, mark: str
) -> tuple[str, list[object]]:
    """Return the given conditions on charges, with `mark` as the placeholder of values."""
    given: tuple[tuple[str, object], ...] = (
        ("thread =", None if thread is None else plain(thread)),
        ("at_us >=", since_us),
        ("at_us <", until_us),
        ("day =", None if day is None else plain(day)),
    )
    asked = [(what, value) for what, value in given if value is not None]
    return "".join(f" AND {what} {mark}" for what, _ in asked), [value for _, value in asked]
