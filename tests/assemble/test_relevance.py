"""How much old text has to do with the task at hand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backscroll.assemble.compaction.crop import relevance

PARSER = "the parser in parser.py fails on empty input"
WEATHER = "the weather was nice in June"
TASK = "please mend the parser in parser.py so that empty input works"


def test_shared_words_make_a_text_relevant() -> None:
    assert relevance(TASK, [PARSER]) > 0.4
    assert relevance(TASK, [PARSER]) > 2 * relevance(TASK, [WEATHER])


def test_identical_text_has_relevance_one() -> None:
    assert relevance(TASK, [TASK]) == 1.0


def test_empty_texts_have_no_relevance() -> None:
    """No task, no texts, only punctuation: no relevance, and no error."""
    assert relevance("", [PARSER]) == 0.0
    assert relevance(TASK, []) == 0.0
    assert relevance("…!?", [PARSER]) == 0.0
    assert relevance(TASK, ["", "  "]) == 0.0


def test_chinese_text_is_segmented() -> None:
    """Words are found without spaces between them."""
    task = "把座钟的秘密写出来"
    assert relevance(task, ["墙上的老座钟敲了一下，这是它的秘密"]) > relevance(task, ["外婆家的柿子树结果了"])


def test_names_and_numbers_weigh_more_than_other_words() -> None:
    task = "deploy port 8443 tomorrow"
    assert relevance(task, ["it listens on 8443"]) > relevance(task, ["we meet tomorrow"])


def test_word_forms_match() -> None:
    assert relevance("fix the parsers", ["a parser was fixed"]) > 0.4


@given(st.text(max_size=80), st.lists(st.text(max_size=80), max_size=4), st.text(max_size=80))
def test_a_share_is_a_share(task: str, texts: list[str], more: str) -> None:
    """Between 0 and 1 in any script; more text never makes it less, the order is nothing, and the task itself makes it whole."""
    share = relevance(task, texts)
    assert 0.0 <= share <= 1.0
    assert relevance(task, texts[::-1]) == share
    assert relevance(task, [*texts, more]) >= share
    assert relevance(task, [*texts, task]) == relevance(task, [task])
    assert relevance(task, [task]) in (0.0, 1.0)


@given(st.lists(st.sampled_from(["harbour", "zone", "tide", "8443"]), min_size=1, max_size=4))
def test_what_holds_everything_is_wholly_relevant(words: list[str]) -> None:
    assert relevance(" ".join(words), ["harbour zone tide 8443"]) == 1.0
