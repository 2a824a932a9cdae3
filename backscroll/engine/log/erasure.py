"""Forget: the only way to erase text.

The text, its hashes, its blobs, everything derived from it (artefacts, models' replies, vectors, token counts, summaries of
crops and compactions) and its index entries are erased, in every fork, and the file is rewritten so that no page still
contains them. A tombstone remains: that a message existed, who erased it and when. It contains a short salted mark by which
an import recognises the same message and skips it; the mark is too short (12 bits) to confirm a guess about the text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from backscroll.engine.core.audience import PROFILE, scopes_of
from backscroll.engine.core.clock import ClockAndIds
from backscroll.engine.core.lineage import View, kin_of
from backscroll.engine.core.pen import Pen
from backscroll.engine.log import echoes
from backscroll.engine.log.fork_metadata import disown
from backscroll.errors import NotFound
from backscroll.record.content import blobs_of, original
from backscroll.record.history import FORGOTTEN
from backscroll.record.ports import Store, ThreadState, Writer
from backscroll.vocab.event import SPEAKING, Event, Kind
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.part import Json

#: Events whose text replaces messages.
_CONDENSING = frozenset({Kind.CROPPED, Kind.COMPACTED, Kind.PLACED})
#: Events whose text may mention messages, which they list.
_SPEAKING_OF = frozenset({Kind.TASKED, Kind.REMEMBERED})
#: Events whose text can be erased by itself: nothing else depends on them.
_ACTS = frozenset({Kind.OVERRIDDEN, Kind.WORLD_TOLD, Kind.REMEMBERED, Kind.TASKED, Kind.CODE_CHANGED})


@dataclass(frozen=True, slots=True)
class ForgetReport:
    """What a forget erased, or would erase."""

    messages: int
    revisions: int
    blobs: int
    threads: tuple[str, ...]  # every thread that showed them
    shared_with: tuple[Ref, ...]  # other messages that lose the same attachments
    beside: int = (
        0  # titles, asides and code changes that repeated the text; crops and compactions that contained it
    )
    unreachable: tuple[str, ...] = ()
    derived: int = 0  # artefacts, replies, vectors, counts and receipts derived from them


class DryRunResult(Exception):
    """Carries the outcome of a dry run of `forget` out of its transaction."""

    def __init__(self, erasure: ForgetReport) -> None:
        super().__init__()
        self.erasure = erasure


def mark(salt: bytes, digest: bytes) -> str:
    """Return three hex digits that match a content hash: slow to compute, and too short to prove a guess."""
    slow = hashlib.scrypt(digest, salt=salt, n=1 << 12, r=8, p=1, dklen=2)
    return slow.hex()[:3]


def erase_in(
    store: Store,
    means: ClockAndIds,
    thread: str,
    messages: Sequence[Ref] | None,
    actor: str,
    *,
    keep_shared: bool,
    dry_run: bool,
) -> ForgetReport:
    """Erase messages, or (None) a whole thread, in one transaction; `dry_run` only reports what would be erased."""

    def work(tx: Writer) -> ForgetReport:
        if messages is not None:
            done = forget_messages(
                tx, means, thread, messages, actor, keep_shared=keep_shared, dialect=store.dialect
            )
        else:
            done = forget_thread(tx, means, thread, actor, keep_shared=keep_shared, dialect=store.dialect)
        if dry_run:
            raise DryRunResult(done)
        return done

    try:
        return store.write(work)
    except DryRunResult as answer:
        return answer.erasure


def forget_messages(
    tx: Writer,
    means: ClockAndIds,
    thread: str,
    messages: Sequence[Ref],
    actor: str,
    *,
    keep_shared: bool = False,
    dialect: str,
) -> ForgetReport:
    """Erase messages from a thread and from every fork that shares them. `dialect`: the query language of the store's index."""
    state = tx.lock_thread(thread)
    if state is None:
        raise NotFound(f"thread {thread} not found")
    family = kin_of(tx, state.root)
    for message in messages:
        if View(tx, state).entry(message) is None:
            raise NotFound(f"message {message.short} not found in thread {thread[:8]}")
    doomed = {message: [e for e in tx.events_about(message) if e.body is not None] for message in messages}
    holes = {message: _hole(tx, means, message, events) for message, events in doomed.items()}
    affected: list[str] = []
    for kin in family:
        view = View(tx, kin)
        seen = [m for m in messages if (e := view.entry(m)) is not None and not e.flags & FORGOTTEN]
        if not seen and kin.id != thread:
            continue
        pen = Pen(tx, kin.id, means, actor)
        pen.write(Kind.FORGOTTEN, head={"messages": [holes[m] for m in seen]})
        pen.save()
        affected.append(kin.id)
    said = [e for events in doomed.values() for e in events]
    told = {e.id: e for e in _echoes(tx, means, affected, said, actor)}
    told |= {e.id: e for e in find_condensations(tx, family, messages)}
    kin_ids = [kin.id for kin in family]
    told |= {e.id: e for e in echoes.naming(tx, kin_ids, echoes.words_of(said), set(messages), dialect)}
    told |= {e.id: e for e in _erase_overrides(tx, means, family, messages, said, actor, dialect)}
    derived = tx.unmake([e.id for e in said], [kin.id for kin in family])
    done = erase(tx, [*said, *told.values()], len(messages), affected, keep_shared=keep_shared)
    return replace(done, revisions=len(said), beside=len(told), derived=derived)


def _erase_overrides(
    tx: Writer,
    means: ClockAndIds,
    family: Sequence[ThreadState],
    messages: Sequence[Ref],
    said: Sequence[Event],
    actor: str,
    dialect: str,
) -> list[Event]:
    """Return the overrides for a user or a project as a whole that repeat these messages; their threads are notified."""
    scopes = dict.fromkeys(scope for kin in family for scope in scopes_of(kin.about))
    out: list[Event] = []
    for scope in scopes:
        home = tx.find_by_key(scope.key)
        if home is None or home.about.kind != PROFILE or home.id in {kin.id for kin in family}:
            continue
        heard = [state.id for state in scope.threads(tx)]
        words = echoes.words_of(said)
        found = echoes.naming(tx, [home.id], words, set(messages), dialect, heard)
        if found:
            pen = Pen(tx, home.id, means, actor)
            pen.write(Kind.FORGOTTEN, head={"messages": [], "acts": sorted(e.seq for e in found)})
            pen.save()
            out += found
    return out


def find_condensations(tx: Writer, family: Sequence[ThreadState], messages: Iterable[Ref]) -> list[Event]:
    """Return the crops and compactions of a family whose text rests on these messages, or that do not record what it rests on."""
    names = {str(message) for message in messages}
    return [
        event
        for kin in family
        for event in (*tx.others(kin.id), *tx.list_placed_events(kin.id))
        if event.body is not None
        and (
            (event.kind in _CONDENSING and _rests_on(event.head.get("sources"), names))
            or (event.kind in _SPEAKING_OF and _names(event.head, names))
            or (event.kind is Kind.OVERRIDDEN and _only_from(tx, event.head.get("sources"), names))
            or (event.kind is Kind.CODE_CHANGED and event.head.get("message") in names)
        )
    ]


def forget_acts(tx: Writer, means: ClockAndIds, thread: str, seqs: Sequence[int], actor: str) -> ForgetReport:
    """Erase the text of events that are not messages: a memory the user wrote, an override."""
    events = [event for seq in dict.fromkeys(seqs) if (event := tx.event(Ref(thread, seq))) is not None]
    if len(events) < len(set(seqs)) or any(event.kind not in _ACTS for event in events):
        raise NotFound(
            f"no such words in thread {thread[:8]}", hint="messages are erased with `backscroll forget`"
        )
    state = tx.lock_thread(thread)
    assert state is not None
    gone = sorted(e.seq for e in events)
    told: list[str] = []
    # Forks share them, and processes with cached graphs must be notified.
    for kin in kin_of(tx, state.root):
        view = View(tx, kin)
        seen = [n for n in gone if (e := view.event(n)) is not None and e.thread == thread]
        if seen:
            pen = Pen(tx, kin.id, means, actor)
            pen.write(Kind.FORGOTTEN, head={"messages": [], "acts": seen})
            pen.save()
            told.append(kin.id)
    # Placed texts do not record which text they quote: all that was placed in those prompts is erased.
    placed = [e for name in told for e in tx.list_placed_events(name) if e.body is not None]
    derived = tx.unmake([e.id for e in events], told)
    done = erase(tx, [*(e for e in events if e.body is not None), *placed], 0, told)
    return replace(done, beside=len(events), derived=derived)


def _names(head: Mapping[str, Json], names: set[str]) -> bool:
    """Return True if an event names one of these messages, or (in runs of numbers) its number."""
    sources: Json = head.get("sources")
    if isinstance(sources, list) and not names.isdisjoint(map(str, cast("list[Json]", sources))):
        return True
    runs: Json = head.get("runs")
    if not isinstance(runs, list):
        return False
    numbers = [int(name.rpartition(".")[2]) for name in names]
    return any(int(a) <= n <= int(b) for a, b in cast("list[list[int]]", runs) for n in numbers)


def _only_from(tx: Writer, sources: Json, names: set[str]) -> bool:
    """Return True if an override repeats only text from these or other forgotten messages."""
    if not isinstance(sources, list) or not sources:
        return False
    left = [str(name) for name in cast("list[Json]", sources) if str(name) not in names]
    events = [tx.event(parse_ref(name)) for name in left]
    return len(left) < len(cast("list[Json]", sources)) and all(e is None or e.body is None for e in events)


def _rests_on(sources: Json, names: set[str]) -> bool:
    return not isinstance(sources, list) or not names.isdisjoint(map(str, cast("list[Json]", sources)))


def _echoes(
    tx: Writer, means: ClockAndIds, threads: Sequence[str], said: Sequence[Event], actor: str
) -> list[Event]:
    """Return the events that repeat the messages; the log records marks by which an import recognises them."""
    words = echoes.words_of(said)
    lines = echoes.beside(tx, threads, words)
    for thread in dict.fromkeys(line.thread for line in lines):
        salt = means.random(8)
        tags = [echoes.tag(salt, e.body or b"") for e in lines if e.thread == thread]
        pen = Pen(tx, thread, means, actor)
        pen.write(Kind.FORGOTTEN, head={"messages": [], "beside": {"salt": salt.hex(), "tags": tags}})
        pen.save()
    return [*lines, *echoes.erase_from_titles(tx, means, threads, words, actor)]


def forget_thread(
    tx: Writer, means: ClockAndIds, thread: str, actor: str, *, keep_shared: bool = False, dialect: str
) -> ForgetReport:
    """Erase a thread: all text in its log, its title, and what forks share of it."""
    state = tx.lock_thread(thread)
    if state is None:
        raise NotFound(f"thread {thread} not found")
    own = [e.id for e in tx.events(thread) if e.message == e.id]
    disowned = list(disown(tx, means, thread, kin_of(tx, state.root), actor))
    shown = _forget_shown(tx, means, state.root, thread, actor)
    done = forget_messages(tx, means, thread, own, actor, keep_shared=keep_shared, dialect=dialect)
    pen = Pen(tx, thread, means, actor)
    pen.write(Kind.FORGOTTEN, head={"thread": True, "messages": []})
    pen.save()
    left = {e.id: e for e in (*disowned, *find_condensations(tx, kin_of(tx, state.root), shown))}
    left |= {e.id: e for e in tx.events(thread) if e.body is not None}
    tx.erase_aside(thread)
    derived = tx.unmake(list(left), [thread]) + tx.unlearn(thread)
    more = erase(tx, left.values(), 0, [thread], keep_shared=keep_shared)
    return replace(
        done,
        blobs=done.blobs + more.blobs,
        shared_with=(*done.shared_with, *more.shared_with),
        beside=done.beside + more.revisions,
        derived=done.derived + derived,
    )


def _forget_shown(tx: Writer, means: ClockAndIds, root: str, thread: str, actor: str) -> set[Ref]:
    """Forget messages in forks that show this thread's text for them.

    Returns the messages for which this thread had text of its own.
    """
    edits = {
        e.id: (e, e.target)
        for e in tx.events(thread)
        if e.kind in SPEAKING and e.target is not None and e.target.thread != thread
    }
    targets = {target for _, target in edits.values()}
    for kin in kin_of(tx, root) if edits else ():
        view = View(tx, kin)
        entries = [e for m in targets if (e := view.entry(m)) is not None and not e.flags & FORGOTTEN]
        shown = [edits[e.revision] for e in entries if e.revision in edits]
        if shown:
            pen = Pen(tx, kin.id, means, actor)
            holes = [_hole(tx, means, message, [event]) for event, message in shown]
            pen.write(Kind.FORGOTTEN, head={"messages": holes})
            pen.save()
    return targets


def _hole(tx: Writer, means: ClockAndIds, message: Ref, events: Sequence[Event]) -> dict[str, Json]:
    """Return what the tombstone records about a message: its id, and the marks of its revisions."""
    salt = means.random(8)
    spoken = tx.read_spoken([e.id for e in events if e.kind in SPEAKING])
    marks = sorted({mark(salt, s.digest) for s in spoken.values() if s.digest is not None})
    return {"message": str(message), "salt": salt.hex(), "marks": marks}


def erase(
    tx: Writer,
    events: Iterable[Event],
    messages: int = 0,
    threads: Sequence[str] = (),
    *,
    keep_shared: bool = False,
) -> ForgetReport:
    """Erase the text of these events, and the blobs that only they (or, by default, others too) refer to."""
    erased: set[Ref] = set()
    blobs: set[str] = set()
    for event in events:
        if event.kind in SPEAKING and event.body is not None:
            blobs.update(blobs_of(original(event.body)))
        tx.erase_event(event.id)
        erased.add(event.id)
    shared: dict[Ref, None] = {}
    gone = 0
    for blob in sorted(blobs):
        others = [ref for ref in tx.blob_users(blob) if ref not in erased]
        if others and keep_shared:
            continue
        shared.update(dict.fromkeys(others))
        tx.erase_blob(blob)
        gone += 1
    return ForgetReport(messages, len(erased), gone, tuple(threads), tuple(shared))
