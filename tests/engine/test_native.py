"""Native files: exact round trips, growing, divergence, damage."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll import Media, Opaque, Text, ToolCall, ToolResult
from backscroll.record.derived import Artefact
from backscroll.vocab.event import Kind
from tests import proof


@pytest.fixture
def store(tmp_path: Path) -> Iterator[backscroll.Engine]:
    """A store with edits, swipes, forks, bytes, odd text and something forgotten."""
    with backscroll.open(tmp_path / "one.db") as engine:
        thread = engine.create("标题 one", project="p", tags=["x"])
        first = thread.append(
            "user", [Text("look"), Media("image/png", data=b"\x89PNG\0bytes", name="p.png")]
        )
        answer = thread.append("assistant", [ToolCall("c1", "Read", {"path": "a.py"})], author="Bot")
        thread.append("tool", ToolResult("c1", (Text("lone \ud800 surrogate, \ud83d\ude00 pair, NUL \0"),)))
        thread.append("assistant", Opaque("v", "k", '{"b": 1,  "a":2}'))
        thread.regenerate(answer.id, "another answer")
        thread.edit(first.id, "edited")
        fork = thread.fork(answer.id, title="fork")
        fork.append("user", "in the fork")
        fork.fork().append("user", "in the fork of the fork")
        secret = thread.append("user", "a secret")
        thread.forget(secret.id)
        thread.rename("new title")
        thread.undo()
        yield engine


def everything(engine: backscroll.Engine) -> dict[str, list[tuple[str, ...]]]:
    """Every live history with its hashes."""
    return {t.id: [(str(m.id), m.digest, m.at) for m in engine.thread(t.id)] for t in engine.threads()}


def test_whole_store_round_trips_exactly(store: backscroll.Engine, tmp_path: Path) -> None:
    """Export, import elsewhere, export again: the same lines, the same histories, the same bytes, all verified."""
    store.export(None, "native", str(tmp_path / "a.jsonl"))
    with backscroll.open(tmp_path / "two.db") as other:
        reports = other.import_path(tmp_path / "a.jsonl")
        assert not [p for r in reports for p in r.problems]
        assert everything(other) == everything(store)
        assert other.verify().ok
        other.export(None, "native", str(tmp_path / "b.jsonl"))
        events = other.stats()["events"]
        other.import_path(tmp_path / "a.jsonl")
        assert other.stats()["events"] == events
        media = next(
            r.content
            for t in store.threads()
            for r in store.thread(t.id).revisions(store.thread(t.id).message(0).id)
            if r.content
        )
        part = next(p for p in media.parts if isinstance(p, Media))
        assert other.blob(part.blob or "") == b"\x89PNG\0bytes"
    lines = [sorted(Path(tmp_path / n).read_text("utf-8").splitlines()[1:]) for n in ("a.jsonl", "b.jsonl")]
    assert lines[0] == lines[1]


def test_exported_fork_includes_its_shared_past(store: backscroll.Engine, tmp_path: Path) -> None:
    """Exporting a single fork is enough to rebuild it elsewhere."""
    fork = next(t for t in store.threads() if t.title == "fork" and t.messages == 3)
    store.export([fork.id], "native", str(tmp_path / "f.jsonl"))
    with backscroll.open(tmp_path / "two.db") as other:
        other.import_path(tmp_path / "f.jsonl")
        assert [m.text for m in other.thread(fork.id)] == [m.text for m in store.thread(fork.id)]
        assert other.verify().ok
        store.export(None, "native", str(tmp_path / "all.jsonl"))
        other.import_path(tmp_path / "all.jsonl")
        assert everything(other) == everything(store)
        assert other.verify().ok


def test_divergent_logs_become_a_fork(store: backscroll.Engine, tmp_path: Path) -> None:
    """When both stores went on from the same event, the file's way becomes a fork and nothing is lost."""
    name = next(t.id for t in store.threads() if t.parent is None)
    store.export([name], "native", str(tmp_path / "a.jsonl"))
    with backscroll.open(tmp_path / "two.db") as other:
        other.import_path(tmp_path / "a.jsonl")
        here, there = store.thread(name), other.thread(name)
        here.append("user", "said here")
        mine = there.append("user", "said there")
        there.edit(mine.id, "said there, edited")
        other.export([name], "native", str(tmp_path / "b.jsonl"))
        report = store.import_path(tmp_path / "b.jsonl")[0]
        assert [m.text for m in store.thread(name)][-1] == "said here"
        assert [m.text for m in store.thread(report.thread or "")] == [m.text for m in there]
        assert report.counts["branches"] == 1
        assert store.verify().ok


def test_tasks_of_a_divergent_log_are_imported(store: backscroll.Engine, tmp_path: Path) -> None:
    """Steps of tasks that were taken elsewhere after the ways parted: same titles, states, verdicts, messages in the fork."""
    thread = store.create("work")
    thread.append("user", "hello")
    shared = thread.tasks.start("paint the shed", keep=True)
    thread.append("user", "paint it red")
    store.export([thread.id], "native", str(tmp_path / "a.jsonl"))
    with backscroll.open(tmp_path / "two.db") as other:
        other.import_path(tmp_path / "a.jsonl")
        there = other.thread(thread.id)
        thread.append("user", "said here")
        there.append("assistant", "It is red now.")
        there.tasks.attempt("the shed is red")
        there.tasks.complete(note="well done")
        later = there.tasks.plan_for_later("mend the gate")
        there.tasks.start("oil the hinges", keep=True)
        there.append("user", "both of them")
        there.append("assistant", "Oiled.")
        there.tasks.incomplete("one still squeaks")
        there.tasks.start(task=later, keep=True)
        there.append("user", "and now the gate")
        there.tasks.link(later, shared, "related")
        there.undo()
        other.export([thread.id], "native", str(tmp_path / "b.jsonl"))
        report = store.import_path(tmp_path / "b.jsonl")[0]
        fork = store.thread(report.thread or "")
        assert fork.id != thread.id
        assert [_told(fork, t) for t in fork.tasks.list()] == [_told(there, t) for t in there.tasks.list()]
        assert fork.tasks.get(shared.id).state.value == "completed"
        assert [t.title for t in thread.tasks.list()] == ["paint the shed"]
        assert store.verify().ok


def _told(thread: backscroll.Thread, task: Any) -> tuple[Any, ...]:
    attempts = [(a.result, a.verdict, a.feedback, a.note) for a in task.attempts]
    words = [m.text for m in thread.tasks.messages(task)]
    followed = [thread.tasks.get(link.other).title for link in task.links]
    return task.title, task.state, task.current, attempts, words, followed, task.feedback


def test_inserts_and_moves_of_a_divergent_log_keep_their_places(
    store: backscroll.Engine, tmp_path: Path
) -> None:
    """Insertions, moves and undone moves of the other way keep their places."""
    thread = store.create("t")
    first = thread.append("user", "one")
    store.export([thread.id], "native", str(tmp_path / "a.jsonl"))
    with backscroll.open(tmp_path / "two.db") as other:
        other.import_path(tmp_path / "a.jsonl")
        there = other.thread(thread.id)
        thread.append("user", "said here")
        two = there.append("user", "two")
        three = there.append("user", "three")
        there.insert("user", "between two and three", after=two.id)
        there.insert("user", "right after one", after=first.id)
        there.move(three.id, after=first.id)
        there.undo()
        other.export([thread.id], "native", str(tmp_path / "b.jsonl"))
        report = store.import_path(tmp_path / "b.jsonl")[0]
        there_now = [m.text for m in there]
        assert there_now == ["one", "right after one", "two", "between two and three", "three"]
        assert [m.text for m in store.thread(report.thread or "")] == there_now
        assert store.verify().ok


def test_imported_forget_erases_and_old_exports_restore_nothing(
    store: backscroll.Engine, tmp_path: Path
) -> None:
    """An imported forget erases the words here; an older export does not restore them."""
    thread = store.create("t")
    secret = thread.append("user", "the number is 4711")
    store.export([thread.id], "native", str(tmp_path / "old.jsonl"))
    with backscroll.open(tmp_path / "two.db") as other:
        other.import_path(tmp_path / "old.jsonl")
        thread.forget(secret.id)
        store.export([thread.id], "native", str(tmp_path / "new.jsonl"))
        other.import_path(tmp_path / "new.jsonl")
        assert len(other.thread(thread.id)) == 0
        assert not other.search("4711").hits
        assert other.verify().ok
    store.import_path(tmp_path / "old.jsonl")
    assert len(thread) == 0
    assert store.verify().ok


@pytest.mark.parametrize("change", ["body", "hash", "actor", "cut"])
def test_modified_line_is_refused(store: backscroll.Engine, tmp_path: Path, change: str) -> None:
    """It is reported with its number; the lines before it are imported."""
    thread = store.create("t")
    for text in ("one", "two", "three"):
        thread.append("user", text)
    path = tmp_path / "a.jsonl"
    store.export([thread.id], "native", str(path))
    lines = path.read_text("utf-8").splitlines()
    if change == "cut":
        lines[4] = lines[4][:40]
    else:
        row = json.loads(lines[4])
        value = {"body": {"parts": [{"t": "text", "text": "TWO"}]}, "hash": "00" * 32, "actor": "mallory"}[
            change
        ]
        lines[4] = json.dumps({**row, change: value})
    path.write_text("\n".join(lines), encoding="utf-8")
    with backscroll.open(tmp_path / "two.db") as other:
        report = other.import_path(path)[0]
        assert report.problems[0].line == 5
        assert [m.text for m in other.thread(thread.id)] == ["one"]
        assert other.verify().ok


def test_imported_forget_erases_blobs_and_derived_data(tmp_path: Path) -> None:
    """Pictures, artefacts and summaries of a message that was forgotten elsewhere go here as well."""
    picture = b"\x89PNG a picture of the secret"
    with backscroll.open(tmp_path / "one.db") as one:
        thread = one.create("t")
        said = thread.append("user", [Text("a secret"), Media("image/png", data=picture)])
        one.backup(tmp_path / "two.db")
        thread.forget(said.id)
        one.export(None, "native", str(tmp_path / "a.jsonl"))
    name = hashlib.sha256(picture).hexdigest()
    with backscroll.open(tmp_path / "two.db") as two:
        artefact = Artefact(b"k", "gist", thread.id, b"{}", (said.revision,), "2026-11-15T12:00:00+00:00")
        two.store.write(lambda tx: tx.make([artefact]))
        assert two.blob(name) == picture
        two.import_path(tmp_path / "a.jsonl")
        assert two.blob(name) is None
        assert two.store.read(lambda r: r.read_artefacts([b"k"])) == {}
        assert two.verify().ok


def test_crops_of_a_divergent_log_are_not_in_force(tmp_path: Path) -> None:
    """They refer to positions of another log: the fork shows everything, undo works, and the report says so."""
    with backscroll.open(tmp_path / "one.db") as one:
        thread = one.create("t")
        first = thread.append("user", "shared")
        one.backup(tmp_path / "two.db")
        with backscroll.open(tmp_path / "two.db") as two:
            theirs = two.thread(thread.id)
            said = theirs.append("user", "their way")
            body = {"summary": "of their way"}
            theirs.stroke(lambda pen: pen.write(Kind.CROPPED, head={"sources": [str(said.id)]}, body=body))
            theirs.pin(first.id, said.id)
            theirs.undo()
            two.export(None, "native", str(tmp_path / "b.jsonl"))
            undone = theirs.events(newest_first=True)
            group = [e.seq for e in theirs.events() if e.kind is Kind.PINNED]
            assert next(iter(undone)).head["of"] == group
        thread.append("user", "our way")
        (report,) = one.import_path(tmp_path / "b.jsonl")
        assert any("crops" in note for note in report.notes)
        assert report.thread is not None
        fork = one.thread(report.thread)
        assert [m.text for m in fork] == ["shared", "their way"]
        kinds = [e.kind for e in fork.events()]
        assert Kind.CROPPED not in kinds
        last = next(iter(fork.events(newest_first=True)))
        pins = [e.seq for e in fork.events() if e.kind is Kind.PINNED]
        assert last.head["of"] == pins
        assert {e.head["group"] for e in fork.events() if e.kind is Kind.PINNED} == {pins[0]}
        assert one.verify().ok


def test_imported_fork_of_a_forgotten_message_counts_correctly(tmp_path: Path) -> None:
    """Parent and fork count the messages that they show."""
    with backscroll.open(tmp_path / "one.db", background=False) as engine:
        thread = engine.create("one")
        said = [thread.append("user", f"message number {n}") for n in range(4)]
        fork = thread.fork()
        fork.append("user", "in the fork")
        fork.edit(said[2].id, "other words in the fork")
        thread.forget(said[1].id, said[2].id)
        engine.export(None, target=str(tmp_path / "all.jsonl"))
    with backscroll.open(tmp_path / "two.db", background=False) as other:
        other.import_path(tmp_path / "all.jsonl")
        proof.assert_sound(other)
        assert [
            (t.turns, t.messages) for t in (other.thread(thread.id).info, other.thread(fork.id).info)
        ] == [
            (2, 2),
            (3, 3),
        ]


def test_imported_fork_does_not_index_later_words_of_its_parent(tmp_path: Path) -> None:
    """Words after the fork point that the parent has since changed are in no index."""
    with backscroll.open(tmp_path / "one.db", background=False) as engine:
        thread = engine.create("one")
        said = [thread.append("user", f"message about harbour{n}") for n in range(3)]
        thread.fork(said[0].id)
        thread.edit(said[2].id, "other words")
        engine.export(None, target=str(tmp_path / "all.jsonl"))
    with backscroll.open(tmp_path / "two.db", background=False) as other:
        other.import_path(tmp_path / "all.jsonl")
        assert not other.search("harbour2").hits
        proof.assert_sound(other)
