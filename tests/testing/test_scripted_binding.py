"""Thinking in the scripted service: accepted only after the prompt it was created under."""

from __future__ import annotations

import copy
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from backscroll.assemble.validity.anthropic.betas import BLOCK_BINDING, CLEAR_AT
from backscroll.testing import Line, Scenario, ScriptedServer

BOUND = "bound to a different conversation"
TOOLS = [{"name": "ls", "input_schema": {"type": "object"}}]
MODEL = "claude-opus-5-5"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    lines = (
        Line(contains=("hide",), text="hidden", reasoning="secret", redacted=True),
        Line(text="said {number}", reasoning="about {last}", fill=True),
    )
    with ScriptedServer(Scenario(lines=lines)) as served:
        yield served


def user(*words: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": word} for word in words]}


def post(
    server: ScriptedServer, messages: list[Any], path: str = "/messages", beta: str = "", **more: Any
) -> tuple[int, Any]:
    body = {
        "model": MODEL,
        "max_tokens": 500,
        "system": "Be brief.",
        "tools": TOOLS,
        "messages": messages,
        **more,
    }
    headers = {"content-type": "application/json", **({"anthropic-beta": beta} if beta else {})}
    request = urllib.request.Request(server.url + path, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def said(server: ScriptedServer, messages: list[Any], **more: Any) -> dict[str, Any]:
    status, text = post(server, messages, **more)
    assert status == 200, text
    return json.loads(text)


def talk(server: ScriptedServer, *questions: str) -> list[Any]:
    """A conversation in which everything is sent back as it came."""
    messages: list[Any] = []
    for question in questions:
        messages.append(user(question))
        messages.append({"role": "assistant", "content": said(server, messages)["content"]})
    return messages


def test_unchanged_thinking_is_accepted(server: ScriptedServer) -> None:
    """Over several turns, hidden thinking too; options and cache marks may change."""
    messages = [*talk(server, "one", "hide two", "three"), user("four")]
    assert [b["type"] for m in messages[1::2] for b in m["content"]] == [
        "thinking", "text", "redacted_thinking", "text", "thinking", "text",
    ]  # fmt: skip
    marked = copy.deepcopy(messages)
    marked[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    said(server, marked, max_tokens=100, tool_choice={"type": "auto"}, metadata={"user_id": "u"})
    assert server.flaws == []


def test_restarted_server_accepts_its_signatures(server: ScriptedServer) -> None:
    """A signature holds all that is needed; a changed one is still refused."""
    messages = [*talk(server, "one", "two"), user("three")]
    with ScriptedServer(Scenario(lines=(Line(text="ok"),))) as other:
        assert post(other, messages)[0] == 200
        status, text = post(other, [user("else"), *messages[1:]])
        assert status == 400
        assert BOUND in text


CHANGES: dict[str, Callable[[list[Any]], Any]] = {
    "a text that was added": lambda m: m[0]["content"].append({"type": "text", "text": "recalled"}),
    "an edit": lambda m: m[2]["content"][0].update(text="changed"),
    "an earlier turn that is gone": lambda m: m.__delitem__(slice(0, 2)),
    "an order that changed": lambda m: m.insert(0, m.pop(2)) or m.insert(1, m.pop(3)),
    "thinking left out from the middle": lambda m: m[3]["content"].pop(0),
}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("name", CHANGES)
def test_changed_prefix_is_refused(server: ScriptedServer, name: str, streamed: bool) -> None:
    """Streamed or not, and also when tokens are counted."""
    messages = [*talk(server, "one", "two", "three"), user("four")]
    CHANGES[name](messages)
    for path in ("/messages", "/messages/count_tokens"):
        status, text = post(server, messages, path, stream=streamed)
        assert status == 400, name
        assert json.loads(text)["error"]["type"] == "invalid_request_error"
        assert BOUND in text


def test_refusal_names_the_difference(server: ScriptedServer) -> None:
    """The block, and where the prompt differs from the one it was created under."""
    messages = [*talk(server, "one", "two"), user("three")]
    messages[0]["content"].append({"type": "text", "text": "more"})
    assert "messages.1.content.0" in post(server, messages)[1]
    assert "first difference: messages[0].content[1]" in post(server, messages)[1]
    others: list[dict[str, Any]] = [
        {"system": "Be long."},
        {"tools": [*TOOLS, {"name": "cat", "input_schema": {}}]},
    ]
    for more in others:
        messages = [*talk(server, "one"), user("two")]
        assert f"first difference: {next(iter(more))}" in post(server, messages, **more)[1]


def test_removed_suffix_is_refused(server: ScriptedServer) -> None:
    """What was sent with the newest message belongs to it permanently."""
    first = said(server, [user("one", "recalled: a.txt")])
    status, text = post(
        server, [user("one"), {"role": "assistant", "content": first["content"]}, user("two")]
    )
    assert (status, BOUND in text) == (400, True)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_thinking_may_be_dropped_from_the_front(server: ScriptedServer, count: int) -> None:
    """Oldest first, or all of it."""
    messages = [*talk(server, "one", "two", "three"), user("four")]
    for message in messages[1 : 2 * count : 2]:
        assert message["content"].pop(0)["type"] == "thinking"
    status, text = post(server, messages)
    assert (status, BOUND in text) == (200, False)


def test_changed_thinking_is_refused(server: ScriptedServer) -> None:
    """By a word, or with an invented signature."""
    for change in ({"thinking": "else"}, {"signature": "c2ln"}):
        messages = [*talk(server, "one"), user("two")]
        messages[1]["content"][0].update(change)
        status, text = post(server, messages)
        assert (status, "Invalid `signature`" in text) == (400, True)


DROP = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}


@pytest.mark.parametrize("streamed", [False, True])
def test_blocks_are_dropped_on_request(server: ScriptedServer, streamed: bool) -> None:
    """With the beta, dropped blocks are reported; the field without the beta is refused."""
    messages = [*talk(server, "one", "two"), user("three")]
    messages[2]["content"].append({"type": "text", "text": "more"})
    assert post(server, messages, thinking=DROP)[0] == 400
    assert BLOCK_BINDING in post(server, messages, thinking=DROP)[1]
    status, text = post(server, messages, beta=f"other-beta, {BLOCK_BINDING}", thinking=DROP, stream=streamed)
    assert status == 200
    if streamed:
        started = next(
            line for line in text.splitlines() if '"message_start"' in line and line.startswith("data")
        )
        answer = json.loads(started.removeprefix("data: "))["message"]
    else:
        answer = json.loads(text)
    assert [(t["message_index"], t["content_index"]) for t in answer["input_transformations"]] == [(3, 0)]


def test_nothing_dropped_is_not_reported(server: ScriptedServer) -> None:
    messages = [*talk(server, "one"), user("two")]
    assert "input_transformations" not in said(server, messages, beta=BLOCK_BINDING, thinking=DROP)


def test_thinking_after_a_drop_is_bound_to_what_was_read(server: ScriptedServer) -> None:
    """The next request may send everything again, or omit the dropped block."""
    messages = [*talk(server, "one", "two"), user("three", "tail")]
    messages[2]["content"].append({"type": "text", "text": "more"})
    answer = said(server, messages, beta=BLOCK_BINDING, thinking=DROP)
    grown = [*messages, {"role": "assistant", "content": answer["content"]}, user("four")]
    again = said(server, grown, beta=BLOCK_BINDING, thinking=DROP)
    assert [t["message_index"] for t in again["input_transformations"]] == [3]


def test_system_messages_in_the_middle_are_checked(server: ScriptedServer) -> None:
    """After the user and at the end or before a reply; `clear_at` only with its beta; never right before the user."""
    rule: dict[str, Any] = {"role": "system", "content": "New rule."}
    cleared = {**rule, "clear_at": "next_user_message"}
    reply = {"role": "assistant", "content": "ok"}
    said(server, [user("one"), rule])
    said(server, [user("one"), rule, reply, user("two")])
    said(server, [user("one"), cleared], beta=CLEAR_AT)
    assert CLEAR_AT in post(server, [user("one"), cleared])[1]
    for wrong in ([user("one"), rule, user("two")], [user("one"), reply, rule, user("two")]):
        assert post(server, wrong)[0] == 400
    assert post(server, [user("one"), rule], model="claude-opus-4-5")[0] == 400


def test_binding_can_be_switched_off() -> None:
    with ScriptedServer(Scenario(lines=(Line(text="ok", reasoning="hm"),), binding=False)) as served:
        messages = [*talk(served, "one"), user("two")]
        messages[0]["content"].append({"type": "text", "text": "more"})
        status, text = post(served, messages)
    assert (status, BOUND in text) == (200, False)


def test_binding_is_enforced_by_default(server: ScriptedServer) -> None:
    """The same request, refused."""
    messages = [*talk(server, "one"), user("two")]
    messages[0]["content"].append({"type": "text", "text": "more"})
    status, text = post(server, messages)
    assert (status, BOUND in text) == (400, True)
