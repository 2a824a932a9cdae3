"""Lines of a play: every word stays where it was, whatever the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.derive.extract.script_lines import lines_apart
from backscroll.derive.extract.utterance import Utterance
from backscroll.vocab.ids import Ref

_SOURCE = Ref("a" * 32, 1)
_LINE = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [
            "Vera: I know.",
            "纪晚：你骗我！",
            "Note: you must.",
            "时间：明天？",
            "",
            "卫之衡：（笑）我不怕。",
            "Orin Vale: You?",
        ]
    ),
)


@given(st.lists(_LINE, max_size=8))
def test_the_pieces_stand_in_the_message_in_order(lines: list[str]) -> None:
    text = "\n".join(lines)
    at = 0
    for piece in lines_apart([Utterance(text, _SOURCE)]):
        found = text.find(piece.text, at)
        assert found >= 0
        at = found + len(piece.text)
        assert piece.source == _SOURCE
        assert not piece.speaker or piece.speaker in text


@given(st.lists(_LINE, max_size=6))
def test_a_signed_message_stays_whole(lines: list[str]) -> None:
    said = Utterance("\n".join(lines), _SOURCE, "Ann")
    assert lines_apart([said]) == [said]


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("Vera: I live here.\nTom: Do you?", ["Vera", "Tom"]),
        ("**Vera:** I live here.\n**Tom:** Do you?", ["Vera", "Tom"]),
        ("纪晚：我怕。\n卫之衡：（小声）别怕！", ["纪晚", "卫之衡"]),
        ("Vera: I live here.", []),
        ("Note: I like it.\nWarning: you must.", []),
        ("Kyoto: temples.\nOsaka: food.", []),
        ("Lirael: 14\nThokk: 9", []),
        ("姓名：张三\n年龄：我不说\n职业：你猜？", []),
    ],
)
def test_speaker_labels_are_recognised(text: str, who: list[str]) -> None:
    assert [one.speaker for one in lines_apart([Utterance(text)]) if one.speaker] == who
