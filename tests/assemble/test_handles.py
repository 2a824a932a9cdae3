"""Prompts for a model that cannot open handles: none is there, nor a sentence about them, and no word of the conversation is missing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.assemble.view.excerpt import shown_parts
from backscroll.assemble.view.handles import offers_expand, without_handles
from backscroll.vocab.handle import IN_TEXT, Handle, handle_of
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message
from backscroll.vocab.part import Json, Text, ToolCall, ToolResult
from backscroll.vocab.prompt import Block, Level, Section

HOME = Ref("a" * 32, 17)
OTHER = "[bs:3]"
words = st.text(alphabet="ab …；。：\n-展开", max_size=20)
handles = st.builds(
    lambda first, more, other: str(Handle(first, first + more, "3f2a9c1e" if other else None)),
    st.integers(1, 9999),
    st.integers(0, 40),
    st.booleans(),
)


def block(text: str, level: Level, message: Ref | None = None, sources: tuple[Ref, ...] = (HOME,)) -> Block:
    return Block("user", (Text(text),), Section.HISTORY, level, sources, message)


@given(st.lists(st.tuples(words, handles), max_size=6), words)
def test_no_handle_is_left_in_what_was_condensed(pieces: list[tuple[str, str]], end: str) -> None:
    """Wherever they stand; the words around them stay, in order."""
    text = "".join(f"{before}{handle}" for before, handle in pieces) + end
    told = without_handles(block(text, Level.GIST)).text
    assert IN_TEXT.search(told) is None
    kept = "".join(c for c in told if c not in " \n-")
    assert kept == "".join(c for before, _ in pieces for c in before if c not in " \n-") + "".join(
        c for c in end if c not in " \n-"
    )


@given(words, st.sampled_from([Level.VERBATIM, Level.DIGEST]))
def test_words_of_the_conversation_stay(text: str, level: Level) -> None:
    """A message that speaks of handles is shown as it was said; only the one that stands for its own rest goes."""
    said = f"{text}see {OTHER} and [bs:…]{text}"
    assert without_handles(block(said, level, HOME)).text == said
    cut = f"{said}\n… {handle_of(HOME)}"
    assert without_handles(block(cut, level, HOME)).text == f"{said}\n…"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_sentences_about_handles_are_removed(language: str) -> None:
    """Giant results, crops, summaries of the far past, operations: each in both languages."""
    giant = Message(
        HOME,
        "tool",
        HOME,
        Content((ToolResult("c", (Text("line of a log\n" * 900),)),)),
        "2026-01-01T00:00:00Z",
    )
    parts = shown_parts(giant, 2000, language)
    shown = without_handles(Block("tool", parts, Section.RECENT, Level.DIGEST, (HOME,), HOME)).parts[0]
    assert isinstance(shown, ToolResult)
    assert IN_TEXT.search(str(parts))
    text = "".join(p.text for p in shown.content if isinstance(p, Text))
    assert IN_TEXT.search(text) is None
    assert text.endswith({"en": "901 lines.]", "zh": "901 行。]"}[language])

    from backscroll.derive.operations import _translate as said_of_operations
    from backscroll.engine.inputs.inputs import _NOTES
    from backscroll.engine.prompts.composition.blocks import _TITLES

    told = [
        _TITLES[language]["far"],
        _NOTES[language][0].format(count=4, handle="[bs:4-7]"),
        said_of_operations(language, "header"),
    ]
    for text in told:
        left = without_handles(block(text, Level.SUMMARY)).text
        assert "bs:" not in left
        assert not any(word in left for word in ("names", "in full", "expand", "原文", "展开"))


def test_handle_of_a_cut_argument_is_removed() -> None:
    """A handle that the model wrote itself stays."""
    call = ToolCall("c", "expand", {"cut": f"abc… {handle_of(HOME)}", "handle": OTHER})
    shown = without_handles(Block("assistant", (call,), Section.RECENT, Level.DIGEST, (HOME,), HOME)).parts[0]
    assert isinstance(shown, ToolCall)
    assert shown.arguments == {"cut": "abc…", "handle": OTHER}


@pytest.mark.parametrize(
    ("tool", "opens"),
    [
        ({"name": "expand", "input_schema": {}}, True),
        ({"type": "function", "function": {"name": "mcp__backscroll__expand"}}, True),
        ({"type": "function", "name": "Expand", "parameters": {}}, True),
        ({"type": "function", "function": {"name": "look", "description": "expands"}}, False),
        ({"type": "web_search"}, False),
    ],
)
def test_tools_that_open_handles_are_recognised(tool: dict[str, Json], opens: bool) -> None:
    """By its name, on every wire."""
    assert offers_expand([tool]) is opens
    assert offers_expand([]) is False
