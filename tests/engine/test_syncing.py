"""Sync through the real store: a client's list against ours, and the promises that hold for any client."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import backscroll
from backscroll import InvalidInput
from tests.reconcile.sync_client import ACTIONS, Client, Rendering

WORDS = st.sampled_from(
    [
        "ok",
        "continue",
        "继续",
        "The gate is locked.",
        "她把钥匙藏在井边。",
        "",
        "I do not know",
        "好",
        "再说一遍？",
    ]
)


@pytest.fixture
def thread(tmp_path: Path) -> Iterator[backscroll.Thread]:
    """A thread in a fresh store."""
    with backscroll.open(tmp_path / "store.db") as engine:
        yield engine.create("t")


def listed(*texts: str) -> list[dict[str, str]]:
    """OpenAI messages, user and assistant in turn."""
    return [{"role": "assistant" if n % 2 else "user", "content": text} for n, text in enumerate(texts)]


def texts_of(history: backscroll.History) -> list[str]:
    """The words of the live history."""
    return [message.text for message in history]


def every_revision(thread: backscroll.Thread) -> set[tuple[str, str]]:
    """Every revision of every message, deleted ones included."""
    ids = [m.id for m in thread.messages(deleted=True)]
    return {(str(r.id), r.content.text if r.content else "") for name in ids for r in thread.revisions(name)}


def test_sync_fills_an_empty_thread(thread: backscroll.Thread) -> None:
    """The first sync appends everything; the second does nothing at all."""
    report = thread.sync(listed("one", "two", "three"))
    assert report.counts == {"added": 3}
    head = thread.head
    assert not thread.sync(listed("one", "two", "three")).changed
    assert thread.head == head


def test_sync_recognises_each_kind_of_change(thread: backscroll.Thread) -> None:
    """An edit, a delete, an insert and an append."""
    story = ["Where is the key?", "It lies under the mat.", "Thank you!", "You are welcome, friend.", "Bye."]
    thread.sync(listed(*story))
    story[1] = "It lies under the old mat."
    assert thread.sync(listed(*story)).counts == {"edited": 1}
    roles = listed(*story)
    del roles[2]
    assert thread.sync(roles).counts == {"deleted": 1}
    roles.insert(1, {"role": "user", "content": "Quick, somebody is coming."})
    assert thread.sync(roles).counts == {"inserted": 1}
    roles.append({"role": "assistant", "content": "Good night."})
    assert thread.sync(roles).counts == {"added": 1}
    assert texts_of(thread) == [m["content"] for m in roles]


def test_sync_of_a_trimmed_list_deletes_nothing(thread: backscroll.Thread) -> None:
    """A client that sends only the end of its history takes nothing away."""
    story = [f"message number {n} about topic {n * 7}" for n in range(20)]
    thread.sync(listed(*story))
    report = thread.sync(listed(*story)[12:])
    assert not report.changed
    assert any("trimmed" in note for note in report.notes)
    assert len(thread) == 20


def test_dry_run_of_a_sync_writes_nothing(thread: backscroll.Thread) -> None:
    """A dry run reports operations and writes no event."""
    thread.sync(listed("one", "two"))
    head = thread.head
    report = thread.sync(listed("one", "two", "three"), dry_run=True)
    assert report.operations
    assert report.dry_run
    assert thread.head == head


def test_sync_is_undone_at_once(thread: backscroll.Thread) -> None:
    """One undo of the same actor reverts all operations of the sync."""
    story = ["alpha one", "beta two", "gamma three", "delta four"]
    thread.sync(listed(*story), actor="sync:st")
    roles = listed("alpha one, changed", *story[1:])
    del roles[2]
    thread.sync(roles, actor="sync:st")
    thread.as_actor("sync:st").undo()
    assert texts_of(thread) == story


def test_sync_does_not_restore_forgotten_words(thread: backscroll.Thread) -> None:
    """New messages of the client are still added."""
    story = ["first thing", "second thing", "third thing"]
    thread.sync(listed(*story))
    thread.forget(thread.message(1).id)
    report = thread.sync(listed(*story, "fourth thing"))
    assert texts_of(thread) == ["first thing", "third thing", "fourth thing"]
    assert any("forgotten" in note for note in report.notes)


@pytest.mark.parametrize(
    "bad", [{"role": "user"}, "text", [1, 2], [{"content": "x"}], [{"role": "wizard", "content": "x"}]]
)
def test_sync_refuses_values_that_are_not_messages(thread: backscroll.Thread, bad: object) -> None:
    """A clear error, and nothing written."""
    thread.sync(listed("kept"))
    with pytest.raises(InvalidInput):
        thread.sync(bad)  # type: ignore[arg-type]
    assert texts_of(thread) == ["kept"]


@settings(max_examples=40)
@given(data=st.data())
def test_any_client_is_followed_and_nothing_is_lost(data: st.DataObject) -> None:
    """Whatever a client does: after a sync our history is its chat, again changes nothing, every revision is still there."""
    client = Client(lambda n: data.draw(st.integers(0, n - 1)), lambda: data.draw(WORDS))
    with tempfile.TemporaryDirectory() as folder, backscroll.open(Path(folder) / "s.db") as engine:
        thread = engine.create("t")
        known: set[tuple[str, str]] = set()
        for _ in range(data.draw(st.integers(1, 4))):
            for action in data.draw(st.lists(st.sampled_from(ACTIONS), min_size=1, max_size=6)):
                client.act(action)
            chat = client.chat()
            thread.sync(chat, complete=True)
            if chat:
                assert texts_of(thread) == [m.content.text for m in chat]
                assert [m.hidden for m in thread] == [m.hidden for m in chat]
            head = thread.head
            assert not thread.sync(chat, complete=True).changed
            assert thread.head == head
            now = every_revision(thread)
            assert known <= now
            known = now
        assert engine.verify().ok


@settings(max_examples=25)
@given(data=st.data())
def test_a_rendered_prompt_never_deletes(data: st.DataObject) -> None:
    """Prompts are renderings: joined, trimmed, with lore injected. Whatever one looks like, nothing of ours is deleted by it."""
    client = Client(lambda n: data.draw(st.integers(0, n - 1)), lambda: data.draw(WORDS))
    with tempfile.TemporaryDirectory() as folder, backscroll.open(Path(folder) / "s.db") as engine:
        thread = engine.create("t")
        for action in data.draw(
            st.lists(st.sampled_from(("send", "reply", "swipe_new")), min_size=2, max_size=8)
        ):
            client.act(action)
        thread.sync(client.chat(), complete=True)
        before = {m.id for m in thread}
        for action in data.draw(st.lists(st.sampled_from(("send", "reply", "hide")), max_size=3)):
            client.act(action)
        how = Rendering(
            keep=data.draw(st.none() | st.integers(1, 6)),
            join=data.draw(st.booleans()),
            lore=tuple(
                data.draw(st.lists(st.tuples(st.integers(0, 4), st.just("The forest is old.")), max_size=2))
            ),
        )
        thread.sync(client.prompt(how), mode="prompt")
        assert before <= {m.id for m in thread}
        assert engine.verify().ok


def test_sync_file_follows_a_chat_file(thread: backscroll.Thread, tmp_path: Path) -> None:
    """A chat file with swipes and hidden messages is synced against a thread; a plain list says nothing about hiding."""
    rows = [
        '{"user_name": "unused", "character_name": "unused", "chat_metadata": {}}',
        '{"name": "Ann", "is_user": true, "is_system": false, "mes": "你好"}',
        '{"name": "Bo", "is_user": false, "is_system": true, "mes": "two", "swipes": ["one", "two"], "swipe_id": 1}',
    ]
    path = tmp_path / "chat.jsonl"
    path.write_text("\n".join(rows), encoding="utf-8")
    assert thread.sync_file(str(path)).counts == {"added": 2}
    assert [(m.text, m.alternatives, m.hidden) for m in thread] == [("你好", 1, False), ("two", 2, True)]
    assert not thread.sync_file(str(path)).changed
    plain = tmp_path / "plain.json"
    plain.write_text(
        '[{"role": "user", "content": "你好"}, {"role": "assistant", "content": "two"}]', encoding="utf-8"
    )
    thread.sync_file(str(plain))
    assert thread.message(1).hidden
