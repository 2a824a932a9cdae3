"""Full-text search over the words of the index. The query comes ready-made (`recall/query`); here it meets the filters."""

from __future__ import annotations

from collections.abc import Callable

from backscroll.record.ports import RawHit, Wanted
from backscroll.stores.postgres.session import Session
from backscroll.stores.postgres.text import plain, tenant_mark
from backscroll.stores.postgres.tsquery import (
    OVERFULL,
    asked_for,
    loosened,
    parsed,
    quoted,
    spelled_out,
    written,
)
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import checked_role

#: A common word fits half of all messages; ranking the newest few thousand of them keeps every search quick.
RANKED = 3000
_WEIGHED = 12  # phrases; beyond that weighing costs more than it gives
_SAME = "{0}.tenant = w.tenant AND {0}.root = w.root AND {0}.{1} = w.thread"


def found(
    session: Session,
    tenant: str,
    query: str,
    wanted: Wanted,
    root: Callable[[str], str | None],
    limit: int,
) -> list[RawHit]:
    """The best hits of a query, best first."""
    fits, fitting, phrases = _condition(query, tenant)
    joins, where, values = _filters(wanted, root)
    score, weights, scoring = _score(query, phrases)
    sql = (
        "WITH hits AS MATERIALIZED (SELECT w.tenant, w.root, w.thread, w.seq, w.said_us, w.words "
        f"FROM backscroll_words w{joins} WHERE w.tenant = %s AND {fits}{where} "
        f"ORDER BY w.said_us DESC, w.seq DESC LIMIT {RANKED}){weights}, "
        f"best AS (SELECT w.*, {score} AS score FROM hits w ORDER BY score DESC, said_us DESC, seq DESC LIMIT %s) "
        "SELECT w.thread, w.seq, v.target_thread, v.target_seq, v.role, v.said, w.score FROM best w "
        f"JOIN backscroll_events v ON {_SAME.format('v', 'thread')} AND v.seq = w.seq "
        "ORDER BY w.score DESC, w.said_us DESC, w.seq DESC"
    )
    rows = session.ask(sql, tenant, *fitting, *values, *scoring, max(0, limit))
    return [
        RawHit(Ref(thread, seq), Ref(about or thread, number or seq), role, said, score)
        for thread, seq, about, number, role, said, score in rows
    ]


def _condition(query: str, tenant: str) -> tuple[str, list[object], list[str]]:
    """What a row of the index must fulfil, the values of that, and the phrases that were asked for."""
    tree = parsed(query)
    mark = quoted(tenant_mark(tenant))
    loose = None if tree is None else loosened(tree)
    if tree is None or loose is None:
        return "w.words @@ %s::tsquery", [f"{mark} & ({query})"], []
    exact, values = spelled_out(tree, "w.spelled")
    sql = (
        f"w.words @@ %s::tsquery AND CASE WHEN w.spelled IS NULL THEN w.words @@ %s::tsquery ELSE {exact} END"
    )
    return (
        sql,
        [f"{mark} & (({loose}) | {quoted(OVERFULL)})", query, *values],
        [*map(written, asked_for(tree))],
    )


def _score(query: str, phrases: list[str]) -> tuple[str, str, list[object]]:
    """How to score a hit, what that needs besides the hits, and the values.

    PostgreSQL's rank does not know that a rare word says more than a common one. Where there are several, each counts by
    how few of the hits have it.
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


def _filters(wanted: Wanted, root: Callable[[str], str | None]) -> tuple[str, str, list[object]]:
    joins, where, values = "", "", list[object]()
    if wanted.tool is not None:
        joins += f" JOIN backscroll_events v ON {_SAME.format('v', 'thread')} AND v.seq = w.seq"
    if wanted.project is not None or wanted.kind is not None:
        joins += f" JOIN backscroll_threads t ON {_SAME.format('t', 'id')}"
    if wanted.threads is not None:
        known = {thread: its for thread in wanted.threads if (its := root(thread)) is not None}
        where += " AND w.root = ANY(%s::uuid[]) AND w.thread = ANY(%s::uuid[])"
        values += [sorted(set(known.values())), sorted(known)]
    if wanted.roles:
        where += " AND w.role = ANY(%s::text[])"
        values.append([checked_role(role) for role in wanted.roles])
    for column, sign, value in (
        ("w.said_us", ">=", wanted.since_us),
        ("w.said_us", "<", wanted.until_us),
        ("t.project", "=", None if wanted.project is None else plain(wanted.project)),
        ("t.kind", "=", None if wanted.kind is None else plain(wanted.kind)),
    ):
        if value is not None:
            where += f" AND {column} {sign} %s"
            values.append(value)
    if wanted.tool is not None:
        where += " AND %s = ANY(v.tools)"
        values.append(plain(wanted.tool))
    return joins, where, values
