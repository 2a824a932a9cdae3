"""Measure the record: edits, bulk appends, searches, several processes, and bytes, each beside raw `sqlite3`.

Public calls only. Ours and raw take turns within one run, so that both meet the same machine; processor time is shown beside
wall time, because other work on the machine adds to the one and hardly to the other.
"""

from __future__ import annotations

import sqlite3
import statistics
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import backscroll
from backscroll.recall.question.query import parse_query
from backscroll.recall.text.words import index_words
from bench.children import APPENDING, TEXT, at_once
from bench.corpus import Corpus
from bench.table import Row

_RAW = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS message (id INTEGER PRIMARY KEY, thread INTEGER, body TEXT);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (text, tokenize = 'ascii');
"""


def raw_store(path: Path) -> sqlite3.Connection:
    """A table of messages with a full-text index over the same words, and the durability of ours."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=60)
    connection.executescript(_RAW)
    return connection


def _clocked(work: Callable[[], object]) -> tuple[float, float]:
    """Wall time and processor time of this OS thread."""
    wall, own = time.perf_counter(), time.thread_time()
    work()
    return time.perf_counter() - wall, time.thread_time() - own


def _middle(times: list[tuple[float, float]]) -> tuple[float, float]:
    return statistics.median(t[0] for t in times), statistics.median(t[1] for t in times)


def _said(times: tuple[float, float]) -> str:
    return f"{times[0] * 1e3:.2f} ms (cpu {times[1] * 1e3:.2f})"


def _messages(corpus: Corpus, count: int) -> list[dict[str, str]]:
    return [
        {"role": "assistant" if number % 2 else "user", "content": corpus.message()}
        for number in range(count)
    ]


def _put_raw(raw: sqlite3.Connection, messages: list[dict[str, str]]) -> None:
    """The same messages in one transaction, with the same index words."""
    raw.execute("BEGIN IMMEDIATE")
    rows = ((m["content"],) for m in messages)
    raw.executemany("INSERT INTO message (thread, body) VALUES (1, ?)", rows)
    texts = ((index_words(m["content"]),) for m in messages)
    raw.executemany("INSERT INTO words (text) VALUES (?)", texts)
    raw.execute("COMMIT")


def record(folder: Path, options: Namespace) -> list[Row]:
    """Run all measurements of this module."""
    return [
        *edits(folder, options),
        *many(folder, options),
        *searches(folder, options),
        *processes(folder, options),
    ]


def edits(folder: Path, options: Namespace) -> list[Row]:
    """One message of 10,000 edited, beside an update of one row."""
    mine: list[tuple[float, float]] = []
    bare: list[tuple[float, float]] = []
    corpus, sql = Corpus(2), "UPDATE message SET body = ? WHERE id = ?"
    raw = raw_store(folder / "edits-raw.db")
    with backscroll.open(folder / "edits.db") as store:
        thread = store.create("bench")
        given = _messages(corpus, 10_000)
        ids = [message.id for message in thread.extend(given)]
        store.search("warm")  # the words of the many are in the index now
        _put_raw(raw, given)
        for number in range(100 * options.runs):
            at = (number * 7919) % 10_000
            text, other = corpus.message(), corpus.message()
            mine.append(_clocked(lambda at=at, text=text: thread.edit(ids[at], text)))
            bare.append(_clocked(lambda at=at, other=other: raw.execute(sql, (other, at + 1))))
    raw.close()
    a, b = _middle(mine), _middle(bare)
    what = "edit one message of 10,000 (raw: update one row, no index)"
    return [Row(what, _said(a), _said(b), a[0] / b[0], "at most 2 ms", a[0] <= 0.002)]


def many(folder: Path, options: Namespace) -> list[Row]:
    """Ten thousand messages in one call, until they are durable and until they are found; and the bytes they take."""
    mine: list[tuple[float, float]] = []
    found: list[tuple[float, float]] = []
    bare: list[tuple[float, float]] = []
    path, floor, count = folder / "many.db", folder / "many-raw.db", 10_000
    corpus, raw = Corpus(6), raw_store(floor)
    with backscroll.open(path, background=False) as store:
        thread = store.create("bench")
        for _ in range(options.runs):
            given = _messages(corpus, count)
            mine.append(_clocked(lambda given=given: thread.extend(given)))
            found.append(_clocked(lambda: store.search("warm")))
            bare.append(_clocked(lambda given=given: _put_raw(raw, given)))
    raw.close()
    a, b = _middle(mine), _middle(bare)
    both = _middle([(x[0] + y[0], x[1] + y[1]) for x, y in zip(mine, found, strict=True)])
    total = count * options.runs
    ours, theirs = path.stat().st_size / total, floor.stat().st_size / total

    def rate(times: tuple[float, float]) -> str:
        return f"{count / times[0]:,.0f}/s (cpu {count / times[1]:,.0f}/s)"

    quick = count / a[0] >= 10_000
    return [
        Row("10,000 messages in one call", rate(a), rate(b), a[0] / b[0], "at least 10,000/s", quick),
        Row("… and until a search finds them all", rate(both), rate(b), both[0] / b[0]),
        Row(
            "bytes per message (raw: row and word index)",
            f"{ours / 1e3:.2f} kB",
            f"{theirs / 1e3:.2f} kB",
            ours / theirs,
            "at most 2.5 kB",
            ours <= 2500,
        ),
    ]


def searches(folder: Path, options: Namespace) -> list[Row]:
    """Searches over a large store, with titles and snippets, beside the twenty best rows of raw FTS5."""
    corpus, out = Corpus(3), list[Row]()
    raw = raw_store(folder / "searches-raw.db")
    sql = "SELECT rowid, bm25(words) FROM words WHERE words MATCH ? ORDER BY rank LIMIT 20"
    with backscroll.open(folder / "searches.db", background=False) as store:
        thread = store.create("bench")
        for start in range(0, options.messages, 10_000):
            given = _messages(corpus, min(10_000, options.messages - start))
            thread.extend(given)
            _put_raw(raw, given)
        store.search("warm")
        mine: list[tuple[float, float]] = []
        bare: list[tuple[float, float]] = []
        for queries in Corpus(3).queries().values():
            for query in queries:
                expression = parse_query(query).to_fts5()
                mine.append(_clocked(lambda query=query: store.search(query)))
                bare.append(_clocked(lambda e=expression: raw.execute(sql, (e,)).fetchall()))
    raw.close()
    a, b = _middle(mine), _middle(bare)
    what = (
        f"search {options.messages:,} messages, p50 of {len(mine)} queries (raw: 20 best rows, no snippets)"
    )
    out.append(Row(what, _said(a), _said(b), a[0] / b[0], "at most 8 ms", a[0] <= 0.008))
    return out


_THEIRS = """
import json, sys, time
from pathlib import Path
from bench.record import raw_store
raw = raw_store(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
times, until = [], time.perf_counter() + float(sys.argv[2])
while time.perf_counter() < until:
    start = time.perf_counter()
    raw.execute("BEGIN IMMEDIATE")
    raw.execute("INSERT INTO message (thread, body) VALUES (1, ?)", (sys.argv[3],))
    raw.execute("INSERT INTO words (text) VALUES (?)", (sys.argv[3],))
    raw.execute("COMMIT")
    times.append(time.perf_counter() - start)
print(json.dumps(times))
"""


def processes(folder: Path, options: Namespace) -> list[Row]:
    """Eight processes that append to one file without a pause."""
    ours, theirs = folder / "processes.db", folder / "processes-raw.db"
    backscroll.open(ours).close()
    raw_store(theirs).close()
    mine: list[float] = []
    bare: list[float] = []
    for _ in range(options.runs):
        mine += at_once(APPENDING, 8, str(ours), "2.0", TEXT)
        bare += at_once(_THEIRS, 8, str(theirs), "2.0", TEXT)
    seconds = 2.0 * options.runs
    rate, floor = len(mine) / seconds, len(bare) / seconds
    return [
        Row(
            "8 processes append to one file",
            f"{rate:,.0f}/s",
            f"{floor:,.0f}/s",
            floor / rate,
            "at least 3,000/s",
            rate >= 3000,
        ),
        Row(
            "… the longest wait of one append",
            f"{max(mine):.2f} s",
            f"{max(bare):.2f} s",
            max(mine) / max(bare),
            "at most 1 s",
            max(mine) <= 1,
        ),
    ]
