"""`crop`, `uncrop`, `compact`, `expand`: control what prompts show of the history."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from backscroll.errors import InvalidInput
from backscroll.surfaces.cli.command import command, flag, option, thread_argument
from backscroll.surfaces.cli.references import message_named, thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.receipts import number
from backscroll.surfaces.screen.cells import wrap
from backscroll.surfaces.screen.plain import safe
from backscroll.surfaces.words import shapes
from backscroll.surfaces.words.conversation import ConversationPrinter
from backscroll.surfaces.words.done import number_of, report_result

if TYPE_CHECKING:
    from backscroll.engine.crops.crops import Crop
    from backscroll.engine.prompts.compaction.compaction import CompactionReport

_DIRECTIONS = ("top", "bottom")


@command(
    "crop",
    thread_argument(),
    click.Argument(["direction"], metavar="[top|bottom]", type=click.Choice(_DIRECTIONS), required=False),
    click.Argument(["amount"], metavar="[AMOUNT]", type=int, required=False),
    option("--from", "first", metavar="MESSAGE"),
    option("--to", "last", metavar="MESSAGE"),
    option("--summary", metavar="TEXT"),
    flag("--dry-run"),
    flag("--yes"),
)
def crop_command(
    session: CliSession,
    thread: str,
    direction: str | None,
    amount: int | None,
    first: str | None,
    last: str | None,
    summary: str | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """Crop messages out of prompts."""
    with session.engine() as engine:
        found = thread_named(engine, thread)
        begin = None if first is None else message_named(engine, found, first)
        end = None if last is None else message_named(engine, found, last)
        if (direction is None) != (amount is None):
            raise InvalidInput(t("cropping.half"), hint=t("cropping.half_hint"))
        told = found.crop(direction, amount, summary, first=begin, last=end, dry_run=True)
        if told.ask_first and not (dry_run or yes) and not _confirm_crop(session, told):
            session.screen.line(t("cropping.nothing"))
            return
        if not dry_run:
            told = found.crop(direction, amount, summary, first=begin, last=end)
    if session.as_json:
        session.screen.json(asdict(told))
    else:
        _say(session, told, own=summary is not None)


def _say(session: CliSession, told: Crop, *, own: bool) -> None:
    """Report what went, or would go, and what replaces it (a summary given by the user is not repeated)."""
    screen = session.screen
    less = told.tokens - told.summary_tokens
    text = count(
        "cropping.would" if told.event is None else "cropping.done",
        told.messages,
        tokens=number(max(0, less)),
        handle=told.handle,
        share=f"{told.relevance:.0%}",
    )
    screen.lines(wrap(text, screen.width))
    if told.pays_back_after is not None:
        screen.lines(wrap(_pays(told), screen.width))
    if own or not told.summary:
        return
    screen.line(t("cropping.in_place"))
    for line in filter(None, told.summary.split("\n")):
        screen.lines(screen.style(f"  {piece}", "dim") for piece in wrap(safe(line), screen.room(2)))


def _confirm_crop(session: CliSession, told: Crop) -> bool:
    """Ask the user about messages that are relevant to the current task; raise an error if no user is present."""
    if not session.screen.can_ask:
        raise InvalidInput(t("cropping.not_cropped"), hint=t("cropping.not_cropped_hint"))
    return session.screen.asks(count("cropping.ask", told.messages, share=f"{told.relevance:.0%}"))


@command("uncrop", thread_argument(), click.Argument(["handle"], metavar="HANDLE"))
def uncrop_command(session: CliSession, thread: str, handle: str) -> None:
    """Include cropped messages in prompts again."""
    with session.engine() as engine:
        found = thread_named(engine, thread)
        back = found.uncrop(handle)
    report_result(session.screen, {"thread": found.id, "messages": back}, count("cropping.back", back))


@command(
    "compact",
    thread_argument(),
    option("--budget", type=int, metavar="TOKENS"),
    option("--model", metavar="NAME"),
    flag("--dry-run"),
    flag("--undo"),
)
def compact_command(
    session: CliSession, thread: str, budget: int | None, model: str | None, dry_run: bool, undo: bool
) -> None:
    """Compact the history now, or undo that."""
    if undo:
        if budget is not None or model is not None or dry_run:
            raise InvalidInput(t("cropping.undo_alone"), hint=t("cropping.undo_alone_hint"))
        _undo_compaction(session, thread)
        return
    with session.engine() as engine:
        found = thread_named(engine, thread)
        settings = engine.settings
        if budget is None and not (model or settings.model or settings.budget):
            budget = 128_000
        report = found.compact(budget, model=model, dry_run=dry_run)
    if not report.saved:
        report_result(
            session.screen, asdict(report), t("cropping.nothing_to_gain", tokens=number(report.before))
        )
        return
    lines = [
        t(
            "cropping.would_compact" if dry_run else "cropping.compacted",
            before=number(report.before),
            after=number(report.after),
        ),
        *_how(report),
    ]
    if report.pays_back_after is not None:
        lines.append(_pays(report))
    report_result(session.screen, {**asdict(report), "saved": report.saved}, "\n".join(lines))


def _undo_compaction(session: CliSession, thread: str) -> None:
    """Undo the compaction in force, automatic or manual."""
    # start-up: loaded when the command runs
    from backscroll.surfaces.words.events import what_happened

    with session.engine() as engine:
        event = thread_named(engine, thread).undo_compaction()
        report_result(session.screen, shapes.of_event(event, what_happened(event)), t("cropping.uncompacted"))


def _pays(told: CompactionReport | Crop) -> str:
    """Return what it costs, what it saves, and after how many calls it pays off."""
    costs = {"cost": number(round(told.cost_now)), "saves": number(round(told.saves_per_call))}
    return count("cropping.pays", told.pays_back_after or 0, **costs)


def _how(report: CompactionReport) -> Iterator[str]:
    """Yield how many steps were condensed in which way; unused ways are left out."""
    for key, steps in (
        ("cropping.digested", report.digested),
        ("cropping.condensed", report.condensed),
        ("cropping.summed_up", report.summed_up),
    ):
        if steps:
            yield f"  {count(key, steps)}"


@command("expand", thread_argument(), click.Argument(["handle"], metavar="HANDLE"))
def expand_command(session: CliSession, thread: str, handle: str) -> None:
    """Print the full originals behind a handle."""
    with session.engine() as engine:
        found = thread_named(engine, thread)
        messages = found.expand(handle)
        screen, narrator = session.screen, ConversationPrinter(session.screen, full=True)
        numbered = ((number_of(found, message.id), message) for message in messages)
        if screen.as_json:
            screen.json_list(shapes.of_message(message, place, found.id) for place, message in numbered)
            return
        for place, message in numbered:
            screen.lines(narrator.message(message, place))
