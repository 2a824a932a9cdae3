"""`/memory`."""

from __future__ import annotations

from backscroll.surfaces import i18n
from tests.surfaces.chat.slash.hand import HandTalk


def test_memories_can_be_added_and_listed(talk: HandTalk) -> None:
    """By argument or by question; found again by text."""
    assert "No matching memories" in talk.run("/memory")
    assert "Remembered" in talk.run("/memory add I like trains")
    talk.asks = ["The keys are with Bob"]
    talk.run("/memory add")
    said = talk.run("/memory list")
    assert "I like trains" in said
    assert "keys" in talk.run("/memory list keys")
    assert "nothing was changed" in talk.run("/memory add")


def test_memory_is_edited_in_a_field(talk: HandTalk) -> None:
    """It has the old text; unchanged text changes nothing."""
    talk.run("/memory add I like trains")
    memory = talk.thread.memory.list()[0]
    talk.asks = ["I like night trains"]
    talk.run(f"/memory edit {memory.id}")
    assert talk.initials == ["I like trains"]
    assert talk.thread.memory.list()[0].text == "I like night trains"
    assert "Nothing to change" in talk.run(f"/memory edit {memory.id[:6]} I like night trains")


def test_memories_can_be_pinned_hidden_and_shown(talk: HandTalk) -> None:
    """By id, or by picker."""
    talk.run("/memory add I like trains")
    memory = talk.thread.memory.list()[0]
    talk.run(f"/memory pin {memory.id}")
    assert talk.thread.memory.get(memory.id).pinned
    talk.picks = [0]
    talk.run("/memory unpin")
    assert not talk.thread.memory.get(memory.id).pinned
    assert "restore" in talk.run(f"/memory forget {memory.id}")
    assert "No matching memories" in talk.run("/memory")
    talk.picks = [0]
    talk.run("/memory restore")
    assert [m.id for m in talk.thread.memory.list()] == [memory.id]
    assert memory.id in talk.run(f"/memory why {memory.id}")


def test_unknown_memory_is_refused(talk: HandTalk) -> None:
    """With a hint, for every verb."""
    for verb in ("edit", "pin", "unpin", "forget", "restore", "why"):
        assert "rror" in talk.run(f"/memory {verb} abcdef")


def test_memory_completion_and_chinese_verbs(talk: HandTalk) -> None:
    """Verbs, then ids."""
    i18n.use("zh")
    talk.run("/记忆 添加 我喜欢火车")
    assert "我喜欢火车" in talk.run("/记忆")
    assert "forget" in talk.offers("/memory f")
    assert talk.offers("/memory pin ") == [talk.thread.memory.list()[0].id]
