"""Nothing important silently vanishes: what is planted in a conversation is found at every level of compression."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.derive.essence.essentials import EssentialKind
from backscroll.derive.essence.sentences import rough_count
from backscroll.derive.summaries.account import account
from backscroll.derive.summaries.composition import flat
from backscroll.derive.summaries.gist import Gist, gist_messages
from backscroll.derive.summaries.spans import cut, rank
from backscroll.derive.summaries.summary import limit_of, summarise, summarise_messages
from backscroll.derive.summaries.tuning import LIMIT, TOP_LIMIT
from tests.derive.planted import SENTENCES, Plant, Talk, plantings, sown, wanted


def pieces_of(talk: Talk) -> list[Gist]:
    """The gists of a conversation, cut as the tree cuts it."""
    return [gist_messages(run) for run in cut(talk.messages, lambda m: rank(m.role, m.id) >= 0)]


def missing(text: str, plants: list[Plant]) -> list[str]:
    told = flat(text)
    return [w for p in plants if (w := flat(wanted(p))) not in told]


@given(plantings(turns=1, most=4))
@settings(max_examples=60, deadline=None)
def test_what_is_planted_in_a_turn_is_in_its_gist(drawn: tuple[str, list[Plant], list[int]]) -> None:
    """A turn with up to four essentials: its gists say all of them, within their limit."""
    language, plants, choices = drawn
    gists = pieces_of(sown(language, 1, plants, choices))
    assert missing("\n".join(g.text for g in gists), plants) == []
    assert all(rough_count(g.text) <= LIMIT for g in gists)


@given(plantings(turns=8))
@settings(max_examples=60, deadline=None)
def test_what_is_planted_in_a_span_is_in_its_summary(drawn: tuple[str, list[Plant], list[int]]) -> None:
    """Eight turns with up to eight essentials: the summary of the span says all of them, within its limit."""
    language, plants, choices = drawn
    made = summarise(pieces_of(sown(language, 8, plants, choices)), level=1)
    assert missing(made.text, plants) == []
    assert rough_count(made.text) <= limit_of(1)


@given(plantings(turns=64))
@settings(max_examples=20, deadline=None)
def test_what_is_planted_in_a_thread_is_in_the_summary_at_the_top(
    drawn: tuple[str, list[Plant], list[int]],
) -> None:
    """Sixty-four turns, summed up over three levels: the one text at the top still says everything that was planted."""
    language, plants, choices = drawn
    level = 1
    layer: list[Gist] = pieces_of(sown(language, 64, plants, choices))
    while len(layer) > 1:
        layer = [summarise(layer[n : n + 8], level=level) for n in range(0, len(layer), 8)]
        level += 1
    assert missing(layer[0].text, plants) == []
    assert rough_count(layer[0].text) <= TOP_LIMIT


@given(plantings(turns=24))
@settings(max_examples=30, deadline=None)
def test_what_is_planted_is_in_the_account_for_a_person(drawn: tuple[str, list[Plant], list[int]]) -> None:
    """The account says every to-do, constraint, decision, error, path and id, within its budget."""
    language, plants, choices = drawn
    talk = sown(language, 24, plants, choices)
    gists = pieces_of(talk)
    spans = [summarise(gists[n : n + 8]) for n in range(0, len(gists), 8)]
    text = account(
        title="",
        turns=24,
        messages=len(talk.messages),
        gists=spans,
        last=talk.messages[-2:],
        budget=1000,
        count=rough_count,
        language=language,
    )
    assert missing(text, plants) == []
    assert rough_count(text) <= 1000


@given(plantings(turns=8), st.integers(20, 200))
@settings(max_examples=60, deadline=None)
def test_what_does_not_fit_is_counted(drawn: tuple[str, list[Plant], list[int]], limit: int) -> None:
    """However small the room: every essential is said, or the text says how many are not, with the handle of them all."""
    language, plants, choices = drawn
    made = summarise(pieces_of(sown(language, 8, plants, choices)), limit_tokens=limit)
    assert rough_count(made.text) <= limit
    if missing(made.text, plants):
        assert made.handle in made.text
        assert "(+" in made.text or "（另有" in made.text or made.text == made.handle
    assert {e.text for e in made.essentials} >= {
        wanted(p) for p in plants if p.kind in (EssentialKind.PATH, EssentialKind.ID)
    }


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", [EssentialKind.CONSTRAINT, EssentialKind.DECISION, EssentialKind.TODO])
def test_gist_of_a_long_message_keeps_the_important_sentence(language: str, kind: EssentialKind) -> None:
    """The gist of a single long message keeps the one sentence that matters, and ends with its handle."""
    for template in SENTENCES[language, kind]:
        talk = Talk()
        around = "The tests cover this case. " * 12 if language == "en" else "这种情况有测试覆盖。" * 20
        plant = template.format(name="billing" if language == "en" else "账单")
        talk.say("user", f"{around}\n{plant}\n{around}")
        text = gist_messages(talk.messages, limit_tokens=60, named=False).text
        assert flat(plant).removeprefix("- [ ] ") in flat(text)
        assert text.endswith("[bs:1]")


def test_settled_essentials_are_not_open() -> None:
    """A ticked box, a list that was replaced, an error that went away and an answered question are not open any more."""
    talk = Talk()
    talk.say("user", "- [ ] write the docs\n- [ ] fix the build")
    todos = [
        {"content": "rename the table", "status": "pending"},
        {"content": "drop the view", "status": "pending"},
    ]
    talk.use("TodoWrite", {"todos": todos}, "ok")
    talk.use("Bash", {"command": "make build"}, "Exit code 2\nerror: no rule", error=True)
    talk.say("assistant", "Shall I go on?")
    talk.say("user", "Yes.\n- [x] write the docs")
    talk.use(
        "TodoWrite",
        {"todos": [{**todos[0], "status": "completed"}, {**todos[1], "status": "in_progress"}]},
        "ok",
    )
    talk.use("Bash", {"command": "cd app && make build"}, "built in 3 s")
    open_now = {
        (e.kind, e.text)
        for e in summarise(pieces_of(talk)).essentials
        if e.kind not in (EssentialKind.PATH, EssentialKind.ID)
    }
    assert open_now == {(EssentialKind.TODO, "fix the build"), (EssentialKind.TODO, "drop the view")}


def test_crop_summary_is_not_longer_than_its_messages() -> None:
    """Summaries of messages are never longer than the messages."""
    talk = Talk()
    talk.say("user", "Hello there.")
    talk.say("assistant", "Hi.")
    made = summarise_messages(talk.messages, limit_tokens=200)
    assert rough_count(made.text) <= sum(rough_count(m.text) for m in talk.messages)
