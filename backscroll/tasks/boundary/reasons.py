"""Reasons: why a message looks like a boundary, for the user.

Owns the names under which many small features are summarised as a few reasons, each with its contribution to the log odds and
a detail (the phrase, the new word). Texts for the user belong to the surfaces: a reason has a name, not a sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from backscroll.tasks.boundary.features import MessageFeatures
from backscroll.tasks.boundary.tuning import LEAST_REASON, REASONS

#: Prefixes of feature names -> the reason they belong to; the first match counts.
_GROUPS: tuple[tuple[str, str], ...] = (
    ("cue_start", "says_start"), ("cue_end", "says_end"), ("prev_end", "said_done"), ("own_end", "said_done"),
    ("cue_shift", "opens_subject"), ("last_shift", "opens_subject"), ("cue_more", "asks_more"), ("last_more", "asks_more"),
    ("cue_greeting", "greeting"), ("prev_greeting", "greeting"), ("prev_thanks", "thanked"), ("own_thanks", "thanked"), ("cue_thanks", "thanks"), ("last_thanks", "thanks"),
    ("prev_closing", "parted"), ("cue_closing", "parts"), ("prev_offer", "was_asked_what_next"), ("prev_settled", "was_settled"),
    ("cue_back", "points_back"), ("last_back", "points_back"), ("pronouns", "points_back"), ("cue_follow", "asks_on"), ("last_follow", "asks_on"),
    ("cue_accept", "agrees"), ("cue_refuse", "agrees"), ("cue_correct", "corrects"),
    ("cue_build", "kind_of_request"), ("cue_fix", "kind_of_request"), ("cue_find", "kind_of_request"), ("cue_explain", "kind_of_request"), ("type_changed", "kind_of_request"),
    ("last_build", "kind_of_request"), ("last_fix", "kind_of_request"), ("last_find", "kind_of_request"), ("last_explain", "kind_of_request"),
    ("cue_want", "asks_for_something"), ("last_want", "asks_for_something"), ("own_want", "asks_for_something"), ("cue_ask_you", "asks_about_you"), ("last_ask_you", "asks_about_you"),
    ("prev_question", "answers_question"), ("prev_asks_last", "answers_question"), ("before_question", "answers_question"),
    ("question", "question"), ("asks_last", "question"),
    ("new_names", "new_names"), ("known_names", "known_names"), ("prev_new_names", "new_names"), ("titles", "new_names"),
    ("fresh", "new_words"), ("prev_fresh", "new_words"), ("from_prev_fresh", "new_words"),
    ("in_", "shared_words"), ("cosine", "shared_words"), ("returns", "shared_words"), ("last_in_window", "shared_words"), ("prev_in_window", "shared_words"),
    ("user", "speaker"), ("same_role", "speaker"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason for (above 0) or against a boundary."""

    name: str
    weight: float  # log odds
    detail: str = ""


@lru_cache(maxsize=512)
def _group(name: str) -> str:
    return next((group for begin, group in _GROUPS if name.startswith(begin)), "manner")


def reasons_of(
    names: Sequence[str],
    parts: Sequence[float],
    said: MessageFeatures,
    behaved: Sequence[Reason],
) -> tuple[Reason, ...]:
    """Return the heaviest reasons first."""
    sums: dict[str, float] = {}
    for name, part in zip(names, parts, strict=True):
        if part:
            group = _group(name)
            sums[group] = sums.get(group, 0.0) + part
    found = [
        Reason(group, round(weight, 3), _detail(group, said))
        for group, weight in sums.items()
        if abs(weight) >= LEAST_REASON
    ]
    found.extend(behaved)
    return tuple(sorted(found, key=lambda r: (-abs(r.weight), r.name))[:REASONS])


#: Reasons that show another subject; and phrases that open or close one, which count if they indicate a beginning.
_SUBJECT = frozenset({"shared_words", "new_words", "new_names", "known_names"})
_PHRASES = frozenset(
    {
        "says_start", "opens_subject", "asks_more", "greeting", "was_asked_what_next", "was_settled", "says_end", "thanked",
        "thanks", "parted", "parts", "asks_for_something",
    }
)  # fmt: skip


def evidence_of(names: Sequence[str], parts: Sequence[float]) -> float:
    """Return the part of a score that shows another subject: the rest is style and speaker."""
    out = 0.0
    for name, part in zip(names, parts, strict=True):
        group = _group(name)
        if group in _SUBJECT or (part > 0 and group in _PHRASES):
            out += part
    return out


def _detail(group: str, said: MessageFeatures) -> str:
    if group == "says_start":
        return said.read.starts
    if group == "says_end":
        return said.read.ends
    if group == "new_words":
        return ", ".join(sorted(said.fresh)[:4])
    if group == "new_names":
        return ", ".join(sorted(said.names)[:3])
    return ""
