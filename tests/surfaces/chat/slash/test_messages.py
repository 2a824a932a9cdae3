"""`/edit`, `/delete`, `/pin`, `/unpin`, `/hide`, `/unhide`."""

from __future__ import annotations

from collections.abc import Callable

from backscroll.surfaces import i18n
from backscroll.vocab.part import ToolCall
from tests.surfaces.chat.slash.hand import HandTalk, with_many


def test_message_is_edited_in_place(talk: HandTalk) -> None:
    """The field starts with the old text; /undo restores it."""
    talk.asks, talk.picks = ["To the mountains."], [0]
    assert "edited message #2" in talk.run("/edit 2")
    assert talk.initials == ["To the sea."]
    assert talk.texts()[1] == "To the mountains."
    assert talk.finished == []
    talk.run("/undo")
    assert talk.texts()[1] == "To the sea."


def test_edited_message_can_be_answered_here(talk: HandTalk) -> None:
    """Later messages are removed, the new text is answered, and undo restores the old answers."""
    talk.asks, talk.picks = ["And with whom?"], [1]
    talk.parrot.answers = ["With friends."]
    talk.run("/edit 3")
    assert talk.texts() == ["Where shall we go?", "To the sea.", "And with whom?", "With friends."]
    assert "3 later messages" in talk.shown_options[0][1]
    talk.run("/undo")
    assert "Two hours." in talk.texts()


def test_edited_message_can_be_answered_in_a_fork(talk: HandTalk) -> None:
    """Later messages stay; the new text is answered in the fork at once, without another question."""
    here = talk.thread
    talk.asks, talk.picks = ["And with whom?"], [2]
    talk.run("/edit 3")
    assert talk.thread.id != here.id
    assert talk.texts()[:3] == ["Where shall we go?", "To the sea.", "And with whom?"]
    assert len(talk.texts()) == 4
    assert talk.finished[-1].end == "answered"
    assert len(here) == 6


def test_cancelling_changes_nothing(talk: HandTalk) -> None:
    """Escape in the picker or in the field, or unchanged text."""
    head = talk.thread.head
    talk.run("/edit")
    talk.picks = [0]
    talk.run("/edit")
    talk.asks = ["To the sea."]
    assert "Nothing to change" in talk.run("/edit 2")
    assert talk.thread.head == head


def test_picker_offers_the_last_messages_with_numbers(talk: HandTalk) -> None:
    """The cursor is at the user's newest message."""
    talk.run("/edit")
    assert talk.shown_options[0][4].startswith("#5 user: How far is it?")


def test_messages_can_be_named_in_many_ways(talk: HandTalk) -> None:
    """By number, `last`, handle, id; an unknown one is refused."""
    seq = talk.thread.message(1).id.seq
    for name in ("2", "#2", f"bs:{seq}", f"[bs:{seq}]", str(talk.thread.message(1).id)):
        talk.asks = ["To the sea."]
        assert "Nothing to change" in talk.run(f"/edit {name}"), name
    talk.asks = ["Two hours."]
    assert "Nothing to change" in talk.run("/edit last")
    assert "no message with number 99" in talk.run("/edit 99") or "99" in talk.run("/edit 99")
    assert "message bs:999 not found" in talk.run("/edit bs:999")


def test_handle_in_a_fork_means_the_shared_message(talk: HandTalk) -> None:
    """A fork shares its parent's numbers."""
    seq = talk.thread.message(0).id.seq
    talk.switch(talk.thread.fork())
    talk.run(f"/pin bs:{seq}")
    assert talk.thread.message(0).pinned


def test_answer_without_text_cannot_be_edited(talk: HandTalk) -> None:
    """An error instead of an empty field."""
    talk.thread.append("assistant", ToolCall("c1", "read_file", {"path": "a"}))
    assert "only tool calls" in talk.run("/edit last")
    assert talk.questions == []


def test_deleting_several_messages_is_confirmed_and_one_stroke(talk: HandTalk) -> None:
    """A range is deleted together, and one undo restores it."""
    assert "nothing was changed" in talk.run("/delete 3:6")
    talk.yeses = [True]
    assert "4 messages" in talk.run("/delete 3:6")
    assert talk.texts() == ["Where shall we go?", "To the sea."]
    talk.run("/undo")
    assert len(talk.texts()) == 6


def test_deleting_one_message_is_not_confirmed(talk: HandTalk) -> None:
    """It is easily restored."""
    talk.run("/del 6")
    assert talk.questions == []
    assert talk.texts()[-1] == "How far is it?"
    assert "99" in talk.run("/delete 99")


def test_messages_can_be_pinned_and_hidden(talk: HandTalk) -> None:
    """Flags are set, listed and cleared; a flag that is already set is reported."""
    assert "1 message" in talk.run("/pin 2")
    assert "#2 assistant: To the sea." in talk.run("/unpin")
    assert talk.offers("/unpin ") == ["2"]
    assert talk.run("/pin 2").strip()
    talk.run("/unpin 2")
    assert "no pinned messages" in talk.run("/unpin")
    talk.run("/hide 3 4")
    assert talk.thread.message(2).hidden
    assert "#3 user: And when?" in talk.run("/unhide")
    talk.run("/unhide 3:4")
    assert "no hidden messages" in talk.run("/unhide")


def test_old_flags_are_listed(make_talk: Callable[..., HandTalk]) -> None:
    """A pin at the start of a long thread is found without reading all of it; a forgotten one is left out."""
    talk = make_talk(("first", "old"), ("second", "older"))
    talk.run("/pin 1")
    talk.run("/hide 2")
    talk.run("/hide 4")
    gone = talk.thread.message(3).id
    with_many(talk, 600)
    talk.thread.forget(gone)
    assert "#1 user: first" in talk.run("/unpin")
    said = talk.run("/unhide")
    assert "#2 assistant: old" in said
    assert "older" not in said


def test_message_commands_speak_chinese(talk: HandTalk) -> None:
    """The same commands under their Chinese names."""
    i18n.use("zh")
    talk.asks = ["去山里。"]
    assert "消息 #2 已修改" in talk.run("/编辑 2")
    assert "没有固定的消息" in talk.run("/取消固定")
