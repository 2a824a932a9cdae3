"""`cost`: tokens and cost of the model calls, as a table with bars, and what the limits still allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import click

from backscroll.errors import NotFound
from backscroll.surfaces.cli.command import command, option, thread_argument
from backscroll.surfaces.cli.references import thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import count, find, t
from backscroll.surfaces.screen.cells import cut, wrap
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.screen.table import Column, table
from backscroll.surfaces.screen.times import parse_time

if TYPE_CHECKING:
    from backscroll.engine.budget.costs import SpendingTotal
    from backscroll.engine.engine import Engine
    from backscroll.engine.thread import Thread
    from backscroll.llm.prices.limits import Limit
    from backscroll.llm.tokens.calibration import Calibration
    from backscroll.surfaces.screen.screen import Screen

_GROUPS = ("model", "thread", "day", "purpose", "turn", "task")
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_ROWS = 40  # rows of a table; the others are summed in one row
_DAYS = 62  # days without calls that are drawn; longer gaps are skipped
_NAME = 34  # cells
_BAR = 24


@command(
    "cost",
    thread_argument(required=False),
    option("--by", type=click.Choice(_GROUPS), metavar="WHAT"),
    option("--since", metavar="TIME"),
    option("--until", metavar="TIME"),
)
def cost_command(
    session: CliSession, thread: str | None, by: str | None, since: str | None, until: str | None
) -> None:
    """Print what the calls cost."""
    first, last = parse_time(since), parse_time(until, end=True)
    group = by or ("purpose" if thread else "model")
    if not session.has_store and thread is None:
        _nothing(session, group, asked=False)
        return
    # start-up: loaded when the command runs
    from backscroll.engine.budget.costs import limits_of, prices_of, spending
    from backscroll.engine.budget.counts import corrections_of

    with session.engine() as engine:
        found = None if thread is None else thread_named(engine, thread)
        sums = spending(engine, group, since=first, until=last, thread=found)
        models = spending(engine, "model", since=first, until=last, thread=found)
        limits = limits_of(engine, found)
        names = _names(engine, sums if group == "thread" else ())
        corrected = corrections_of(engine, [s.group[0] for s in models])
        prices_of(engine)  # an invalid price table is reported here, not ignored
    if session.as_json:
        session.screen.json(_document(group, found, sums, models, limits, corrected))
    elif not sums:
        _nothing(session, group, asked=bool(since or until or thread), limits=limits)
    else:
        _report(session.screen, group, sums, models, names, found)
        _corrections(session.screen, corrected)
        _limits(session.screen, limits)


def _nothing(session: CliSession, group: str, *, asked: bool, limits: Sequence[Limit] = ()) -> None:
    if session.as_json:
        session.screen.json(_document(group, None, [], [], [], {}))
        return
    said = t("cost.nothing_here") if asked else t("cost.nothing")
    session.screen.lines(wrap(said, session.screen.room(0)))
    _limits(session.screen, limits)


def _names(engine: Engine, sums: Sequence[SpendingTotal]) -> Mapping[str, str]:
    """Return the titles of the threads that still have one."""
    # start-up: loaded when the command runs
    from backscroll.surfaces.words.conversation import title_of

    out: dict[str, str] = {}
    for spent in sums:
        try:
            info = engine.thread(spent.group[0]).info if spent.group[0] else None
        except NotFound:
            continue  # its id is enough
        if info is not None:
            out[spent.group[0]] = title_of(info)
    return out


# -- for the user ------------------------------------------------------------------------------------------------


def _report(
    screen: Screen,
    group: str,
    sums: Sequence[SpendingTotal],
    models: Sequence[SpendingTotal],
    names: Mapping[str, str],
    thread: Thread | None,
) -> None:
    total = _total(sums)
    rows = _sort_groups(group, sums)
    by_money = total.nano > 0
    most = max((_weight(s, by_money) for s in rows), default=0)
    cells = [
        (
            cut(_name(group, s.group[0], names), _NAME),
            f"{s.calls:,}" if s.calls else "",
            short(s.input) if s.calls else "",
            _share(s.cached, s.input),
            short(s.output) if s.calls else "",
            _money(s),
            _bar(_weight(s, by_money), most, _room(screen)),
        )
        for s in rows
    ]
    columns = [
        Column(t(f"cost.by_{group}"), shrinks=True, style="strong"),
        Column(t("cost.calls"), right=True),
        Column(t("cost.input"), right=True),
        Column(t("cost.cached"), right=True, style="dim"),
        Column(t("cost.output"), right=True),
        Column(t("cost.money"), right=True),
        Column(t("cost.bar_money") if by_money else t("cost.bar_tokens"), style="good"),
    ]
    screen.lines(table(screen, columns, cells))
    screen.line()
    said = t(
        "cost.total",
        calls=count("cost.n_calls", total.calls),
        input=short(total.input),
        cached=_share(total.cached, total.input) or "0%",
        output=short(total.output),
        money=_money(total),
    )
    screen.lines(screen.style(line, "strong") for line in wrap(said, screen.room(0)))
    _warn_unpriced(screen, total, models)
    _warn_unanswered(screen, total)
    if thread is not None and group != "thread":
        screen.line(screen.style(t("cost.of_thread", thread=thread.id[:8]), "dim"))


def _room(screen: Screen) -> int:
    """Return the maximum length of a bar: what 80 columns leave beside the figures."""
    return max(8, min(_BAR, screen.width - 66))


def _warn_unpriced(screen: Screen, total: SpendingTotal, models: Sequence[SpendingTotal]) -> None:
    if not total.unpriced:
        return
    names = [s.group[0] or t("cost.no_model") for s in models if s.unpriced]
    shown = t("words.comma").join(names[:5]) + ("…" if len(names) > 5 else "")
    said = count("cost.unpriced", total.unpriced, models=one_line(shown))
    screen.lines(screen.style(line, "warn") for line in wrap(said, screen.room(0)))


def _warn_unanswered(screen: Screen, total: SpendingTotal) -> None:
    if total.unanswered:
        said = count("cost.unanswered", total.unanswered, **unanswered_words(total))
        screen.lines(screen.style(line, "warn") for line in wrap(said, screen.room(0)))


def unanswered_words(spent: SpendingTotal) -> dict[str, str]:
    """Return the figures of calls without an answer, for a sentence about them."""
    # start-up: loaded when the command runs
    from backscroll.llm.prices.limits import dollars

    # If the price of such a call is unknown, so is its upper bound.
    money = dollars(spent.unanswered_nano) if spent.unanswered_nano else "$?"
    return {"tokens": f"{spent.unanswered_tokens:,}", "money": money}


def _corrections(screen: Screen, corrected: Mapping[str, Calibration]) -> None:
    """Report how far our token estimates were off, which explains differences to a budget."""
    if corrected:
        shown = t("words.comma").join(f"{name} ×{c.ratio:g}" for name, c in list(corrected.items())[:5])
        said = t("cost.corrected", models=one_line(shown))
        screen.lines(screen.style(line, "dim") for line in wrap(said, screen.room(0)))


def _limits(screen: Screen, limits: Sequence[Limit]) -> None:
    # start-up: loaded when the command runs
    from backscroll.llm.prices.limits import dollars

    for limit in limits:
        used = min(1.0, limit.spent / limit.allowed)
        meter = _bar(used, 1.0, 12).ljust(12, "░")
        line = t(
            f"cost.limit_{limit.scope}",
            meter=meter,
            spent=dollars(limit.spent),
            allowed=dollars(limit.allowed),
            left=dollars(limit.left),
        )
        style = "bad" if limit.left == 0 else "warn" if used >= 0.8 else ""
        screen.line(screen.style(line, style))
        if limit.unpriced:
            screen.line(screen.style(count("cost.limit_unpriced", limit.unpriced), "warn"))


def _name(group: str, value: str, names: Mapping[str, str]) -> str:
    if value == _OTHERS:
        return t("cost.others")
    if not value:
        return t(f"cost.no_{group}")
    if group == "thread":
        return f"{value[:8]} {names.get(value, '')}".rstrip()
    if group == "purpose":
        return find(f"purposes.{value}") or value
    return value


_OTHERS = "\0others"


def _sort_groups(group: str, sums: Sequence[SpendingTotal]) -> list[SpendingTotal]:
    """Sort days and turns in their order, with days without calls between them; everything else by cost, highest first."""
    if group == "day":
        sums = _calendar(sums)
    if group in ("day", "turn"):
        rest = list(sums)
        return rest if len(rest) <= _ROWS else [_total(rest[:-_ROWS], _OTHERS), *rest[-_ROWS:]]
    rows = sorted(sums, key=lambda s: (-s.nano, -(s.input + s.output), s.group))
    return rows if len(rows) <= _ROWS else [*rows[:_ROWS], _total(rows[_ROWS:], _OTHERS)]


def _calendar(sums: Sequence[SpendingTotal]) -> list[SpendingTotal]:
    out: list[SpendingTotal] = []
    for spent in sums:
        day = _day(spent.group[0])
        before = _day(out[-1].group[0]) if out else None
        if day is not None and before is not None and (day - before).days <= _DAYS:
            gap = (before + timedelta(days=n) for n in range(1, (day - before).days))
            out += [replace(_total([]), group=(d.isoformat(),)) for d in gap]
        out.append(spent)
    return out


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _total(sums: Sequence[SpendingTotal], name: str = "") -> SpendingTotal:
    # start-up: loaded when the command runs
    from backscroll.engine.budget.costs import sum_costs

    return sum_costs(sums, name)


def _weight(spent: SpendingTotal, by_money: bool) -> int:
    return spent.nano if by_money else spent.input + spent.output


def _money(spent: SpendingTotal) -> str:
    """Return the cost; with a plus if some calls have no price, a question mark if none has one."""
    # start-up: loaded when the command runs
    from backscroll.llm.prices.limits import dollars

    if not spent.calls:
        return ""
    if spent.unpriced == spent.calls:
        return "?"
    return dollars(spent.nano) + ("+" if spent.unpriced else "")


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f}%" if whole and part else ""


def _bar(value: float, most: float, room: int) -> str:
    """Return a bar of blocks, exact to an eighth of a cell; a value above zero is never drawn as empty."""
    if value <= 0 or most <= 0:
        return ""
    eighths = max(1, round(8 * room * value / most))
    full, rest = divmod(eighths, 8)
    return "█" * full + (_EIGHTHS[rest] if rest else "")


def short(number: int) -> str:
    """Return a number of tokens in five cells."""
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if number >= size * 0.9995:
            value = number / size
            return (
                f"{value:.2f}{unit}"
                if value < 10
                else f"{value:.1f}{unit}"
                if value < 100
                else f"{value:.0f}{unit}"
            )
    return str(number)


# -- for programs ------------------------------------------------------------------------------------------------


def _document(
    group: str,
    thread: Thread | None,
    sums: Sequence[SpendingTotal],
    models: Sequence[SpendingTotal],
    limits: Sequence[Limit],
    corrected: Mapping[str, Calibration],
) -> dict[str, Any]:
    return {
        "by": group,
        "thread": None if thread is None else thread.id,
        "groups": [{group: s.group[0], **_figures(s)} for s in sums],
        "total": _figures(_total(sums)),
        "unpriced_models": [s.group[0] for s in models if s.unpriced],
        "corrections": {name: {"ratio": c.ratio, "calls": c.calls} for name, c in corrected.items()},
        "limits": [
            {
                "scope": limit.scope,
                "usd": limit.allowed / 1e9,
                "spent_usd": limit.spent / 1e9,
                "left_usd": limit.left / 1e9,
                "unpriced": limit.unpriced,
            }
            for limit in limits
        ],
    }


def _figures(spent: SpendingTotal) -> dict[str, Any]:
    known = spent.unpriced < spent.calls or not spent.calls
    return {
        "calls": spent.calls,
        "input": spent.input,
        "cached": spent.cached,
        "written": spent.written,
        "output": spent.output,
        "reasoning": spent.reasoning,
        "usd": spent.nano / 1e9 if known else None,
        "unpriced": spent.unpriced,
        "estimated": spent.estimated,
        "unanswered": spent.unanswered,
        "unanswered_tokens": spent.unanswered_tokens,
        "unanswered_usd": spent.unanswered_nano / 1e9,
    }
