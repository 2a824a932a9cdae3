"""Compacting any history: what is promised whatever the history looks like."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.assemble.compaction.policy import compact, trim
from backscroll.assemble.compaction.trail import Trail
from backscroll.assemble.compaction.tuning import CompactionRoom
from backscroll.assemble.view.compaction import Compaction, CompactionNote
from backscroll.assemble.view.view import find_protected_units, view
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message
from backscroll.vocab.part import Media, Reasoning, Text, ToolCall, ToolResult
from backscroll.vocab.prompt import Level
from tests.assemble.long_histories import (
    histories,
    lens,
    message,
    orphans,
    ref,
    spoken,
    tokens,
    units,
)

targets = st.integers(0, 6000)


def session(steps: int, size: int = 40) -> list[Message]:
    """A coding session: one task, then steps that each read a file."""
    out = [message(1, "system", Text("Rules.")), message(2, "user", Text("Fix the parser in src/parse.py."))]
    for n in range(steps):
        lines = "\n".join(f"    value_{n}_{i} = compute_{n}(token_{i})  # step {n}" for i in range(size))
        out.append(
            message(
                len(out) + 1,
                "assistant",
                Text(f"Now file {n}."),
                ToolCall(f"c{n}", "read", {"path": f"src/m_{n}.py"}),
            )
        )
        out.append(message(len(out) + 1, "tool", ToolResult(f"c{n}", (Text(lines),))))
    return out


@given(histories(), targets)
@settings(max_examples=60, deadline=None)
def test_a_compaction_shrinks_the_prompt_or_is_none(history: list[Message], target: int) -> None:
    """What does not shrink is rolled back, and the figures are those of the view."""
    mine, eye = units(history), lens()
    made = compact(mine, None, eye, target=target)
    if made is not None:
        assert made.before == tokens(view(mine, None, eye))
        assert made.after == tokens(view(mine, made, eye)) < made.before


@given(histories(), targets)
@settings(max_examples=60, deadline=None)
def test_what_is_protected_stays_to_the_letter(history: list[Message], target: int) -> None:
    """System messages, pins, unanswered calls and the latest user message are verbatim after any compaction."""
    mine = units(history)
    made = compact(mine, None, lens(), target=target)
    shown = {b.message: b.parts for b in view(mine, made, lens())}
    safe = find_protected_units(mine)
    for unit in mine:
        if unit.id in safe:
            assert all(shown[m.id] == m.parts for m in unit.messages)


@given(histories(), targets)
@settings(max_examples=60, deadline=None)
def test_calls_and_results_fade_together(history: list[Message], target: int) -> None:
    """No call loses its result and no result its call: only what was alone before is alone after."""
    mine, eye = units(history), lens()
    made = compact(mine, None, eye, target=target)
    before = orphans([(m.role, m.parts) for m in history])
    assert set(orphans(spoken(view(mine, made, eye)))) <= set(before)


@given(histories(), histories(), targets)
@settings(max_examples=60, deadline=None)
def test_more_messages_only_append_blocks(history: list[Message], later: list[Message], target: int) -> None:
    """Between two compactions the prompt grows at its end, byte for byte."""
    mine, eye = units(history), lens()
    made = compact(mine, None, eye, target=target)
    known = spoken(view(mine, made, eye))
    more = [message(len(history) + 1 + n, m.role, *m.parts) for n, m in enumerate(later[1:])]
    assert spoken(view(units(history + more), made, eye))[: len(known)] == known


@given(histories(), targets)
@settings(max_examples=40, deadline=None)
def test_the_same_history_gives_the_same_bytes(history: list[Message], target: int) -> None:
    """No memory of what was rendered before changes anything."""
    mine, eye = units(history), lens()
    one, other = compact(mine, None, eye, target=target), compact(mine, None, lens(), target=target)
    assert one == other
    assert view(mine, one, eye) == view(mine, other, lens()) == view(mine, one, eye)


@given(histories(least=4), histories(least=4), targets)
@settings(max_examples=40, deadline=None)
def test_compactions_follow_each_other(history: list[Message], later: list[Message], target: int) -> None:
    """The next compaction keeps all promises too, and what it keeps of the front it keeps byte for byte."""
    eye = lens()
    first = compact(units(history), None, eye, target=target)
    grown = history + [message(len(history) + 1 + n, m.role, *m.parts) for n, m in enumerate(later[1:])]
    mine = units(grown)
    second = compact(mine, first, eye, target=target)
    if second is None:
        return
    blocks = view(mine, second, eye)
    assert tokens(blocks) == second.after < tokens(view(mine, first, eye))
    assert set(orphans(spoken(blocks))) <= set(orphans([(m.role, m.parts) for m in grown]))


def test_long_session_is_compacted_to_its_target() -> None:
    """Steps become lines that keep what is likely to be needed; the newest steps are unchanged."""
    mine, eye = units(session(40)), lens()
    made = compact(mine, None, eye, target=6000)
    assert made is not None
    assert made.after <= 6000 * 1.1
    assert mine[-1].id not in made.levels
    assert Level.GIST in made.levels.values()
    assert made.notes or made.keeps


def test_second_compaction_leaves_condensed_blocks_unchanged() -> None:
    """So that the cache of the prefix stays valid."""
    eye, history = lens(), session(30)
    first = compact(units(history), None, eye, target=6000)
    assert first is not None
    mine = units(session(40))
    second = compact(mine, first, eye, target=7000, plan=CompactionRoom(front=0.9))
    assert second is not None
    old, new = spoken(view(units(history), first, eye)), spoken(view(mine, second, eye))
    same = next(n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)
    assert same >= 3  # system, task, condensed steps


def test_kept_pieces_appear_verbatim_in_the_view() -> None:
    """Each kept piece is found in the prompt unchanged."""
    mine, eye = units(session(40)), lens()
    made = compact(mine, None, eye, target=6000)
    assert made is not None
    assert made.keeps
    text = "\n".join(b.text for b in view(mine, made, eye))
    for unit in mine:
        for said in unit.messages:
            slots = eye.slots(said)
            for first, _ in made.keeps.get(said.revision, ()):
                slot = next(s for s in slots if s.first <= first < s.first + len(s.pieces))
                assert slot.pieces[first - slot.first].rstrip("\n") in text


def test_condensed_steps_name_their_handle() -> None:
    """So that the originals can be expanded."""
    mine, eye = units(session(40)), lens()
    made = compact(mine, None, eye, target=9000)
    assert made is not None
    text = "\n".join(b.text for b in view(mine, made, eye))
    for unit in mine:
        if made.levels.get(unit.id) is Level.GIST:
            assert f"[bs:{unit.id.seq}-{unit.last.seq}]" in text


def test_boosted_results_keep_more_pieces() -> None:
    """Results like those expanded after earlier compactions keep more."""
    mine, eye = units(session(40)), lens()
    wanted = mine[6].messages[1].revision
    plain = compact(mine, None, eye, target=9000)
    boosted = compact(mine, None, eye, target=9000, boost=lambda m: 50.0 if m.revision == wanted else 1.0)
    assert plain is not None
    assert boosted is not None
    kept = [sum(b - a for a, b in made.keeps.get(wanted, ())) for made in (plain, boosted)]
    assert kept[1] > kept[0]


def test_giant_fresh_result_is_trimmed_and_nothing_else_changes() -> None:
    """Earlier blocks, reasoning and the call stay the same; the result names its handle."""
    history = session(3)
    number = len(history) + 1
    giant = "\n".join(f"row {i}: status_{i} of /var/log/app_{i}.log" for i in range(900))
    reply = (Reasoning("hm", "sig"), Text("Reading."), ToolCall("big", "read", {"path": "/var/log"}))
    history += [
        message(number, "assistant", *reply),
        message(number + 1, "tool", ToolResult("big", (Text(giant),))),
    ]
    mine, eye = units(history), lens()
    trail = Trail(eye.meter, eye.slots).extend(mine)
    made = trim(mine, None, eye, cap=1000, trail=trail)
    assert made is not None
    before, after = view(mine, None, eye), view(mine, made, eye)
    assert spoken(after)[:-1] == spoken(before)[:-1]
    assert after[-1].tokens < 1200
    result = after[-1].parts[0]
    assert isinstance(result, ToolResult)
    assert f"[bs:{number + 1}]" in str(result.content)
    assert giant.split("\n")[0] in str(result.content)


def test_fresh_result_with_an_image_is_not_trimmed() -> None:
    """A fresh result with an image stays whole."""
    content = (Text("x y z " * 3000), Media("image/png", blob="0" * 64))
    history = [
        message(1, "user", Text("Draw.")),
        message(2, "assistant", ToolCall("a", "draw", {})),
        message(3, "tool", ToolResult("a", content)),
    ]
    mine, eye = units(history), lens()
    assert trim(mine, None, eye, cap=500, trail=Trail(eye.meter, eye.slots).extend(mine)) is None


def test_compact_leaves_short_histories_alone() -> None:
    """An empty history and one that is small enough are left alone."""
    assert compact([], None, lens(), target=100) is None
    assert compact(units([message(1, "user", Text("hi"))]), None, lens(), target=100) is None


def test_compaction_names_the_first_remaining_unit() -> None:
    """If the oldest units are left out, `start` names the first that is shown."""
    history = [message(1, "system", Text("Rules."))]
    for n in range(200):
        history.append(message(len(history) + 1, "user", Text(f"Tell me about case_{n}, please.")))
        history.append(
            message(len(history) + 1, "assistant", Text(f"The case_{n} was closed on day {n}. " * 3))
        )
    mine, eye = units(history), lens()
    made = compact(mine, None, eye, target=1500)
    assert made is not None
    assert made.start is not None
    assert made.levels[mine[1].id] is Level.GONE
    later = [u for u in mine if u.role == "system" or u.id.seq >= made.start.seq]
    assert spoken(view(later, made, eye)) == spoken(view(mine, made, eye))


def test_notes_of_dead_revisions_are_not_shown() -> None:
    """Notes whose revision was deleted or replaced are dropped."""
    mine, eye = units(session(4)), lens()
    notes = (CompactionNote("order_77", ref(4), mine[3].id), CompactionNote("发票 2041", ref(6), mine[3].id))
    made = Compaction(upto=mine[-1].last, levels={mine[2].id: Level.GIST}, notes=notes)

    def text(dead: set[Ref]) -> str:
        return "\n".join(b.text for b in view(mine, made, eye, dead=dead))

    assert "Notes from earlier: order_77; 发票 2041" in text(set())
    assert "Notes from earlier: 发票 2041" in text({ref(4)})
    assert "Notes" not in text({ref(4), ref(6)})


def test_kept_ranges_do_not_apply_to_an_edited_message() -> None:
    """Ranges belong to a revision, so an edited message shows none of them."""
    history = session(40)
    mine, eye = units(history), lens()
    made = compact(mine, None, eye, target=9000)
    assert made is not None
    at = next(n for n, m in enumerate(history) if m.role == "tool" and m.revision in made.keeps)
    edited = replace(
        history[at], revision=ref(9999), content=Content((ToolResult("c0", (Text("SECRET\n" * 90),)),))
    )
    again = units([*history[:at], edited, *history[at + 1 :]])
    assert "SECRET\nSECRET" not in "\n".join(b.text for b in view(again, made, eye))


def test_notes_from_before_the_window_are_carried_over() -> None:
    """Unless their source is dead."""
    eye, gone = lens(), ref(90_001)
    mine = units(session(30))
    note = CompactionNote("合同 7731-B", gone, mine[4].id)
    first = Compaction(upto=mine[4].last, levels={mine[3].id: Level.GIST}, notes=(note,), cuts=(mine[4].id,))
    plan = CompactionRoom(front=0.0)
    kept = compact(mine, first, eye, target=6000, plan=plan)
    dropped = compact(mine, first, eye, target=6000, plan=plan, dead={gone})
    assert kept is not None
    assert dropped is not None
    assert (note.text, gone) in {(n.text, n.source) for n in kept.notes}
    assert note.text not in {n.text for n in dropped.notes}
