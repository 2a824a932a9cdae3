"""A question as topics, and the lines of a long result that contain them."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.recall.index.candidate import Candidate, prepare
from backscroll.recall.index.index import RecallIndex
from backscroll.recall.passages import (
    counterpart_terms,
    find_passages,
    notions_of,
    odds_of_results,
    terms_for,
)
from backscroll.recall.question.analysis import understand

TODAY = date(2026, 11, 15)
NOISE = [f"line {n} of a long listing about nothing in particular" for n in range(30)]
ZH_NOISE = [f"第 {n} 条：按一般规定办理，无需说明" for n in range(30)]


def built(texts: list[str]) -> RecallIndex:
    index = RecallIndex()
    index.extend([prepare(Candidate(n, text, assistant=True)) for n, text in enumerate(texts)])
    return index


def result(lines: list[str], where: int, noise: list[str] = NOISE) -> str:
    return "\n".join([*noise[:where], *lines, *noise[where:]])


PAST = [
    "hello, how are you",
    "read_file input: deploy/staging.yaml",
    result(["gateway:", "  listen port: 18443"], 11),
    "read_file input: 租赁合同.txt",
    result(["每月租金 18600 元，押金为三个月租金"], 20, ZH_NOISE),
    "read_file input: notes.txt",
    result(["the harbour master is called Ines"], 3),
]
CALLED = {2: 1, 4: 3, 6: 5}  # results of tools, and who called for them


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("网关监听哪个端口？", 2),
        ("What port does the gateway listen on?", 2),
        ("What is the monthly rent in the contract?", 4),
        ("每月租金多少？", 4),
        ("How is the harbour master called?", 6),
    ],
)
def test_answering_result_is_raised(question: str, answer: int) -> None:
    """By words of the question or in the other language; no other result is."""
    index, asked = built(PAST), understand(question, TODAY)
    assert list(odds_of_results(index, asked, CALLED)) == [answer]


@pytest.mark.parametrize(
    "question", ["What is the capital of Australia?", "给我讲一个关于狐狸的故事", "Continue.", "?"]
)
def test_other_questions_raise_nothing(question: str) -> None:
    """One common word is not a passage about it."""
    assert odds_of_results(built(PAST), understand(question, TODAY), CALLED) == {}


def test_only_tool_results_are_raised() -> None:
    """Messages of people and models are ranked by the learned weights."""
    assert odds_of_results(built(PAST), understand("网关监听哪个端口？", TODAY), {}) == {}


def test_time_words_are_no_topics() -> None:
    """They say when, not what."""
    notions = notions_of(understand("刚才那个合同里的违约金", TODAY))
    assert {"违约金"} <= set().union(*(n.terms for n in notions))
    assert not {"刚才", "那个"} & set().union(*(n.terms for n in notions))
    assert [n.terms for n in notions_of(understand("what was the port again?", TODAY))] == [{"port"}]


def test_index_terms_are_stems_and_pairs() -> None:
    """English stems and Chinese pairs, as stores index them."""
    assert {"port", "gateway"} <= set(counterpart_terms(understand("网关的端口", TODAY)))
    assert {"数据", "据库"} <= set(counterpart_terms(understand("which database?", TODAY)))


words = st.sampled_from(
    [
        "port",
        "gateway",
        "数据库",
        "超时",
        "rent",
        "contract",
        "fox",
        "租金",
        "8443",
        "cfg_a",
        "。",
        "\n",
        "error",
        "错误",
    ]
)
texts = st.lists(words, max_size=30).map(" ".join)


@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), texts), max_size=8), texts, st.data()
)
@settings(max_examples=150, deadline=None)
def test_whatever_is_asked(past: list[tuple[str, str]], question: str, data: st.DataObject) -> None:
    """Only results rise, shares are shares, and an index that grew gives what one built at once gives."""
    asked = understand(question, TODAY)
    said = [text for _, text in past]
    roles = [role for role, _ in past]
    index = built(said)
    among = {n: None for n, role in enumerate(roles) if role == "tool"}
    lifted = odds_of_results(index, asked, among)
    assert set(lifted) <= set(among)
    notions = notions_of(asked)
    for number, passage in find_passages(index, notions, among).items():
        assert 0 < passage.share <= 1 + 1e-9
        assert 1 <= passage.notions <= len(notions)
        assert set(terms_for(notions)) & {*index.texts[number].words, *index.texts[number].pairs}
    half = data.draw(st.integers(0, len(past)))
    grown = built(said[:half])
    grown.extend([prepare(Candidate(n, said[n], assistant=True)) for n in range(half, len(said))])
    assert odds_of_results(grown, asked, among) == lifted
