"""Grok exports: doubly wrapped responses, times as MongoDB writes them, files in folders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from backscroll.errors import FormatError
from backscroll.formats.grok import FORMAT
from backscroll.vocab.foreign import Aside, ForeignMessage, ForeignThread, Problem
from backscroll.vocab.part import Media, Reasoning, Text
from tests.formats.leaves import leaves
from tests.formats.memory_source import MemorySource

SAMPLE = (
    Path(__file__).resolve().parents[3]
    / "shared"
    / "data"
    / "transcripts"
    / "exports"
    / "polylogue_grok-export.json"
)


def response(
    id: str, sender: str = "human", text: str = "", parent: str = "", **facts: Any
) -> dict[str, Any]:
    inner = {
        "_id": id,
        "sender": sender,
        "message": text,
        "create_time": {"$date": {"$numberLong": "1700000000250"}},
        "parent_response_id": parent,
        **facts,
    }
    return {"response": inner, "share_link": None}


def export(*responses: Any, **facts: Any) -> dict[str, Any]:
    conversation = {
        "id": "c",
        "title": "Stars",
        "create_time": "2025-01-02T03:04:05.5Z",
        "starred": False,
        **facts,
    }
    return {"conversations": [{"conversation": conversation, "responses": list(responses)}], "projects": []}


def threads(value: Any) -> list[ForeignThread]:
    return list(FORMAT.read(MemorySource(json.dumps(value, ensure_ascii=False), "prod-grok-backend.json")))


def messages(value: Any) -> list[ForeignMessage]:
    (thread,) = threads(value)
    return [item for item in thread.items if isinstance(item, ForeignMessage)]


def test_plain_conversation() -> None:
    """Titles, times of both kinds, all ways to name the model as the sender, thinking and pictures."""
    (thread,) = threads(
        export(
            response("1", "human", "今晚的星星怎么样？"),
            response("2", "ASSISTANT", "", "1", thinking_trace="hm", generated_image_urls=["a/b.jpg?x"]),
            response("3", "grok-3", "Bright.", "2", model="grok-3", web_search_results=[{"url": "u"}]),
        )
    )
    assert (thread.source_id, thread.title, thread.started) == ("c", "Stars", "2025-01-02T03:04:05.5Z")
    assert thread.language == "zh"
    found = [item for item in thread.items if isinstance(item, ForeignMessage)]
    assert [(m.role, m.source_id, m.at) for m in found] == [
        ("user", "1", "2023-11-14T22:13:20.250000+00:00"),
        ("assistant", "2", "2023-11-14T22:13:20.250000+00:00"),
        ("assistant", "3", "2023-11-14T22:13:20.250000+00:00"),
    ]
    assert found[1].content.parts == (Reasoning("hm"), Media("image/jpeg", url="a/b.jpg?x"))
    assert found[2].content.metadata["grok"]["web_search_results"] == [{"url": "u"}]


def test_parent_links_make_branches_and_alternatives() -> None:
    """Parents of responses make branches and versions; the last response is live unless another leaf is named."""
    given = [
        response("1", text="q"),
        response("2", "assistant", "a", "1"),
        response("3", "assistant", "b", "1"),
        response("4", text="edit", parent="2"),
        response("5", text="on", parent="2"),
    ]
    found = messages(export(*given))
    assert [(m.source_id, m.parent_id) for m in found] == [("1", None), ("2", None), ("5", None), ("4", "2")]
    assert [content.text for content in found[1].alternatives] == ["a", "b"]
    assert [m.source_id for m in messages(export(*given, leaf_response_id="4"))] == ["1", "2", "4", "5"]


def test_files_of_the_unpacked_export_are_attached() -> None:
    """Attached files come along from the folder that has their ids, wherever the document lies."""
    value = export(response("1", text="see", file_attachments=["f1", "gone", "../x"]))
    account = {
        "prod-grok-backend.json": json.dumps(value),
        "prod-mc-asset-server": {"f1": {"content": b"%PDF-"}},
    }
    folder = MemorySource({"ttl": {"30d": {"export_data": {"me": account}}}}, "export")
    assert FORMAT.sniff(folder) > 0.9
    (thread,) = FORMAT.read(folder)
    (message,) = thread.items
    assert isinstance(message, ForeignMessage)
    assert message.content.parts[0] == Text("see")
    media = [part for part in message.content.parts if isinstance(part, Media)]
    assert [(part.media_type, part.data, part.url) for part in media] == [
        ("application/pdf", b"%PDF-", None),
        ("application/octet-stream", None, "grok:gone"),
        ("application/octet-stream", None, "grok:../x"),
    ]


def test_elements_that_are_not_conversations_are_kept() -> None:
    """Projects travel with the last conversation; odd responses and elements are reported."""
    value = export(response("1", text="hi"), 4)
    value["projects"] = [{"name": "P"}]
    value["conversations"].append({"conversation": {}})
    (thread,) = threads(value)
    items = list(thread.items)
    assert Aside("projects", '[{"name":"P"}]') in items
    assert Aside("unknown", "4") in items
    assert len([item for item in items if isinstance(item, Problem)]) == 2
    with pytest.raises(FormatError):
        threads({"conversations": [3]})


@pytest.mark.parametrize(
    "text", ["", "\0", "[]", "{}", '{"conversations": []}', '{"conversations": [{"mapping": 1}]}']
)
def test_other_files_are_not_recognised(text: str) -> None:
    """Foreign, binary and empty files and folders are not recognised."""
    assert FORMAT.sniff(MemorySource(text, "x.json")) == 0.0
    assert FORMAT.sniff(MemorySource({"a": {"b": text}}, "folder")) == 0.0


@pytest.mark.skipif(not SAMPLE.is_file(), reason="the sample exports are not here")
def test_sample_is_read_completely() -> None:
    """Responses without wrapping and ids are read too, with every single value."""
    text = SAMPLE.read_text(encoding="utf-8")
    assert FORMAT.sniff(MemorySource(text, SAMPLE.name)) > 0.9
    raw = json.loads(text)["conversations"][0]
    (thread,) = FORMAT.read(MemorySource(text, SAMPLE.name))
    found = [item for item in thread.items if isinstance(item, ForeignMessage)]
    assert [m.source_id for m in found] == [None, None]
    for item, original in zip(found, raw["responses"], strict=True):
        assert leaves(original) <= leaves(item)
