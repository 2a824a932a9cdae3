"""Full-text search over the word index: combine a prepared query (`recall/question/query`) with filters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from backscroll.record.ports import RawHit, SearchFilter
from backscroll.stores.columns import plain
from backscroll.stores.postgres.reading.text import tenant_mark
from backscroll.stores.postgres.reading.tsquery import (
    OVERFULL,
    asked_for,
    loosen_query,
    parse_query,
    quote_lexeme,
    render_phrase,
    spelled_out,
)
from backscroll.stores.postgres.session import PostgresSession
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import checked_role

#: A common word matches half of all messages; ranking only the newest few thousand keeps every search fast.
RANKED = 3000
_WEIGHED = 12  # phrases; weighting more costs more than it gains
_LOOK = 400
_ASSUMED = 100_000  # messages, if the server has no statistics yet
_EVER = (-(1 << 63), (1 << 63) - 1)
_SAME = "{0}.tenant = w.tenant AND {0}.root = w.root AND {0}.{1} = w.thread"


@dataclass(frozen=True, slots=True)
class SearchCondition:
    """A condition with its values, joins, and time range."""

    where: str
    values: tuple[object, ...]
    joins: str = ""
    since: int = _EVER[0]
    until: int = _EVER[1]


def find_hits(
    session: PostgresSession,
    tenant: str,
    query: str,
    wanted: SearchFilter,
    root: Callable[[str], str | None],
    limit: int,
) -> list[RawHit]:
    """Return the best hits of a query, best first."""
    fits, phrases = _condition(query, tenant)
    filters = build_filter(wanted, root)
    if wanted.threads is None and _is_common(session, tenant, fits, filters):
        # The same condition as a function cannot use the index, so the server scans from the newest down.
        by_function = fits.where.replace("w.words @@ %s::tsquery", "ts_match_vq(w.words, %s::tsquery)")
        fits = replace(fits, where=by_function)
    score, weights, scoring = _score(query, phrases)
    sql = (
        "WITH hits AS MATERIALIZED (SELECT w.tenant, w.root, w.thread, w.seq, w.said_us, w.words "
        f"FROM backscroll_words w{filters.joins} WHERE w.tenant = %s AND {fits.where} AND {filters.where} "
        f"ORDER BY w.said_us DESC LIMIT {RANKED}){weights}, "
        f"best AS (SELECT w.*, {score} AS score FROM hits w ORDER BY score DESC, said_us DESC, seq DESC LIMIT %s) "
        "SELECT w.thread, w.seq, v.target_thread, v.target_seq, v.role, v.said, w.score FROM best w "
        f"CROSS JOIN LATERAL (SELECT * FROM backscroll_events v WHERE {_SAME.format('v', 'thread')} "
        "AND v.seq = w.seq OFFSET 0) v ORDER BY w.score DESC, w.said_us DESC, w.seq DESC"
    )
    rows = session.ask(sql, tenant, *fits.values, *filters.values, *scoring, max(0, limit))
    return [
        RawHit(Ref(thread, seq), Ref(about or thread, number or seq), role, said, score)
        for thread, seq, about, number, role, said, score in rows
    ]


def _is_common(
    session: PostgresSession, tenant: str, fits: SearchCondition, filters: SearchCondition
) -> bool:
    """Return True if scanning from the newest message finds enough hits sooner than collecting all of them.

    The planner cannot estimate this: it has no word statistics. A sample of the newest few hundred messages can. With a share
    `d` of N messages matching, scanning reads RANKED / d of them and collecting d * N.
    """
    sql = (
        f"SELECT count(*) FILTER (WHERE {fits.where} AND {filters.where}), count(*), "
        "(SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'backscroll_words'::regclass) "
        "FROM (SELECT * FROM backscroll_words w WHERE w.tenant = %s AND w.said_us >= %s AND w.said_us < %s "
        f"ORDER BY w.said_us DESC LIMIT {_LOOK}) w{filters.joins}"
    )
    window = (filters.since, filters.until)
    fitting, looked, every = session.ask(sql, *fits.values, *filters.values, tenant, *window)[0]
    return looked < _LOOK or (fitting / looked) ** 2 * (every or _ASSUMED) > RANKED


def _condition(query: str, tenant: str) -> tuple[SearchCondition, list[str]]:
    """Return the condition on an index row, and the phrases of the query."""
    tree = parse_query(query)
    mark = quote_lexeme(tenant_mark(tenant))
    loose = None if tree is None else loosen_query(tree)
    if tree is None or loose is None:
        return SearchCondition("w.words @@ %s::tsquery", (f"{mark} & ({query})",)), []
    exact, values = spelled_out(tree, "w.spelled")
    where = (
        f"w.words @@ %s::tsquery AND CASE WHEN w.spelled IS NULL THEN w.words @@ %s::tsquery ELSE {exact} END"
    )
    loosely = f"{mark} & (({loose}) | {quote_lexeme(OVERFULL)})"
    return SearchCondition(where, (loosely, query, *values)), [*map(render_phrase, asked_for(tree))]


def _score(query: str, phrases: list[str]) -> tuple[str, str, list[object]]:
    """Return the score expression, its additional tables, and its values.

    PostgreSQL's rank does not weight rare words higher. With several phrases, each is weighted by how few of the hits contain
    it.
    """
    if not 1 < len(phrases) <= _WEIGHED:
        return "ts_rank(w.words, %s::tsquery, 1)", "", [query]
    weights = (
        ", weights AS MATERIALIZED (SELECT a.phrase, ln(1 + (max(n.all_hits) + 0.5) / (count(h.seq) + 0.5)) AS weight "
        "FROM unnest(%s::tsquery[]) AS a (phrase) CROSS JOIN (SELECT count(*) AS all_hits FROM hits) n "
        "LEFT JOIN hits h ON h.words @@ a.phrase GROUP BY a.phrase)"
    )
    score = "(SELECT coalesce(sum(a.weight * ts_rank(w.words, a.phrase, 1)), 0) FROM weights a)"
    return score, weights, [phrases]


def build_filter(wanted: SearchFilter, root: Callable[[str], str | None]) -> SearchCondition:
    """Return the filters of a search as conditions on a table `w` that names tenant, root, thread, seq, time and role."""
    joins, where, values = "", ["true"], list[object]()
    if wanted.tool is not None:
        joins += f" JOIN backscroll_events v ON {_SAME.format('v', 'thread')} AND v.seq = w.seq"
        where.append("%s = ANY(v.tools)")
        values.append(plain(wanted.tool))
    if wanted.project is not None or wanted.kind is not None or wanted.users is not None:
        joins += f" JOIN backscroll_threads t ON {_SAME.format('t', 'id')}"
    if wanted.threads is not None:
        known = {thread: its for thread in wanted.threads if (its := root(thread)) is not None}
        where.append("w.root = ANY(%s::uuid[]) AND w.thread = ANY(%s::uuid[])")
        values += [sorted(set(known.values())), sorted(known)]
    if wanted.users is not None:
        where.append("t.person = ANY(%s::text[])")
        values.append([plain(user) for user in wanted.users])
    if wanted.roles:
        where.append("w.role = ANY(%s::text[])")
        values.append([checked_role(role) for role in wanted.roles])
    for condition, value in (
        ("w.said_us >= %s", wanted.since_us),
        ("w.said_us < %s", wanted.until_us),
        ("t.project = %s", None if wanted.project is None else plain(wanted.project)),
        ("t.kind = %s", None if wanted.kind is None else plain(wanted.kind)),
    ):
        if value is not None:
            where.append(condition)
            values.append(value)
    since = _EVER[0] if wanted.since_us is None else wanted.since_us
    until = _EVER[1] if wanted.until_us is None else wanted.until_us
    return SearchCondition(" AND ".join(where), tuple(values), joins, since, until)
