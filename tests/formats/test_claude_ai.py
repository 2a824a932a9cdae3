"""claude.ai exports: blocks, attachments, tools without ids, and the tree of newer exports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from backscroll.errors import FormatError
from backscroll.formats.claude_ai.reader import FORMAT
from backscroll.vocab.foreign import Aside, ForeignMessage, ForeignThread, Problem
from backscroll.vocab.part import Media, Opaque, Reasoning, Text, ToolCall, ToolResult
from tests.formats.leaves import leaves
from tests.formats.memory_source import MemorySource
from tests.formats.stored import stored

SAMPLES = Path(__file__).resolve().parents[3] / "shared" / "data" / "transcripts" / "exports"
ROOT = "00000000-0000-4000-8000-000000000000"


def message(uuid: str, sender: str = "human", content: Any = None, **facts: Any) -> dict[str, Any]:
    """A message as the export has it; one text block from a string."""
    if isinstance(content, str):
        facts = {"text": content, **facts}
        content = [{"type": "text", "text": content}]
    return {
        "uuid": uuid,
        "text": "",
        "content": content if content is not None else [],
        "sender": sender,
        "created_at": "2025-01-02T03:04:05.123456Z",
        "updated_at": "2025-01-02T03:04:05.123456Z",
        "attachments": [],
        "files": [],
        **facts,
    }


def conversation(*messages: Any, **facts: Any) -> dict[str, Any]:
    return {
        "uuid": "conv",
        "name": "Un café",
        "summary": "",
        "created_at": "2025-01-02T03:00:00Z",
        "updated_at": "2025-01-02T04:00:00Z",
        "account": {"uuid": "me"},
        "chat_messages": list(messages),
        **facts,
    }


def threads(value: Any) -> list[ForeignThread]:
    return list(FORMAT.read(MemorySource(json.dumps(value, ensure_ascii=False), "conversations.json")))


def messages(*given: Any, **facts: Any) -> list[ForeignMessage]:
    (thread,) = threads([conversation(*given, **facts)])
    items = list(thread.items)
    assert all(isinstance(item, ForeignMessage) for item in items), items
    return [item for item in items if isinstance(item, ForeignMessage)]


def one(content: Any, **facts: Any) -> ForeignMessage:
    return messages(message("m", "assistant", content, **facts))[0]


def test_plain_conversation() -> None:
    """Title, times, roles, words, and the facts of the conversation."""
    value = conversation(
        message("1", "human", "我们去公园散步好吗？"),
        message("2", "assistant", "好。"),
        project={"name": "P"},
    )
    (thread,) = threads([value])
    assert (thread.format, thread.source_id, thread.title, thread.project) == (
        "claude-ai",
        "conv",
        "Un café",
        "P",
    )
    assert (thread.started, thread.language) == ("2025-01-02T03:00:00Z", "zh")
    assert thread.metadata["claude-ai"]["account"] == {"uuid": "me"}
    found = [item for item in thread.items if isinstance(item, ForeignMessage)]
    assert [(m.role, m.source_id, m.content.text, m.at) for m in found] == [
        ("user", "1", "我们去公园散步好吗？", "2025-01-02T03:04:05.123456Z"),
        ("assistant", "2", "好。", "2025-01-02T03:04:05.123456Z"),
    ]
    assert "text" not in found[0].content.metadata["claude-ai"]


def test_messages_without_blocks_use_their_text() -> None:
    """Without blocks, or with blocks that have no words, the plain text counts; where both differ, both are kept."""
    assert one(None, text="just this").content.parts == (Text("just this"),)
    words, unknown = one([{"type": "flag", "x": 1}], text="words").content.parts
    assert words == Text("words")
    assert isinstance(unknown, Opaque)
    both = one([{"type": "text", "text": "a"}], text="b").content
    assert both.parts == (Text("a"),)
    assert both.metadata["claude-ai"]["text"] == "b"


def test_content_blocks_become_parts() -> None:
    """Thinking, words with citations and unknown blocks become parts, with everything that they say."""
    blocks = [
        {
            "type": "thinking",
            "thinking": "hm",
            "signature": "sig",
            "summaries": [{"summary": "s"}],
            "flags": None,
        },
        {
            "type": "text",
            "text": "so",
            "citations": [{"url": "u"}],
            "start_timestamp": "2025-01-02T03:04:05Z",
        },
        {"type": "token_budget", "remaining": 3},
        "bare",
        7,
    ]
    thinking, text, budget, bare, odd = one(blocks).content.parts
    assert thinking == Reasoning("hm", "sig", {"claude-ai": {"summaries": [{"summary": "s"}]}})
    assert text == Text(
        "so", {"claude-ai": {"citations": [{"url": "u"}], "start_timestamp": "2025-01-02T03:04:05Z"}}
    )
    assert isinstance(budget, Opaque)
    assert json.loads(budget.raw) == blocks[2]
    assert bare == Text("bare")
    assert odd == Opaque("claude-ai", "block", "7")


def test_tool_results_are_paired_with_and_without_ids() -> None:
    """Results are tied to their calls by id, and where the export leaves the ids out, by name and order."""
    blocks = [
        {"type": "tool_use", "id": "t1", "name": "repl", "input": {"code": "1"}, "message": "Running"},
        {"type": "tool_result", "tool_use_id": "t1", "name": "repl", "content": "1", "is_error": True},
        {"type": "tool_use", "id": None, "name": "web_search", "input": {"q": "x"}},
        {"type": "tool_use", "id": None, "name": "fetch", "input": {}},
        {
            "type": "tool_result",
            "tool_use_id": None,
            "name": "fetch",
            "content": [{"type": "text", "text": "page"}],
        },
        {
            "type": "tool_result",
            "tool_use_id": None,
            "name": "web_search",
            "content": [
                {"type": "knowledge", "title": "T", "text": "words", "url": "u"},
                {"type": "local_resource", "file_path": "p"},
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="},
                },
            ],
        },
        {"type": "tool_result", "name": "nobody", "content": []},
    ]
    parts = one(blocks).content.parts
    assert parts[0] == ToolCall("t1", "repl", {"code": "1"}, {"claude-ai": {"message": "Running"}})
    assert parts[1] == ToolResult("t1", (Text("1"),), True, "repl")
    assert [part.id for part in parts if isinstance(part, ToolCall)] == ["t1", "m/2", "m/3"]
    assert parts[4] == ToolResult("m/3", (Text("page"),), False, "fetch")
    found = parts[5]
    assert isinstance(found, ToolResult)
    assert found.call_id == "m/2"
    knowledge, resource, image = found.content
    assert knowledge == Text("words", {"claude-ai": {"type": "knowledge", "title": "T", "url": "u"}})
    assert isinstance(resource, Opaque)
    assert isinstance(image, Media)
    assert (image.media_type, image.data) == ("image/png", b"\x89PNG")
    assert parts[6] == ToolResult("", (), False, "nobody")


def test_attachments_and_files_become_parts() -> None:
    """The text of an attachment is a part and can be found; files are remembered once each, by name and kind."""
    attachments = [
        {"file_name": "pasted.txt", "file_type": "txt", "file_size": 5, "extracted_content": "long paste"},
        {"file_name": "x.pdf", "file_type": "application/pdf", "extracted_content": ""},
    ]
    file = {"file_uuid": "f", "file_name": "cat", "file_kind": "image", "preview_url": "/p"}
    said = one("look", attachments=attachments, files=[file], files_v2=[file])
    words, paste, pdf, image = said.content.parts
    assert words == Text("look")
    assert paste == Text(
        "long paste",
        {"claude-ai": {"attachment": {"file_name": "pasted.txt", "file_type": "txt", "file_size": 5}}},
    )
    assert isinstance(pdf, Media)
    assert (pdf.media_type, pdf.name) == ("application/pdf", "x.pdf")
    assert isinstance(image, Media)
    assert (image.media_type, image.name, image.url) == ("image/*", "cat", "/p")
    assert "long paste" in said.content.text


def test_parent_links_make_branches_and_alternatives() -> None:
    """Parents make branches and versions; the live path is the one that leads to the current or newest leaf."""

    def at(seconds: int) -> dict[str, str]:
        return {"created_at": f"2025-01-02T03:04:{seconds:02}Z"}

    given = [
        message("u1", "human", "first", parent_message_uuid=ROOT, **at(1)),
        message("a1", "assistant", "one", parent_message_uuid="u1", **at(2)),
        message("a2", "assistant", "two", parent_message_uuid="u1", **at(3)),
        message("u2", "human", "left", parent_message_uuid="a1", **at(9)),
        message("u3", "human", "right", parent_message_uuid="a1", **at(5)),
        message("u0", "human", "other beginning", parent_message_uuid=ROOT, **at(6)),
    ]
    found = messages(*given)
    assert [(m.source_id, m.parent_id) for m in found] == [
        ("u1", None), ("a1", None), ("u2", None), ("u3", "a1"), ("u0", ""),
    ]  # fmt: skip
    assert [content.text for content in found[1].alternatives] == ["one", "two"]
    assert found[1].chosen == 0
    found = messages(*given, current_leaf_message_uuid="u3")
    assert [m.source_id for m in found] == ["u1", "a1", "u3", "u2", "u0"]


def test_invalid_messages_are_kept() -> None:
    """Messages that are not objects, have no id or the id of another stay in; unknown senders speak as the system."""
    value = conversation(message("1"), 5, message("1"), message("", "oracle", "boo"))
    (thread,) = threads([value])
    items = list(thread.items)
    assert [item.source_id for item in items if isinstance(item, ForeignMessage)] == ["1", "1#3", None]
    assert [item.role for item in items if isinstance(item, ForeignMessage)][-1] == "system"
    assert any(isinstance(item, Problem) for item in items)
    assert Aside("unknown", "5") in items


def test_damaged_exports_are_reported() -> None:
    """Elements that are not conversations are reported; a file of nothing else is an error; a broken end costs the end."""
    good = conversation(message("1", "human", "hi"))
    (thread,) = threads([{"uuid": "x"}, good])
    assert [type(item) for item in thread.items] == [ForeignMessage, Problem]
    with pytest.raises(FormatError):
        threads([{"uuid": "x"}])
    text = json.dumps([good, good])
    (thread,) = FORMAT.read(MemorySource(text[:-50], "conversations.json"))
    assert isinstance(list(thread.items)[-1], Problem)


@pytest.mark.parametrize("shape", ["list", "object", "wrapped", "folder"])
def test_document_shapes(shape: str) -> None:
    """A list, one conversation, an object with the list, and the unpacked folder are all read."""
    value = conversation(message("1", "human", "hi"))
    document = json.dumps(
        {
            "list": [value],
            "object": value,
            "wrapped": {"account": "a", "conversations": [value]},
            "folder": [value],
        }[shape]
    )
    folder = {"conversations.json": document, "users.json": "[]"}
    given = MemorySource(folder if shape == "folder" else document, "conversations.json")
    assert FORMAT.sniff(given) > 0.9
    (thread,) = FORMAT.read(given)
    assert thread.source_id == "conv"
    assert isinstance(next(iter(thread.items)), ForeignMessage)


@pytest.mark.parametrize("text", ["", "\0\0", "[]", "{}", '[{"mapping": {}}]', '{"messages": []}', "hello"])
def test_other_files_are_not_recognised(text: str) -> None:
    """Foreign, binary and empty files and folders are not recognised, and nothing is raised."""
    assert FORMAT.sniff(MemorySource(text, "conversations.json")) == 0.0
    assert FORMAT.sniff(MemorySource({"a": text}, "folder")) == 0.0


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the sample exports are not here")
@pytest.mark.parametrize("name", ["claude-ai_sample-00", "claude-ai_sample-01", "polylogue_claude-ai-export"])
def test_sample_exports_are_read_completely(name: str) -> None:
    """Every message of a sample, with every single value in it, is among the items, and survives the store."""
    text = (SAMPLES / f"{name}.json").read_text(encoding="utf-8")
    raw = json.loads(text)
    (thread,) = FORMAT.read(MemorySource(text, f"{name}.json"))
    found = [item for item in thread.items if isinstance(item, ForeignMessage)]
    assert [m.source_id for m in found] == [m["uuid"] for m in raw["chat_messages"]]
    for item, original in zip(found, raw["chat_messages"], strict=True):
        assert leaves(original) - {"", "text"} <= leaves(item)
    again, _ = stored(ForeignThread("claude-ai", "c", found))
    assert [item.content for item in again.items if isinstance(item, ForeignMessage)] == [
        m.content for m in found
    ]
