"""Requests as they stand in files: told apart by what is in them, mended without losing their other fields."""

from __future__ import annotations

from typing import Any

import pytest

from backscroll.assemble.validity import models
from backscroll.assemble.validity.request import request_of
from backscroll.errors import FormatError, InvalidInput

USER = {"role": "user", "content": "hi"}
CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("value", "wire"),
    [
        ([USER], "openai-chat"),
        ({"messages": [USER]}, "openai-chat"),
        (
            {"model": "anthropic/claude-opus-4.6", "messages": [{"role": "system", "content": "s"}, USER]},
            "openai-chat",
        ),
        (
            {
                "model": "claude-opus-4-6",
                "messages": [USER, {"role": "assistant", "content": None, "tool_calls": [CALL]}],
            },
            "openai-chat",
        ),
        ({"model": "claude-opus-4-6", "max_tokens": 1, "messages": [USER]}, "anthropic"),
        ({"system": "s", "messages": [USER]}, "anthropic"),
        (
            {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x"}]}]},
            "anthropic",
        ),
        ({"tools": [{"name": "ls", "input_schema": {}}], "messages": [USER]}, "anthropic"),
        ({"input": "hi"}, "openai-responses"),
        ({"model": "gpt-5", "input": [USER]}, "openai-responses"),
        ([{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}], "openai-responses"),
        ([{"role": "user", "content": [{"type": "input_text", "text": "x"}]}], "openai-responses"),
        ({"custom_id": "1", "url": "/v1/responses", "body": {"input": "hi"}}, "openai-responses"),
        ({"custom_id": "1", "params": {"model": "claude-haiku-4-5", "messages": [USER]}}, "anthropic"),
    ],
)
def test_wire_is_recognised_from_the_request(value: Any, wire: str) -> None:
    assert request_of(value).wire == wire
    assert request_of(value, "anthropic").wire == "anthropic"


def test_repaired_request_keeps_its_other_fields() -> None:
    """Only the prompt changes; a batch entry keeps the fields around the body."""
    body = {
        "model": "gpt-5",
        "temperature": 0,
        "messages": [{"role": "user", "content": ""}, USER],
        "tools": [],
    }
    found = request_of({"custom_id": "1", "body": body})
    assert found.with_prompt(found.repair_prompt()) == {
        "custom_id": "1",
        "body": {**body, "messages": [USER]},
    }


def test_valid_request_is_unchanged() -> None:
    """A plain text as input stays a text."""
    for body in (
        {"model": "gpt-5", "input": "hi"},
        {"messages": [USER], "x": 1},
        {"system": "s", "messages": [USER]},
    ):
        found = request_of(body)
        assert found.flaws() == []
        assert found.with_prompt(found.repair_prompt()) == body


def test_system_and_options_are_repaired_too() -> None:
    """An empty system prompt goes, a leading system message joins it, an option that does not fit is left out."""
    empty = request_of({"system": " ", "messages": [USER]})
    assert empty.with_prompt(empty.repair_prompt()) == {"messages": [USER]}
    led = request_of(
        {"model": "claude-opus-4-6", "messages": [{"role": "system", "content": "s"}, USER]}, "anthropic"
    )
    assert led.with_prompt(led.repair_prompt())["system"] == [{"type": "text", "text": "s"}]
    both = request_of({"input": "hi", "instructions": "s", "previous_response_id": "r", "conversation": "c"})
    assert both.with_prompt(both.repair_prompt()) == {
        "input": [USER],
        "instructions": "s",
        "previous_response_id": "r",
    }


def test_only_whole_requests_state_their_tools() -> None:
    """A request without tools sends none; a bare list of messages leaves the tools unknown."""
    assert request_of({"model": "m", "messages": [USER]}).tools == []
    assert request_of({"messages": [USER]}).tools == []
    assert request_of([USER]).tools is None


def test_value_without_a_prompt_is_refused() -> None:
    for value in (3, {}, {"contents": []}, {"messages": "hi"}):
        with pytest.raises(FormatError, match="no prompt"):
            request_of(value)
    with pytest.raises(InvalidInput, match="unknown wire"):
        request_of([USER], "telex")


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("claude-opus-4-6", (4, 6)),
        ("claude-opus-4-20250514", (4, 0)),
        ("claude-3-5-sonnet-20241022", (3, 5)),
        ("anthropic/claude-sonnet-4.5", (4, 5)),
        ("us.anthropic.claude-opus-4-8-v1:0", (4, 8)),
        ("claude-mythos-5", (5, 0)),
        ("gpt-5.6", None),
        (None, None),
    ],
)
def test_claude_versions_are_parsed(name: str | None, version: tuple[int, int] | None) -> None:
    """As providers and routers write them; a date is not a version."""
    assert models.claude(name) == version


def test_other_vendors_are_recognised_by_model_name() -> None:
    assert models.gpt("openai/gpt-5.6-mini") == (5, 6)
    assert models.gpt("gpt-4o") == (4, 0)
    assert models.gpt("not-gpt-5") is None
    assert models.gemini("gemini-2.5-pro") == (2, 5)
    assert models.is_mistral("mistralai/Mistral-Large")
    assert models.is_mistral("codestral-latest")
    assert not models.is_mistral("gpt-5")
    assert models.is_deepseek("deepseek/deepseek-v4-pro")
