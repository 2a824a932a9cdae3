"""Build an index for recall from the store: for threads that are held in memory as a whole.

Owns what is done once per text, and the index of one or several threads: a new message is added to it, any other change
rebuilds it (unchanged texts are already prepared). Up to `EXACT` messages it is built on request; up to `LARGEST` it is
built in the background, a stretch at a time, and until then `engine/search/recall_source` serves. Both give the same kind
of index, so one scoring serves both.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from backscroll.engine.core.history import message_of
from backscroll.engine.core.lineage import View
from backscroll.llm.encoders.encoder import Encoder, encoder_of
from backscroll.recall.index.arrays import GrowingArray
from backscroll.recall.index.candidate import Candidate, PreparedCandidate, prepare
from backscroll.recall.index.index import RecallIndex, vectors_of
from backscroll.record.history import HIDDEN, Entry
from backscroll.record.ports import Reader, RevisionBody, ThreadState
from backscroll.vocab.event import BESIDE, Kind
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import Json, Media, Text, ToolCall, ToolResult

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

    from backscroll.engine.core.thread_scope import EngineScope

#: Messages up to which threads are searched as a whole at any cost; and up to which, once their index is built.
EXACT, LARGEST = 3_000, 20_000
_HELD = 8  # threads whose index is kept in memory
_LARGE = 2  # … of more than `EXACT` messages
_CHARACTERS = 4_000_000  # of texts in one index: more would take too much memory
_STRETCH = 300_000  # characters added per question in the background
_PAGE = 512
_VOCABULARY = 60_000  # words whose vectors are cached
_WORD = 40  # characters of the longest
_SITTING = timedelta(hours=2)  # a longer silence starts a new session
#: Events that add a message at the end and change no other.
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


@dataclass(frozen=True, slots=True)
class MessagePlace:
    """A message and the thread in which it was found."""

    thread: str
    message: Ref
    revision: Ref
    role: str
    speaker: str
    at: str


@dataclass(slots=True)
class RecallPool:
    """An index with the origin of each of its texts."""

    index: RecallIndex
    places: list[MessagePlace] = field(default_factory=list[MessagePlace])
    called: dict[int, int | None] = field(
        default_factory=dict[int, "int | None"]
    )  # results -> the message that called for them
    call: int | None = None  # the last message, if it is the assistant's
    heads: dict[str, int] = field(default_factory=dict[str, int])  # of the threads included
    thread: int = 0  # the number of the thread read last
    edge: bytes | None = None  # position of its last message
    seen: set[Ref] = field(
        default_factory=set[Ref]
    )  # revisions that a fork shows and their own thread does not
    whole: bool = False  # True if nothing is missing
    characters: int = 0
    last: datetime | None = None
    session: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)

    def add(self, rows: Iterable[tuple[str, Entry, RevisionBody]], engine: EngineScope) -> None:
        """Add messages in their order; empty ones are skipped."""
        texts: list[PreparedCandidate] = []
        sessions: list[Hashable] = []
        for thread, entry, spoken in rows:
            if not entry.live or spoken.body is None:
                continue
            known = _prepare_message(engine, entry, spoken)
            moment = known.moment
            if self.last is not None and moment is not None and abs(moment - self.last) > _SITTING:
                self.session += 1
            self.last = moment or self.last
            if entry.flags & HIDDEN or known.text is None:
                continue
            texts.append(known.text)
            sessions.append((thread, self.session))
            number = len(self.places)
            if entry.role == "tool":
                self.called[number] = self.call
            else:
                self.call = number if entry.role == "assistant" else None
            self.characters += len(known.text.candidate.text)
            self.places.append(
                MessagePlace(thread, entry.message, entry.revision, entry.role, known.speaker, spoken.said)
            )
        self.index.extend(texts, None if self.index.encode is None else _vectors(engine, texts), sessions)

    def opens(self) -> None:
        """Start another stretch of the history."""
        self.session += 1
        self.last = None


def spoken_text(message: Message) -> str:
    """Return the text of a message that can answer: what was said, tool arguments and results."""
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


def encoder_for(engine: EngineScope) -> Encoder | None:
    """Return the configured encoder, if it is available."""
    return encoder_of(engine.settings.encoder)


class _RevisionFacts(NamedTuple):
    """What is known about a revision, whose text never changes."""

    speaker: str
    moment: datetime | None
    text: PreparedCandidate | None  # None if it is empty


def _prepare_message(engine: EngineScope, entry: Entry, spoken: RevisionBody) -> _RevisionFacts:
    shelf = engine.memo.shelf("recall-texts", 12_000)
    found = cast("_RevisionFacts | None", shelf.get(entry.revision))
    if found is not None:
        return found
    message = message_of(entry, spoken)
    text = spoken_text(message)
    moment = datetime.fromisoformat(message.at) if message.at else None
    prepared = None
    if message.role != "system" and text.strip():
        day = None if moment is None else moment.date()
        prepared = prepare(
            Candidate(message.revision, text, message.author or "", message.role != "user", day)
        )
    made = _RevisionFacts(message.author or message.role, moment, prepared)
    shelf[entry.revision] = made
    return made


def _vectors(engine: EngineScope, texts: Sequence[PreparedCandidate]) -> list[NDArray[np.float16]] | None:
    """Return vectors of texts and their pieces; in half precision, so that stored and new ones are equal, and held once."""
    encoder = encoder_for(engine)
    if encoder is None:
        return None
    shelf = engine.memo.shelf("recall-vectors", 12_000)
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


class _WordVectors:
    """Vectors of words, in one matrix: the vocabularies of conversations overlap."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._lock = threading.Lock()
        self._places: dict[str, int] = {}
        self._rows = GrowingArray(np.float16, encoder.dim)

    def encode(self, texts: Sequence[str]) -> NDArray[float32]:
        """Return one row per text; those of words are cached."""
        with self._lock:
            if len(self._places) > _VOCABULARY:
                self._places, self._rows = {}, GrowingArray(np.float16, self._encoder.dim)
            fresh = [text for text in dict.fromkeys(texts) if text not in self._places]
            words = [text for text in fresh if len(text) <= _WORD]
            others = [text for text in fresh if len(text) > _WORD]
            made: NDArray[np.float16] = self._encoder.encode([*words, *others]).astype(np.float16)
            self._places |= {word: self._rows.size + number for number, word in enumerate(words)}
            self._rows.extend(made[: len(words)])
            held = [self._places.get(text, 0) for text in texts]
            out = np.zeros((len(texts), self._encoder.dim), np.float32)
            if self._rows.size:
                out[:] = self._rows.view[held]
        beside = {text: made[len(words) + number] for number, text in enumerate(others)}
        for number, text in enumerate(texts) if beside else ():
            if text in beside:
                out[number] = beside[text]
        return out


def _encode(engine: EngineScope) -> Any:
    """Return an encoder that caches words."""
    encoder = encoder_for(engine)
    if encoder is None:
        return None
    shelf = engine.memo.shelf("recall-words", 2)
    held = cast("_WordVectors | None", shelf.get(encoder.name))
    if held is None:
        held = shelf[encoder.name] = _WordVectors(encoder)
    return held.encode


def new_pool(engine: EngineScope, *, vectors: bool = True) -> RecallPool:
    """Return an empty pool; with `vectors`, texts are also compared by meaning if there is an encoder."""
    return RecallPool(RecallIndex(_encode(engine) if vectors else None))


# -- whole threads -----------------------------------------------------------------------------------------------


def whole_pool(
    engine: EngineScope,
    reader: Reader,
    states: Sequence[ThreadState],
    before: bytes | None = None,
    *,
    behind: bool = False,
) -> RecallPool | None:
    """Return all texts of some threads, or (of one thread) what precedes a position; cached and kept up to date.

    The last thread may grow; a change to any other rebuilds the index. None if it is too large to build while a caller
    waits: a later question finds it, once `behind` (a worker, or the previous question) has built it.
    """
    many = sum(state.messages for state in states)
    if many > LARGEST or not states:
        return None
    large = many > EXACT
    shelf = (
        engine.memo.shelf("recall-index-large", _LARGE) if large else engine.memo.shelf("recall-index", _HELD)
    )
    encoder = encoder_for(engine)
    name = (tuple(s.id for s in states), None if encoder is None else encoder.name, before is None)
    pool = cast("RecallPool | None", shelf.get(name))
    if pool is not None and not _holds(reader, states, pool, before):
        pool = None
    if pool is None:
        pool = new_pool(engine)
        shelf[name] = pool
        if large and not behind:
            return (
                None  # a process that asks once does not wait for an index that serves only later questions
            )
    with pool.lock:
        most = _CHARACTERS if behind or not large or pool.whole else pool.characters + _STRETCH
        _fill(engine, reader, states, pool, before, most)
        pool.heads = {state.id: state.head for state in states}
        return pool if pool.whole else None


def _holds(reader: Reader, states: Sequence[ThreadState], pool: RecallPool, before: bytes | None) -> bool:
    """Return True if everything in a pool is still valid, and only the end of its last thread may be missing."""
    with pool.lock:
        last = states[-1]
        at_last = pool.thread == len(states) - 1
        if before is not None and at_last and pool.edge is not None and pool.edge >= before:
            return False
        if any(pool.heads.get(state.id, -1) != state.head for state in states[:-1]):
            return not pool.heads
        seen = pool.heads.get(last.id)
        return seen is None or seen == last.head or _only_grew(reader, last, seen)


def pool_without(
    engine: EngineScope, reader: Reader, state: ThreadState, exclude: Collection[Ref]
) -> RecallPool:
    """Return a whole thread without some revisions, built for one question: the rest is scored as if they had never existed."""
    pool, edge, view = new_pool(engine), None, View(reader, state)
    while rows := view.page(_PAGE, after=edge):
        pool.add([(state.id, *row) for row in rows if row[0].revision not in exclude], engine)
        edge = rows[-1][0].position
        if len(rows) < _PAGE:
            break
    return pool


def _only_grew(reader: Reader, state: ThreadState, seen: int) -> bool:
    if not 0 <= state.head - seen <= _PAGE:
        return False
    events = reader.events(state.id, seen + 1, state.head)
    return all(event.kind in _GROWS and not event.head.get("position") for event in events)


def _fill(
    engine: EngineScope,
    reader: Reader,
    states: Sequence[ThreadState],
    pool: RecallPool,
    before: bytes | None,
    most: int,
) -> None:
    """Add what is missing, up to so many characters; a message that several threads show is added once, from its own thread."""
    scope = {state.id: View(reader, state) for state in states}
    pool.whole = False
    while pool.thread < len(states):
        view = scope[states[pool.thread].id]
        end = before if pool.thread == len(states) - 1 else None
        while rows := view.page(_PAGE, after=pool.edge, before=end):
            here = view.state.id
            pool.add([(here, *row) for row in rows if _belongs(row[0], here, scope, pool.seen)], engine)
            pool.edge = rows[-1][0].position
            if len(rows) < _PAGE:
                break
            if pool.characters > most:
                return
        if pool.thread == len(states) - 1:
            break
        pool.thread += 1
        pool.edge = None
        pool.opens()
    pool.whole = pool.characters <= _CHARACTERS or sum(state.messages for state in states) <= EXACT


def _belongs(entry: Entry, thread: str, scope: Mapping[str, View], seen: set[Ref]) -> bool:
    """Return True for a message that is shown in this thread and in no other of the scope."""
    if len(scope) == 1:
        return True
    origin = entry.revision.thread
    if origin != thread:
        if entry.revision in seen or (origin in scope and scope[origin].sees(entry)):
            return False
        seen.add(entry.revision)
    return True
