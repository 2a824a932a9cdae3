"""`crop`, `uncrop`, `compact`, `expand`: what prompts show of the past, by hand."""

from __future__ import annotations

from dataclasses import asdict

import click

from backscroll.errors import InvalidInput
from backscroll.surfaces.cli import shapes
from backscroll.surfaces.cli.addressing import message_named, thread_named
from backscroll.surfaces.cli.command import command, flag, option, thread_argument
from backscroll.surfaces.cli.conversation import Narrator
from backscroll.surfaces.cli.done import number_of, said
from backscroll.surfaces.cli.picture import number
from backscroll.surfaces.cli.session import Session
from backscroll.surfaces.i18n import count, t

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
    session: Session,
    thread: str,
    direction: str | None,
    amount: int | None,
    first: str | None,
    last: str | None,
    summary: str | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """Take messages out of prompts."""
    with session.engine() as engine:
        found = thread_named(engine, thread)
        edges = {
            name: None if value is None else message_named(engine, found, value)
            for name, value in (("first", first), ("last", last))
        }
        told = found.crop(direction, amount, summary, **edges, dry_run=True)
        if told.ask_first and not (dry_run or yes) and not _agreed(session, told.relevance):
            raise InvalidInput(t("cropping.not_cropped"), hint=t("cropping.not_cropped_hint"))
        if not dry_run:
            told = found.crop(direction, amount, summary, **edges)
    key = "cropping.would" if dry_run else "cropping.done"
    text = t(
        key,
        n=number(told.messages),
        tokens=number(told.tokens - told.summary_tokens),
        handle=told.handle,
        share=f"{told.relevance:.0%}",
    )
    said(session, asdict(told), f"{text}\n{told.summary}" if told.summary else text)


def _agreed(session: Session, share: float) -> bool:
    """What goes has to do with the task at hand: a person decides, where there is one."""
    if not session.screen.terminal:
        return False
    return click.confirm(t("cropping.ask", share=f"{share:.0%}"), default=False, err=True)


@command("uncrop", thread_argument(), click.Argument(["handle"], metavar="HANDLE"))
def uncrop_command(session: Session, thread: str, handle: str) -> None:
    """Bring cropped messages back into prompts."""
    with session.engine() as engine:
        found = thread_named(engine, thread)
        back = found.uncrop(handle)
    said(session, {"thread": found.id, "messages": back}, count("cropping.back", back))


@command(
    "compact",
    thread_argument(),
    option("--budget", type=int, metavar="TOKENS"),
    option("--model", metavar="NAME"),
    flag("--dry-run"),
)
def compact_command(
    session: Session, thread: str, budget: int | None, model: str | None, dry_run: bool
) -> None:
    """Condense the past now."""
    with session.engine() as engine:
        found = thread_named(engine, thread)
        settings = engine.settings
        if budget is None and not (model or settings.model or settings.budget):
            budget = 128_000
        report = found.compact(budget, model=model, dry_run=dry_run)
    if not report.saved:
        said(session, asdict(report), t("cropping.nothing_to_gain", tokens=number(report.before)))
        return
    lines = [
        t(
            "cropping.would_compact" if dry_run else "cropping.compacted",
            before=number(report.before),
            after=number(report.after),
        ),
        t(
            "cropping.how",
            digested=number(report.digested),
            condensed=number(report.condensed),
            summed_up=number(report.summed_up),
        ),
    ]
    if report.pays_back_after is not None:
        lines.append(
            t(
                "cropping.pays",
                cost=number(round(report.cost_now)),
                saves=number(round(report.saves_per_call)),
                calls=number(report.pays_back_after),
            )
        )
    said(session, {**asdict(report), "saved": report.saved}, "\n".join(lines))


@command("expand", thread_argument(), click.Argument(["handle"], metavar="HANDLE"))
def expand_command(session: Session, thread: str, handle: str) -> None:
    """Print the full originals behind a handle."""
    with session.engine() as engine:
        found = thread_named(engine, thread)
        messages = found.expand(handle)
        screen, narrator = session.screen, Narrator(session.screen, full=True)
        for message in messages:
            place = number_of(found, message.id)
            if screen.as_json:
                screen.json_line(shapes.of_message(message, place, found.id))
            else:
                screen.lines(narrator.message(message, place))
