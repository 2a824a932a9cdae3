"""Requests to a model for a recipe, with everything needed to use the answer: the first of the two pure halves.

Owns the nouns (`RecipeRequest`, `RecipePlan`) and the frame around the data: a conversation may hold text that looks like
instructions, so it is inside a frame whose name occurs nowhere in it, and the prompt declares it as data. The texts of
the prompts are files (`prompts/*.toml`). Refuses: calling a model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Generic, TypeVar

from backscroll.derive.recipe import Recipe
from backscroll.derive.summaries.gist import Gist
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json
from backscroll.vocab.values.table import read_table

G = TypeVar("G", bound=Gist)
T_co = TypeVar("T_co", covariant=True)

#: The schema of the answer.
SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}
#: Share of an artefact's tokens for the model's own words; the rest is for what is kept verbatim.
PROSE = 0.6
#: Tokens for the JSON around the words, and for reasoning that some models count as part of the answer.
_SLACK = 200


@dataclass(frozen=True, slots=True)
class RecipeRequest:
    """One request: plain messages that are valid on every wire."""

    system: str
    messages: tuple[Mapping[str, str], ...]
    max_tokens: int
    schema: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class RecipePlan(Generic[T_co]):
    """A request to a model, and the rule-made artefact used until the answer is valid."""

    recipe: Recipe
    rule_key: bytes  # of the rule-made artefact: it names the same inputs
    earlier: tuple[
        bytes, ...
    ]  # keys by earlier versions of the rules: replies already paid for under these remain valid
    key: bytes  # of the artefact; the first reply is stored under it too
    ask: RecipeRequest
    stand_in: T_co
    sources: tuple[Ref, ...]  # every revision that the model gets to see
    limit: int  # tokens of the artefact
    given: str  # the data as the model sees it
    frame: str  # the name of the frame around it
    language: str

    @property
    def again_key(self) -> bytes:
        """The key of the second reply."""
        return Recipe(f"{self.recipe.name}:again", self.recipe.version).key([self.key.hex()])


def prompt_text(name: str, language: str, part: str, **facts: object) -> str:
    """Return a text of `prompts/` with its placeholders filled."""
    table = _prompts(name)
    return table["zh" if language == "zh" else "en"][part].format(**facts)


@cache
def _prompts(name: str) -> Mapping[str, Mapping[str, str]]:
    return read_table("backscroll.derive", f"prompts/{name}.toml")


def frame_name(text: str) -> str:
    """Return a name that does not occur in a text; the same for the same text."""
    seed = text.encode("utf-8", "surrogatepass")
    while True:
        seed = hashlib.sha256(seed).digest()
        name = f"data-{seed.hex()[:10]}"
        if name not in text:
            return name


def plan(
    kind: str,
    recipe: Recipe,
    rule_key: bytes,
    stand_in: G,
    given: str,
    *,
    limit: int,
    language: str,
    sources: Sequence[Ref] = (),
) -> RecipePlan[G]:
    """Return a plan for one artefact. `rule_key` is the key of the rule-made one: it names the same inputs."""
    kept = "\n".join(f"- {e.text}" for e in stand_in.essentials)
    frame = frame_name(f"{given}\n{kept}")
    words = max(40, int(limit * PROSE))
    system = prompt_text(kind, language, "system", frame=frame, limit=words)
    body = f"<{frame}>\n{given}\n</{frame}>"
    if kept:
        body += f"\n\n<kept>\n<{frame}>\n{kept}\n</{frame}>\n</kept>"
    body += f"\n\n{prompt_text(kind, language, 'user')}"
    return RecipePlan(
        recipe=recipe,
        rule_key=rule_key,
        earlier=(),
        key=recipe.key([rule_key.hex()]),
        ask=RecipeRequest(system, ({"role": "user", "content": body},), words * 2 + _SLACK, SCHEMA),
        stand_in=stand_in,
        sources=tuple(dict.fromkeys([*sources, *stand_in.sources, *(e.source for e in stand_in.essentials)])),
        limit=limit,
        given=given,
        frame=frame,
        language=language,
    )


def again(planned: RecipePlan[object], answer: str, why: str, kind: str = "again") -> RecipeRequest:
    """Return the second request, with the problems of the first answer; `kind` names the file with the complaint as `again`."""
    part = "user" if kind == "again" else "again"
    complaint = prompt_text(kind, planned.language, part, why=why)
    more: tuple[Mapping[str, str], ...] = (
        # Some wires reject an empty message.
        {"role": "assistant", "content": answer.strip() or "…"},
        {"role": "user", "content": complaint},
    )
    asked = planned.ask
    return RecipeRequest(asked.system, (*asked.messages, *more), asked.max_tokens, asked.schema)
