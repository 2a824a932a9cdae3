"""Pieces: joined they are the text, and a range means the same piece for ever."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.assemble.view.pieces import (
    LONG,
    merge_ranges,
    pieces_of,
    render_kept,
    shorten_arguments,
    slots_of,
)
from backscroll.vocab.part import Text, ToolCall, ToolResult
from tests.assemble.long_histories import LINES, message

texts = st.one_of(st.text(max_size=2000), st.lists(st.sampled_from(LINES), max_size=60).map(" ".join))


@given(texts)
@settings(max_examples=200, deadline=None)
def test_joined_pieces_are_the_text(text: str) -> None:
    """Nothing is lost or added by cutting, whatever separators and letters there are."""
    pieces = pieces_of(text)
    assert "".join(pieces) == text
    assert all(0 < len(piece) <= LONG for piece in pieces)


@given(texts, st.sets(st.integers(0, 80)))
@settings(max_examples=100, deadline=None)
def test_what_is_kept_stands_to_the_letter(text: str, numbers: set[int]) -> None:
    """Every kept piece is found in what is shown, in order."""
    (slot,) = slots_of(message(1, "user", Text(text)))
    inside = sorted(n for n in numbers if n < len(slot.pieces))
    shown = render_kept(slot, merge_ranges(inside))
    at = 0
    for number in inside:
        piece = slot.pieces[number].rstrip("\n")
        found = shown.find(piece, at)
        assert found >= at, f"piece {number} is not shown"
        at = found + len(piece)


def test_merge_ranges_joins_neighbours() -> None:
    """Neighbours become one range."""
    assert merge_ranges([1, 2, 3, 7, 9, 10]) == ((1, 4), (7, 8), (9, 11))
    assert merge_ranges([]) == ()


def test_pieces_are_numbered_across_text_arguments_and_results() -> None:
    """Words, then string arguments in order, then results; numbers and gaps between them are left out."""
    call = ToolCall("c", "edit", {"path": "a.py", "n": 3, "edits": [{"old": "x\ny", "new": "z"}]})
    slots = slots_of(message(1, "assistant", Text("one\ntwo"), call))
    assert [(s.kind, s.first, s.pieces) for s in slots] == [
        ("words", 0, ("one\n", "two")),
        ("argument", 2, ("a.py",)),
        ("argument", 3, ("x\n", "y")),
        ("argument", 5, ("z",)),
    ]
    (result,) = slots_of(message(2, "tool", ToolResult("c", (Text("好\n的"),))))
    assert (result.kind, result.pieces) == ("result", ("好\n", "的"))


def test_shortened_arguments_keep_their_type() -> None:
    """An object stays an object, a JSON string stays valid JSON, and other text becomes JSON marked as cut."""
    long = "line of code that goes on and on\n" * 20
    for arguments in (
        {"path": "a.py", "text": long},
        '{"path": "a.py", "text": "' + long.replace("\n", "\\n") + '"}',
    ):
        call = ToolCall("c", "write", arguments)
        short = shorten_arguments(call, slots_of(message(1, "assistant", call)), ())
        assert type(short) is type(arguments)
        assert "a.py" in str(short)
        assert len(str(short)) < 250
    broken = ToolCall("c", "write", '{"path": "a.py", "text": "' + long)
    assert str(shorten_arguments(broken, slots_of(message(1, "assistant", broken)), ())).startswith('{"cut":')


def test_shortened_argument_shows_its_kept_lines() -> None:
    """Of a long argument the chosen lines are left."""
    value = "\n".join(f"line number {i} of the new file" for i in range(50))
    call = ToolCall("c", "write", {"text": value})
    short = shorten_arguments(call, slots_of(message(1, "assistant", call)), ((7, 9),))
    assert short == {"text": "line number 7 of the new file\nline number 8 of the new file\n…"}
