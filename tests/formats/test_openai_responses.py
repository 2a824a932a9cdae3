"""OpenAI Responses items: in and out to the same JSON value, in every shape that files have."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.errors import FormatError
from backscroll.formats.detection import detect
from backscroll.formats.openai.responses import FORMAT, messages_from_responses, messages_to_responses
from backscroll.vocab.foreign import Aside, ForeignMessage, ForeignThread, Problem
from backscroll.vocab.message import Content
from backscroll.vocab.part import Reasoning, Text, ToolCall, ToolResult
from tests.formats.foreign_threads import Shelf, exported, from_elsewhere, messages
from tests.formats.memory_source import MemorySource
from tests.formats.wire_values import blobs, ids, json_values, objects, words

ITEMS: list[dict[str, Any]] = [
    {"role": "developer", "content": "be brief"},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "列出文件"}, {"type": "input_image", "image_url": "data:image/png;base64,aGk="}]},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "x"},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "ls", "arguments": '{"p": "."}', "status": "completed"},
    {"type": "function_call_output", "call_id": "c1", "output": "a.txt"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed"},
    {"type": "compaction", "encrypted_content": "y"},
    {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "好", "annotations": []}]},
]  # fmt: skip
REQUEST = {"model": "gpt-5.6", "instructions": "be kind", "input": ITEMS, "store": False}


def only(text: str) -> ForeignThread:
    threads = list(FORMAT.read(MemorySource(text, "talk.json")))
    assert len(threads) == 1
    return threads[0]


@pytest.mark.parametrize(
    "document",
    [REQUEST, ITEMS, {"object": "response", "id": "resp_1", "output": ITEMS}, {"model": "m", "input": "hi"}],
)
def test_documents_round_trip(document: Any) -> None:
    """Requests, responses, bare lists and plain inputs are recognised, and written again as the same JSON value."""
    text = json.dumps(document)
    assert detect(MemorySource(text, "x.json")).name == "openai-responses"
    shelf = Shelf()
    again, problems = exported(FORMAT, shelf.through(only(text)), shelf.blobs)
    assert json.loads(again) == document
    assert problems == []


def test_items_become_messages() -> None:
    """In order, by role; other items are kept as asides; instructions come first."""
    thread = only(json.dumps(REQUEST))
    items = list(thread.items)
    said = list(messages(items))
    assert [m.role for m in said] == [
        "system",
        "system",
        "user",
        "assistant",
        "assistant",
        "tool",
        "assistant",
        "assistant",
    ]
    assert said[0].content.text == "be kind"
    assert isinstance(said[3].content.parts[0], Reasoning)
    assert said[4].content.parts[0] == ToolCall("c1", "ls", '{"p": "."}')
    assert said[5].content.parts[0] == ToolResult("c1", (Text("a.txt"),))
    assert [i.raw for i in items if isinstance(i, Aside)] == [json.dumps(ITEMS[6], separators=(",", ":"))]
    assert thread.title == "列出文件"


def test_one_request_per_line_gives_one_thread_each() -> None:
    """Each line is a thread; a line that cannot be read is reported with its number and kept."""
    text = (
        json.dumps({"input": "one", "model": "m"})
        + "\nbroken\n"
        + json.dumps({"model": "m", "input": ITEMS[:2]})
        + "\n"
    )
    first, second = FORMAT.read(MemorySource(text, "log.jsonl"))
    kinds = [type(item) for item in first.items]
    assert kinds == [ForeignMessage, Problem, Aside]
    assert [m.content.text for m in messages(second.items)] == ["be brief", "列出文件"]


def test_truncated_document_keeps_its_complete_items() -> None:
    """The rest of the text is kept verbatim."""
    text = json.dumps({"model": "m", "input": ITEMS})
    items = list(only(text[: text.index("reasoning") + 20]).items)
    assert len(list(messages(items))) == 2
    assert any(isinstance(item, Problem) and "breaks off" in item.what for item in items)


def test_value_without_items_is_refused() -> None:
    """The error says what was expected."""
    for text in ("3", "{}", "nonsense", '{"messages": []}'):
        with pytest.raises(FormatError) as caught:
            list(FORMAT.read(MemorySource(text, "x.json")))
        assert "input" in caught.value.hint
    with pytest.raises(FormatError, match="entry 1"):
        messages_from_responses([{"role": "user", "content": "x"}, {"role": "judge"}])


def test_foreign_thread_reports_losses() -> None:
    """Every message becomes items of the wire."""
    text, problems = exported(FORMAT, from_elsewhere())
    document = json.loads(text)
    assert document["instructions"] == "Be brief."
    kinds = [item["type"] for item in document["input"]]
    assert kinds.count("function_call") == 2
    assert kinds.count("function_call_output") == 2
    told = " ".join(problem.what for problem in problems)
    assert all(word in told for word in ("pin", "alternatives", "failed", "proof"))
    assert list(messages(only(text).items))[1].content.parts[0] == Text("列出")


def test_edited_text_is_exported() -> None:
    """The rest of the item is unchanged."""
    thread = only(json.dumps(REQUEST))
    items = [
        ForeignMessage(i.role, Content((Text("新"),), metadata=i.content.metadata))
        if isinstance(i, ForeignMessage) and i.content.text == "好"
        else i
        for i in thread.items
    ]
    text, _ = exported(
        FORMAT, ForeignThread(thread.format, thread.source_id, items, metadata=thread.metadata), {}
    )
    assert (
        json.loads(text)["input"][-1] == {**ITEMS[-1], "content": [{"type": "output_text", "text": "新"}]}
        or "新" in text
    )


def test_conversion_functions_round_trip_without_files() -> None:
    """Programs go both ways without files."""
    said = messages_from_responses(ITEMS[:6], "be kind")
    prompt = messages_to_responses(said, {}.get)
    assert prompt.instructions == "be kind"
    assert prompt.input == ITEMS[:6]
    assert [m.content.text for m in messages_from_responses("hi")] == ["hi"]


PARTS = objects({"type": st.sampled_from(["input_text", "output_text", "text"]), "text": words}) | objects(
    {"type": st.just("input_image"), "image_url": blobs.map(lambda b: f"data:image/png;base64,{b}") | words}
)
DRAWN = st.one_of(
    objects(
        {
            "role": st.sampled_from(["user", "assistant", "developer", "x"]),
            "content": words | st.lists(PARTS, max_size=2),
        },
        {"type": st.just("message")},
    ),
    objects(
        {"type": st.just("function_call"), "call_id": ids, "name": words, "arguments": words | json_values}
    ),
    objects(
        {
            "type": st.just("function_call_output"),
            "call_id": ids,
            "output": words | st.lists(PARTS, max_size=2) | json_values,
        }
    ),
    objects({"type": st.just("reasoning")}, {"summary": json_values, "encrypted_content": words}),
    json_values,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(DRAWN, max_size=4), st.none() | words, st.sampled_from(["input", "output"]))
def test_anything_comes_back_as_it_was(items: list[Any], instructions: str | None, key: str) -> None:
    """Whatever is in the list, the same JSON value is written again."""
    document: dict[str, Any] = {
        "model": "m",
        **({"instructions": instructions} if instructions is not None else {}),
        key: items,
    }
    shelf = Shelf()
    text, _ = exported(FORMAT, shelf.through(only(json.dumps(document))), shelf.blobs)
    assert json.loads(text) == document
