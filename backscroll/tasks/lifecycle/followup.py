"""Follow-up questions: what is missing to continue a task, asked in the user's language, three at most.

Owns the rules for what is missing (what "it doesn't work" means, the words of an error, which file, which version, which of two
instructions holds, what "better" means) and for what is not: what the history already answers is never asked. An answer is a
message of the user's; `find_answer` finds it. The cues are data (`followup.toml`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import NamedTuple, cast

from backscroll.derive.essence.cues import CODE, lower_aligned, paths_in
from backscroll.derive.recipe import Recipe
from backscroll.tasks.lifecycle.plans import SourcedText
from backscroll.tasks.lifecycle.points import is_vague, language_in, points_of
from backscroll.tasks.lifecycle.tuning import CANDIDATES, FIRM, QUESTIONS, READ
from backscroll.tasks.memory.request import lines_of
from backscroll.tasks.notes import quote_text
from backscroll.tasks.preferences.preferences import fold
from backscroll.tasks.preferences.reader import PreferenceStatement, read_text, statements
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import Json

#: The recipe of rule-made questions; raise its version whenever the same input would give others.
RECIPE = Recipe("task-questions", 2)
_ERROR = re.compile(
    r"[\w.]*(?:Error|Exception)\b|\b(?:errno|code|status|exit(?: code)?)[ :=]*\d+|\b[45]\d\d\b|(?:error|fatal|panic)(?:\[\w+\])?: \S"
    r"|(?:错误|异常|报错)[:：]\s*\S|错误码|```"
)
_VERSION = re.compile(
    r"\bv?\d+\.\d+|\b(?:python|node|java|go|ubuntu|debian|windows|macos|ios|android|chrome|firefox|safari)[ -]?\d+|版本\s*\d"
)


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A question to the user, the reason, and what is unclear."""

    text: str
    why: str
    sources: tuple[Ref, ...]
    about: str = ""  # asked, expected, error, file, version, conflict, measure; empty: a model's


@dataclass(frozen=True, slots=True)
class AskInput:
    """What is known when a question may be needed."""

    feedback: SourcedText | None = None  # the latest
    media: bool = False  # whether it came with images
    before: tuple[Message, ...] = ()  # the messages of the task up to the feedback
    after: tuple[Message, ...] = ()  # the messages since
    open: tuple[SourcedText, ...] = ()  # unanswered questions of the assistant
    language: str = ""


class _FollowUpCues(NamedTuple):
    words: Mapping[str, str]
    cues: Mapping[str, re.Pattern[str]]


@cache
def _cues(language: str) -> _FollowUpCues:
    raw = resources.files("backscroll.tasks").joinpath("followup.toml").read_text(encoding="utf-8")
    data = cast("Mapping[str, Json]", tomllib.loads(raw))["zh" if language.startswith("zh") else "en"]
    words = {name: text for name, text in data.items() if isinstance(text, str)}
    return _FollowUpCues(words, {name: re.compile(pattern) for name, pattern in data["cues"].items()})


def questions(state: AskInput) -> list[FollowUp]:
    """Return the questions, the most important first; none if nothing is missing or it was answered since."""
    told = state.feedback.text if state.feedback else ""
    language = language_in(told, state.language)
    cues = _cues(language)
    found = [*_missing(state, cues), *_ask_unanswered(state, cues)]
    out: dict[str, FollowUp] = {}
    for question in found:
        if question.about not in out and find_answer(question, state.after) is None:
            out[question.about] = question
    return list(out.values())[:QUESTIONS]


def _missing(state: AskInput, cues: _FollowUpCues) -> Iterator[FollowUp]:
    said = state.feedback
    if said is None:
        return
    words, low = cues.words, lower_aligned(said.text[:READ])
    heard = "\n".join(m.text for m in state.before if m.role in ("user", "tool"))[-READ:]
    yield from _conflicts(state, said, words)
    points = points_of(said.text)
    if (points and all(p.vague for p in points)) or is_vague(said.text):
        kind = "expected_seen" if state.media else "expected"
        yield FollowUp(words[kind], words["why_expected"], (said.source,), "expected")
        return  # one question at a time: its answer will clarify more
    if cues.cues["error"].search(low) and not _ERROR.search(said.text) and not state.media:
        yield FollowUp(words["error"], words["why_error"], (said.source,), "error")
    yield from _which(state, said, cues)
    if cues.cues["version"].search(low) and not _VERSION.search(f"{low}\n{lower_aligned(heard)}"):
        yield FollowUp(words["version"], words["why_version"], (said.source,), "version")
    wish = cues.cues["measure"].search(low)
    if wish is not None and len(points) <= 1 and not any(c.isdigit() for c in said.text):
        text = words["measure"].format(text=said.text[wish.start() : wish.end()].strip())
        yield FollowUp(text, words["why_measure"], (said.source,), "measure")


def _which(state: AskInput, said: SourcedText, cues: _FollowUpCues) -> Iterator[FollowUp]:
    """Yield the question which file is meant, if none is named and the history knows several (or none)."""
    hit = cues.cues["file"].search(lower_aligned(said.text[:READ]))
    if hit is None or paths_in(said.text) or CODE.search(said.text) or state.media:
        return
    known: dict[str, None] = {}
    for message in reversed(state.before[-40:]):
        if message.role != "tool":
            known.update(dict.fromkeys(paths_in(message.text[:READ])))
    names = list(known)[:CANDIDATES]
    words = cues.words
    if len(names) > 1:
        text = words["file"].format(names=", ".join(names))
        yield FollowUp(text, words["why_file"], (said.source,), "file")
    elif not names and not any(m.role == "assistant" and CODE.search(m.text) for m in state.before[-6:]):
        text = words["file_open"].format(text=said.text[hit.start() : hit.end()])
        yield FollowUp(text, words["why_file"], (said.source,), "file")


def _conflicts(state: AskInput, said: SourcedText, words: Mapping[str, str]) -> Iterator[FollowUp]:
    """Yield questions about instructions that contradict earlier firm ones, or each other in one message."""
    earlier = [s for m in state.before if m.role == "user" for s in statements(m) if s.strength >= FIRM]
    now = [
        PreferenceStatement(*read[:6], read.strength, said.source, said.source, said.at, number)
        for number, read in enumerate(read_text(said.text))
    ]
    for one in now:
        for old in (*earlier, *now[: one.number]):
            # "From now on" settles it.
            firm_now = one.strength >= FIRM and old in earlier
            if not firm_now and any(p.superseded for p in fold([old, one])):
                text = words["conflict"].format(
                    before=quote_text(old.text, 100), now=quote_text(one.text, 100)
                )
                sources = tuple(dict.fromkeys((old.revision, one.revision)))
                yield FollowUp(text, words["why_conflict"], sources, "conflict")
                return


def _ask_unanswered(state: AskInput, cues: _FollowUpCues) -> Iterator[FollowUp]:
    for said in state.open[-1:]:
        text = cues.words["asked"].format(text=quote_text(said.text, 240))
        yield FollowUp(text, cues.words["why_asked"], (said.source,), "asked")


def find_answer(question: FollowUp, later: Sequence[Message]) -> Message | None:
    """Return the message that answers a question, among later ones; None if none does."""
    for message in later:
        if message.role == "user" and not message.hidden and _answers(question.about, message):
            return message
    return None


def _answers(about: str, message: Message) -> bool:
    text = message.text[:READ]
    if not text.strip():
        return about in ("expected", "error", "file") and len(message.parts) > 0
    if is_vague(text):
        return False
    if about == "error":
        return bool(_ERROR.search(text)) or "\n" in text.strip()
    if about == "file":
        return bool(paths_in(text) or CODE.search(text))
    if about == "version":
        return bool(_VERSION.search(lower_aligned(text)))
    return len(text.encode("utf-8", "surrogatepass")) >= 6


# -- with a model ------------------------------------------------------------------------------------------------


def questions_by_model(text: str, rules: Sequence[FollowUp], known: Mapping[int, Ref]) -> list[FollowUp]:
    """Return the questions that a model wrote; none if it says that nothing is missing."""
    if re.fullmatch(r"\W*(?:none|无|没有)\W*", text.strip().lower()):
        return []
    out = [
        FollowUp(
            quote_text(f"{line.label}: {line.text}" if line.label else line.text, 300), "", line.messages
        )
        for line in lines_of(text, known)
    ]
    return out[:QUESTIONS] or list(rules)
