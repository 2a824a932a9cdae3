"""Repair a store: rebuild every log that verifies, and set aside what does not. Nothing is dropped.

What can be derived from a log (the row of a thread, its history, its index) is derived again. An event that does not
verify, and all that builds on it, moves to the quarantine of the store unchanged, from where it can be written to a file;
so does the old row of every thread that gets a new one. Missing text is recorded as forgotten. `engine/log/verification`
decides what is wrong; the pages of the file itself are not repaired.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from backscroll.engine.core.lineage import View, reach
from backscroll.engine.core.pen import Pen, index_entry
from backscroll.engine.exchange.exports import write_file
from backscroll.engine.exchange.native.imports import bury, empty_in
from backscroll.engine.log import erasure as forgetting
from backscroll.engine.log.forks import count_inherited
from backscroll.engine.log.verification import DAMAGE, VerificationReport, verify_store
from backscroll.formats.sources.json_text import dumps
from backscroll.record.chain import flaws, genesis, link
from backscroll.record.content import original
from backscroll.record.history import Entry
from backscroll.record.ports import ThreadState, Writer
from backscroll.record.rehearsal import ForkPast, LogReplay
from backscroll.record.thread_info import ThreadDescription
from backscroll.vocab.event import SPEAKING, Event, Kind
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.part import Json
from backscroll.vocab.values.fields import is_place, is_ref, is_thread

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope
    from backscroll.record.quarantine import QuarantineRow

ACTOR = "backscroll:repair"
_PAGE = 500
_EVERY = 1 << 40
_ID = re.compile(r"[0-9a-f]{32}")
REBUILT = "its row, history and index were rebuilt from its log"
CUT = "its log was cut where it no longer verifies"
GONE = "the whole thread was set aside"


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What a repair did to one thread, or (with an empty `thread`) to data that belongs to none."""

    thread: str
    why: str  # the problem, as verification reported it
    what: str  # what was done
    aside: int = 0  # events, rows and blobs that were set aside


@dataclass(frozen=True, slots=True)
class _SoundPrefix:
    """How far a log verifies, and what it builds on."""

    state: ThreadState
    upto: int
    spoiled: tuple[int, ...]  # events whose text does not match its seal


def repair_store(engine: EngineScope) -> list[RepairReport]:
    """Repair what verification finds; return what was done, per thread."""
    before = engine.store.read(lambda reader: verify_store(reader, None))
    if before.ok:
        return []
    why = _reasons(before)
    out: list[RepairReport] = []
    strays = engine.store.write(lambda tx: tx.move_strays_aside("it belongs to nothing", engine.means.now()))
    if strays:
        out.append(
            RepairReport("", "rows without the thread or event they belong to", "they were set aside", strays)
        )
    cut: set[str] = set()
    for name in engine.store.write(_ancestors_first):
        done = engine.store.write(lambda tx, n=name: _mend(engine, tx, n, why.get(n, ""), cut))
        if done is not None:
            out.append(done)
            if done.what != REBUILT:
                cut.add(name)
    out += _mend_bytes(engine, before)
    names = engine.store.read(lambda reader: reader.threads_like("", _EVERY))
    for name in names:
        bury(engine, engine.store.read(lambda reader, n=name: empty_in(reader, n)), ACTOR)
    for root in engine.store.read(
        lambda reader: {s.root for n in names if (s := reader.thread(n)) is not None}
    ):
        engine.store.write(lambda tx, r=root: _index_anew(tx, r))
    engine.store.write(lambda tx: tx.rebuild_words())
    engine.memo.clear()
    return out


def _index_anew(tx: Writer, root: str) -> None:
    """Rebuild the index of a family: every text is indexed exactly while a thread shows it."""
    family = tx.family(root)
    views = [View(tx, kin) for kin in family]
    for kin in family:
        low = kin.fork_seq
        while page := tx.events(kin.id, low + 1, limit=_PAGE):
            low = page[-1].seq
            for event in page:
                if event.kind in SPEAKING:
                    _index_event(tx, views, event)


def _index_event(tx: Writer, views: list[View], event: Event) -> None:
    entries = [view.entry(event.message or event.id) for view in views]
    shown = event.body is not None and any(
        e is not None and e.live and e.revision == event.id for e in entries
    )
    words = index_entry(original(event.body or b"")) if shown else ""
    if (tx.read_index_tokens(event.id) or "") != words:
        tx.unindex(event.id)
        tx.index(event.id, words)


def _reasons(verdict: VerificationReport) -> dict[str, str]:
    """Return the first problem of each thread."""
    out: dict[str, str] = {}
    for flaw in verdict.flaws:
        for name in [flaw.thread] if flaw.thread else _ID.findall(flaw.what):
            out.setdefault(name, flaw.what)
    return out


def _ancestors_first(tx: Writer) -> list[str]:
    """Return every thread, parents before their forks."""
    names = tx.threads_like("", _EVERY)
    parents = {name: _parent(tx, name) for name in names}
    out: dict[str, None] = {}
    for name in names:
        line: list[str] = []
        at: str | None = name
        while at in parents and at not in out and at not in line:
            line.append(at)
            at = parents[at]
        out.update(dict.fromkeys(reversed(line)))
    return list(out)


def _parent(tx: Writer, thread: str) -> str | None:
    first = next(iter(tx.log_numbers(thread)), 0)
    event = _event(tx, thread, first)
    parent: Json = event.head.get("parent") if event is not None and event.kind is Kind.FORKED else None
    return parent if isinstance(parent, str) else None


def _event(tx: Writer, thread: str, seq: int) -> Event | None:
    """Return an event; None if it cannot be read."""
    try:
        return tx.event(Ref(thread, seq))
    except DAMAGE:
        return None


# -- one thread --------------------------------------------------------------------------------------------------


def _mend(engine: EngineScope, tx: Writer, thread: str, why: str, cut: set[str]) -> RepairReport | None:
    parent = _parent(tx, thread)
    if not why and parent not in cut:
        return None
    why = why or "the thread it forked from was cut"
    at = engine.means.now()
    sound = _sound(tx, thread)
    first = next(iter(tx.log_numbers(thread)), 1)
    tx.copy_thread_aside(thread, why, at)
    if sound is None or sound.upto < first:
        gone = tx.move_events_aside(thread, 0, why, at)
        tx.drop_thread(thread)
        return RepairReport(thread, why, GONE, gone + 1)
    gone = tx.move_events_aside(thread, sound.upto + 1, why, at)
    for seq in sound.spoiled:
        tx.copy_event_aside(thread, seq, "its words do not fit their seal", at)
    _put_in_anew(engine, tx, thread, sound)
    if gone:
        tx.unmake([], [thread])
    return RepairReport(thread, why, CUT if gone else REBUILT, gone + len(sound.spoiled) + 1)


def _sound(tx: Writer, thread: str) -> _SoundPrefix | None:
    """Return how far the log of a thread verifies; None if not even its beginning does."""
    state, past = _beginning(tx, thread)
    if state is None:
        return None
    rehearsal = LogReplay(thread, state.fork_seq, past)
    previous, spoiled = state.hash, list[int]()
    for seq in tx.log_numbers(thread):
        event = _event(tx, thread, seq)
        if event is None or seq != rehearsal.head + 1 or link(previous, event) != event.hash:
            break
        if _is_spoiled(event, previous):
            spoiled.append(seq)
            event = replace(event, body=None, salt=None)
        if rehearsal.take(event, 0) is not None:
            break
        previous = event.hash
    return _SoundPrefix(state, rehearsal.head, tuple(spoiled))


def _is_spoiled(event: Event, previous: bytes) -> bool:
    try:
        wrong = bool(flaws(event, previous))
        if event.kind in SPEAKING and event.body is not None:
            original(event.body)
    except DAMAGE:
        return True
    return wrong and event.body is not None


def _beginning(tx: Writer, thread: str) -> tuple[ThreadState | None, ForkPast]:
    """Return the row that a thread began with, according to its first event, and the history that it shares."""
    first = next(iter(tx.log_numbers(thread)), 0)
    event = _event(tx, thread, first)
    if event is None or event.kind not in (Kind.CREATED, Kind.FORKED):
        return None, ForkPast()
    began: Json = event.head.get("said", event.at)
    if event.kind is Kind.CREATED:
        whole = ThreadState(thread, thread, 0, genesis(thread), ThreadDescription(), began, began)
        return (whole if first == 1 else None), ForkPast()
    parent, at = event.head.get("parent"), event.head.get("at")
    position, message = event.head.get("position"), event.head.get("message")
    sane = (
        is_thread(parent)
        and (position is None or is_place(position))
        and (message is None or is_ref(message))
    )
    try:
        held = tx.thread(str(parent)) if sane and at == first - 1 else None
        view = None if held is None or held.head < first - 1 else View(tx, held, first - 1)
        shared = None if view is None else view.event(first - 1)
    except DAMAGE:
        return None, ForkPast()
    if held is None or view is None or shared is None:
        return None, ForkPast()
    state = ThreadState(
        thread,
        held.root,
        first - 1,
        shared.hash,
        ThreadDescription(),
        began,
        began,
        parent=held.id,
        fork_seq=first - 1,
        fork_position=None if position is None else bytes.fromhex(position),
        fork_message=None if message is None else parse_ref(message),
    )
    return count_inherited(tx, state, as_logged=True), _past(tx, view, state)


def _past(tx: Writer, view: View, state: ThreadState) -> ForkPast:
    def entry(message: Ref) -> Entry | None:
        found, limit = view.entry(message), state.fork_position
        return None if found is None or (limit is not None and found.position > limit) else found

    def speaks(revision: Ref) -> Ref | None:
        event = tx.event(revision)
        return None if event is None or event.kind not in SPEAKING else event.message

    reached = {name: min(last, state.fork_seq) for name, last in reach(tx, view.state)}
    return ForkPast(entry, speaks, reached)


def _put_in_anew(engine: EngineScope, tx: Writer, thread: str, sound: _SoundPrefix) -> None:
    """Log the events of a thread again, one by one, as if imported from a file."""
    tx.renew_thread(sound.state)
    tx.take_out(thread, sound.upto + 1, sound.upto + 1)
    pen = Pen(tx, thread, engine.means, ACTOR)
    gone: list[Event] = []
    for event in _log(tx, thread, sound):
        pen.adopt(event)
    pen.save()
    for event in tx.events(thread) if pen.state.forgotten or tx.meta("erased") else ():
        entry = pen.entry(event.message) if event.kind in SPEAKING and event.message is not None else None
        if event.body is not None and entry is not None and entry.flags & 8:
            gone.append(event)
    forgetting.erase(tx, gone)


def _log(tx: Writer, thread: str, sound: _SoundPrefix) -> Iterator[Event]:
    """Yield the events of a thread, removed from the store page by page."""
    low = sound.state.fork_seq + 1
    while low <= sound.upto:
        high = min(low + _PAGE - 1, sound.upto)
        page = tx.events(thread, low, high)
        tx.take_out(thread, low, high)
        for event in page:
            yield replace(event, body=None, salt=None) if event.seq in sound.spoiled else event
        low = high + 1


# -- the rest ----------------------------------------------------------------------------------------------------


def _mend_bytes(engine: EngineScope, verdict: VerificationReport) -> list[RepairReport]:
    """Set aside blobs that do not match their hash."""

    def work(tx: Writer) -> list[str]:
        wrong = [
            name
            for name in tx.blobs()
            if (data := tx.blob(name)) is None or hashlib.sha256(data).hexdigest() != name
        ]
        for name in wrong:
            tx.move_blob_aside(name, "the bytes do not fit their hash", engine.means.now())
        return wrong

    if not any("do not fit their hash" in flaw.what for flaw in verdict.flaws):
        return []
    found = engine.store.write(work)
    return (
        [RepairReport("", "stored bytes do not fit their hash", "they were set aside", len(found))]
        if found
        else []
    )


def list_aside(engine: EngineScope) -> list[QuarantineRow]:
    """Return what repairs have set aside so far, oldest first."""
    return engine.store.write(lambda tx: tx.set_aside())


def save_aside(engine: EngineScope, target: str) -> int:
    """Write what was set aside to a file, one JSON object per line; return how many."""
    rows = list_aside(engine)
    lines = (
        dumps(
            {
                "set_aside": row.number,
                "at": row.at,
                "reason": row.reason,
                "from": row.source,
                "thread": row.thread,
                "seq": row.seq,
            }
        )[:-1]
        + f',"row":{row.row}}}\n'
        for row in rows
    )
    write_file(Path(target).expanduser(), lines)
    return len(rows)
