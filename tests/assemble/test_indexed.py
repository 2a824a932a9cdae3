"""The index of what was read: what is known of strings whose units left the window."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.assemble.compaction.notes import index_strings, worth
from backscroll.assemble.compaction.retention import PieceSelector, RetentionUnit
from backscroll.assemble.compaction.trail import Trail, parts_of_strings
from backscroll.assemble.view.compaction import IndexedString
from backscroll.assemble.view.meter import Meter
from backscroll.assemble.view.pieces import Slots
from backscroll.vocab.message import Message
from backscroll.vocab.part import Text, ToolCall, ToolResult
from tests.assemble.long_histories import count, histories, message, ref, units


def trail_of(history: list[Message], indexed: tuple[IndexedString, ...] = ()) -> Trail:
    """A trail over a history."""
    return Trail(Meter(count), Slots()).begin(indexed).extend(units(history))


@given(histories(), st.data())
@settings(max_examples=60, deadline=None)
def test_a_trail_that_begins_later_knows_what_the_whole_one_knows(
    history: list[Message], data: st.DataObject
) -> None:
    """Of each string that is carried on: when it was last met, that it was spoken, and in what company."""
    every = units(history)
    gone = data.draw(st.integers(0, len(every)))
    whole = Trail(Meter(count), Slots()).extend(every)
    kept = index_strings(whole, gone, most=10_000)
    later = Trail(Meter(count), Slots()).begin(kept).extend(every[gone:])
    assert {m.text for m in kept} <= {s for seen in whole.seen[:gone] for s in seen.strings}
    for entry in kept:
        was, now = whole.uses[entry.text], later.uses[entry.text]
        assert len(whole.seen) - was.last == len(later.seen) - now.last
        assert bool(was.words) == bool(now.words)
        assert bool(was.arguments) == bool(now.arguments)
        assert bool(was.told) == bool(now.told)
        assert was.crowd == now.crowd
        assert (entry.text in whole.spoken) == (entry.text in later.spoken)


@given(histories(), st.integers(0, 30), st.data())
@settings(max_examples=60, deadline=None)
def test_the_index_is_bounded_and_can_go_on(history: list[Message], most: int, data: st.DataObject) -> None:
    """It never holds more than it may, each string once, and going on from it only adds to ages."""
    every = units(history)
    first = data.draw(st.integers(0, len(every)))
    second = data.draw(st.integers(0, len(every) - first))
    kept = index_strings(Trail(Meter(count), Slots()).extend(every), first, most)
    assert len(kept) <= most
    assert len({m.text for m in kept}) == len(kept)
    assert all(m.age >= 1 for m in kept)
    again = Trail(Meter(count), Slots()).begin(kept).extend(every[first:])
    ages = {m.text: m.age for m in kept}
    told = {s for seen in again.seen[:second] for s in seen.strings}
    for entry in index_strings(again, second, most):
        if entry.text not in told:
            assert entry.age == ages[entry.text] + second


def test_notes_are_chosen_from_the_index() -> None:
    """A string read before the window and not shown returns as a note that names its source."""
    entry = IndexedString("billing_gateway_token", ref(3), 4, 0, 0, 1, 3)
    trail = trail_of([message(9, "user", Text("Go on."))], (entry,))
    sources = [RetentionUnit(seen) for seen in trail.seen]
    assert "billing_gateway_token" in PieceSelector(trail, set(), set()).choose(sources, 100, 80).notes
    assert trail.uses["billing_gateway_token"].revision == ref(3)
    shown = {"config.billing_gateway_token"}
    assert PieceSelector(trail, shown, set()).choose(sources, 100, 80).notes == ()


def test_string_in_a_short_result_is_worth_more_than_in_a_listing() -> None:
    """A result with three names says more about each than a listing of hundreds."""
    letters = "abcdefghijklmnopqr"
    listing = "\n".join(f"src/part_{one}{two}.py" for one in letters for two in letters)
    trail = trail_of(
        [
            message(1, "user", Text("Look.")),
            message(
                2, "assistant", ToolCall("a", "grep", {"word": "x"}), ToolCall("b", "list", {"word": "y"})
            ),
            message(3, "tool", ToolResult("a", (Text("src/parse_header.py\nsrc/other_file.py"),))),
            message(4, "tool", ToolResult("b", (Text(listing),))),
        ]
    )
    now = len(trail.seen)
    assert worth(trail.uses["src/parse_header.py"], now) > worth(trail.uses["src/part_ag.py"], now)


def test_parts_of_compound_strings_are_found() -> None:
    """Parts of a path or dotted name that is shown need no note."""
    found = parts_of_strings(["src/app/main.py", "agent.TokenUsage", "two words.here"])
    assert {"main.py", "app/main.py", "src/app", "TokenUsage", "agent", "app"} <= found
    assert not any("words" in part for part in found)
