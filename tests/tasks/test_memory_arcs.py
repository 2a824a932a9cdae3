"""Cause, fix and evidence: found in this order where they are stated, never made of thanks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.tasks.memory.arcs import arcs_of
from backscroll.vocab.task import MemoryKind
from tests.tasks.builders import Talk, remember, task

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
def test_cause_fix_and_evidence_are_found_in_both_languages(says: tuple[str, ...], line: str) -> None:
    talk = talked(says)
    assert [arc.line() for arc in arcs_of(talk.messages)] == [line]
    memories = remember(task(), talk.messages)
    for kind in (MemoryKind.OUTCOME, MemoryKind.LESSON):
        assert [line in m.text for m in memories if m.kind is kind] == [True]
    summary = next(m.text for m in memories if m.kind is MemoryKind.SUMMARY)
    assert all(part in summary for part in line.split(" → "))


def test_lesson_rests_on_every_message_it_names() -> None:
    """Forgetting any of them removes the lesson."""
    talk = talked(BANK)
    lesson = next(m for m in remember(task(), talk.messages) if m.kind is MemoryKind.LESSON)
    assert lesson.sources == tuple(talk.messages[n].revision for n in (0, 3, 5, 7))


def test_two_problems_are_two_arcs() -> None:
    more = (
        "Now the export is empty.",
        "The cause is a missing column name.",
        "ok?",
        "Fixed: the query now names the column.",
    )
    arcs = arcs_of(talked((*BANK, *more, "works, 300 rows", "Good.")).messages)
    assert [arc.fix is not None and arc.fix.text[:5] for arc in arcs] == ["I cha", "Fixed"]


def test_chat_without_a_cause_and_a_fix_has_no_arc() -> None:
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


#: Courses told without a word for cause, fix or success: only who says what, and where, tells which is which.
PLAIN = {
    "stove": (
        "The pellet stove goes out every night around three.",
        "How full is the hopper when you go to bed?",
        "half, roughly",
        "Half a hopper of that brand lasts six hours, and you go to bed at nine.",
        "hm ok",
        "A bigger hopper fits behind it: the 40 litre one from the same maker.",
        "bought it, burned through the night twice in a row",
        "Warm nights!",
    ),
    "琴": (
        "孩子练琴十分钟就喊累，老师又说必须练满半小时",
        "琴凳多高？脚能着地吗？",
        "脚悬着，凳子是大人的",
        "脚悬着，全身的重量都压在手腕上，十分钟确实是极限。",
        "那换琴凳？",
        "垫一个脚踏，三十块钱那种就够，凳子往前挪两指。",
        "垫上以后昨天练了四十分钟，一声都没喊累",
        "真好。",
    ),
}


@pytest.mark.parametrize(
    ("name", "parts"),
    [("stove", ("lasts six hours", "bigger hopper", "twice in a row")), ("琴", ("手腕", "脚踏", "四十分钟"))],
)
def test_arc_is_found_by_speaker_and_position(name: str, parts: tuple[str, ...]) -> None:
    (arc,) = arcs_of(talked(PLAIN[name]).messages)
    assert len(arc.parts) == 3
    assert [word in part.text for word, part in zip(parts, arc.parts, strict=True)] == [True] * 3


def test_command_output_is_evidence() -> None:
    talk = Talk()
    talk.user("The importer writes every row twice.")
    talk.tool("read", {"path": "importer.py"}, "def load(): ...")
    talk.assistant("`load` is registered in both modules.")
    talk.tool("edit", {"path": "importer.py", "old": "a", "new": "b"}, "ok")
    talk.assistant("Registration lives in one module now.")
    talk.tool("bash", {"command": "pytest -q"}, "31 passed in 2.10s")
    talk.assistant("Ready.")
    (outcome,) = [
        m for m in remember(task(), talk.messages) if "→" in m.text and m.kind is MemoryKind.OUTCOME
    ]
    assert "both modules → Registration lives in one module now → 31 passed" in outcome.text


ADVICE = "Start with a soft brush, because it does not scratch the surface, so it lasts. Use warm water instead of hot. "


@pytest.mark.parametrize(
    "says",
    [
        (
            "I'm planning a game night, not too long. Any ideas?",
            ADVICE * 12,
            "I'm thinking of hosting it on Friday.",
            ADVICE * 12,
        ),
        (
            "I don't know which sofa to buy.",
            ADVICE,
            "how much is it",
            "It takes 500 euros and works in small rooms.",
        ),
        ("My bike squeaks.", "Dry or wet?", "dry", "Then oil the chain.", "did that, still squeaks", "Hm."),
        (
            "The soup is too salty.",
            "Add a potato, because starch binds salt.",
            "I don't have potatoes",
            "Use rice instead.",
        ),
        ("红烧肉怎么做才不腻？", "先焯水再煸出油，因为油出来了就不腻。", "没有冰糖", "用白糖代替。"),
    ],
)
def test_unconfirmed_advice_is_no_lesson(says: tuple[str, ...]) -> None:
    """Because, so and instead are no cause and no fix unless someone says that it helped."""
    assert [arc for arc in arcs_of(talked(says).messages) if arc.cause is not None] == []


def test_closing_remark_is_not_the_report() -> None:
    talk = talked(("Name my boat.", "I would call her Tern.", "painted it on the bow", "Fingers crossed!"))
    notes = [m.text for m in remember(task(), talk.messages) if m.kind is MemoryKind.OUTCOME]
    assert not any("Fingers" in text for text in notes)
