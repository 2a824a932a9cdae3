"""Backups, doctor, differences between moments and revisions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import backscroll
from backscroll.engine.log.backups import restore_backup
from backscroll.engine.log.differences import diff_revisions
from backscroll.errors import Conflict, NotFound, StoreCorrupt


@pytest.fixture
def store(tmp_path: Path) -> Iterator[backscroll.Engine]:
    """A fresh store."""
    with backscroll.open(tmp_path / "store.db") as engine:
        yield engine


def test_backup_is_complete_and_never_overwrites(store: backscroll.Engine, tmp_path: Path) -> None:
    """A backup opens as a store with everything in it; a second one to the same name is refused."""
    thread = store.create("t")
    thread.append("user", "before")
    store.backup(tmp_path / "copy.db")
    thread.append("user", "after")
    with backscroll.open(tmp_path / "copy.db") as copy:
        assert [m.text for m in copy.thread(thread.id)] == ["before"]
        assert copy.verify().ok
    with pytest.raises(Conflict):
        store.backup(tmp_path / "copy.db")


def test_restore_moves_the_old_store_aside(tmp_path: Path) -> None:
    """The store that a backup replaces is moved aside, whole, its write-ahead log included."""
    path = tmp_path / "store.db"
    with backscroll.open(path) as engine:
        thread = engine.create("t")
        thread.append("user", "one")
        engine.backup(tmp_path / "copy.db")
        thread.append("user", "two")
    aside = restore_backup(tmp_path / "copy.db", path)
    assert aside is not None
    for file, count in ((path, 1), (aside, 2)):
        with backscroll.open(file) as engine:
            assert len(engine.thread(thread.id)) == count


def test_bad_backup_is_refused_before_the_store_changes(store: backscroll.Engine, tmp_path: Path) -> None:
    """A missing, damaged or foreign file is refused before the store is touched."""
    store.create("t").append("user", "kept")
    bad = tmp_path / "bad.db"
    bad.write_bytes(b"not a database at all" * 100)
    with pytest.raises(StoreCorrupt):
        restore_backup(bad, tmp_path / "store.db")
    with pytest.raises(NotFound):
        restore_backup(tmp_path / "none.db", tmp_path / "store.db")
    assert store.stats()["messages"] == 1


def test_doctor_checks_everything(store: backscroll.Engine) -> None:
    """Store, full text, git, tokenizers and providers are each named, and nothing needed is broken."""
    checks = {check.name: check for check in store.doctor()}
    assert {"python", "store", "full text", "tokenizers", "git", "OpenAI", "Anthropic"} <= set(checks)
    assert checks["tokenizers"].detail.startswith("exact token counts: cl100k")
    assert checks["vectors"].detail == "0 vectors for 0 revisions"
    assert checks["encoder"].detail.startswith("wordllama")
    assert not [check for check in checks.values() if check.ok is False]


def test_doctor_counts_vectors_and_checks_the_encoder(tmp_path: Path) -> None:
    """A disabled encoder is fine, an unknown one is a failure."""
    with backscroll.open(tmp_path / "a.db", encoder="none") as engine:
        said = engine.create("t").append("user", "hello")
        engine.store.write(lambda tx: tx.set_vectors("e", [(said.revision, b"\0\x3c")]))
        checks = {check.name: check for check in engine.doctor()}
        assert checks["vectors"].detail == "1 vectors for 1 revisions"
        assert checks["encoder"].ok is None
        assert "switched off" in checks["encoder"].detail
    with backscroll.open(tmp_path / "b.db", encoder="nonesuch") as engine:
        assert [c.ok for c in engine.doctor() if c.name == "encoder"] == [False]


def test_doctor_finds_a_damaged_token_table(
    store: backscroll.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Doctor reads the token tables and verifies their contents."""
    monkeypatch.setattr("backscroll.engine.doctor.read_table", lambda name: b"IQ== 0\n")
    (check,) = (c for c in store.doctor() if c.name == "tokenizers")
    assert check.ok is False
    assert check.hint


def test_forget_without_messages_is_refused(store: backscroll.Engine) -> None:
    """An empty list is a mistake of the caller, not the wish to erase a whole thread; that has a method of its own."""
    thread = store.create("t")
    thread.append("user", "words")
    with pytest.raises(backscroll.InvalidInput, match="no message") as caught:
        thread.forget(*[])
    assert "forget_thread" in caught.value.hint
    with pytest.raises(backscroll.InvalidInput):
        store.forget(thread.id, [], actor="user")
    assert [m.text for m in thread] == ["words"]
    assert thread.forget_thread(dry_run=True).messages == 1
    assert thread.forget_thread().messages == 1
    assert list(thread) == []


def test_verify_continues_after_an_unreadable_thread(tmp_path: Path) -> None:
    """The unreadable row is reported by name."""
    with backscroll.open(tmp_path / "s.db") as engine:
        threads = [engine.create(f"t{n}") for n in range(4)]
        said = [t.append("user", "words") for t in threads]
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection:
        connection.execute("UPDATE threads SET about = x'ff' WHERE id = ?", (threads[1].id,))
        connection.execute(
            "UPDATE events SET digest = x'00' WHERE key = (SELECT no << 32 | 2 FROM threads WHERE id = ?)",
            (threads[0].id,),
        )
        connection.execute(
            "UPDATE events SET digest = x'00' WHERE key = (SELECT no << 32 | 2 FROM threads WHERE id = ?)",
            (threads[3].id,),
        )
        connection.commit()
    with backscroll.open(tmp_path / "s.db") as engine:
        verdict = engine.verify()
    assert verdict.threads == 4
    assert {flaw.thread for flaw in verdict.flaws if flaw.thread} == {threads[n].id for n in (0, 1, 3)}
    assert {said[0].id, said[3].id} <= {flaw.event for flaw in verdict.flaws}


def test_doctor_never_shows_a_key(store: backscroll.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says only that a key is set."""
    monkeypatch.setenv("OPENAI_API_KEY", "very-secret-value")
    assert "very-secret-value" not in repr(store.doctor())


def test_diff_between_two_events(store: backscroll.Engine) -> None:
    """Added, changed, removed, moved and flagged messages are each listed once."""
    thread = store.create("t")
    ids = [thread.append("user", f"message {n}").id for n in range(6)]
    moment = thread.head
    thread.edit(ids[1], "changed words")
    thread.delete(ids[2])
    thread.hide(ids[3])
    thread.move(ids[4], after=None)
    new = thread.append("user", "new")
    found = {(d.kind, d.message) for d in thread.diff(moment)}
    assert found == {
        ("changed", ids[1]),
        ("removed", ids[2]),
        ("flagged", ids[3]),
        ("moved", ids[4]),
        ("added", new.id),
    }
    assert thread.diff(moment, moment) == []


def test_diff_between_two_revisions(store: backscroll.Engine) -> None:
    """A unified diff by lines, in any language."""
    thread = store.create("t")
    said = thread.append("user", "第一行\n第二行\n第三行")
    thread.edit(said.id, "第一行\n改过的第二行\n第三行")
    old, new = thread.revisions(said.id)
    lines = diff_revisions(old, new).splitlines()
    assert "-第二行" in lines
    assert "+改过的第二行" in lines
    assert " 第一行" in lines


def test_turn_is_found_by_its_id(store: backscroll.Engine) -> None:
    """The id does not change when earlier turns are added or deleted, in forks too; a deleted turn is not found."""
    thread = store.create("t")
    thread.append("assistant", "greeting")
    first = thread.append("user", "one")
    thread.append("assistant", "1")
    thread.append("user", "two")
    ids = [turn.id for turn in thread.turns()]
    assert [thread.turn(name).sequence for name in ids] == [0, 1, 2]
    fork = thread.fork()
    thread.delete(first.id)
    assert thread.turn(ids[2]).sequence == 1
    assert fork.turn(ids[2]).sequence == 2
    for gone in (ids[1], "no-uuid", "00000000-0000-8000-8000-000000000002"):
        with pytest.raises(NotFound):
            thread.turn(gone)


def test_token_counts_are_kept_per_revision_and_tokenizer(store: backscroll.Engine) -> None:
    """A count is stored once for each tokenizer, and goes with the words."""
    thread = store.create("t")
    said = thread.append("user", "hello")
    store.set_tokens({said.revision: 1}, "o200k_base")
    store.set_tokens({said.revision: 2}, "cl100k_base")
    assert store.tokens([said.revision], "o200k_base") == {said.revision: 1}
    thread.forget(said.id)
    assert store.tokens([said.revision], "cl100k_base") == {}


def test_dry_run_of_forget_erases_nothing(store: backscroll.Engine) -> None:
    """A dry run names forks and shared attachments, and leaves every word and number as it was."""
    thread, other = store.create("t"), store.create("other")
    picture = backscroll.Media("image/png", data=b"\x89PNG")
    said = thread.append("user", [backscroll.Text("look"), picture])
    shared = other.append("user", picture)
    fork = thread.fork()
    events = store.stats()["events"]
    would = thread.forget(said.id, dry_run=True)
    assert set(would.threads) == {thread.id, fork.id}
    assert would.shared_with == (shared.revision,)
    assert store.stats()["events"] == events
    assert thread.message(said.id).text == "look"
    assert store.verify().ok


def test_opening_an_open_store_with_other_settings_is_refused(
    store: backscroll.Engine, tmp_path: Path
) -> None:
    """An engine is shared: asking for another actor than it has is an error, not silence."""
    assert backscroll.open(tmp_path / "store.db") is store
    store.close()
    with pytest.raises(backscroll.InvalidInput) as caught:
        backscroll.open(tmp_path / "store.db", actor="somebody")
    assert "actor" in str(caught.value)
    assert store.create("t", actor="somebody").id


def test_forgetting_a_fork_keeps_the_words_of_its_parent(store: backscroll.Engine) -> None:
    """A fork that had edited an inherited message is forgotten: the parent's own words stay, and verify finds nothing."""
    thread = store.create("t")
    said = thread.append("user", "the words of the parent")
    fork = thread.fork()
    fork.edit(said.id, "the words of the fork")
    fork.forget_thread()
    assert [m.text for m in thread] == ["the words of the parent"]
    assert store.verify().flaws == []


def test_author_argument_applies_to_unsigned_content(store: backscroll.Engine) -> None:
    """A content without an author takes the one that is given; one that is signed keeps its own."""
    thread = store.create("t")
    words = backscroll.Content((backscroll.Text("x"),))
    assert thread.append("user", words, author="Ann").author == "Ann"
    signed = backscroll.Content((backscroll.Text("x"),), "Bo")
    assert thread.append("user", signed, author="Ann").author == "Bo"


def test_content_hash_ignores_argument_order(store: backscroll.Engine) -> None:
    """A tool that writes the names of arguments in another order has said the same."""
    one, other = ({"path": "a", "mode": "r"}, {"mode": "r", "path": "a"})
    thread = store.create("t")
    first = thread.append("assistant", backscroll.ToolCall("1", "Read", one))
    second = thread.append("assistant", backscroll.ToolCall("1", "Read", other))
    assert first.digest == second.digest


def test_search_in_a_thread_is_not_crowded_out_by_its_fork(store: backscroll.Engine) -> None:
    """Matches that only the fork shows do not use up the limit."""
    thread = store.create("t")
    kept = [thread.append("user", f"lantern {n}").id for n in range(3)]
    gone = [thread.append("user", f"lantern lantern {n}").id for n in range(30)]
    thread.fork()
    thread.delete(*gone)
    assert {hit.message for hit in store.search("lantern", thread=thread.id, limit=3).hits} == set(kept)
