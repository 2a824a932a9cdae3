"""Words of Chinese text: what the word cutter takes for a name is cut again where it is none, or has a verb at its edge."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.derive.extract.zh.words import normal, words_of


@pytest.mark.parametrize(
    ("text", "name", "rest"),
    [
        ("艾莉住在银林。", "艾莉", "住"),
        ("艾莉带着一盏灯笼。", "艾莉", "带"),
        ("艾莉的哥哥叫托兰。", "托兰", "叫"),
        ("我的妹妹叫小芳。", "小芳", "叫"),
    ],
)
def test_verb_is_separated_from_a_name(text: str, name: str, rest: str) -> None:
    """The name is alone, and the verb beside it."""
    words = {word.text: word.tag for word in words_of(text)}
    assert words[name] == "nr"
    assert rest in words


def test_gege_is_a_common_noun() -> None:
    """The cutter's dictionary calls 哥哥 a place; it is an ordinary noun."""
    assert [word.tag for word in words_of("她的哥哥来了") if word.text == "哥哥"] == ["n"]


@given(st.text(max_size=60))
def test_every_sign_stays_in_its_place(text: str) -> None:
    """Cut and cut again, the words are the text, each where it says."""
    plain = normal(text)
    words = words_of(plain)
    assert "".join(word.text for word in words) == plain
    assert all(plain[word.start : word.end] == word.text for word in words)
