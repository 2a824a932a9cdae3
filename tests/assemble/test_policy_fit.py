"""The last resort: any history fits any budget above what is protected."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.assemble.compaction.last_resort import cut_block, fit_last, middle_cut, minimum_of
from backscroll.assemble.compaction.policy import compact
from backscroll.assemble.compaction.tuning import LAST_FLOOR
from backscroll.assemble.view.meter import Meter
from backscroll.assemble.view.view import find_held_messages, view
from backscroll.errors import BudgetTooSmall, InvalidInput
from backscroll.vocab.message import Message
from backscroll.vocab.part import Reasoning, Text, ToolCall, ToolResult
from backscroll.vocab.prompt import Block, Section
from tests.assemble.long_histories import count, histories, lens, message, orphans, spoken, tokens, units

METER = Meter(count)


@given(histories(), st.integers(0, 4000), st.booleans())
@settings(max_examples=120, deadline=None)
def test_any_history_fits_any_budget_above_the_minimum(
    history: list[Message], more: int, first: bool
) -> None:
    """Within budget by a count of what is really there, pairs whole, protected present, the same bytes each time."""
    mine, eye = units(history), lens()
    safe = find_held_messages(mine)
    made = compact(mine, None, eye, target=800) if first else None
    blocks = view(mine, made, eye)
    budget = minimum_of(blocks, safe, METER) + more
    fitted = fit_last(blocks, budget, METER, safe)
    assert sum(METER.parts(b.parts) for b in fitted) == tokens(fitted) <= budget
    assert set(orphans(spoken(fitted))) <= set(orphans([(m.role, m.parts) for m in history]))
    shown = {b.message: b.parts for b in fitted}
    assert all(shown[m.id] == m.parts for m in history if m.id in safe)
    assert fit_last(blocks, budget, METER, safe) == fitted == fit_last(fitted, budget, METER, safe)


@given(histories())
@settings(max_examples=40, deadline=None)
def test_below_the_minimum_the_error_names_it(history: list[Message]) -> None:
    """One token less than what is protected is refused, with the number that would do."""
    mine, eye = units(history), lens()
    safe, blocks = find_held_messages(mine), view(mine, None, eye)
    least = minimum_of(blocks, safe, METER)
    with pytest.raises(BudgetTooSmall, match=str(least)) as caught:
        fit_last(blocks, least - 1, METER, safe)
    assert caught.value.minimum == least
    assert isinstance(caught.value, InvalidInput)
    assert caught.value.hint


def test_giant_result_is_cut_in_the_middle_with_its_handle() -> None:
    """Beginning and end stay, the rest is behind the handle, and small neighbours stay whole."""
    giant = "\n".join(f"row {i}" for i in range(5000))
    history = [
        message(1, "user", Text("Look.")),
        message(2, "assistant", Text("I look."), ToolCall("a", "read", {"path": "x"})),
        message(3, "tool", ToolResult("a", (Text(giant),))),
    ]
    mine = units(history)
    fitted = fit_last(view(mine, None, lens()), 600, METER, find_held_messages(mine))
    assert tokens(fitted) <= 600
    assert [b.parts for b in fitted[:2]] == [m.parts for m in history[:2]]
    text = str(fitted[2].parts)
    assert "row 0" in text
    assert "row 4999" in text
    assert "[bs:3]" in text


@given(st.lists(st.integers(1, 4000), min_size=1, max_size=12), st.integers(0, 30), st.integers(0, 3000))
@settings(max_examples=60, deadline=None)
def test_the_newest_step_is_there_with_all_of_its_results(sizes: list[int], past: int, more: int) -> None:
    """However large it is and whatever stands before it: where its smallest form fits, every call has its result."""
    history = [message(1, "user", Text("Look."))]
    history += [message(2 + n, "assistant", Text("words " * 60)) for n in range(past)]
    calls = [ToolCall(f"c{n}", "read", {"path": "x"}) for n in range(len(sizes))]
    history.append(message(len(history) + 1, "assistant", *calls))
    for call, size in zip(calls, sizes, strict=True):
        history.append(message(len(history) + 1, "tool", ToolResult(call.id, (Text("row " * size),))))
    mine = units(history)
    blocks = view(mine, None, lens())
    newest = mine[-1]
    smallest = sum(min(METER.message(m), LAST_FLOOR) for m in newest.messages)
    budget = (
        METER.message(history[0]) + max(smallest, METER.message(newest.messages[0])) + 60 * len(sizes) + more
    )
    fitted = fit_last(blocks, budget, METER, find_held_messages(mine))
    assert tokens(fitted) <= budget
    told = {p.call_id for b in fitted for p in b.parts if isinstance(p, ToolResult)}
    assert told == {call.id for call in calls}


def test_omitted_messages_are_named_in_one_line() -> None:
    """The line has the handle of the omitted messages."""
    history = [message(n, "user" if n % 2 else "assistant", Text("words " * 40)) for n in range(1, 42)]
    mine = units(history)
    fitted = fit_last(view(mine, None, lens()), 700, METER, find_held_messages(mine))
    gone = [b for b in fitted if b.reason == "gone"]
    assert len(gone) == 1
    assert gone[0].text.startswith("… [bs:1-")
    assert fitted[-1].message == history[-1].id


def test_reasoning_is_dropped_before_text() -> None:
    """A block that has to shrink loses a model's thinking first, and calls stay calls."""
    parts = (Reasoning("think " * 200), Text("I edit."), ToolCall("a", "edit", {"text": "x" * 3000}))
    block = Block("assistant", parts, Section.RECENT, tokens=METER.parts(parts))
    cut = cut_block(block, 120, METER)
    assert cut.tokens <= 120
    assert [type(p) for p in cut.parts] == [Text, ToolCall]
    assert cut.parts[0] == parts[1]


@given(st.text(max_size=400), st.integers(0, 200))
@settings(deadline=None)
def test_a_middle_cut_keeps_to_its_room(text: str, room: int) -> None:
    """Beginning and end of the text in at most so many tokens; only the bare gap may be larger than nothing."""
    cut = middle_cut(text, room, METER, " [bs:1]")
    assert cut == text or count(cut) <= max(room, count("… [bs:1]"))
