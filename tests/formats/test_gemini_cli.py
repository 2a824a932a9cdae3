"""Gemini CLI sessions: the document and the lines, calls with their results, steps back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from backscroll.formats.gemini_cli.reader import FORMAT
from backscroll.vocab.foreign import Aside, ForeignMessage, ForeignThread, Problem
from backscroll.vocab.part import Media, Opaque, Reasoning, Text, ToolCall, ToolResult
from tests.formats.leaves import leaves
from tests.formats.memory_source import MemorySource

SAMPLE = (
    Path(__file__).resolve().parents[3]
    / "shared"
    / "data"
    / "transcripts"
    / "exports"
    / "polylogue_gemini-cli-session.json"
)
FACTS = {"sessionId": "s1", "projectHash": "ph", "startTime": "2026-01-02T03:04:05Z", "lastUpdated": "x"}


def user(id: str, text: str) -> dict[str, Any]:
    return {"id": id, "timestamp": "2026-01-02T03:04:06Z", "type": "user", "content": [{"text": text}]}


def reply(id: str, text: str = "", **facts: Any) -> dict[str, Any]:
    return {"id": id, "timestamp": "2026-01-02T03:04:07Z", "type": "gemini", "content": text, **facts}


def lines(*rows: Any) -> MemorySource:
    text = "\n".join(row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows)
    return MemorySource(text + "\n", "session-2026-01-02T03-04-abc.jsonl")


def document(*messages: Any, **facts: Any) -> MemorySource:
    return MemorySource(
        json.dumps({**FACTS, "messages": list(messages), **facts}, indent=2), "session-1.json"
    )


def only(source: MemorySource) -> ForeignThread:
    (thread,) = FORMAT.read(source)
    return thread


def messages(source: MemorySource) -> list[ForeignMessage]:
    return [item for item in only(source).items if isinstance(item, ForeignMessage)]


CALL = {
    "id": "c1",
    "name": "read_file",
    "args": {"path": "a.py"},
    "result": [{"functionResponse": {"id": "c1", "name": "read_file", "response": {"output": "x = 1"}}}],
    "status": "success",
    "timestamp": "2026-01-02T03:04:09Z",
    "displayName": "ReadFile",
}


def test_session_as_one_document() -> None:
    """Facts, words, thoughts, calls and results of a session."""
    source = document(
        user("1", "读一下这个文件，告诉我里面有什么"),
        reply("2", "Sure.", thoughts=[{"subject": "S", "description": "D"}], toolCalls=[CALL], model="g", tokens={"input": 1}),
        {"id": "3", "timestamp": "2026-01-02T03:04:10Z", "type": "info", "content": "Update available"},
        summary="Reading",
    )  # fmt: skip
    thread = only(source)
    assert (thread.source_id, thread.title, thread.project, thread.kind) == ("s1", "Reading", "ph", "agent")
    assert (thread.started, thread.language) == ("2026-01-02T03:04:05Z", "zh")
    found = [item for item in thread.items if isinstance(item, ForeignMessage)]
    assert [(m.role, m.source_id, m.hidden) for m in found] == [
        ("user", "1", False), ("assistant", "2", False), ("tool", "2/results", False), ("system", "3", True),
    ]  # fmt: skip
    thought, text, call = found[1].content.parts
    assert thought == Reasoning("S\n\nD", extra={"gemini-cli": {"subject": "S", "description": "D"}})
    assert text == Text("Sure.")
    assert isinstance(call, ToolCall)
    assert (call.id, call.name, call.arguments) == ("c1", "read_file", {"path": "a.py"})
    assert call.extra["gemini-cli"]["displayName"] == "ReadFile"
    (result,) = found[2].content.parts
    assert isinstance(result, ToolResult)
    assert (result.call_id, result.name, result.is_error) == ("c1", "read_file", False)
    assert [part.text for part in result.content if isinstance(part, Text)] == ["x = 1"]
    assert found[2].at == "2026-01-02T03:04:09Z"
    assert found[1].content.metadata["gemini-cli"]["tokens"] == {"input": 1}


def test_parts_of_a_message() -> None:
    """Pictures, files, thoughts and unknown parts of a message."""
    content = [
        "plain",
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}},
        {"fileData": {"mimeType": "text/plain", "fileUri": "gs://x"}},
        {"text": "think", "thought": True},
        {"executableCode": {"code": "1"}},
        {"functionResponse": {"response": {"a": 1}}},
        5,
    ]
    said = messages(document({"id": "1", "type": "user", "content": content}))[0]
    plain, image, file, thought, code, told, odd = said.content.parts
    assert plain == Text("plain")
    assert image == Media("image/png", data=b"\x89PNG")
    assert isinstance(file, Media)
    assert file.url == "gs://x"
    assert isinstance(thought, Reasoning)
    assert isinstance(code, Opaque)
    assert isinstance(told, Text)
    assert told.text == '{"a":1}'
    assert isinstance(odd, Opaque)
    failed = messages(document(reply("2", toolCalls=[{**CALL, "status": "error"}])))[1].content.parts[0]
    assert isinstance(failed, ToolResult)
    assert failed.is_error


def test_session_as_lines() -> None:
    """A message that is written again counts as last written; facts change; every line is accounted for."""
    source = lines(
        FACTS,
        user("1", "hi"),
        reply("2", "par"),
        reply("2", "partial no more"),
        {"$set": {"summary": "New"}},
        "{oops",
    )
    assert FORMAT.sniff(source) > 0.9
    thread = only(source)
    assert thread.title == "New"
    items = list(thread.items)
    found = [item for item in items if isinstance(item, ForeignMessage)]
    assert [(m.content.text, m.line) for m in found] == [("hi", 2), ("partial no more", 4)]
    asides = [item for item in items if isinstance(item, Aside)]
    assert [aside.kind for aside in asides] == ["superseded", "malformed"]
    assert json.loads(asides[0].raw)["content"] == "par"
    assert [item.line for item in items if isinstance(item, Problem)] == [6]


def test_rewind_makes_a_branch() -> None:
    """Rewound messages are a branch; later ones are live."""
    source = lines(
        FACTS,
        user("1", "a"),
        reply("2", "b"),
        user("3", "c"),
        reply("4", "d"),
        {"$rewindTo": "3"},
        user("5", "e"),
    )
    assert [(m.source_id, m.parent_id) for m in messages(source)] == [
        ("1", None), ("2", None), ("5", None), ("3", "2"), ("4", None),
    ]  # fmt: skip
    source = lines(FACTS, reply("1", toolCalls=[CALL]), user("2", "b"), {"$rewindTo": "2"}, user("3", "c"))
    assert [(m.source_id, m.parent_id) for m in messages(source)] == [
        ("1", None), ("1/results", None), ("3", None), ("2", "1/results"),
    ]  # fmt: skip
    source = lines(FACTS, user("1", "a"), {"$rewindTo": "1"}, user("2", "b"))
    assert [(m.source_id, m.parent_id) for m in messages(source)] == [("2", None), ("1", "")]


def test_shortened_message_list_removes_nothing() -> None:
    """A shortened list adds its summary; earlier messages stay."""
    short = {"$set": {"messages": [user("sum", "summary so far"), {**reply("2"), "content": "masked"}]}}
    thread = only(lines(FACTS, user("1", "a"), reply("2", "long answer"), short, user("3", "on")))
    items = list(thread.items)
    found = [item.content.text for item in items if isinstance(item, ForeignMessage)]
    assert found == ["a", "long answer", "summary so far", "on"]
    assert [item.kind for item in items if isinstance(item, Aside)] == ["$set"]


def test_truncated_document_gives_its_complete_messages() -> None:
    """The whole messages of a document that breaks off are read, with a problem."""
    text = document(user("1", "a"), user("2", "b")).text()
    items = list(only(MemorySource(text[:-80], "session-1.json")).items)
    assert [item.source_id for item in items if isinstance(item, ForeignMessage)] == ["1"]
    assert any(isinstance(item, Problem) for item in items)


def test_folders_of_chats_are_read() -> None:
    """The folder of a project's chats, of a project and of all projects are read; other files in them are not."""
    chats = {"session-a.json": document(user("1", "a")).text(), "notes.json": "{}"}
    for tree in (chats, {"chats": chats, "logs.json": "[]"}, {"hash": {"chats": chats}, "bin": {}}):
        folder = MemorySource(tree, "tmp")
        assert FORMAT.sniff(folder) > 0.9
        assert only(folder).source_id == "s1"


@pytest.mark.parametrize("text", ["", "\0", "[]", "{}", '{"sessionId": "x", "type": "user"}'])
def test_other_files_are_not_recognised(text: str) -> None:
    """Foreign, binary and empty files and folders are not recognised."""
    assert FORMAT.sniff(MemorySource(text, "session-1.json")) == 0.0
    assert FORMAT.sniff(MemorySource({"a": text}, "folder")) == 0.0


@pytest.mark.skipif(not SAMPLE.is_file(), reason="the sample exports are not here")
def test_sample_is_read_completely() -> None:
    """Every message of the sample, with every single value in it, is among the items."""
    text = SAMPLE.read_text(encoding="utf-8")
    raw = json.loads(text)
    found = messages(MemorySource(text, SAMPLE.name))
    for item, original in zip(found, raw["messages"], strict=True):
        assert leaves(original) <= leaves(item)
