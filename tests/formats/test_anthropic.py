"""Anthropic messages, in files and in programs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import FormatError
from backscroll.formats.anthropic.reader import FORMAT, messages_from_anthropic, messages_to_anthropic
from backscroll.formats.openai import chat as openai_chat
from backscroll.vocab.foreign import Aside, ForeignMessage, ForeignThread, Item, Problem
from backscroll.vocab.message import Content, Role
from backscroll.vocab.part import Media, Opaque, Reasoning, Text, ToolCall, ToolResult
from tests.formats.memory_source import MemorySource
from tests.formats.wire_values import blobs, ids, json_values, objects, words

CHAT: list[dict[str, Any]] = [
    {"role": "user", "content": "列出文件"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "ls", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "xyz"},
            {"type": "text", "text": "One moment.", "citations": []},
            {"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {"path": "."}},
            {"type": "tool_use", "id": "toolu_2", "name": "cat", "input": {}},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "toolu_1",
                "content": "a.txt",
                "cache_control": {"type": "ephemeral"},
            },
            {
                "type": "tool_result",
                "tool_use_id": "toolu_2",
                "content": [{"type": "text", "text": "no"}],
                "is_error": True,
            },
            {"type": "text", "text": "And b.txt?"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        ],
    },
    {"role": "assistant", "content": "Gone.", "stop_reason": "end_turn"},
]


def nothing(_: str) -> bytes | None:
    return None


def only(source: MemorySource) -> ForeignThread:
    (thread,) = FORMAT.read(source)
    return thread


def exported(thread: ForeignThread) -> tuple[str, list[Problem]]:
    assert FORMAT.write is not None
    out = FORMAT.write(thread, nothing)
    text = "".join(out.text)
    return text, out.problems


def plain(role: Role, *parts: Any, **more: Any) -> ForeignMessage:
    return ForeignMessage(role, Content(tuple(parts), more.pop("author", None)), **more)


def test_user_message_is_split_into_results_and_words() -> None:
    """Results become tool messages, and each part is placed under its role."""
    system, ask, reply, first, second, more, last = messages_from_anthropic(CHAT, "Be kind.")
    assert [m.role for m in (system, ask, reply, first, second, more, last)] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
        "assistant",
    ]
    assert reply.content.parts == (
        Reasoning("ls", "c2ln"),
        Opaque("anthropic", "redacted_thinking", '{"type":"redacted_thinking","data":"xyz"}'),
        Text("One moment.", {"anthropic": {"citations": []}}),
        ToolCall("toolu_1", "ls", {"path": "."}),
        ToolCall("toolu_2", "cat", {}),
    )
    assert first.content.parts == (
        ToolResult(
            "toolu_1", (Text("a.txt"),), extra={"anthropic": {"cache_control": {"type": "ephemeral"}}}
        ),
    )
    assert isinstance(second.content.parts[0], ToolResult)
    assert second.content.parts[0].is_error
    assert more.content.parts == (Text("And b.txt?"), Media("image/png", data=b"hi"))
    assert last.content.text == "Gone."


def test_split_messages_are_joined_again() -> None:
    """Results and words return to one user message, exactly as imported."""
    prompt = [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}]
    assert messages_to_anthropic(messages_from_anthropic(CHAT, prompt), nothing) == (prompt, CHAT)
    assert messages_to_anthropic(messages_from_anthropic(CHAT), nothing) == (None, CHAT)


def test_joining_works_after_edits() -> None:
    """Without the first result the rest is still one valid user message; edited text is written."""
    messages = messages_from_anthropic(CHAT)
    del messages[2]
    messages[3] = ForeignMessage("user", Content((Text("Never mind."),)))
    out = messages_to_anthropic(messages, nothing).messages
    assert [block["type"] for block in out[2]["content"]] == ["tool_result"]
    assert out[3] == {"role": "user", "content": "Never mind."}


def test_attachments_are_written_from_blobs() -> None:
    """Bytes kept under a hash go out as they came in; forgotten ones leave a trace and a note."""
    image = CHAT[2]["content"][3]
    (message,) = messages_from_anthropic([{"role": "user", "content": [image]}])
    stored = ForeignMessage("user", Content((Media("image/png", "hash"),), metadata=message.content.metadata))
    assert messages_to_anthropic([stored], lambda _: b"hi").messages[0]["content"] == [image]
    notes: list[str] = []
    gone = messages_to_anthropic([stored], nothing, notes.append).messages[0]["content"]
    assert gone == [{"type": "text", "text": "[image/png]"}]
    assert len(notes) == 1


sources = st.one_of(
    objects(
        {
            "type": st.just("base64"),
            "media_type": st.sampled_from(["image/png", "application/pdf"]),
            "data": blobs | words,
        }
    ),
    objects({"type": st.just("url"), "url": st.just("https://example.com/x")}),
    objects({"type": st.just("file"), "file_id": ids}),
    json_values,
)
simple_blocks = st.one_of(
    objects({"type": st.just("text"), "text": words | st.none()}, {"citations": json_values}),
    objects({"type": st.just("image"), "source": sources}),
    objects({"type": st.just("document"), "source": sources}, {"title": words | st.none()}),
    json_values,
)
blocks = st.one_of(
    simple_blocks,
    objects({"type": st.just("thinking"), "thinking": words}, {"signature": words | st.none()}),
    objects({"type": st.just("redacted_thinking"), "data": words}),
    objects({"type": st.just("tool_use"), "id": ids | st.none(), "name": words}, {"input": json_values}),
    objects(
        {"type": st.just("tool_result"), "tool_use_id": ids},
        {
            "content": words | st.none() | st.lists(simple_blocks, max_size=2),
            "is_error": st.booleans() | json_values,
        },
    ),
    objects({"type": st.just("server_tool_use"), "id": ids}),
)
wire_messages = objects(
    {"role": st.sampled_from(["user", "user", "assistant", "system"])},
    {"content": words | st.lists(blocks, max_size=4) | json_values},
)
prompts = st.none() | words | st.lists(simple_blocks, max_size=2) | json_values


@given(st.lists(wire_messages, max_size=4), prompts)
def test_every_wire_message_comes_back_equal(data: list[dict[str, Any]], prompt: Any) -> None:
    """Whatever wire messages hold, known or not, they come back as the equal JSON value."""
    back = messages_to_anthropic(messages_from_anthropic(data, prompt), nothing)
    assert json.dumps(back.messages, sort_keys=True) == json.dumps(data, sort_keys=True)
    assert json.dumps(back.system, sort_keys=True) == json.dumps(prompt, sort_keys=True)


@pytest.mark.parametrize(
    "value",
    [
        CHAT,
        {"messages": CHAT, "model": "m", "max_tokens": 5},
        {"system": "S", "messages": CHAT, "tools": [{"name": "ls"}]},
        {"system": [{"type": "text", "text": "S"}], "messages": [*CHAT, {"role": "robot"}, 7]},
        {"system": None, "messages": CHAT},
        {"system": "only a prompt", "messages": []},
    ],
    ids=["list", "object", "system", "system blocks and odd entries", "null", "prompt only"],
)
@pytest.mark.parametrize("indent", [None, 1])
def test_documents_round_trip(value: Any, indent: int | None) -> None:
    """Request bodies and lists are read and written back as the equal JSON value."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    written, _ = exported(only(MemorySource(text, "body.json")))
    assert json.loads(written) == value


def test_lines_round_trip() -> None:
    """One message per line is one thread, exported in the same order."""
    text = "\n".join(json.dumps(m) for m in CHAT)
    written, problems = exported(only(MemorySource(text)))
    assert [json.loads(line) for line in written.splitlines()] == CHAT
    assert problems == []


def test_anthropic_is_distinguished_from_openai() -> None:
    """Blocks or a system key decide for Anthropic; plain strings are OpenAI's."""
    for value in (CHAT, {"messages": CHAT}, {"system": "S", "messages": [{"role": "user", "content": "x"}]}):
        source = MemorySource(json.dumps(value))
        assert FORMAT.sniff(source) > openai_chat.FORMAT.sniff(source)
    simple = MemorySource(json.dumps([{"role": "user", "content": '"type": "tool_use"'}]))
    assert FORMAT.sniff(simple) < openai_chat.FORMAT.sniff(simple)


@pytest.mark.parametrize("content", ["", "\x00\xff", "{}", "[", "null"])
def test_files_without_messages_are_refused(content: str) -> None:
    """Nothing to read is a FormatError, and sniffing it is zero, never a crash."""
    assert FORMAT.sniff(MemorySource(content)) == 0.0
    assert FORMAT.sniff(MemorySource({"x": content})) == 0.0
    with pytest.raises(FormatError):
        list(FORMAT.read(MemorySource(content)))


def test_invalid_entry_is_named_in_the_error() -> None:
    """An invalid entry is named in the error."""
    with pytest.raises(FormatError, match="entry 0"):
        messages_from_anthropic([{"role": "tool", "content": "x"}])


def test_foreign_thread_is_valid_and_reports_losses() -> None:
    """Ids and inputs are adapted to the wire, results are grouped; the rest is reported."""
    items: list[Item] = [
        plain("system", Text("S1")),
        plain("system", Text("S2")),
        plain("user", Text("go"), author="Ann", pinned=True),
        plain("assistant", Reasoning("hm"), Text("")),
        plain("assistant", ToolCall("call:1|x", "ls", '{"p": 1}'), ToolCall("", "sh", "rm -r")),
        plain("tool", ToolResult("call:1|x", (Text("a"),), is_error=True)),
        plain("tool", ToolResult("", ())),
        plain(
            "user",
            Text("t"),
            Media("text/csv", data=b"x", name="数.csv"),
            Media("application/pdf", data=b"x", name="文.pdf"),
        ),
        plain("system", Text("late")),
        plain("assistant", Opaque("codex", "web_search_call", "{}"), Text("end"), hidden=True),
        Aside("progress", "{}"),
    ]
    text, problems = exported(ForeignThread("elsewhere", "x", items))
    wire = json.loads(text)
    assert [block["text"] for block in wire["system"]] == ["S1", "S2"]
    assert [m["role"] for m in wire["messages"]] == ["user", "assistant", "user", "user", "user", "assistant"]
    calls, results = wire["messages"][1]["content"], wire["messages"][2]["content"]
    assert [call["input"] for call in calls] == [{"p": 1}, {"arguments": "rm -r"}]
    assert [call["id"] for call in calls] == [result["tool_use_id"] for result in results]
    assert all(call["id"].startswith("toolu_") for call in calls)
    assert results[0]["is_error"] is True
    said = " | ".join(problem.what for problem in problems)
    for word in [
        "'Ann'",
        "pin",
        "signature",
        "nothing is left",
        "not a JSON object",
        "text/csv",
        "after the beginning",
        "web_search_call",
        "hide",
        "progress",
    ]:
        assert word in said, word
    again, _ = exported(ForeignThread("elsewhere", "x", list(items)))
    assert again == text


def test_reply_in_several_messages_becomes_one() -> None:
    """Thinking, a call and a second call that arrived as separate messages make one assistant message with its results."""
    items = [
        plain("user", Text("x")),
        plain("assistant", Reasoning("r", "s")),
        plain("assistant", ToolCall("a", "f", {})),
        plain("assistant", ToolCall("b", "f", {})),
        plain("tool", ToolResult("a", (Text("1"),))),
        plain("tool", ToolResult("b", (Text("2"),))),
    ]
    wire = messages_to_anthropic(items, nothing).messages
    assert [m["role"] for m in wire] == ["user", "assistant", "user"]
    assert [block["type"] for block in wire[1]["content"]] == ["thinking", "tool_use", "tool_use"]
