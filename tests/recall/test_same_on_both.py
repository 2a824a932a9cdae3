"""Both stores answer alike: the examples of the query tests, and random ones, on real servers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.errors import InvalidInput
from backscroll.recall.question.query import Query, parse_query
from backscroll.recall.text.words import index_words, tsvector_of
from tests.recall.test_query import FINDS, MISSES, Table

psycopg = pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")


@pytest.fixture(scope="module")
def server(postgres_url: str) -> Iterator[Any]:
    """A connection to a real PostgreSQL."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection


def finds(server: Any, text: str, query: Query) -> bool:
    row = server.execute(
        "SELECT %s::tsvector @@ %s::tsquery", (tsvector_of(index_words(text)), query.to_tsquery())
    ).fetchone()
    return bool(row[0])


@pytest.mark.parametrize(("text", "query"), FINDS)
def test_postgres_finds(server: Any, text: str, query: str) -> None:
    """What FTS5 finds, PostgreSQL finds."""
    assert finds(server, text, parse_query(query))


@pytest.mark.parametrize(("text", "query"), MISSES)
def test_postgres_misses(server: Any, text: str, query: str) -> None:
    """What FTS5 does not find, PostgreSQL does not find."""
    assert not finds(server, text, parse_query(query))


WORDS = st.text(alphabet="ab猫小犬 \"“”「」*-－()OR或:'\\&|!<>é\0X", max_size=40)


@settings(max_examples=200)
@given(WORDS | st.text(max_size=60), WORDS | st.text(max_size=20))
def test_both_agree(server: Any, text: str, query: str) -> None:
    """Any query on any text gets the same answer from both, strict or relaxed, and never a syntax error."""
    try:
        strict = parse_query(query)
    except InvalidInput:
        return
    table = Table()
    for each in (strict, strict.relax()):
        assert finds(server, text, each) == table.finds(text, each.to_fts5())
    table.db.close()


@pytest.mark.parametrize("word", ["{:05x}", "{:x}", "{:x}é", "猫{:x}犬", "{:064x}"])
def test_very_long_text_fits_a_tsvector(server: Any, word: str) -> None:
    """A million characters of different words are accepted, and words near the beginning are found."""
    text = " ".join(word.format(n) for n in range(200_000))
    assert finds(server, text, parse_query(word.format(15)))
