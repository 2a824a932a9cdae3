"""Cline tasks: the history, its neighbours, times from the screen, and files that a crash cut off."""

from __future__ import annotations

import json
from typing import Any

import pytest

from backscroll.errors import FormatError
from backscroll.formats.cline import FORMAT, HISTORY, KEY, METADATA, UI
from backscroll.vocab.foreign import Aside, ForeignCodeChange, ForeignMessage, ForeignThread, Item, Problem
from backscroll.vocab.message import Content
from backscroll.vocab.part import Media, Reasoning, Text, ToolCall, ToolResult
from tests.formats.memory_source import MemorySource
from tests.formats.stored import stored

T0 = 1740902400000
HISTORY_VALUE: list[Any] = [
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "<task>\n给登录页加一个“记住我”复选框\n</task>"},
            {
                "type": "text",
                "text": "<environment_details>\n# Current Working Directory (/home/kai/shop) Files\nsrc/\n</environment_details>",
            },
        ],
        "ts": T0,
    },
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Look first.", "signature": "c2ln"},
            {"type": "text", "text": "先看看。\n<read_file>\n<path>src/login.ts</path>\n</read_file>"},
        ],
        "ts": T0 + 5000,
        "modelInfo": {"modelId": "claude-sonnet", "providerId": "anthropic", "mode": "act"},
        "metrics": {"tokens": {"prompt": 1000, "completion": 20}},
    },
    {"role": "user", "content": "[read_file for 'src/login.ts'] Result:\n...", "ts": T0 + 6000},
    {
        "role": "assistant",
        "content": [
            {"type": "tool_use", "id": "toolu_1", "name": "write_to_file", "input": {"path": "src/login.ts"}}
        ],
        "ts": T0 + 9000,
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "saved"}]},
            {"type": "text", "text": "<feedback>\n很好\n</feedback>"},
        ],
        "ts": T0 + 9500,
    },
]
UI_VALUE: list[Any] = [
    {
        "ts": T0 + 1,
        "type": "say",
        "say": "text",
        "text": "给登录页加一个“记住我”复选框",
        "conversationHistoryIndex": -1,
    },
    {"ts": T0 + 100, "type": "say", "say": "api_req_started", "text": "{}", "conversationHistoryIndex": -1},
    {"ts": T0 + 5100, "type": "say", "say": "text", "text": "先看看。", "conversationHistoryIndex": 0},
    {"ts": T0 + 5200, "type": "say", "say": "tool", "text": "{}", "conversationHistoryIndex": 0},
    {"ts": T0 + 6100, "type": "say", "say": "api_req_started", "text": "{}", "conversationHistoryIndex": 1},
    {"ts": T0 + 9100, "type": "say", "say": "tool", "text": "{}", "conversationHistoryIndex": 2},
    {"ts": T0 + 9600, "type": "say", "say": "api_req_started", "text": "{}", "conversationHistoryIndex": 3},
]
METADATA_VALUE = {
    "files_in_context": [],
    "model_usage": [{"ts": T0, "model_id": "claude-sonnet"}, {"ts": T0 + 1, "model_id": "claude-sonnet"}],
}


def text_of(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def task(history: str | bytes | None = None, **more: Any) -> MemorySource:
    files: dict[str, Any] = {
        HISTORY: text_of(HISTORY_VALUE) if history is None else history,
        UI: text_of(UI_VALUE),
        METADATA: text_of(METADATA_VALUE),
    }
    return MemorySource(files | more, "1740902400000", "/home/kai/tasks/1740902400000")


def read_one(source: MemorySource) -> tuple[ForeignThread, list[Item]]:
    (thread,) = FORMAT.read(source)
    return thread, list(thread.items)


def messages(source: MemorySource) -> list[ForeignMessage]:
    return [item for item in read_one(source)[1] if isinstance(item, ForeignMessage)]


def exported(thread: ForeignThread) -> tuple[str, list[Problem]]:
    assert FORMAT.write is not None
    back, blobs = stored(thread)
    written = FORMAT.write(back, blobs)
    return "".join(written.text), written.problems


def test_task_metadata() -> None:
    """Title from the task, project from the working directory, name from the folder, start from the first message."""
    thread, _ = read_one(task())
    assert (thread.title, thread.source_id) == ("给登录页加一个“记住我”复选框", "1740902400000")
    assert (thread.project, thread.kind, thread.language) == ("/home/kai/shop", "agent", "zh")
    assert thread.started == "2025-03-02T08:00:00+00:00"
    assert thread.metadata[KEY] == {"models": ["claude-sonnet"]}


def test_native_tool_calls_become_parts_and_xml_stays_text() -> None:
    """tool_use and tool_result become parts; Cline's XML in the text is not guessed at; thinking keeps its proof."""
    said = messages(task())
    assert [m.role for m in said] == ["user", "assistant", "user", "assistant", "tool", "user"]
    assert said[1].content.parts[0] == Reasoning("Look first.", "c2ln")
    assert "<read_file>" in said[1].content.text
    assert "<environment_details>" in said[0].content.text
    call, result = said[3].content.parts[0], said[4].content.parts[0]
    assert isinstance(call, ToolCall)
    assert isinstance(result, ToolResult)
    assert (call.name, call.arguments, result.call_id) == ("write_to_file", {"path": "src/login.ts"}, call.id)


def test_message_times_come_from_ts() -> None:
    """`ts` counts milliseconds; the pieces of one entry share its time."""
    said = messages(task())
    assert said[1].at == "2025-03-02T08:00:05+00:00"
    assert said[4].at == said[5].at == "2025-03-02T08:00:09.500000+00:00"


def test_missing_times_come_from_ui_messages() -> None:
    """Without `ts`, a request dates its user message and the first thing shown dates the reply; and it is marked."""
    bare = [{k: v for k, v in entry.items() if k != "ts"} for entry in HISTORY_VALUE]
    said = messages(task(text_of(bare)))
    offsets = ["00.100", "05.100", "06.100", "09.100", "09.600", "09.600"]
    assert [m.at for m in said] == [f"2025-03-02T08:00:{o}000+00:00" for o in offsets]
    assert all(m.content.metadata[KEY] == {"time_from": UI} for m in said)
    old = MemorySource({HISTORY: text_of(bare)}, "1740902400000")
    assert [m.at for m in messages(old)] == [None] * 6
    assert read_one(old)[0].started == "2025-03-02T08:00:00+00:00"


def test_history_round_trips_verbatim() -> None:
    """Neighbouring files are reported, because one file cannot contain them."""
    (thread,) = FORMAT.read(task())
    text, problems = exported(thread)
    assert text == text_of(HISTORY_VALUE)
    assert sorted(p.what.split("'")[1] for p in problems) == [f"cline:{METADATA}#model_usage", f"cline:{UI}"]


def test_time_from_ui_messages_is_not_exported() -> None:
    """A time that the history did not say is not put into it."""
    bare = [{k: v for k, v in entry.items() if k != "ts"} for entry in HISTORY_VALUE]
    (thread,) = FORMAT.read(task(text_of(bare)))
    assert json.loads(exported(thread)[0]) == bare


def test_neighbouring_files_are_kept_verbatim() -> None:
    """Texts beside the history travel as asides under their names; folders and binary files are reported."""
    source = task(
        **{"focus_chain.md": "- [ ] 复选框\n", "shot.png": b"\x89PNG\xff\xfe", "checkpoints": {"a": "b"}}
    )
    _, items = read_one(source)
    kept = [(item.kind, item.raw) for item in items if isinstance(item, Aside)]
    assert "[" + ",".join(raw for kind, raw in kept if kind == f"cline:{UI}") + "]" == text_of(UI_VALUE)
    usage = [raw for kind, raw in kept if kind == f"cline:{METADATA}#model_usage"]
    assert usage == [text_of(entry) for entry in METADATA_VALUE["model_usage"]]
    assert ("cline:focus_chain.md", "- [ ] 复选框\n") in kept
    assert sorted(p.where for p in items if isinstance(p, Problem)) == ["checkpoints", "shot.png"]


def test_history_file_alone_can_be_read() -> None:
    """Named inside its folder it takes its neighbours along; as a lone file it is named for itself."""
    folder = task()
    file = folder.child(HISTORY)
    assert file is not None
    thread, items = read_one(file)
    assert thread.source_id == "1740902400000"
    assert sum(isinstance(item, Aside) for item in items) == len(UI_VALUE) + 2
    lone, items = read_one(MemorySource(text_of(HISTORY_VALUE), "saved.json"))
    assert lone.source_id == "saved"
    assert not any(isinstance(item, Aside | Problem) for item in items)


def test_continued_task_only_adds_items() -> None:
    """Earlier items are read the same, so an import adds only new ones."""
    longer = task(text_of([*HISTORY_VALUE, {"role": "assistant", "content": "done", "ts": T0 + 10000}]))
    before, after = read_one(task())[1], read_one(longer)[1]
    assert [item for item in after if item not in before] == [
        item for item in after if isinstance(item, ForeignMessage)
    ][-1:]


@pytest.mark.parametrize("left", [0.3, 0.5, 0.77, 0.999])
def test_truncated_history_gives_its_complete_messages(left: float) -> None:
    """Wherever it was cut, complete entries go in, the place is reported, and the rest of the text is kept."""
    whole = json.dumps(HISTORY_VALUE, ensure_ascii=False, indent=1)
    text = whole[: int(len(whole) * left)]
    _, items = read_one(task(text))
    (problem,) = [item for item in items if isinstance(item, Problem)]
    (rest,) = [item.raw for item in items if isinstance(item, Aside) and item.kind == "cline-rest"] or [""]
    assert "breaks off" in problem.what
    assert problem.line == 1 + text.count("\n", 0, len(text) - len(rest))
    saved = sum(isinstance(item, ForeignMessage) for item in items)
    assert 0 < saved <= 6
    prefix = text[: len(text) - len(rest)].rstrip().rstrip(",") + "]"
    assert saved == sum(
        1 if e is not HISTORY_VALUE[4] else 2 for e in HISTORY_VALUE[: len(json.loads(prefix))]
    )


def test_empty_history_keeps_the_neighbouring_files() -> None:
    """An empty or zeroed history is reported."""
    for wreck in ("", "\0\0\0\0", '[{"role":"us'):
        thread, items = read_one(task(wreck))
        assert any(isinstance(item, Problem) for item in items)
        assert any(isinstance(item, Aside) and item.kind == f"cline:{UI}" for item in items)
        assert thread.title == "给登录页加一个“记住我”复选框"


def test_truncated_ui_messages_file_is_tolerated() -> None:
    """ui_messages.json may be cut as well: its text is kept, its whole entries still date messages."""
    bare = [{k: v for k, v in entry.items() if k != "ts"} for entry in HISTORY_VALUE]
    _, items = read_one(task(text_of(bare), **{UI: text_of(UI_VALUE)[:420]}))
    assert [p.where for p in items if isinstance(p, Problem)] == [UI]
    first = next(item for item in items if isinstance(item, ForeignMessage))
    assert first.at == "2025-03-02T08:00:00.100000+00:00"


def test_entries_that_are_not_messages_are_kept_in_place() -> None:
    """They are reported and exported at the same position."""
    odd = [*HISTORY_VALUE[:2], 5, {"role": "narrator", "content": "?"}, *HISTORY_VALUE[2:]]
    (thread,) = FORMAT.read(MemorySource(text_of(odd), HISTORY))
    assert json.loads(exported(thread)[0]) == odd
    _, items = read_one(MemorySource(text_of(odd), HISTORY))
    assert [p.where for p in items if isinstance(p, Problem)] == [
        f"{HISTORY}, message 3",
        f"{HISTORY}, message 4",
    ]


def test_foreign_thread_becomes_a_history() -> None:
    """Calls and results are paired in Anthropic's way, with times; what cannot be said is reported."""
    items: list[Item] = [
        ForeignMessage("system", Content((Text("Be brief."),)), "2025-01-01T00:00:00+00:00"),
        ForeignMessage(
            "user", Content((Text("看"), Media("image/png", blob="b")), "Kai"), "2025-01-01T00:00:01+00:00"
        ),
        ForeignMessage(
            "assistant", Content((Text("ok"), ToolCall("c1", "ls", {"d": "."}))), "2025-01-01T00:00:02+00:00"
        ),
        ForeignMessage(
            "tool", Content((ToolResult("c1", (Text("a"),)),)), "2025-01-01T00:00:03+00:00", pinned=True
        ),
        ForeignCodeChange("edit", "a.py"),
        Aside("summary", "{}"),
    ]
    assert FORMAT.write is not None
    written = FORMAT.write(ForeignThread("x", "y", items), {"b": b"png"}.get)
    text = "".join(written.text)
    value = json.loads(text)
    assert FORMAT.sniff(MemorySource(text, HISTORY)) > 0.9
    assert [entry["role"] for entry in value] == ["user", "user", "assistant", "user"]
    assert value[2]["content"][1]["type"] == "tool_use"
    assert value[3]["content"][0]["tool_use_id"] == value[2]["content"][1]["id"]
    assert value[3]["ts"] == 1735689603000
    said = " | ".join(p.what for p in written.problems)
    assert all(word in said for word in ("system", "'Kai'", "pin", "code change", "'summary'"))


@pytest.mark.parametrize(
    "content", ["", "\x00", "[]", "[1, 2]", '[{"role": "user", "content": "hi"}]', "{}", "[" * 100_000]
)
def test_other_files_are_not_recognised_as_tasks(content: str) -> None:
    """Empty, binary and other JSON files, and folders without a history; nothing is raised."""
    assert FORMAT.sniff(MemorySource(content, "x.json")) == 0.0
    assert FORMAT.sniff(MemorySource({"x.json": content}, "folder")) == 0.0


def test_tasks_are_recognised_and_others_refused() -> None:
    """Folder, file by name, and file by what Cline puts into every message."""
    assert FORMAT.sniff(task()) > 0.9
    assert FORMAT.sniff(MemorySource(text_of(HISTORY_VALUE), HISTORY)) > 0.9
    assert FORMAT.sniff(MemorySource(text_of(HISTORY_VALUE), "saved.json")) >= 0.9
    for source in (
        MemorySource("", HISTORY),
        MemorySource("{}", HISTORY),
        MemorySource({}, "f"),
        MemorySource({HISTORY: {}}, "f"),
    ):
        with pytest.raises(FormatError):
            FORMAT.read(source)
