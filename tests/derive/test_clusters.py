"""Texts that say nearly the same are found, in either language, always in the same way."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backscroll.derive.essence.clusters import clusters, likeness, pieces


def test_similar_texts_form_one_group() -> None:
    """Word endings and a few different words do not matter."""
    texts = [
        "Please implement the login form for the shop",
        "数据库连接失败，请检查端口配置",
        "The login form of the shop was implemented",
        "The weather is fine today",
        "请检查端口配置，数据库连接失败了",
    ]
    assert clusters(texts) == [[0, 2], [1, 4], [3]]


@given(st.lists(st.text(max_size=40), max_size=30))
def test_every_text_is_in_exactly_one_group(texts: list[str]) -> None:
    groups = clusters(texts)
    assert sorted(i for group in groups for i in group) == list(range(len(texts)))
    assert [group[0] for group in groups] == sorted(group[0] for group in groups)


@given(st.text(max_size=60), st.text(max_size=60))
def test_likeness_is_the_same_both_ways(one: str, other: str) -> None:
    assert likeness(pieces(one), pieces(other)) == likeness(pieces(other), pieces(one)) <= 1


def test_short_text_is_not_like_a_long_one_containing_it() -> None:
    """A short text inside a long one does not say the same."""
    page = "alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima"
    assert likeness(pieces("alpha bravo"), pieces(page)) < 0.5
