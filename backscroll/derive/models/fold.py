"""Artefacts from a model's answer: the second of the two pure halves.

Owns the checks: the answer must have text, fit, and not leak its frame; invalid handles are removed; essentials
that it lost are appended verbatim, and those that do not fit are counted beside the handle. An unusable answer raises
`FormatError` with a reason that a model understands.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import cast

from backscroll.derive.essence.essentials import Essential, Findings
from backscroll.derive.models.request import G, RecipePlan
from backscroll.derive.recipe import Count
from backscroll.derive.summaries.composition import counted_rest, labels, list_essentials
from backscroll.derive.summaries.summary import told_by
from backscroll.errors import FormatError
from backscroll.vocab.handle import IN_TEXT
from backscroll.vocab.part import Json
from backscroll.vocab.values.pattern import late
from backscroll.vocab.values.unicode import valid_text

_FENCE = late(r"\A```[a-zA-Z]*\s*\n(.*?)\n?```\s*\Z", re.DOTALL)
_THOUGHT = late(r"\A\s*<(think|thinking|reasoning)>.*?</\1>\s*", re.DOTALL)
_CONTROL = late(r"[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_BLANK = late(r"[ \t]+(?=\n|\Z)|\n{3,}")
#: A somewhat too long answer is better than none; beyond this factor it is requested again.
_LENIENT = 1.25


def fold(planned: RecipePlan[G], answer: str, count: Count, *, whole: bool = True) -> G:
    """Return the artefact from an answer; `whole` is False if the answer was cut at its token limit."""
    if not whole:
        raise FormatError(f"the answer was cut off; it may have {planned.limit} tokens at the most")
    words = _known_marks(_words_of(answer), planned)
    if planned.frame in words or "<kept>" in words:
        raise FormatError("the answer repeats the frame around the data")
    text = _with_essentials(planned, words, count)
    if count(text) > planned.limit * _LENIENT:
        raise FormatError(f"the answer has {count(words)} tokens and is too long for {planned.limit}")
    return replace(planned.stand_in, text=text, sources=planned.sources)


def _words_of(answer: str) -> str:
    """Return the text of an answer: JSON as requested, fenced, after thoughts; or plain text."""
    bare = _THOUGHT.sub("", answer).strip()
    fenced = _FENCE.match(bare)
    bare = fenced[1].strip() if fenced else bare
    if bare.startswith("{"):
        bare = _from_json(bare)
    words = _BLANK.sub(lambda m: "\n\n" if m[0].startswith("\n") else "", _CONTROL.sub("", bare)).strip()
    if not any(c.isalnum() for c in words):
        raise FormatError("the answer holds no words")
    return words


def _from_json(text: str) -> str:
    try:
        told: Json = json.loads(text, strict=False)
    except (ValueError, RecursionError) as error:
        raise FormatError("the answer is no valid JSON") from error
    words = cast("dict[str, Json]", told).get("text")
    if not isinstance(words, str):
        raise FormatError("the answer has no field text that is a string")
    return valid_text(words)  # an escape can encode a lone surrogate


def _known_marks(words: str, planned: RecipePlan[G]) -> str:
    """Return the text without handles that were not in the model's input: they would mislead."""
    known = {
        *IN_TEXT.findall(planned.given),
        *IN_TEXT.findall(planned.stand_in.text),
        planned.stand_in.handle,
    }
    return IN_TEXT.sub(lambda mark: mark[0] if mark[0] in known else "", words).replace("  ", " ")


def _with_essentials(planned: RecipePlan[G], words: str, count: Count) -> str:
    """Return the text, then the essentials it lost verbatim as far as they fit, then the number of the rest, then the handle."""
    stand_in, terms = planned.stand_in, labels(planned.language)
    found = Findings(stand_in.essentials, (), stand_in.more)
    told = {id(e) for e in told_by(words, stand_in.essentials)}
    lost = [e for e in stand_in.essentials if id(e) not in told]

    def render_summary(kept: list[Essential]) -> str:
        body = "\n".join([words, *list_essentials(kept, terms, told=words)])
        rest = counted_rest(found, terms, told=body)
        end = " ".join(filter(None, (rest, stand_in.handle)))
        return f"{body}\n{end}" if "\n" in body or rest else f"{body} {end}".rstrip()

    # The heaviest ones, in the order of the conversation.
    ranked = sorted(
        range(len(lost)), key=lambda n: (list(type(lost[n].kind)).index(lost[n].kind), -lost[n].weight, n)
    )
    low, high = 0, len(ranked)
    while low < high:
        middle = (low + high + 1) // 2
        fits = count(render_summary([lost[n] for n in sorted(ranked[:middle])])) <= planned.limit
        low, high = (middle, high) if fits else (low, middle - 1)
    return render_summary([lost[n] for n in sorted(ranked[:low])])
