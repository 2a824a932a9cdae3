"""Refusals: recognised when they come again, and told in both languages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import backscroll
from backscroll.agent.approval.refusals import fingerprint, refusal_text, refused_before, same
from backscroll.engine.engine import Engine
from backscroll.engine.thread import Thread
from backscroll.vocab.message import Content, Message
from backscroll.vocab.part import Json, Text, ToolCall, ToolResult


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with backscroll.open(str(tmp_path / "s.db"), background=False) as engine:
        yield engine


def refuse(thread: Thread, command: str, reason: str, by: str | None = "person") -> Message:
    arguments = {"command": command}
    call = f"c{thread.head}"
    thread.append("assistant", Content((ToolCall(call, "run_command", arguments),)))
    about: dict[str, Json] = {"refused": reason, "fingerprint": fingerprint("run_command", arguments)}
    if by:
        about["by"] = by
    result = ToolResult(call, (Text("[run_command] refused"),), True, "run_command")
    return thread.append("tool", Content((result,), metadata={"act": about}))


def before(thread: Thread, command: str) -> str | None:
    return refused_before(thread, "run_command", {"command": command})


# -- fingerprints ------------------------------------------------------------------------------------------------


def test_equivalent_calls_have_the_same_fingerprint() -> None:
    """Regardless of argument order, blanks in the command, and arguments given as a string."""
    one = fingerprint("run_command", {"command": "rm  -rf\tbuild ", "seconds": 3})
    assert one == fingerprint("run_command", {"seconds": 3, "command": "rm -rf build"})
    assert one == fingerprint("run_command", '{"seconds": 3, "command": "rm -rf build"}')
    assert one != fingerprint("other", {"command": "rm -rf build", "seconds": 3})
    assert fingerprint("write_file", {"path": "a", "content": "x  y"}) != fingerprint(
        "write_file", {"path": "a", "content": "x y"}
    )


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("rm -rf build", "rm -r build", True),
        ("rm -rf build", "sudo rm -rf build", True),
        ("git push origin main", "git push --force origin main", True),
        ("rm -rf build", "rm -rf dist", False),
        ("git push", "git pull", False),
        ("ls -l", "ls -a", False),
        ("echo 'a b", "echo 'a b", True),
        ("删除 文件", "删除 -f 文件", True),
    ],
)
def test_similar_commands_are_recognised(one: str, other: str, alike: bool) -> None:
    """The same words with the same target, ignoring options; one bare word is not enough."""
    prints = [fingerprint("run_command", {"command": line}) for line in (one, other)]
    assert same(*prints) is alike


@given(
    st.dictionaries(st.text(max_size=5), st.text(max_size=20) | st.integers() | st.none(), max_size=4)
    | st.text(max_size=20)
)
def test_any_arguments_have_a_fingerprint(arguments: dict[str, object] | str) -> None:
    """Half characters, broken JSON, anything: it never fails, the order of arguments is nothing, another tool is another."""
    found = fingerprint("t", arguments)
    again = fingerprint("t", dict(reversed(arguments.items())) if isinstance(arguments, dict) else arguments)
    assert again == found
    assert same(again, found)
    assert fingerprint("other", arguments) != found


def test_empty_fingerprints_never_match() -> None:
    assert not same("", "")


# -- in the record -----------------------------------------------------------------------------------------------


def test_earlier_refusal_and_its_reason_are_found(engine: Engine) -> None:
    thread = engine.create("x")
    thread.append("user", "clean up")
    assert before(thread, "rm -rf build") is None
    refuse(thread, "rm -rf build", "我还要用它")
    assert before(thread, "rm  -rf   build") == "我还要用它"
    assert before(thread, "rm -r build") == "我还要用它"
    assert before(thread, "rm -rf dist") is None


def test_newest_reason_wins(engine: Engine) -> None:
    thread = engine.create("x")
    refuse(thread, "make x", "first")
    refuse(thread, "make x", "")
    assert before(thread, "make x") == ""


def test_deleted_refusals_do_not_count(engine: Engine) -> None:
    """Only live messages count; restoring the message restores the refusal."""
    thread = engine.create("x")
    message = refuse(thread, "make x", "no")
    thread.delete(message.id)
    assert before(thread, "make x") is None
    thread.restore(message.id)
    assert before(thread, "make x") == "no"


def test_refusals_by_rule_or_policy_do_not_count(engine: Engine) -> None:
    """A refusal without a person says nothing about what a person would answer."""
    thread = engine.create("x")
    refuse(thread, "make x", "nobody is there", by="policy")
    refuse(thread, "make y", "a rule forbids this", by="rule")
    refuse(thread, "make z", "no", by=None)
    assert [before(thread, f"make {n}") for n in "xyz"] == [None, None, "no"]


def test_fork_shares_earlier_refusals(engine: Engine) -> None:
    thread = engine.create("x")
    refuse(thread, "make x", "no")
    fork = thread.fork()
    refuse(fork, "make y", "neither")
    assert (before(fork, "make x"), before(fork, "make y"), before(thread, "make y")) == (
        "no",
        "neither",
        None,
    )


def test_ordinary_results_are_not_refusals(engine: Engine) -> None:
    """Results that mention refusals, and metadata of another shape, do not count."""
    thread = engine.create("x")
    odd: tuple[Json, ...] = (
        "refused",
        {"refused": 3, "fingerprint": "x"},
        {"refused": "no"},
        ["refused"],
        None,
    )
    for about in odd:
        thread.append("tool", Content((ToolResult("c", (Text('"refused"'),)),), metadata={"act": about}))
    assert before(thread, "make x") is None


def test_refusals_older_than_a_thousand_messages_are_forgotten(engine: Engine) -> None:
    """So that a long history is not read completely."""
    thread = engine.create("x")
    refuse(thread, "make x", "long ago")
    for n in range(30):
        thread.append("user", f"{n}")
    assert before(thread, "make x") == "long ago"
    with_many = [{"role": "user", "content": str(n)} for n in range(1100)]
    other = engine.create("y")
    refuse(other, "make x", "long ago")
    for message in with_many:
        other.append("user", message["content"])
    assert before(other, "make x") is None


# -- in words ----------------------------------------------------------------------------------------------------


def test_refusal_text_says_who_refused_and_why() -> None:
    text = refusal_text("run_command", "use make\nclean  instead")
    assert text.startswith("[run_command] The person refused this call.")
    assert "Reason: use make clean instead" in text
    assert "refused before" not in text


def test_refusal_text_in_chinese() -> None:
    text = refusal_text("run_command", "先备份", "上次说过了", language="zh-CN")
    assert text.startswith("[run_command] 用户拒绝了这次调用。")
    assert "理由：先备份" in text
    assert "上次说过了" in text


def test_refusal_text_without_a_reason_and_by_a_rule() -> None:
    assert "Reason" not in refusal_text("t", "")
    assert "person" not in refusal_text("t", "a rule forbids this: t", by="rule").splitlines()[0]
    assert "refused before" in refusal_text("t", "no", "")
