"""Where a new task or topic starts: scores, reasons and the effect of explicit words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.errors import InvalidInput
from backscroll.tasks.boundary.detector import THRESHOLD, BoundaryScore, Detector, Signal, suggest
from tests.tasks.builders import Talk

HOUR_US = 3_600_000_000


def scored(*lines: str | Signal) -> list[BoundaryScore]:
    """The scores of a conversation in which the person speaks first and then both in turn."""
    detector = Detector()
    signals = [
        line if isinstance(line, Signal) else Signal("assistant" if n % 2 else "user", line)
        for n, line in enumerate(lines)
    ]
    return [detector.step(signal) for signal in signals]


TRIP = (
    "Hi, I need a quiet hotel near the station for two nights.",
    "The Linden has rooms from Friday on. Shall I book one?",
    "Yes, please book it.",
    "Your room at the Linden is booked. Is there anything else I can help you with?",
)
REISE_ZH = (
    "你好，帮我找一家安静的酒店，住两晚。",
    "为您推荐椴树酒店，周五起有房。",
    "这家酒店有早餐吗？",
    "有的，早餐七点开始。",
)


def test_new_request_after_a_settled_one_is_a_boundary_in_english() -> None:
    *_, last = scored(*TRIP, "I also need a doctor for my knee. Can you find me a good one in town?")
    assert last.value > THRESHOLD


def test_new_request_after_a_settled_one_is_a_boundary_in_chinese() -> None:
    *_, last = scored(*REISE_ZH, "好的。另外我想找个评分高的景点玩，请帮我推荐一个吧。")
    assert last.value > THRESHOLD


@pytest.mark.parametrize(
    ("before", "text"),
    [
        (TRIP[:3], "Is breakfast included?"),
        (TRIP[:2], "Yes, that one."),
        (REISE_ZH[:2], "它的电话是多少？"),
        (REISE_ZH[:2], "好的，就这家。"),
    ],
)
def test_continuing_the_same_subject_is_no_boundary(before: tuple[str, ...], text: str) -> None:
    assert scored(*before, text)[-1].value < THRESHOLD


@pytest.mark.parametrize("text", ["Next task: write the release notes.", "换个话题：帮我写一首诗。"])
def test_explicit_start_is_nearly_certain_and_quotes_its_phrase(text: str) -> None:
    last = scored(*TRIP[:2], text)[-1]
    assert last.explicit == "start"
    assert last.value >= 0.8
    assert any(reason.name == "says_start" and reason.detail for reason in last.reasons)


def test_explicit_end_is_no_boundary() -> None:
    last = scored(*TRIP[:2], "That's done, thanks!")[-1]
    assert last.explicit == "end"
    assert last.value < THRESHOLD


def test_first_user_message_is_no_boundary() -> None:
    hello = Signal("assistant", "Hello! How can I help you today?")
    scores = scored(hello, Signal("user", "Next task: find me a train to Bern."))
    assert [score.value for score in scores] == [0.0, 0.0]


def test_only_the_user_starts_a_task_where_tools_are_called() -> None:
    """An agent that announces its next step does not start a task."""
    tool = Signal("assistant", "I will look.", tools=("Read",), succeeded=1)
    said = Signal("assistant", "Now let's start a new feature. By the way, do you like cats?")
    scores = scored(Signal("user", "fix the failing login test"), tool, Signal("user", "go on"), said)
    assert scores[-1].value == 0.0


def test_agent_threads_need_more_evidence() -> None:
    wish = "I also need a doctor for my knee. Can you find me a good one in town?"
    plain = scored(*TRIP, wish)[-1]
    tools = Signal("assistant", TRIP[3], tools=("book",), succeeded=1)
    agent = scored(*TRIP[:3], tools, wish)[-1]
    assert agent.value < plain.value
    assert any(reason.name == "agent_thread" and reason.weight < 0 for reason in agent.reasons)


def test_system_tool_and_machine_messages_are_never_boundaries() -> None:
    odd = [
        Signal("system", "Next task: be kind."),
        Signal("tool", "Next task: 42"),
        Signal("user", "<system-reminder>Next task: ...</system-reminder>", machine=True),
    ]
    plain, mixed = scored(*TRIP, TRIP[0]), scored(*TRIP[:2], *odd, *TRIP[2:], TRIP[0])
    # Roles are given by place in `scored`: after three odd ones they must be spelled out.
    roles = ["user", "assistant", "user", "assistant", "user"]
    spelled = [Signal(role, text) for role, text in zip(roles, (*TRIP, TRIP[0]), strict=True)]
    mixed = scored(*spelled[:2], *odd, *spelled[2:])
    assert [s.value for s in mixed[2:5]] == [0.0] * 3
    assert mixed[:2] + mixed[5:] == plain


def test_long_pause_raises_the_score() -> None:
    text = "Can you show me how to cut the hedge?"
    soon = scored(
        Signal("user", TRIP[0], at_us=0), Signal("assistant", TRIP[1], at_us=1), Signal("user", text, at_us=2)
    )
    late = scored(
        Signal("user", TRIP[0], at_us=0),
        Signal("assistant", TRIP[1], at_us=1),
        Signal("user", text, at_us=30 * HOUR_US),
    )
    assert late[-1].value > soon[-1].value


def test_failures_and_shared_files_lower_the_score() -> None:
    ask = Signal("user", "please fix the parser in src/parse.py", files=("src/parse.py",))
    good = Signal("assistant", "Done.", files=("/repo/src/parse.py",), tools=("Edit",), succeeded=4, at_us=0)
    bad = Signal("assistant", "Done.", files=("/repo/src/parse.py",), tools=("Edit",), failed=4, at_us=0)

    def value(step: Signal, file: str) -> float:
        text = f"please add a page about colours to {file}"
        return scored(ask, step, Signal("user", text, files=(file,), at_us=HOUR_US))[-1].value

    same, other, failed = (
        value(good, "src/parse.py"),
        value(good, "docs/colours.md"),
        value(bad, "docs/colours.md"),
    )
    assert same < other
    assert failed < other


def test_remark_that_it_is_done_raises_the_next_score() -> None:
    work = Signal("assistant", "The parser is fixed.", tools=("Edit",), succeeded=2)
    wish = Signal("user", "please add a page about colours to the handbook")
    thanks = Signal("assistant", "Glad to hear it.")

    def value(remark: str) -> float:
        return scored(Signal("user", "fix the parser"), work, Signal("user", remark), thanks, wish)[-1].value

    assert value("That's done, thanks!") > value("I will look at it, thanks!")


def test_adjacent_boundaries_are_rare() -> None:
    wish = "I also need a doctor for my knee. Can you find me a good one in town?"
    names = [r.name for r in scored(*TRIP, wish, "Dr Marti is free on Monday.")[-1].reasons]
    assert (
        "near_boundary" in names or scored(*TRIP, wish, "Dr Marti is free on Monday.")[-1].value < THRESHOLD
    )


def test_reasons_are_ordered_by_weight() -> None:
    last = scored(*TRIP, "By the way, do you know a good doctor?")[-1]
    sizes = [abs(reason.weight) for reason in last.reasons]
    assert sizes == sorted(sizes, reverse=True)
    assert 0 < len(sizes) <= 6


HELP = (
    "How do I read a CSV file in Python?",
    "Use the csv module: open the file with newline='' and pass it to csv.DictReader, which gives one dictionary for each row.",
)
HILFE_ZH = (
    "帮我给外婆写一首八十岁生日的短诗。",
    "八十春秋如画卷，一针一线暖心田。儿孙绕膝笑声满，福寿安康乐永年。",
)


@pytest.mark.parametrize(
    ("before", "text"),
    [
        (HELP, "How do I read a CSV file in Python?"),
        (HELP, "Can you show me that as a table?"),
        (HELP, "are you sure?"),
        (HELP, "why?"),
        (HELP, "and with a semicolon"),
        (HILFE_ZH, "帮我给外婆写一首八十岁生日的短诗。"),
        (HILFE_ZH, "太正式了，再改改"),
        (HILFE_ZH, "再来一首"),
        (HILFE_ZH, "把桂花写进去"),
    ],
)
def test_wording_alone_never_decides(before: tuple[str, str], text: str) -> None:
    """The same question again, a doubt, another form of the answer: the subject stays, in any number of rounds."""
    for score in scored(*before, text, before[1], text, before[1], text)[2::2]:
        assert score.value < THRESHOLD


@pytest.mark.parametrize(
    ("text", "explicit", "ended"),
    [
        ("That's done. Let's start on the login page.", "start", True),
        ("这个做完了，接下来做登录页。", "start", True),
        ("这个任务完成了", "end", True),
        ("让我们开始新的功能", "start", False),
        ("重新开始一个项目", "start", False),
        ("Looks good. Next up: the invoices have no VAT number.", "start", False),
        ("把已经完成了的任务导出成表格", "", False),
        ("Export everything that is done as a table.", "", False),
        ("list the tasks that are done", "", False),
    ],
)
def test_message_may_end_and_start_a_task(text: str, explicit: str, ended: bool) -> None:
    """A task merely called done ends nothing."""
    last = scored("The sidebar overlaps the text on small screens.", "It is a drawer now.", text)[-1]
    assert (last.explicit, last.ended) == (explicit, ended)
    assert (last.value > THRESHOLD) == (explicit == "start")


TALK = st.lists(
    st.builds(
        Signal,
        role=st.sampled_from(["user", "assistant", "tool", "system", "odd"]),
        text=st.text(alphabet=st.characters(codec=None), max_size=80)
        | st.sampled_from([*TRIP, *REISE_ZH, "next task: x", "谢谢", ""]),
        at_us=st.none() | st.integers(-(10**18), 10**18),
        files=st.lists(st.sampled_from(["a.py", "b/c.md", "\\", "/"]), max_size=2).map(tuple),
        succeeded=st.integers(0, 5),
        failed=st.integers(0, 5),
        tools=st.lists(st.just("Bash"), max_size=2).map(tuple),
    ),
    max_size=8,
)


@given(TALK, st.integers(0, 8))
@settings(max_examples=40)
def test_any_conversation_is_scored_the_same_twice_and_without_looking_ahead(
    talk: list[Signal], cut: int
) -> None:
    """Scores lie between 0 and 1; those of a beginning do not depend on what follows."""
    whole = scored(*talk)
    assert all(0.0 <= score.value <= 1.0 for score in whole)
    assert scored(*talk[:cut]) == whole[:cut]


@given(TALK, st.sampled_from([*TRIP[::2], *REISE_ZH[::2], HELP[0], HILFE_ZH[0]]), st.integers(1, 4))
@settings(max_examples=40)
def test_the_same_words_again_start_nothing(talk: list[Signal], text: str, times: int) -> None:
    """However often a person repeats a message without words that open a subject, it starts a task at most once."""
    rounds = [Signal("user", text), Signal("assistant", "Here it is.")] * times
    again = scored(*talk, Signal("user", text), Signal("assistant", "Here it is."), *rounds)[len(talk) + 2 :]
    assert all(score.value < THRESHOLD for score in again)


def test_suggestions_name_messages_of_the_thread() -> None:
    talk = Talk()
    for n, text in enumerate((*TRIP, "Next task: write a poem about rain.")):
        talk.say("assistant" if n % 2 else "user", text)
    found = suggest(talk.messages)
    assert [b.message for b in found] == [talk.messages[-1].id]
    assert found[0].explicit == "start"
    assert suggest(talk.messages, threshold=1.0) == []


@pytest.mark.parametrize("threshold", [-0.1, 1.5, float("nan")])
def test_threshold_outside_its_range_is_refused(threshold: float) -> None:
    with pytest.raises(InvalidInput, match="threshold"):
        suggest([], threshold=threshold)
