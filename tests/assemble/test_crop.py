"""Which messages may leave a prompt, and which amounts are possible."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.assemble.compaction.crop import (
    Direction,
    checked_amount,
    checked_direction,
    cut_amount,
    cut_range,
    runs,
    within,
)
from backscroll.assemble.view.units import Unit, units_of
from backscroll.errors import InvalidInput
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message, Role, is_spoken_by_user
from backscroll.vocab.part import Part, Text, ToolCall, ToolResult

THREAD = "c" * 32


def said(seq: int, role: Role, *parts: Part, pinned: bool = False) -> Message:
    ref = Ref(THREAD, seq)
    return Message(ref, role, ref, Content(parts or (Text(f"message {seq}"),)), "", pinned=pinned)


def talk(plan: str) -> list[Message]:
    """`s`ystem, `u`ser, `a`nswer, `p`inned answer, `c`all with one result, `d`ouble call, `o`pen call."""
    out: list[Message] = []
    for letter in plan:
        seq = len(out) + 1
        if letter in "cd":
            names = [f"call{seq}"] if letter == "c" else [f"call{seq}", f"more{seq}"]
            out.append(said(seq, "assistant", *(ToolCall(n, "Read", {}) for n in names)))
            out += [said(seq + 1 + i, "tool", ToolResult(n, (Text("x"),))) for i, n in enumerate(names)]
        elif letter == "o":
            out.append(said(seq, "assistant", ToolCall(f"call{seq}", "Read", {})))
        else:
            role: Role = {"s": "system", "u": "user", "a": "assistant", "p": "assistant"}[letter]  # type: ignore[assignment]
            out.append(said(seq, role, pinned=letter == "p"))
    return out


def latest_user(messages: list[Message]) -> Ref | None:
    return next((m.id for m in reversed(messages) if is_spoken_by_user(m)), None)


def cropped(plan: str, direction: Direction, amount: int) -> list[int]:
    messages = talk(plan)
    units = list(units_of(messages))
    met = units if direction is Direction.TOP else list(reversed(units))
    cut = cut_amount(met, direction, amount, latest_user(messages))
    return [m.id.seq for m in cut.messages]


def test_crop_from_the_top_keeps_system_messages() -> None:
    assert cropped("suaua", Direction.TOP, 2) == [2, 3]


def test_crop_keeps_a_call_with_its_results() -> None:
    assert cropped("ucaua", Direction.TOP, 3) == [1, 2, 3]
    with pytest.raises(InvalidInput, match="part a tool call") as caught:
        cropped("ucaua", Direction.TOP, 2)
    assert "1 or 3" in caught.value.hint


def test_crop_keeps_parallel_calls_together() -> None:
    with pytest.raises(InvalidInput) as caught:
        cropped("duau", Direction.TOP, 2)
    assert caught.value.hint.endswith(": 3")


def test_crop_skips_pins_and_open_calls() -> None:
    assert cropped("upoaua", Direction.TOP, 2) == [1, 4]


def test_crop_from_the_bottom_stops_at_the_latest_user_message() -> None:
    assert cropped("uauaca", Direction.BOTTOM, 3) == [5, 6, 7]
    with pytest.raises(InvalidInput, match="4 may go"):
        cropped("uauaca", Direction.BOTTOM, 5)


def test_crop_from_the_top_skips_the_latest_user_message() -> None:
    assert cropped("uaucca", Direction.TOP, 4) == [1, 2, 4, 5]


def test_crop_of_nothing_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="nothing may be cropped"):
        cropped("su", Direction.TOP, 1)


@pytest.mark.parametrize("amount", [0, -3, 1.5, "4", True, None])
def test_crop_amount_is_a_positive_integer(amount: object) -> None:
    with pytest.raises(InvalidInput):
        checked_amount(amount)


def test_crop_direction_is_top_or_bottom() -> None:
    assert checked_direction("top") is Direction.TOP
    with pytest.raises(InvalidInput, match="sideways"):
        checked_direction("sideways")


def test_cut_range_keeps_a_call_with_its_result() -> None:
    units = list(units_of(talk("ucaua")))
    assert [m.id.seq for m in cut_range(units, Ref(THREAD, 2), Ref(THREAD, 4), None).messages] == [2, 3, 4]
    with pytest.raises(InvalidInput, match="part a tool call"):
        cut_range(units, Ref(THREAD, 3), Ref(THREAD, 4), None)
    with pytest.raises(InvalidInput, match="ends before"):
        cut_range(units, Ref(THREAD, 4), Ref(THREAD, 1), None)


@given(st.text("suapcdo", max_size=14), st.sampled_from(Direction), st.integers(1, 40))
def test_whatever_goes_may_go_and_a_refusal_names_amounts_that_work(
    plan: str, direction: Direction, amount: int
) -> None:
    """The promise of a refusal is kept: every amount in its hint is accepted."""
    messages = talk(plan)
    units = list(units_of(messages))
    met: list[Unit] = units if direction is Direction.TOP else list(reversed(units))
    user = latest_user(messages)
    try:
        cut = cut_amount(met, direction, amount, user)
    except InvalidInput as error:
        for word in error.hint.replace("crop", "").split(":")[-1].split():
            if word.isdecimal():
                assert len(cut_amount(met, direction, int(word), user).messages) == int(word)
        return
    assert len(cut.messages) == amount
    gone = {m.id for m in cut.messages}
    for unit in units:
        inside = [m.id in gone for m in unit.messages]
        assert all(inside) or not any(inside)
    assert user not in gone
    assert not any(m.pinned or m.role == "system" for m in cut.messages)
    if direction is Direction.BOTTOM and user is not None:
        assert all(m.id.seq > user.seq for m in cut.messages)


@given(st.lists(st.integers(1, 60), unique=True), st.data())
def test_runs_hold_exactly_what_goes(seqs: list[int], data: st.DataObject) -> None:
    gone = data.draw(st.sets(st.sampled_from(seqs)) if seqs else st.just(set[int]()))
    found = runs(seqs, gone)
    assert {s for s in seqs if within(s, found)} == gone
