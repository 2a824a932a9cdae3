"""The word index of SQLite keeps no copy of the text: indexed words can be removed again, whoever made them."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import backscroll
from backscroll.recall.text import words
from backscroll.record.content import original, searchable
from backscroll.stores.sqlite import database_file, word_index
from backscroll.stores.sqlite.schema import MIGRATIONS
from tests.stores import old_stores


def terms(path: Path) -> set[str]:
    """Every word that the index of a file holds."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE VIRTUAL TABLE temp.held USING fts5vocab (main, words, row)")
        return {row[0] for row in connection.execute("SELECT term FROM temp.held")}


def test_words_of_another_recipe_leave_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Text indexed by another Python or stemmer is edited, deleted and forgotten: no word stays."""
    path = tmp_path / "store.db"
    with monkeypatch.context() as other:
        other.setattr(words, "stem", lambda word: f"{word}xyz")
        other.setattr(words, "_cache", words._IndexWords())
        other.setattr(word_index, "recipe_number", lambda: 7)
        with backscroll.open(path, background=False) as store:
            thread = store.create("x")
            edited, deleted, forgotten = (
                thread.append("user", f"alpha {n}") for n in ("one", "two", "three")
            )
    assert {"alphaxyz", "onexyz"} <= terms(path)
    with backscroll.open(path, background=False) as store:
        thread = store.thread(thread.id)
        thread.edit(edited.id, "beta four")
        thread.delete(deleted.id)
        thread.forget(forgotten.id)
        assert [hit.message for hit in store.search("beta").hits] == [edited.id]
        assert store.search("alpha").hits == []
        assert store.verify().flaws == []
    assert not any("xyz" in term for term in terms(path))


def test_index_of_another_recipe_verifies_and_is_repaired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal words are no flaw; different ones are, and a repair makes them ours."""
    path = tmp_path / "store.db"
    with backscroll.open(path, background=False) as store:
        thread = store.create("x")
        thread.append("user", "runners are running")
        store.store.write(lambda tx: tx._c.execute("UPDATE indexed SET recipe = 7"))  # type: ignore[attr-defined]
        assert store.verify().ok
        with monkeypatch.context() as other:
            other.setattr(words, "stem", lambda word: f"{word}xyz")
            other.setattr(words, "_cache", words._IndexWords())
            other.setattr(word_index, "recipe_number", lambda: 7)
            thread.append("user", "walkers are walking")
        assert not store.verify().ok
        store.repair()
        assert store.verify().ok
        assert len(store.search("walk").hits) == 1
    assert not any("xyz" in term for term in terms(path))


@settings(max_examples=12)
@given(st.integers(0, 10**9))
def test_the_index_follows_whatever_is_done(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """Random appends (one, many), edits, deletions and forgets, under recipes that change: the index holds what is shown."""
    path, dice = tmp_path_factory.mktemp("index") / "store.db", random.Random(seed)
    pool = ("alpha", "beta", "Straße", "小猫咪", "getUserName", "naïve", "٣", "running", "\ud800", "")
    patch = pytest.MonkeyPatch()
    with backscroll.open(path, background=False) as store, patch.context():
        thread = store.create("x")
        for _ in range(12):
            recipe = dice.randint(1, 2)
            patch.setattr(word_index, "recipe_number", lambda recipe=recipe: recipe)
            text = " ".join(dice.choices(pool, k=4))
            shown = [message.id for message in thread]
            act = dice.choice(("append", "many", "edit", "delete", "forget", "search"))
            if act == "append" or not shown:
                thread.append("user", text)
            elif act == "many":
                thread.extend([{"role": "user", "content": f"{text} {n}"} for n in range(300)])
            elif act == "search":
                store.search(text)
            else:
                getattr(thread, act)(dice.choice(shown), *([text] if act == "edit" else []))
        store.store.index_rest()
        assert store.verify().flaws == []
    patch.undo()
    with closing(database_file.connect(path, 5, read_only=False)) as connection:
        assert word_index.misfits(connection) == []
        lived = connection.execute("SELECT body, unpacked FROM events WHERE doc IS NOT NULL").fetchall()
        said = {word for body, size in lived for word in (word_index.words_of(body, size) or "").split()}
    assert terms(path) == said


def test_delayed_index_words_are_found(tmp_path: Path) -> None:
    """Words of many messages are indexed by the first search or in the background; changes in between count."""
    path = tmp_path / "store.db"
    with backscroll.open(path, background=False) as store:
        thread = store.create("x")
        ids = [
            message.id
            for message in thread.extend(
                [{"role": "user", "content": f"word{n:04} common"} for n in range(400)]
            )
        ]
        assert terms(path) == set()
        thread.edit(ids[7], "changed entirely")
        thread.delete(ids[8])
        thread.forget(ids[9])
        assert store.verify().flaws == []
        assert [hit.message for hit in store.search("word0010").hits] == [ids[10]]
        assert [hit.message for hit in store.search("entirely").hits] == [ids[7]]
        for gone in (7, 8, 9):
            assert store.search(f"word{gone:04}").hits == []
        assert store.verify().flaws == []
    assert "word0009" not in terms(path)


def test_earlier_schema_is_migrated(tmp_path: Path) -> None:
    """The index is rebuilt without stored words: same searches, and every word can be removed again."""
    path = Path(old_stores.old_file(tmp_path, 2))
    with closing(sqlite3.connect(path)) as connection:
        for script in MIGRATIONS[2:4]:
            connection.executescript(script)
        connection.execute("PRAGMA user_version = 4")
        held = dict(connection.execute("SELECT c1, c0 FROM words_content"))
    with backscroll.open(path, background=False) as store:
        assert store.verify().flaws == []
        assert store.search("kunming chengdu").hits
        target = store.search("window seat").hits[0]
        store.thread(target.thread).forget(target.message)
        assert target.message not in {hit.message for hit in store.search("window seat").hits}
        changed = store.search("flight kunming").hits[0]
        store.thread(changed.thread).edit(changed.message, "no wish at all")
        assert [hit.message for hit in store.search("no wish").hits] == [changed.message]
        assert store.verify().flaws == []
    with closing(database_file.connect(path, 5, read_only=False)) as connection:
        now = dict(
            connection.execute("SELECT i.event, w.text FROM indexed i JOIN indexed_words w ON w.doc = i.doc")
        )
        assert connection.execute("SELECT count(*) FROM indexed WHERE recipe = 0").fetchone() == (0,)
        assert word_index.misfits(connection) == []
    assert len(now) > 20
    assert all(held.get(key, text) == text for key, text in now.items())
    (copy,) = path.parent.glob("old.db.schema4-*.backup")
    assert copy.stat().st_size > 0


@given(st.text(), st.sampled_from(["user", "assistant"]))
def test_index_words_follow_from_the_body(text: str, role: str) -> None:
    """What an append indexes is what the body gives later."""
    from backscroll.engine.core.pen import MessageDraft, ready
    from backscroll.vocab.message import content_of

    speech = ready(MessageDraft(role, content_of(text)), words=True)
    assert speech.words == word_index.words_of(speech.body, 0)
    assert words.index_words(searchable(original(speech.body))) == speech.words


def test_word_rules_have_a_number() -> None:
    """Texts with the words of rules number 1. If this fails, raise `RULES`: stores record which rules they used."""
    known = {
        "Runners were running; getUserName(HTTPServer)": (
            "runner were run get user name getusernam http server httpserver"
        ),
        "小猫咪 and naïve Straße": "小猫 猫咪 咪 and naiv strass",
    }
    assert words.RULES == 1
    assert {text: words.index_words(text) for text in known} == known
