"""Build an index for one question: from a thread or a store that is too large to be held in memory.

Owns which messages are considered: what the store's index finds by words and by vectors, its neighbours, and a sample of
others for comparison. This and `engine/search/recall_pool` give the same kind of index, so one scoring serves both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from backscroll.engine.core.lineage import View, ancestors, kin_of
from backscroll.engine.search.recall_pool import RecallPool, encoder_for, new_pool
from backscroll.errors import InvalidInput
from backscroll.recall.passages import counterpart_terms
from backscroll.recall.question.analysis import QuestionAnalysis
from backscroll.recall.question.query import Query, QueryPhrase, Term, parse_query
from backscroll.record.history import HIDDEN, Entry
from backscroll.record.order import at_end
from backscroll.record.ports import Reader, RevisionBody, SearchFilter, ThreadState
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import checked_role

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope


class GatherLimits(NamedTuple):
    """How much of a long history is gathered for a question."""

    hits: int  # by words, and the same number by vectors
    neighbours: int  # best hits whose neighbours are included
    beside: int  # neighbours on either side
    samples: int  # places of the history for comparison
    sample: int  # messages from each
    vectors: bool = True  # whether texts are compared by meaning too


WIDE = GatherLimits(70, 20, 2, 8, 10)
#: … for a thread with a backlog, for a prompt, which does not wait.
HASTY = GatherLimits(40, 10, 2, 8, 12, vectors=False)
_MOST = 90  # hits that are considered, of those by words and by vectors


@dataclass(slots=True)
class _MessagePool:
    """Messages by thread and position, each once."""

    rows: dict[str, dict[bytes, tuple[Entry, RevisionBody]]] = field(
        default_factory=dict[str, "dict[bytes, tuple[Entry, RevisionBody]]"]
    )
    views: dict[str, View] = field(default_factory=dict[str, View])
    seen: set[Ref] = field(default_factory=set[Ref])

    def take(self, thread: str, entry: Entry, spoken: RevisionBody) -> None:
        """Add a message, unless its text was already added from another thread."""
        if entry.live and spoken.body is not None and entry.revision not in self.seen:
            self.seen.add(entry.revision)
            self.rows.setdefault(thread, {})[entry.position] = entry, spoken


def gathered_pool(
    engine: EngineScope,
    reader: Reader,
    asked: QuestionAnalysis,
    wanted: SearchFilter,
    scope: ThreadState | None,
    question: Ref | None = None,
    exclude: Collection[Ref] = (),
    reach: GatherLimits = WIDE,
) -> RecallPool:
    """Return what the store finds for a question, with its neighbours and a sample for comparison; never the question itself.

    With `scope`, only what that thread shows; else each hit in the thread it was written in, or in a fork that shows it.
    """
    found = _MessagePool(seen={*exclude} if question is None else {question, *exclude})
    hits = _hits(engine, reader, asked, wanted, reach)
    for number, (message, revision, role) in enumerate(hits):
        state = scope if scope is not None else _home(reader, message, revision, role, wanted)
        if state is None:
            continue
        view = found.views.setdefault(state.id, View(reader, state))
        entry = view.entry(message)
        if entry is None or not entry.live or entry.revision != revision or entry.flags & HIDDEN:
            continue
        found.take(state.id, entry, reader.read_spoken([revision])[revision])
        if number < reach.neighbours:
            here = entry.position
            before = view.page(reach.beside, before=here, newest_first=True)
            for row in (*before, *view.page(reach.beside, after=here)):
                found.take(state.id, *row)
    _sample(reader, found, wanted, scope, reach)
    return _laid_out(engine, found, vectors=reach.vectors)


def _hits(
    engine: EngineScope, reader: Reader, asked: QuestionAnalysis, wanted: SearchFilter, reach: GatherLimits
) -> list[tuple[Ref, Ref, str]]:
    """Return message, revision and role of matches by exact text, by words and by vector; those found in several ways come first."""
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
    return sorted(points, key=lambda name: (-points[name], name[1]))[:_MOST]


def _queries(asked: QuestionAnalysis) -> Iterable[Query]:
    for exact in asked.exact[:8]:
        try:
            yield parse_query(f'"{exact.replace(chr(34), " ")}"')
        except InvalidInput:
            continue  # only punctuation between the quotes

    for words in (asked.pairs, counterpart_terms(asked)):
        terms = [Term(word, (QueryPhrase((word,)),), (QueryPhrase((word,)),)) for word in words[:60]]
        if terms:
            yield Query(asked.text, (tuple(terms),))


def _home(reader: Reader, message: Ref, revision: Ref, role: str, wanted: SearchFilter) -> ThreadState | None:
    """Return the thread to show a hit in: its own, else a fork that still shows it; never one of another project or user."""
    home = reader.thread(revision.thread)
    if home is None:
        return None
    entry = Entry(message, b"", checked_role(role), revision)
    for state in [home, *(kin for kin in kin_of(reader, home.root) if kin.id != home.id)]:
        if _fits(wanted, state) and View(reader, state).sees(entry):
            return state
    return None


def _fits(wanted: SearchFilter, state: ThreadState) -> bool:
    project = wanted.project is None or state.about.project == wanted.project
    return project and (wanted.users is None or state.about.user in wanted.users)


def threads_wanted(reader: Reader, wanted: SearchFilter, limit: int) -> list[ThreadState]:
    """Return the threads to search, the most recently changed first."""
    if wanted.users is None:
        return reader.threads(project=wanted.project, limit=limit)
    found = [
        s for user in wanted.users for s in reader.threads(project=wanted.project, user=user, limit=limit)
    ]
    return sorted(found, key=lambda s: (s.updated_at, s.id), reverse=True)[:limit]


def _sample(
    reader: Reader, found: _MessagePool, wanted: SearchFilter, scope: ThreadState | None, reach: GatherLimits
) -> None:
    """Add a sample of messages, so that the question's words can be judged as rare or common."""
    states = [scope] if scope is not None else threads_wanted(reader, wanted, reach.samples)
    for state in states:
        view = found.views.setdefault(state.id, View(reader, state))
        places = max(1, reach.samples // len(states))
        for number in range(places):
            start = at_end(1 + number * state.head // places)
            for row in view.page(reach.sample, after=start):
                found.take(state.id, *row)


def _laid_out(engine: EngineScope, found: _MessagePool, *, vectors: bool) -> RecallPool:
    pool = new_pool(engine, vectors=vectors)
    rows: list[tuple[str, Entry, RevisionBody]] = []
    for thread in sorted(found.rows):
        rows += [(thread, *found.rows[thread][position]) for position in sorted(found.rows[thread])]
    pool.add(rows, engine)
    return pool


def lineage(reader: Reader, state: ThreadState) -> tuple[str, ...]:
    """Return a thread and its ancestors: the logs that may contain its text."""
    return (state.id, *(parent.id for _, parent in ancestors(reader, state)))
