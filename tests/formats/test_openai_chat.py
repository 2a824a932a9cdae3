"""OpenAI Chat messages, in files and in programs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import FormatError, InvalidInput
from backscroll.formats.openai.chat import (
    FORMAT,
    message_from_openai,
    message_to_openai,
    messages_from_openai,
    openai_messages,
)
from backscroll.formats.shape import Blobs
from backscroll.vocab.foreign import Aside, ForeignCodeChange, ForeignMessage, ForeignThread, Item, Problem
from backscroll.vocab.message import Content, Role
from backscroll.vocab.part import Media, Opaque, Reasoning, Text, ToolCall, ToolResult
from tests.formats.memory_source import MemorySource
from tests.formats.wire_values import blobs, ids, json_values, objects, words

CHAT: list[dict[str, Any]] = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "name": "安娜", "content": [{"type": "text", "text": "天气?"}]},
    {
        "role": "assistant",
        "content": None,
        "refusal": None,
        "reasoning_content": "Look it up.",
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "weather", "arguments": '{"city": "北京" }'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "晴"},
    {"role": "assistant", "content": "Sunny.", "annotations": []},
]


def nothing(_: str) -> bytes | None:
    return None


def messages(thread: ForeignThread) -> list[ForeignMessage]:
    return [item for item in thread.items if isinstance(item, ForeignMessage)]


def exported(thread: ForeignThread, fetch: Blobs = nothing) -> tuple[str, list[Problem]]:
    assert FORMAT.write is not None
    out = FORMAT.write(thread, fetch)
    text = "".join(out.text)
    return text, out.problems


def only(source: MemorySource) -> ForeignThread:
    (thread,) = FORMAT.read(source)
    return thread


def test_roles_parts_and_names_are_understood() -> None:
    """The words land where a reader looks for them: roles, authors, reasoning, calls with raw arguments, results."""
    system, user, assistant, tool, last = messages_from_openai(CHAT)
    assert [m.role for m in (system, user, assistant, tool, last)] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert (user.content.author, user.content.text) == ("安娜", "天气?")
    assert assistant.content.parts == (
        Reasoning("Look it up."),
        ToolCall("call_1", "weather", '{"city": "北京" }'),
    )
    assert tool.content.parts == (ToolResult("call_1", (Text("晴"),)),)
    assert last.content == Content(
        (Text("Sunny."),), metadata={"openai": {"content": "string", "fields": {"annotations": []}}}
    )


def test_plain_messages_have_no_vendor_metadata() -> None:
    """So that equal text has equal content."""
    for data in ({"role": "user", "content": "hi"}, {"role": "tool", "tool_call_id": "x", "content": "ok"}):
        role, content = message_from_openai(data)
        assert content.metadata == {}
        assert all(not part.extra for part in content.parts)
        assert message_to_openai(role, content, nothing) == data


def test_legacy_function_calls_are_paired() -> None:
    """The old field has no ids, so the answer of a function gets the id of its latest call, and the wire form returns."""
    old = [
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"},
    ]
    call, answer = messages_from_openai(old)
    assert isinstance(call.content.parts[0], ToolCall)
    assert isinstance(answer.content.parts[0], ToolResult)
    assert call.content.parts[0].id == answer.content.parts[0].call_id != ""
    assert [message_to_openai(m.role, m.content, nothing) for m in (call, answer)] == old


def test_attachments_round_trip_through_blobs() -> None:
    """Images, sounds and files travel as bytes, and are written again from the bytes kept under their hash."""
    data = {
        "role": "user",
        "content": [
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk=", "detail": "low"}},
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
            {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
            {"type": "file", "file": {"file_data": "data:application/pdf;base64,aGk=", "filename": "文.pdf"}},
            {"type": "file", "file": {"file_id": "file-1"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,not canonical"}},
        ],
    }
    role, content = message_from_openai(data)
    kinds = [type(part).__name__ for part in content.parts]
    assert kinds == ["Media", "Media", "Media", "Media", "Opaque", "Opaque"]
    first = content.parts[0]
    assert isinstance(first, Media)
    assert (first.media_type, first.data) == ("image/png", b"hi")
    stored = tuple(
        Media(p.media_type, "hash", p.url, p.name, None, p.extra) if isinstance(p, Media) and p.data else p
        for p in content.parts
    )
    kept = Content(stored, content.author, content.metadata)
    assert message_to_openai(role, kept, lambda _: b"hi") == data
    lost: list[str] = []
    assert message_to_openai(role, kept, nothing, lost.append) != data
    assert any("not there any more" in what for what in lost)


content_parts = st.one_of(
    objects({"type": st.just("text"), "text": words | st.none()}),
    objects({"type": st.just("refusal"), "refusal": words}),
    objects(
        {
            "type": st.just("image_url"),
            "image_url": objects({"url": blobs.map("data:image/png;base64,{}".format) | words}),
        }
    ),
    objects({"type": st.just("image_url"), "image_url": st.just("https://example.com/x.png")}),
    objects(
        {
            "type": st.just("input_audio"),
            "input_audio": objects({"data": blobs | words, "format": st.sampled_from(["wav", "mp3", "x"])}),
        }
    ),
    objects(
        {
            "type": st.just("file"),
            "file": objects(
                {}, {"file_data": blobs.map("data:application/pdf;base64,{}".format), "filename": words}
            ),
        }
    ),
    json_values,
)
contents = words | st.none() | st.lists(content_parts, max_size=3) | json_values
calls = st.one_of(
    objects(
        {"function": objects({"name": words, "arguments": words | json_values})},
        {"id": ids | st.none(), "type": st.just("function")},
    ),
    objects({"id": ids, "type": st.just("custom"), "custom": objects({"name": words, "input": words})}),
    json_values,
)
wire_messages = objects(
    {"role": st.sampled_from(["system", "developer", "user", "assistant", "tool", "function"])},
    {
        "content": contents,
        "name": words | st.none(),
        "tool_calls": st.lists(calls, max_size=2) | json_values,
        "tool_call_id": ids | st.none(),
        "function_call": objects({"name": words, "arguments": words}) | json_values,
        "refusal": words | st.none(),
        "reasoning_content": words | st.none(),
        "reasoning": words | json_values,
    },
)


@given(st.lists(wire_messages, max_size=4))
def test_every_wire_message_comes_back_equal(data: list[dict[str, Any]]) -> None:
    """Whatever a wire message holds, known or not, it comes back as the equal JSON value."""
    back = [message_to_openai(m.role, m.content, nothing) for m in messages_from_openai(data)]
    assert json.dumps(back, sort_keys=True) == json.dumps(data, sort_keys=True)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(CHAT, ensure_ascii=False),
        json.dumps(CHAT, indent=2),
        json.dumps({"messages": CHAT, "model": "m", "id": "talk-1"}, indent=1),
        json.dumps({"model": "m", "messages": CHAT}),
    ],
    ids=["list", "indented list", "indented object", "one line object"],
)
def test_documents_round_trip(text: str) -> None:
    """A list and an object with messages are recognised, read, titled, and written back as the equal JSON value."""
    source = MemorySource(text, "talk.json")
    assert FORMAT.sniff(source) >= 0.6
    thread = only(source)
    assert thread.title == "天气?"
    assert thread.source_id.startswith("talk")
    assert len(messages(thread)) == 5
    written, problems = exported(only(source))
    assert json.loads(written) == json.loads(text)
    assert problems == []


def test_one_conversation_per_line_gives_one_thread_each() -> None:
    """Each line becomes its own thread; a broken line is reported with its number and the rest goes in."""
    lines = [json.dumps({"messages": CHAT}), "{broken", json.dumps({"id": "b", "messages": CHAT[:2]}), "[]"]
    threads = list(FORMAT.read(MemorySource("\n".join(lines), "many.jsonl")))
    assert [thread.source_id for thread in threads] == ["many:1", "b"]
    items = [list(thread.items) for thread in threads]
    found = [
        (item.line, type(item).__name__) for row in items for item in row if isinstance(item, Problem | Aside)
    ]
    assert found == [(2, "Problem"), (2, "Aside"), (4, "Problem"), (4, "Aside")]
    assert [sum(isinstance(i, ForeignMessage) for i in row) for row in items] == [5, 2]
    first = next(iter(FORMAT.read(MemorySource("\n".join(lines), "many.jsonl"))))
    written, _ = exported(first)
    assert written.count("\n") == 1
    assert json.loads(written) == {"messages": CHAT}


def test_one_message_per_line_is_one_thread() -> None:
    """Broken and foreign lines are reported, kept, and exported in place."""
    lines = [
        json.dumps(CHAT[0]),
        '{"role": "user", "cont',
        "7",
        json.dumps({"role": "critic", "content": "x"}),
        "",
        json.dumps(CHAT[1]),
    ]
    source = MemorySource("\n".join(lines), "log.jsonl")
    items = list(only(source).items)
    assert [(type(i).__name__, i.line) for i in items if not isinstance(i, ForeignCodeChange)] == [
        ("ForeignMessage", 1),
        ("Problem", 2),
        ("Aside", 2),
        ("Problem", 3),
        ("Aside", 3),
        ("Problem", 4),
        ("Aside", 4),
        ("ForeignMessage", 6),
    ]
    written, _ = exported(only(source))
    assert [line for line in written.split("\n") if line][1] == lines[1]
    assert len(written.splitlines()) == 5


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("shape", ["list", "object"])
def test_truncated_document_gives_its_complete_messages(shape: str, indent: int | None) -> None:
    """The problem says where it was cut."""
    value = CHAT if shape == "list" else {"model": "m", "messages": CHAT}
    text = json.dumps(value, indent=indent)
    cut = text[: text.index("Sunny")]
    items = list(only(MemorySource(cut, "talk.json")).items)
    assert sum(isinstance(item, ForeignMessage) for item in items) == 4
    (problem,) = [item for item in items if isinstance(item, Problem)]
    assert "breaks off" in problem.what
    assert any(isinstance(item, Aside) for item in items)


@pytest.mark.parametrize(
    "content", ["", "   \n", "\x00\x01\xff binary", "{}", '{"messages": 3}', "[", "7", '"x"', "{{{"]
)
def test_files_without_messages_are_refused(content: str) -> None:
    """Nothing to read is a FormatError, and sniffing it is zero, never a crash."""
    source = MemorySource(content)
    assert FORMAT.sniff(source) == 0.0
    with pytest.raises(FormatError):
        list(FORMAT.read(source))


def test_folders_and_other_tools_are_not_recognised() -> None:
    """Folders and other tools' records are left to others."""
    assert FORMAT.sniff(MemorySource({"a": "b"})) == 0.0
    assert FORMAT.sniff(MemorySource('{"type":"message","role":"user","content":[]}')) < 0.5
    assert FORMAT.sniff(MemorySource('[{"from":"human","value":"x"}]')) == 0.0
    long = json.dumps([{"role": "system", "content": "x" * 100_000}, *CHAT])
    assert FORMAT.sniff(MemorySource(long)) >= 0.6


def test_invalid_entry_is_named_in_the_error() -> None:
    """An invalid entry is named in the error."""
    with pytest.raises(FormatError, match="entry 1"):
        messages_from_openai([{"role": "user", "content": "x"}, {"role": "judge"}])


def plain(role: Role, *parts: Any, **more: Any) -> ForeignMessage:
    return ForeignMessage(role, Content(tuple(parts), more.pop("author", None)), **more)


def test_foreign_thread_is_valid_and_reports_losses() -> None:
    """Parts become plain wire messages; losses are reported with their message."""
    items: list[Item] = [
        plain("system", Text("S")),
        plain(
            "user", Text("你好"), Media("image/png", data=b"hi"), author="Ann Lee", pinned=True, hidden=True
        ),
        plain(
            "assistant",
            Reasoning("hm", "sig"),
            ToolCall("c1", "ls", {"p": "文"}),
            ToolCall("c2", "cat", "{}"),
            Text("done?"),
        ),
        plain(
            "tool",
            ToolResult("c1", (Text("a"), Media("image/png", data=b"hi"))),
            ToolResult("c2", (), is_error=True),
        ),
        ForeignMessage(
            "assistant",
            Content((Text("B"),)),
            alternatives=(Content((Text("A"),)), Content((Text("B"),))),
            chosen=1,
        ),
        plain("assistant", Opaque("anthropic", "redacted_thinking", "{}")),
        Aside("progress", "{}"),
        Aside("progress", "{}"),
        ForeignCodeChange("made it", "a.py"),
        Problem("was odd", 3),
    ]
    text, problems = exported(ForeignThread("elsewhere", "x", items, title="T"))
    wire = json.loads(text)
    assert wire["title"] == "T"
    assert [m["role"] for m in wire["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "assistant",
    ]
    assert wire["messages"][2] == {
        "role": "assistant",
        "reasoning_content": "hm",
        "content": "done?",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"p":"文"}'}},
            {"id": "c2", "type": "function", "function": {"name": "cat", "arguments": "{}"}},
        ],
    }
    assert wire["messages"][4] == {"role": "tool", "tool_call_id": "c2", "content": ""}
    said = [(p.what, p.where) for p in problems]
    for word, where in [
        ("pin", "message 2"),
        ("hide", "message 2"),
        ("Ann Lee", "message 2"),
        ("signature", "message 3"),
        ("before it", "message 3"),
        ("text only", "message 4"),
        ("failed", "message 4"),
        ("alternatives", "message 5"),
        ("redacted_thinking", "message 6"),
        ("2 record(s) of the kind 'progress'", ""),
        ("code change", ""),
        ("was odd", ""),
    ]:
        assert any(word in what and where == place for what, place in said), word


def test_exports_are_deterministic() -> None:
    """The export can be read again."""
    items = [plain("user", Text("x")), plain("assistant", ToolCall("c", "f", {"a": 1}))]
    one, _ = exported(ForeignThread("elsewhere", "x", list(items)))
    two, _ = exported(ForeignThread("elsewhere", "x", list(items)))
    assert one == two
    assert [m.role for m in messages(only(MemorySource(one)))] == ["user", "assistant"]


def test_message_with_several_results_becomes_several_messages() -> None:
    """A message with two results is two on the wire, which the one-message function refuses to hide."""
    content = Content((ToolResult("a", (Text("1"),)), ToolResult("b", (Text("2"),)), Text("and this")))
    assert [m["role"] for m in openai_messages("tool", content, nothing)] == ["tool", "tool", "user"]
    with pytest.raises(InvalidInput):
        message_to_openai("tool", content, nothing)
