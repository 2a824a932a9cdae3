"""ChatGPT exports: the tree, the kinds of content, the files of an unpacked export, and what damage costs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from backscroll.errors import FormatError
from backscroll.formats.chatgpt.reader import FORMAT
from backscroll.vocab.foreign import Aside, ForeignMessage, ForeignThread, Problem
from backscroll.vocab.part import Media, Opaque, Reasoning, Text, ToolCall, ToolResult
from tests.formats.leaves import leaves
from tests.formats.memory_source import MemorySource
from tests.formats.stored import stored

SAMPLES = Path(__file__).resolve().parents[3] / "shared" / "data" / "transcripts" / "exports"


def node(
    id: str, parent: str | None, role: str = "user", content: Any = "", **message: Any
) -> dict[str, Any]:
    """A node as the export has it; text content from a string."""
    if isinstance(content, str):
        content = {"content_type": "text", "parts": [content]}
    name = message.pop("name", None)
    return {
        "id": id,
        "parent": parent,
        "children": [],
        "message": {
            "id": id,
            "author": {"role": role, "name": name, "metadata": {}},
            "create_time": 1700000000.5,
            "content": content,
            "status": "finished_successfully",
            "weight": 1.0,
            "metadata": {},
            "recipient": "all",
            **message,
        },
    }


def conversation(*nodes: dict[str, Any], current: str, **facts: Any) -> dict[str, Any]:
    """A conversation as the export has it, with a root that says nothing."""
    root: dict[str, Any] = {"id": "root", "message": None, "parent": None, "children": []}
    mapping = {each["id"]: each for each in (root, *nodes)}
    for each in nodes:
        mapping[each["parent"]]["children"].append(each["id"])
    return {
        "title": "A talk",
        "create_time": 1700000000.0,
        "update_time": 1700000100.0,
        "mapping": mapping,
        "current_node": current,
        "conversation_id": "conv-1",
        "id": "conv-1",
        **facts,
    }


def source(value: Any, name: str = "conversations.json") -> MemorySource:
    return MemorySource(json.dumps(value, ensure_ascii=False), name)


def threads(value: Any) -> list[ForeignThread]:
    return list(FORMAT.read(source(value)))


def messages(value: Mapping[str, Any]) -> list[ForeignMessage]:
    (thread,) = threads([value])
    items = list(thread.items)
    assert all(isinstance(item, ForeignMessage) for item in items), items
    return [item for item in items if isinstance(item, ForeignMessage)]


def one(content: Any, role: str = "assistant", **message: Any) -> ForeignMessage:
    return messages(conversation(node("m", "root", role, content, **message), current="m"))[0]


def test_plain_conversation() -> None:
    """Title, times, ids and words of a conversation without branches."""
    value = conversation(
        node("s", "root", "system", "", metadata={"is_visually_hidden_from_conversation": True}),
        node("u", "s", "user", "你好，今天的天气怎么样？"),
        node("a", "u", "assistant", "很好。", metadata={"model_slug": "gpt-5", "citations": [{"x": 1}]}),
        current="a",
    )
    (thread,) = threads([value])
    assert (thread.format, thread.source_id, thread.title) == ("chatgpt", "conv-1", "A talk")
    assert thread.started == "2023-11-14T22:13:20+00:00"
    assert thread.language == "zh"
    assert thread.metadata["chatgpt"]["silent_nodes"] == ["root"]
    assert thread.metadata["chatgpt"]["update_time"] == 1700000100.0
    found = [item for item in thread.items if isinstance(item, ForeignMessage)]
    assert [(m.role, m.content.text, m.hidden) for m in found] == [
        ("system", "", True),
        ("user", "你好，今天的天气怎么样？", False),
        ("assistant", "很好。", False),
    ]
    assert found[1].at == "2023-11-14T22:13:20.500000+00:00"
    kept = found[2].content.metadata["chatgpt"]
    assert kept["metadata"] == {"model_slug": "gpt-5", "citations": [{"x": 1}]}
    assert kept["id"] == "a"


def test_second_answers_are_alternatives_and_edits_are_branches() -> None:
    """A second answer is another version; an edited question is a branch that names where it leaves."""
    value = conversation(
        node("u1", "root", "user", "first try"),
        node("a1", "u1", "assistant", "meh"),
        node("u2", "root", "user", "second try"),
        node("a2", "u2", "assistant", "good", create_time=1700000001),
        node("a3", "u2", "assistant", "better", create_time=1700000002),
        node("u3", "a3", "user", "thanks"),
        node("u4", "a3", "user", "hm"),
        node("a4", "u4", "assistant", "what?"),
        current="a4",
    )
    found = messages(value)
    assert [(m.source_id, m.parent_id) for m in found] == [
        ("u2", None), ("a3", None), ("u4", None), ("a4", None), ("u1", ""), ("a1", None), ("u3", "a3"),
    ]  # fmt: skip
    answer = found[1]
    assert [content.text for content in answer.alternatives] == ["good", "better"]
    assert answer.chosen == 1
    assert answer.alternative_times == ("2023-11-14T22:13:21+00:00", "2023-11-14T22:13:22+00:00")
    assert [content.metadata["chatgpt"]["id"] for content in answer.alternatives] == ["a2", "a3"]


def test_alternatives_follow_the_order_of_the_parent() -> None:
    """The list of children decides the order of versions, not the order in the file."""
    value = conversation(
        node("u", "root"), node("a1", "u", "assistant", "1"), node("a2", "u", "assistant", "2"), current="a1"
    )
    value["mapping"]["u"]["children"] = ["a2", "a1"]
    assert [content.text for content in messages(value)[1].alternatives] == ["2", "1"]


def test_tool_messages_are_calls_and_results() -> None:
    """A message to a tool is a call, the tool's messages are results of it."""
    code = {"content_type": "code", "language": "python", "text": "print(1)"}
    output = {"content_type": "execution_output", "text": "1\n"}
    value = conversation(
        node("u", "root", "user", "run it"),
        node("c", "u", "assistant", code, recipient="python"),
        node("b", "c", "assistant", "searching", recipient="browser"),
        node("r", "b", "tool", output, name="python"),
        node(
            "r2", "r", "tool", {"content_type": "system_error", "name": "Timeout", "text": "late"}, name="x"
        ),
        node("a", "r2", "assistant", "One."),
        current="a",
    )
    found = messages(value)
    assert found[1].content.parts == (ToolCall("c", "python", "print(1)"),)
    assert found[1].content.metadata["chatgpt"]["content"] == {"content_type": "code", "language": "python"}
    assert found[3].role == "tool"
    assert found[3].content.parts == (ToolResult("c", (Text("1\n"),), False, "python"),)
    assert found[4].content.parts == (ToolResult("b", (Text("late"),), True, "x"),)


def test_thoughts_are_reasoning() -> None:
    """Thoughts and their recap become reasoning, with what else is known about them."""
    thought = {"summary": "Plan", "content": "First this.", "chunks": [], "finished": True}
    said = one({"content_type": "thoughts", "thoughts": [thought], "source_analysis_msg_id": "z"})
    assert said.content.parts == (Reasoning("Plan\n\nFirst this.", extra={"chatgpt": thought}),)
    assert said.content.metadata["chatgpt"]["content"]["source_analysis_msg_id"] == "z"
    recap = one({"content_type": "reasoning_recap", "content": "Thought for 3 seconds"})
    assert recap.content.parts == (Reasoning("Thought for 3 seconds"),)


@pytest.mark.parametrize(
    ("content", "words", "rest"),
    [
        (
            {"content_type": "tether_quote", "url": "u", "text": "quoted", "title": "t"},
            ["quoted"],
            {"url", "title"},
        ),
        (
            {"content_type": "tether_browsing_display", "result": "r", "summary": "s", "tether_id": 1},
            ["r", "s"],
            {"tether_id"},
        ),
        (
            {"content_type": "user_editable_context", "user_profile": "p", "user_instructions": "i"},
            ["p", "i"],
            set(),
        ),
        ({"content_type": "model_editable_context", "model_set_context": "m", "k": 1}, ["m"], {"k"}),
        ({"content_type": "code", "language": "sh", "text": "ls"}, ["ls"], {"language"}),
        ({"parts": ["no kind"]}, ["no kind"], set()),
    ],
)
def test_other_content_types_become_text(content: dict[str, Any], words: list[str], rest: set[str]) -> None:
    """Other fields are kept as metadata."""
    said = one(content, "user")
    assert [part.text for part in said.content.parts if isinstance(part, Text)] == words
    kept = said.content.metadata["chatgpt"].get("content", {})
    assert set(kept) - {"content_type"} == rest


def test_unknown_content_types_are_kept_verbatim() -> None:
    """An unknown kind keeps its JSON, and its words can be found."""
    content = {"content_type": "hologram", "parts": ["say it"], "depth": 3}
    said = one(content)
    words, opaque = said.content.parts
    assert words == Text("say it")
    assert isinstance(opaque, Opaque)
    assert (opaque.kind, json.loads(opaque.raw)) == ("hologram", content)


def test_hidden_messages_are_recognised() -> None:
    """By their flag, by zero weight, and blank system messages."""
    assert one("x", metadata={"is_visually_hidden_from_conversation": True}).hidden
    assert one("x", weight=0.0).hidden
    assert one("", "system").hidden
    assert not one("You are a pirate.", "system").hidden
    assert not one("x").hidden


PNG = b"\x89PNG\r\n\x1a\n"
IMAGE = {
    "content_type": "image_asset_pointer",
    "asset_pointer": "file-service://file-AbC1",
    "width": 2,
    "height": 1,
    "metadata": {"dalle": {"prompt": "a cat"}},
}
SOUND = {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://file_00ff", "format": "wav"}


def test_media_pointers_are_kept_without_their_files() -> None:
    """With all their metadata, if only the JSON is available."""
    film = {
        "content_type": "real_time_user_audio_video_asset_pointer",
        "expiry": 9,
        "audio_asset_pointer": SOUND,
    }
    parts = [
        IMAGE,
        "look",
        film,
        {"content_type": "audio_transcription", "text": "hey", "direction": "in"},
        None,
    ]
    said = one({"content_type": "multimodal_text", "parts": parts}, "user")
    image, text, sound, transcript = said.content.parts
    assert isinstance(image, Media)
    assert (image.media_type, image.url, image.data) == ("image/*", "file-service://file-AbC1", None)
    assert image.extra["chatgpt"]["metadata"]["dalle"]["prompt"] == "a cat"
    assert text == Text("look")
    assert isinstance(sound, Media)
    assert (sound.media_type, sound.url) == ("audio/wav", "sediment://file_00ff")
    assert sound.extra["chatgpt"]["part"] == {"content_type": film["content_type"], "expiry": 9}
    assert transcript == Text("hey", {"chatgpt": {"content_type": "audio_transcription", "direction": "in"}})


def test_files_of_an_unpacked_export_are_attached() -> None:
    """Attached files come along with their bytes, names and types, from the top and from folders below."""
    attachments = [
        {"id": "file-AbC1", "name": "cat.png", "mimeType": "image/png"},
        {"id": "file-doc9", "name": "报告.pdf"},
        {"id": "file-lost", "name": "lost.txt"},
    ]
    value = conversation(
        node(
            "u",
            "root",
            "user",
            {"content_type": "multimodal_text", "parts": [IMAGE, SOUND, "?"]},
            metadata={"attachments": attachments},
        ),
        current="u",
    )
    folder = MemorySource(
        {
            "conversations-000.json": json.dumps([value]),
            "conversations-001.json": json.dumps([{**value, "id": "2", "conversation_id": "2"}]),
            "chat.html": "<html>",
            "user.json": "{}",
            "file-AbC1-cat.png": PNG,
            "conv-1": {"audio": {"file_00ff-1234.dat": b"RIFF....WAVEfmt "}},
            "file-doc9.dat": b"%PDF-1.4",
            "conversation_asset_file_names.json": json.dumps({"file-doc9.dat": "old name.pdf"}),
        },
        "export",
    )
    assert FORMAT.sniff(folder) > 0.9
    found = list(FORMAT.read(folder))
    assert [thread.source_id for thread in found] == ["conv-1", "2"]
    (message,) = found[0].items
    assert isinstance(message, ForeignMessage)
    media = [part for part in message.content.parts if isinstance(part, Media)]
    assert [(part.name, part.media_type, part.data) for part in media] == [
        ("cat.png", "image/png", PNG),
        ("file_00ff-1234.dat", "audio/wav", b"RIFF....WAVEfmt "),
        ("报告.pdf", "application/pdf", b"%PDF-1.4"),
        ("lost.txt", "text/plain", None),
    ]


def test_files_beside_a_single_document_are_attached() -> None:
    """A document that lies in its export finds the files beside it whose names can be known."""
    content = {"content_type": "multimodal_text", "parts": [IMAGE]}
    attachments = [{"id": "file-AbC1", "name": "cat.png"}]
    value = conversation(
        node("u", "root", "user", content, metadata={"attachments": attachments}), current="u"
    )
    folder = MemorySource({"conversations.json": json.dumps([value]), "file-AbC1-cat.png": PNG}, "export")
    document = folder.child("conversations.json")
    assert document is not None
    (message,) = next(iter(FORMAT.read(document))).items
    assert isinstance(message, ForeignMessage)
    assert [part.data for part in message.content.parts if isinstance(part, Media)] == [PNG]


def test_unreadable_attachment_is_reported() -> None:
    """A file that cannot be read costs its bytes only."""

    class Locked(MemorySource):
        def data(self, most: int = -1) -> bytes:
            raise PermissionError(self.path)

    class Folder(MemorySource):
        def child(self, name: str) -> MemorySource | None:
            return Locked("", name) if name.startswith("file-") else super().child(name)

    content = {"content_type": "multimodal_text", "parts": [IMAGE]}
    value = conversation(node("u", "root", "user", content), current="u")
    folder = Folder({"conversations.json": json.dumps([value]), "file-AbC1-cat.png": PNG}, "export")
    problem, message = next(iter(FORMAT.read(folder))).items
    assert isinstance(problem, Problem)
    assert "file-AbC1-cat.png" in problem.what
    assert isinstance(message, ForeignMessage)


def test_truncated_export_gives_its_complete_conversations() -> None:
    """The last one carries the problem."""
    whole = conversation(node("u", "root", "user", "hi"), current="u")
    text = json.dumps([{**whole, "conversation_id": str(n)} for n in range(3)], indent=1)
    found = list(FORMAT.read(MemorySource(text[:-300], "conversations.json")))
    assert [thread.source_id for thread in found] == ["0", "1"]
    assert not any(isinstance(item, Problem) for item in found[0].items)
    problem = list(found[1].items)[-1]
    assert isinstance(problem, Problem)
    assert problem.line is not None


def test_elements_that_are_not_conversations_are_reported() -> None:
    """Elements without a mapping and nodes that are not objects do not stop the rest, and are not lost."""
    good = conversation(node("u", "root", "user", "hi"), current="u")
    good["mapping"]["odd"] = 7
    (thread,) = threads([{"title": "no mapping"}, good, 3])
    problems = [item for item in thread.items if isinstance(item, Problem)]
    assert len(problems) == 3
    with pytest.raises(FormatError):
        threads([1, 2])


def test_damaged_links_lose_no_message() -> None:
    """Circles, unknown parents, a missing current node and repeated message ids leave every message in."""
    value = conversation(node("a", "root"), node("b", "a"), node("c", "b"), node("d", "root"), current="gone")
    value["mapping"]["b"]["parent"] = "c"
    value["mapping"]["d"]["parent"] = "nowhere"
    value["mapping"]["d"]["message"]["id"] = "a"
    found = messages(value)
    assert len({m.source_id for m in found}) == 4


@pytest.mark.parametrize("shape", ["list", "object", "wrapped"])
def test_document_shapes(shape: str) -> None:
    """A list of conversations, one alone, and an object with the list are all read."""
    value = conversation(node("u", "root", "user", "hi"), current="u")
    document = {"list": [value], "object": value, "wrapped": {"conversations": [value], "total": 1}}[shape]
    assert FORMAT.sniff(source(document)) > 0.9
    (thread,) = threads(document)
    assert thread.source_id == "conv-1"
    beside = [Aside("total", "1")] if shape == "wrapped" else []
    assert list(thread.items)[1:] == beside


@pytest.mark.parametrize(
    "thing",
    [
        MemorySource("", "x"),
        MemorySource(b"\x00\xff\xfe", "x"),
        MemorySource("[]", "conversations.json"),
        MemorySource('[{"chat_messages": []}]', "conversations.json"),
        MemorySource({}, "folder"),
        MemorySource({"conversations.json": {}}, "folder"),
        MemorySource('{"mapping": 1}', "x"),
    ],
)
def test_other_files_are_not_recognised(thing: MemorySource) -> None:
    """Empty, binary and foreign files and folders are not recognised, and nothing is raised."""
    assert FORMAT.sniff(thing) == 0.0


def test_contents_round_trip_through_the_store() -> None:
    """Everything in a conversation, lone surrogates included."""
    value = conversation(node("u", "root", "user", {"content_type": "x", "parts": ["\ud83d"]}), current="u")
    (thread,) = threads([value])
    items = list(thread.items)
    (again, _) = stored(ForeignThread("chatgpt", "c", items, metadata=thread.metadata))
    assert list(again.items) == items


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the sample exports are not here")
@pytest.mark.parametrize("name", ["chatgpt_example-conversation", "chatgpt_schema-sample-00", "chatgpt_schema-sample-01",
                                  "polylogue_chatgpt-export"])  # fmt: skip
def test_sample_exports_are_read_completely(name: str) -> None:
    """Every message of a sample, with every single value in it, is among the items."""
    text = (SAMPLES / f"{name}.json").read_text(encoding="utf-8")
    raw = json.loads(text)
    (thread,) = FORMAT.read(MemorySource(text, "conversations.json"))
    found = [item for item in thread.items if isinstance(item, ForeignMessage)]
    contents = [content for m in found for content in (m.alternatives or (m.content,))]
    nodes = (raw[0] if isinstance(raw, list) else raw)["mapping"].values()
    said = {each["message"]["id"]: each["message"] for each in nodes if each["message"]}
    assert {content.metadata["chatgpt"]["id"] for content in contents} == set(said)
    for content in contents:  # that a plain text is of the kind `text` goes without saying
        assert leaves(said[content.metadata["chatgpt"]["id"]]) - {"", "text"} <= leaves(content)
