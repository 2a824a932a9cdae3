"""From one tool's format to another's: valid files, nothing duplicated, and losses are reported."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from backscroll.formats.anthropic import reader as anthropic
from backscroll.formats.claude_code import reader as claude_code
from backscroll.formats.codex import reader as codex
from backscroll.formats.openai import chat as openai_chat
from backscroll.formats.shape import Format
from backscroll.vocab.foreign import ForeignMessage, ForeignThread, Item
from backscroll.vocab.part import Reasoning, Text, ToolCall, ToolResult
from tests.formats.foreign_threads import Shelf, exported, messages, opened, rows, said, transcripts
from tests.formats.memory_source import MemorySource

FORMATS = [openai_chat.FORMAT, anthropic.FORMAT, claude_code.FORMAT, codex.FORMAT]
REAL = transcripts("claude-code/*.jsonl")

#: Parallel calls and a thought, one message per piece, as in agents' logs.
PIECES: list[Item] = [
    said("user", Text("看看"), at="2026-01-01T00:00:00Z"),
    said("assistant", Reasoning("hm", "proof")),
    said("assistant", Text("Looking.")),
    said("assistant", ToolCall("c1", "ls", {"p": "."})),
    said("assistant", ToolCall("c2", "cat", {"p": "a"})),
    said("tool", ToolResult("c2", (Text("2"),))),
    said("tool", ToolResult("c1", (Text("1"),))),
    said("assistant", Text("Done.")),
]


def check_openai(text: str) -> None:
    """Every result follows the message with its call, and all calls are answered before anybody else speaks."""
    open_calls: set[str] = set()
    for message in json.loads(text)["messages"]:
        if message["role"] == "tool":
            assert message["tool_call_id"] in open_calls
            open_calls.remove(message["tool_call_id"])
            continue
        assert not open_calls, f"{message['role']} speaks before {open_calls} are answered"
        assert message.get("content") is not None or message.get("tool_calls")
        open_calls = {call["id"] for call in message.get("tool_calls", [])}


def check_anthropic(text: str) -> None:
    """All results of a message's calls are first in the very next message, which is the user's."""
    wire = json.loads(text)["messages"]
    for before, after in pairwise(wire):
        calls = {b["id"] for b in blocks(before) if b["type"] == "tool_use"}
        results = {b["tool_use_id"] for b in blocks(after) if b["type"] == "tool_result"}
        assert results == calls
        assert (before["role"], after["role"]) != ("assistant", "assistant") or not calls


def blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    return message["content"] if isinstance(message["content"], list) else []


def test_reply_in_pieces_is_valid_in_every_format() -> None:
    """Calls in separate messages are joined where the wire wants them together."""
    thread = ForeignThread("elsewhere", "x", PIECES)
    check_openai(exported(openai_chat.FORMAT, thread)[0])
    check_anthropic(exported(anthropic.FORMAT, thread)[0])
    lines = rows(exported(claude_code.FORMAT, thread)[0])
    replies = [row["message"]["id"] for row in lines if row["type"] == "assistant"]
    assert len(replies) == 5
    assert replies[2] == replies[3] != replies[4]
    items = [
        row["payload"]["type"]
        for row in rows(exported(codex.FORMAT, thread)[0])
        if row["type"] == "response_item"
    ]
    assert items == ["message", "message", *["function_call"] * 2, *["function_call_output"] * 2, "message"]


@pytest.mark.parametrize("path", REAL)
@pytest.mark.parametrize("target", [f for f in FORMATS if f.name != "claude-code"], ids=lambda f: f.name)
def test_real_transcripts_convert_to_every_other_format(path: Path, target: Format) -> None:
    """Text and calls are complete, the file is recognised, and a second export is the same."""

    def thread() -> ForeignThread:
        (found,) = claude_code.FORMAT.read(opened(path))
        return Shelf().through(found)

    text, problems = exported(target, thread())
    assert exported(target, thread())[0] == text
    assert any("have no place" in problem.what for problem in problems)
    source = MemorySource(text, "export" + target.suffix)
    best = max(FORMATS, key=lambda f: f.sniff(source))
    assert best is target
    (again,) = target.read(source)
    before, after = list(messages(thread().items)), list(messages(again.items))
    assert words(before) == words(after)
    assert calls(before) == calls(after)


@pytest.mark.parametrize("path", REAL)
def test_real_transcripts_are_valid_on_the_openai_wire(path: Path) -> None:
    """Apart from calls that were never answered, pairs of calls and results are where OpenAI wants them."""
    (thread,) = claude_code.FORMAT.read(opened(path))
    check_openai(exported(openai_chat.FORMAT, thread)[0])


def words(found: list[ForeignMessage]) -> str:
    """All that was said and answered, whatever the boundaries of messages; white space aside."""
    said_parts = [part for m in found for part in m.content.parts]
    texts = [part.text for part in said_parts if isinstance(part, Text)]
    results = [
        p.text
        for part in said_parts
        if isinstance(part, ToolResult)
        for p in part.content
        if isinstance(p, Text)
    ]
    return "".join("".join(sorted(texts)).split()) + "".join("".join(sorted(results)).split())


def calls(found: list[ForeignMessage]) -> list[tuple[str, str, Any]]:
    out: list[tuple[str, str, Any]] = []
    for part in (part for m in found for part in m.content.parts):
        if isinstance(part, ToolCall):
            asked = json.loads(part.arguments) if isinstance(part.arguments, str) else part.arguments
            out.append((part.id, part.name, asked))
    return out
