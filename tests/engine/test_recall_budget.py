"""Recall within a budget: what is asked for fills it, and the best answer is there at any size."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import backscroll
from backscroll.engine.engine import Engine
from backscroll.engine.thread import Thread
from backscroll.llm.tokens.tokens import tokenizer_for

SMALL = 64  # tokens from which on the best answer has to be there
ANSWER = (
    "上次我们商量好了，外婆的寿宴定在十月十二号晚上六点，地点是临江路的福满楼二楼牡丹厅，一共订了五桌。"
    "菜单里不要放花生，因为小舅对花生过敏；蛋糕由我去城西那家老店取，要写“福如东海”四个字。"
)
LONG = " ".join(
    [
        *(f"The warehouse in row {n} was swept and the lights were checked." for n in range(40)),
        "The spare key of the boiler room hangs behind the blue calendar in the office.",
        *(f"Pallet {n} went out on time and nobody complained." for n in range(40)),
    ]
)
HINDI = "।".join(
    [
        *(f"गोदाम की पंक्ति {n} साफ़ की गई" for n in range(12)),
        "छत की चाबी नीले डिब्बे में है",
        *(f"ट्रक {n} समय पर निकला" for n in range(12)),
    ]
)
QUESTIONS = {
    "外婆的寿宴定在什么时候，在哪里办？": ("寿宴", "zh"),
    "Where is the spare key of the boiler room?": ("boiler", "en"),
    "छत की चाबी कहाँ है": ("चाबी", "hi"),
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A store in a file, for all tests here: nothing is changed after it is written."""
    with backscroll.open(tmp_path_factory.mktemp("budget") / "a.db", background=False) as opened:
        yield opened


@pytest.fixture(scope="module")
def threads(engine: Engine) -> dict[str, Thread]:
    """For each language an answer among small talk."""
    out: dict[str, Thread] = {}
    for name, answer in (("zh", ANSWER), ("en", LONG), ("hi", HINDI)):
        thread = out[name] = engine.create(name)
        for number in range(12):
            thread.append("user", f"Tell me about garden number {number}.")
            thread.append("assistant", f"Garden {number} has tulips, roses and a pond with {number} fish.")
            thread.append("user", f"今天第{number}次浇花，天气不错。")
        thread.append("user", answer)
        for number in range(12):
            thread.append("user", f"把第{number}盆花搬到阳台上。")
            thread.append("assistant", f"Pot {number} stands on the balcony now.")
    return out


count = tokenizer_for("").count


def shows(text: str, whole: str, size: int = 10) -> bool:
    """True where a stretch of so many characters of a message stands in a text."""
    return any(whole[i : i + size] in text for i in range(len(whole) - size + 1))


@pytest.mark.parametrize("budget", range(100, 301, 20))
def test_paragraph_without_spaces_is_shown_at_small_budgets(threads: dict[str, Thread], budget: int) -> None:
    """It was the best by far, and no item for want of white space behind its stops."""
    found = threads["zh"].recall("外婆的寿宴定在什么时候，在哪里办？", budget)
    assert found.items[0].text in ANSWER or shows(found.items[0].text, ANSWER)
    assert "寿宴" in found.text
    assert count(found.text) <= budget


@given(question=st.sampled_from(sorted(QUESTIONS)), small=st.integers(1, 1200), more=st.integers(0, 2500))
@settings(deadline=None, max_examples=60)
def test_the_best_answer_is_there_at_any_budget(
    threads: dict[str, Thread], question: str, small: int, more: int
) -> None:
    """Whole or as an excerpt; the text never costs more than the budget; more room never loses it."""
    term, language = QUESTIONS[question]
    thread = threads[language]
    less, greater = thread.recall(question, small), thread.recall(question, small + more)
    for found, budget in ((less, small), (greater, small + more)):
        assert found.tokens == (count(found.text) if found.text else 0)
        assert found.tokens <= budget
        if budget >= SMALL:
            assert term in found.text, (budget, found.text)
            assert term in found.items[0].text
    if less.items:
        assert greater.items[0].message == less.items[0].message


@pytest.mark.parametrize("question", QUESTIONS)
def test_other_messages_do_not_replace_the_best_answer(threads: dict[str, Thread], question: str) -> None:
    """If not even an excerpt of the best answer fits, nothing is shown."""
    thread = threads[QUESTIONS[question][1]]
    best = thread.recall(question, 1000).items[0].message
    found = [thread.recall(question, budget) for budget in range(1, SMALL)]
    assert {each.items[0].message for each in found if each.items} == {best}
    assert any(not each.items for each in found)


def test_explicit_recall_fills_its_budget(threads: dict[str, Thread]) -> None:
    """Relevance cut-offs apply only to automatic recall."""
    thread = threads["en"]
    every = sum(count(message.text) for message in thread.messages())
    found = thread.recall("Where is the spare key of the boiler room?", 1000)
    assert 850 <= found.tokens <= 1000
    assert thread.recall("Where is the spare key of the boiler room?", 3 * every).tokens > every * 0.7


def test_recall_shows_each_date_once(engine: Engine) -> None:
    """The first line of a day has its date, that of a year the year; the others do not pay for it again."""
    thread = engine.create("Days")
    for day in (3, 5):
        for number in range(3):
            thread.append(
                "user", f"Ferry number {number} left on day {day}.", at=f"2026-03-0{day}T10:0{number}:00Z"
            )
    text = thread.recall("Which ferries left?", 500).text
    assert text.count("2026-03-03") == 1
    assert text.count("2026") == 1
    assert text.count("03-05") == 1
    assert text.count("Ferry number") == 6


@pytest.fixture(scope="module")
def ferries(engine: Engine) -> Thread:
    """Many short messages."""
    thread = engine.create("Ferries")
    for number in range(300):
        thread.append("user", f"Ferry {number} left for {'Oslo Riga Turku Kiel'.split()[number % 4]}.")
    return thread


@given(budget=st.integers(128, 2500))
@settings(deadline=None, max_examples=25)
def test_short_messages_cost_little_more_than_their_words(ferries: Thread, budget: int) -> None:
    """What is shown whole needs no handle, and lines are counted as they stand: in parts they came to more, and room was left."""
    found = ferries.recall("Which ferry left for Oslo?", budget)
    assert budget * 0.97 - 12 <= found.tokens <= budget
    assert all(item.whole for item in found.items)
    assert "[bs:" not in found.text


@pytest.mark.parametrize("budget", [90, 160, 400])
def test_recalled_excerpt_has_a_handle(threads: dict[str, Thread], budget: int) -> None:
    """It leads to the rest."""
    thread = threads["en"]
    best = thread.recall("Where is the spare key of the boiler room?", budget)
    cut = [item for item in best.items if not item.whole]
    assert cut
    for item in cut:
        assert f"{item.handle} {item.speaker}" in best.text
        assert thread.expand(item.handle)[0].text != item.text
