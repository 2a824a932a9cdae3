"""Giant tool results in prompts: bounded, the same every time, with beginning, end, errors and the handle of the whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import backscroll
from backscroll.agent.approval.approval import Rules
from backscroll.assemble.view.excerpt import excerpt, shown_bytes, shown_parts, size_of
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message
from backscroll.vocab.part import Media, Text, ToolCall, ToolResult
from tests.agent.scripted_agent import KINDS, call, stage

HANDLE = "[bs:7]"
_OVERHEAD = 400  # bytes of the words around an excerpt


@settings(deadline=None)
@given(
    st.lists(st.text(max_size=60) | st.just("ERROR: disk on fire") | st.just("汉" * 50), max_size=60),
    st.integers(1, 60),
    st.integers(200, 3000),
    st.sampled_from(["", "zh", "en"]),
)
def test_an_excerpt_is_bounded_the_same_and_names_the_whole(
    lines: list[str], times: int, limit: int, language: str
) -> None:
    text = "\n".join(lines * times)
    made = excerpt(text, limit, HANDLE, language)
    assert made == excerpt(text, limit, HANDLE, language)
    if size_of(text) <= limit:
        assert made == text
        return
    assert size_of(made) <= limit + _OVERHEAD
    assert HANDLE in made
    head = text[: limit // 10].encode("utf-8", "ignore").decode().rstrip("\n")
    if not any(0xD800 <= ord(c) <= 0xDFFF for c in text):
        assert made.startswith(head[: max(1, limit // 40)])


def test_excerpt_shows_error_lines_anywhere() -> None:
    lines = [f"step {n} went well" for n in range(20_000)]
    lines[9_000] = "E   AssertionError: 3 != 4"
    lines[12_345] = "编译失败：找不到文件"
    made = excerpt("\n".join(lines), 30_000, HANDLE)
    assert "AssertionError: 3 != 4" in made
    assert "编译失败" in made
    assert made.startswith("step 0 went well")
    assert "step 19999 went well" in made
    assert "0 errors" not in excerpt(
        "\n".join(["x" * 50] * 2000 + ["0 errors"] + ["x" * 50] * 2000), 5000, HANDLE
    )


def test_excerpt_size_grows_with_the_window() -> None:
    sizes = [shown_bytes(window) for window in (4_000, 8_000, 32_000, 128_000, 200_000, 1_000_000, 10**9)]
    assert sizes == sorted(sizes)
    assert sizes[0] == 32_000  # more than such a window holds
    assert sizes[1:] == [60_000, 60_000, 128_000, 200_000, 256_000, 256_000]


def _message(*parts: Any, pinned: bool = False, metadata: Any = None) -> Message:
    role = "tool" if isinstance(parts[0], ToolResult) else "assistant"
    ref = Ref("a" * 32, 7)
    return Message(ref, role, ref, Content(tuple(parts), metadata=metadata or {}), "", pinned=pinned)


def test_images_pins_and_small_results_are_not_excerpted() -> None:
    picture = Media("image/png", data=b"x" * 100_000)
    big = ToolResult("c", (Text("y" * 50_000), picture), False, "t")
    shown = shown_parts(_message(big), 10_000)[0]
    assert isinstance(shown, ToolResult)
    assert shown.content[1] is picture
    assert size_of(shown.content[0].text) < 11_000  # type: ignore[union-attr]
    small = _message(ToolResult("c", (Text("y" * 9_000),), False, "t"))
    assert shown_parts(small, 10_000) is small.parts
    pinned = _message(big, pinned=True)
    assert shown_parts(pinned, 10_000) is pinned.parts
    many = ToolResult("c", tuple(Text("z" * 9_000) for _ in range(5)), False, "t")
    shown = shown_parts(_message(many), 10_000)[0]
    assert sum(size_of(c.text) for c in shown.content) < 10_000 + 5 * _OVERHEAD  # type: ignore[union-attr]


@pytest.mark.parametrize("metadata", [{"act": 5}, {"act": {"cut_calls": "x"}}, {"act": {"cut": "yes"}}])
def test_unknown_metadata_is_ignored(metadata: Any) -> None:
    message = _message(ToolCall("x", "t", "y" * 1000), metadata=metadata)
    assert shown_parts(message, 100) is message.parts


# -- in prompts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_megabyte_output_is_excerpted_at_once_and_stays_the_same(tmp_path: Path, kind: str) -> None:
    answers = (call("run_command", command="seq 1 200000"), call("list_files"), "done", "again")
    with stage(tmp_path, *answers, kind=kind, rules=Rules("all"), budget=None) as on:
        assert on.end("count").end == "answered"
        whole = next(p for m in on.thread.messages() for p in m.parts if isinstance(p, ToolResult))
        text = whole.content[0].text  # type: ignore[union-attr]
        assert len(text) > 1_288_000
        assert "\n123456\n" in text  # the record has all of it
        shown = [_result_in(on.server.asked[n]) for n in (1, 2)]
        assert len(shown[0]) < 61_000
        assert shown[0].startswith("1\n2\n3\n")
        assert "199999\n200000" in shown[0]
        assert "[bs:" in shown[0]
        assert "\n123456\n" not in shown[0]
        assert shown[0] == shown[1]
        on.end("and now?")
        assert _result_in(on.server.asked[-1]) == shown[0]
        assert not any(e.kind.value == "compacted" for e in on.thread.events())
        # The middle is one handle away.
        handle = shown[0].rpartition("[bs:")[2].partition("]")[0]
        behind: Any = on.thread.expand(f"[bs:{handle}]")[0].parts[0]
        assert "\n123456\n" in behind.content[0].text


def _result_in(asked: Any) -> str:
    """What a request shows of the command's output, up to the handle."""
    text = next(text for role, text in asked.said if role == "tool" and "1\n2\n3\n" in text)
    begin, end = text.index("1\n2\n3\n"), text.index("[bs:")
    return str(text[begin : text.index("]]", end) + 2])


def test_imported_and_old_results_are_excerpted(tmp_path: Path) -> None:
    """Every result that a prompt shows for the first time, not only the newest and our own."""
    giant = "\n".join(f"row {n}" for n in range(60_000))
    with backscroll.open(tmp_path / "s.db", background=False) as engine:
        thread = engine.create("t")
        for n in range(3):
            thread.append("user", f"question {n}")
            thread.append("assistant", Content((ToolCall(f"c{n}", "query", {"n": n}),)))
            thread.append("tool", Content((ToolResult(f"c{n}", (Text(giant),), False, "query"),)))
            thread.append("assistant", f"answer {n}")
        thread.append("user", "and?")
        made = thread.prompt(200_000, wire="openai-chat")
        results = [m["content"] for m in made.messages if m["role"] == "tool"]
        assert len(results) == 3
        assert all(
            len(text) < 61_000 and text.startswith("row 0\n") and "row 59999" in text for text in results
        )
        assert made.receipt.total < 100_000
        assert thread.prompt(200_000, wire="openai-chat").messages == made.messages
        assert len(thread.message(2).parts[0].content[0].text) == len(giant)  # type: ignore[union-attr]
    with backscroll.open(tmp_path / "s.db", background=False) as engine:
        again = engine.thread(thread.id).prompt(200_000, wire="openai-chat")
        assert again.messages == made.messages  # another process shows the same bytes
