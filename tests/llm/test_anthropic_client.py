"""Anthropic's wire: signed thinking, pings, usage in two halves, errors, and our keys kept from the SDK."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from backscroll.errors import CutShort, InvalidInput, MissingExtra, ModelBusy
from backscroll.llm.clients.client import CallDelta, ReasoningDelta, Reply, Tally, TextDelta
from backscroll.llm.providers import Provider, client_for
from tests.testing.scripted_talk import (
    KINDS,
    Line,
    Scenario,
    ScriptedServer,
    ask,
    client_at,
    provider_at,
    streamed,
)


def event(kind: str, *, named: bool = True, **data: Any) -> str:
    """One event of a stream."""
    name = f"event: {kind}\n" if named else ""
    return f"{name}data: {json.dumps({'type': kind, **data}, ensure_ascii=False)}\n\n"


def begun(**usage: Any) -> str:
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    return event("message_start", message=message)


def ended(reason: str = "end_turn", **usage: Any) -> str:
    return event("message_delta", delta={"stop_reason": reason}, usage=usage) + event("message_stop")


def block(at: int, kind: dict[str, Any], *deltas: dict[str, Any], named: bool = True) -> str:
    """A block with its pieces."""
    inside = "".join(event("content_block_delta", named=named, index=at, delta=d) for d in deltas)
    return (
        event("content_block_start", index=at, content_block=kind)
        + inside
        + event("content_block_stop", index=at)
    )


def heard(*events: str) -> tuple[list[Any], Reply]:
    """What the client makes of a stream to the letter."""
    with ScriptedServer(None, Line(raw=events)) as server, client_at(server.url, "anthropic") as client:
        return streamed(client, ask())


def test_thinking_keeps_its_signature() -> None:
    """The blocks can be sent back as they came: signature, hidden thinking, order."""
    thought = block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "they want "},
        {"type": "thinking_delta", "thinking": "潮汐"},
        {"type": "signature_delta", "signature": "abc="},
    )
    hidden = block(1, {"type": "redacted_thinking", "data": "xyz"})
    words = block(2, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Noon."})
    events, reply = heard(begun(input_tokens=3), thought, hidden, words, ended(output_tokens=9))
    assert reply.raw == [
        {"type": "thinking", "thinking": "they want 潮汐", "signature": "abc="},
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "text", "text": "Noon."},
    ]
    assert (reply.text, reply.reasoning, reply.finish) == ("Noon.", "they want 潮汐", "stop")
    assert [type(e) for e in events] == [Tally, ReasoningDelta, ReasoningDelta, TextDelta]


def test_pings_and_unknown_events_are_harmless() -> None:
    """Keep-alives, events without a name, unknown deltas; unknown blocks are kept."""
    strange = block(
        0, {"type": "server_tool_use", "id": "s", "name": "web", "input": {}}, {"type": "glow_delta"}
    )
    words = block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "hi"}, named=False)
    _, reply = heard(event("ping"), begun(), strange, ": keep-alive\n\n", event("sparkle"), words, ended())
    assert reply.text == "hi"
    assert reply.raw[0]["type"] == "server_tool_use"


def test_usage_is_merged_from_start_and_end() -> None:
    """The start reports prompt and cache, the end the answer; empty values overwrite nothing."""
    _, reply = heard(
        begun(input_tokens=10, cache_read_input_tokens=80, cache_creation_input_tokens=5, output_tokens=1),
        block(0, {"type": "text", "text": "x"}),
        ended(output_tokens=7, cache_read_input_tokens=None, input_tokens=None),
    )
    usage = reply.usage
    assert (usage.input, usage.cached, usage.written, usage.output) == (95, 80, 5, 7)


def test_calls_and_citations_are_assembled() -> None:
    """Arguments come in pieces and may be empty; citations stay with their text."""
    call = block(
        0,
        {"type": "tool_use", "id": "t1", "name": "read", "input": {}},
        {"type": "input_json_delta", "partial_json": ""},
        {"type": "input_json_delta", "partial_json": '{"p": "潮'},
        {"type": "input_json_delta", "partial_json": '汐"}'},
    )
    empty = block(1, {"type": "tool_use", "id": "t2", "name": "list", "input": {}})
    cited = block(
        2,
        {"type": "text", "text": ""},
        {"type": "text_delta", "text": "so"},
        {"type": "citations_delta", "citation": {"n": 1}},
    )
    events, reply = heard(begun(), call, empty, cited, ended("tool_use"))
    assert [(c.id, c.arguments) for c in reply.tool_calls] == [("t1", {"p": "潮汐"}), ("t2", {})]
    assert next(e.id for e in events if isinstance(e, CallDelta)) == "t1"
    assert reply.raw[2]["citations"] == [{"n": 1}]
    assert reply.finish == "tools"


@pytest.mark.parametrize(
    ("kind", "error"),
    [("overloaded_error", ModelBusy), ("api_error", ModelBusy), ("invalid_request_error", InvalidInput)],
)
def test_errors_in_a_stream_are_classified(kind: str, error: type[Exception]) -> None:
    """Overload may be retried."""
    with pytest.raises(error, match="sorry"):
        heard(begun(), event("error", error={"type": kind, "message": "sorry"}))


def test_incomplete_arguments_are_no_call() -> None:
    """Half a call is no call."""
    half = block(
        0,
        {"type": "tool_use", "id": "t", "name": "read", "input": {}},
        {"type": "input_json_delta", "partial_json": '{"p'},
    )
    with pytest.raises(CutShort, match="arguments"):
        heard(begun(), half, ended("tool_use"))


def test_vendor_key_is_not_sent_to_other_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK would read keys by itself; a custom server never sees them."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-planted-1")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "planted-2")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    with ScriptedServer(Scenario((Line(text="x"),), key="none")) as server:
        client = client_for(Provider("own", "anthropic", server.url, "m"))
        try:
            assert client.complete(ask()).text == "x"  # the key that stands for none, and this address
        finally:
            client.close()


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/"])
def test_addresses_work_with_and_without_the_version(ending: str) -> None:
    """People write it both ways."""
    with ScriptedServer(None, Line(text="x")) as server:
        root = server.url.removesuffix("/v1")
        client = client_for(Provider("own", "anthropic", f"{root}{ending}", "m"))
        try:
            assert client.complete(ask()).text == "x"
        finally:
            client.close()


def test_other_fields_are_passed_through() -> None:
    """System blocks with marks, tools, temperature and anything newer than the SDK."""
    system = [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}]
    with ScriptedServer(None, Line(text="x")) as server, client_at(server.url, "anthropic") as client:
        client.complete(ask(system=system, temperature=0.5, more={"brand_new": {"a": [1]}}))
    body = server.asked[0].body
    assert (body["system"], body["temperature"], body["brand_new"]) == (system, 0.5, {"a": [1]})


@pytest.mark.parametrize("kind", KINDS)
def test_missing_package_names_the_extra(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told with the extra that brings it."""
    package = "anthropic" if kind == "anthropic" else "openai"
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=package) as caught:
        client_for(provider_at("http://127.0.0.1:1", kind), {"PLANTED": "sk-1"})
    assert f"backscroll[{package}]" in caught.value.hint
