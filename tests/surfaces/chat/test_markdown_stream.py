"""Markdown in pieces: returned blocks are complete, and the cuts change and lose nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.surfaces.chat.screen.markdown_stream import MarkdownBlock, MarkdownStream

TEXT = """# Title 标题

A paragraph with **bold**,
over two lines.

- one
- two
  - inside

1. first
2. second

```python
def f():

    return "中文"
```

| a | b |
|---|---|
| 1 | 2 |

> quoted

The end.
"""


def blocks(text: str, sizes: list[int]) -> list[MarkdownBlock]:
    stream = MarkdownStream()
    out: list[MarkdownBlock] = []
    place = turn = 0
    while place < len(text):
        size = sizes[turn % len(sizes)]
        out += stream.feed(text[place : place + size])
        place, turn = place + size, turn + 1
    return [*out, *stream.finish()]


@given(st.lists(st.integers(1, 40), min_size=1, max_size=8))
def test_where_pieces_end_makes_no_difference(sizes: list[int]) -> None:
    """The same blocks come whatever the pieces were, and together they are the text."""
    found = blocks(TEXT, sizes)
    assert found == blocks(TEXT, [len(TEXT)])
    assert "".join(b.source for b in found).strip() == TEXT.strip()


@given(
    st.text(alphabet="ab \n#-*`|>1.~中\r\t[]", max_size=120),
    st.lists(st.integers(1, 9), min_size=1, max_size=5),
)
def test_any_text_comes_through(text: str, sizes: list[int]) -> None:
    """However odd the Markdown, every word of it comes out once, in order."""
    joined = "".join(b.source for b in blocks(text, sizes))
    assert [c for c in joined if c in "ab中"] == [c for c in text if c in "ab中"]


def test_block_is_returned_when_the_next_one_begins() -> None:
    """Until then a paragraph may still become something else."""
    stream = MarkdownStream()
    assert stream.feed("First words") == []
    assert stream.feed("\n\n") == []
    assert stream.feed("- ") == []  # a list, or a line
    assert stream.feed("an item\n") == [MarkdownBlock("First words\n\n")]
    assert stream.feed("\n") == []
    assert stream.feed("L") == [MarkdownBlock("- an item\n\n")]  # a letter after an empty line is a paragraph
    assert stream.open == MarkdownBlock("L")


def test_incomplete_line_decides_nothing() -> None:
    """`#` at the end of a piece may be a heading or a word; the paragraph before it waits."""
    stream = MarkdownStream()
    assert stream.feed("Words\n#") == []
    assert stream.feed("tag goes on\n") == []
    assert [b.source for b in stream.finish()] == ["Words\n#tag goes on\n\n"]


def test_list_items_are_returned_one_by_one_without_gaps() -> None:
    """A long list is not held back until it ends."""
    stream = MarkdownStream()
    found = [*stream.feed("- one\n- two\n- three\n"), *stream.finish()]
    assert [b.close for b in found] == [False, True, True]


def test_long_code_is_not_parsed_for_every_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside a fence only the closing marks can end it."""
    stream = MarkdownStream()
    stream.feed("```python\n")
    monkeypatch.setattr(MarkdownStream, "_cut", lambda self: pytest.fail("parsed"))
    assert stream.feed("x = 1\n" * 10) == []


def test_code_ends_at_its_closing_marks() -> None:
    stream = MarkdownStream()
    stream.feed("```\nx\n")
    stream.feed("``")
    stream.feed("`\n\n")
    assert [b.source for b in stream.feed("After.\n")] == ["```\nx\n```\n\n"]


def test_control_characters_are_replaced() -> None:
    """An escape sequence in an answer is shown as a sign, wherever the pieces cut it."""
    stream = MarkdownStream()
    stream.feed("a\x1b")
    stream.feed("[2Jb\r")
    stream.feed("\nc\ud800")
    text = "".join(b.source for b in stream.finish())
    assert "\x1b" not in text
    assert "\r" not in text
    assert "␛[2Jb\nc" in text


def test_tables_are_recognised() -> None:
    """Their widths change with every row, so they are never printed in parts."""
    stream = MarkdownStream()
    stream.feed("| a | b |\n|---|:-:|\n| 1 |")
    assert stream.is_table
    stream.drop()
    stream.feed("a | b is a pipe\n")
    assert not stream.is_table


def test_reset_drops_earlier_text() -> None:
    """A stream that starts again leaves nothing of what came before."""
    stream = MarkdownStream()
    stream.feed("half a sen")
    stream.drop()
    assert stream.open is None
    assert stream.finish() == []
