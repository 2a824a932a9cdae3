"""What the services themselves look at, written down a second time: it shares nothing with the engine that it judges."""

from __future__ import annotations

import json
import re
from typing import Any


def judge(messages: list[Any], wire: str, system: Any = None, *, tools: Any = ...) -> None:
    """Fail where a service would refuse the prompt; `tools` are those of the request, where it is known whole."""
    text = json.dumps([messages, system], ensure_ascii=False, allow_nan=False)
    text.encode("utf-8")
    {"openai-chat": _chat, "openai-responses": _responses, "anthropic": _anthropic}[wire](messages)
    if tools is not ...:
        assert tools is None or tools, "an empty list of tools"
    if tools is None and wire == "anthropic":
        kinds = {b["type"] for m in messages for b in m["content"] if isinstance(m["content"], list)}
        assert not kinds & {"tool_use", "tool_result"}, "tool blocks in a request without tools"
    if wire == "anthropic":
        assert system is None or isinstance(system, str | list)
        assert system not in ([], "")
        for block in system if isinstance(system, list) else []:
            assert block["type"] == "text"
            assert block["text"].strip()


def _chat(messages: list[Any]) -> None:
    assert messages
    waiting: list[str] = []
    seen: set[str] = set()
    function: str | None = None
    for message in messages:
        role, content = message["role"], message.get("content")
        assert role in {"system", "developer", "user", "assistant", "tool", "function"}
        if role == "tool":
            waiting.remove(message["tool_call_id"])
            assert isinstance(content, str | list)
        else:
            assert not waiting, "something between a call and its result"
        if role == "function":
            assert function == message["name"]
        else:
            assert function is None
        function = None
        if role in {"system", "developer", "user"}:
            assert content
        if role == "assistant":
            calls = message.get("tool_calls")
            assert calls is None or len(calls) > 0
            for call in calls or []:
                inner = call[call["type"]]
                assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", inner["name"])
                assert isinstance(inner["input" if call["type"] == "custom" else "arguments"], str)
                assert 0 < len(call["id"]) <= 40
                assert call["id"] not in seen
                seen.add(call["id"])
                waiting.append(call["id"])
            legacy = message.get("function_call")
            if legacy is not None and not calls:
                function = legacy["name"]
            assert content or calls or legacy or message.get("refusal") or message.get("audio")
        for part in content if isinstance(content, list) else []:
            assert isinstance(part["type"], str)
            if part["type"] == "text":
                assert isinstance(part["text"], str)
                assert part["text"]
            if role != "user":
                assert part["type"] not in {"image_url", "input_audio", "file"}
    assert not waiting
    assert function is None


_CALLS = {
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "computer_call",
}


def _responses(items: list[Any]) -> None:
    assert items
    asked: dict[str, str] = {}
    told: set[str] = set()
    for place, item in enumerate(items):
        kind = item.get("type") or "message"
        if kind == "message":
            assert item["role"] in {"user", "assistant", "system", "developer"}
            assert item["content"]
            for part in item["content"] if isinstance(item["content"], list) else []:
                mine, other = (
                    ("output_text", "input_text")
                    if item["role"] == "assistant"
                    else ("input_text", "output_text")
                )
                assert part["type"] != other
                assert part["type"] != mine or part["text"]
        elif kind in _CALLS:
            id = item.get("call_id") or item["id"]
            assert id not in asked
            asked[id] = kind
        elif kind.removesuffix("_output") in _CALLS:
            id = item.get("call_id") or item["id"]
            assert asked[id] == kind.removesuffix("_output")
            assert id not in told
            told.add(id)
        elif kind == "reasoning":
            assert isinstance(item["summary"], list)
            after = items[place + 1]
            assert (
                after.get("role") == "assistant"
                or after.get("type") in _CALLS | {"reasoning"}
                or str(after.get("type")).endswith(
                    ("_call", "mcp_list_tools", "mcp_approval_request", "compaction")
                )
            )
    assert told == set(asked)


def _anthropic(messages: list[Any]) -> None:
    assert messages
    assert messages[0]["role"] == "user"
    seen: set[str] = set()
    waiting: list[str] = []
    for place, message in enumerate(messages):
        assert set(message) == {"role", "content"}
        assert message["role"] == ("user", "assistant")[place % 2]
        content = message["content"]
        blocks: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        assert blocks
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        assert sorted(results) == sorted(waiting)
        assert all(block["type"] == "tool_result" for block in blocks[: len(results)])
        waiting = []
        for block in blocks:
            if block["type"] == "text":
                assert block["text"].strip()
            if block["type"] == "tool_use":
                assert message["role"] == "assistant"
                assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", block["id"])
                assert re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", block["name"])
                assert isinstance(block["input"], dict)
                assert block["id"] not in seen
                seen.add(block["id"])
                waiting.append(block["id"])
            if block["type"] == "thinking":
                assert block["signature"]
            if block["type"] == "tool_result" and isinstance(block.get("content"), list):
                assert all(b["type"] != "text" or b["text"].strip() for b in block["content"])
        assert not blocks[-1]["type"].endswith("thinking")
    assert not waiting
