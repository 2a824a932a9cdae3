"""Dialogue files: the plain shape in and out, and everything else along with it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.errors import FormatError, InvalidInput
from backscroll.formats.dialogue.reader import FORMAT, file_name
from backscroll.vocab.foreign import Aside, ForeignCodeChange, ForeignMessage, ForeignThread, Item, Problem
from backscroll.vocab.message import Content
from backscroll.vocab.part import Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from tests.formats.memory_source import MemorySource
from tests.formats.stored import stored

DIALOGUE = {
    "start_time": "2024-06-05T15:43:02.120000",
    "messages": [
        {"role": "user", "content": "给 util.py 加保存函数 😀", "timestamp": "2024-06-05T15:43:05.000100"},
        {"role": "assistant", "content": "好的，已添加。", "timestamp": "2024-06-05T15:43:30"},
        {"role": "user", "content": "谢谢", "timestamp": "2024-06-05T15:44:30"},
    ],
    "code_changes": [
        {
            "description": "Added save_response function",
            "file": "util.py",
            "timestamp": "2024-06-05T15:43:31",
        },
        {"description": "Later", "file": "主.py", "timestamp": "2024-06-05T15:45:00"},
    ],
}


def read_one(text: str, name: str = "dialogue_20240605_154302.json") -> tuple[ForeignThread, list[Item]]:
    (thread,) = FORMAT.read(MemorySource(text, name))
    return thread, list(thread.items)


def exported(thread: ForeignThread) -> tuple[str, list[Problem]]:
    assert FORMAT.write is not None
    back, blobs = stored(thread)
    written = FORMAT.write(back, blobs)
    return "".join(written.text), written.problems


def test_file_round_trips_verbatim() -> None:
    """Order, indentation and characters."""
    text = json.dumps(DIALOGUE, ensure_ascii=False, indent=2)
    (thread,) = FORMAT.read(MemorySource(text))
    assert exported(thread) == (text, [])


def test_escapes_are_read_and_written_as_characters() -> None:
    """The text is the same."""
    (thread,) = FORMAT.read(MemorySource(json.dumps(DIALOGUE, indent=2)))
    text, _ = exported(thread)
    assert "好的，已添加。" in text
    assert "😀" in text
    assert json.loads(text) == DIALOGUE


def test_code_changes_are_ordered_by_time() -> None:
    """A change is between the messages before and after it; a late one at the end."""
    thread, items = read_one(json.dumps(DIALOGUE))
    assert [type(item).__name__ for item in items] == [
        "ForeignMessage",
        "ForeignMessage",
        "ForeignCodeChange",
        "ForeignMessage",
        "ForeignCodeChange",
    ]
    assert items[2] == ForeignCodeChange(
        "Added save_response function", "util.py", "2024-06-05T15:43:31+00:00"
    )
    assert (thread.title, thread.language, thread.started) == (
        "给 util.py 加保存函数 😀",
        "zh",
        "2024-06-05T15:43:02.120000+00:00",
    )
    assert thread.source_id == "dialogue_20240605_154302"
    first = items[0]
    assert isinstance(first, ForeignMessage)
    assert (first.role, first.at) == ("user", "2024-06-05T15:43:05.000100+00:00")
    assert first.content.metadata["dialogue"]["naive"] is True


@pytest.mark.parametrize(
    ("iso", "name"),
    [
        ("2024-06-05T15:43:02", "dialogue_20240605_154302.json"),
        ("2024-06-05T15:43:02.5+08:00", "dialogue_20240605_154302.json"),
        ("2024-06-05T15:43:02Z", "dialogue_20240605_154302.json"),
    ],
)
def test_file_name_holds_the_start_time(iso: str, name: str) -> None:
    """In the time zone of the start."""
    assert file_name(iso) == name


def test_file_name_of_an_invalid_time_is_refused() -> None:
    """With a clear error."""
    with pytest.raises(InvalidInput):
        file_name("yesterday")


def everything() -> list[Item]:
    shown = Media("image/png", data=b"\x89PNG", name="地图", extra={"v": {"a": 1}})
    parts: tuple[Part, ...] = (
        Reasoning("hm", "sig"),
        Text("看", {"x": 1}),
        shown,
        ToolCall("c1", "ls", {"d": "."}),
        Opaque("v", "k", "{}"),
    )
    result = ToolResult("c1", (Text("a\nb"), Media("image/gif", data=b"GIF8")), is_error=True, name="ls")
    versions = (Content((Text("one"),)), Content((Text("two"), Text("three")), "B", {"m": 1}))
    return [
        ForeignMessage("system", Content((Text("Be brief."),)), "2025-01-01T00:00:00+00:00", hidden=True),
        ForeignMessage("user", Content(parts, "Kai", {"cline": {"a": 1}}), "2025-01-01T00:01:00+00:00", pinned=True),
        ForeignMessage("tool", Content((result,)), "2025-01-01T00:02:00+00:00"),
        ForeignCodeChange("edit", "a.py", "2025-01-01T00:02:30+00:00"),
        ForeignMessage(
            "assistant", versions[1], "2025-01-01T00:03:00+00:00",
            alternatives=versions, alternative_times=("2025-01-01T00:02:50+00:00", "2025-01-01T00:03:00+00:00"), chosen=1,
        ),
    ]  # fmt: skip


def without_notes(content: Content) -> Content:
    return Content(
        content.parts, content.author, {k: v for k, v in content.metadata.items() if k != "dialogue"}
    )


def test_rich_messages_round_trip_through_the_plain_shape() -> None:
    """Parts with bytes, authors, flags, alternatives and thread metadata."""
    source = ForeignThread(
        "cline",
        "77",
        everything(),
        title="T",
        project="P",
        kind="agent",
        language="zh",
        metadata={"cline": {"id": 7}},
    )
    text, problems = exported(source)
    assert problems == []
    thread, items = read_one(text)
    assert (thread.title, thread.project, thread.kind, thread.language, thread.source_id) == (
        "T",
        "P",
        "agent",
        "zh",
        "77",
    )
    assert thread.metadata["cline"] == {"id": 7}
    for before, after in zip(everything(), items, strict=True):
        if isinstance(before, ForeignCodeChange):
            assert after == before
            continue
        assert isinstance(before, ForeignMessage)
        assert isinstance(after, ForeignMessage)
        assert (before.role, before.at, before.hidden, before.pinned) == (
            after.role,
            after.at,
            after.hidden,
            after.pinned,
        )
        assert without_notes(after.content) == before.content
        assert tuple(map(without_notes, after.alternatives)) == before.alternatives
        assert (after.alternative_times, after.chosen) == (before.alternative_times, before.chosen)
    (again,) = FORMAT.read(MemorySource(text))
    assert json.loads(exported(again)[0]) == json.loads(text)


def test_content_describes_calls_results_and_images() -> None:
    """For programs that know only the plain shape."""
    text, _ = exported(ForeignThread("x", "y", everything()))
    contents = [message["content"] for message in json.loads(text)["messages"]]
    assert "看" in contents[1]
    assert '[ls] {"d":"."}' in contents[1]
    assert "地图" in contents[1]
    assert contents[2].startswith("[ls failed] → a\nb")
    assert set(json.loads(text)["messages"][0]) == {"role", "content", "timestamp", "hidden"}


def test_losses_are_reported() -> None:
    """Asides of other tools, branches and forgotten bytes leave a problem."""
    items: list[Item] = [
        ForeignMessage("user", Content((Media("image/png", blob="gone"),)), parent_id="q"),
        Aside("summary", "{}"),
    ]
    _, problems = exported(ForeignThread("x", "y", items))
    said = " | ".join(p.what for p in problems)
    assert all(word in said for word in ("bytes", "branch", "summary"))


def test_truncated_file_gives_its_complete_messages() -> None:
    """Complete messages go in; the place of the break and the rest of the text are kept."""
    text = json.dumps(DIALOGUE, ensure_ascii=False, indent=2)
    cut = text[: text.index("谢谢")]
    thread, items = read_one(cut)
    assert [item.content.text for item in items if isinstance(item, ForeignMessage)] == [
        "给 util.py 加保存函数 😀",
        "好的，已添加。",
    ]
    (problem,) = [item for item in items if isinstance(item, Problem)]
    assert problem.line == cut.count("\n", 0, cut.rindex("{")) + 1
    assert any(isinstance(item, Aside) and '"user"' in item.raw for item in items)
    assert thread.started == "2024-06-05T15:43:02.120000+00:00"
    whole_messages = text[: text.index('"code_changes"') + 20]
    assert sum(isinstance(item, ForeignMessage) for item in read_one(whole_messages)[1]) == 3


def test_odd_roles_contents_and_entries_are_kept() -> None:
    """Synonyms of roles are understood, unknown roles reported; the export is unchanged."""
    odd = {
        "start_time": None,
        "messages": [
            {"role": "human", "content": "a", "timestamp": "soon"},
            {"role": "AI", "content": None},
            {"role": "narrator", "content": [{"type": "text", "text": "b"}], "timestamp": 5, "mood": "dark"},
            "not a message",
            {"content": ""},
        ],
        "code_changes": [
            {"description": "d", "file": "f", "timestamp": "2024-06-05T15:43:31Z", "by": "me"},
            7,
        ],
        "version": 2,
    }
    (thread,) = FORMAT.read(MemorySource(json.dumps(odd)))
    text, _ = exported(thread)
    assert json.loads(text) == odd
    _, items = read_one(json.dumps(odd))
    assert [item.role for item in items if isinstance(item, ForeignMessage)] == [
        "user",
        "assistant",
        "user",
        "user",
    ]
    assert [p.what for p in items if isinstance(p, Problem)] == [
        "unknown role 'narrator': read as a user of that name",
        "not a message: kept as it is",
        "unknown role None: read as a user of that name",
        "not a code change: kept as it is",
    ]


values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.text(max_size=5), lambda x: st.lists(x, max_size=2) | st.dictionaries(st.text(max_size=3), x, max_size=2), max_leaves=4
)  # fmt: skip
times = (
    st.sampled_from(
        ["2024-06-05T15:43:31", "2024-06-05T15:43:31Z", "2024-06-05 15:43", "2024-06-05T15:43:31.5+08:00"]
    )
    | values
)
listed = st.lists(st.fixed_dictionaries({"t": st.sampled_from(["text", "media", "call", "result", "reasoning", "opaque"])}, optional={
    "text": values, "type": values, "data": st.sampled_from(["AA==", "A"]), "id": values, "name": values, "args": values, "call": values, "content": values,
    "signature": values, "vendor": values, "kind": values, "raw": values, "extra": values}), max_size=2)  # fmt: skip
entries = st.fixed_dictionaries({}, optional={
    "role": st.sampled_from(["user", "assistant", "tool", "bot"]) | values, "content": values, "timestamp": times, "parts": listed | values,
    "author": values, "hidden": values, "pinned": values, "metadata": values, "chosen": values,
    "alternatives": st.lists(st.fixed_dictionaries({}, optional={"content": values, "parts": listed, "timestamp": times}), max_size=2) | values})  # fmt: skip
code_changes = st.fixed_dictionaries(
    {},
    optional={
        "description": st.text(max_size=2) | values,
        "file": st.text(max_size=2) | values,
        "timestamp": times,
    },
)


@settings(max_examples=200, deadline=None)
@given(st.lists(entries | values, max_size=3), st.lists(code_changes | values, max_size=3), times)
def test_no_file_however_odd_is_changed_by_a_round_trip(
    messages: list[Any], changes: list[Any], start: Any
) -> None:
    """Whatever is in the lists, reading and writing give the same values back."""
    document = {"start_time": start, "messages": messages, "code_changes": changes}
    (thread,) = FORMAT.read(MemorySource(json.dumps(document)))
    assert json.loads(exported(thread)[0]) == document


@pytest.mark.parametrize(
    "content",
    [
        "",
        "\x00",
        "[]",
        '{"messages": []}',
        '{"messages": [{"role": "user"}]}',
        "{" * 5000,
        '{"start_time": "x"}',
    ],
)
def test_other_files_are_not_recognised_as_dialogues(content: str) -> None:
    """Empty, binary and other JSON files; nothing is raised."""
    assert FORMAT.sniff(MemorySource(content)) == 0.0
    assert FORMAT.sniff(MemorySource({"a": content}, "folder")) == 0.0


def test_dialogues_are_recognised_and_others_refused() -> None:
    """The shape is recognised from its beginning; reading something else is a clear error."""
    assert FORMAT.sniff(MemorySource(json.dumps(DIALOGUE))) > 0.9
    for text in ("", "[]", "{}", '{"messages": 5}'):
        with pytest.raises(FormatError):
            FORMAT.read(MemorySource(text))
    with pytest.raises(FormatError):
        FORMAT.read(MemorySource({}, "folder"))
