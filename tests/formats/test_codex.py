"""Codex rollouts, old and new."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import FormatError
from backscroll.formats.codex.reader import FORMAT
from backscroll.vocab.foreign import Aside, ForeignMessage, ForeignThread, Item, Problem
from backscroll.vocab.message import Content
from backscroll.vocab.part import Media, Opaque, Reasoning, Text, ToolCall, ToolResult
from tests.formats.foreign_threads import (
    Shelf,
    exported,
    from_elsewhere,
    messages,
    opened,
    rows,
    said,
    transcripts,
)
from tests.formats.memory_source import MemorySource
from tests.formats.wire_values import blobs, ids, json_values, objects, words

SESSION = "019a2d7a-41c4-78b1-b7cc-a45d62a89cd5"
WHEN = "2026-01-01T10:00:00.000Z"


def envelope(kind: str, /, **payload: Any) -> dict[str, Any]:
    return {"timestamp": WHEN, "type": kind, "payload": payload}


def item(kind: str, /, **payload: Any) -> dict[str, Any]:
    return envelope("response_item", type=kind, **payload)


def event(kind: str, /, **payload: Any) -> dict[str, Any]:
    return envelope("event_msg", type=kind, **payload)


def message(role: str, text: str, **more: Any) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text}], **more)


META = envelope(
    "session_meta",
    id=SESSION,
    timestamp=WHEN,
    cwd="/home/ann/x",
    cli_version="0.144.3",
    git={"branch": "main"},
)
ROLLOUT: list[dict[str, Any]] = [
    META,
    message("developer", "<permissions instructions>\nbe careful"),
    message("user", "# AGENTS.md instructions for /home/ann/x\n\n<INSTRUCTIONS>…"),
    message("user", "<environment_context>\n  <cwd>/home/ann/x</cwd>\n</environment_context>"),
    envelope("turn_context", cwd="/home/ann/x", model="gpt-5"),
    message("user", "列出文件"),
    event("user_message", message="列出文件", kind="plain"),
    item(
        "reasoning",
        summary=[{"type": "summary_text", "text": "**Plan**"}, {"type": "summary_text", "text": "ls"}],
        content=None,
        encrypted_content="gAAA",
    ),
    event("agent_reasoning", text="**Plan**"),
    item("function_call", name="shell", arguments='{"command": ["ls"] }', call_id="call_1"),
    item(
        "custom_tool_call", status="completed", call_id="call_2", name="apply_patch", input="*** Begin Patch"
    ),
    item(
        "local_shell_call",
        id="lsh_1",
        call_id="call_3",
        status="completed",
        action={"type": "exec", "command": ["pwd"]},
    ),
    item("function_call_output", call_id="call_1", output='{"output":"a.txt","metadata":{"exit_code":0}}'),
    item("custom_tool_call_output", call_id="call_2", output={"content": "denied", "success": False}),
    item(
        "function_call_output",
        call_id="call_3",
        output=[
            {"type": "input_text", "text": "x"},
            {"type": "input_image", "image_url": "data:image/png;base64,aGk="},
        ],
    ),
    item("web_search_call", status="completed", action={"type": "search", "query": "天气"}),
    item("ghost_snapshot", ghost_commit={"id": "abc"}),
    message("assistant", "One file.", id="msg_1", phase="final_answer"),
    event("agent_message", message="One file."),
    event("token_count", info=None),
    envelope("compacted", message="summary", replacement_history=[]),
    envelope("world_state", full=True, state={}),
]
BARE: list[dict[str, Any]] = [
    {"id": SESSION, "timestamp": WHEN, "instructions": None, "git": {"branch": "main"}},
    {"record_type": "state"},
    {
        "type": "message",
        "id": None,
        "role": "user",
        "content": [{"type": "input_text", "text": "<environment_context>\n<cwd>/home/ann/old</cwd>"}],
    },
    {
        "type": "message",
        "id": None,
        "role": "user",
        "content": [{"type": "input_text", "text": "# Context\n\n## My request for Codex:\nfix it"}],
    },
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
    {"type": "function_call", "id": "fc_1", "name": "shell", "arguments": "{}", "call_id": "call_1"},
    {"type": "function_call_output", "call_id": "call_1", "output": ""},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
]


def source(*values: Any, name: str = f"rollout-2026-01-01T10-00-00-{SESSION}.jsonl") -> MemorySource:
    return MemorySource("".join(json.dumps(v, ensure_ascii=False) + "\n" for v in values), name)


def only(src: MemorySource) -> ForeignThread:
    (thread,) = FORMAT.read(src)
    return thread


@pytest.mark.parametrize("values", [ROLLOUT, BARE], ids=["enveloped", "bare"])
def test_every_line_round_trips(values: list[dict[str, Any]]) -> None:
    """Each line is written as the equal JSON value, in order, also after the trip through the store."""
    src, shelf = source(*values), Shelf()
    assert FORMAT.sniff(src) >= 0.9
    text, problems = exported(FORMAT, only(src))
    assert rows(text) == values
    assert problems == []
    assert rows(exported(FORMAT, shelf.through(only(src)), shelf.blobs)[0]) == values
    found = list(only(src).items)
    kinds = Counter(i.kind for i in found if isinstance(i, Aside))
    expected = Counter(str(v.get("type", v.get("record_type", "session_meta"))) for v in values)
    spoken = sum(isinstance(i, ForeignMessage) for i in found)
    assert len(found) == len(values)
    assert all(kinds[kind] == expected[kind] for kind in kinds if kind != "response_item")
    assert spoken == len(values) - sum(kinds.values())


def test_items_become_messages() -> None:
    """Roles, calls with raw arguments, outputs, reasoning with its proof, and nothing said twice."""
    found = list(messages(only(source(*ROLLOUT)).items))
    assert [(m.role, m.hidden) for m in found] == [
        ("system", True),
        ("user", True),
        ("user", True),
        ("user", False),
        *[("assistant", False)] * 4,
        *[("tool", False)] * 3,
        ("assistant", False),
        ("assistant", False),
    ]
    parts = [m.content.parts[0] for m in found]
    thought = parts[4]
    assert isinstance(thought, Reasoning)
    assert thought.text == "**Plan**\n\nls"
    assert thought.extra["codex"]["encrypted_content"] == "gAAA"
    assert parts[5:8] == [
        ToolCall("call_1", "shell", '{"command": ["ls"] }'),
        ToolCall("call_2", "apply_patch", "*** Begin Patch"),
        ToolCall("call_3", "local_shell", {"type": "exec", "command": ["pwd"]}),
    ]
    assert parts[8:11] == [
        ToolResult("call_1", (Text('{"output":"a.txt","metadata":{"exit_code":0}}'),)),
        ToolResult("call_2", (Text("denied"),), is_error=True),
        ToolResult("call_3", (Text("x"), Media("image/png", data=b"hi"))),
    ]
    assert isinstance(parts[11], Opaque)
    assert [m.content.text for m in found].count("One file.") == 1
    assert found[-1].source_id == "msg_1"
    assert all(m.at == WHEN for m in found)


def test_session_becomes_a_thread_with_metadata() -> None:
    """Session, title, project and start come from the header, or from where older files have them."""
    new, old = only(source(*ROLLOUT)), only(source(*BARE))
    assert (new.source_id, new.title, new.project, new.started) == (SESSION, "列出文件", "/home/ann/x", WHEN)
    assert (old.source_id, old.title, old.project, old.started) == (SESSION, "fix it", "/home/ann/old", WHEN)
    headless = only(source(*ROLLOUT[1:]))
    assert (headless.source_id, headless.project, headless.kind) == (SESSION, "/home/ann/x", "agent")


def test_forks_and_subagents_name_their_parents() -> None:
    """A fork's own header comes first and names its parent; a subagent's spawner is kept."""
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": "p", "depth": 1}}}
    fork = only(
        source(
            envelope("session_meta", id="child", forked_from_id=SESSION, source=spawn),
            META,
            message("user", "x"),
        )
    )
    assert (fork.source_id, fork.forked_from, fork.metadata["codex"]["parent"]) == ("child", SESSION, "p")


def test_rolled_back_turns_are_hidden() -> None:
    """The file still round-trips line by line."""
    values = [
        META,
        message("user", "one"),
        message("assistant", "1"),
        message("user", "two"),
        message("user", "<environment_context>x"),
        message("assistant", "2"),
        event("thread_rolled_back", num_turns=1),
        message("user", "three"),
        event("thread_rolled_back", num_turns=2),
        message("user", "four"),
    ]
    src = source(*values)
    found = {m.content.text: m.hidden for m in messages(only(src).items)}
    assert [text for text, hidden in found.items() if not hidden] == ["four"]
    text, problems = exported(FORMAT, only(src))
    assert rows(text) == values
    assert problems == []


def test_oldest_document_shape_is_read_and_written_as_lines() -> None:
    """A JSON document with session and items is read, and written as lines that are read the same."""
    document = {"session": {"id": SESSION, "timestamp": WHEN, "instructions": ""}, "items": BARE[2:]}
    for indent in (None, 2):
        src = MemorySource(json.dumps(document, indent=indent), "rollout-2025-05-01.json")
        assert FORMAT.sniff(src) >= 0.7
        thread = only(src)
        assert (thread.source_id, thread.title) == (SESSION, "fix it")
        assert rows(exported(FORMAT, thread)[0]) == [document["session"], *BARE[2:]]
    cut = json.dumps(document)[:-60]
    items = list(only(MemorySource(cut)).items)
    assert isinstance(items[0], Problem)
    assert len(list(messages(items))) == 5


content_items = st.one_of(
    objects({"type": st.sampled_from(["input_text", "output_text", "text"]), "text": words | st.none()}),
    objects(
        {
            "type": st.just("input_image"),
            "image_url": blobs.map("data:image/png;base64,{}".format) | words | st.none(),
        }
    ),
    json_values,
)
contents = words | st.lists(content_items, max_size=3) | json_values
outputs = contents | objects({"content": words | json_values}, {"success": st.booleans() | st.none()})
payloads = st.one_of(
    objects(
        {
            "type": st.just("message"),
            "role": st.sampled_from(["user", "assistant", "developer", "system", "x"]),
            "content": contents,
        },
        {"id": ids},
    ),
    objects(
        {"type": st.just("reasoning")},
        {"summary": contents, "content": contents, "encrypted_content": words | st.none()},
    ),
    objects(
        {"type": st.just("function_call")}, {"name": words, "arguments": words | json_values, "call_id": ids}
    ),
    objects(
        {"type": st.just("custom_tool_call")}, {"name": words, "input": words, "call_id": ids | st.none()}
    ),
    objects({"type": st.just("local_shell_call")}, {"action": json_values, "call_id": ids | st.none()}),
    objects({"type": st.just("tool_search_call")}, {"arguments": json_values, "call_id": ids | st.none()}),
    objects({"type": st.just("tool_search_output")}, {"tools": json_values, "call_id": ids | st.none()}),
    objects(
        {"type": st.sampled_from(["function_call_output", "custom_tool_call_output"]), "call_id": ids},
        {"output": outputs},
    ),
    objects({"type": st.just("agent_message")}, {"author": words, "recipient": words, "content": contents}),
    objects(
        {"type": st.sampled_from(["web_search_call", "image_generation_call", "compaction", "new_thing"])}
    ),
    json_values,
)


@given(st.lists(payloads, max_size=5), st.booleans())
def test_whatever_stands_in_an_item_comes_back(values: list[Any], bare: bool) -> None:
    """Known or not, whole or odd, every line comes back as the equal JSON value."""
    lines = [
        META,
        *(
            [v for v in values if isinstance(v, dict)]
            if bare
            else [envelope("response_item") | {"payload": v} for v in values]
        ),
    ]
    src = MemorySource("\n".join(json.dumps(line) for line in lines))
    text, _ = exported(FORMAT, only(src))
    assert json.dumps(rows(text), sort_keys=True) == json.dumps(lines, sort_keys=True)
    text.encode()


@pytest.mark.parametrize("path", transcripts("exports/polylogue_codex-session.jsonl"))
def test_fixture_of_another_project_round_trips(path: Path) -> None:
    """It is recognised and read with its times."""
    src = opened(path)
    assert FORMAT.sniff(src) >= 0.9
    thread = only(src)
    found = list(messages(thread.items))
    assert [(m.role, m.at) for m in found] == [
        ("user", "2026-08-01T10:00:01Z"),
        ("assistant", "2026-08-01T10:00:02Z"),
    ]
    assert rows(exported(FORMAT, only(src))[0]) == rows(path.read_text(encoding="utf-8"))


def test_broken_lines_are_reported_and_kept() -> None:
    """A truncated last line, garbage and wrong values are kept verbatim with their number; the rest is imported."""
    text = "\n".join(
        [
            json.dumps(META),
            "7",
            "{no",
            json.dumps(item("message", role="user")),
            '{"x": 1}',
            "",
            json.dumps(message("user", "hi"))[:-9],
        ]
    )
    items = list(only(MemorySource(text)).items)
    assert [i.line for i in items if isinstance(i, Problem)] == [2, 3, 4, 5, 7]
    assert [i.kind for i in items if isinstance(i, Aside)] == [
        "session_meta",
        "unknown",
        "malformed",
        "response_item",
        "unknown",
        "malformed",
    ]


@pytest.mark.parametrize(
    "content", ["", "\n", "{}", "[]", "7", "nonsense", "\x00\xff", '{"session": {}, "items": [']
)
def test_files_that_are_not_rollouts_are_refused(content: str) -> None:
    """Nothing to read is a FormatError; sniffing never raises."""
    src = MemorySource(content)
    assert FORMAT.sniff(src) < 0.9
    with pytest.raises(FormatError):
        list(FORMAT.read(src))


def test_folders_and_other_tools_are_not_recognised() -> None:
    """Folders and other tools' lines are left to others; a header longer than the head is still recognised."""
    assert FORMAT.sniff(MemorySource({"a": "b"})) == 0.0
    assert FORMAT.sniff(source({"type": "user", "sessionId": "x", "message": {"content": "x"}})) == 0.0
    assert FORMAT.sniff(source({"role": "user", "content": "x"})) == 0.0
    assert (
        FORMAT.sniff(source(envelope("session_meta", id="x", base_instructions={"text": "x" * 100_000})))
        >= 0.7
    )
    with pytest.raises(FormatError):
        list(FORMAT.read(MemorySource({"a": "b"})))


def test_new_messages_are_added_to_an_imported_rollout() -> None:
    """In the file's own style; edits change only their line."""

    def change(items: list[Item]) -> None:
        items[:] = [
            ForeignMessage(i.role, Content((Text("edited"),), None, i.content.metadata), i.at)
            if isinstance(i, ForeignMessage) and i.content.text == "done"
            else i
            for i in items
        ]
        items.append(said("user", Text("more")))

    out = rows(exported(FORMAT, Shelf().through(only(source(*BARE)), change))[0])
    assert out[:-2] == BARE[:-1]
    assert out[-2]["content"] == [{"type": "output_text", "text": "edited"}]
    assert out[-1] == {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "more"}]}
    new = rows(
        exported(
            FORMAT, Shelf().through(only(source(META)), lambda items: items.append(said("user", Text("x"))))
        )[0]
    )
    assert [row["type"] for row in new] == ["session_meta", "response_item", "event_msg"]


def test_message_edited_into_a_call_is_written_as_a_call() -> None:
    """Where an edit does not fit the old item any more, a new one takes its place."""

    def change(items: list[Item]) -> None:
        last = items[-1]
        assert isinstance(last, ForeignMessage)
        items[-1] = ForeignMessage(
            "assistant", Content((ToolCall("c", "ls", {}),), None, last.content.metadata), last.at
        )

    out = rows(exported(FORMAT, Shelf().through(only(source(META, message("assistant", "x"))), change))[0])
    assert out[-1]["payload"] == {"type": "function_call", "name": "ls", "arguments": "{}", "call_id": "c"}


def test_foreign_thread_makes_a_valid_rollout() -> None:
    """A header, items with paired calls, events for display, the same every time; losses are reported."""
    text, problems = exported(FORMAT, from_elsewhere())
    assert exported(FORMAT, from_elsewhere())[0] == text
    out = rows(text)
    assert out[0]["type"] == "session_meta"
    assert all(set(row) == {"timestamp", "type", "payload"} for row in out)
    items = [row["payload"] for row in out if row["type"] == "response_item"]
    assert [i["type"] for i in items] == [
        "message",
        "message",
        "message",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
        "message",
        "message",
        "message",
    ]
    assert [i["call_id"] for i in items if "call_id" in i] == ["call:1", "c2", "call:1", "c2"]
    assert items[4]["arguments"] == '{"f":"文"}'
    assert items[6]["output"][1]["image_url"] == "data:image/png;base64,aGk="
    what = " | ".join(problem.what for problem in problems)
    for word in [
        "'Ann'",
        "pin",
        "proof",
        "alternatives",
        "hide",
        "failed",
        "gemini",
        "'note'",
        "code change",
        "1970",
        "no title",
    ]:
        assert word in what, word
    again = only(MemorySource(text, "x.jsonl"))
    assert [m.role for m in messages(again.items)] == [
        "system",
        "user",
        *["assistant"] * 3,
        "tool",
        "tool",
        "assistant",
        "assistant",
        "user",
    ]
