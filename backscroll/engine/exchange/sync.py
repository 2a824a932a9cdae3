"""Sync: compare another program's complete message list with the history. Planned in `reconcile/plan`, applied in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from backscroll.engine.core.pen import Pen
from backscroll.engine.exchange.comparison import live_side
from backscroll.engine.log.writer import DONE, carry_out
from backscroll.errors import InvalidInput
from backscroll.formats.openai.message import messages_from_openai
from backscroll.reconcile.operations import (
    Ambiguity,
    ForgottenNote,
    InjectionNote,
    JoinNote,
    Mode,
    Note,
    RegenerateRequest,
    SyncPlan,
    TrimNote,
)
from backscroll.reconcile.plan import plan
from backscroll.record.ports import Writer
from backscroll.vocab.event import Kind
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json

#: Formats whose messages record whether they are hidden; in others a hidden message is simply missing.
HIDES = frozenset({"sillytavern", "dialogue", "chatgpt", "claude-code", "codex"})

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What a sync did, or would do, and what it could not decide."""

    counts: dict[str, int]
    operations: list[str]
    notes: list[str]
    ambiguous: list[str]
    dry_run: bool = False
    changed: bool = field(default=False)
    awaiting: tuple[Ref, ...] = ()  # our replies before which their list ends: they are being regenerated


def foreign_messages(messages: Sequence[ForeignMessage | Mapping[str, Any]]) -> list[ForeignMessage]:
    """Accept foreign messages, or dictionaries in the format of OpenAI Chat."""
    if isinstance(messages, Mapping | str | bytes) or not isinstance(cast("Any", messages), Sequence):
        raise InvalidInput(
            "sync takes a list of messages", hint="pass a list of {role, content} dictionaries"
        )
    ready = [m for m in messages if isinstance(m, ForeignMessage)]
    if len(ready) == len(messages):
        return ready
    for number, message in enumerate(messages):
        if not isinstance(message, Mapping) or "role" not in message:
            raise InvalidInput(f"message {number} of the list is not a {{role, content}} dictionary")

    return messages_from_openai(cast("list[Json]", list(messages)))


def sync(
    thread: ThreadScope,
    messages: Sequence[ForeignMessage | Mapping[str, Any]],
    *,
    mode: Mode = "full",
    complete: bool = False,
    knows_hidden: bool = True,
    names: Sequence[str] = (),
    dry_run: bool = False,
    actor: str | None = None,
) -> SyncReport:
    """Change the live history to match another program's list; nothing is lost, and ambiguities are recorded."""
    if mode not in ("full", "prompt"):
        raise InvalidInput(f"unknown mode of sync: {mode!r}", hint="use full or prompt")
    theirs = foreign_messages(messages)
    known_hidden = knows_hidden and any(isinstance(m, ForeignMessage) for m in messages)
    engine = thread.engine
    who = actor or f"sync:{engine.settings.actor}"

    def work(tx: Writer) -> SyncReport:
        pen = Pen(tx, thread.id, engine.means, who)
        todo = plan(
            live_side(pen.view), theirs, mode, complete=complete, knows_hidden=known_hidden, names=names
        )
        if dry_run:
            return report_of(todo, Counter(), dry_run=True)
        counts, _ = carry_out(pen, todo.operations)
        noted = [_note_facts(n) for n in todo.notes if isinstance(n, Ambiguity)]
        if noted and todo.operations:
            pen.write(Kind.NOTED, head={"about": "sync", "ambiguous": noted})
        if todo.operations:
            pen.save()
        return report_of(todo, counts, dry_run=False)

    report = engine.store.write(work)
    if report.changed and not dry_run:
        engine.notify_change(thread)
    return report


def _note_facts(note: Ambiguity) -> dict[str, Json]:
    """Return what the log records about an ambiguity: names and choices, no conversation text."""
    return {
        "what": note.what,
        "considered": list(note.considered),
        "done": note.done,
        "ours": [str(ref) for ref in note.ours],
        "theirs": list(note.theirs),
    }


def report_of(todo: SyncPlan, counts: Counter[str], *, dry_run: bool) -> SyncReport:
    """Return the report of a plan."""
    names = [_describe_operation(op) for op in todo.operations]
    if dry_run:
        counts = Counter(DONE[type(op)] for op in todo.operations)
    notes = [_describe_note(n) for n in todo.notes if not isinstance(n, Ambiguity)]
    unclear = [f"{n.what}: {n.done}" for n in todo.notes if isinstance(n, Ambiguity)]
    awaiting = tuple(ref for n in todo.notes if isinstance(n, RegenerateRequest) for ref in n.ids)
    return SyncReport(dict(counts), names, notes, unclear, dry_run, bool(todo.operations), awaiting)


def _describe_operation(operation: object) -> str:
    ref = getattr(operation, "id", None)
    where = ref.short if ref is not None else f"#{getattr(operation, 'theirs', 0) + 1}"
    return f"{type(operation).__name__.lower()} {where}"


def _describe_note(note: Note) -> str:
    match note:
        case TrimNote():
            return f"trimmed: {len(note.ids)} older messages are not in the list; they stay"
        case InjectionNote():
            return f"injected: block {note.theirs + 1} was never said in the conversation ({note.why})"
        case JoinNote():
            return f"joined: block {note.theirs + 1} holds {len(note.ids)} of our messages"
        case ForgottenNote():
            return f"forgotten: message {note.theirs + 1} was erased on purpose and is not taken in again"
        case RegenerateRequest():
            return (
                f"awaiting: the list ends before {len(note.ids)} replies; the answer will be an alternative"
            )
        case Ambiguity():
            return f"{note.what}: {note.done}"
