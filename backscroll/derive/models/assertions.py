"""Model-based extraction of assertions: the plan, the first of two pure halves.

Owns what the model sees of a turn (only what was really said, message by message, numbered; the world description
beside it) and the schema of the answer, which also holds other readings of the turn (`derive/models/turn`): one call does
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
#: Tokens of a turn, and of a world description, that a model sees.
INPUT, WORLD = 12_000, 4_000
_WIDTHS = (8_000, 3_000, 1_000, 300)  # characters of one message, until everything fits
_CUT = " […] "
_LEAST = 12  # characters: a shorter turn is not worth a call
_ANSWER = (1_000, 6_500)  # tokens of an answer, minimum and maximum
_FIELDS = ("subject", "type", "predicate", "value", "object", "object_type", "quote")

#: The schema of the answer; strict services require every field to be named.
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
    whole: str  # including everything that programs inserted
    speaker: str
    role: str


@dataclass(frozen=True, slots=True)
class AssertionResult:
    """The assertions of a turn, and the number of unusable statements of a model."""

    assertions: tuple[Assertion, ...]
    dropped: int = 0
    reading: TurnReading = NOTHING


@dataclass(frozen=True, slots=True)
class AssertionPlan(RecipePlan[AssertionResult]):
    """A request about a turn, and everything needed to check the answer."""

    messages: tuple[Message, ...]
    heard: tuple[QuotableMessage, ...]  # one for each message
    world: str


def recipe(model: str, version: int = VERSION) -> Recipe:
    """Return the recipe of a model reading turns; version 1 read assertions alone, and its readings remain valid."""
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
    """Return the request for these messages (one turn, in order); None if too little was said.

    `rule_key` names the same messages (`assertions.rule_key`); `stand_in` is what the rules found in them.
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
        # The world is left out of the key: changing it costs nothing again. What depends on it quotes it.
        rule_key=rule_key,
        earlier=earlier_keys(messages),
        key=how.key([rule_key.hex()]),
        ask=_ask(frame, given, told, spoken, count),
        stand_in=AssertionResult(stand_in),
        sources=tuple(m.revision for m in messages),  # rule-made claims about tools are kept with the reading
        limit=MOST,
        given=given,
        frame=frame,
        language=spoken,
        messages=tuple(messages),
        heard=heard,
        world=world,
    )


def worth_reading(messages: Sequence[Message]) -> bool:
    """Return False if too little was said in a turn to ask a model about it."""
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
    """Return what was said, message by message with its number; the longest messages lose their middle until everything fits."""
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
    """Return True for a rule-made claim about tool use: a model that reads only words cannot know it, so it stays."""
    place = next((n for n, m in enumerate(plan.messages) if m.revision == claim.source), None)
    return place is not None and fold_text(claim.quote).strip() not in fold_text(plan.heard[place].text)
