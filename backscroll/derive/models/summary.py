"""Plans for summaries of spans and of crops written by a model. Same noun as the rule-made ones (`derive/summaries/summary`).

Owns what the model sees: for a span the texts of the gists or summaries below, in order; for a crop the messages
themselves, or their gists if they are too many.
"""

from __future__ import annotations

from collections.abc import Sequence

from backscroll.derive.models.gist import INPUT, planned_messages
from backscroll.derive.models.request import RecipePlan, plan
from backscroll.derive.recipe import Count, Recipe
from backscroll.derive.summaries.gist import Gist
from backscroll.derive.summaries.summary import Summary, limit_of
from backscroll.derive.summaries.tuning import LIMITS
from backscroll.formats.language import language_of
from backscroll.vocab.message import Message

#: Names and versions under which replies and artefacts are kept; a version goes up when prompts or folding change.
SPAN, CROP, VERSION = "summary:model", "crop:model", 1


def recipe(model: str) -> Recipe:
    """Return the recipe of summaries by a model; the level is a matter of the inputs."""
    return Recipe(SPAN, VERSION, {"input": INPUT}, model)


def crop_recipe(model: str) -> Recipe:
    """Return the recipe of replacements for cropped messages by a model."""
    return Recipe(CROP, VERSION, {"input": INPUT}, model)


def plan_summary(
    children: Sequence[Gist], stand_in: Summary, rule_key: bytes, *, model: str, count: Count
) -> RecipePlan[Summary] | None:
    """Return the request for the summary of a span, given the gists or summaries below; None if there is nothing to merge."""
    told = [c for c in children if c.text.strip()]
    given = "\n\n".join(c.text for c in told)
    if (
        len(told) < 2
        or count(given) <= max(limit_of(stand_in.level), count(stand_in.text))
        or count(given) > INPUT
    ):
        return None
    return plan(
        "summary",
        recipe(model),
        rule_key,
        stand_in,
        given,
        limit=limit_of(stand_in.level),
        language=language_of(given[:4000]),
        sources=[source for child in told for source in child.sources],
    )


def plan_crop(
    messages: Sequence[Message],
    stand_in: Summary,
    rule_key: bytes,
    *,
    model: str,
    count: Count,
    limit: int = LIMITS[1],
) -> RecipePlan[Summary] | None:
    """Return the request for the text that replaces cropped messages; None if there is nothing to condense."""
    return planned_messages("crop", crop_recipe(model), messages, stand_in, rule_key, count, limit, INPUT)
