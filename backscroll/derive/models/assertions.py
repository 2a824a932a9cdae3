"""Model-based extraction of assertions: the plan, the first of two pure halves.

Owns what the model gets to see of a turn (only what was really said, message by message, numbered; the world description
beside it) and the shape of the answer, which also holds what else is read in the turn (`derive/models/turn`): one call does
it all. Refuses: calling a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backscroll.derive.extract.assertions import MOST, earlier_keys
from backscroll.derive.extract.ontology import attribute_names, relation_names, types
from backscroll.derive.extract.speech import fold_text, speeches
from backscroll.derive.flat import flat
from backscroll.derive.models.request import RecipePlan, RecipeRequest, frame_name, prompt_text
from backscroll.derive.models.turn import NOTHING, PROPERTIES, TurnReading
from backscroll.derive.recipe import Count, Recipe
from backscroll.formats.language import language_of
from backscroll.vocab.assertion import Assertion, Claim
from backscroll.vocab.message import Message
from backscroll.vocab.part import Json

#: The name and version under which replies and artefacts are kept; the version goes up when prompts or folding change.
NAME, VERSION = "assertions:model", 2
#: Tokens of a turn, and of a world description, that a model gets to see.
INPUT, WORLD = 12_000, 4_000
_WIDTHS = (8_000, 3_000, 1_000, 300)  # characters of one message, until everything fits
_CUT = " […] "
_LEAST = 12  # characters: less says nothing that is worth a call
_ANSWER = (1_000, 6_500)  # tokens of an answer, at the least and at the most
_FIELDS = ("subject", "type", "predicate", "value", "object", "object_type", "quote")

#: The shape of the answer; strict services want every field named.
SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "properties": {
        "assertions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "kind": {"type": "string", "enum": [kind.value for kind in Claim]},
                    **{name: {"type": "string"} for name in _FIELDS},
                    "message": {"type": "integer"},
                },
                "required": ["kind", *_FIELDS, "message"],
                "additionalProperties": False,
            },
        },
        **PROPERTIES,
    },
    "required": ["assertions", *PROPERTIES],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class QuotableMessage:
    """One message of the turn as the model may quote it."""

    text: str  # what was really said in it; empty: nothing
    whole: str  # with everything that programs put into it
    speaker: str
    role: str


@dataclass(frozen=True, slots=True)
class AssertionResult:
    """The assertions of a turn, and how many statements of a model were unusable."""

    assertions: tuple[Assertion, ...]
    dropped: int = 0
    reading: TurnReading = NOTHING


@dataclass(frozen=True, slots=True)
class AssertionPlan(RecipePlan[AssertionResult]):
    """A request about a turn, and all that is needed to check the answer."""

    messages: tuple[Message, ...]
    heard: tuple[QuotableMessage, ...]  # one for each message
    world: str


def recipe(model: str, version: int = VERSION) -> Recipe:
    """Return how a model reads turns; version 1 read assertions alone, and what it read is still good."""
    return Recipe(NAME, version, {"input": INPUT, "most": MOST, "world": WORLD}, model)


def plan(
    messages: Sequence[Message],
    stand_in: tuple[Assertion, ...],
    rule_key: bytes,
    *,
    model: str,
    count: Count,
    world: str = "",
    language: str = "",
) -> AssertionPlan | None:
    """Return what to ask about these messages (one turn, in order); None where too little was said to ask about.

    `rule_key` names the same messages (`assertions.rule_key`); `stand_in` is what rules found in them.
    """
    heard = _collect_heard(messages)
    if not _enough(heard):
        return None
    world = world if world.strip() else ""
    given = _transcript(heard, count)
    told = _clip_middle(world, WORLD, count)
    spoken = language or language_of(" ".join(h.text[:400] for h in heard))
    frame = frame_name(f"{given}\n{told}")
    how = recipe(model)
    return AssertionPlan(
        recipe=how,
        # The world is left out of the key: when it changes, nothing is paid for again. What rests on it quotes it.
        rule_key=rule_key,
        earlier=earlier_keys(messages),
        key=how.key([rule_key.hex()]),
        ask=_ask(frame, given, told, spoken, count),
        stand_in=AssertionResult(stand_in),
        sources=tuple(m.revision for m in messages),  # what rules know from tools is kept with the reading
        limit=MOST,
        given=given,
        frame=frame,
        language=spoken,
        messages=tuple(messages),
        heard=heard,
        world=world,
    )


def worth_reading(messages: Sequence[Message]) -> bool:
    """Return False where too little was said in a turn to ask a model about it."""
    return _enough(_collect_heard(messages))


def _enough(heard: Sequence[QuotableMessage]) -> bool:
    return sum(len("".join(h.text.split())) for h in heard) >= _LEAST


def _collect_heard(messages: Sequence[Message]) -> tuple[QuotableMessage, ...]:
    said = {one.source: one for one in speeches(messages)}
    out: list[QuotableMessage] = []
    for message in messages:
        one = said.get(message.revision)
        whole = flat(message) if message.role in ("user", "assistant") else ""
        out.append(QuotableMessage(one.text if one else "", whole, message.author or "", message.role))
    return tuple(out)


def _ask(frame: str, given: str, world: str, language: str, count: Count) -> RecipeRequest:
    system = prompt_text(
        "assertions",
        language,
        "system",
        frame=frame,
        most=MOST,
        types=", ".join(types()),
        attributes=", ".join(attribute_names()),
        relations=", ".join(relation_names()),
    )
    body = f"<{frame}>\n{given}\n</{frame}>"
    if world:
        title = prompt_text("assertions", language, "world")
        body = f"{title}\n<{frame}>\n{world}\n</{frame}>\n\n{body}"
        system += f"\n{prompt_text('assertions', language, 'implied')}"
    body += f"\n\n{prompt_text('assertions', language, 'user')}"
    least, most = _ANSWER
    room = min(most, max(least, 2 * count(given) + 400))
    return RecipeRequest(system, ({"role": "user", "content": body},), room, SCHEMA)


def _transcript(heard: Sequence[QuotableMessage], count: Count) -> str:
    """Return what was said, message by message with its number; the longest messages lose their middle until all fits."""
    told = ""
    for width in _WIDTHS:
        told = "\n\n".join(
            f"[{n}] {_who(h)}:\n{_cut(h.text, width)}" for n, h in enumerate(heard, 1) if h.text
        )
        if count(told) <= INPUT:
            return told
    return _clip_middle(told, INPUT, count)


def _who(heard: QuotableMessage) -> str:
    return f"{heard.role} ({heard.speaker})" if heard.speaker else heard.role


def _cut(text: str, width: int) -> str:
    text = text.strip()
    if len(text) <= width:
        return text
    head = width * 3 // 5
    return f"{text[:head].rstrip()}{_CUT}{text[len(text) - (width - head) :].lstrip()}"


def _clip_middle(text: str, room: int, count: Count) -> str:
    """Return a text without its middle where it has too many tokens."""
    if count(text) <= room:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(_cut(text, middle)) <= room else (low, middle - 1)
    return _cut(text, low)


def rests_on_tools(claim: Assertion, plan: AssertionPlan) -> bool:
    """Return True for a rule-made claim about what tools did: a model that reads only words cannot know it, so it stays."""
    place = next((n for n, m in enumerate(plan.messages) if m.revision == claim.source), None)
    return place is not None and fold_text(claim.quote).strip() not in fold_text(plan.heard[place].text)
