"""Digests of steps: pairing calls with results, the line, and calls with long arguments cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.derive.digest import NO_RESULT, digests_of, short_arguments
from backscroll.derive.digests.output_text import cut, cut_middle, join_items, width
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message, Role
from backscroll.vocab.part import Part, Text, ToolCall, ToolResult

THREAD = "0" * 32
TRANSCRIPTS = Path(__file__).resolve().parents[3] / "shared" / "data" / "transcripts"


def message(number: int, role: Role, *parts: Part, at: str = "2026-11-15T10:00:00Z") -> Message:
    return Message(Ref(THREAD, number), role, Ref(THREAD, number), Content(parts), at)


def result(call: str, text: str, name: str | None = None) -> ToolResult:
    return ToolResult(call, (Text(text),), name=name)


class TestPairing:
    def test_digest_pairs_a_call_with_its_result(self) -> None:
        (made,) = digests_of(
            [
                message(1, "assistant", ToolCall("a", "Read", {"file_path": "x.py"})),
                message(2, "tool", result("a", "one line"), at="2026-11-15T10:05:00Z"),
            ]
        )
        assert made.line == "Read x.py: one line [bs:2]"
        assert made.stub == "one line [bs:2]"
        assert (made.call.seq, made.result, made.timestamp) == (1, Ref(THREAD, 2), "2026-11-15T10:05:00Z")

    def test_digests_of_parallel_calls_keep_the_order_of_the_calls(self) -> None:
        made = digests_of(
            [
                message(
                    1, "assistant", ToolCall("a", "Read", {"path": "a"}), ToolCall("b", "Read", {"path": "b"})
                ),
                message(2, "tool", result("b", "beta"), result("a", "alpha")),
            ]
        )
        assert [(d.target, d.summary) for d in made] == [("a", "alpha"), ("b", "beta")]

    def test_digests_of_parallel_calls_in_separate_messages(self) -> None:
        made = digests_of(
            [
                message(1, "assistant", ToolCall("a", "Read", {"path": "a"})),
                message(2, "assistant", ToolCall("b", "Read", {"path": "b"})),
                message(3, "tool", result("a", "alpha")),
                message(4, "tool", result("b", "beta")),
            ]
        )
        assert [(d.target, d.summary, d.handle) for d in made] == [
            ("a", "alpha", "[bs:3]"),
            ("b", "beta", "[bs:4]"),
        ]

    def test_unanswered_call_has_no_result(self) -> None:
        (made,) = digests_of([message(7, "assistant", ToolCall("a", "Bash", {"command": "make"}))])
        assert made.summary == NO_RESULT
        assert made.result is None
        assert made.handle == "[bs:7]"

    def test_result_without_a_call_gets_a_digest(self) -> None:
        made = digests_of(
            [message(3, "tool", result("zz", "words", "Bash")), message(4, "tool", result("yy", "more"))]
        )
        assert [(d.tool_name, d.summary) for d in made] == [("Bash", "words"), ("tool", "more")]
        assert [d.call for d in made] == [d.result for d in made]

    def test_reused_call_id_is_paired_in_order(self) -> None:
        made = digests_of(
            [
                message(1, "assistant", ToolCall("a", "Read", {"path": "a"})),
                message(2, "tool", result("a", "first")),
                message(3, "assistant", ToolCall("a", "Read", {"path": "b"})),
                message(4, "tool", result("a", "second")),
            ]
        )
        assert [(d.target, d.summary) for d in made] == [("a", "first"), ("b", "second")]

    def test_result_before_its_call_is_not_paired(self) -> None:
        made = digests_of(
            [
                message(1, "tool", result("a", "early")),
                message(2, "assistant", ToolCall("a", "Read", {"path": "a"})),
            ]
        )
        assert [d.summary for d in made] == ["early", NO_RESULT]

    def test_empty_or_odd_tool_names_are_digested(self) -> None:
        made = digests_of(
            [message(1, "assistant", ToolCall("a", "", None), ToolCall("b", "a\nb\x1b[0m", "{broken"))]
        )
        assert [d.line for d in made] == ["tool: no result yet [bs:1]", "a b {broken: no result yet [bs:1]"]

    def test_messages_without_tools_have_no_digests(self) -> None:
        assert digests_of([message(1, "user", Text("hello")), message(2, "assistant", Text("hi"))]) == []


class TestShortArguments:
    def test_short_arguments_are_unchanged(self) -> None:
        for arguments in ({"a": 1}, '{"a":  1}', None, [1, "x"], "no json", ""):
            assert short_arguments(ToolCall("1", "x", arguments)) == arguments

    def test_long_argument_values_lose_their_middle(self) -> None:
        arguments = {
            "file_path": "a.py",
            "content": "begin " + "x" * 5000 + " end",
            "n": 3,
            "deep": [{"t": "y" * 900}],
        }
        short = short_arguments(ToolCall("1", "Write", arguments), 100)
        assert short["file_path"] == "a.py"
        assert short["n"] == 3
        assert short["content"].startswith("begin xxx")
        assert short["content"].endswith("xxx end")
        assert " cut …" in short["content"]
        assert width(short["content"]) <= 112
        assert len(short["deep"][0]["t"]) < 120
        assert arguments["content"] == "begin " + "x" * 5000 + " end"

    def test_shortened_json_string_stays_valid_json(self) -> None:
        text = json.dumps({"内容": "很长的文字" * 200, "path": "a.py"}, ensure_ascii=False)
        short = short_arguments(ToolCall("1", "Write", text), 80)
        assert isinstance(short, str)
        assert json.loads(short)["path"] == "a.py"
        assert len(short) < 200
        assert "很长的文字" in short

    def test_arguments_that_are_not_json_are_cut_as_text(self) -> None:
        short = short_arguments(
            ToolCall("1", "apply_patch", "*** Begin Patch\n" + "+x\n" * 900 + "*** End Patch"), 100
        )
        assert short.startswith("*** Begin Patch")
        assert short.endswith("*** End Patch")
        assert len(short) < 120

    def test_long_argument_lists_keep_both_ends(self) -> None:
        short = short_arguments(ToolCall("1", "x", {"rows": list(range(1000))}))
        assert short["rows"] == [0, 1, 2, 3, 4, 5, "… 992 more …", 998, 999]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=400),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=20,
)


@given(arguments=JSON, limit=st.integers(20, 200))
def test_shortened_arguments_keep_their_kind(arguments: Any, limit: int) -> None:
    """A mapping stays one with the same names, a string that held JSON holds JSON, and cutting twice cuts no more kinds."""
    short = short_arguments(ToolCall("1", "x", arguments), limit)
    assert type(short) is type(arguments)
    if isinstance(arguments, dict):
        assert list(short) == list(arguments)
    text = json.dumps(arguments)
    again = short_arguments(ToolCall("1", "x", text), limit)
    assert isinstance(again, str)
    json.loads(again)


@given(text=st.text(max_size=200), limit=st.integers(1, 100))
def test_cutting_keeps_within_the_room(text: str, limit: int) -> None:
    assert width(cut(text, limit)) <= max(1, limit)
    assert width(cut_middle(text, limit)) <= max(1, limit)


def test_join_items_counts_what_is_left_out() -> None:
    assert join_items(["aa", "bb", "cc"], 100) == "aa, bb, cc"
    assert join_items([f"name{n}" for n in range(50)], 30) == "name0, name1, name2 +47"
    assert join_items([], 30) == ""


@pytest.mark.skipif(not TRANSCRIPTS.is_dir(), reason="the recorded transcripts are not here")
def test_digests_of_recorded_transcripts_are_paired_and_short(tmp_path: Path) -> None:
    """Real sessions: every result finds its call, and all digests together are a small part of the results."""
    import backscroll

    full = short = 0
    with backscroll.open(tmp_path / "store.db") as engine:
        for path in sorted((TRANSCRIPTS / "claude-code").glob("*.jsonl"))[:3]:
            engine.import_path(path)
        for info in list(engine.threads()):
            messages = list(engine.thread(info.id))
            for made in digests_of(messages):
                assert made.call != made.result, made.line
                assert "\n" not in made.line
                short += len(made.summary)
            full += sum(
                len(p.text)
                for m in messages
                for r in m.parts
                if isinstance(r, ToolResult)
                for p in r.content
                if isinstance(p, Text)
            )
    assert full > 100_000
    assert short * 8 < full
