"""Calls with the same text are different calls: ids distinguish them, if a program keeps them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import backscroll
from backscroll.vocab.part import ToolCall, ToolResult

ARGUMENTS = ("{}", '{"path": "a.py"}')
RESULTS = ("ok", "3 passed", "没有文件")


def step(name: str, tool: str = "look", arguments: str = "{}", result: str = "ok") -> list[dict[str, Any]]:
    """A call and its result, as the OpenAI wire has them."""
    function = {"name": tool, "arguments": arguments}
    made = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": name, "type": "function", "function": function}],
    }
    return [made, {"role": "tool", "tool_call_id": name, "content": result}]


def talk(*names: str) -> list[dict[str, Any]]:
    """A turn whose steps all look the same."""
    return [{"role": "user", "content": "look until it works"}, *(m for name in names for m in step(name))]


def standing(thread: backscroll.Thread) -> dict[str, str]:
    """Which message holds which call and which result, in order."""
    out: dict[str, str] = {}
    for message in thread.messages():
        for part in message.parts:
            if isinstance(part, ToolCall):
                out[f"call {part.id}"] = str(message.id)
            elif isinstance(part, ToolResult):
                out[f"result {part.call_id}"] = str(message.id)
    return out


def names_in(messages: list[dict[str, Any]]) -> list[str]:
    """The ids in a list, in order."""
    out: list[str] = []
    for message in messages:
        out += [f"call {c['id']}" for c in message.get("tool_calls", ())]
        out += [f"result {message['tool_call_id']}"] if message["role"] == "tool" else []
    return out


def test_repeated_call_with_a_new_id_is_another_call(tmp_path: Path) -> None:
    """The old one was removed, and no message changed its text."""
    with backscroll.open(tmp_path / "s.db") as engine:
        thread = engine.create("t")
        thread.sync(talk("one", "two"))
        before = standing(thread)
        report = thread.sync(talk("one", "three"))
        after = standing(thread)
        assert list(after) == ["call one", "result one", "call three", "result three"]
        assert after["call one"] == before["call one"]
        assert after["call three"] not in before.values()
        assert report.counts == {"deleted": 2, "added": 2}
        assert all(len(thread.revisions(m.id)) == 1 for m in thread.messages(deleted=True))


def test_first_of_two_equal_calls_is_removed(tmp_path: Path) -> None:
    """The one with the remaining id stays, not the one in its place."""
    with backscroll.open(tmp_path / "s.db") as engine:
        thread = engine.create("t")
        thread.sync(talk("one", "two", "three"))
        before = standing(thread)
        thread.sync(talk("two", "three"))
        after = standing(thread)
        assert after == {k: v for k, v in before.items() if not k.endswith("one")}


def test_renamed_call_ids_are_no_evidence(tmp_path: Path) -> None:
    """If no id is known, the text decides as usual, and nothing is removed."""
    with backscroll.open(tmp_path / "s.db") as engine:
        thread = engine.create("t")
        thread.sync(talk("one", "two"))
        ids = [str(m.id) for m in thread.messages()]
        thread.sync(talk("toolu_1", "toolu_2"))
        assert [str(m.id) for m in thread.messages()] == ids


STEPS = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from(ARGUMENTS), st.sampled_from(RESULTS)),
    unique_by=lambda s: s[0],
    max_size=7,
)


@settings(max_examples=60, deadline=None)
@given(ours=STEPS, theirs=st.data())
def test_calls_are_told_apart_by_their_ids(ours: list[tuple[int, str, str]], theirs: Any) -> None:
    """Whatever leaves or comes: afterwards we have their calls in their order, and a call that stayed is the message that it was."""
    kept = theirs.draw(st.lists(st.sampled_from(ours), unique=True) if ours else st.just([]))
    kept = [s for s in ours if s in kept]
    places = theirs.draw(st.lists(st.integers(0, len(kept)), max_size=3))
    fresh = [
        (20 + n, *theirs.draw(st.tuples(st.sampled_from(ARGUMENTS), st.sampled_from(RESULTS))))
        for n in range(len(places))
    ]
    new: list[tuple[int, str, str]] = list(kept)
    for place, one in zip(sorted(places, reverse=True), fresh, strict=True):
        new.insert(place, one)
    first, second = (
        [{"role": "user", "content": "go"}, *(m for n, a, r in steps for m in step(f"c{n}", "look", a, r))]
        for steps in (ours, new)
    )
    with tempfile.TemporaryDirectory() as folder, backscroll.open(Path(folder) / "s.db") as engine:
        thread = engine.create("t")
        thread.sync(first, complete=True)
        before = standing(thread)
        thread.sync(second, complete=True)
        if not kept:
            return  # nothing in common: the words decide
        after = standing(thread)
        assert list(after) == names_in(second)
        assert all(after[name] == before[name] for name in after if name in before)
        assert not any(after[name] in before.values() for name in after if name not in before)
        assert not thread.sync(second, complete=True).changed
