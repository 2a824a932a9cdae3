"""The bilingual word table, and what is found by it."""

from __future__ import annotations

import tomllib
from importlib.resources import files

from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.recall.question.counterparts import chinese_of, counterparts, english_of
from backscroll.recall.text.terms import terms_of

TABLE = counterparts()


def test_every_line_of_the_table_is_used() -> None:
    """Each Chinese word has an English counterpart with letters, and each of those leads back."""
    text = files("backscroll.recall").joinpath("counterparts.toml").read_text(encoding="utf-8")
    lines = [line for part in tomllib.loads(text).values() for line in str(part).strip().split("\n")]
    words = [word for line in lines for word in line.partition(" = ")[0].split()]
    assert len(lines) > 800
    assert all(word in TABLE.english for word in words)
    assert len(words) == len(set(words)), sorted(w for w in set(words) if words.count(w) > 1)
    for word, found in TABLE.english.items():
        assert found
        assert all(word in TABLE.chinese[stems] for stems in found)
        assert word.isalpha(), word
        assert not word.isascii(), word


def test_longest_word_wins() -> None:
    """数据库 is a database, not data; an English phrase is looked up as one."""
    assert [word for word, _ in english_of("数据库连接池的超时")] == ["数据库", "连接池", "超时"]
    assert dict(english_of("端口"))["端口"] == (("port",),)
    found = dict(chinese_of(terms_of("the phone numbers and the databases")[0]))
    assert "电话号码" in found["phone", "number"]
    assert found[("databas",)] == ("数据库",)


@given(st.text(max_size=60) | st.lists(st.sampled_from(sorted(TABLE.english)), max_size=8).map("".join))
@settings(max_examples=200, deadline=None)
def test_counterparts_are_those_of_the_table(text: str) -> None:
    """For any text."""
    for word, found in english_of(text):
        assert found == TABLE.english[word]
        assert word in text
    stems = terms_of(text)[0]
    for phrase, chinese in chinese_of(stems):
        assert set(phrase) <= set(stems)
        assert chinese == TABLE.chinese[phrase]
