"""Undo and redo: the inverse of a stroke, field by field, recorded as an event of its own.

Only what the stroke changed is reverted, and only if it is still as the stroke left it: later changes by another process to
the same message are never overwritten.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from backscroll.engine.core.lineage import View
from backscroll.engine.core.pen import Pen
from backscroll.engine.inputs.compaction import same_compaction
from backscroll.engine.inputs.inputs import compaction_standing, standing_of
from backscroll.errors import Conflict, NotFound
from backscroll.record.history import DELETED, FORGOTTEN, Entry, pack
from backscroll.record.thread_info import TELLING, ThreadDescription, fold_about
from backscroll.record.undo import to_redo, to_undo
from backscroll.vocab.event import DELIBERATE, Event, Kind
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.part import Json

_FIELDS = ("position", "revision", "alternative", "flags")
_PAGE = 50


def undo(pen: Pen) -> Event:
    """Undo the actor's last deliberate stroke in this thread."""
    stroke = to_undo(e for e in _newest_first(pen) if not _void(pen, e) and not _is_undone(pen, e))
    if not stroke:
        raise NotFound(
            f"nothing to undo for {pen.actor}",
            hint="only edits under the same name, not new messages; imports and syncs act under names of their own",
        )
    stroke = [kept for event in stroke for kept in _with_what_rests_on(pen, event)]
    return _invert(pen, Kind.UNDONE, sorted(stroke, key=lambda e: e.seq))


def undo_compaction(pen: Pen) -> Event:
    """Undo the compaction in force, manual or automatic."""
    standing = standing_of(pen.view)
    found = compaction_standing(pen.view, standing)
    if found is None:
        raise NotFound(
            "no compaction to undo",
            hint="no compaction is in force; use uncrop to restore cropped messages",
        )
    return _invert(pen, Kind.UNDONE, same_compaction(pen.view, standing, found))


def _with_what_rests_on(pen: Pen, event: Event) -> list[Event]:
    """Return an operation; for a compaction also those that have continued it since, which would keep it in force."""
    if event.kind is not Kind.COMPACTED:
        return [event]
    family = same_compaction(pen.view, standing_of(pen.view), event)
    return [event, *(other for other in family if other.seq > event.seq)]


def _is_undone(pen: Pen, event: Event) -> bool:
    """Return True for a compaction that was undone already, possibly by another process."""
    return event.kind is Kind.COMPACTED and event.seq not in standing_of(pen.view).compactions


def redo(pen: Pen) -> Event:
    """Redo what the actor's last undo reverted."""
    undone = to_redo(e for e in _newest_first(pen) if e.kind in DELIBERATE or not _void(pen, e))
    if undone is None:
        raise NotFound(f"nothing to redo for {pen.actor}", hint="redo is not possible after a new edit")
    return _invert(pen, Kind.REDONE, [undone])


def _newest_first(pen: Pen) -> Iterator[Event]:
    """Yield the actor's operations, newest first, read only as far as the caller iterates."""
    before: int | None = None
    while page := pen.tx.undoable(pen.state.id, pen.actor, before, _PAGE):
        yield from page
        before = page[-1].seq


def _void(pen: Pen, event: Event) -> bool:
    """Return True if everything that an operation affected is forgotten: there is nothing left to undo or redo."""
    touched = _list_touched([event])
    if not touched:
        return event.forgotten
    entries = [pen.entry(message) for message in touched]
    return all(entry is None or entry.flags & FORGOTTEN for entry in entries)


def _invert(pen: Pen, kind: Kind, stroke: Sequence[Event]) -> Event:
    first, last = stroke[0].seq, stroke[-1].seq
    before, after = View(pen.tx, pen.state, first - 1), View(pen.tx, pen.state, last)
    entries: list[Json] = []
    for message in _list_touched(stroke):
        now = pen.entry(message)
        if now is None or now.flags & FORGOTTEN:
            continue
        then = _set_back(before.entry(message), after.entry(message), now)
        if then.revision != now.revision and pen.tx.read_spoken([then.revision])[then.revision].body is None:
            raise Conflict("the content to restore was forgotten", hint="its content cannot be restored")
        entries.append(pack(then))
    about = _about_before(pen, stroke)
    head = {"of": [e.seq for e in stroke], "entries": entries}
    return pen.write(kind, head=head, body=None if about is None else {"about": about})


def _list_touched(stroke: Sequence[Event]) -> list[Ref]:
    out: dict[Ref, None] = {}
    for event in stroke:
        if event.message is not None:
            out[event.message] = None
        for was in event.head.get("entries", ()):
            out[parse_ref(was["message"])] = None
    return list(out)


def _set_back(before: Entry | None, after: Entry | None, now: Entry) -> Entry:
    if after is None:
        return now
    if before is None:  # the stroke added the message to the history: undo removes it
        before = replace(after, flags=after.flags | DELETED)
    changed = {f: getattr(before, f) for f in _FIELDS if getattr(before, f) != getattr(after, f)}
    if "flags" in changed:
        touched = before.flags ^ after.flags
        if (now.flags ^ after.flags) & touched:
            raise _conflict(now)
        changed["flags"] = now.flags & ~touched | before.flags & touched
    for name in changed:
        if name != "flags" and getattr(now, name) != getattr(after, name):
            raise _conflict(now)
    return replace(now, **changed)


def _conflict(now: Entry) -> Conflict:
    return Conflict(
        f"message {now.message.short} was changed again since",
        hint="undo that first, or edit the message by hand",
    )


def _about_before(pen: Pen, stroke: Sequence[Event]) -> dict[str, Json] | None:
    """Return the title, tags and other metadata that the stroke changed, as they were before."""
    if not any(e.body is not None and e.kind in TELLING for e in stroke):
        return None
    log = pen.tx.events(pen.state.id, 1, stroke[-1].seq)
    before = fold_about(ThreadDescription(), [e for e in log if e.seq < stroke[0].seq]).fields()
    after, now = fold_about(ThreadDescription(), log).fields(), pen.state.about.fields()
    changed = [key for key in before if before[key] != after[key]]
    if any(now[key] != after[key] for key in changed):
        raise Conflict("the thread was renamed or described again since", hint="change it by hand")
    return {key: before[key] for key in changed} or None
