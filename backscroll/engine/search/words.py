"""Full-text search: a query in, hits with snippets out. Finds live messages only, in every fork that still shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from backscroll.engine.core.checks import checked_time
from backscroll.engine.core.lineage import View, ancestors, kin_of
from backscroll.errors import StoreCorrupt
from backscroll.recall.question.query import Query, parse_query
from backscroll.recall.snippet import snippet
from backscroll.record.content import decode, searchable
from backscroll.record.history import Entry
from backscroll.record.ports import RawHit, Reader, RevisionBody, SearchFilter, ThreadState
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import checked_role
from backscroll.vocab.values.moment import microseconds
from backscroll.vocab.values.unicode import valid_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from backscroll.engine.core.thread_scope import EngineScope

#: Marks around a match in a snippet; surfaces turn them into colours.
MARKS = ("\x02", "\x03")


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One message that matches."""

    thread: str
    title: str
    project: str
    message: Ref
    revision: Ref
    role: str
    author: str | None
    at: str
    score: float
    snippet: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search; `relaxed` if no message contained all the words and those with some are returned."""

    hits: list[SearchHit]
    relaxed: bool


def search(
    engine: EngineScope,
    text: str,
    *,
    thread: str | None = None,
    project: str | None = None,
    user: str | None = None,
    kind: str | None = None,
    roles: Sequence[str] = (),
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    tool: str | None = None,
    limit: int = 20,
    width: int = 160,
) -> SearchResult:
    """Return messages that contain all the words, best first; failing that, messages that contain some."""
    query = parse_query(valid_text(text))
    start, end = checked_time(since), checked_time(until)
    wanted = SearchFilter(
        None,
        project,
        kind,
        tuple(checked_role(role) for role in roles),
        None if start is None else microseconds(start),
        None if end is None else microseconds(end),
        tool,
        None if user is None else (user,),
    )
    scope = None if thread is None else engine.resolve(thread)

    def work(reader: Reader) -> SearchResult:
        hits = _run(reader, query, wanted, scope, limit, engine.store.dialect, width)
        if hits or len(query.terms) < 2:
            return SearchResult(hits, relaxed=False)
        return SearchResult(
            _run(reader, query.relax(), wanted, scope, limit, engine.store.dialect, width), relaxed=True
        )

    return engine.store.read(work)


def _run(
    reader: Reader,
    query: Query,
    wanted: SearchFilter,
    scope: str | None,
    limit: int,
    dialect: str,
    width: int,
) -> list[SearchHit]:
    expression = query.to_fts5() if dialect == "fts5" else query.to_tsquery()
    state = None if scope is None else reader.thread(scope)
    if state is not None:
        wanted = SearchFilter(
            tuple(_line(reader, state)),
            wanted.project,
            wanted.kind,
            wanted.roles,
            wanted.since_us,
            wanted.until_us,
            wanted.tool,
            wanted.users,
        )
    asked, homes = limit, cast("dict[str, ThreadState | None]", {})
    while True:
        raw = reader.search(expression, wanted, asked)
        shown = [(hit, where) for hit in raw if (where := _shown_in(reader, hit, state, homes)) is not None]
        if len(shown) >= limit or len(raw) < asked:
            words = reader.read_spoken([hit.revision for hit, _ in shown[:limit]])
            return [_hit(words[hit.revision], hit, where, query, width) for hit, where in shown[:limit]]
        asked *= 5  # some hits are shown only in other forks


def _line(reader: Reader, state: ThreadState) -> list[str]:
    """Return a thread and its ancestors: the logs that may contain its text."""
    return [state.id, *(parent.id for _, parent in ancestors(reader, state))]


def _shown_in(
    reader: Reader, hit: RawHit, scope: ThreadState | None, homes: dict[str, ThreadState | None]
) -> ThreadState | None:
    """Return the thread to show a hit in: the requested one, else its own, else a fork that still shows it."""
    entry = Entry(hit.message, b"", checked_role(hit.role), hit.revision)
    if scope is not None:
        return scope if View(reader, scope).sees(entry) else None
    name = hit.revision.thread
    if name not in homes:
        homes[name] = _readable(reader, name)
    home = homes[name]
    if home is None:
        return None
    found = reader.entry(home.id, hit.message)
    if found is not None and found.live and found.revision == hit.revision:
        return home
    return next((kin for kin in kin_of(reader, home.root) if View(reader, kin).sees(entry)), None)


def _readable(reader: Reader, thread: str) -> ThreadState | None:
    try:
        return reader.thread(thread)
    except StoreCorrupt:  # damage in one thread must not hide hits in the others
        return None


def _hit(spoken: RevisionBody, hit: RawHit, state: ThreadState, query: Query, width: int) -> SearchHit:
    content = decode(spoken.body or b'{"parts":[]}')
    return SearchHit(
        state.id,
        state.about.title,
        state.about.project,
        hit.message,
        hit.revision,
        hit.role,
        content.author,
        hit.said,
        hit.score,
        snippet(searchable(content), query, width, MARKS),
    )
