"""Whether anything relates to a question, who is meant, and what a message asks for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import backscroll
from backscroll.engine.engine import Engine
from backscroll.engine.thread import Thread
from backscroll.recall.clues import measure
from backscroll.recall.index.candidate import Candidate, addressed_in, is_idle, prepare
from backscroll.recall.index.index import RecallIndex
from backscroll.recall.question.analysis import needs_past, understand
from backscroll.recall.selection import spread

TODAY = date(2026, 11, 16)
ENGLISH = (
    ("I started a new job at the harbour office last week.", "Congratulations! How is it going?"),
    ("Fine. My desk looks over the river, and I cycle to work.", "That sounds lovely."),
    (
        "We need to move the backup to 3 a.m., it collides with the export.",
        "I changed the schedule to 03:00.",
    ),
    ("My sister Anna visits in June.", "I will remind you to book the restaurant."),
    ("Staging listens on port 8443.", "Noted."),
    ("I am allergic to peanuts.", "I will keep that in mind."),
)
CHINESE = (
    ("我上周开始在港务局上班。", "恭喜！感觉怎么样？"),
    ("还不错，骑车二十分钟就到。", "听起来很方便。"),
    ("备份改到凌晨三点吧，和导出撞车了。", "已经改到三点。"),
    ("我妹妹六月要来看我。", "到时候提醒你订餐厅。"),
    ("测试环境监听8443端口。", "记下了。"),
    ("我对花生过敏。", "好的，我会注意。"),
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A store in a file, for all tests here."""
    with backscroll.open(tmp_path_factory.mktemp("about") / "a.db", background=False) as opened:
        yield opened


@pytest.fixture(scope="module")
def threads(engine: Engine) -> dict[str, Thread]:
    """The same small talk in two languages."""
    out = {"en": engine.create("en"), "zh": engine.create("zh")}
    for name, talk in (("en", ENGLISH), ("zh", CHINESE)):
        for said, answered in talk:
            out[name].append("user", said)
            out[name].append("assistant", answered)
    return out


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("en", "What is my dog called?"),
        ("en", "What is my cat's name?"),
        ("en", "Who won the world cup?"),
        ("zh", "我的狗叫什么名字？"),
        ("zh", "谁赢了世界杯？"),
        ("zh", "我的猫几岁了？"),
    ],
)
def test_unknown_subject_is_reported(threads: dict[str, Thread], language: str, question: str) -> None:
    """No items, and one sentence in the language of the question."""
    found = threads[language].recall(question, 500)
    assert found.items == ()
    assert (
        found.text
        == {"en": "Nothing earlier in this record is about this.", "zh": "先前的记录里没有与此有关的内容。"}[
            language
        ]
    )
    assert found.looked_at == 12
    assert threads[language].recall(question, 2).text == ""


@pytest.mark.parametrize(
    ("language", "question", "answer"),
    [
        ("en", "What is my sister called?", "Anna"),
        ("en", "Which port?", "8443"),
        ("en", "What can't I eat?", "peanuts"),
        ("en", "What did we talk about last week?", ""),
        ("en", "我妹妹什么时候来？", "June"),
        ("en", "哪个端口？", "8443"),
        ("zh", "我妹妹什么时候来？", "六月"),
        ("zh", "我不能吃什么？", "花生"),
        ("zh", "Which port does staging use?", "8443"),
        ("zh", "What is my sister doing in June?", "妹妹"),
    ],
)
def test_related_messages_are_found(
    threads: dict[str, Thread], language: str, question: str, answer: str
) -> None:
    """In the same words, in the other language, or by a shared topic."""
    found = threads[language].recall(question, 300)
    assert found.items
    assert answer in found.items[0].text


@pytest.fixture(scope="module")
def market(engine: Engine) -> dict[str, Thread]:
    """Long talk of stalls, in two languages: in so many words something of any question stands somewhere."""
    out = {"en": engine.create("market"), "zh": engine.create("集市")}
    goods = {
        "en": "apples pears bread cheese flowers candles honey wool".split(),
        "zh": "苹果 梨子 面包 奶酪 鲜花 蜡烛 蜂蜜 毛线".split(),
    }
    for number in range(90):
        good = {name: words[number % 8] for name, words in goods.items()}
        out["en"].append(
            "user", f"Stall {number} sells {good['en']}; what they called the best of the market last week."
        )
        out["zh"].append("user", f"{number}号摊位卖{good['zh']}，说是什么上周集市上最好的。")
    return out


@pytest.mark.parametrize(
    ("language", "question", "about"),
    [
        ("en", "What is the captain of the submarine called?", False),
        ("en", "Which antibiotic did the vet prescribe?", False),
        ("en", "Which films did I watch?", False),
        ("en", "Which cathedrals did the pilgrims visit?", False),
        ("en", "Which stall sells honey?", True),
        ("en", "Where can I buy candles?", True),
        ("zh", "潜水艇的船长叫什么？", False),
        ("zh", "兽医开了哪种抗生素？", False),
        ("zh", "我看过哪些电影？", False),
        ("zh", "朝圣者去过哪些大教堂？", False),
        ("zh", "哪个摊位卖蜂蜜？", True),
        ("zh", "蜡烛在哪里买？", True),
    ],
)
def test_common_word_is_not_enough_in_a_long_thread(
    market: dict[str, Thread], language: str, question: str, about: bool
) -> None:
    """A subject never mentioned weighs more than a common word found somewhere."""
    assert bool(market[language].recall(question, 300).items) is about


def test_unknown_words_do_not_all_have_one_vector() -> None:
    """They used to share that of white space."""
    from backscroll.llm.encoders.encoder import encoder_of

    encoder = encoder_of("wordllama")
    assert encoder is not None
    dog, port, blank = encoder.encode(["狗叫", "港务", "　"])
    assert float(dog @ port) < 0.9
    assert not blank.any()


# -- who is meant, what is only a nod ----------------------------------------------------------------------------


def test_name_used_by_the_other_speaker_is_recognised() -> None:
    """ "Thanks, Mel!" twice, and a question about Mel means what Melanie said."""
    index = RecallIndex()
    talk = [
        ("Caroline", "Hey Mel, how was the race?"),
        ("Melanie", "I ran it in two hours."),
        ("Caroline", "Wow, great, Mel!"),
    ]
    index.extend([prepare(Candidate(n, text, who)) for n, (who, text) in enumerate(talk)])
    assert addressed_in("Hi there, Kate! I met Tom.") == ("kate",)
    assert index.speaker_called("mel") == 1
    assert measure(index, understand("When did Mel run?"))["spoke"].tolist() == [-1, 1, -1]


@pytest.mark.parametrize(
    ("text", "idle"),
    [
        ("Yeah .", True),
        ("Okay, thanks!", True),
        ("嗯嗯，好的", True),
        ("谢谢你！", True),
        ("Good morning", True),
        ("Yes, at nine.", False),
        ("好的，周三见", False),
        ("8443", False),
        ("👍", True),
    ],
)
def test_greetings_have_no_terms(text: str, idle: bool) -> None:
    """Only marks are left of them."""
    assert is_idle(text) is idle


@given(st.lists(st.tuples(st.floats(-9, 9), st.integers(0, 3)), min_size=1, max_size=30))
def test_a_list_wants_something_of_every_sitting(texts: list[tuple[float, int]]) -> None:
    """The best of each sitting stays as it is; the others fall, and keep their order within it."""
    values, groups = np.asarray([v for v, _ in texts]), np.asarray([g for _, g in texts])
    fallen = spread(values, groups)
    assert (fallen <= values).all()
    for group in set(groups.tolist()):
        mine = groups == group
        assert fallen[mine].max() == values[mine].max()


# -- what a message asks for -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question",
    [
        "你给我推荐过哪家餐厅？",
        "你给我推荐了一个适合旅游的海滨城市，它是？",
        "我跟你说过我的生日吗",
        "What did I tell you about the rent?",
        "Where did we go last Friday?",
    ],
)
def test_messages_that_refer_to_the_past_need_recall(question: str) -> None:
    """By themselves, whatever the prompt shows."""
    assert needs_past(understand(question, TODAY), now=TODAY).sure


@pytest.mark.parametrize(
    "message",
    [
        "Can you also add a test for the parser?",
        "Please refactor this loop.",
        "How do I reverse a list in Python?",
        "帮我把这个函数改成异步的",
        "经过讨论，用 Rust 重写",
        "thanks!",
        "这个过程太慢了",
        "谢谢，今天就到这里吧。",
        "Thanks, that's all for today.",
    ],
)
def test_plain_requests_do_not_refer_to_the_past(message: str) -> None:
    """It wants something done."""
    assert not needs_past(understand(message, TODAY), now=TODAY).sure


def test_plain_question_gets_what_the_prompt_does_not_show(tmp_path: Path) -> None:
    """It does not refer to the past; a request with the same words gets nothing."""
    with backscroll.open(tmp_path / "a.db", background=False) as opened:
        thread = opened.create("Long")
        thread.append("user", "Deborah recommends the album Still Water for meditation.")
        for number in range(300):
            thread.append("user", f"Row {number} of the inventory is counted, nothing is missing in it.")
            thread.append("assistant", f"Row {number} is written down.")
        asks, wants = thread.fork(), thread.fork()
        asks.append("user", "What album does Deborah recommend for meditation?")
        wants.append("user", "Can you write down the album for meditation?")
        assert "Still Water" in str(asks.prompt(3_000).messages[-1]) + str(asks.prompt(3_000).messages)
        assert "Still Water" not in "".join(
            block.text for block in wants.prompt(3_000).blocks if block.section.name == "RECALLED"
        )


def test_common_words_still_find_their_message(tmp_path: Path) -> None:
    """The right berth is found, though its words are common and "agree" was never said."""
    with backscroll.open(tmp_path / "berths.db", background=False) as store:
        thread = store.create("harbour", kind="agent")
        for number in range(1, 60):
            thread.append("user", f"Please book berth {number} for the vessel number {number * 37}.")
            thread.append("assistant", f"Berth {number} is booked for 40 days. " + "Paid. " * 60)
        thread.append("user", "What did we agree on for berth 7?")
        assert "vessel number 259." in str(thread.prompt(4000).messages)
