"""From messages to signals: roles, outcomes of tools, machine text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backscroll.tasks.boundary.signals import placed_signals, signals_of, typed_by_machine
from backscroll.vocab.part import Text, ToolCall, ToolResult
from tests.tasks.builders import Talk


def test_outcomes_and_files_of_calls_belong_to_the_calling_message() -> None:
    talk = Talk()
    talk.user("look at src/app.py please")
    talk.tool("Read", {"file_path": "src/app.py"}, "1: import os", text="I will read it.")
    talk.tool(
        "Bash", '{"command": "pytest tests/test_app.py"}', "Traceback (most recent call last)", error=True
    )
    signals = signals_of(talk.messages)
    assert [s.role for s in signals] == ["user", "assistant", "assistant"]
    assert signals[0].files == ("src/app.py",)
    assert (signals[1].tools, signals[1].succeeded, signals[1].failed) == (("Read",), 1, 0)
    assert (signals[2].succeeded, signals[2].failed) == (0, 1)
    assert "tests/test_app.py" in signals[2].files


def test_results_in_the_user_role_are_not_user_text() -> None:
    talk = Talk()
    talk.user("go")
    talk.say("assistant", [Text("ok"), ToolCall("c1", "Bash", {"command": "ls"})])
    talk.say("user", [ToolResult("c1", (Text("a b c"),), is_error=False)])
    signals = signals_of(talk.messages)
    assert [s.role for s in signals] == ["user", "assistant"]
    assert signals[1].succeeded == 1


def test_hidden_and_deleted_messages_give_no_signal() -> None:
    talk = Talk()
    for text in ("one", "two", "three"):
        talk.user(text)
    messages = [
        replace(talk.messages[0], hidden=True),
        replace(talk.messages[1], deleted=True),
        talk.messages[2],
    ]
    assert [ref for ref, _ in placed_signals(messages)] == [talk.messages[2].id]


@pytest.mark.parametrize(
    ("at", "microseconds"),
    [
        ("1970-01-01T00:00:01+00:00", 1_000_000),
        ("1970-01-01T08:00:01+08:00", 1_000_000),
        ("1970-01-01T00:00:01", 1_000_000),
        ("some day", None),
    ],
)
def test_readable_times_are_read(at: str, microseconds: int | None) -> None:
    talk = Talk()
    talk.user("hello", at=at)
    assert signals_of(talk.messages)[0].at_us == microseconds


def test_machine_text_in_the_user_role_is_recognised() -> None:
    assert typed_by_machine("  <system-reminder>be quick</system-reminder>")
    assert typed_by_machine(
        "This session is being continued from a previous conversation that ran out of room."
    )
    assert not typed_by_machine("please fix the <system-reminder> parser")


def test_malformed_arguments_give_no_files() -> None:
    talk = Talk()
    talk.user("go")
    for arguments in (None, 3, ["a.py"], {"file_path": 7, "path": ""}, "\ud800"):
        talk.tool("X", arguments, "ok")
    assert [s.files for s in signals_of(talk.messages)] == [()] * 6
