"""Every rule of the wires: a prompt that breaks it and nothing else, and what repair makes of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from backscroll import Wire
from backscroll.assemble.validity import check, repair, rules
from backscroll.assemble.validity.binding import Sent
from backscroll.errors import InvalidInput
from backscroll.vocab.prompt import WIRES
from tests.assemble.prompt_pairs import (
    check_budget,
    check_change,
    check_compacted,
    check_crop,
    check_fork,
    prompt_size,
)
from tests.assemble.wire_oracle import judge

CHAT, RESPONSES, ANTHROPIC = WIRES
GONE = "no result was recorded: interrupted"


def call(id: str = "c1", name: str = "ls", arguments: Any = "{}", **more: Any) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def asks(*ids: str, content: Any = None) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": [call(id) for id in ids]}


def tool(id: str = "c1", content: str = "out") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content}


def user(content: Any = "hi") -> dict[str, Any]:
    return {"role": "user", "content": content}


def reply(content: Any = "ok") -> dict[str, Any]:
    return {"role": "assistant", "content": content}


def text(words: str = "hi", **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def use(id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "ls", "input": {}, **more}


def result(id: str = "c1", content: Any = "out", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def thinks(words: str = "hm", signature: str | None = "sig") -> dict[str, Any]:
    return {"type": "thinking", "thinking": words, **({"signature": signature} if signature else {})}


def function(call_id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "ls", "arguments": "{}", **more}


def output(id: str = "c1", words: Any = "out") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": id, "output": words}


def reasons(**more: Any) -> dict[str, Any]:
    return {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed", **more}


MARK = {"cache_control": {"type": "ephemeral"}}
LONG = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


class Case(NamedTuple):
    rule: str
    wire: Wire
    broken: list[Any]
    mended: list[Any] | None  # None: only that there is no flaw left
    more: Mapping[str, Any] = MappingProxyType({})


CASES = [
    # any wire
    Case("S1", CHAT, [user(), "and this"], [user(), user("and this")]),
    Case("S1", CHAT, [{"role": "human", "content": "hi"}], [user()]),
    Case("S1", CHAT, [], [user("(the conversation begins)")]),
    Case("S1", CHAT, [user(), None], [user()]),
    Case("S1", RESPONSES, [], [user("(the conversation begins)")], {"system": "be brief"}),
    Case("S1", RESPONSES, [{"role": "judge", "content": "hi"}], [user()]),
    Case("S1", RESPONSES, [function(), tool()], [function(), output()]),
    Case("S1", ANTHROPIC, [{"role": "narrator", "content": "hi"}], [user()]),
    Case("S2", CHAT, [user([{"type": "input_text", "text": "hi"}])], [user([text()])]),
    Case("S2", CHAT, [user(7)], [user([text("7")])]),
    Case("S2", CHAT, [{"role": "user", "text": "hi"}], [user()]),
    Case("S2", ANTHROPIC, [{"role": "user", "parts": [{"type": "text", "text": "hi"}]}], [user([text()])]),
    Case("S2", CHAT, [user(), reply([text("see"), {"type": "image_url", "image_url": {"url": "u"}}])],
         [user(), reply([text("see"), text("[image]")])]),
    Case("S2", CHAT, [user([{"type": "image_url", "image_url": "http://x/y.png"}])],
         [user([{"type": "image_url", "image_url": {"url": "http://x/y.png"}}])]),
    Case("S2", RESPONSES, [user([text("hi")])], [user([{"type": "input_text", "text": "hi"}])]),
    Case("S2", RESPONSES, [function(), output(words={"ok": True})], [function(), output(words='{"ok":true}')]),
    Case("S2", ANTHROPIC, [user([{"type": "input_text", "text": "hi"}])], [user([text()])]),
    Case("S2", ANTHROPIC, [user([{"type": "image"}])], [user([text("[image]")])]),
    Case("S3", CHAT, [asks("x" * 41), tool("x" * 41)], None),
    Case("S3", CHAT, [reply() | {"tool_calls": [call(arguments={"a": "文"})]}, tool()],
         [reply() | {"tool_calls": [call(arguments='{"a":"文"}')]}, tool()]),
    Case("S3", CHAT, [reply() | {"tool_calls": [call(name="mcp.ls")]}, tool()], None),
    Case("S3", RESPONSES, [function(id="toolu_1"), output()], [function(), output()]),
    Case("S3", RESPONSES, [function(name="读 文件"), output()], None),
    Case("S3", ANTHROPIC, [user(), reply([use(input='{"a": 1}')]), user([result()])],
         [user(), reply([use(input={"a": 1})]), user([result()])]),
    Case("S3", ANTHROPIC, [user(), reply([use(input="ls -l")]), user([result()])],
         [user(), reply([use(input={"arguments": "ls -l"})]), user([result()])]),
    Case("S4", ANTHROPIC, [user(), reply() | {"id": "msg_1", "model": "m", "stop_reason": "end_turn"}, user()],
         [user(), reply(), user()]),
    Case("V1", CHAT, [user(), asks("c1", "c2"), tool("c2")], [user(), asks("c1", "c2"), tool("c2"), tool("c1", GONE)]),
    Case("V1", CHAT, [asks("c1"), tool("c1"), asks("c1"), tool("c1", "二")], None),
    Case("V1", RESPONSES, [output("c9"), user()],
         [user("[result of a tool call that is not part of this prompt c9]\nout"), user()]),
    Case("V1", RESPONSES, [output("c9", ""), user()], [user()]),
    Case("V1", ANTHROPIC, [user(), reply([use()])],
         [user(), reply([use()]), user([result(content=GONE, is_error=True)])]),
    Case("V1", ANTHROPIC, [user(), reply([use()]), user([result()]), reply([use()]), user([result()])], None),
    Case("V4", CHAT, [user(""), user()], [user()]),
    Case("V4", CHAT, [user("cut \ud83d"), reply("半\udc00个")], [user("cut "), reply("半个")]),
    Case("V4", CHAT, [user("\ud83d\ude00")], [user("😀")]),
    Case("V4", CHAT, [user([text(""), text("hi")])], [user([text("hi")])]),
    Case("V4", RESPONSES, [user(""), user()], [user()]),
    Case("V4", ANTHROPIC, [user(), reply(" \n"), user()], None),
    Case("V6", CHAT, [user(), reply("half a sen") | {"finish_reason": "aborted"}, user("go on")], [user(), user("go on")]),
    Case("V6", CHAT, [user(), asks("c1") | {"stopReason": "error"}, tool("c1"), user()], [user(), user()]),
    Case("V6", RESPONSES, [user(), function(status="incomplete"), output(), user()], [user(), user()]),
    Case("V6", RESPONSES, [user(), {"type": "message", "role": "assistant", "content": "h", "status": "incomplete"}], [user()]),
    Case("V6", ANTHROPIC, [user("a"), reply([use()]) | {"stop_reason": "aborted"}], [user("a")]),
    Case("V7", ANTHROPIC, [user(), reply([thinks(), text("ok")]), user()], [user(), reply([text("ok")]), user()],
         {"same_model": False}),
    Case("V7", RESPONSES, [user(), reasons(), function(id="fc_1"), output()], [user(), function(), output()],
         {"same_model": False}),
    # OpenAI Chat
    Case("C1", CHAT, [user(), tool("c9"), reply()],
         [user(), user("[result of a tool call that is not part of this prompt c9]\nout"), reply()]),
    Case("C1", CHAT, [user(), tool("c9", ""), reply()], [user(), reply()]),
    Case("C2", CHAT, [user(), asks("c1"), user("stop"), tool("c1")], [user(), asks("c1"), tool("c1"), user("stop")]),
    Case("C2", CHAT, [asks("c1"), asks("c2"), tool("c1"), tool("c2")], [asks("c1", "c2"), tool("c1"), tool("c2")]),
    Case("C3", CHAT, [user(), reply(None), user()], [user(), user()]),
    Case("C3", CHAT, [user(), reply() | {"tool_calls": []}], [user(), reply()]),
    Case("C5", CHAT, [user([text(prompt_cache_breakpoint={"mode": "explicit"})])], [user([text()])], {"model": "gpt-4o"}),
    Case("C5", CHAT, [user(), reply([text("ok", prompt_cache_breakpoint={"mode": "explicit"})])],
         [user(), reply([text("ok")])], {"model": "gpt-5.6"}),
    # OpenAI Responses
    Case("R1", RESPONSES, [user(), function("c1"), function("c2"), output("c2")],
         [user(), function("c1"), function("c2"), output("c1", GONE), output("c2")]),
    Case("R1", RESPONSES, [user(), {"type": "shell_call", "call_id": "s", "action": {"commands": ["ls"]}}],
         [user(), reply(f'[shell_call {{"action":{{"commands":["ls"]}}}}: {GONE}]')]),
    Case("R2", RESPONSES, [user(), reasons(), user("more")], [user(), user("more")]),
    Case("R2", RESPONSES, [user(), reply(), reasons()], [user(), reply()]),
    Case("R4", RESPONSES, [user(), {"type": "reasoning", "id": "rs_1", "encrypted_content": "x"}, reply()],
         [user(), {"type": "reasoning", "id": "rs_1", "encrypted_content": "x", "summary": []}, reply()]),
    Case("R5", RESPONSES, [user(), reasons(encrypted_content=None), function(id="fc_1"), output()],
         [user(), function(), output()], {"options": {"store": False}}),
    Case("R5", RESPONSES, [user(), {"type": "item_reference", "id": "msg_1"}], [user()], {"options": {"store": False}}),
    Case("R6", RESPONSES, [user()], [user()],
         {"options": {"previous_response_id": "resp_1", "conversation": "conv_1"}, "system": "be brief"}),
    Case("R7", RESPONSES, [user(), {"type": "compaction", "encrypted_content": ""}, user("b")], [user(), user("b")]),
    # Anthropic
    Case("A1", ANTHROPIC, [user(), reply([use()]), user("wait"), reply("ok"), user([result()])],
         [user(), reply([use()]), user([result(), text("wait")]), reply("ok")]),
    Case("A1", ANTHROPIC, [user([result("c9")])],
         [user([text("[result of a tool call that is not part of this prompt c9]\nout")])]),
    Case("A2", ANTHROPIC, [user(), reply([use()]), user([text("and"), result()])],
         [user(), reply([use()]), user([result(), text("and")])]),
    Case("A3", ANTHROPIC, [user(), reply([use()]), user([result()])],
         [user(), reply([text("[called ls {}]")]), user([text("[result]\nout")])], {"tools": []}),
    Case("A4", ANTHROPIC, [reply("greetings"), user()],
         [user([text("(the conversation begins)")]), reply("greetings"), user()]),
    Case("A4", ANTHROPIC, [user("a"), user("b")], [user([text("a"), text("b")])]),
    Case("A4", ANTHROPIC, [], [user([text("(the conversation begins)")])]),
    Case("A5", ANTHROPIC, [user([text(" "), text("hi")])], [user([text("hi")])]),
    Case("A5", ANTHROPIC, [user(), reply([use()]), user([result(content=[text(""), text("out")])])],
         [user(), reply([use()]), user([result(content=[text("out")])])]),
    Case("A6", ANTHROPIC, [user(), reply([use("调用:1")]), user([result("调用:1")])], None),
    Case("A7", ANTHROPIC, [user(), reply([thinks(), use()]), user([result()]), reply([thinks(signature=None), use("c2")]),
         user([result("c2")])], [user(), reply([use()]), user([result()]), reply([use("c2")]), user([result("c2")])]),
    Case("A7", ANTHROPIC, [user(), reply([thinks(signature=None), text("ok")]), user()],
         [user(), reply([text("ok")]), user()]),
    Case("A7", ANTHROPIC, [user(), reply([text("ok"), thinks()]), user()], [user(), reply([text("ok")]), user()]),
    Case("A8", ANTHROPIC, [user(), reply("{")], [user(), reply("{"), user([text("(continue)")])],
         {"model": "claude-opus-4-6"}),
    Case("A8", ANTHROPIC, [user(), reply("so: ")], [user(), reply("so:")], {"model": "claude-3-5-sonnet-20241022"}),
    Case("A9", ANTHROPIC, [user(), reply(), {"role": "system", "content": "new rule"}, user("b")], None),
    Case("A9", ANTHROPIC, [user(), {"role": "system", "content": "rule"}, user("b")], None, {"model": "claude-opus-4-8"}),
    Case("A10", ANTHROPIC, [user([text(str(n), **MARK) for n in range(6)])],
         [user([text("0"), text("1"), *(text(str(n), **MARK) for n in range(2, 6))])]),
    Case("A10", ANTHROPIC, [user([text("a", **MARK), text("b", **LONG)])], [user([text("a", **MARK), text("b", **MARK)])]),
    Case("A10", ANTHROPIC, [user(), reply([thinks() | MARK, text("ok")]), user()],
         [user(), reply([thinks(), text("ok")]), user()]),
    Case("A14", ANTHROPIC, [user(), reply([{"type": "compaction", "content": ""}, text("ok")]), user()],
         [user(), reply([{"type": "compaction", "content": None}, text("ok")]), user()]),
    Case("A17", ANTHROPIC, [user()], [user()],
         {"options": {"betas": [], "thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"}}}}),
    Case("A17", ANTHROPIC, [user()], [user()],
         {"options": {"thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "shrug"}}}}),
    # other vendors
    Case("O1", CHAT, [user(), asks("c1"), tool("c1")], None, {"model": "google/gemini-3-pro"}),
    Case("O2", CHAT, [user(), asks("call_1"), tool("call_1")], None, {"model": "mistral-large-latest"}),
    Case("O3", CHAT, [user(), asks("abcdefgh1"), tool("abcdefgh1"), user()],
         [user(), asks("abcdefgh1"), tool("abcdefgh1"), reply("Done."), user()], {"model": "mistralai/devstral"}),
    Case("O4", CHAT, [user(), reply()], [user(), reply() | {"reasoning_content": ""}], {"model": "deepseek-reasoner"}),
]  # fmt: skip

#: Cases where mending one thing shows another, or where a rule of shape comes along.
ALONGSIDE = {
    ("V4", ANTHROPIC): {"A4"},
    ("A9", ANTHROPIC): {"A4"},
}


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: f"{case.rule}-{case.wire}-{json.dumps(case.broken)[:40]}"
)
def test_broken_rule_is_named_and_repaired(case: Case) -> None:
    """`check` reports only this rule, `repair` gives the expected prompt, and an independent checker agrees."""
    found = {flaw.rule.id for flaw in check(case.broken, case.wire, **case.more)}
    assert case.rule in found
    assert found - {case.rule} <= ALONGSIDE.get((case.rule, case.wire), set())
    done = repair(case.broken, case.wire, **case.more)
    if case.mended is not None:
        assert done.messages == case.mended
    judge(done.messages, case.wire, done.system)
    again = {**case.more, "system": done.system, "options": done.options, "tools": done.tools}
    assert check(done.messages, case.wire, **again) == []


RIGHT: list[tuple[str, list[Any], dict[str, Any]]] = [
    (CHAT, [{"role": "developer", "content": "be brief"}, user(), asks("c1", "c2"), tool("c2"), tool("c1", ""), reply("好")], {}),
    (CHAT, [user([text(), {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]), reply(None) | {"refusal": "no"}], {}),
    (CHAT, [user(), reply(None) | {"function_call": {"name": "f", "arguments": "{}"}}, {"role": "function", "name": "f", "content": "1"}], {}),
    (CHAT, [user([{"type": "video_url", "video_url": {"url": "u"}}]), reply(" ")], {}),
    (CHAT, [user([text(prompt_cache_breakpoint={"mode": "explicit"})])], {"model": "gpt-5.6-mini"}),
    (RESPONSES, [user(), reasons(), function(id="fc_1"), user("meanwhile"), output(words=[{"type": "input_text", "text": "x"}])], {}),
    (RESPONSES, [{"type": "web_search_call", "id": "ws_1", "status": "completed"}, reply()], {}),
    (RESPONSES, [output("c9")], {"options": {"previous_response_id": "resp_1"}, "system": "be brief"}),
    (RESPONSES, [{"type": "compaction", "encrypted_content": "x"}, user()], {}),
    (RESPONSES, [], {"options": {"previous_response_id": "resp_1"}, "system": "be brief"}),
    (RESPONSES, [], {"options": {"prompt": {"id": "pmpt_1"}}}),
    (ANTHROPIC, [user(), reply([thinks(), use(), use("c2")]), user([result("c2"), result(), text("and")])], {"tools": [{"name": "ls"}]}),
    (ANTHROPIC, [user(), reply([{"type": "redacted_thinking", "data": "x"}, text("ok")]), user([text("b", **MARK)])], {}),
    (ANTHROPIC, [user(), {"role": "system", "content": "rule"}, reply(), user()], {"model": "claude-opus-4-8-20260528"}),
    (ANTHROPIC, [user(), {"role": "system", "content": [text("rule")], "clear_at": "next_user_message"}],
     {"model": "claude-opus-5-5", "options": {"betas": ["mid-conversation-system-clear-at-2026-08-21"]}}),
    (ANTHROPIC, [user(), reply("Sure, here is")], {"model": "claude-sonnet-4-5"}),
    (ANTHROPIC, [user(), reply([{"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}}, text("x")]), user()], {}),
    (ANTHROPIC, [user(), reply([{"type": "compaction", "content": None}, text("x")]), user()], {"system": [text("be brief", **LONG)]}),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "messages", "more"), RIGHT)
def test_valid_prompt_is_left_alone(wire: Wire, messages: list[Any], more: dict[str, Any]) -> None:
    """No rule is reported, and repair returns the same message objects."""
    assert check(messages, wire, **more) == []
    done = repair(messages, wire, **more)
    assert done.changes == []
    assert all(a is b for a, b in zip(done.messages, messages, strict=True))


@pytest.mark.parametrize(
    ("clear_at", "betas"),
    [("next_user_message", []), ("tomorrow", ["mid-conversation-system-clear-at-2026-08-21"])],
)
def test_unsupported_clear_at_is_dropped_and_the_message_kept(clear_at: str, betas: list[str]) -> None:
    """A17: the field is left out, the message is not."""
    messages = [user(), {"role": "system", "content": [text("rule")], "clear_at": clear_at}]
    more: dict[str, Any] = {"model": "claude-opus-5-5", "options": {"betas": betas}}
    assert [(f.rule.id, f.where) for f in check(messages, ANTHROPIC, **more)] == [
        ("A17", "messages[1].clear_at")
    ]
    done = repair(messages, ANTHROPIC, **more)
    assert done.messages[1] == {"role": "system", "content": [text("rule")]}


def test_every_rule_is_tested_here() -> None:
    """Every rule has a case that breaks it."""
    between = {
        "V2",
        "V3",
        "V5",
        "V8",
        "V9",
        "V10",
        "V11",
        "C4",
        "R3",
        "R8",
        "R9",
        "A11",
        "A12",
        "A13",
        "A15",
        "A16",
    }
    assert set(rules()) == {case.rule for case in CASES} | between
    assert all(rule.wire in ("", *WIRES) and rule.explanation and rule.hint for rule in rules().values())


def test_documentation_lists_every_rule() -> None:
    """The documentation has each rule with its title and its explanation, as the table has it."""
    page = (Path(__file__).parents[2] / "docs" / "validity.md").read_text(encoding="utf-8")
    assert [r.id for r in rules().values() if f"| {r.id} | {r.title} | {r.explanation} |" not in page] == []


# -- details of repair -----------------------------------------------------------------------------------------


def test_repaired_ids_are_derived_from_the_old_ones() -> None:
    """V5: the same prompt gives the same ids; call and result match, and ids stay unique."""
    prompt = [user(), reply([use("a b"), use("a/b")]), user([result("a b", "1"), result("a/b", "2")])]
    one, two = repair(prompt, "anthropic"), repair(prompt, "anthropic")
    assert one.messages == two.messages
    first, second = one.messages[1]["content"]
    assert first["id"] != second["id"]
    assert [r["tool_use_id"] for r in one.messages[2]["content"]] == [first["id"], second["id"]]


def test_repair_keeps_signed_thinking_unchanged() -> None:
    """A7: signed thinking is the same object after repairing something else."""
    thought = thinks("老实说 …")
    done = repair([user(), reply([thought, text(" "), use()]), user([result()])], "anthropic")
    assert done.messages[1]["content"][0] is thought


def test_thinking_cannot_be_enabled_mid_loop() -> None:
    """A7: a loop that started without thinking continues without it; the next turn may think again."""
    more = {
        "options": {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 9},
        "tools": [{"name": "ls"}],
    }
    loop = [user(), reply([use()]), user([result()])]
    assert ids(check(loop, "anthropic", **more)) == ["A7"]
    assert repair(loop, "anthropic", **more).options == {"max_tokens": 9}
    assert check([user(), reply([thinks(), use()]), user([result()])], "anthropic", **more) == []
    assert ids(check([*loop[:2], user([result(), text("and?")])], "anthropic", **more)) == ["A7"]
    assert check([*loop, reply(), user("next")], "anthropic", **more) == []
    assert check(loop, "anthropic") == []


def test_duplicate_result_becomes_text() -> None:
    """V1: of two results for one call the first stays, and the words of the other are kept."""
    done = repair([asks("c1"), tool("c1", "one"), tool("c1", "two")], "openai-chat").messages
    assert done[1] == tool("c1", "one")
    assert done[2]["role"] == "user"
    assert done[2]["content"].endswith("two")


CHAT_STEP = [user("go"), asks("c1", "c2", content="look"), tool("c1", "1"), tool("c2", "2"), reply("done")]
ITEM_STEP = [
    user("go"),
    {"role": "assistant", "content": "look"},
    function("c1"),
    function("c2"),
    output("c1", "1"),
    output("c2", "2"),
    reply("done"),
]
BLOCK_STEP = [
    user("go"),
    reply([text("look"), use("c1"), use("c2")]),
    user([result("c1", "1"), result("c2", "2")]),
    reply("done"),
]


@pytest.mark.parametrize("given", [CHAT_STEP, ITEM_STEP, BLOCK_STEP])
@pytest.mark.parametrize(
    ("wire", "wanted"), [(CHAT, CHAT_STEP), (RESPONSES, ITEM_STEP), (ANTHROPIC, BLOCK_STEP)]
)
def test_histories_of_other_wires_keep_their_calls(given: list[Any], wire: Wire, wanted: list[Any]) -> None:
    """A history that was written for one provider is a valid one for another, with every call and every result."""
    done = repair(given, wire).messages
    judge(done, wire)
    if given is wanted:
        assert done == wanted
    spoken = json.dumps(done)
    assert spoken.count('"ls"') == 2
    assert all(word in spoken for word in ('"look"', '"1"', '"2"', '"done"'))
    assert "not part of this prompt" not in spoken
    assert "interrupted" not in spoken


def test_leading_system_messages_join_the_system_prompt() -> None:
    """A9: system messages before the first user message are appended to the system prompt."""
    done = repair([{"role": "system", "content": "two"}, user()], "anthropic", system="one")
    assert done.system == [text("one"), text("two")]
    assert done.messages == [user()]


def test_previous_response_without_instructions_is_flagged() -> None:
    """R6: repair cannot know the missing instructions, so the flaw is reported."""
    flaws = check([user()], RESPONSES, options={"previous_response_id": "resp_1"})
    assert [(flaw.rule.id, flaw.where) for flaw in flaws] == [("R6", "instructions")]


def test_changes_name_rule_place_and_repair() -> None:
    """Each change names its rule, its index in the input, the flaw and the repair."""
    done = repair([user(), asks("c1"), user("")], "openai-chat")
    assert [(c.rule.id, c.where) for c in done.changes] == [
        ("V4", "messages[2]"),
        ("V1", "messages[1].tool_calls[0]"),
    ]
    assert all(c.what and c.did for c in done.changes)
    assert done.origins == [(0,), (1,), ()]


def test_invalid_arguments_get_a_clear_error() -> None:
    """Unknown wires, a value that is not a list, and values that are not JSON are refused with a hint."""
    with pytest.raises(InvalidInput, match="unknown wire"):
        check([], "telegraph")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="list"):
        repair({"messages": []}, "openai-chat")
    with pytest.raises(InvalidInput, match="not a JSON value") as caught:
        repair([user(object())], "openai-chat")
    assert caught.value.hint
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InvalidInput, match="too deeply"):
        check([user(deep)], "openai-chat")


def test_string_is_a_prompt_on_the_responses_wire() -> None:
    """`input` may be a string; on the other wires it becomes the user's message."""
    assert check("hi", RESPONSES) == []
    assert repair("hi", RESPONSES).messages == [user()]
    assert {flaw.rule.id for flaw in check("hi", CHAT)} == {"S1"}


# -- between two prompts ---------------------------------------------------------------------------------------


def ids(flaws: list[Any]) -> list[str]:
    return [flaw.rule.id for flaw in flaws]


STEP = [user("a"), asks("c1", "c2"), tool("c1"), tool("c2"), reply(), user("b")]


def test_crop_must_keep_system_text_and_latest_request() -> None:
    """V8: system text and the latest user message must survive."""
    whole = Sent([{"role": "system", "content": "s"}, *STEP], "openai-chat")
    assert check_crop(whole, Sent([whole.messages[0], STEP[-1]], "openai-chat")) == []
    assert ids(check_crop(whole, Sent([STEP[-1]], "openai-chat"))) == ["V8"]
    assert ids(check_crop(whole, Sent(whole.messages[:2], "openai-chat"))) == ["V8"]
    before = Sent([user()], "anthropic", system="s")
    assert ids(check_crop(before, Sent([user()], "anthropic"))) == ["V8"]


def test_crop_must_not_split_calls_from_results() -> None:
    """V2, V3: parallel calls stay together, and no cut parts a call from its result."""
    whole = Sent(STEP, "openai-chat")
    assert "V2" in ids(check_crop(whole, Sent([asks("c1"), tool("c1"), user("b")], "openai-chat")))
    assert ids(check_crop(whole, Sent(STEP[2:], "openai-chat"))) == ["V3", "V3"]
    items = [user(), function("c1"), function("c2"), output("c1"), output("c2")]
    cut = [user(), function("c1"), output("c1")]
    assert ids(check_crop(Sent(items, "openai-responses"), Sent(cut, "openai-responses"))) == ["V2"]


def test_crop_must_not_split_a_thinking_loop() -> None:
    """V3, A7: the running loop keeps all of its thinking as it was, or loses all of it."""
    loop = [
        user(),
        reply([thinks("one"), use()]),
        user([result()]),
        reply([thinks("two"), use("c2")]),
        user([result("c2")]),
    ]
    whole = Sent(loop, "anthropic")
    bare = [user(), reply([use()]), user([result()]), reply([use("c2")]), user([result("c2")])]
    assert check_crop(whole, Sent(bare, "anthropic")) == []
    assert ids(check_crop(whole, Sent([*bare[:3], *loop[3:]], "anthropic"))) == ["V3"]
    changed = [loop[0], reply([thinks("ONE"), use()]), *loop[2:]]
    assert "A7" in ids(check_crop(whole, Sent(changed, "anthropic")))


def test_crop_that_does_not_shrink_is_flagged() -> None:
    """V10: as many tokens as before is not a crop."""
    whole = Sent(STEP, "openai-chat")
    assert ids(check_crop(whole, whole, sizes=(100, 100))) == ["V10"]
    assert check_crop(whole, whole, sizes=(100, 99)) == []


def test_crop_must_keep_item_order_and_the_newest_compaction() -> None:
    """R3, R7: items keep their order, and nothing after the newest compaction is removed."""
    items = [user("a"), reply("b"), {"type": "compaction", "encrypted_content": "x"}, user("c")]
    whole = Sent(items, "openai-responses")
    assert check_crop(whole, Sent(items[2:], "openai-responses")) == []
    assert ids(check_crop(whole, Sent(items[3:], "openai-responses"))) == ["R7"]
    assert ids(check_crop(whole, Sent([items[1], items[0], *items[2:]], "openai-responses"))) == ["R3"]


def test_changes_that_invalidate_the_cache() -> None:
    """C4, A12: tools, model, system, thinking; a moved cache mark does not count."""
    one = Sent(
        [user([text("a", **MARK)])],
        "anthropic",
        system=[text("s", **MARK)],
        tools=[{"name": "ls"}],
        model="m",
    )
    moved = Sent(
        [user([text("a"), text("b", **MARK)])],
        "anthropic",
        system=[text("s")],
        tools=[{"name": "ls"}],
        model="m",
    )
    assert check_change(one, moved) == []
    for other in (
        Sent(one.messages, "anthropic", one.system, [{"name": "cat"}], "m"),
        Sent(one.messages, "anthropic", one.system, one.tools, "n"),
        Sent(one.messages, "anthropic", "t", one.tools, "m"),
        Sent(one.messages, "anthropic", one.system, one.tools, "m", {"thinking": {"type": "enabled"}}),
    ):
        assert ids(check_change(one, other)) == ["A12"]
    assert ids(check_change(Sent([], "openai-chat", tools=[{"a": 1}]), Sent([], "openai-chat"))) == ["C4"]


def test_cache_marks_must_be_within_twenty_blocks() -> None:
    """A11: more than twenty blocks after the last mark the cache is not found any more."""
    one = Sent([user([text("a", **MARK)])], "anthropic")
    near = Sent([user([text("a"), *[text("x")] * 19, text("b", **MARK)])], "anthropic")
    far = Sent([user([text("a"), *[text("x")] * 30, text("b", **MARK)])], "anthropic")
    assert check_change(one, near) == []
    assert ids(check_change(one, far)) == ["A11"]


def test_summary_fork_must_reuse_the_prefix() -> None:
    """A13: same system, tools and model, or everything is paid for again."""
    main = Sent([user()], "anthropic", "s", [{"name": "ls"}], "m")
    assert check_fork(main, Sent([user(), user("sum up")], "anthropic", "s", [{"name": "ls"}], "m")) == []
    assert ids(check_fork(main, Sent([user("sum up")], "anthropic", "s", [], "m"))) == ["A13"]


def test_budget_counts_tools_system_and_reserve() -> None:
    """V9, R8: tools, system and reserve count, and only asking for truncation helps."""
    assert check_budget(100, messages=60, system=20, tools=10, reserve=10) == []
    assert ids(check_budget(100, messages=60, system=20, tools=10, reserve=11)) == ["V9"]
    assert ids(check_budget(100, messages=101, truncation="disabled")) == ["V9", "R8"]
    assert check_budget(100, messages=101, truncation="auto") == []


def test_shape_of_a_service_side_compaction() -> None:
    """R9: user messages, then one compaction."""
    compaction = {"type": "compaction", "encrypted_content": "x"}
    assert check_compacted([user("a"), user("b"), compaction]) == []
    assert ids(check_compacted([user("a"), reply(), compaction])) == ["R9"]
    assert ids(check_compacted([compaction, user("a")])) == ["R9"]


def test_prompt_size_is_read_per_wire() -> None:
    """A15: three figures add up on one wire; on the others the cached part is inside."""
    usage = {"input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20}
    assert prompt_size(usage, "anthropic") == 125
    assert (
        prompt_size({"input_tokens": 125, "input_tokens_details": {"cached_tokens": 100}}, "openai-responses")
        == 125
    )
    assert prompt_size({"prompt_tokens": 125}, "openai-chat") == 125
