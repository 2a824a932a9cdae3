"""How a unit looks at each level, and where notes stand."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings

from backscroll.assemble.view.compaction import Compaction, CompactionNote
from backscroll.assemble.view.view import CONDENSED, find_protected_units, view
from backscroll.vocab.message import Message
from backscroll.vocab.part import Media, Reasoning, Text, ToolCall, ToolResult
from backscroll.vocab.prompt import Level, Section
from tests.assemble.long_histories import histories, lens, message, ref, spoken, units

CODE = "\n".join(f"line {i} of the file" for i in range(60))


def dialogue() -> list[Message]:
    """A task, two steps, an answer, a question."""
    return [
        message(1, "system", Text("Rules.")),
        message(2, "user", Text("Mend it.")),
        message(
            3, "assistant", Reasoning("hm", "s"), Text("I read."), ToolCall("a", "read", {"path": "src/a.py"})
        ),
        message(4, "tool", ToolResult("a", (Text(CODE),))),
        message(5, "assistant", ToolCall("b", "write", {"path": "src/a.py", "text": CODE})),
        message(6, "tool", ToolResult("b", (Text("written"), Media("image/png", blob="0" * 64)))),
        message(7, "assistant", Text("Done.\nAll of it.")),
        message(8, "user", Text("Thanks. And now?")),
    ]


@given(histories())
@settings(max_examples=60, deadline=None)
def test_without_a_compaction_everything_is_verbatim(history: list[Message]) -> None:
    """Every message, as it is, in order, with its revision and its weight."""
    blocks = view(units(history), None, lens())
    assert [(b.message, b.role, b.parts, b.sources) for b in blocks] == [
        (m.id, m.role, m.parts, (m.revision,)) for m in history
    ]
    assert all(b.level is Level.VERBATIM for b in blocks)
    assert {b.section for b in blocks} <= {Section.SYSTEM, Section.RECENT}


def test_digest_keeps_text_and_calls_and_shortens_results() -> None:
    """Words whole, long arguments cut, the result as one line with its handle; thinking goes."""
    mine = units(dialogue())
    made = Compaction(upto=ref(8), levels={ref(3): Level.DIGEST, ref(5): Level.DIGEST})
    blocks = {b.message: b for b in view(mine, made, lens())}
    assert blocks[ref(3)].parts == (Text("I read."), ToolCall("a", "read", {"path": "src/a.py"}))
    assert blocks[ref(4)].parts == (ToolResult("a", (Text("read src/a.py: line 0 of the file [bs:4]"),)),)
    written = blocks[ref(5)].parts[0]
    assert isinstance(written, ToolCall)
    assert written.arguments["path"] == "src/a.py"
    assert len(written.arguments["text"]) < 200
    assert blocks[ref(6)].parts == (ToolResult("b", (Text("write src/a.py: written [bs:6]"),)),)
    assert blocks[ref(4)].level is Level.DIGEST
    assert blocks[ref(4)].tokens < 30


def test_digest_shows_kept_lines() -> None:
    """Kept lines are shown verbatim, with gaps and the handle."""
    made = Compaction(upto=ref(8), levels={ref(3): Level.DIGEST}, keeps={ref(4): ((0, 1), (30, 32))})
    (result,) = next(b for b in view(units(dialogue()), made, lens()) if b.message == ref(4)).parts
    assert result == ToolResult(
        "a", (Text("line 0 of the file\n…\nline 30 of the file\nline 31 of the file\n… [bs:4]"),)
    )


def test_adjacent_gists_are_one_block() -> None:
    """Steps as lines with handles, an explanation before the first, notes behind the last; no call, no result."""
    mine = units(dialogue())
    made = Compaction(
        upto=ref(8),
        levels=dict.fromkeys((ref(3), ref(5), ref(7)), Level.GIST),
        keeps={ref(4): ((5, 6),)},
        notes=(CompactionNote("src/b.py", ref(4), ref(8)), CompactionNote("订单 77", ref(2), ref(8))),
    )
    blocks = view(mine, made, lens())
    assert [b.reason for b in blocks] == ["system", "kept", "gist", "latest"]
    assert blocks[2].role == "user"
    assert blocks[2].text.splitlines() == [
        CONDENSED,
        "[bs:3-4] assistant: I read.",
        "→ read src/a.py: line 0 of the file",
        "line 5 of the file",
        "[bs:5-6] assistant: → write src/a.py: written",
        "[bs:7] assistant: Done.",
        "Notes from earlier: src/b.py; 订单 77",
    ]
    assert set(blocks[2].sources) == {ref(n) for n in (2, 3, 4, 5, 6, 7)}


def test_gists_are_not_joined_across_a_cut() -> None:
    """Blocks are not joined across the place where an earlier compaction ended."""
    levels = dict.fromkeys((ref(3), ref(5), ref(7)), Level.GIST)
    blocks = view(units(dialogue()), Compaction(upto=ref(8), levels=levels, cuts=(ref(5),)), lens())
    assert [b.reason for b in blocks] == ["system", "kept", "gist", "gist", "latest"]
    assert CONDENSED in blocks[2].text
    assert CONDENSED not in blocks[3].text


def test_only_protected_messages_are_shown_before_the_start() -> None:
    """Before `start` only system messages, pins, waiting calls and the latest user message are left."""
    history = dialogue()
    made = Compaction(
        upto=ref(8), start=ref(8), levels=dict.fromkeys((ref(2), ref(3), ref(5), ref(7)), Level.GONE)
    )
    assert [b.message for b in view(units(history), made, lens())] == [ref(1), ref(8)]
    pinned = [*history[:1], message(2, "user", Text("Mend it."), pinned=True), *history[2:]]
    late = [b.message for b in view(units(pinned), made, lens())]
    assert late == [
        ref(1),
        ref(8),
    ]  # pinned after it was condensed: told at the end, so that the beginning stays
    kept = replace(made, levels={k: v for k, v in made.levels.items() if k != ref(2)})
    assert [b.message for b in view(units(pinned), kept, lens())] == [ref(1), ref(2), ref(8)]
    open_call = [*history[:3], *history[4:]]  # the result was deleted
    assert [b.message for b in view(units(open_call), made, lens())] == [
        ref(1),
        ref(8),
    ]  # interrupted: not waiting
    waiting = open_call[:-1]  # the user has not spoken since
    assert [b.message for b in view(units(waiting), made, lens())] == [ref(1), ref(2), ref(3)]


def test_older_user_message_is_verbatim_once_it_is_the_latest() -> None:
    """When the newest question is deleted the one before it is verbatim again."""
    made = Compaction(upto=ref(8), levels={ref(2): Level.GIST})
    blocks = view(units(dialogue()[:-1]), made, lens())
    assert ("user", (Text("Mend it."),)) in spoken(blocks)


def test_notes_survive_deletion_of_the_unit_they_precede() -> None:
    """Notes stay at their position."""
    made = Compaction(
        upto=ref(8), levels={ref(3): Level.GIST}, notes=(CompactionNote("k_1", ref(4), ref(5)),)
    )
    rest = [m for m in dialogue() if m.id not in {ref(5), ref(6)}]
    assert "Notes from earlier: k_1" in view(units(rest), made, lens())[2].text


def test_message_inserted_after_the_compaction_is_verbatim() -> None:
    """The compaction did not include it."""
    history = dialogue()
    inserted = [*history[:2], message(40, "user", Text("By the way.")), *history[2:]]
    made = Compaction(upto=ref(8), levels=dict.fromkeys((ref(3), ref(5), ref(7)), Level.GIST))
    assert ("user", (Text("By the way."),)) in spoken(view(units(inserted), made, lens()))


def test_protected_units_give_a_reason() -> None:
    """System, latest user message, unanswered call."""
    history = [*dialogue(), message(9, "assistant", ToolCall("z", "ask", {}))]
    assert find_protected_units(units(history)) == {ref(1): "system", ref(8): "latest", ref(9): "unanswered"}
