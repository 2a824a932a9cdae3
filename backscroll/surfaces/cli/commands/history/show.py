"""`show`: the messages of a thread, now or at any earlier moment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from backscroll.errors import InvalidInput
from backscroll.surfaces.cli.command import command, flag, option, thread_argument
from backscroll.surfaces.cli.references import event_number, span, thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.screen.times import format_time
from backscroll.surfaces.words import shapes
from backscroll.surfaces.words.conversation import ConversationPrinter, heading

if TYPE_CHECKING:
    from backscroll.engine.core.history import History
    from backscroll.vocab.message import Message
    from backscroll.vocab.thread import ThreadInfo, Turn


@command(
    "show",
    thread_argument(),
    option("--range", "range_", metavar="A:B"),
    option("--recent", metavar="N", type=click.IntRange(min=0)),
    option("--as-of", metavar="EVENT"),
    flag("--turns"),
    flag("--deleted"),
    flag("--full"),
    flag("--no-pager"),
)
def show_command(
    session: CliSession,
    thread: str,
    range_: str | None,
    recent: int | None,
    as_of: str | None,
    turns: bool,
    deleted: bool,
    full: bool,
    no_pager: bool,
) -> None:
    """Print a conversation."""
    if range_ is not None and recent is not None:
        raise InvalidInput(t("show.range_or_recent"))
    if turns and deleted:
        raise InvalidInput(t("show.turns_or_deleted"))
    with session.engine() as engine:
        found = thread_named(engine, thread)
        history = found if as_of is None else found.at(event_number(as_of))
        if session.as_json:
            _as_json(session, history, range_, recent, turns=turns, deleted=deleted)
        elif no_pager or not session.use_pager:
            _as_text(session, history, range_, recent, turns=turns, deleted=deleted, full=full)
        else:
            with session.screen.page_output():
                _as_text(session, history, range_, recent, turns=turns, deleted=deleted, full=full)


def _as_json(
    session: CliSession,
    history: History,
    range_: str | None,
    recent: int | None,
    *,
    turns: bool,
    deleted: bool,
) -> None:
    if turns:
        found = _turns(history, range_, recent)
        session.screen.json_list(shapes.of_turn(turn, first, history.id) for first, turn in found)
        return
    messages = _messages(history, range_, recent, deleted=deleted)
    session.screen.json_list(shapes.of_message(message, number, history.id) for number, message in messages)


def _as_text(
    session: CliSession,
    history: History,
    range_: str | None,
    recent: int | None,
    *,
    turns: bool,
    deleted: bool,
    full: bool,
) -> None:
    screen = session.screen
    info = history.info
    screen.lines(heading(screen, info))
    if history.as_of is not None:
        screen.line(screen.style(t("show.as_of", event=history.head, last=info.events), "warn"))
    narrator = ConversationPrinter(screen, full=full)
    shown_any = False
    if turns:
        for first, turn in _turns(history, range_, recent):
            shown_any = True
            screen.line()
            title = t("show.turn", number=turn.sequence) if turn.sequence else t("show.turn_zero")
            facts = f"  {format_time(turn.timestamp)} · {count('words.messages', len(turn.messages))}"
            screen.line(screen.style(title, "strong") + screen.style(facts, "dim"))
            for offset, message in enumerate(turn.messages):
                screen.line()
                screen.lines(narrator.message(message, first + offset))
    else:
        for number, message in _messages(history, range_, recent, deleted=deleted):
            shown_any = True
            screen.line()
            screen.lines(narrator.message(message, number))
    if not shown_any:
        screen.line()
        screen.line(_nothing(info))


def _nothing(info: ThreadInfo) -> str:
    if info.forgotten:
        return t("show.forgotten")
    return t("show.no_messages") if not info.messages else t("show.none_in_range")


def _messages(
    history: History, range_: str | None, recent: int | None, *, deleted: bool
) -> Iterator[tuple[int | None, Message]]:
    """Yield messages with their numbers; a deleted one has none."""
    first, last = span(range_) if range_ else (1, None)
    if recent is not None:
        first = max(1, len(history) - recent + 1)
    if not deleted:
        yield from enumerate(history.messages(first - 1, last), start=first)
        return
    number = 0
    for message in history.messages(deleted=True):
        number += not message.deleted
        if last is not None and number > last:
            return
        if number >= first or (message.deleted and number == first - 1):
            yield (None if message.deleted else number), message


def _turns(history: History, range_: str | None, recent: int | None) -> Iterator[tuple[int, Turn]]:
    """Yield turns with the number of their first message; a range counts turns here."""
    first, last = span(range_) if range_ else (0, None)
    if recent is not None:
        found = history.recent_turns(recent) if recent else []
        first = found[0].sequence if found else 0
        if not found:
            return
    number: int | None = None
    for turn in history.turns(first, last):
        if number is None:
            number = history.place(turn.messages[0].id) + 1
        yield number, turn
        number += len(turn.messages)
