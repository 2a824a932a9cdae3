"""The tools that look into the record and the memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from backscroll.vocab.handle import handle_of
from backscroll.vocab.part import Text, ToolCall, ToolResult
from tests.agent.workbench import Bench, bench


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path) as made:
        thread = made.thread
        thread.append("user", "The harbour opens at seven. Ellie lives in Oslo.")
        thread.append("assistant", [Text("Noted."), ToolCall("x1", "read_file", {"path": "tides.csv"})])
        thread.append("tool", [ToolResult("x1", (Text("high water 07:12\n" * 3000),), name="read_file")])
        thread.append("assistant", "The tide table is read.")
        yield made


def test_recall_quotes_with_handles(at: Bench) -> None:
    done = at.call("recall", query="when does the harbour open")
    assert "seven" in done.text
    assert "[bs:" in done.text
    assert done.facts["handles"]
    assert at.call("recall", query="harbour", scope="all").facts["handles"]
    assert at.call("recall", query=" ").is_error
    assert at.call("recall", query="harbour", scope="galaxy").is_error


def test_expand_opens_a_handle_in_parts(at: Bench) -> None:
    result = at.thread.message(2)
    handle = handle_of(result.id)
    first = at.call("expand", handle=handle)
    assert first.text.startswith(f"{handle} tool")
    assert "result of read_file" in first.text
    assert first.text.endswith("[part 1 of 3: go on with part=2]")
    whole = "".join(at.call("expand", handle=handle, part=n).text.rsplit("\n[part", 1)[0] for n in (1, 2, 3))
    assert whole.count("high water 07:12") == 3000
    assert at.call("expand", handle=handle, part=4).is_error
    assert at.call("expand", handle="nonsense").is_error
    assert (
        'calls read_file: {"path": "tides.csv"}'
        in at.call("expand", handle=handle_of(at.thread.message(1).id)).text
    )


def test_tool_history_finds_earlier_calls(at: Bench) -> None:
    done = at.call("tool_history", target="tides.csv")
    assert "read_file tides.csv" in done.text
    assert "[bs:" in done.text
    assert at.call("tool_history", tool="run_command").line == "nothing found"


def test_remember_stores_a_memory(at: Bench) -> None:
    assert at.preview("remember", text="Deploy on Fridays never.", kind="preference").line.startswith(
        "remember (preference)"
    )
    done = at.call("remember", text="The harbour master is 李雷。", kind="fact")
    assert any(m.text == "The harbour master is 李雷。" for m in at.thread.memory.list())
    assert str(done.facts["memory"]) in done.text
    assert at.call("remember", text=" ").is_error


def test_graph_lookup_finds_a_node(at: Bench) -> None:
    at.thread.graph.add("Ellie", "person", occupation="pilot")
    at.thread.graph.add("Oslo", "place")
    at.thread.graph.set("Ellie", "lives_in", other="Oslo")
    done = at.call("graph_lookup", name="Ellie", why=True)
    assert done.text.startswith("Ellie (person")
    assert "occupation: pilot (set by the person)" in done.text
    assert "Oslo" in done.text
    assert at.call("graph_lookup", name="Nobody At All").is_error


def test_open_todos_stay_in_every_prompt(at: Bench) -> None:
    todos = [
        {"text": "paint the lighthouse blue", "status": "in_progress"},
        {"text": "缩短防波堤", "status": "pending"},
        {"text": "count the gulls", "status": "completed"},
    ]
    done = at.recorded("update_todos", todos=todos)
    assert done.line == "1/3 done; now: paint the lighthouse blue"
    assert done.text.split("\n")[1:] == [
        "[-] paint the lighthouse blue",
        "[ ] 缩短防波堤",
        "[x] count the gulls",
    ]
    for n in range(40):
        at.thread.append("user", f"chapter {n}: " + "the sea was calm and the gulls were loud. " * 40)
        at.thread.append("assistant", "indeed. " * 60)
    prompt = at.thread.prompt(6_000, reserve=500)
    words = json.dumps(prompt.messages, ensure_ascii=False)
    assert "chapter 3:" not in words
    assert "paint the lighthouse blue" in words
    assert "缩短防波堤" in words


def test_todo_without_status_is_refused(at: Bench) -> None:
    """A list that the engine cannot read would not be kept."""
    assert "'todos[0].status' is missing" in at.call("update_todos", todos=[{"text": "x"}]).text


# -- cropping ----------------------------------------------------------------------------------------------------


def test_crop_preview_shows_messages_and_relevance(at: Bench) -> None:
    at.thread.append("user", "Tell me about the harbour and Ellie in Oslo.")
    before = len(list(at.thread.messages()))
    seen = at.preview(
        "smart_context_cropper",
        crop_direction="top",
        crop_amount=3,
        deleted_messages_summary="We read the tides.",
    )
    assert seen.line.startswith("crop ")
    assert "tokens less" in seen.line
    assert "relevance" in seen.text
    assert "The harbour opens at seven" in seen.text
    assert any("relevant" in warning for warning in seen.warnings)
    assert len(list(at.thread.messages())) == before
    words = json.dumps(at.thread.prompt(60_000, dry_run=True, recall=False).messages)
    assert "high water" in words  # nothing was done yet


def test_crop_can_be_undone(at: Bench) -> None:
    at.thread.append("user", "Now something else.")
    done = at.call(
        "smart_context_cropper",
        crop_direction="top",
        crop_amount=3,
        deleted_messages_summary="We read the tides.",
    )
    assert "messages cropped" in done.line
    words = json.dumps(at.thread.prompt(60_000, dry_run=True, recall=False).messages)
    assert "We read the tides." in words
    assert "high water 07:12" not in words
    assert "high water" in at.call("expand", handle=str(done.facts["handle"])).text
    at.thread.undo()
    assert "high water" in json.dumps(at.thread.prompt(60_000, dry_run=True, recall=False).messages)


def test_crop_without_a_summary_gets_a_generated_one(at: Bench) -> None:
    at.thread.append("user", "Now something else.")
    seen = at.preview("smart_context_cropper", crop_direction="top", crop_amount=3)
    assert seen.text.split("Replacement:\n")[1].strip()
    assert not at.call("smart_context_cropper", crop_direction="top", crop_amount=3).is_error


def test_invalid_crop_is_refused(at: Bench) -> None:
    for amount in (0, -1):
        done = at.call(
            "smart_context_cropper", crop_direction="top", crop_amount=amount, deleted_messages_summary="x"
        )
        assert done.is_error
    assert at.call(
        "smart_context_cropper", crop_direction="left", crop_amount=1, deleted_messages_summary="x"
    ).is_error
