"""Stores that an older program damaged with one bad field of a native file: the rest works, and a repair drops nothing.

The bad value is written straight into the row, as that program did.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import backscroll
from tests import proof
from tests.stores.raw_rows import change, tables_of

#: A column of a row of `threads`, the bad value, and whether the row can still be read.
BAD_IN_SQLITE = [
    ("fork_seq", "x"),
    ("fork_seq", ""),
    ("fork_seq", 1.5),
    ("fork_seq", 2),
    ("root", "x"),
    ("root", "f" * 32),
    ("parent", "x"),
    ("created_at", "soon"),
    ("updated_at", "soon"),
    ("fork_position", "zz"),
    ("fork_message", "q"),
    ("head", "x"),
    ("hash", b"\0"),
    ("about", b"\0"),
    ("messages", "x"),
    ("project", "another"),
]
BAD_IN_POSTGRES = [
    ("fork_seq", 2),
    ("parent", "f" * 32),
    ("created_at", "soon"),
    ("updated_at", "soon"),
    ("fork_position", b"zz"),
    ("fork_message", "q"),
    ("head", 99),
    ("hash", b"\0"),
    ("about", b"\0"),
    ("messages", 99),
    ("project", "another"),
]
CASES = [
    *(pytest.param("sqlite_url", *bad, id=f"sqlite-{bad[0]}-{bad[1]!r}") for bad in BAD_IN_SQLITE),
    *(
        pytest.param("prepared_url", *bad, id=f"postgres-{bad[0]}", marks=pytest.mark.postgres)
        for bad in BAD_IN_POSTGRES
    ),
]


@pytest.fixture
def opened() -> Iterator[Callable[[str], backscroll.Engine]]:
    """Opens stores without work in the background, and closes them."""
    held: list[backscroll.Engine] = []

    def work(url: str) -> backscroll.Engine:
        held.append(backscroll.open(url, background=False))
        return held[-1]

    yield work
    for engine in held:
        engine.close()


def filled(url: str, folder: Path) -> tuple[dict[str, str], list[str]]:
    """A root, a fork of it, a fork of the fork, and a thread that has nothing to do with them; and their exported lines."""
    with closing(backscroll.open(url, background=False)) as engine:
        root = engine.create("root", project="p")
        said = [root.append("user", f"message {n} about the harbour") for n in range(4)]
        fork = root.fork(said[2].id, title="fork")
        fork.edit(said[1].id, "other words about the harbour")
        child = fork.fork(title="child")
        child.append("user", "in the fork of the fork")
        other = engine.create("other")
        other.append("user", "words of another thread")
        other.append("user", "more words of another thread")
        engine.export(None, target=str(folder / "before.jsonl"))
        names = {"root": root.id, "fork": fork.id, "child": child.id, "other": other.id}
    return names, sorted((folder / "before.jsonl").read_text("utf-8").splitlines()[1:])


@pytest.mark.parametrize("title", ["root", "fork"])
@pytest.mark.parametrize(("fixture", "column", "value"), CASES)
def test_repair_restores_a_damaged_thread_while_the_rest_works(
    request: pytest.FixtureRequest,
    opened: Callable[[str], backscroll.Engine],
    tmp_path: Path,
    fixture: str,
    column: str,
    value: Any,
    title: str,
) -> None:
    """Listing, showing, exporting, importing, forgetting and verifying the rest; then everything as before."""
    url = request.getfixturevalue(fixture)
    names, before = filled(url, tmp_path)
    change(url, "threads", {"id": names[title]}, column, value)
    engine = opened(url)
    other = engine.thread(names["other"])
    assert names["other"] in [info.id for info in engine.threads()]
    assert [m.text for m in other] == ["words of another thread", "more words of another thread"]
    assert engine.search("another").hits
    engine.export(None, target=str(tmp_path / "damaged.jsonl"))
    assert "words of another thread" in (tmp_path / "damaged.jsonl").read_text("utf-8")
    engine.import_path(tmp_path / "before.jsonl")
    assert other.forget(other.message(1).id).messages == 1
    verdict = engine.verify()
    assert not verdict.ok
    lost = engine.store.read(lambda reader: reader.unreadable())
    assert [c.ok for c in engine.doctor() if c.name == "threads"] == ([False] if lost else [])

    done = engine.repair()
    assert names[title] in {each.thread for each in done}
    assert engine.verify().flaws == []
    proof.assert_sound(engine)
    engine.export(None, target=str(tmp_path / "after.jsonl"))
    after = sorted((tmp_path / "after.jsonl").read_text("utf-8").splitlines()[1:])
    ours = [names["root"], names["fork"], names["child"]]
    assert [line for line in after if any(name in line for name in ours)] == [
        line for line in before if any(name in line for name in ours)
    ]
    assert engine.repair() == []
    rows = _set_aside(engine, tmp_path / "aside.jsonl")
    kept = [row for row in rows if row["from"] == "threads" and row["thread"] == names[title]]
    assert kept
    if not isinstance(value, bytes):
        assert kept[0]["row"][column] == value or fixture != "sqlite_url"


def _set_aside(engine: backscroll.Engine, path: Path) -> list[Any]:
    count = engine.save_aside(path)
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert len(rows) == count
    return rows


@pytest.mark.parametrize("fixture", ["sqlite_url", pytest.param("prepared_url", marks=pytest.mark.postgres)])
def test_damaged_end_of_a_log_is_cut_and_quarantined(
    request: pytest.FixtureRequest, opened: Callable[[str], backscroll.Engine], tmp_path: Path, fixture: str
) -> None:
    """With the forks that build on it, and with all the text."""
    url = request.getfixturevalue(fixture)
    names, _ = filled(url, tmp_path)
    change(url, "events", {"thread": names["root"], "seq": 4}, "actor", "mallory")
    engine = opened(url)
    done = {each.thread: each for each in engine.repair()}
    assert engine.verify().ok
    assert [m.text for m in engine.thread(names["root"])] == [
        f"message {n} about the harbour" for n in range(2)
    ]
    assert {info.id for info in engine.threads()} == {names["root"], names["other"]}
    assert done[names["root"]].aside == 3  # its old row, the event, and the one after it
    text = json.dumps(_set_aside(engine, tmp_path / "aside.jsonl"))
    assert b"message 3 about".hex() in text
    assert b"in the fork of the fork".hex() in text
    engine.thread(names["root"]).forget_thread()
    assert names["root"] not in {row["thread"] for row in _set_aside(engine, tmp_path / "aside2.jsonl")}


@pytest.mark.parametrize("fixture", ["sqlite_url", pytest.param("prepared_url", marks=pytest.mark.postgres)])
@pytest.mark.parametrize("how", ["gone", "changed"])
def test_missing_text_is_recorded_as_forgotten(
    request: pytest.FixtureRequest,
    opened: Callable[[str], backscroll.Engine],
    tmp_path: Path,
    fixture: str,
    how: str,
) -> None:
    """A message whose text was lost or changed leaves a tombstone; the log goes on."""
    url = request.getfixturevalue(fixture)
    names, _ = filled(url, tmp_path)
    for column, value in (("salt", None), ("body", None if how == "gone" else b'{"parts":[]}')):
        if how == "gone" or column == "body":
            change(url, "events", {"thread": names["root"], "seq": 3}, column, value)
    engine = opened(url)
    assert not engine.verify().ok
    engine.repair()
    assert engine.verify().flaws == []
    assert [m.text for m in engine.thread(names["root"])] == [
        f"message {n} about the harbour" for n in (0, 2, 3)
    ]
    assert names["child"] in {info.id for info in engine.threads()}
    if how == "changed":
        assert any(row["from"] == "events" for row in _set_aside(engine, tmp_path / "aside.jsonl"))


def test_fixture_knows_every_table(sqlite_url: str, tmp_path: Path) -> None:
    """The raw rows of a store can be reached by the names that both stores share."""
    filled(sqlite_url, tmp_path)
    assert {"threads", "events", "entries", "quarantine"} <= set(tables_of(sqlite_url))
