"""Which strings are specific, and what is worth keeping."""

from __future__ import annotations

import pytest

from backscroll.assemble.compaction.notes import worth
from backscroll.assemble.compaction.retention import PieceSelector, RetentionUnit
from backscroll.assemble.compaction.trail import StringUse, Trail, strings_in_text
from backscroll.assemble.compaction.tuning import weights
from backscroll.assemble.view.meter import Meter
from backscroll.assemble.view.pieces import Slots
from backscroll.vocab.message import Message
from backscroll.vocab.part import Text, ToolCall, ToolResult
from tests.assemble.long_histories import count, message, ref, units


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("see src/app/main.py, line 12.", ["src/app/main.py"]),
        ("call parse_header or parseHeader", ["parse_header", "parseHeader"]),
        ("mail ada@example.org about 77-KX9", ["ada@example.org", "77-KX9"]),
        ("met Ada Lovelace there", ["Ada Lovelace"]),
        ('it said "no such file: %s" again', ["no such file: %s"]),
        ("见《协议说明书》第3章，编号A-2041的订单", ["协议说明书", "A-2041"]),
        ("she called it “最后的晚餐” once", ["最后的晚餐"]),
        ("plain words, nothing else. Don't worry: it's fine", []),
    ],
)
def test_specific_strings_are_found(text: str, wanted: list[str]) -> None:
    """Paths, names of code, addresses, numbers, names and quotations are found, in both languages; plain words are not."""
    assert strings_in_text(text) == set(wanted)


def test_long_run_of_capitals_is_scanned_in_linear_time() -> None:
    """Restarting at every capital letter would take quadratic time."""
    assert strings_in_text("F" * 300_000 + " and Mira Vale") == {"Mira Vale"}


def test_recently_used_strings_are_worth_more() -> None:
    """Use by the dialogue and recency raise the worth; age and mere listing in a result lower it."""
    told = StringUse(ref(1), 10, -1.7, told=1)
    said = StringUse(ref(1), 10, -1.7, words=1, told=1)
    often = StringUse(ref(1), 10, -1.7, words=4, arguments=3, told=1)
    assert worth(told, 12) < worth(said, 12) < worth(often, 12) < 1
    assert worth(often, 60) < worth(often, 12)


def test_weights_are_numbers_by_feature_name() -> None:
    """The weights are data: numbers under names of features."""
    table = weights()
    assert all(isinstance(v, float) for v in (*table.string.values(), *table.line.values()))
    assert {"bias", "age"} <= set(table.string) & set(table.line)


def session() -> list[Message]:
    """A result with ids of which one is talked about afterwards."""
    rows = "\n".join(f"user_{n:03d} has the order {n * 37}-XQ and lives in street {n}" for n in range(60))
    return [
        message(1, "user", Text("Which order has user_017?")),
        message(2, "assistant", ToolCall("a", "query", {"table": "orders"})),
        message(3, "tool", ToolResult("a", (Text(rows),))),
        message(4, "assistant", Text("user_017 has 629-XQ.")),
        message(5, "user", Text("And the address of user_017?")),
    ]


def test_discussed_rows_of_a_long_result_are_kept() -> None:
    """Rows of a fresh result that relate to the conversation stay."""
    trail = Trail(Meter(count), Slots()).extend(units(session()))
    _, result = trail.seen[1].leaves
    kept = PieceSelector(trail, set(), set()).fresh([result], 400)
    numbers = [n for a, b in kept[result.message.revision] for n in range(a, b)]
    assert 17 in numbers
    assert 0 in numbers
    assert 59 in numbers
    assert len(numbers) < 40


def test_strings_already_shown_are_not_chosen() -> None:
    """Neither as notes nor as pieces."""
    trail = Trail(Meter(count), Slots()).extend(units(session()))
    shown = {"user_017", "629-XQ"}
    kept = PieceSelector(trail, shown, set()).choose([RetentionUnit(trail.seen[1])], 200, 200)
    assert not shown & set(kept.notes)


def test_pieces_dropped_by_a_compaction_do_not_return() -> None:
    """Only the pieces that an earlier compaction left may be kept by the next."""
    trail = Trail(Meter(count), Slots()).extend(units(session()))
    kept = PieceSelector(trail, set(), set()).choose([RetentionUnit(trail.seen[1], {ref(3): {4, 5}})], 500, 0)
    assert {n for ranges in kept.keeps.values() for a, b in ranges for n in range(a, b)} <= {4, 5}


def test_notes_fit_their_budget_without_repeats() -> None:
    """As many strings as fit; one that a longer one contains is left out."""
    trail = Trail(Meter(count), Slots()).extend(
        units([message(1, "user", Text("open src/app/main_page.py and main_page.py and x_1 y_22"))])
    )
    kept = PieceSelector(trail, set(), set()).choose([], 100, 100, [RetentionUnit(trail.seen[0])])
    assert len(kept.notes) == len(set(kept.notes))
    for at, note in enumerate(kept.notes):
        assert not any(note in earlier for earlier in kept.notes[:at])
    assert PieceSelector(trail, set(), set()).choose([], 1, 1, [RetentionUnit(trail.seen[0])]).notes == ()
