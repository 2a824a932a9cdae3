"""The messages of a task as turns of a talk: the speech acts of each, and the weight of each sentence as cause, fix or evidence.

Owns the weights of words (`memory_arcs.toml`) and the flags of a message: it asks or wishes, reports a problem, follows the
results of tools. Thanks, wishes, questions and plans are no evidence. Not here: choosing.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import cast

from backscroll.derive.digest import Digest
from backscroll.derive.essence.cues import lower_aligned, mark_sentences
from backscroll.tasks.memory.moves import asks, fails, instructs, proposes, reports, wishes, wrong
from backscroll.tasks.memory.tuning import ESSAY, PASTED, READ, SENTENCE, SHORT, STRONG
from backscroll.tasks.notes import has_succeeded
from backscroll.vocab.message import Message
from backscroll.vocab.values.pattern import late

HAN = late(r"[\u3400-\u9fff\uf900-\ufaff]")
_MARKS = late(r"^(?:[-*+•]\s+|\d{1,2}[.)]\s+)+|\*\*|^#+\s+|^[✅✔]\s*")
_THANKS = late(
    r"(?i)^(?:(?:thanks|thank you)(?: (?:so|very) much)?(?: for [^.!?,;—]{1,80})?|great|perfect|nice|cool|ok(?:ay)?|excellent|wonderful|lovely|awesome|yes|sure|glad|happy to|you're welcome"
    r"|太好了|好的?|谢谢|不错|不客气|真棒|赞|恭喜|可以|行|嗯)(?:[\s,.!，。！～~]+|$)"
)
_WISHES = late(
    r"(?i)\bi (?:really )?appreciate\b|\bthat(?:'s| is| was| will be) (?:all|everything)\b|^for (?:your|the|all)\b[^.]{0,30}(?:help|time|support)"
    r"|\b(?:thanks|thank you) (?:again|so|for)\b|\b(?:have a (?:nice|good|great)|take care|enjoy|let me know|anything else|happy to help|glad to hear|so good to hear|sounds good)\b"
    r"|^祝|祝(?:您|你|它|一切|旅途)|随时(?:找|联系|告诉)|还有(?:别的|什么|其他)|再见|早点休息|不客气|恭喜"
)
PLAN = late(
    r"(?i)^(?:now,? |next,? |then )?(?:i'll|i will|i need to|let me|let's|we should|we need to|shall i|i would|i'd|please add|我(?:先|来|去)?(?:看|查|录|试)(?:一下|看|一段)?|让我|稍等)"
)


@dataclass(frozen=True, slots=True)
class SentenceWeights:
    """A sentence with its weights."""

    place: int  # of its message
    number: int  # of the sentence among all
    text: str
    before: str  # the sentence before it in the same message
    cause: float
    fix: float
    evidence: float
    moves: frozenset[str]  # reports, proposes


@dataclass(slots=True)
class MessageSigns:
    """The speech acts of a message, and its sentences."""

    role: str  # user, assistant, tool
    told: list[SentenceWeights] = field(default_factory=list[SentenceWeights])
    long: bool = False  # an essay or a paste: the position of its sentences means little
    open: bool = False  # it asks, requests or wishes something
    wrong: bool = False  # it reports a problem
    fails: bool = False
    edits: bool = False  # it calls a tool that changes something
    seen: bool = False  # it directly follows results of tools


@cache
def _tables() -> Mapping[str, Mapping[str, Sequence[tuple[re.Pattern[str], float]]]]:
    raw = resources.files("backscroll.tasks").joinpath("memory_arcs.toml").read_text(encoding="utf-8")
    data = cast("Mapping[str, Mapping[str, Mapping[str, float]]]", tomllib.loads(raw))
    return {
        language: {
            what: [(re.compile(pattern), weight) for pattern, weight in rows.items()]
            for what, rows in kinds.items()
        }
        for language, kinds in data.items()
    }


def turns_of(said: Sequence[Message], digests: Sequence[Digest] = ()) -> dict[int, MessageSigns]:
    """Return the talk message by message. A message without text passes its calls to the next one; the output of a command is
    a turn of its own.
    """
    out: dict[int, MessageSigns] = {}
    edits = {digest.call for digest in digests if digest.kind in ("edit", "write") and has_succeeded(digest)}
    shown = {
        digest.result: digest for digest in digests if digest.kind == "command" and has_succeeded(digest)
    }
    looked = seen = edited = False
    count = 0
    for place, message in enumerate(said):
        edited = edited or message.id in edits
        if message.role == "tool":
            seen = True
            if message.id in shown and edits:
                weights = _weigh(shown[message.id].summary, "tool", False, seen=True)
                out[place] = MessageSigns(
                    "tool",
                    [
                        SentenceWeights(
                            place, count, shown[message.id].summary, "", 0.0, 0.0, weights[2], frozenset()
                        )
                    ],
                )
                count += 1
        if message.role not in ("user", "assistant") or not message.text.strip():
            continue
        looked = looked or message.role == "assistant"
        turn = MessageSigns(
            message.role, long=len(message.text) > (PASTED if message.role == "user" else ESSAY)
        )
        turn.seen = seen and message.role == "assistant"
        turn.edits = edited and message.role == "assistant"
        seen = edited = False
        count = _read(turn, message, place, looked, count)
        out[place] = turn
    return out


def _read(turn: MessageSigns, message: Message, place: int, looked: bool, count: int) -> int:
    """Parse the sentences of a message into its turn; return the running number of sentences."""
    before = cut = ""
    user = message.role == "user"
    for piece in mark_sentences(message.text[:READ]):
        text = _MARKS.sub("", f"{cut} {piece.text.strip()}".strip())
        cut = text if text.endswith(" .") else ""  # a stop by itself is an argument, not an end: "COPY . ."
        if cut:
            continue
        if piece.sentence.shape not in ("prose", "item") or len(text) > SENTENCE:
            before = ""
            continue
        plain = plain_of(text)
        asking = asks(piece)
        turn.open = turn.open or asking or (user and wishes(plain or text))
        if user:
            turn.wrong = turn.wrong or wrong(piece, first=not looked)
            turn.fails = turn.fails or fails(piece)
        if asking or not plain or plain.endswith((":", "：")) or plain[0] in "<#":
            before = ""
            continue
        cause, fix, evidence, advice = _weigh(plain, message.role, "success" in piece.cues, seen=turn.seen)
        # A statement before any check is the problem, not its cause; a pasted text is no finding of this talk.
        weights = (0.0, 0.0, 0.0) if user and turn.long else (cause if looked else 0.0, fix, evidence)
        if PLAN.match(plain):
            before = plain
            continue
        moves = {"reports"} if reports(piece) else set[str]()
        moves |= {"proposes"} if proposes(plain) else set()
        moves |= {"advises"} if advice or instructs(plain) else set()
        turn.told.append(SentenceWeights(place, count, plain, before, *weights, frozenset(moves)))
        count += 1
        before = plain
    return count


def size_of(text: str) -> int:
    """Return the weight of a text in letters."""
    return len(text) + len(HAN.findall(text))


def plain_of(text: str) -> str:
    """Return a sentence without thanks before it; empty if nothing informative remains."""
    thanks = _THANKS.match(text)
    rest = text if thanks is None else text[thanks.end() :]
    if _WISHES.search(rest.replace("’", "'")) or size_of(rest) < SHORT:
        return ""
    return rest


def _weigh(text: str, role: str, success: bool, *, seen: bool) -> tuple[float, float, float, bool]:
    """Return the weights of a sentence as cause, fix and evidence, and whether it is advice."""
    low = lower_aligned(text)
    sums = {"cause": 0.0, "fix": 0.0, "advice": 0.0, "evidence": 0.0}
    for language in ("en", "zh") if HAN.search(text) else ("en",):
        for what, rows in _tables()[language].items():
            found = [weight for pattern, weight in rows if pattern.search(low)]
            if what == "evidence" and role == "assistant" and not seen and max(found, default=0.0) < STRONG:
                continue
            sums[what] += sum(found)
    advice = sums["advice"] > 0
    sums["fix"] += sums["advice"]
    if role == "user":
        # Users request actions, and report outcomes.
        return sums["cause"] * 0.6, sums["fix"] * 0.4, sums["evidence"] + 0.4 + 0.6 * success, advice
    return sums["cause"], sums["fix"], sums["evidence"] + 0.3 * success, advice
