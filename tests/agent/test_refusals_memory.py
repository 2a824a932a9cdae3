"""What was refused is looked up at every call: only what is new is read, and the answer is as if everything were."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import backscroll
from backscroll.agent.approval import refusals
from backscroll.agent.approval.refusals import fingerprint
from backscroll.engine.thread import Thread
from backscroll.errors import NotFound
from backscroll.vocab.message import Content
from backscroll.vocab.part import Text, ToolCall, ToolResult

_OPS = st.lists(
    st.tuples(
        st.sampled_from(["refuse", "say", "delete", "undo", "insert", "fork", "look"]), st.integers(0, 9)
    ),
    max_size=14,
)


def _result(call: str, command: str, reason: str) -> Content:
    arguments = {"command": command}
    about = {"refused": reason, "fingerprint": fingerprint("run_command", arguments), "by": "person"}
    return Content((ToolResult(call, (Text("no"),), True, "run_command"),), metadata={"act": about})


def _refuse(thread: Thread, number: int) -> None:
    call = f"c{thread.head}"
    command = f"rm folder{number % 4}"
    thread.append("assistant", Content((ToolCall(call, "run_command", {"command": command}),)))
    thread.append("tool", _result(call, command, f"reason {thread.head}"))


def _known(thread: Thread) -> list[str]:
    return [refused.reason for refused in refusals._refusals(thread)]


def _done(thread: Thread, op: str, number: int) -> Thread:
    match op:
        case "refuse":
            _refuse(thread, number)
        case "say":
            thread.append("user", f"words {number}")
        case "delete" | "insert":
            messages = list(thread.messages())
            if messages and op == "delete":
                thread.delete(messages[number % len(messages)].id)
            elif messages:
                where = messages[number % len(messages)].id
                thread.insert("tool", _result("x", "rm inserted", f"inserted {number}"), after=where)
        case "undo":
            with contextlib.suppress(NotFound):  # there may be nothing to take back
                thread.undo()
        case "fork":
            thread = thread.fork()
        case _:
            _known(thread)
    return thread


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ops=_OPS)
def test_reading_on_finds_what_reading_everything_finds(
    tmp_path_factory: pytest.TempPathFactory, ops: list[tuple[str, int]]
):
    """After whatever was written, deleted, put in between, taken back or forked."""
    folder: Path = tmp_path_factory.mktemp("refusals")
    with backscroll.open(folder / "a.db", background=False) as engine:
        thread = engine.create("t")
        for op, number in ops:
            thread = _done(thread, op, number)
        read_on = _known(thread)
        refusals._FOUND.clear()
        assert read_on == _known(thread)


def test_old_refusals_are_dropped_from_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The bound is on the messages behind a refusal, also where they come a few at a time."""
    monkeypatch.setattr(refusals, "_PAGE", 5)
    with backscroll.open(tmp_path / "a.db", background=False) as engine:
        thread = engine.create("t")
        _refuse(thread, 1)
        for number in range(24):
            assert len(_known(thread)) == 1
            thread.append("user", str(number))
        assert len(_known(thread)) == 1
        thread.append("user", "the one too many")
        assert _known(thread) == []
