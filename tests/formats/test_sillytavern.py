"""SillyTavern chats in and out: old and new variants, swipes, tools, broken lines, and threads from elsewhere."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.errors import FormatError
from backscroll.formats.sillytavern.message import KEY
from backscroll.formats.sillytavern.reader import FORMAT
from backscroll.formats.sillytavern.time import when
from backscroll.vocab.foreign import Aside, ForeignCodeChange, ForeignMessage, ForeignThread, Item, Problem
from backscroll.vocab.message import Content
from backscroll.vocab.part import Media, Opaque, Reasoning, Text, ToolCall, ToolResult
from tests.formats.memory_source import MemorySource
from tests.formats.stored import stored

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

HEADER = {
    "chat_metadata": {
        "integrity": "0c5f4b3a-7d1e-4c8e-9a55-3f6f7d2f6c11",
        "main_chat": "Mira - 2025-3-1@10h00m00s",
        "tainted": True,
        "variables": {"gold": 12},
    },
    "user_name": "unused",
    "character_name": "unused",
}
GREETING = {
    "name": "Mira",
    "is_user": False,
    "is_system": False,
    "mes": "*looks up* 你来了。",
    "send_date": "2025-03-02T08:00:00.000Z",
    "swipes": ["*looks up* 你来了。", "Oh. You again."],
    "swipe_id": 0,
    "swipe_info": [
        {"send_date": "2025-03-02T08:00:00.000Z", "extra": {}},
        {"send_date": "2025-03-02T08:00:00.000Z", "extra": {}},
    ],
    "extra": {},
}
QUESTION = {
    "name": "Kai",
    "is_user": True,
    "is_system": False,
    "send_date": "2025-03-02T08:01:10.250Z",
    "mes": "Where is the key?",
    "extra": {
        "isSmallSys": False,
        "media": [
            {"url": f"data:image/png;base64,{PIXEL}", "type": "image", "title": "a map", "source": "upload"}
        ],
        "files": [
            {"url": "/user/files/notes.txt", "name": "notes.txt", "size": 120, "created": 1740902400000}
        ],
    },
    "force_avatar": "User Avatars/kai.png",
}
ANSWER = {
    "name": "Mira",
    "is_user": False,
    "is_system": False,
    "send_date": "2025-03-02T08:02:00.000Z",
    "gen_started": "2025-03-02T08:01:40.000Z",
    "gen_finished": "2025-03-02T08:02:00.000Z",
    "title": "",
    "mes": "Under the *third* stone.",
    "extra": {
        "api": "claude",
        "model": "claude-sonnet",
        "reasoning": "She hid it herself.",
        "reasoning_signature": "c2ln",
        "reasoning_duration": 1200,
        "token_count": 9,
    },
    "swipe_id": 1,
    "swipes": ["I will not tell.", "Under the second stone.", "What key?"],
    "swipe_info": [
        {
            "send_date": "2025-03-02T08:01:30.000Z",
            "gen_started": "2025-03-02T08:01:20.000Z",
            "gen_finished": "2025-03-02T08:01:30.000Z",
            "extra": {"api": "claude", "model": "claude-sonnet", "reasoning": "Be stubborn."},
        },
        {
            "send_date": "2025-03-02T08:02:00.000Z",
            "gen_started": "2025-03-02T08:01:40.000Z",
            "gen_finished": "2025-03-02T08:02:00.000Z",
            "extra": {"api": "claude", "model": "claude-sonnet"},
        },
        {"send_date": "2025-03-02T08:02:30.000Z", "extra": {"model": "other"}},
    ],
}
TOOLS = {
    "name": "SillyTavern System",
    "force_avatar": "img/five.png",
    "is_system": True,
    "is_user": False,
    "mes": "<details><summary>Tool calls: Roll Dice</summary></details>",
    "send_date": "2025-03-02T08:03:00.000Z",
    "extra": {
        "isSmallSys": True,
        "tool_invocations": [
            {
                "id": "call_1",
                "displayName": "Roll Dice",
                "name": "RollTheDice",
                "parameters": '{"sides":6}',
                "result": "4",
            },
            {"id": "call_2", "name": "Weather", "parameters": "{}", "result": "no such place", "error": True},
        ],
    },
}
NARRATOR = {
    "name": "System",
    "is_user": False,
    "is_system": False,
    "send_date": "2025-03-02T08:04:00.000Z",
    "mes": "Night falls.",
    "extra": {"type": "narrator", "bias": None, "gen_id": 1740902640000},
}
HIDDEN = {
    "name": "Mira",
    "is_user": False,
    "is_system": True,
    "send_date": "2025-03-02T08:05:00.000Z",
    "mes": "Forget I said that.",
    "swipes": ["Forget I said that."],
    "swipe_id": 0,
    "extra": {"bookmark_link": "Mira - Checkpoint #1"},
}
NEW = [HEADER, GREETING, QUESTION, ANSWER, TOOLS, NARRATOR, HIDDEN]

OLD = [
    {
        "user_name": "You",
        "character_name": "Aqua",
        "create_date": "2023-7-4 @15h 05m 09s 123ms",
        "chat_metadata": {},
    },
    {"name": "Aqua", "is_user": False, "is_name": True, "send_date": 1688483109123, "mes": "Hi!"},
    {
        "name": "You",
        "is_user": True,
        "is_name": True,
        "send_date": "July 4, 2023 3:05pm",
        "mes": "Hello, Aqua.",
    },
    {
        "name": "Aqua",
        "is_user": False,
        "is_name": True,
        "send_date": "2023-7-4 @15h 06m 01s 7ms",
        "mes": "A picture for you",
        "swipe_id": 1,
        "swipes": ["No.", "A picture for you"],
        "extra": {"image": "/user/images/Aqua/lake.png", "title": "lake", "inline_image": True},
    },
]
OLD_GROUP = [
    {
        "name": "Hana",
        "is_user": False,
        "is_name": True,
        "original_avatar": "hana.png",
        "force_avatar": "/thumbnail?type=avatar&file=hana.png",
        "send_date": "2023-07-04@15h05m09s",
        "mes": "我先说。",
        "extra": {"gen_id": 5},
    },
    {"name": "You", "is_user": True, "is_name": True, "send_date": "next Tuesday", "mes": "好。"},
    {
        "name": "Ren",
        "is_user": False,
        "original_avatar": "ren.png",
        "send_date": 1688483109,
        "mes": "轮到我了。",
        "extra": {},
    },
]


def source_of(lines: list[Any], name: str = "chat.jsonl", path: str | None = None) -> MemorySource:
    return MemorySource("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), name, path)


def read_one(source: MemorySource) -> tuple[ForeignThread, list[Item]]:
    (thread,) = FORMAT.read(source)
    return thread, list(thread.items)


def messages(source: MemorySource) -> list[ForeignMessage]:
    return [item for item in read_one(source)[1] if isinstance(item, ForeignMessage)]


def exported(thread: ForeignThread) -> tuple[list[Any], list[Problem]]:
    assert FORMAT.write is not None
    back, blobs = stored(thread)
    written = FORMAT.write(back, blobs)
    return [json.loads(line) for line in "".join(written.text).split("\n") if line], written.problems


def same(left: Any, right: Any) -> bool:
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


@pytest.mark.parametrize("lines", [NEW, OLD, OLD_GROUP], ids=["new", "old", "old group"])
def test_every_line_round_trips(lines: list[Any]) -> None:
    """Every line has the same JSON values, without problems."""
    (thread,) = FORMAT.read(source_of(lines))
    back, problems = exported(thread)
    assert same(back, lines)
    assert problems == []


def test_valid_lines_need_no_raw_copy() -> None:
    """The documented shapes are understood: no message falls back on a copy of its line."""
    for lines in (NEW, OLD, OLD_GROUP):
        for message in messages(source_of(lines)):
            assert "raw" not in message.content.metadata[KEY]


def test_mes_wins_over_an_outdated_swipe() -> None:
    """`mes` is the live alternative; the stale text of its swipe is kept beside it."""
    answer = messages(source_of(NEW))[2]
    assert answer.content.text == "Under the *third* stone."
    assert [a.text for a in answer.alternatives] == [
        "I will not tell.",
        "Under the *third* stone.",
        "What key?",
    ]
    assert answer.chosen == 1
    assert answer.content.metadata[KEY]["stale"] == "Under the second stone."
    assert answer.alternatives[answer.chosen] == answer.content


def test_swipes_have_their_own_times_and_reasoning() -> None:
    """From swipe_info, with the model."""
    answer = messages(source_of(NEW))[2]
    assert answer.alternative_times == (
        "2025-03-02T08:01:30+00:00",
        "2025-03-02T08:02:00+00:00",
        "2025-03-02T08:02:30+00:00",
    )
    assert answer.alternatives[0].parts[0] == Reasoning("Be stubborn.")
    assert answer.content.parts[0] == Reasoning("She hid it herself.", "c2ln")
    assert answer.alternatives[2].metadata[KEY]["fields"]["extra"] == {"model": "other"}


def test_is_system_hides_and_does_not_change_the_role() -> None:
    """A hidden line of the character stays the character's; only narrators are system."""
    hidden, narrator = messages(source_of(NEW))[-1], messages(source_of(NEW))[-2]
    assert (hidden.role, hidden.hidden, hidden.content.author) == ("assistant", True, "Mira")
    assert (narrator.role, narrator.hidden) == ("system", False)


def test_tool_invocations_become_calls_and_results() -> None:
    """One line of invocations is a reply with calls and a message with their results; the model saw it, so it is not hidden."""
    call, result = messages(source_of(NEW))[3:5]
    assert (call.role, result.role, call.hidden) == ("assistant", "tool", False)
    first, second = (part for part in call.content.parts if isinstance(part, ToolCall))
    assert (first.id, first.name, first.arguments) == ("call_1", "RollTheDice", '{"sides":6}')
    answers = [part for part in result.content.parts if isinstance(part, ToolResult)]
    assert [a.call_id for a in answers] == [first.id, second.id]
    assert [a.is_error for a in answers] == [False, True]


def test_attachments_become_media() -> None:
    """Data URLs become bytes, paths become addresses, and both come with their names."""
    parts = messages(source_of(NEW))[1].content.parts
    image, file = (part for part in parts if isinstance(part, Media))
    assert image.data is not None
    assert image.data.startswith(b"\x89PNG")
    assert (image.media_type, image.name) == ("image/png", "a map")
    assert (file.url, file.media_type, file.name) == ("/user/files/notes.txt", "text/plain", "notes.txt")


def test_chat_has_character_title_and_parent() -> None:
    """The folder names the character where the header does not; the parent chat is a file name, never the integrity id."""
    path = "data/default-user/chats/Mira/Mira - Branch #2.jsonl"
    thread, _ = read_one(source_of(NEW, "Mira - Branch #2.jsonl", path))
    assert (thread.project, thread.title, thread.source_id) == (
        "Mira",
        "Mira - Branch #2",
        "Mira - Branch #2",
    )
    assert thread.forked_from == "Mira - 2025-3-1@10h00m00s"
    assert thread.kind == "roleplay"
    assert thread.metadata[KEY]["header"] == HEADER
    old, _ = read_one(source_of(OLD, "2023-7-4 @15h 05m 09s 123ms.jsonl"))
    assert (old.project, old.title, old.language) == ("Aqua", "Aqua", "en")
    assert old.started == "2023-07-04T15:05:09.123000+00:00"


def test_old_group_chat_without_header_is_read() -> None:
    """Without a header the first line is a message already; the speakers name the group; Chinese is recognised."""
    thread, items = read_one(source_of(OLD_GROUP, "1688483100000.jsonl", "group chats/1688483100000.jsonl"))
    assert len(items) == 3
    assert (thread.project, thread.title) == ("Hana, Ren", "Hana, Ren")
    assert thread.language == "zh"
    assert thread.metadata[KEY]["header"] is None


@pytest.mark.parametrize(
    ("raw", "iso", "naive"),
    [
        ("2025-03-02T08:00:00.000Z", "2025-03-02T08:00:00+00:00", False),
        ("2025-03-02T16:00:00+08:00", "2025-03-02T16:00:00+08:00", False),
        ("2025-03-02T08:00:00", "2025-03-02T08:00:00+00:00", True),
        (1688483109123, "2023-07-04T15:05:09.123000+00:00", False),
        (1688483109, "2023-07-04T15:05:09+00:00", False),
        ("1688483109123", "2023-07-04T15:05:09.123000+00:00", False),
        ("July 4, 2023 3:05pm", "2023-07-04T15:05:00+00:00", True),
        ("July 4, 2023 12:05am", "2023-07-04T00:05:00+00:00", True),
        ("七月 4, 2023 3:05pm", "2023-07-04T15:05:00+00:00", True),
        ("7月 4, 2023 3:05pm", "2023-07-04T15:05:00+00:00", True),
        ("июль 4, 2023 3:05pm", "2023-07-04T15:05:00+00:00", True),
        ("2023-7-4 @15h 05m 09s 123ms", "2023-07-04T15:05:09.123000+00:00", True),
        ("2023-07-04@15h05m09s", "2023-07-04T15:05:09+00:00", True),
        ("2023-07-04@15h05m09s123ms", "2023-07-04T15:05:09.123000+00:00", True),
        ("2023年7月4日 15:05", "2023-07-04T15:05:00+00:00", True),
        ("7/4/2023, 3:05:09 PM", "2023-07-04T15:05:09+00:00", True),
    ],
)
def test_times_of_every_version_are_parsed(raw: Any, iso: str, naive: bool) -> None:
    """To ISO, marked if the zone is unknown."""
    assert when(raw) == (iso, naive)


@pytest.mark.parametrize(
    "raw",
    [
        None,
        True,
        "",
        "yesterday",
        0,
        -5,
        12,
        1e30,
        float("nan"),
        "Smarch 4, 2023 3:05pm",
        "2023-13-40@99h00m00s",
        [],
        "3/4/2023 15:05",
    ],
)
def test_unknown_times_are_not_guessed(raw: Any) -> None:
    """Invalid and ambiguous times give none, without an error."""
    assert when(raw) is None


def test_unknown_time_is_kept_raw_and_naive_time_is_marked() -> None:
    """The raw value is kept in either case."""
    first, second, third = messages(source_of(OLD_GROUP))
    assert second.at is None
    assert second.content.metadata[KEY]["fields"]["send_date"] == "next Tuesday"
    assert first.content.metadata[KEY]["naive"] is True
    assert "naive" not in third.content.metadata[KEY]


def test_broken_line_is_reported_and_the_rest_imported() -> None:
    """Problems name the line; the words of the broken line are kept aside; BOM and blank lines do not matter."""
    text = (
        "\ufeff"
        + json.dumps(HEADER)
        + "\n\n"
        + json.dumps(GREETING)[:40]
        + "\n[1,2]\n"
        + json.dumps(QUESTION)
        + "\n{"
    )
    thread, items = read_one(MemorySource(text))
    problems = [item for item in items if isinstance(item, Problem)]
    assert [p.line for p in problems] == [3, 4, 6]
    assert [item.content.text for item in items if isinstance(item, ForeignMessage)] == ["Where is the key?"]
    assert [item.raw for item in items if isinstance(item, Aside)] == [
        json.dumps(GREETING)[:40],
        "[1,2]",
        "{",
    ]
    (again,) = FORMAT.read(MemorySource(text))
    back, complaints = exported(again)
    assert same(back, [HEADER, [1, 2], QUESTION])
    assert any("sillytavern-broken" in p.what for p in complaints)
    assert thread.metadata[KEY]["header"] == HEADER


def test_broken_header_is_replaced_on_export() -> None:
    """Where the header could not be read, the export has a new one."""
    (thread,) = FORMAT.read(MemorySource('{"chat_metadata": {\n' + json.dumps(QUESTION) + "\n"))
    back, _ = exported(thread)
    assert back[0] == {"chat_metadata": {}, "user_name": "unused", "character_name": "unused"}
    assert same(back[1], QUESTION)


def test_lone_surrogate_round_trips() -> None:
    """JavaScript writes it as an escape; the export is valid UTF-8."""
    text = '{"name":"A","is_user":true,"mes":"cut \\ud83d"}\n'
    (thread,) = FORMAT.read(MemorySource(text))
    assert FORMAT.write is not None
    out = "".join(FORMAT.write(thread, lambda _: None).text)
    assert out.encode("utf-8")
    assert json.loads(out)["mes"] == "cut \ud83d"


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
)
values = st.recursive(
    scalars,
    lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(max_size=5), x, max_size=3),
    max_leaves=6,
)
texts = st.text(max_size=12)
extras = st.fixed_dictionaries(
    {},
    optional={
        "reasoning": texts | values,
        "reasoning_signature": texts | values,
        "type": st.sampled_from(["narrator", "comment", "odd"]) | values,
        "media": st.lists(st.fixed_dictionaries({"url": st.sampled_from(["/a.png", f"data:image/png;base64,{PIXEL}", ""])}) | values, max_size=2),
        "image": st.sampled_from(["/b.jpg", "data:image/png;base64,AA==", "data:;base64,AAA"]) | values,
        "file": st.fixed_dictionaries({"url": texts, "name": texts}) | values,
        "tool_invocations": st.lists(
            st.fixed_dictionaries({"name": texts}, optional={"id": texts | values, "parameters": values, "result": values, "error": values}), max_size=2
        )
        | values,
        "model": values,
    },
)  # fmt: skip
chat_lines = st.fixed_dictionaries(
    {"mes": texts | values},
    optional={
        "name": texts | values,
        "is_user": st.booleans() | values,
        "is_system": st.booleans() | values,
        "send_date": st.sampled_from(["July 4, 2023 3:05pm", 1688483109123]) | values,
        "gen_started": values,
        "swipes": st.lists(texts, max_size=3) | values,
        "swipe_id": st.integers(-1, 3) | values,
        "swipe_info": st.lists(st.fixed_dictionaries({}, optional={"send_date": values, "extra": extras, "odd": values}) | values, max_size=3),
        "extra": extras | values,
        "force_avatar": values,
    },
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(chat_lines, min_size=1, max_size=4))
def test_no_line_however_odd_is_changed_by_a_round_trip(lines: list[dict[str, Any]]) -> None:
    """Whatever values are in the known fields, import and export give the same values back."""
    (thread,) = FORMAT.read(source_of([HEADER, *lines]))
    back, _ = exported(thread)
    assert same(back, [HEADER, *json.loads(json.dumps(lines))])


def test_edits_win_over_the_kept_raw_line() -> None:
    """Changed text, author or visibility is exported; the rest of the line stays."""
    odd = dict(ANSWER, swipe_id="1")  # a line that needs its raw copy
    message = messages(source_of([HEADER, odd]))[0]
    assert "raw" in message.content.metadata[KEY]
    content = Content((Text("Nowhere."),), "Mira the Elder", message.content.metadata)
    edited = ForeignMessage("assistant", content, message.at, hidden=True)
    back, _ = exported(ForeignThread("sillytavern", "x", [edited], metadata={KEY: {"header": HEADER}}))
    assert back[1]["mes"] == "Nowhere."
    assert (back[1]["name"], back[1]["is_system"], back[1]["send_date"]) == (
        "Mira the Elder",
        True,
        ANSWER["send_date"],
    )


def test_choosing_another_swipe_updates_the_line() -> None:
    """When another alternative became live, the line shows its words, time and model, and no swipe is lost."""
    message = messages(source_of(NEW))[2]
    other = ForeignMessage(
        "assistant", message.alternatives[2], message.at, alternatives=message.alternatives, alternative_times=message.alternative_times, chosen=2
    )  # fmt: skip
    (line,) = exported(ForeignThread("sillytavern", "x", [other], metadata={KEY: {"header": None}}))[0]
    assert (line["mes"], line["swipe_id"], line["name"]) == ("What key?", 2, "Mira")
    assert line["extra"] == {"model": "other"}
    assert line["swipes"] == ["I will not tell.", "Under the *third* stone.", "What key?"]
    assert line["swipe_info"][1]["extra"]["reasoning"] == "She hid it herself."


def test_foreign_thread_becomes_a_valid_chat() -> None:
    """System text, tool calls, thinking, images and alternatives are said in SillyTavern's terms and read back alike."""
    call = ToolCall("toolu_1", "search", {"q": "钥匙"})
    items: list[Item] = [
        ForeignMessage("system", Content((Text("Be brief."),)), "2025-01-01T00:00:00+00:00"),
        ForeignMessage(
            "user",
            Content((Text("look"), Media("image/png", blob="b1", name="map"))),
            "2025-01-01T00:01:00+00:00",
        ),
        ForeignMessage(
            "assistant", Content((Reasoning("hm", "sig"), Text("I look."), call)), "2025-01-01T00:02:00+00:00"
        ),
        ForeignMessage(
            "tool", Content((ToolResult("toolu_1", (Text("found"),)),)), "2025-01-01T00:03:00+00:00"
        ),
        ForeignMessage(
            "assistant",
            Content((Text("two"),)),
            "2025-01-01T00:04:00+00:00",
            alternatives=(Content((Text("one"),)), Content((Text("two"),))),
            alternative_times=("2025-01-01T00:03:30+00:00", None),
            chosen=1,
        ),
    ]
    thread = ForeignThread("claude-code", "s", items, project="tower")
    assert FORMAT.write is not None
    written = FORMAT.write(thread, {"b1": b"png bytes"}.get)
    text = "".join(written.text)
    assert written.problems == []
    assert FORMAT.sniff(MemorySource(text)) > 0.9
    back = messages(MemorySource(text))
    assert [m.role for m in back] == ["system", "user", "assistant", "assistant", "tool", "assistant"]
    assert [m.content.text for m in back] == ["Be brief.", "look", "I look.", "", "", "two"]
    assert back[2].content.parts[0] == Reasoning("hm", "sig")
    image = back[1].content.parts[1]
    assert isinstance(image, Media)
    assert image.data == b"png bytes"
    calls = [part for part in back[3].content.parts if isinstance(part, ToolCall)]
    assert json.loads(calls[0].arguments) == {"q": "钥匙"}
    assert [a.text for a in back[5].alternatives] == ["one", "two"]
    assert all(m.at is not None for m in back)


def test_calls_in_several_messages_find_their_results() -> None:
    """Where a tool logs a reply in pieces, results that come after the last piece still reach their calls."""
    items: list[Item] = [
        ForeignMessage("assistant", Content((ToolCall("a", "read", {}),))),
        ForeignMessage("assistant", Content((Text("and"), ToolCall("b", "list", {})))),
        ForeignMessage("tool", Content((ToolResult("a", (Text("A"),)),))),
        ForeignMessage("tool", Content((ToolResult("b", (Text("B"),)),))),
        ForeignMessage("assistant", Content((Text("done"),))),
    ]
    back, problems = exported(ForeignThread("x", "y", items))
    invoked = [call for line in back[1:] for call in line["extra"].get("tool_invocations", [])]
    assert [(call["id"], call["result"]) for call in invoked] == [("a", "A"), ("b", "B")]
    assert [line["mes"] for line in back[1:] if "tool_invocations" not in line["extra"]] == ["and", "done"]
    assert problems == []


def test_losses_are_reported() -> None:
    """Pins, vendor parts, asides, code changes, lost bytes, orphan results and open calls each leave a problem."""
    items: list[Item] = [
        ForeignMessage("user", Content((Text("a"), Opaque("v", "k", "{}"))), pinned=True),
        ForeignMessage("user", Content((Media("image/png", blob="gone"),))),
        ForeignMessage("tool", Content((ToolResult("nobody", (Text("lost words"),)),))),
        ForeignMessage("assistant", Content((ToolCall("c", "ls", {}),))),
        Aside("summary", "{}"),
        ForeignCodeChange("edit", "a.py"),
    ]
    back, problems = exported(ForeignThread("x", "y", items))
    said = " | ".join(p.what for p in problems)
    for word in ("pin", "part (k)", "bytes", "nobody", "no result", "summary", "code changes"):
        assert word in said
    assert "lost words" in json.dumps(back)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "\x00\x01\x02",
        b"\x89PNG\r\n\x1a\n\xff\xfe",
        "[]",
        '{"role":"user","content":"hi"}\n',
        "hello",
        '{"type":"user","message":{}}',
        "[" * 100000,
    ],
)
def test_other_files_are_not_recognised_as_chats(content: str | bytes) -> None:
    """Empty, binary, absurdly nested and foreign files are not SillyTavern chats, and nothing is raised."""
    assert FORMAT.sniff(MemorySource(content)) == 0.0


def test_chats_are_recognised_and_folders_are_not() -> None:
    """Every variant, even if the header is longer than the part that is read."""
    for lines in (NEW, OLD, OLD_GROUP):
        assert FORMAT.sniff(source_of(lines)) >= 0.9
    assert FORMAT.sniff(source_of([dict(HEADER, notes="x" * 100_000), GREETING])) >= 0.9
    assert FORMAT.sniff(MemorySource({"chat.jsonl": "{}"}, "chats")) == 0.0


def test_file_without_chat_lines_is_refused() -> None:
    """Reading something else fails with a clear error instead of an empty thread."""
    for source in (MemorySource(""), MemorySource("a\nb\n"), MemorySource({"a": ""}, "folder")):
        with pytest.raises(FormatError):
            FORMAT.read(source)
