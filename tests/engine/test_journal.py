"""Replies of models travel with native files: paid once, whatever computer the log moves to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import backscroll
from backscroll.engine.exchange.native.journal import reply_from, reply_line
from backscroll.record.derived import RecipeReply
from backscroll.vocab.ids import parse_ref
from tests import proof
from tests.contracts.talk import say

AT = "2026-11-15T12:00:00+00:00"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[backscroll.Engine]:
    with backscroll.open(tmp_path / "one.db") as engine:
        yield engine


def kept(engine: backscroll.Engine, thread: str) -> list[RecipeReply]:
    return engine.store.read(lambda r: r.replies(thread))


def keep(engine: backscroll.Engine, *replies: RecipeReply) -> None:
    for reply in replies:
        engine.store.write(lambda tx, one=reply: tx.keep_reply(one))


def reply(
    thread: backscroll.Thread, key: bytes, *sources: backscroll.Message, body: bytes = b'{"a":1}'
) -> RecipeReply:
    return RecipeReply(key, "摘要", thread.id, "model-1", body, tuple(m.revision for m in sources), AT)


def carried(store: backscroll.Engine, path: Path) -> list[str]:
    store.export(None, "native", str(path))
    return path.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    "body",
    [b'{"a":1}', b'{ "a": 1}', "\ud83d".encode("utf-8", "surrogatepass"), b"", b"null", b"\xff\0", b'"x"'],
)
def test_reply_line_round_trips(body: bytes) -> None:
    """Any bytes in the body; the line is one line of plain JSON."""
    ref = parse_ref(f"{'a' * 32}.7")
    one = RecipeReply(b"\0key", "r", "a" * 32, "m", body, (ref,), AT)
    line = reply_line(one)
    assert "\n" not in line
    assert reply_from(json.loads(line)) == one


def test_replies_round_trip_through_a_native_file(store: backscroll.Engine, tmp_path: Path) -> None:
    """They come after all logs, arrive with them, and a second import adds nothing."""
    thread = store.create("t")
    a, b = say(thread, "u 问题", "a answer")
    all_ = [reply(thread, b"k1", a, b), reply(thread, b"k2"), reply(thread, b"k3", b, body=b"no { json")]
    keep(store, *all_)
    lines = carried(store, tmp_path / "a.jsonl")
    assert ["reply" in json.loads(line) for line in lines[-4:]] == [False, True, True, True]
    with backscroll.open(tmp_path / "two.db") as other:
        for _ in range(2):
            reports = other.import_path(tmp_path / "a.jsonl")
            assert [p for r in reports for p in r.problems] == []
            assert kept(other, thread.id) == all_
        proof.assert_sound(other)
        assert carried(other, tmp_path / "b.jsonl")[1:] == lines[1:]


def test_export_includes_only_replies_of_its_threads(store: backscroll.Engine, tmp_path: Path) -> None:
    """Exporting one thread takes its replies and those of the past it shares, not those of others."""
    one, two = store.create("one"), store.create("two")
    (a,) = say(one, "u one")
    fork = one.fork()
    keep(store, reply(one, b"k1", a), reply(two, b"k2"), reply(fork, b"k3", a))
    store.export([fork.id], "native", str(tmp_path / "a.jsonl"))
    text = (tmp_path / "a.jsonl").read_text(encoding="utf-8")
    keys = {json.loads(line).get("reply") for line in text.splitlines()} - {None}
    assert keys == {b"k1".hex(), b"k3".hex()}


def test_reply_about_forgotten_words_is_not_imported(store: backscroll.Engine, tmp_path: Path) -> None:
    """An older file cannot restore them; the report says so."""
    thread = store.create("t")
    a, b = say(thread, "u a secret", "u no secret")
    keep(store, reply(thread, b"k1", a, b), reply(thread, b"k2", b))
    carried(store, tmp_path / "a.jsonl")
    thread.forget(a.id)
    assert [r.key for r in kept(store, thread.id)] == [b"k2"]
    reports = store.import_path(tmp_path / "a.jsonl")
    assert [r.key for r in kept(store, thread.id)] == [b"k2"]
    assert any("forgotten" in p.what for r in reports for p in r.problems)


def test_replies_follow_a_divergent_import_into_its_fork(store: backscroll.Engine, tmp_path: Path) -> None:
    """Their sources name the revisions of the fork."""
    thread = store.create("t")
    (a,) = say(thread, "u shared")
    store.backup(tmp_path / "two.db")
    with backscroll.open(tmp_path / "two.db") as other:
        (theirs,) = say(other.thread(thread.id), "u their way")
        keep(other, reply(other.thread(thread.id), b"k1", a, theirs))
        carried(other, tmp_path / "b.jsonl")
    say(thread, "u our way")
    (report,) = store.import_path(tmp_path / "b.jsonl")
    assert report.thread is not None
    fork = store.thread(report.thread)
    (got,) = kept(store, fork.id)
    copy = next(m for m in fork if m.text == "their way")
    assert got.sources == (a.revision, copy.revision)
    proof.assert_sound(store)


@pytest.mark.parametrize(
    "change",
    [
        {"reply": "no hex"},
        {"sources": ["no id"]},
        {"sources": 5},
        {"at": "yesterday"},
        {"model": 7},
        {"body64": "§"},
    ],
)
def test_damaged_reply_is_reported_and_the_rest_imported(
    store: backscroll.Engine, tmp_path: Path, change: dict[str, object]
) -> None:
    """Logs and other replies are imported."""
    thread = store.create("t")
    (a,) = say(thread, "u one")
    keep(store, reply(thread, b"k1", a), reply(thread, b"k2", a))
    lines = carried(store, tmp_path / "a.jsonl")
    lines[-2] = json.dumps({**json.loads(lines[-2]), **change})
    (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with backscroll.open(tmp_path / "two.db") as other:
        (report,) = other.import_path(tmp_path / "a.jsonl")
        assert ["reply" in p.what for p in report.problems] == [True]
        assert [r.key for r in kept(other, thread.id)] == [b"k2"]
        assert len(other.thread(thread.id)) == 1


def test_dry_run_imports_no_reply(store: backscroll.Engine, tmp_path: Path) -> None:
    """A dry run writes nothing."""
    thread = store.create("t")
    keep(store, reply(thread, b"k1"))
    carried(store, tmp_path / "a.jsonl")
    with backscroll.open(tmp_path / "two.db") as other:
        other.import_path(tmp_path / "a.jsonl", dry_run=True)
        assert other.stats()["replies"] == 0
