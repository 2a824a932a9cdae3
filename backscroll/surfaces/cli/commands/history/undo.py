"""`undo`, `redo`: revert your last change to a thread, or apply it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backscroll.surfaces.cli.command import command, thread_argument
from backscroll.surfaces.cli.references import thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.words import shapes
from backscroll.surfaces.words.done import report_result
from backscroll.surfaces.words.events import kind_words, what_happened
from backscroll.vocab.event import Event, Kind

if TYPE_CHECKING:
    from backscroll.engine.thread import Thread


@command("undo", thread_argument())
def undo_command(session: CliSession, thread: str) -> None:
    """Undo your last change."""
    with session.engine() as engine:
        found = thread_named(engine, thread)
        event = found.undo()
        report_result(
            session.screen,
            shapes.of_event(event, what_happened(event)),
            t("undoing.undone", what=stroke_words(found, event)),
        )


@command("redo", thread_argument())
def redo_command(session: CliSession, thread: str) -> None:
    """Redo what undo reverted."""
    with session.engine() as engine:
        found = thread_named(engine, thread)
        event = found.redo()
        report_result(
            session.screen,
            shapes.of_event(event, what_happened(event)),
            t("undoing.redone", what=stroke_words(found, event)),
        )


def stroke_words(thread: Thread, event: Event) -> str:
    """Return the stroke that was reverted, in a few words: followed back if it was an undo itself."""
    seqs = [int(seq) for seq in event.head.get("of", ())]
    original = _telling(thread, seqs)
    while original is not None and original.kind in (Kind.UNDONE, Kind.REDONE):
        seqs = [int(seq) for seq in original.head["of"]]
        original = _telling(thread, seqs)
    if original is None:
        return ""
    if original.kind is Kind.TASKED:
        return f"{kind_words(original)} {what_happened(original)}"  # a crop that came with it follows from it
    named = kind_words(original)
    if original.target is not None:
        named += f" {original.target.short}"
    return (
        named
        if len(seqs) < 2
        else t("undoing.several", what=named, more=count("words.events", len(seqs) - 1))
    )


def _telling(thread: Thread, seqs: list[int]) -> Event | None:
    """Return the event that describes a stroke best: a step of a task, else the first one."""
    if not seqs:
        return None
    wanted = set(seqs)
    events = [event for event in thread.events(min(seqs), max(seqs)) if event.seq in wanted]
    return next((e for e in events if e.kind is Kind.TASKED), events[0] if events else None)
