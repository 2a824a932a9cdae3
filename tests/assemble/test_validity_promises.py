"""What validity promises about any input at all: no crash, no flaw left, the same again, nothing touched that is right."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import Wire
from backscroll.assemble.validity import check, repair
from backscroll.vocab.prompt import WIRES
from tests.assemble.wire_oracle import judge

WORDS = st.text(st.sampled_from('ab 你好。\u3000\n\x00"{}\ud83d\ude00😀'), max_size=6)
IDS = st.sampled_from(["c1", "c2", "call:3", "呼叫", "", "x" * 70, "fc_1"])
LOOSE = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=4,
)
TYPES = st.sampled_from(
    ["text", "input_text", "output_text", "image_url", "image", "document", "tool_use", "tool_result", "thinking",
     "redacted_thinking", "compaction", "refusal", "input_image", "server_tool_use", "", None, [], "file"]
)  # fmt: skip


def _any_of(**fields: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


PARTS = _any_of(
    type=TYPES, text=WORDS | LOOSE, id=IDS | LOOSE, name=st.sampled_from(["ls", "a.b", "读", ""]) | LOOSE,
    input=LOOSE, tool_use_id=IDS | LOOSE, content=WORDS | LOOSE | st.lists(_any_of(type=TYPES, text=WORDS), max_size=2),
    thinking=WORDS, signature=WORDS | LOOSE, data=WORDS, source=LOOSE, image_url=LOOSE, is_error=LOOSE,
    cache_control=st.sampled_from([{"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}, None, 3]),
)  # fmt: skip
CALLS = _any_of(
    id=IDS | LOOSE, type=st.sampled_from(["function", "custom", "x"]),
    function=_any_of(name=st.sampled_from(["ls", "a.b", ""]) | LOOSE, arguments=WORDS | LOOSE) | LOOSE, custom=LOOSE,
)  # fmt: skip
MESSAGES = _any_of(
    role=st.sampled_from(["system", "developer", "user", "assistant", "tool", "function", "human", "judge"])
    | LOOSE,
    content=WORDS | LOOSE | st.lists(PARTS | LOOSE, max_size=4),
    tool_calls=st.lists(CALLS, max_size=3) | LOOSE,
    tool_call_id=IDS | LOOSE,
    function_call=_any_of(name=st.sampled_from(["f", ""]), arguments=WORDS) | LOOSE,
    name=st.sampled_from(["f", "Ann"]),
    stop_reason=st.sampled_from(["end_turn", "aborted", None]),
)
ITEMS = _any_of(
    type=st.sampled_from(
        ["message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning",
         "local_shell_call", "shell_call", "shell_call_output", "web_search_call", "compaction", "item_reference", "x"]
    ) | LOOSE,
    role=st.sampled_from(["user", "assistant", "developer", "tool"]), content=WORDS | st.lists(PARTS | LOOSE, max_size=3),
    call_id=IDS | LOOSE, id=IDS | st.sampled_from(["rs_1", "msg_1"]), name=st.sampled_from(["ls", "a b"]) | LOOSE,
    arguments=WORDS | LOOSE, input=WORDS | LOOSE, output=WORDS | LOOSE | st.lists(PARTS, max_size=2),
    summary=LOOSE, encrypted_content=WORDS, status=st.sampled_from(["completed", "incomplete", "in_progress"]),
)  # fmt: skip
GARBAGE = st.lists(st.one_of(MESSAGES, MESSAGES, ITEMS, LOOSE), max_size=7)
OPTIONS = st.sampled_from([{}, {"store": False}, {"conversation": "c"}, {"thinking": {"type": "enabled"}}])
MODELS = st.sampled_from(
    [
        None,
        "gpt-5.6",
        "gpt-4o",
        "claude-opus-4-8",
        "claude-3-5-sonnet",
        "mistral-large",
        "deepseek-chat",
        "gemini-3-pro",
    ]
)


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=100, deadline=None)
@given(GARBAGE, MODELS, st.booleans(), st.sampled_from([None, [], [{"name": "ls"}]]), LOOSE, OPTIONS)
def test_any_garbage_becomes_a_prompt(
    wire: Wire, messages: list[Any], model: str | None, same: bool, tools: Any, system: Any, options: Any
) -> None:
    """Repair never stumbles, leaves no flaw, and a second repair changes nothing."""
    given_copy = copy.deepcopy(messages)
    more = {"model": model, "same_model": same}
    one = repair(messages, wire, **more, tools=tools, system=system, options=options)
    assert repr(messages) == repr(given_copy), "the given messages were changed"
    again = {**more, "system": one.system, "tools": one.tools, "options": one.options}
    assert [(f.rule.id, f.where, f.what) for f in check(one.messages, wire, **again)] == []
    two = repair(one.messages, wire, **again)
    assert _plain([two.messages, two.system]) == _plain([one.messages, one.system])
    assert two.changes == []
    assert len(one.origins) == len(one.messages)


@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=100, deadline=None)
@given(GARBAGE, LOOSE)
def test_a_service_would_take_what_was_repaired(wire: Wire, messages: list[Any], system: Any) -> None:
    """A judge that shares nothing with the engine finds nothing to refuse."""
    done = repair(messages, wire, system=system)
    judge(done.messages, wire, done.system)


@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=100, deadline=None)
@given(GARBAGE)
def test_what_is_right_stays_the_same_object(wire: Wire, messages: list[Any]) -> None:
    """A valid prompt comes back message by message, and `check` and `repair` agree on whether it is one."""
    valid = repair(messages, wire).messages
    done = repair(valid, wire)
    assert all(a is b for a, b in zip(valid, done.messages, strict=True))
    assert bool(check(messages, wire)) == bool(repair(messages, wire).changes)


@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=50, deadline=None)
@given(GARBAGE)
def test_the_same_input_gives_the_same_bytes(wire: Wire, messages: list[Any]) -> None:
    """No clock, no chance, no order of sets."""
    assert _plain(repair(messages, wire).messages) == _plain(repair(copy.deepcopy(messages), wire).messages)


NEAR_IDS = st.sampled_from(["c1", "c2", "c3", "bad id"])
NEAR_CHAT = st.one_of(
    st.builds(lambda t: {"role": "user", "content": t}, st.sampled_from(["hi", "你好", ""])),
    st.builds(lambda t: {"role": "system", "content": t}, st.sampled_from(["rule", "规则"])),
    st.builds(
        lambda ids, t: {
            "role": "assistant",
            "content": t,
            "tool_calls": [{"id": i, "type": "function", "function": {"name": "ls", "arguments": "{}"}} for i in ids],
        },
        st.lists(NEAR_IDS, min_size=1, max_size=3), st.sampled_from([None, "thinking aloud"]),
    ),
    st.builds(lambda t: {"role": "assistant", "content": t}, st.sampled_from(["ok", " ", None])),
    st.builds(lambda i, t: {"role": "tool", "tool_call_id": i, "content": t}, NEAR_IDS, st.sampled_from(["out", ""])),
)  # fmt: skip
NEAR_THOUGHT = st.sampled_from(
    [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "thinking", "thinking": "hm"},
     {"type": "redacted_thinking", "data": "x"}]
)  # fmt: skip
NEAR_TEXT = st.builds(lambda t: {"type": "text", "text": t}, st.sampled_from(["hi", "你好", " "]))
NEAR_ANTHROPIC = st.one_of(
    st.builds(
        lambda blocks: {"role": "assistant", "content": blocks},
        st.lists(
            NEAR_THOUGHT
            | NEAR_TEXT
            | st.builds(lambda i: {"type": "tool_use", "id": i, "name": "ls", "input": {}}, NEAR_IDS),
            max_size=4,
        ),
    ),
    st.builds(
        lambda blocks: {"role": "user", "content": blocks},
        st.lists(
            NEAR_TEXT
            | st.builds(lambda i: {"type": "tool_result", "tool_use_id": i, "content": "out"}, NEAR_IDS),
            max_size=4,
        ),
    ),
    st.builds(lambda t: {"role": "system", "content": t}, st.just("rule")),
)
NEAR_RESPONSES = st.one_of(
    st.builds(
        lambda r, t: {"role": r, "content": t},
        st.sampled_from(["user", "assistant"]),
        st.sampled_from(["hi", ""]),
    ),
    st.builds(
        lambda i: {"type": "function_call", "call_id": i, "name": "ls", "arguments": "{}", "id": "fc_1"},
        NEAR_IDS,
    ),
    st.builds(lambda i: {"type": "function_call_output", "call_id": i, "output": "out"}, NEAR_IDS),
    st.sampled_from(
        [{"type": "reasoning", "summary": [], "encrypted_content": "x"}, {"type": "reasoning", "id": "rs_1"}]
    ),
)
NEAR = {"openai-chat": NEAR_CHAT, "openai-responses": NEAR_RESPONSES, "anthropic": NEAR_ANTHROPIC}


@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=150, deadline=None)
@given(st.data(), MODELS, st.booleans())
def test_nearly_right_histories_are_mended(
    wire: Wire, data: st.DataObject, model: str | None, same: bool
) -> None:
    """Lost, doubled, shuffled calls and results, thinking with and without proof: mended, judged, and left alone then."""
    messages = data.draw(st.lists(NEAR[wire], max_size=9))
    done = repair(messages, wire, model=model, same_model=same)
    if model != "claude-opus-4-8":  # which takes system messages, as the judge does not
        judge(done.messages, wire, done.system)
    again = repair(done.messages, wire, system=done.system, model=model, same_model=same)
    assert again.changes == []
    assert _plain(again.messages) == _plain(done.messages)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=80), min_size=2, max_size=6, unique=True))
def test_new_ids_are_never_shared(ids: list[str]) -> None:
    """However odd the ids of several calls are, each call keeps one of its own, and its result with it."""
    ids = [id for id in ids if id.encode("utf-8", "ignore").decode() == id]
    calls = [{"type": "tool_use", "id": id, "name": "ls", "input": {"n": n}} for n, id in enumerate(ids)]
    results = [{"type": "tool_result", "tool_use_id": id, "content": f"out {n}"} for n, id in enumerate(ids)]
    prompt = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": calls},
        {"role": "user", "content": results},
    ]
    done = repair(prompt, "anthropic").messages
    if ids:
        given_ids = [call["id"] for call in done[1]["content"]]
        assert len(set(given_ids)) == len(ids)
        told = {result["tool_use_id"]: result["content"] for result in done[2]["content"]}
        assert told == {call["id"]: f"out {call['input']['n']}" for call in done[1]["content"]}
