"""Claude Code transcripts: real ones come back line by line, made-up ones show every turn a tree can take."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from backscroll.errors import FormatError
from backscroll.formats.claude_code.reader import FORMAT
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

SESSION = "11111111-2222-4333-8444-555555555555"
REAL = [*transcripts("claude-code/*.jsonl"), *transcripts("exports/claude-code_*.jsonl")]


def line(uuid: str, parent: str | None, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": kind, "content": content}
    if kind == "assistant":
        message = {
            "id": more.pop("reply", f"msg_{uuid}"),
            "model": "m",
            "usage": {"output_tokens": 3},
            **message,
        }
    shared = {
        "sessionId": SESSION,
        "cwd": "/home/ann/x",
        "timestamp": "2026-01-01T10:00:00.000Z",
        "isSidechain": False,
    }
    return {"parentUuid": parent, **shared, "type": kind, "message": message, "uuid": uuid, **more}


def aside(uuid: str, parent: str | None, kind: str = "progress", **more: Any) -> dict[str, Any]:
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": SESSION, "data": {"n": 1}, **more}


def call(*ids: str) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": i, "name": "ls", "input": {"p": "."}} for i in ids]


def result(id: str, content: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def source(*values: Any, name: str = f"{SESSION}.jsonl") -> MemorySource:
    return MemorySource("".join(json.dumps(v, ensure_ascii=False) + "\n" for v in values), name)


def read(src: MemorySource) -> list[ForeignThread]:
    return list(FORMAT.read(src))


def back(src: MemorySource) -> list[Any]:
    """All lines of all threads, written again."""
    return [row for thread in read(src) for row in rows(exported(FORMAT, thread)[0])]


# -- real files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", REAL)
def test_real_files_round_trip(path: Path) -> None:
    """Each line is written as the equal JSON value, in the same order."""
    raw = rows(path.read_text(encoding="utf-8"))
    assert back(opened(path)) == raw


@pytest.mark.parametrize("path", REAL)
def test_real_files_round_trip_through_the_store(path: Path) -> None:
    """Although the store does not keep line numbers."""
    (thread,) = read(opened(path))
    shelf = Shelf()
    assert rows(exported(FORMAT, shelf.through(thread), shelf.blobs)[0]) == rows(
        path.read_text(encoding="utf-8")
    )


@pytest.mark.parametrize("path", REAL)
def test_item_counts_of_real_files_match_the_raw_lines(path: Path) -> None:
    """Messages and asides of each type, and no false branches."""
    raw = rows(path.read_text(encoding="utf-8"))
    expected = Counter(str(row.get("type", "unknown")) if isinstance(row, dict) else "unknown" for row in raw)
    (thread,) = read(opened(path))
    found: Counter[str] = Counter()
    for item in thread.items:
        if isinstance(item, ForeignMessage):
            assert item.parent_id is None
            found["assistant" if item.role == "assistant" else "user"] += 1
        elif isinstance(item, Aside):
            found[item.kind] += 1
    assert found == expected
    assert FORMAT.sniff(opened(path)) >= 0.9


@pytest.mark.parametrize("path", REAL)
def test_calls_and_results_of_real_files_pair_up(path: Path) -> None:
    """Every result block is a tool message, and the calls are where the file has them."""
    raw = path.read_text(encoding="utf-8")
    blocks = [
        block.get("type")
        for row in rows(raw)
        if isinstance(row, dict) and isinstance(row.get("message"), dict)
        for block in (
            row["message"].get("content") if isinstance(row["message"].get("content"), list) else []
        )
        if isinstance(block, dict)
    ]
    (thread,) = read(opened(path))
    parts = [(m.role, part) for m in messages(thread.items) for part in m.content.parts]
    assert sum(isinstance(part, ToolCall) for _, part in parts) == blocks.count("tool_use")
    assert sum(isinstance(part, ToolResult) for _, part in parts) == blocks.count("tool_result")
    assert sum(isinstance(part, Reasoning) for _, part in parts) == blocks.count("thinking")
    assert all(role == "tool" for role, part in parts if isinstance(part, ToolResult))


@pytest.mark.parametrize("path", transcripts("exports/claude-code_sample_session.json"))
def test_document_variant_round_trips(path: Path) -> None:
    """A document with loglines is read like a transcript and written as one."""
    src = opened(path)
    assert FORMAT.sniff(src) >= 0.9
    assert back(src) == json.loads(path.read_text(encoding="utf-8"))["loglines"]


@pytest.mark.parametrize("path", transcripts("exports/claude-code_edge_cases.jsonl"))
def test_edge_cases_are_reported_by_line(path: Path) -> None:
    """Lines that make no sense are named, and everything else goes in."""
    (thread,) = read(opened(path))
    items = list(thread.items)
    assert [item.line for item in items if isinstance(item, Problem)] == [10, 11, 13, 14, 15, 16, 18]
    ids = [m.source_id for m in messages(items)]
    assert len(set(ids)) == len(ids)


# -- what a line says ------------------------------------------------------------------------------------------


def test_session_becomes_a_thread_with_metadata() -> None:
    """Session, title, project, start, roles, times and ids are where the importer looks for them."""
    src = source(
        {"type": "summary", "summary": "Somebody else's talk", "leafUuid": "elsewhere"},
        line("u1", None, "user", "  列出文件\nplease"),
        line("a1", "u1", "assistant", [{"type": "thinking", "thinking": "hm", "signature": "s"}], reply="r"),
        line("a2", "a1", "assistant", call("t1"), reply="r"),
        aside("p1", "a2"),
        line("u2", "p1", "user", [result("t1", is_error=True)], toolUseResult={"stdout": "ok"}),
    )
    (thread,) = read(src)
    assert (thread.source_id, thread.title, thread.project) == (SESSION, "列出文件", "/home/ann/x")
    assert (thread.kind, thread.started) == ("agent", "2026-01-01T10:00:00.000Z")
    items = list(thread.items)
    assert [getattr(item, "role", getattr(item, "kind", "")) for item in items] == [
        "summary",
        "user",
        "assistant",
        "assistant",
        "progress",
        "tool",
    ]
    assert [item.source_id for item in messages(items)] == ["u1", "a1", "a2", "u2"]
    last = items[-1]
    assert isinstance(last, ForeignMessage)
    assert last.content.parts == (ToolResult("t1", (Text("ok"),), is_error=True),)
    assert last.content.metadata["claude-code"]["line"]["toolUseResult"] == {"stdout": "ok"}
    first = items[0]
    assert isinstance(first, Aside)
    assert first.raw == src.text().split("\n")[0]


def test_titles_are_chosen_by_rank() -> None:
    """A custom title, then a generated one, then a summary of this session, then the first words."""
    talk = line("u1", None, "user", "first words")
    summary = {"type": "summary", "summary": "in short", "leafUuid": "u1"}
    generated = {"type": "ai-title", "aiTitle": "generated", "sessionId": SESSION}
    given = {"type": "custom-title", "customTitle": "by hand", "sessionId": SESSION}
    ladder = [given, generated, summary, talk]
    titles = [read(source(talk, *ladder[:-1][n:]))[0].title for n in range(4)]
    assert titles == ["by hand", "generated", "in short", "first words"]


def test_session_id_comes_from_the_file_name() -> None:
    """A resumed session contains lines of another; without a file name, the most frequent id wins."""
    other = [line(f"u{n}", None, "user", "x", sessionId="other") for n in range(3)]
    assert read(source(*other, line("u9", "u2", "user", "y")))[0].source_id == SESSION
    assert read(source(*other, line("u9", "u2", "user", "y"), name="copy.jsonl"))[0].source_id == "other"


@pytest.mark.parametrize(
    ("row", "hidden"),
    [
        (line("u", None, "user", "hi"), False),
        (line("u", None, "user", "Base directory for this skill", isMeta=True), True),
        (line("u", None, "user", "<command-name>/review</command-name>"), False),
        (line("u", None, "user", "<local-command-stdout>Bye!</local-command-stdout>"), True),
        (line("u", None, "user", "This session is being continued", isCompactSummary=True), False),
        (line("u", None, "assistant", [{"type": "text", "text": "API Error"}], isApiErrorMessage=True), True),
        (line("u", None, "assistant", [{"type": "text", "text": "fine"}]), False),
    ],
)
def test_injected_messages_are_hidden(row: dict[str, Any], hidden: bool) -> None:
    """Instructions, output of local commands and error notices; typed messages and answers are not."""
    (thread,) = read(source(row))
    (message,) = messages(thread.items)
    assert message.hidden is hidden
    assert back(source(row)) == [row]


def test_user_line_with_results_is_split_and_joined_again() -> None:
    """A user line with two results and words is three messages, and one line again."""
    src = source(
        line("a1", None, "assistant", call("t1", "t2")),
        line(
            "u1",
            "a1",
            "user",
            [result("t1"), result("t2", [{"type": "text", "text": "x"}]), {"type": "text", "text": "stop"}],
        ),
        line("u2", "u1", "user", "more"),
    )
    (thread,) = read(src)
    items = list(thread.items)
    assert [(m.role, m.source_id) for m in messages(items)] == [
        ("assistant", "a1"),
        ("tool", "u1/0"),
        ("tool", "u1/1"),
        ("user", "u1"),
        ("user", "u2"),
    ]
    assert back(src) == rows(src.text())


def test_images_round_trip_as_bytes() -> None:
    """An image in a result is bytes on the way in and the same base64 on the way out."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    src = source(line("u1", None, "user", [result("t", [image]), image]))
    (thread,) = read(src)
    shelf = Shelf()
    kept = shelf.through(thread)
    assert list(shelf.blobs.values()) == [b"hi"]
    assert rows(exported(FORMAT, kept, shelf.blobs)[0]) == rows(src.text())
    text, problems = exported(FORMAT, kept)
    assert "[image/png]" in text
    assert len(problems) == 2


@pytest.mark.parametrize(
    "content",
    [
        "",
        [],
        [None, 7, "x", {"type": "new"}],
        [{"type": "text"}],
        [{"type": "text", "text": "a", "citations": None}],
        "\ud83d cut",
    ],
)
def test_odd_contents_round_trip(content: Any) -> None:
    """Empty, unknown and broken contents are kept as they are."""
    row = line("u1", None, "user", content)
    src = MemorySource(json.dumps(row))
    assert back(src) == [row]
    exported(FORMAT, read(src)[0])[0].encode()


# -- how lines hang together -----------------------------------------------------------------------------------


def test_abandoned_branch_follows_the_live_one() -> None:
    """After a rewind the last branch is live and comes first; the abandoned one begins with its parent."""
    src = source(
        line("u1", None, "user", "start"),
        line("a1", "u1", "assistant", "reply"),
        aside("s1", "a1", "system", subtype="turn_duration"),
        line("u2", "s1", "user", "wrong way"),
        line("a2", "u2", "assistant", "as you wish"),
        aside("s2", "a2", "system"),
        line("u3", "s1", "user", "right way"),
        line("a3", "u3", "assistant", "done"),
    )
    (thread,) = read(src)
    items = list(thread.items)
    assert [(m.source_id, m.parent_id) for m in messages(items)] == [
        ("u1", None),
        ("a1", None),
        ("u3", None),
        ("a3", None),
        ("u2", "a1"),
        ("a2", None),
    ]
    assert back(src) == rows(src.text())


def test_live_branch_alone_keeps_its_lines() -> None:
    """Exported without its abandoned branch, as a store keeps it, every line is still as it was."""
    raw = [
        line("u1", None, "user", "start"),
        line("u2", "u1", "user", "wrong way"),
        aside("s2", "u2", "system"),
        line("u3", "u1", "user", "right way"),
    ]
    (thread,) = read(source(*raw))
    shelf = Shelf()

    def only_live(items: list[Item]) -> None:
        del items[-1]

    assert rows(exported(FORMAT, shelf.through(thread, only_live))[0]) == [raw[0], raw[2], raw[3]]


def test_two_abandoned_branches_name_their_parents() -> None:
    """Interleaved branches name their parent each time they continue."""
    src = source(
        line("u1", None, "user", "start"),
        line("b1", "u1", "user", "one"),
        line("c1", "u1", "user", "two"),
        line("b2", "b1", "assistant", "one again"),
        line("d1", "u1", "user", "live"),
    )
    (thread,) = read(src)
    assert [(m.source_id, m.parent_id) for m in messages(thread.items)] == [
        ("u1", None),
        ("d1", None),
        ("b1", "u1"),
        ("c1", "u1"),
        ("b2", "b1"),
    ]
    assert back(src) == rows(src.text())


def test_parallel_calls_are_not_a_branch() -> None:
    """Lines of one reply and the results that hang on each of its calls stay on the live branch in file order."""
    src = source(
        line("u1", None, "user", "go"),
        line("a1", "u1", "assistant", call("t1"), reply="r"),
        line("a2", "a1", "assistant", call("t2"), reply="r"),
        aside("p1", "a1"),
        line("r2", "a2", "user", [result("t2")]),
        line("r1", "p1", "user", [result("t1")]),
        line("m1", "r2", "user", "skill text", isMeta=True, sourceToolUseID="t2"),
        line("a3", "r1", "assistant", call("t3"), reply="r"),
        line("r3", "a3", "user", [result("t3")]),
        line("a4", "r3", "assistant", "done"),
    )
    (thread,) = read(src)
    assert [(m.source_id, m.parent_id) for m in messages(thread.items)] == [
        (uuid, None) for uuid in ["u1", "a1", "a2", "r2", "r1", "m1", "a3", "r3", "a4"]
    ]


def test_compaction_boundary_does_not_split_the_thread() -> None:
    """With and without a logical parent."""
    for logical in ({"logicalParentUuid": "a1"}, {}):
        src = source(
            line("u1", None, "user", "start"),
            line("a1", "u1", "assistant", "reply"),
            aside("c1", None, "system", subtype="compact_boundary", **logical),
            line("u2", "c1", "user", "This session is being continued", isCompactSummary=True),
            line("a2", "u2", "assistant", "on we go"),
        )
        (thread,) = read(src)
        assert [(m.source_id, m.parent_id) for m in messages(thread.items)] == [
            (uuid, None) for uuid in ["u1", "a1", "u2", "a2"]
        ]


def test_broken_links_are_read_in_file_order() -> None:
    """Missing, dangling, forward and circular parents cause neither loops nor losses."""
    src = source(
        line("u1", "nowhere", "user", "a"),
        line("u2", "u3", "user", "b"),
        line("u3", "u2", "user", "c"),
        line("u4", "u4", "user", "d"),
        line("u5", None, "user", "e"),
    )
    (thread,) = read(src)
    assert len(list(messages(thread.items))) == 5
    assert sorted(map(json.dumps, back(src))) == sorted(map(json.dumps, rows(src.text())))


def test_sidechains_become_separate_threads() -> None:
    """A subagent's lines inside the file become a thread that names its parent; nothing is in two threads."""
    side = {"isSidechain": True}
    src = source(
        line("u1", None, "user", "go"),
        line("a1", "u1", "assistant", call("t1")),
        line("x1", None, "user", "You are a helper", **side),
        line("y1", None, "user", "You are another", agentId="agent7", **side),
        line("x2", "x1", "assistant", "found it", **side),
        aside("y2", "y1", isSidechain=True, agentId="agent7"),
        line("u2", "a1", "user", [result("t1")]),
    )
    main, one, two = read(src)
    assert [t.source_id for t in (main, one, two)] == [SESSION, f"{SESSION}/x1", f"{SESSION}/agent7"]
    assert [m.source_id for m in messages(main.items)] == ["u1", "a1", "u2"]
    assert [m.source_id for m in messages(one.items)] == ["x1", "x2"]
    assert (one.title, one.kind, one.forked_from) == ("You are a helper", "agent", None)
    assert two.metadata["claude-code"]["parent"] == SESSION
    assert len(list(two.items)) == 2
    assert sorted(map(json.dumps, back(src))) == sorted(map(json.dumps, rows(src.text())))


def test_sidechain_linked_to_the_main_conversation_round_trips() -> None:
    """The first line of a subagent names a line of the main conversation."""
    src = source(line("u1", None, "user", "go"), line("x1", "u1", "user", "help", isSidechain=True))
    assert back(src) == rows(src.text())


def test_subagent_transcript_is_one_thread() -> None:
    """A file with a single sidechain is named after session and agent."""
    side = {"isSidechain": True, "agentId": "ab12"}
    src = source(
        line("x1", None, "user", "Look around", **side),
        line("x2", "x1", "assistant", "seen", **side),
        {"type": "summary", "summary": "s", "leafUuid": "none"},
        name="agent-ab12.jsonl",
    )
    (thread,) = read(src)
    assert (thread.source_id, thread.title) == (f"{SESSION}/ab12", "Look around")
    assert back(src) == rows(src.text())


# -- broken files ----------------------------------------------------------------------------------------------


def test_broken_lines_are_reported_and_kept() -> None:
    """A truncated last line, garbage and blank lines are kept verbatim with their number; the rest is imported."""
    good = json.dumps(line("u1", None, "user", "hi"))
    text = f'\ufeff{good}\r\n\n{{"type": "user", "mess\n\x00\x01\n{good[:-1]}, "n": NaN}}\n[1]\n' + good[:40]
    src = MemorySource(text.encode() + b"\xff\xfe")
    (thread,) = read(src)
    items = list(thread.items)
    assert [item.line for item in items if isinstance(item, Problem)] == [3, 4, 5, 6, 7]
    assert [item.kind for item in items if isinstance(item, Aside)] == ["malformed"] * 3 + [
        "unknown",
        "malformed",
    ]
    assert [m.content.text for m in messages(items)] == ["hi"]
    written, _ = exported(FORMAT, read(src)[0])
    assert written.split("\n")[1] == '{"type": "user", "mess'


@pytest.mark.parametrize(
    "content", ["", " \n", "{}", "7", "not json", "\x00\xff", '{"loglines": [', '{"role": "user"}']
)
def test_files_that_are_not_transcripts_are_refused(content: str) -> None:
    """Nothing to read is a FormatError; sniffing never raises."""
    src = MemorySource(content)
    assert FORMAT.sniff(src) < 0.95
    with pytest.raises(FormatError):
        read(src)


def test_folders_are_not_read() -> None:
    """A folder is not handled here."""
    assert FORMAT.sniff(MemorySource({"a.jsonl": "{}"})) == 0.0
    with pytest.raises(FormatError):
        read(MemorySource({"a.jsonl": "{}"}))


def test_truncated_document_gives_its_complete_lines() -> None:
    """The variant with loglines; the problem names the place of the break."""
    text = json.dumps(
        {"loglines": [line("u1", None, "user", "hi"), line("u2", "u1", "user", "ho")]}, indent=1
    )
    (thread,) = read(MemorySource(text[: text.index('"ho"')]))
    items = list(thread.items)
    assert isinstance(items[0], Problem)
    assert [m.content.text for m in messages(items)] == ["hi"]


def test_long_first_line_is_recognised() -> None:
    """A first line longer than the head is still recognised, and other tools' lines are not."""
    assert FORMAT.sniff(source(line("u1", None, "user", "x" * 100_000))) >= 0.5
    assert FORMAT.sniff(source({"type": "session_meta", "payload": {}})) == 0.0
    assert FORMAT.sniff(source({"role": "user", "content": "x"})) == 0.0


# -- writing what changed, and what came from elsewhere --------------------------------------------------------


def chain_of(lines: list[Any]) -> list[tuple[str, str | None]]:
    return [(row["uuid"], row["parentUuid"]) for row in lines if "uuid" in row]


def test_parent_chain_stays_valid_after_inserts_and_deletes() -> None:
    """A deleted message's children hang on the line before it, an inserted one goes between, the rest is untouched."""
    raw = [
        line("u1", None, "user", "a"),
        aside("p1", "u1"),
        line("a1", "p1", "assistant", "b"),
        line("u2", "a1", "user", "c"),
        line("a2", "u2", "assistant", "d"),
    ]
    (thread,) = read(source(*raw))
    shelf = Shelf()

    def change(items: list[Item]) -> None:
        items[2] = said("assistant", Text("another b"), at="2026-01-01T11:00:00Z")
        items.append(said("user", Text("new end")))

    out = rows(exported(FORMAT, shelf.through(thread, change))[0])
    chain = chain_of(out)
    assert [parent for _, parent in chain] == [None, "u1", "p1", chain[2][0], "u2", "a2"]
    assert out[2]["message"]["content"] == [{"type": "text", "text": "another b"}]
    assert out[2]["sessionId"] == SESSION
    assert out[4] == raw[4]


def test_edit_changes_only_the_content_of_its_line() -> None:
    """An edit changes the content of its line and nothing else."""
    raw = [
        line("u1", None, "user", "a", version="9"),
        line("u2", "u1", "user", [{"type": "text", "text": "b"}]),
    ]
    (thread,) = read(source(*raw))

    def change(items: list[Item]) -> None:
        for item in items:
            assert isinstance(item, ForeignMessage)
        items[:] = [
            ForeignMessage("user", Content((Text("edited"),), metadata=m.content.metadata), m.at, m.source_id)
            for m in messages(items)
        ]

    out = rows(exported(FORMAT, Shelf().through(thread, change))[0])
    raw[0]["message"]["content"] = "edited"
    raw[1]["message"]["content"] = [{"type": "text", "text": "edited"}]
    assert out == raw


def test_renamed_thread_gets_a_title_line() -> None:
    """A thread renamed since its import gets a title line; an unchanged one does not."""
    (thread,) = read(source(line("u1", None, "user", "a")))
    renamed = ForeignThread(
        thread.format, thread.source_id, thread.items, title="新", metadata=thread.metadata
    )
    out = rows(exported(FORMAT, renamed)[0])
    assert out[-1] == {"type": "custom-title", "customTitle": "新", "sessionId": SESSION}


def test_foreign_thread_makes_a_valid_transcript() -> None:
    """Lines form one chain, calls and results pair up, ids are the same every time, and losses are reported."""
    text, problems = exported(FORMAT, from_elsewhere())
    assert exported(FORMAT, from_elsewhere())[0] == text
    out = rows(text)
    assert [row["type"] for row in out] == [
        "system",
        "user",
        "assistant",
        "user",
        "user",
        "assistant",
        "assistant",
        "user",
        "custom-title",
    ]
    chain = chain_of(out)
    assert [parent for _, parent in chain] == [None, *(uuid for uuid, _ in chain[:-1])]
    calls = [b["id"] for b in out[2]["message"]["content"] if b["type"] == "tool_use"]
    answers = [row["message"]["content"][0]["tool_use_id"] for row in out[3:5]]
    assert calls == answers
    assert out[4]["message"]["content"][0]["content"][1]["source"]["data"] == "aGk="
    what = " | ".join(problem.what for problem in problems)
    for word in [
        "'Ann'",
        "pin",
        "signature",
        "alternatives",
        "hide",
        "system lines",
        "nothing is left",
        "'note'",
        "code change",
        "1970",
    ]:
        assert word in what, word
    (again,) = read(MemorySource(text, "export.jsonl"))
    assert again.title == "A talk"
    assert [m.role for m in messages(again.items)] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "assistant",
        "user",
    ]


def test_parts_survive_an_export_and_reimport() -> None:
    """Text, calls and bytes are the same."""
    text, _ = exported(FORMAT, from_elsewhere())
    (again,) = read(MemorySource(text, "export.jsonl"))
    found = list(messages(again.items))
    assert found[0].content.parts == (Text("列出"), Media("image/png", data=b"hi"))
    assert ToolCall("c2", "cat", {"f": "文"}) in found[1].content.parts
    assert found[-1].hidden
    assert not any(isinstance(part, Opaque) for m in found for part in m.content.parts)
