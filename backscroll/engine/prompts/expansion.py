"""Expand a handle to the full originals. Each request is recorded as a lesson, so that similar messages fade later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from backscroll.engine.core.history import message_of
from backscroll.engine.core.lineage import View
from backscroll.engine.crops.crops import crops_of
from backscroll.engine.inputs.lessons import note_all
from backscroll.errors import Forgotten, NotFound
from backscroll.record.content import original
from backscroll.record.history import FORGOTTEN, HIDDEN, Entry
from backscroll.record.ports import RevisionBody
from backscroll.vocab.event import Kind
from backscroll.vocab.handle import Handle, parse_handle
from backscroll.vocab.message import Message

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope

_PAGE = 256


def expand(thread: ThreadScope, handle: str, *, learn: bool = True) -> list[Message]:
    """Return the live messages behind a handle, in order and in full.

    A handle of a crop (its first to its last message) leaves out messages in between only if they were never part of it:
    expanding a range returns every live message whose number is in it. Hidden messages stay hidden, because the result goes
    to a model.
    """
    wanted = parse_handle(handle)
    owner = thread
    if wanted.thread is not None and not thread.id.startswith(wanted.thread):
        owner = thread.engine.thread(wanted.thread, actor=thread.actor)
        if owner.info.user not in ("", thread.info.user):
            raise NotFound(
                f"{handle} names a message of another user", hint="open it from a thread of that user"
            )
    found = owner.reading(lambda view: _find_messages(view, wanted))
    if learn:
        note_all(thread.engine, owner.id, found)
    return found


def _find_messages(view: View, wanted: Handle) -> list[Message]:
    if wanted.first == wanted.last:
        event = view.event(wanted.first)
        if event is None or event.kind is not Kind.CROPPED:
            return [_one(view, wanted)]
        mark = next(
            (m for m in crops_of(view) if m.event == event.id), None
        )  # a receipt names a crop by its event
        runs = [(int(a), int(b)) for a, b in event.head["runs"]] if mark is None else mark.runs
        return _read_runs(view, wanted, runs)
    crop = next((m for m in crops_of(view) if m.handle == str(wanted)), None)
    return _range(view, wanted) if crop is None else _read_runs(view, wanted, crop.runs)


def _read_runs(view: View, wanted: Handle, runs: Sequence[tuple[int, int]]) -> list[Message]:
    """Return the messages of a crop, wherever they are now."""
    numbers = [seq for first, last in runs for seq in range(first, last + 1)]
    entries = [e for seq in numbers if (e := _entry(view, seq)) is not None and e.message.seq == seq]
    ordered = sorted((e for e in entries if e.live and not e.flags & HIDDEN), key=lambda e: e.position)
    spoken = view.reader.read_spoken([e.revision for e in ordered])
    out = [_whole(e, spoken[e.revision]) for e in ordered if spoken[e.revision].body is not None]
    if not out:
        raise NotFound(f"nothing is behind the handle {wanted}", hint="`backscroll show` lists what there is")
    return out


def _range(view: View, wanted: Handle) -> list[Message]:
    edges = [entry for seq in (wanted.first, wanted.last) if (entry := _entry(view, seq)) is not None]
    if len(edges) < 2:
        raise NotFound(f"nothing is behind the handle {wanted}", hint="`backscroll show` lists what there is")
    low, high = min(e.position for e in edges), max(e.position for e in edges)
    out: list[Message] = []
    after: bytes | None = None
    first = view.page(1, before=low, newest_first=True, gone=True)
    after = first[0][0].position if first else None
    while rows := view.page(_PAGE, after=after):
        inside = [row for row in rows if row[0].position <= high]
        out += [_whole(*row) for row in inside if row[1].body is not None and not row[0].flags & HIDDEN]
        if len(inside) < _PAGE:
            break
        after = rows[-1][0].position
    if not out:
        raise NotFound(f"nothing is behind the handle {wanted}", hint="`backscroll show` lists what there is")
    return out


def _entry(view: View, seq: int) -> Entry | None:
    event = view.event(seq)
    message = None if event is None else event.message
    return None if message is None else view.entry(message)


def _one(view: View, wanted: Handle) -> Message:
    entry = _entry(view, wanted.first)
    if entry is None:
        raise NotFound(f"nothing is behind the handle {wanted}", hint="`backscroll show` lists what there is")
    spoken = view.reader.read_spoken([entry.revision])[entry.revision]
    if spoken.body is None or entry.flags & FORGOTTEN:
        raise Forgotten(f"what is behind {wanted} was forgotten", hint="its content cannot be restored")
    if not entry.live:
        raise NotFound(
            f"what is behind {wanted} was deleted",
            hint="`backscroll restore` brings the message back; `backscroll revisions` shows its words",
        )
    if entry.flags & HIDDEN:
        raise NotFound(
            f"what is behind {wanted} is hidden from prompts",
            hint="`backscroll unhide` lets the message in again; `backscroll show` shows it",
        )
    return _whole(entry, spoken)


def _whole(entry: Entry, spoken: RevisionBody) -> Message:
    """Return the message verbatim: a handle leads to the original."""
    return message_of(entry, spoken, None if spoken.body is None else original(spoken.body))
