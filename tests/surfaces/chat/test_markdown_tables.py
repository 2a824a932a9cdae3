"""Long tables in pieces: rows are not parsed again and again, with the same result."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backscroll.surfaces.chat.screen import markdown_stream
from backscroll.surfaces.chat.screen.markdown_stream import MarkdownBlock, MarkdownStream

_LINES = st.lists(
    st.sampled_from(
        [
            "| a | b |",
            "|---|---|",
            "| 1 | 2 |",
            "|x",
            "",
            "words",
            "- item",
            "# head",
            "> said",
            "```",
            "    |i",
            "a | b",
            "--|--",
        ]
    ),
    max_size=14,
)


def _fed(text: str, step: int) -> list[tuple[int, MarkdownBlock]]:
    stream = MarkdownStream()
    out: list[tuple[int, MarkdownBlock]] = []
    for at in range(0, len(text), step):
        out += [(at, block) for block in stream.feed(text[at : at + step])]
    return out + [(len(text), block) for block in stream.finish()]


@given(_LINES, st.integers(1, 9))
@example(["| a | b |", "|---|---|", "", "| a | b |"], 1)  # a blank line ended the table
def test_blocks_are_the_same_and_come_at_the_same_moment(lines: list[str], step: int):
    """Whatever lines follow each other, skipping rows changes neither the blocks nor when they are given."""
    text = "\n".join(lines)
    quick = _fed(text, step)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MarkdownStream, "_only_rows", lambda *_: False)
        assert quick == _fed(text, step)


def test_long_table_is_parsed_a_few_times(monkeypatch: pytest.MonkeyPatch):
    """The number does not grow with its rows."""
    times = 0
    parser = markdown_stream._parser()
    parse = parser.parse

    def counted(text: str):
        nonlocal times
        times += 1
        return parse(text)

    monkeypatch.setattr(parser, "parse", counted)
    text = "| a | b |\n|---|---|\n" + "".join(f"| {n} | value |\n" for n in range(300))
    blocks = [block.source for _, block in _fed(text, 7)]
    assert "".join(blocks).strip() == text.strip()
    assert times < 20
