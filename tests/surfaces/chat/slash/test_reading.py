"""`/recall`, `/search`, `/expand`, `/operations`, `/turns`."""

from __future__ import annotations

from collections.abc import Callable

from backscroll.surfaces import i18n
from backscroll.vocab.part import Text, ToolCall, ToolResult
from tests.surfaces.chat.slash.hand import HandTalk


def test_recall_answers_with_quotes_and_handles(talk: HandTalk) -> None:
    """The original text, and where it is."""
    said = talk.run("/recall how far is the sea")
    assert "[bs:" in said
    assert "Two hours." in said


def test_search_in_this_thread_and_everywhere(talk: HandTalk) -> None:
    """`-a` includes other threads; words that begin with a dash are text."""
    other = talk.engine.create("Other")
    other.append("user", "a hidden harbour")
    assert "harbour" not in talk.run("/search hours").replace("/search", "")
    assert "[harbour]" in talk.run("/search -a harbour")
    assert "[harbour]" not in talk.run("/search harbour")
    assert "[sea]" in talk.run("/search sea")
    assert talk.run("/search sea --json").strip()  # no option reaches the command line


def test_expand_prints_the_original(make_talk: Callable[..., HandTalk]) -> None:
    """A very long one is cut, with a note."""
    talk = make_talk(("Show me", "\n".join(f"line {n}" for n in range(600))))
    said = talk.run(f"/expand bs:{talk.thread.message(1).id.seq}")
    assert "line 300" in said
    assert "first 400 of" in said
    assert "Show me" in talk.run(f"/x [bs:{talk.thread.message(0).id.seq}]")
    assert "nothing is behind" in talk.run("/expand bs:4242")
    assert "handles look like" in talk.run("/expand soup")
    assert talk.offers("/expand bs:")


def test_terminal_codes_in_text_are_not_executed(make_talk: Callable[..., HandTalk]) -> None:
    """An escape sequence in a message is shown."""
    talk = make_talk(("Hi \x1b[31mred\x1b[0m", "\x1b]0;title\x07 done \ud800"))
    for line in (
        "/turns",
        "/turns 1",
        "/context all",
        "/edit",
        f"/expand bs:{talk.thread.message(1).id.seq}",
    ):
        assert "\x1b" not in talk.run(line)
    assert not any("\x1b" in option for options in talk.shown_options for option in options)


def test_operations_are_listed(talk: HandTalk) -> None:
    """As prompts list them; as many as wanted."""
    assert "No matching tool" in talk.run("/operations")
    for n in range(3):
        talk.thread.append("assistant", ToolCall(f"c{n}", "read_file", {"path": f"file{n}.py"}))
        talk.thread.append("tool", ToolResult(f"c{n}", (Text("x = 1"),), name="read_file"))
    assert "file0.py" in talk.run("/operations")
    said = talk.run("/ops 1")
    assert "file2.py" in said
    assert "file1.py" not in said


def test_turns_and_their_messages_are_listed(talk: HandTalk) -> None:
    """With the numbers that other commands take; also from the end."""
    said = talk.run("/turns")
    assert "#3–4" in said
    assert "And when?" in said
    assert "#3" in talk.run("/turns 2")
    assert "#5" in talk.run("/turns last")
    assert "#3" in talk.run("/turns -2")
    assert "turn 9 not found" in talk.run("/turns 9")
    i18n.use("zh")
    assert "提问" in talk.run("/历史")


def test_only_the_last_turns_are_listed(make_talk: Callable[..., HandTalk]) -> None:
    """A long thread says how long it is."""
    talk = make_talk(*((f"question {n}", f"answer {n}") for n in range(20)))
    said = talk.run("/turns")
    assert "question 19" in said
    assert "question 2 " not in said
    assert "the last 15 of 20" in said
