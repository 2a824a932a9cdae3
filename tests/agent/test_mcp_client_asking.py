"""What a server wants to know, put before a person: every kind of entry, in both languages, and nothing that was not typed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.agent.arguments import fits
from backscroll.agent.mcp.questions import DECLINED, QuestionRelay, ServerAnswer, ServerQuestion
from backscroll.agent.person import Nobody


class Typing(Nobody):
    """A person who types these answers."""

    def __init__(self, *said: str | None) -> None:
        self.said = list(said)
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    def answer(self, question: str, options: Sequence[str] = ()) -> str | None:
        self.asked.append((question, tuple(options)))
        return self.said.pop(0) if self.said else None


def form(**properties: Any) -> ServerQuestion:
    return ServerQuestion(
        "s", "m", {"type": "object", "properties": properties, "required": list(properties)}
    )


@pytest.mark.parametrize(
    ("about", "said", "value"),
    [
        ({"type": "string"}, " Ada ", "Ada"),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["Ann", "Ben"]}, "Ben", "b"),
        ({"type": "string", "oneOf": [{"const": "a", "title": "安"}]}, "安", "a"),
        ({"type": "integer"}, "7", 7),
        ({"type": "number"}, "7.5", 7.5),
        ({"type": "boolean"}, "是", True),
        ({"type": "boolean"}, "no", False),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}, "a， b", ["a", "b"]),
        (
            {"type": "array", "items": {"anyOf": [{"const": "a", "title": "Ann"}, {"const": "b"}]}},
            "Ann, b",
            ["a", "b"],
        ),
    ],
)
def test_answer_has_the_type_the_form_asks_for(about: dict[str, Any], said: str, value: object) -> None:
    """The answer as the form wants it."""
    assert QuestionRelay(Typing(said), "en").ask(form(it=about)) == ServerAnswer("accept", {"it": value})


def test_empty_answer_omits_an_optional_entry() -> None:
    """An empty answer sends nothing for it."""
    wanted = ServerQuestion(
        "s", "m", {"properties": {"a": {"type": "string"}, "b": {"type": "integer", "default": 3}}}
    )
    assert QuestionRelay(Typing("", ""), "en").ask(wanted) == ServerAnswer("accept", {"b": 3})


def test_empty_form_and_address_require_a_yes() -> None:
    """Only an explicit yes counts; the address is shown verbatim."""
    empty = ServerQuestion("s", "Go on?", {})
    assert QuestionRelay(Typing("yes"), "en").ask(empty) == ServerAnswer("accept", {})
    assert QuestionRelay(Typing("no"), "en").ask(empty) == DECLINED
    there = ServerQuestion("s", "Sign in", {}, "https://example.org/login?x=1")
    person = Typing("是")
    assert QuestionRelay(person, "zh").ask(there) == ServerAnswer("accept", None)
    assert "https://example.org/login?x=1" in person.asked[0][0]
    assert person.asked[0][1] == ("是", "否")
    assert person.asked[0][0].startswith("MCP 服务器 s 问：Sign in")


def test_questions_are_declined_without_a_person() -> None:
    """In a run without a person a server is refused politely."""
    assert QuestionRelay(Nobody(), "en").ask(form(it={"type": "string"})) == DECLINED
    assert QuestionRelay(Nobody(), "en").ask(ServerQuestion("s", "m", {})) == DECLINED


def test_server_text_cannot_control_the_terminal() -> None:
    """Control characters of a server's words do not reach the person."""
    person = Typing("x")
    QuestionRelay(person, "en").ask(
        ServerQuestion(
            "s", "\x1b[2J\x07hello", {"properties": {"\x1b]0;evil": {"description": "\x1b[31mred"}}}
        )
    )
    assert "\x1b" not in person.asked[0][0]
    assert "\x07" not in person.asked[0][0]


KINDS = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "minLength": 2, "maxLength": 4},
        {"type": "string", "enum": ["a", "b"]},
        {"type": "integer", "minimum": 0, "maximum": 9},
        {"type": "number"},
        {"type": "boolean"},
    ]
)


@given(
    st.dictionaries(st.text(min_size=1, max_size=5), KINDS, max_size=4),
    st.lists(st.none() | st.text(max_size=5) | st.sampled_from(["1", "a", "yes", "12"]), max_size=16),
)
def test_what_is_sent_fits_the_form(properties: dict[str, Any], said: list[str | None]) -> None:
    """Whatever is typed: what is accepted fits the server's own schema."""
    wanted = form(**properties)
    answered = QuestionRelay(Typing(*said), "en").ask(wanted)
    if answered.action == "accept" and properties:
        assert answered.content is not None
        assert fits(wanted.schema, dict(answered.content))
