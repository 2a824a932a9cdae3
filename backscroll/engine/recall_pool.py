"""From the store to an index that can be asked: the texts among which recall looks.

Owns the two ways. *Exact*: a thread of up to `recalling.EXACT` messages is held in memory as a whole; a new message is added to what is held,
any other change makes the index anew (texts that did not change are prepared already). *Pool*: of a longer thread, or of several
threads, what the store's index finds by words and by vectors, with its neighbours, among some messages from all over for
comparison. Both give the same kind of index, so one weighing serves both. Before: `engine/reading`. After: `engine/recalling`.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from backscroll.engine.lineage import View, ancestors, kin_of
from backscroll.engine.reading import message_of
from backscroll.errors import InvalidInput
from backscroll.llm.encoder import Encoder, encoder_of
from backscroll.recall.candidate import Candidate, Prepared, prepare
from backscroll.recall.index import Index, vectors_of
from backscroll.recall.query import Phrase, Query, Term, parse_query
from backscroll.recall.understand import Asked
from backscroll.record.history import HIDDEN, Entry
from backscroll.record.order import at_end
from backscroll.record.ports import Reader, Spoken, ThreadState, Wanted
from backscroll.vocab.event import BESIDE, Kind
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message, checked_role
from backscroll.vocab.part import Json, Media, Text, ToolCall, ToolResult

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

    from backscroll.engine.engine import Engine

_HELD = 8  # threads whose index is kept in memory
_PAGE = 512
_SITTING = timedelta(hours=2)  # after a longer silence a new session begins
#: What adds a message at the end and touches no other.
_GROWS = frozenset(
    {
        Kind.APPENDED,
        Kind.CODE_CHANGED,
        Kind.RENAMED,
        Kind.TAGGED,
        Kind.UNTAGGED,
        Kind.COMPACTED,
        Kind.NOTED,
        Kind.ASIDE,
        *BESIDE,
    }
)


class Reach(NamedTuple):
    """How much of a long history is gathered for a question."""

    hits: int  # by words, and as many by vectors
    neighbours: int  # best hits whose neighbours are looked at too
    beside: int  # neighbours on either side
    samples: int  # places of the history for comparison
    sample: int  # messages from each
    vectors: bool = True  # whether texts are compared by meaning too


WIDE = Reach(150, 60, 3, 16, 32)
#: … of one that a background worker has still to read, for a prompt, which does not wait.
HASTY = Reach(40, 10, 2, 8, 12, vectors=False)


@dataclass(frozen=True, slots=True)
class Place:
    """A message in the thread in which it was found."""

    thread: str
    message: Ref
    revision: Ref
    role: str
    speaker: str
    at: str


@dataclass(slots=True)
class Pool:
    """An index with the place of each of its texts."""

    index: Index
    places: list[Place] = field(default_factory=list[Place])
    head: int = 0
    edge: bytes | None = None  # position of the last message
    last: datetime | None = None
    session: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)

    def add(self, rows: Sequence[tuple[str, Message]], engine: Engine) -> None:
        """Take in messages in their order; those that say nothing are passed over."""
        texts: list[Prepared] = []
        for thread, message in rows:
            text = spoken_text(message)
            moment = datetime.fromisoformat(message.at) if message.at else None
            if self.last is not None and moment is not None and abs(moment - self.last) > _SITTING:
                self.session += 1
            self.last = moment or self.last
            if message.hidden or message.role == "system" or not text.strip():
                continue
            speaker = message.author or message.role
            candidate = Candidate(
                message.revision,
                text,
                message.author or "",
                message.role != "user",
                None if moment is None else moment.date(),
                (thread, self.session),
            )
            texts.append(_prepared(engine, candidate))
            self.places.append(Place(thread, message.id, message.revision, message.role, speaker, message.at))
        self.index.extend(texts, None if self.index.encode is None else _vectors(engine, texts))

    def opens(self) -> None:
        """What comes next belongs to another stretch of the history."""
        self.session += 1
        self.last = None


def spoken_text(message: Message) -> str:
    """The words of a message by which it can answer: what was said, what tools were asked and what they gave back."""
    out: list[str] = []
    for part in message.parts:
        match part:
            case Text():
                out.append(part.text)
            case ToolCall():
                out.append(f"{part.name} {_plain(part.arguments)}".strip())
            case ToolResult():
                out.extend(p.text for p in part.content if isinstance(p, Text))
            case Media():
                out.append(part.name or "")
            case _:
                pass
    return "\n".join(text for text in out if text)


def _plain(value: Json) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return " ".join(f"{k}: {_plain(v)}" for k, v in cast("dict[str, Any]", value).items())
    if isinstance(value, list):
        return " ".join(_plain(v) for v in cast("list[Any]", value))
    return "" if value is None else str(value)


# -- what is done once per text ----------------------------------------------------------------------------------


def encoder_for(engine: Engine) -> Encoder | None:
    """The encoder that is set, if it can be had."""
    return encoder_of(engine.settings.encoder)


def _prepared(engine: Engine, candidate: Candidate) -> Prepared:
    shelf = engine.memo.shelf("recall-texts", 8_000)
    found = cast("Prepared | None", shelf.get(candidate.key))
    if found is not None:  # a revision never changes its words; where it stands may be told differently
        return found if found.candidate == candidate else replace(found, candidate=candidate)
    made = prepare(candidate)
    shelf[candidate.key] = made
    return made


def _vectors(engine: Engine, texts: Sequence[Prepared]) -> list[NDArray[np.float16]] | None:
    """Vectors of texts and their pieces; in half precision, so that kept and fresh ones are the same, and held once."""
    encoder = encoder_for(engine)
    if encoder is None:
        return None
    shelf = engine.memo.shelf("recall-vectors", 8_000)
    names = [(encoder.name, text.candidate.key) for text in texts]
    out: dict[Any, NDArray[np.float16]] = {
        name: held for name in names if (held := shelf.get(name)) is not None
    }
    fresh = [(name, text) for name, text in zip(names, texts, strict=True) if name not in out]
    for start in range(0, len(fresh), 256):
        some = fresh[start : start + 256]
        for (name, _), rows in zip(some, vectors_of(encoder.encode)([text for _, text in some]), strict=True):
            shelf[name] = out[name] = rows.astype(np.float16)
    return [out[name] for name in names]


def _encode(engine: Engine) -> Any:
    """An encoder that remembers words: vocabularies of conversations overlap."""
    encoder = encoder_for(engine)
    if encoder is None:
        return None
    shelf = engine.memo.shelf(f"recall-words-{encoder.name}", 20_000)

    def encode(texts: Sequence[str]) -> NDArray[float32]:
        out = np.zeros((len(texts), encoder.dim), np.float32)
        fresh: list[int] = []
        for number, text in enumerate(texts):
            held = shelf.get(text)
            if held is None:
                fresh.append(number)
            else:
                out[number] = held
        if fresh:
            made = encoder.encode([texts[number] for number in fresh])
            for number, row in zip(fresh, made, strict=True):
                half = row.astype(np.float16)
                out[number] = half
                if len(texts[number]) <= 40:
                    shelf[texts[number]] = half
        return out

    return encode


# -- exact -------------------------------------------------------------------------------------------------------


def exact_pool(engine: Engine, reader: Reader, state: ThreadState, before: bytes | None = None) -> Pool:
    """A whole thread, or what stands before a position of it; kept in memory and brought up to date."""
    shelf = engine.memo.shelf("recall-index", _HELD)
    encoder = encoder_for(engine)
    name = (state.id, None if encoder is None else encoder.name, before is None)
    pool = cast("Pool | None", shelf.get(name))
    view = View(reader, state)
    if pool is not None:
        with pool.lock:
            reaches = before is None or pool.edge is None or pool.edge < before
            if reaches and (pool.head == state.head or _only_grew(reader, state, pool.head)):
                _fill(engine, view, pool, before)
                pool.head = state.head
                return pool
    pool = Pool(Index(_encode(engine)))
    _fill(engine, view, pool, before)
    pool.head = state.head
    shelf[name] = pool
    return pool


def pool_without(engine: Engine, reader: Reader, state: ThreadState, exclude: Collection[Ref]) -> Pool:
    """A whole thread but for some revisions, made for one question: what is left is weighed as if they had never been there."""
    pool, edge, view = Pool(Index(_encode(engine))), None, View(reader, state)
    while rows := view.page(_PAGE, after=edge):
        pool.add([(state.id, m) for m in _messages(rows) if m.revision not in exclude], engine)
        edge = rows[-1][0].position
        if len(rows) < _PAGE:
            break
    pool.head = state.head
    return pool


def _only_grew(reader: Reader, state: ThreadState, seen: int) -> bool:
    if not 0 <= state.head - seen <= _PAGE:
        return False
    events = reader.events(state.id, seen + 1, state.head)
    return all(event.kind in _GROWS and not event.head.get("position") for event in events)


def _fill(engine: Engine, view: View, pool: Pool, before: bytes | None) -> None:
    while rows := view.page(_PAGE, after=pool.edge, before=before):
        pool.add([(view.state.id, m) for m in _messages(rows)], engine)
        pool.edge = rows[-1][0].position
        if len(rows) < _PAGE:
            break


def _messages(rows: Iterable[tuple[Entry, Spoken]]) -> list[Message]:
    return [message_of(entry, spoken) for entry, spoken in rows if entry.live and spoken.body is not None]


# -- pool --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Gathered:
    """Messages by thread and position, each once."""

    rows: dict[str, dict[bytes, Message]] = field(default_factory=dict[str, dict[bytes, Message]])
    views: dict[str, View] = field(default_factory=dict[str, View])
    seen: set[Ref] = field(default_factory=set[Ref])

    def take(self, thread: str, entry: Entry, spoken: Spoken) -> None:
        """Add a message, unless some thread gave the same words already."""
        if entry.live and spoken.body is not None and entry.revision not in self.seen:
            self.seen.add(entry.revision)
            self.rows.setdefault(thread, {})[entry.position] = message_of(entry, spoken)


def gathered_pool(
    engine: Engine,
    reader: Reader,
    asked: Asked,
    wanted: Wanted,
    scope: ThreadState | None,
    question: Ref | None = None,
    exclude: Collection[Ref] = (),
    reach: Reach = WIDE,
) -> Pool:
    """What the store finds for a question, with its neighbours and some messages for comparison; never the question itself.

    With `scope` only what that thread shows; else each hit in the thread where it was said, or in a fork that shows it.
    """
    found = _Gathered(seen={*exclude} if question is None else {question, *exclude})
    hits = _hits(engine, reader, asked, wanted, reach)
    for number, (message, revision, role) in enumerate(hits):
        state = scope if scope is not None else _home(reader, message, revision, role, wanted)
        if state is None:
            continue
        view = found.views.setdefault(state.id, View(reader, state))
        entry = view.entry(message)
        if entry is None or not entry.live or entry.revision != revision or entry.flags & HIDDEN:
            continue
        found.take(state.id, entry, reader.spoken([revision])[revision])
        if number < reach.neighbours:
            here = entry.position
            before = view.page(reach.beside, before=here, newest_first=True)
            for row in (*before, *view.page(reach.beside, after=here)):
                found.take(state.id, *row)
    _sample(reader, found, wanted, scope, reach)
    return _laid_out(engine, found, vectors=reach.vectors)


def _hits(
    engine: Engine, reader: Reader, asked: Asked, wanted: Wanted, reach: Reach
) -> list[tuple[Ref, Ref, str]]:
    """Message, revision and role of what fits by letter, by words, by vector; what is found by several ways stands first."""
    points: dict[tuple[Ref, Ref, str], float] = {}
    most = reach.hits
    for query in _queries(asked):
        expression = query.to_fts5() if engine.store.dialect == "fts5" else query.to_tsquery()
        for rank, hit in enumerate(reader.search(expression, wanted, most)):
            name = (hit.message, hit.revision, hit.role)
            points[name] = points.get(name, 0.0) + 1 / (20 + rank)
    encoder = encoder_for(engine) if reach.vectors else None
    if encoder is not None:
        vector = encoder.encode([asked.text])[0]
        near = (
            reader.nearest(vector.astype("<f2").tobytes(), encoder.name, wanted, most) if vector.any() else []
        )
        for rank, (revision, _) in enumerate(near):
            event = reader.event(revision)
            message = None if event is None else event.message
            if event is None or message is None:
                continue
            first = event if message == revision else reader.event(message)
            role = "" if first is None else str(first.head.get("role", ""))
            if role:
                name = (message, revision, role)
                points[name] = points.get(name, 0.0) + 1 / (20 + rank)
    return sorted(points, key=lambda name: (-points[name], name[1]))


def _queries(asked: Asked) -> Iterable[Query]:
    for exact in asked.exact[:8]:
        try:
            yield parse_query(f'"{exact.replace(chr(34), " ")}"')
        except InvalidInput:
            continue  # nothing but punctuation between the quotes
    from backscroll.recall.passages import counterpart_terms

    for words in (asked.pairs, counterpart_terms(asked)):
        terms = [Term(word, (Phrase((word,)),), (Phrase((word,)),)) for word in words[:60]]
        if terms:
            yield Query(asked.text, (tuple(terms),))


def _home(reader: Reader, message: Ref, revision: Ref, role: str, wanted: Wanted) -> ThreadState | None:
    """The thread to show a hit in: where it was said, else a fork that still shows it; never one of another project or user."""
    home = reader.thread(revision.thread)
    if home is None:
        return None
    entry = Entry(message, b"", checked_role(role), revision)
    for state in [home, *(kin for kin in kin_of(reader, home.root) if kin.id != home.id)]:
        if _fits(wanted, state) and View(reader, state).sees(entry):
            return state
    return None


def _fits(wanted: Wanted, state: ThreadState) -> bool:
    project = wanted.project is None or state.about.project == wanted.project
    return project and (wanted.users is None or state.about.user in wanted.users)


def threads_wanted(reader: Reader, wanted: Wanted, limit: int) -> list[ThreadState]:
    """The threads that are looked through, the most recently changed first."""
    if wanted.users is None:
        return reader.threads(project=wanted.project, limit=limit)
    found = [
        s for user in wanted.users for s in reader.threads(project=wanted.project, user=user, limit=limit)
    ]
    return sorted(found, key=lambda s: (s.updated_at, s.id), reverse=True)[:limit]


def _sample(
    reader: Reader, found: _Gathered, wanted: Wanted, scope: ThreadState | None, reach: Reach
) -> None:
    """Some messages from all over, so that the question's words can be seen to be rare or common."""
    states = [scope] if scope is not None else threads_wanted(reader, wanted, reach.samples)
    for state in states:
        view = found.views.setdefault(state.id, View(reader, state))
        places = max(1, reach.samples // len(states))
        for number in range(places):
            start = at_end(1 + number * state.head // places)
            for row in view.page(reach.sample, after=start):
                found.take(state.id, *row)


def _laid_out(engine: Engine, found: _Gathered, *, vectors: bool) -> Pool:
    pool = Pool(Index(_encode(engine) if vectors else None))
    rows: list[tuple[str, Message]] = []
    for thread in sorted(found.rows):
        rows += [(thread, found.rows[thread][position]) for position in sorted(found.rows[thread])]
    pool.add(rows, engine)
    return pool


def lineage(reader: Reader, state: ThreadState) -> tuple[str, ...]:
    """A thread and its ancestors: the logs in which its words may lie."""
    return (state.id, *(parent.id for _, parent in ancestors(reader, state)))
