"""The basic measurements. Each returns rows for the table; floors are raw sqlite3 with the same durability, in the same run."""

from __future__ import annotations

import json
import random
import sqlite3
import statistics
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path

import backscroll
from backscroll.engine.core.pen import Pen
from backscroll.engine.log.writer import add_message
from backscroll.recall.text.words import index_words
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.message import content_of
from bench.commands import commands
from bench.corpus import Corpus
from bench.crowds import postgres, writers
from bench.graph_view import measure as graph_view
from bench.hostile import hostile
from bench.living import living
from bench.prompts import prompts
from bench.record import record
from bench.replay import replay
from bench.starting import starting
from bench.table import Row

_FLOOR = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE message (id INTEGER PRIMARY KEY, thread INTEGER, body TEXT);
CREATE INDEX message_thread ON message (thread, id);
CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = 'ascii');
"""


def _raw(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(_FLOOR)
    return connection


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _micro(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} µs" if seconds < 0.01 else f"{seconds * 1e3:.1f} ms"


def append(folder: Path, options: Namespace) -> list[Row]:
    """One durable append against one raw row with its full-text entry; runs alternate so that both see the same machine."""
    corpus = Corpus(1)
    raw = _raw(folder / "append-floor.db")
    raw_append = "INSERT INTO message (thread, body) VALUES (1, ?)"
    ours: list[float] = []
    floor: list[float] = []
    with backscroll.open(folder / "append.db") as store:
        thread = store.create("bench")
        for run in range(options.runs + 1):
            texts = [corpus.message() for _ in range(300)]
            mine, bare = [], []
            for text in texts:

                def one(text: str = text) -> None:
                    words = index_words(
                        text
                    )  # the same entry: a floor that cannot find Chinese would be none
                    raw.execute("BEGIN IMMEDIATE")
                    rowid = raw.execute(raw_append, (text,)).lastrowid
                    raw.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (rowid, words))
                    raw.execute("COMMIT")

                bare.append(_timed(one))
                mine.append(_timed(lambda text=text: thread.append("user", text)))
            if run:  # the first run warms caches
                ours.append(statistics.median(mine))
                floor.append(statistics.median(bare))
    raw.close()
    a, b = statistics.median(ours), statistics.median(floor)
    return [
        Row(
            "single durable append (floor: a row and the same index words)",
            _micro(a),
            _micro(b),
            a / b,
            "at most 1.5x",
            a / b <= 1.5,
        )
    ]


def _fill(store: backscroll.Engine, thread: backscroll.Thread, texts: Iterator[str], count: int) -> None:
    for start in range(0, count, 2000):
        batch = [next(texts) for _ in range(min(2000, count - start))]

        def work(tx: object, batch: list[str] = batch) -> None:
            pen = Pen(tx, thread.id, store.means, "bench")  # type: ignore[arg-type]
            for number, text in enumerate(batch):
                add_message(pen, ForeignMessage("assistant" if number % 2 else "user", content_of(text)))
            pen.save()

        store.store.write(work)


def edit(folder: Path, options: Namespace) -> list[Row]:
    """Editing message 500 of 10,000 against appending to the same thread; an edit also takes old words out of the index."""
    corpus = Corpus(2)
    edits: list[float] = []
    appends: list[float] = []
    with backscroll.open(folder / "edit.db") as store:
        thread = store.create("bench")
        _fill(store, thread, corpus.endless(), 10_000)
        target = thread.message(499).id
        for _ in range(options.runs):
            mine, bare = [], []
            for _ in range(100):
                text, other = corpus.message(), corpus.message()
                mine.append(_timed(lambda text=text: thread.edit(target, text)))
                bare.append(_timed(lambda other=other: thread.append("user", other)))
            edits.append(statistics.median(mine))
            appends.append(statistics.median(bare))
    a, b = statistics.median(edits), statistics.median(appends)
    row = Row(
        "edit message 500 of 10,000 (floor: our append)",
        _micro(a),
        _micro(b),
        a / b,
        "about an append",
        a / b <= 1.5,
    )
    return [row]


_OURS = """
import sys, time
start = time.perf_counter()
import backscroll
from backscroll.engine import opening, thread
from backscroll.stores.sqlite import store as _
loaded = time.perf_counter()
store = backscroll.open(sys.argv[1])
found = store.thread(sys.argv[2]).recent(50)
end = time.perf_counter()
assert len(found) == 50
print(end - loaded, end - start)
"""
_THEIRS = """
import sys, time
start = time.perf_counter()
import sqlite3
loaded = time.perf_counter()
raw = sqlite3.connect(sys.argv[1])
found = raw.execute("SELECT id, body FROM message WHERE thread = 1 ORDER BY id DESC LIMIT 50").fetchall()
end = time.perf_counter()
assert len(found) == 50
print(end - loaded, end - start)
"""


def _child(script: str, *arguments: str) -> tuple[float, float, float]:
    """Inside the child: work, work and imports; and the whole process as seen from outside."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True
    )
    wall = time.perf_counter() - start
    work, everything = map(float, done.stdout.split())
    return work, everything, wall


def reopen(folder: Path, options: Namespace) -> list[Row]:
    """A fresh process opens a thread of 100,000 messages and reads the last 50; then searches over all of it."""
    corpus = Corpus(3)
    path, floor = folder / "large.db", folder / "large-floor.db"
    with backscroll.open(path) as store:
        thread = store.create("large")
        texts = corpus.endless()
        took = _timed(lambda: _fill(store, thread, texts, options.messages))
        name = thread.id
    raw = _raw(floor)
    raw.execute("BEGIN")
    rows = ((text,) for text, _ in zip(Corpus(3).endless(), range(options.messages), strict=False))
    raw.executemany("INSERT INTO message (thread, body) VALUES (1, ?)", rows)
    raw.execute("COMMIT")
    raw.close()
    mine = [_child(_OURS, str(path), name) for _ in range(options.runs)]
    bare = [_child(_THEIRS, str(floor)) for _ in range(options.runs)]
    work = [statistics.median(column) for column in zip(*mine, strict=True)]
    base = [statistics.median(column) for column in zip(*bare, strict=True)]
    size = f"{options.messages:,}"
    out = [
        Row(f"write {size} messages in batches", f"{options.messages / took:,.0f}/s"),
        Row(
            f"open {size} messages, read last 50",
            _micro(work[0]),
            _micro(base[0]),
            work[0] / base[0],
            "under 5x",
            work[0] / base[0] < 5,
        ),
        Row(
            "the same, whole process",
            _micro(work[2]),
            _micro(base[2]),
            work[2] / base[2],
            "under 5x",
            work[2] / base[2] < 5,
        ),
    ]
    return out + _search(path, options)


def _search(path: Path, options: Namespace) -> list[Row]:
    out: list[Row] = []
    with backscroll.open(path) as store:
        for name, queries in Corpus(3).queries().items():
            times = [_timed(lambda q=q: store.search(q)) for q in queries for _ in range(2)]
            times.sort()
            p95 = times[int(len(times) * 0.95)]
            what = f"search {options.messages:,} messages, {name}: p95 (median {_micro(statistics.median(times))})"
            out.append(Row(what, _micro(p95), bar="under 20 ms", ok=p95 < 0.020))
    return out


_IMPORT = """
import resource, sys
import backscroll
with backscroll.open(sys.argv[1]) as store:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report = store.import_path(sys.argv[2])[0]
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, report.counts["added"])
"""


def imports(folder: Path, options: Namespace) -> list[Row]:
    """Peak memory of a process that imports a large JSONL file, once and again."""
    corpus, path, lengths = Corpus(4), folder / "large.jsonl", random.Random(4)
    with path.open("w", encoding="utf-8") as file:
        size, number = 0, 0
        while size < options.megabytes * 1_000_000:
            role = "assistant" if number % 2 else "user"
            line = json.dumps(
                {"role": role, "content": corpus.message(lengths.randint(200, 6000))}, ensure_ascii=False
            )
            size += file.write(line + "\n")
            number += 1
    out: list[Row] = []
    for what in ("import", "import again"):
        start = time.perf_counter()
        command = [sys.executable, "-c", _IMPORT, str(folder / "import.db"), str(path)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        took = time.perf_counter() - start
        memory = int(said[0]) / 1024
        label = f"{what} {options.megabytes} MB of JSONL ({number:,} messages, {took:.0f} s): peak memory"
        out.append(Row(label, f"{memory:.0f} MB", bar="under 200 MB", ok=memory < 200))
    return out


def start(folder: Path, options: Namespace) -> list[Row]:
    """`backscroll --help`, wall time."""
    del folder
    command = [sys.executable, "-m", "backscroll", "--help"]
    times = [
        _timed(lambda: subprocess.run(command, capture_output=True, check=True))
        for _ in range(options.runs + 2)
    ]
    bare = [
        _timed(lambda: subprocess.run([sys.executable, "-c", ""], check=True))
        for _ in range(options.runs + 2)
    ]
    a, b = statistics.median(times), statistics.median(bare)
    return [
        Row(
            "backscroll --help (floor: bare Python)",
            _micro(a),
            _micro(b),
            a / b,
            "well under 150 ms",
            a < 0.150,
        )
    ]


def threads(folder: Path, options: Namespace) -> list[Row]:
    """Group commit: eight OS threads share syncs."""
    del options
    from concurrent.futures import ThreadPoolExecutor

    corpus = Corpus(5)
    out: list[Row] = []
    with backscroll.open(folder / "threads.db") as store:
        handles = [store.create(f"bench {n}") for n in range(8)]
        texts = [corpus.message() for _ in range(250)]
        for count in (1, 8):
            with ThreadPoolExecutor(count) as pool:

                def work(handle: backscroll.Thread) -> None:
                    for text in texts:
                        handle.append("user", text)

                took = _timed(lambda pool=pool, count=count: list(pool.map(work, handles[:count])))
            out.append(
                Row(f"durable appends from {count} OS thread(s)", f"{count * len(texts) / took:,.0f}/s")
            )
    return out


def graph(_folder: Path, options: Namespace) -> list[Row]:
    """The graph at size, without a store."""
    return graph_view(10_000, 10, 4_000, options.runs)


ALL: dict[str, Callable[[Path, Namespace], list[Row]]] = {
    "start": start,
    "commands": commands,
    "append": append,
    "threads": threads,
    "edit": edit,
    "reopen": reopen,
    "imports": imports,
    "prompts": prompts,
    "starting": starting,
    "living": living,
    "hostile": hostile,
    "replay": replay,
    "graph": graph,
    "record": record,
    "writers": writers,
    "postgres": postgres,
}
