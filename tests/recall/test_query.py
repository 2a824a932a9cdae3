"""Queries become expressions that a real FTS5 table accepts and that find the right texts."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backscroll.errors import InvalidInput
from backscroll.recall.question.query import MOST_TERMS, QueryPhrase, parse_query
from backscroll.recall.text.words import FTS5_TOKENIZER, index_words, normalize_text, runs_of


class Table:
    """A real FTS5 table in memory."""

    def __init__(self) -> None:
        self.db = sqlite3.connect(":memory:")
        self.db.execute(f"CREATE VIRTUAL TABLE t USING fts5(words, tokenize='{FTS5_TOKENIZER}')")

    def finds(self, text: str, expression: str) -> bool:
        self.db.execute("DELETE FROM t")
        self.db.execute("INSERT INTO t VALUES (?)", (index_words(text),))
        return bool(self.db.execute("SELECT 1 FROM t WHERE t MATCH ?", (expression,)).fetchall())


@pytest.fixture(scope="module")
def table() -> Iterator[Table]:
    """One table for all tests of this module."""
    made = Table()
    yield made
    made.db.close()


def found(table: Table, text: str, query: str) -> bool:
    return table.finds(text, parse_query(query).to_fts5())


FINDS = [
    ("The dogs were running", "dog run"),
    ("The dogs were running", '"dogs were"'),
    ("The dogs were running", "RUNS"),
    ("The dogs were running", "cat OR dog"),
    ("The dogs were running", "cat 或 dog"),
    ("The dogs were running", "runn*"),
    ("The dogs were running", "runnin*"),
    ("The dogs were running", "do*"),
    ("The dogs were running", '"the dogs w"*'),
    ("The dogs were running", "dog -cat"),
    ("The dogs were running", "dog AND run"),
    ("we are happy", "happy*"),
    ("two cities", "citie*"),
    ("call getUserName() here", "getusername"),
    ("call getUserName() here", "getUserName"),
    ("call getUserName() here", "get_user_name"),
    ("call getUserName() here", "getUserN*"),
    ("call getUserName() here", "user"),
    ("call getUserName() here", '"call getUserName here"'),
    ("call get_user_name() here", "getUserName"),
    ("call get_user_name() here", "getUserNa*"),
    ("call getusername() here", "getUserName"),
    ("call getusername() here", '"call getUserName"'),
    ("the -rf flag", "--rf"),
    ("Café crème", "cafe creme"),
    ("cafe creme", "CAFÉ"),
    ("ＦＵＬＬ width", "full"),
    ("一只小猫咪在睡觉", "猫"),
    ("一只小猫咪在睡觉", "小猫"),
    ("一只小猫咪在睡觉", "小猫咪在"),
    ("一只小猫咪在睡觉", "睡觉 小猫"),
    ("一只小猫咪在睡觉", "觉"),
    ("一只小猫，白色的", "「小猫，白」"),
    ("一只小猫，白色的", "“小猫 白色”"),
    ("我用Python写代码", "用Python写代"),
    ("我用Python写代码", "python 代码"),
    ("我用Python写代码", "Python写"),
    ("日本語のテキスト", "『語のテ』"),
    ("한국어 검색", "국어"),
    ("ภาษาไทย", "ษาไ"),
    ("𠀀𠀁𠀂 rare", "𠀁𠀂"),
    ("Война и мир", "мир"),
    ("العَرَبِيَّة", "العربية"),
    ("हिन्दी में", "हिन्दी"),
    ("to be OR not", "OR"),
    ("rock AND roll", "AND"),
    ('she said "hi', '"hi'),
]

MISSES = [
    ("The dogs were running", "dog cat"),
    ("The dogs were running", '"were dogs"'),
    ("The dogs were running", "dog -running"),
    ("The dogs were running", 'dog -"dogs were"'),
    ("The dogs were running", "dog －running"),
    ("The dogs were running", "og*"),
    ("The dogs were running", "ran"),
    ("一只小猫咪在睡觉", "猫小"),
    ("一只小猫咪在睡觉", "小咪"),
    ("一只小猫咪在睡觉", "小猫 -睡"),
    ("猫 hello", "猫咪"),
]


@pytest.mark.parametrize(("text", "query"), FINDS)
def test_query_finds_the_text(table: Table, text: str, query: str) -> None:
    """For each pair of query and text."""
    assert found(table, text, query)


@pytest.mark.parametrize(("text", "query"), MISSES)
def test_query_misses_the_text(table: Table, text: str, query: str) -> None:
    """For each pair of query and text."""
    assert not found(table, text, query)


@pytest.mark.parametrize("query", ["", "   ", "🙂 🙃", '"', "*", "-", "()", "\0", '""', "- - *"])
def test_query_without_words_is_refused_with_a_hint(query: str) -> None:
    """The error says what to type."""
    with pytest.raises(InvalidInput) as caught:
        parse_query(query)
    assert "word" in caught.value.hint


def test_query_of_exclusions_only_is_refused_with_a_hint() -> None:
    """With an error of its own."""
    with pytest.raises(InvalidInput, match="only exclusions"):
        parse_query('-foo -"bar baz"')


def test_expression_is_quoted_and_parenthesised() -> None:
    """Groups, alternatives and exclusions, for both stores."""
    query = parse_query('cat OR dog "big house" -fish -"red car" tre*')
    assert query.to_fts5() == ('(("cat" OR "dog") AND "big hous" AND "tre" *) NOT ("fish" OR "red car")')
    assert query.to_tsquery() == (
        "('cat' | 'dog') & ('big' <-> 'hous') & 'tre':* & !'fish' & !('red' <-> 'car')"
    )


def test_single_trailing_character_of_a_phrase_is_dropped() -> None:
    """Inside a phrase it is kept, since the index has it; at the end the run may continue."""
    assert parse_query("小猫咪").terms[0].phrases == (QueryPhrase(("小猫", "猫咪")),)
    assert parse_query("猫").terms[0].phrases == (QueryPhrase(("猫",), prefix=True),)
    assert parse_query('"小猫 cat"').terms[0].phrases == (QueryPhrase(("小猫", "猫", "cat")),)


def test_relaxed_query_matches_any_term(table: Table) -> None:
    """And still respects exclusions."""
    strict = parse_query("dogs 今天天气 -snow")
    relaxed = strict.relax()
    assert not table.finds("a dog", strict.to_fts5())
    assert table.finds("a dog", relaxed.to_fts5())
    assert table.finds("天气很好", relaxed.to_fts5())
    assert not table.finds("a dog in the snow", relaxed.to_fts5())
    assert relaxed.relax().to_fts5() == relaxed.to_fts5()


def test_pasted_page_is_a_valid_query(table: Table) -> None:
    """Thousands of words make an expression of bounded size that FTS5 accepts."""
    page = " ".join(f"word{n}" for n in range(5000))
    query = parse_query(page)
    assert len(query.terms) == MOST_TERMS
    assert table.finds(page, query.to_fts5())
    assert table.finds("word7", query.relax().to_fts5())
    long_or = parse_query(" OR ".join(page.split()))
    assert table.finds("word7", long_or.to_fts5())
    assert table.finds("x", parse_query("x " + " ".join(f"-a{n}" for n in range(5000))).to_fts5())


@given(st.text(max_size=60) | st.text(alphabet="ab猫小 \"“”「」*-－()ORAND或:^+{}\\'\0", max_size=40))
@example('"foo" * NEAR(a b) col:x ^y {z}')
@example("\ud800'\\")
def test_no_input_is_a_syntax_error(text: str) -> None:
    """Whatever is typed either is refused or is an expression that FTS5 accepts."""
    table = Table()
    try:
        query = parse_query(text)
    except InvalidInput:
        return
    for each in (query, query.relax()):
        table.finds("some text 小猫", each.to_fts5())
        assert not re.search(r"['\\]", re.sub(r"'[^'\\ ]+'", "", each.to_tsquery()))
    table.db.close()


HAN = st.text(alphabet=st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=1, max_size=12)
BEYOND = st.text(alphabet=st.characters(min_codepoint=0x20000, max_codepoint=0x2A6DF), min_size=1, max_size=6)
KANA = st.text(alphabet="あいうえおかきアイウエオー한국어검색", min_size=1, max_size=12)
ANY = st.lists(st.text(max_size=10) | HAN | BEYOND | KANA, max_size=6).map("".join)


@given(ANY, HAN | KANA | BEYOND, ANY, st.data())
def test_any_two_characters_in_a_row_are_found(
    before: str, run: str, after: str, data: st.DataObject
) -> None:
    """A query of any part of unspaced script finds the text, wherever the part stands."""
    start = data.draw(st.integers(0, len(run) - 1))
    part = run[start : data.draw(st.integers(start + 1, len(run)))]
    table = Table()
    assert found(table, before + " " + run + " " + after, part)
    assert found(table, before + " " + run + " " + after, f'"{part}"')
    table.db.close()


@given(st.text(max_size=80), st.data())
@example("getUserName XMLHttpRequest İstanbul ﬁne Straße ǅ ½", None)
def test_any_word_is_found(text: str, data: st.DataObject | None) -> None:
    """Each word of a text, as it stands there, finds the text; so does its beginning."""
    words = runs_of(normalize_text(text))
    table = Table()
    for word in words if data is None else [data.draw(st.sampled_from(words))] if words else []:
        assert found(table, text, f'"{word}"')
        assert found(table, text, word)
        assert found(table, text, word + "*")
    table.db.close()
