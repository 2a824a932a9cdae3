"""A model reads a turn: what it is asked, and what of its answer can be used."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.derive.essence.sentences import rough_count
from backscroll.derive.extract.assertions import MOST, extract, rule_key
from backscroll.derive.extract.ontology import attribute_names, relation_names, types
from backscroll.derive.models.assertions import INPUT, SCHEMA, AssertionPlan, plan
from backscroll.derive.models.assertions_fold import asked_again, fold, from_text, to_text
from backscroll.errors import FormatError
from backscroll.vocab.assertion import Claim
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message, Role
from backscroll.vocab.part import Part, Text, ToolCall, ToolResult

THREAD = "0" * 32


def message(role: Role, *parts: Part | str, seq: int, author: str | None = None) -> Message:
    ref = Ref(THREAD, seq)
    told = tuple(Text(p) if isinstance(p, str) else p for p in parts)
    return Message(ref, role, ref, Content(told, author), "2026-11-01T09:00:00+00:00")


TURN = [
    message("user", "Ellie is  a forest elf.\nHer “home” is Greenvale（绿谷）。\n<memory>Zara is a spy.</memory>", seq=1),
    message("assistant", "And Tom, her brother, left the guild.", seq=2, author="Narrator"),
]  # fmt: skip


def planned(turn: list[Message] = TURN, world: str = "", **more: Any) -> AssertionPlan:
    made = plan(turn, extract(turn), rule_key(turn), model="m", count=rough_count, world=world, **more)
    assert made is not None
    return made


def item(**more: Any) -> dict[str, Any]:
    plain = {
        "kind": "attribute", "subject": "Ellie", "type": "person", "predicate": "race", "value": "forest elf",
        "object": "", "object_type": "", "quote": "Ellie is a forest elf.", "message": 1,
    }  # fmt: skip
    return {**plain, **more}


def answer(*items: Any) -> str:
    return json.dumps({"assertions": list(items)}, ensure_ascii=False)


# -- asking ------------------------------------------------------------------------------------------------------


def test_request_contains_turn_ontology_and_world() -> None:
    """Numbered messages without injected blocks, suggested predicates, and the data in a frame."""
    asked = planned(world="Mirelle is the queen.").ask
    body = asked.messages[0]["content"]
    assert "[1] user:" in body
    assert "[2] assistant (Narrator):" in body
    assert "Mirelle is the queen." in body
    assert "Zara" not in body
    frame = planned().frame
    assert f"<{frame}>" in planned().ask.messages[0]["content"]
    assert frame in planned().ask.system
    for name in (*types(), *attribute_names()[:5], *relation_names()[:5]):
        assert name in asked.system
    assert asked.schema == SCHEMA


def test_reply_key_depends_on_turn_and_model() -> None:
    """Language and world do not change the key: a changed world is not paid for again."""
    key = planned().key
    assert planned(language="zh").key == key
    assert planned(world="Mirelle is the queen.").key == key
    assert planned(TURN[:1]).key != key
    other = plan(TURN, (), rule_key(TURN), model="n", count=rough_count)
    assert other is not None
    assert other.key != key
    assert other.rule_key == rule_key(TURN)


def test_chinese_turn_gets_a_chinese_prompt() -> None:
    """By the language of the text, or as given."""
    turn = [message("user", "艾莉是森林精灵，住在绿谷。", seq=1)]
    assert "你阅读对话中的一轮" in planned(turn).ask.system
    assert "You read one turn" in planned(turn, language="en").ask.system


def test_turn_without_content_is_not_sent_to_the_model() -> None:
    """Too few words, only tools, only reminders."""
    for text in ("ok", "好", "<system-reminder>Zara is a spy in Rome.</system-reminder>"):
        assert plan([message("user", text, seq=1)], (), b"k", model="m", count=rough_count) is None


def test_very_long_turn_is_cut_to_fit() -> None:
    """The longest messages lose their middle; the world does too."""
    turn = [message("user", f"Person{n} lives in Town{n}. " * 400, seq=n) for n in range(1, 12)]
    long = planned(turn, world="Mirelle is the queen. " * 1500)
    assert rough_count(long.given) <= INPUT
    assert rough_count(long.ask.messages[0]["content"]) < 2 * INPUT


# -- answers that can be used ------------------------------------------------------------------------------------


def test_answer_becomes_claims_with_sources() -> None:
    """Claims name their message and speaker, and quote the text verbatim."""
    brother = item(
        kind="relation", subject="Tom", predicate="sibling_of", value="", object="Ellie", object_type="person",
        quote="And Tom, her brother, left the guild.", message=2,
    )  # fmt: skip
    left = item(kind="end", subject="Tom", predicate="member_of", value="", object="guild", object_type="group",
                quote="Tom, her brother, left the guild", message=2)  # fmt: skip
    elf, sibling, end = fold(planned(), answer(item(), brother, left)).assertions
    assert elf.quote == "Ellie is  a forest elf."
    assert (elf.source, elf.speaker) == (TURN[0].revision, "user")
    assert (sibling.object, sibling.speaker, sibling.source) == ("Ellie", "Narrator", TURN[1].revision)
    assert (end.kind, end.object) == (Claim.END, "guild")


@pytest.mark.parametrize(
    "wrapped",
    [
        "{}",
        "```json\n{}\n```",
        "<think>hm {{ \n</think>\n{}",
        "Here you are:\n{}\nAnything else?",
    ],
)
def test_wrapped_answers_are_accepted(wrapped: str) -> None:
    """Code fences, thoughts and remarks around the JSON are ignored; a bare list is accepted."""
    text = wrapped.replace("{}", answer(item()))
    assert len(fold(planned(), text).assertions) == 1
    assert len(fold(planned(), json.dumps([item()])).assertions) == 1


@pytest.mark.parametrize(
    "quote",
    ["Ellie is a forest elf.", "ellie is a FOREST elf", 'Her "home" is Greenvale(绿谷).', "Ｅllie is a forest elf", "“Ellie is a forest elf…”"],
)  # fmt: skip
def test_quotes_match_despite_spelling_differences(quote: str) -> None:
    """White space, width, case and quotation marks; the original spelling is kept."""
    (claim,) = fold(planned(), answer(item(quote=quote))).assertions
    assert claim.quote in TURN[0].text


@pytest.mark.parametrize(
    "name", ["Ellie", "ellie", "绿谷", "user", "assistant", "@she", "Narrator", "Ellie's brother", "Mirelle", "Greenvale"]
)  # fmt: skip
def test_known_names_are_accepted(name: str) -> None:
    """Names from the turn, its authors and the world; roles, pronouns, and possessions of these."""
    assert fold(planned(world="Mirelle is the queen."), answer(item(subject=name))).assertions


def test_unneeded_fields_of_a_claim_are_dropped() -> None:
    """And names of predicates are put in lower case."""
    (node,) = fold(planned(), answer(item(kind="node", predicate="race"))).assertions
    assert (node.kind, node.predicate, node.value) == (Claim.NODE, "", "")
    (loose,) = fold(planned(), answer(item(predicate="Home Town"))).assertions
    assert loose.predicate == "home_town"


def test_empty_list_is_a_valid_answer() -> None:
    """A turn may say nothing."""
    assert fold(planned(), answer()).assertions == ()


def test_rule_based_tool_claims_are_kept() -> None:
    """A model that reads words cannot know which file was changed."""
    turn = [
        message("user", "Ellie is a forest elf. Put that into the notes.", seq=1),
        message("assistant", ToolCall("1", "Write", {"file_path": "notes.md", "content": "elf"}), seq=2),
        message("tool", ToolResult("1", (Text("ok"),)), seq=3),
    ]
    found = fold(planned(turn), answer(item())).assertions
    assert [claim.predicate for claim in found] == ["race", "changed", "status"]


# -- answers that cannot -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("I cannot do that.", "no valid JSON"),
        (answer(item())[:-20], "no valid JSON"),
        ('{"assertions": {}}', "no field assertions"),
        ("7", "no field assertions"),
        (answer("Ellie"), "statement 1: it is no object"),
        (answer(item(kind="fact")), "kind is 'fact'"),
        (answer(item(value="")), "value is empty"),
        (answer(item(kind="relation")), "object is empty"),
        (answer(item(subject="")), "subject is empty"),
        (answer(item(quote="")), "quote is empty"),
        (answer(item(value=["a"])), "value is no text"),
        (answer(item(value="x" * 500)), "longer than"),
        (answer(item(predicate="是什么")), "lower_case"),
        (answer(item(quote="Ellie is the queen.")), "does not stand in message 1"),
        (answer(item(message=2)), "stands in message 1, not in 2"),
        (answer(item(message=3)), "no such message"),
        (answer(item(message=None)), "no such message"),
        (answer(item(subject="Zara", quote="Zara is a spy.")), "nobody said"),
        (answer(item(subject="Mirelle")), "'Mirelle' stands neither"),
        (answer(*[item()] * (MOST + 1)), f"give the most important {MOST}"),
    ],
)
def test_invalid_answer_gets_a_precise_error(text: str, reason: str) -> None:
    """Precisely, so that a model can do better."""
    with pytest.raises(FormatError) as error:
        fold(planned(), text)
    assert reason in error.value.message
    assert reason in asked_again(planned(), text, error.value.message).messages[-1]["content"]


def test_truncated_answer_is_refused() -> None:
    """Even where what came can be read."""
    with pytest.raises(FormatError, match="cut off"):
        fold(planned(), answer(item()), whole=False)


def test_last_attempt_keeps_valid_statements() -> None:
    """Invalid ones are counted; without a valid one nothing is kept."""
    good, bad = item(), item(subject="Mirelle")
    with pytest.raises(FormatError, match="statement 2"):
        fold(planned(), answer(good, bad))
    kept = fold(planned(), answer(good, bad), last=True)
    assert (len(kept.assertions), kept.dropped) == (1, 1)
    with pytest.raises(FormatError):
        fold(planned(), answer(bad), last=True)
    many = [item(value=f"elf {n}") for n in range(MOST + 5)]
    assert fold(planned(), answer(*many), last=True).dropped == 5


def test_error_lists_the_first_problems_and_a_count() -> None:
    """The first ones, and how many more."""
    with pytest.raises(FormatError, match="and 14 more"):
        fold(planned(), answer(*[item(subject="Mirelle")] * 20))


def test_stored_reading_round_trips() -> None:
    """With the names of the revisions in which the turn is now."""
    made = planned()
    told = fold(made, answer(item()))
    text = to_text(told, made.messages)
    assert from_text(text, [m.revision for m in TURN]) == told
    elsewhere = from_text(text, [Ref("1" * 32, 4), Ref("1" * 32, 5)])
    assert elsewhere.assertions[0].source == Ref("1" * 32, 4)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda v: st.lists(v, max_size=3),
    max_leaves=5,
)
odd = st.dictionaries(st.sampled_from([*item(), "extra"]), values, max_size=10)


@given(st.lists(odd | values, max_size=4), st.booleans())
def test_any_answer_is_used_or_refused(items: list[Any], last: bool) -> None:
    """Nothing else ever comes out of it, and what is used is in the turn."""
    made = planned()
    try:
        told = fold(made, json.dumps({"assertions": items}), last=last)
    except FormatError:
        return
    for claim in told.assertions:
        assert any(claim.quote in h.text for h in made.heard)


@given(st.text(max_size=200))
def test_any_text_is_used_or_refused(text: str) -> None:
    """Words that are not JSON at all."""
    with pytest.raises(FormatError):
        fold(planned(), f"no {text.replace('[', '').replace('{', '')}")
