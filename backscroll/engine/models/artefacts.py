"""Model-written artefacts as they are stored: the text that replaces a rule-made one, or why the model failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from backscroll.derive.models.request import RecipePlan
from backscroll.derive.recipe import Recipe
from backscroll.derive.summaries.gist import Gist
from backscroll.engine.models.usage import models_used
from backscroll.record.chain import words_from_bytes
from backscroll.record.derived import Artefact
from backscroll.record.ports import Reader
from backscroll.vocab.ids import Ref

#: The key prefix of a model's failures.
FAILURE = Recipe("model:failure", 1)


@dataclass(frozen=True, slots=True)
class ModelText:
    """A model's text for a rule-made artefact."""

    text: str
    model: str
    sources: tuple[Ref, ...]
    at: str  # when it was written


def better(
    reader: Reader, recipe: Callable[[str], Recipe], rule_keys: Iterable[bytes]
) -> dict[bytes, ModelText]:
    """Return what models wrote for rule-made artefacts, by their keys; the newest model wins.

    Costs one read, whatever the number of keys, and makes no call.
    """
    wanted = list(dict.fromkeys(rule_keys))
    models = models_used(reader, recipe("").name)
    if not wanted or not models:
        return {}
    keys = {recipe(model).key([rule.hex()]): rule for model in reversed(models) for rule in wanted}
    found = reader.read_artefacts(list(keys))
    out: dict[bytes, ModelText] = {}
    for key, rule in keys.items():  # later models are newer ones and overwrite
        if key in found:
            out[rule] = better_of(found[key])
    return out


@dataclass(frozen=True, slots=True)
class ArtefactFailure:
    """Why a model's first attempt at an artefact failed."""

    why: str
    model: str
    passing: bool  # the service failed, not the answer


def failure_of(reader: Reader, planned: RecipePlan[Gist]) -> ArtefactFailure | None:
    """Return why an artefact failed; None if it was never tried, or succeeded in the end."""
    key = FAILURE.key([planned.key.hex()])
    found = reader.read_artefacts([key, planned.key])
    if key not in found or planned.key in found:
        return None
    body = words_from_bytes(found[key].body)
    return ArtefactFailure(body["why"], body["model"], body["passing"])


def better_of(made: Artefact) -> ModelText:
    """Return the model's text in an artefact."""
    body = words_from_bytes(made.body)
    return ModelText(body["text"], body["model"], made.sources, made.at)
