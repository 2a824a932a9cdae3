"""Cause, fix and evidence: found where they are told, in this order, and never made of thanks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.tasks.memory import remember
from backscroll.tasks.memory_arcs import arcs_of
from backscroll.vocab.task import MemoryKind
from tests.tasks.builders import Talk, task

BANK = (
    "The import makes double payments since Monday.",
    "I'll look at the last files.",
    "any news?",
    "Found it: the bank re-sends the last hour, so references repeat.",
    "ok",
    "I changed the importer so that payments are keyed by reference. I also added two tests.",
    "does it work?",
    "Yes. No payment is doubled, and all 14 tests pass.",
    "Great, thanks!",
    "Again, sorry for the trouble.",
)
ZH = (
    "首页列表滚动特别卡。",
    "我录一段看看。",
    "好",
    "原因是每次滚动都把整个列表重新渲染了一遍。",
    "那怎么办",
    "我给列表项加了 memo，只更新变化的那一项。",
    "帧率从 20 提到了 58，不卡了",
    "太好了，祝您使用愉快！",
)


def talked(says: tuple[str, ...]) -> Talk:
    talk = Talk()
    for number, text in enumerate(says):
        (talk.assistant if number % 2 else talk.user)(text)
    return talk


@pytest.mark.parametrize(
    ("says", "line"),
    [
        (
            BANK,
            "the bank re-sends the last hour, so references repeat → I changed the importer so that payments are keyed by reference. I also added two tests → No payment is doubled, and all 14 tests pass",
        ),
        (
            ZH,
            "每次滚动都把整个列表重新渲染了一遍 → 我给列表项加了 memo，只更新变化的那一项 → 帧率从 20 提到了 58，不卡了",
        ),
    ],
)
def test_cause_fix_and_evidence_in_both_languages(says: tuple[str, ...], line: str) -> None:
    talk = talked(says)
    assert [arc.line() for arc in arcs_of(talk.messages)] == [line]
    memories = remember(task(), talk.messages)
    for kind in (MemoryKind.OUTCOME, MemoryKind.LESSON):
        assert [line in m.text for m in memories if m.kind is kind] == [True]
    summary = next(m.text for m in memories if m.kind is MemoryKind.SUMMARY)
    assert all(part in summary for part in line.split(" → "))


def test_a_lesson_rests_on_every_message_it_names() -> None:
    """What is forgotten takes the lesson with it."""
    talk = talked(BANK)
    lesson = next(m for m in remember(task(), talk.messages) if m.kind is MemoryKind.LESSON)
    assert lesson.sources == tuple(talk.messages[n].revision for n in (0, 3, 5, 7))


def test_two_troubles_are_two_arcs() -> None:
    more = (
        "Now the export is empty.",
        "The cause is a missing column name.",
        "ok?",
        "Fixed: the query now names the column.",
    )
    arcs = arcs_of(talked((*BANK, *more, "works, 300 rows", "Good.")).messages)
    assert [arc.fix is not None and arc.fix.text[:5] for arc in arcs] == ["I cha", "Fixed"]


def test_a_chat_without_a_cause_and_a_fix_has_none() -> None:
    talk = talked(
        ("Who was Hypatia?", "A mathematician in Alexandria.", "Thanks!", "You're welcome, have a nice day!")
    )
    assert arcs_of(talk.messages) == []
    assert [m for m in remember(task(), talk.messages) if m.kind is MemoryKind.LESSON] == []


@given(st.lists(st.text(max_size=60) | st.sampled_from([*BANK, *ZH]), max_size=8))
def test_any_talk_gives_arcs_of_its_own_sentences_in_order(says: list[str]) -> None:
    """Every part is quoted from a message, and evidence never comes before the fix."""
    talk = talked(tuple(says))
    places = {m.id: n for n, m in enumerate(talk.messages)}
    for arc in arcs_of(talk.messages):
        assert len(arc.parts) >= 2 or arc.fix is not None
        order = [places[part.message.id] for part in arc.parts]
        assert order == sorted(order)
