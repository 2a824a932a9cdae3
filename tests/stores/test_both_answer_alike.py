"""The same conversations on SQLite and on PostgreSQL: every question gets the same answer.

Both engines have the same clock and the same randomness, so ids, hashes and times are equal, and whatever is not must be
the store's doing. What is done is drawn at random; the seed is in the name of the test.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from backscroll.config import Settings
from backscroll.engine.core.clock import ClockAndIds
from backscroll.engine.engine import Engine
from backscroll.engine.log.erasure import ForgetReport
from backscroll.engine.log.verification import verify_store
from backscroll.engine.search.words import search
from backscroll.engine.thread import Thread
from backscroll.errors import BackscrollError
from backscroll.record.ports import Bounds, Reader, SearchFilter, Store
from backscroll.stores.sqlite.store import SqliteStore
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Role
from backscroll.vocab.part import Media, Text, ToolCall, ToolResult

pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")

STEPS = 120
WORDS = "deploy the cat server 小猫咪 部署 naïve getUserName running run 文件 error 🙂 tests a".split()
ODD = ["", "\0", "\ud800 lone", "a\0b", "'quoted' \\ back", "x" * 3000, "文" * 300, "the " * 400]
SPEAKERS: list[Role] = ["user", "assistant", "tool"]
ACTORS = ["user", "user:ann", "import:test"]
IMAGES = [b"\x89PNG" + bytes(range(256)), b"", b"same bytes" * 500]


def still(seed: int) -> ClockAndIds:
    """A clock that ticks once a look, and randomness that comes again."""
    rolls = random.Random(seed)
    ticks = iter(range(1, 10_000_000))

    def now() -> str:
        return (datetime(2026, 11, 15, 9, tzinfo=UTC) + timedelta(seconds=29.5 * next(ticks))).isoformat()

    return ClockAndIds(now, rolls.randbytes)


class Twins:
    """One engine on each store; what is done to one is done to the other."""

    def __init__(self, first: Store, second: Store, seed: int) -> None:
        self.engines = [Engine(store, Settings(), still(seed)) for store in (first, second)]

    def do(self, work: Callable[[Engine], Any]) -> Any:
        """Do it twice, and compare the outcome."""
        one, two = (_outcome(work, engine) for engine in self.engines)
        assert one == two
        return one[0]

    def same(self, what: Callable[[Reader], Any]) -> Any:
        """Ask both."""
        one, two = (engine.store.read(what) for engine in self.engines)
        assert one == two
        return one


def _outcome(work: Callable[[Engine], Any], engine: Engine) -> tuple[Any, str]:
    try:
        found = work(engine)
    except BackscrollError as error:
        return None, f"{type(error).__name__}: {error}"
    if isinstance(found, Thread):
        return found.id, ""
    if isinstance(found, ForgetReport):
        found = replace(found, unreachable=(), shared_with=tuple(sorted(found.shared_with)))
    return found, ""


@pytest.fixture(params=range(4), ids="seed{}".format)
def seed(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture
def twins(seed: int, sqlite_url: str, database_url: str) -> Iterator[Twins]:
    """Two empty stores, one of each kind."""
    from backscroll.stores.postgres.store import PostgresStore

    with ExitStack() as stack:
        first = stack.enter_context(closing(SqliteStore(Path(sqlite_url))))
        second = stack.enter_context(closing(PostgresStore(database_url)))
        yield Twins(first, second, seed)


class Story:
    """Draws what happens next."""

    def __init__(self, twins: Twins, seed: int) -> None:
        self.twins = twins
        self.dice = random.Random(seed * 7919 + 1)
        self.threads: list[str] = []
        self.messages: list[Ref] = []

    def text(self) -> str:
        if self.dice.random() < 0.15:
            return self.dice.choice(ODD)
        return " ".join(self.dice.choices(WORDS, k=self.dice.randint(1, 12)))

    def content(self) -> Content:
        parts: list[Any] = [Text(self.text())]
        if self.dice.random() < 0.2:
            parts.append(
                Media("image/png", data=self.dice.choice(IMAGES), name=self.dice.choice(["cat.png", None]))
            )
        if self.dice.random() < 0.2:
            parts.append(ToolCall("c1", self.dice.choice(["bash", "read\ud800", "搜索"]), {"q": self.text()}))
        if self.dice.random() < 0.1:
            parts.append(ToolResult("c1", (Text(self.text()),), name="bash"))
        return Content(tuple(parts), self.dice.choice([None, "Ann", "小明"]), {"n": 1})

    def thread(self) -> str:
        return self.dice.choice(self.threads[-4:] if self.dice.random() < 0.7 else self.threads)

    def message(self) -> Ref:
        return self.dice.choice(self.messages[-8:] if self.dice.random() < 0.6 else self.messages)

    def step(self) -> None:
        name = self.dice.choices(list(STEPS_OF), weights=list(STEPS_OF.values()))[0]
        if not self.threads:
            name = "create"
        elif not self.messages and name not in ("create", "append"):
            name = "append"
        getattr(self, name)()

    def on_thread(self, work: Callable[[Thread], Any]) -> Any:
        name, actor = self.thread(), self.dice.choice(ACTORS)
        return self.twins.do(lambda engine: work(engine.thread(name, actor=actor)))

    def on_message(self, work: Callable[[Thread, Ref], Any]) -> Any:
        """Mostly something that can be done, sometimes not: errors must be alike as well."""
        name, actor, message = self.thread(), self.dice.choice(ACTORS), self.message()
        shown = self.twins.do(lambda e: [m.id for m in e.thread(name).messages(deleted=True)])
        if shown and self.dice.random() < 0.9:
            message = self.dice.choice(shown)
        return self.twins.do(lambda engine: work(engine.thread(name, actor=actor), message))

    # -- what can happen -------------------------------------------------------------------------------------

    def create(self) -> None:
        title, project = self.text()[:50], self.dice.choice(["", "/home/ann", "world\ud800"])
        kind = self.dice.choice(["chat", "agent"])
        meta = {"a": (1, None), "世": "界"}
        made = self.twins.do(lambda e: e.create(title, project=project, kind=kind, tags=["x"], metadata=meta))
        self.threads.append(made)

    def append(self) -> None:
        role, content = self.dice.choice(SPEAKERS), self.content()
        at = self.dice.choice([None, "2020-01-01T10:00:00+08:00", "1969-12-31T23:00:00Z"])
        hidden = self.dice.random() < 0.1
        made = self.on_thread(lambda t: t.append(role, content, at=at, hidden=hidden))
        if made is not None:
            self.messages.append(made.id)

    def insert(self) -> None:
        content, before = self.content(), self.dice.random() < 0.5
        made = self.on_message(
            lambda t, m: t.insert("user", content, before=m) if before else t.insert("user", content, after=m)
        )
        if made is not None:
            self.messages.append(made.id)

    def edit(self) -> None:
        content = self.content()
        self.on_message(lambda t, m: t.edit(m, content))

    def regenerate(self) -> None:
        content, live = self.content(), self.dice.random() < 0.7
        self.on_message(lambda t, m: t.regenerate(m, content, live=live))

    def choose(self) -> None:
        which = self.dice.randint(0, 2)
        self.on_message(lambda t, m: t.choose(m, which))

    def flag(self) -> None:
        how = self.dice.choice(["delete", "delete", "restore", "hide", "unhide", "pin", "unpin"])
        more = self.message()
        self.on_message(lambda t, m: getattr(t, how)(m, more))

    def move(self) -> None:
        after = self.dice.choice([None, self.message()])
        self.on_message(lambda t, m: t.move(m, after=after))

    def undo(self) -> None:
        how = self.dice.choice(["undo", "undo", "redo"])
        self.on_thread(lambda t: getattr(t, how)())

    def describe(self) -> None:
        title, project = self.text()[:40], self.dice.choice(["", "p" * 300])
        how = self.dice.randint(0, 3)
        self.on_thread(
            lambda t: [
                lambda: t.rename(title),
                lambda: t.tag(title or "t"),
                lambda: t.untag("x"),
                lambda: t.describe(project=project, metadata={"k": [1, "\ud800"]}),
            ][how]()
        )

    def fork(self) -> None:
        at = self.dice.choice([None, self.message()])
        made = self.on_thread(lambda t: t.fork(at, title=None))
        if made is not None:
            self.threads.append(made)

    def note(self) -> None:
        self.on_thread(lambda t: t.log_code_change("fix", "a/b.py"))
        turn, message = self.dice.randint(0, 3), self.message()
        self.on_thread(lambda t: t.mark_processed(turn, t.turn(turn).version))
        count = self.dice.randint(1, 99)
        self.twins.do(lambda e: e.store.write(lambda tx: tx.set_tokens([(message, "o200k", count)])))
        self.twins.do(lambda e: e.store.write(lambda tx: tx.set_meta("last", str(count))))
        thread = self.thread()
        self.twins.do(lambda e: e.store.write(lambda tx: tx.set_origin(bytes([count]), thread)))

    def forget(self) -> None:
        keep = self.dice.random() < 0.5
        if self.dice.random() < 0.15:
            self.on_thread(lambda t: t.forget_thread(keep_shared=keep))
        else:
            self.on_message(lambda t, m: t.forget(m, keep_shared=keep))


STEPS_OF = {
    "create": 4,
    "append": 30,
    "insert": 8,
    "edit": 12,
    "regenerate": 8,
    "choose": 6,
    "flag": 14,
    "move": 6,
    "undo": 10,
    "describe": 5,
    "fork": 8,
    "note": 4,
    "forget": 3,
}


def test_both_stores_give_the_same_answers(twins: Twins, seed: int) -> None:
    """After a random history, each method of the reader gives the same, and so does `verify`."""
    story = Story(twins, seed)
    for number in range(STEPS):
        story.step()
        if number % 60 == 59:
            compare(twins, story)
    twins.same(lambda r: verify_store(r, None))


def compare(twins: Twins, story: Story) -> None:
    dice = story.dice
    for thread in [*story.threads, "0" * 32, "no thread"]:
        compare_thread(twins, thread, dice)
    for message in [*story.messages, Ref("0" * 32, 1)]:
        twins.same(lambda r, m=message: r.event(m))
        twins.same(lambda r, m=message: r.events_about(m))
        twins.same(lambda r, m=message: r.read_index_tokens(m))
    refs = [*story.messages, *story.messages[:2], Ref("0" * 32, 1)]
    twins.same(lambda r: list(r.read_spoken(refs).items()))
    twins.same(lambda r: list(r.tokens(refs, "o200k").items()))
    for number in range(100):
        twins.same(lambda r, n=number: r.origin(bytes([n])))
    for digest in twins.same(lambda r: list(r.blobs())):
        twins.same(lambda r, d=digest: (r.blob(d), set(r.blob_users(d))))
    twins.same(lambda r: (r.meta("last"), r.meta("none"), r.integrity()))
    twins.same(lambda r: {name: count for name, count in r.stats().items() if name != "bytes"})
    compare_listing(twins, story)
    compare_search(twins, story)


def compare_thread(twins: Twins, thread: str, dice: random.Random) -> None:
    state = twins.same(lambda r: r.thread(thread))
    head = state.head if state else 5
    twins.same(lambda r: r.family(state.root if state else thread))
    twins.same(lambda r: set(r.list_adopted_messages(thread)))
    spans = twins.same(lambda r: list(r.spans(thread)))
    twins.same(lambda r: r.events(thread))
    low, high, limit = dice.randint(0, head), dice.randint(0, head), dice.randint(0, 9)
    twins.same(lambda r: r.events(thread, low, high, limit, newest_first=True))
    twins.same(lambda r: r.undoable(thread, "user", high, limit))
    twins.same(lambda r: r.turn_state(thread, [s.entry.message for s in spans] + [Ref(thread, 0)]))
    for _ in range(4):
        places = sorted(dice.choice([s.entry.position for s in spans] or [b"a"]) for _ in range(2))
        bounds = Bounds(
            dice.choice([head, dice.randint(0, head)]),
            dice.choice([None, places[0]]),
            dice.choice([None, places[1]]),
            dice.choice([None, places[1]]),
        )
        newest, gone, limit = dice.random() < 0.5, dice.random() < 0.5, dice.choice([1, 3, 1000])
        twins.same(lambda r, b=bounds: r.page(thread, b, limit, newest_first=newest, gone=gone))  # noqa: B023
        twins.same(lambda r, b=bounds: (r.count(thread, b), r.count(thread, b, role="user")))
    for span in spans:
        for as_of in (None, dice.randint(0, head)):
            twins.same(lambda r, m=span.entry.message, a=as_of: r.entry(thread, m, a))


def compare_listing(twins: Twins, story: Story) -> None:
    for project, kind in (
        (None, None),
        ("", None),
        (None, "agent"),
        ("world\ufffd", "chat"),
        ("p" * 300, None),
    ):
        seen: list[str] = []
        after = None
        while page := twins.same(lambda r, a=after: r.threads(project=project, kind=kind, after=a, limit=3)):  # noqa: B023
            seen += [state.id for state in page]
            after = (page[-1].updated_at, page[-1].id)
        assert len(seen) == len(set(seen))
        assert project is not None or kind is not None or sorted(seen) == sorted(story.threads)
    for prefix in ("", "0", story.threads[0][:2], story.threads[0], "zz"):
        twins.same(lambda r, p=prefix: r.threads_like(p, 5))


def compare_search(twins: Twins, story: Story) -> None:
    queries = [
        *WORDS[:12],
        "the cat",
        '"the cat"',
        "小 猫",
        "猫咪",
        "deplo*",
        "run -cat",
        "cat OR 部署",
        "nothinghere",
    ]
    for query in queries:
        found = [search(engine, query, limit=10_000) for engine in twins.engines]
        hits = [
            {(h.revision, h.message, h.role, h.at, h.thread, h.snippet) for h in each.hits} for each in found
        ]
        assert hits[0] == hits[1], query
    thread = story.thread()
    for wanted in (
        SearchFilter(threads=()),
        SearchFilter(threads=(thread, "no thread")),
        SearchFilter(project="/home/ann"),
        SearchFilter(kind="agent", roles=("user", "tool")),
        SearchFilter(since_us=0, until_us=1_700_000_000_000_000),
        SearchFilter(tool="bash"),
        SearchFilter(tool="搜索", roles=("assistant",)),
    ):
        sets = [
            engine.store.read(
                lambda r, w=wanted, d=engine.store.dialect: {
                    hit[:4] for hit in map(_parts, r.search('"cat"' if d == "fts5" else "'cat'", w, 10_000))
                }
            )
            for engine in twins.engines
        ]
        assert sets[0] == sets[1], wanted


def _parts(hit: Any) -> tuple[Any, ...]:
    return (hit.revision, hit.message, hit.role, hit.said, hit.score)
