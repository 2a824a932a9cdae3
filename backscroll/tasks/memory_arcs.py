"""The course of a piece of work: why something was as it was, what was done about it, what shows that it helped.

Owns finding the three sentences in what people and the assistant said: cause, fix, evidence, in this order. A sentence is weighed by the words
that tell causes, fixes and results (`memory_arcs.toml`), by who says it and by where it stands; questions, greetings and thanks never
count. Refuses writing notes. Before: `derive/sentences_cues`. After: `tasks/memory_outcomes` and `tasks/memory_lessons`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import cast

from backscroll.derive.sentences_cues import lowered, marked
from backscroll.tasks.memory_notes import quoted
from backscroll.vocab.handle import Handle
from backscroll.vocab.message import Message
from backscroll.vocab.pattern import late

MOST = 3  # arcs of one task, the last ones
_WIDE = 20_000
_LONG = 400  # characters of a sentence that is read
_SHOWN = 200  # characters of each part
_CAUSE, _FIX, _EVIDENCE = 1.2, 1.4, 1.3  # from which weight a sentence tells one
_TALK = 30  # messages of a talk that is read by places too
_HINTED = 1.0  # … and from which it is evidence where nothing better follows a fix
_STRONG = 1.0  # weight of words that show something by themselves: numbers and "now" alone do not
_SHORT = 8  # weight in letters from which a sentence says something; a Chinese character counts twice
_HAN = late(r"[\u3400-\u9fff\uf900-\ufaff]")
_MARKS = late(r"^(?:[-*+•]\s+|\d{1,2}[.)]\s+)+|\*\*|^#+\s+|^[✅✔]\s*")
_PASTED = (
    1_500  # characters from which a message of the user is pasted: what it explains is not found out here
)
_THANKS = late(
    r"(?i)^(?:thanks|thank you|great|perfect|nice|cool|ok(?:ay)?|excellent|wonderful|lovely|awesome|yes|sure|glad|happy to|you're welcome"
    r"|太好了|好的?|谢谢|不错|不客气|真棒|赞|恭喜|可以|行|嗯)(?:[\s,.!，。！～~]+|$)"
)
_WISHES = late(
    r"(?i)\b(?:have a (?:nice|good|great)|take care|enjoy|let me know|anything else|happy to help|glad to hear|so good to hear|sounds good)\b"
    r"|^祝|祝(?:您|你|它|一切|旅途)|随时(?:找|联系|告诉)|还有(?:别的|什么|其他)|再见|早点休息|不客气|恭喜"
)
_PLAN = late(
    r"(?i)^(?:now,? |next,? |then )?(?:i'll|i will|i need to|let me|let's|we should|we need to|shall i|i would|i'd|please add|我(?:先|来|去)?(?:看|查|录|试)(?:一下|看|一段)?|让我|稍等)"
)
#: What only announces a part.
_LEAD = late(
    r"(?i)^(?:found (?:it|the (?:cause|problem|bug))|(?:so )?(?:the |that's the )?(?:root |real )?(?:cause|reason|problem|issue|culprit)(?: (?:is|was))?"
    r"|it (?:turned|turns) out|fixed|done|that fits|(?:找|查)到了?(?:原因)?(?:了)?|(?:根本)?原因(?:找到了|是|在于)|问题(?:是|(?:出)?在于?))"
    r"(?:\s*[:：,，.]\s*|\s+that\s+|\s+(?=[a-z]))|^(?:(?:根本)?原因是|问题(?:是|出在|在于))\s*"
)
#: What points back at the sentence before it.
_BACK = late(
    r"(?i)^(?:that(?:'s| is| fits| explains)|this (?:is|means)|hence|therefore|so\b|which|因此|所以|这(?:就|样|是)|于是)"
)


@dataclass(frozen=True, slots=True)
class Told:
    """A sentence and the message that it stands in."""

    text: str
    message: Message


@dataclass(frozen=True, slots=True)
class Arc:
    """Cause, fix and evidence of one piece of work; what nobody told is None."""

    cause: Told | None
    fix: Told | None
    evidence: Told | None

    @property
    def parts(self) -> tuple[Told, ...]:
        """What was told, in order."""
        return tuple(part for part in (self.cause, self.fix, self.evidence) if part is not None)

    def line(self, *, handles: bool = False) -> str:
        """The arc on one line; with `handles` each part names its message."""
        return " → ".join(_part(part, handles=handles) for part in self.parts)


def _part(part: Told, *, handles: bool) -> str:
    lead = _LEAD.match(part.text)
    rest = part.text if lead is None else part.text[lead.end() :]
    text = quoted(rest if len(rest) >= _SHORT else part.text, _SHOWN).rstrip(" .。!！,，;；")
    seq = part.message.id.seq
    return f"{text} {Handle(seq, seq)}" if handles else text


@dataclass(frozen=True, slots=True)
class _Weighed:
    """A sentence with what it may tell."""

    place: int  # of its message
    number: int  # of the sentence among all
    text: str
    before: str  # the sentence before it in the same message
    cause: float
    fix: float
    evidence: float


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


def arcs_of(said: Sequence[Message]) -> list[Arc]:
    """The arcs that messages tell, in order; each has a fix, or a cause with evidence."""
    told = _weighed(said)
    causes = _chosen_causes(said, told) or _by_place(said, told)
    if not causes:
        arc = _arc(said, told, None, 0, len(told))
        return [] if arc is None or arc.evidence is None else [arc]
    out: list[Arc] = []
    for n, cause in enumerate(causes):
        upto = causes[n + 1].number if n + 1 < len(causes) else len(told)
        arc = _arc(said, told, cause, cause.number + 1, upto)
        if arc is not None:
            out.append(arc)
    return out[-MOST:]


def trouble_before(said: Sequence[Message], after: int, arc: Arc) -> Told | None:
    """What the user said was wrong: the first sentence that says something, between a place and the cause of an arc."""
    upto = next((n for n, m in enumerate(said) if m is arc.parts[0].message), len(said))
    asked: Told | None = None
    for message in said[after : upto + 1]:
        if message.role != "user":
            continue
        for piece in marked(message.text[:_WIDE]):
            if piece.sentence.shape not in ("prose", "item") or not _plain(piece.text.strip()):
                continue
            if "question" not in piece.cues:
                return Told(piece.text.strip(), message)
            asked = asked or Told(piece.text.strip(), message)
    return asked


def says_something(text: str) -> bool:
    """True for a sentence that is more than thanks, wishes and a plan."""
    return bool(_plain(text.strip())) and _PLAN.match(text.strip()) is None


def _by_place(said: Sequence[Message], told: Sequence[_Weighed]) -> list[_Weighed]:
    """Where no words tell a cause: what the assistant found between the user's trouble and what was done about it.

    Only where the user's last words tell how it went: a talk that goes on has found nothing yet.
    """
    first = next((m for m in said if m.role == "user"), None)
    if not _short_talk(said):
        return []
    spoken = [s for s in told if said[s.place].role == "user"]
    if first is None or not _troubled(first.text) or not spoken:
        return []
    answers = [s for s in told if said[s.place].role == "assistant" and s.place < spoken[-1].place]
    places = sorted({s.place for s in answers if not _PLAN.match(s.text)})
    if len(places) < 2:
        return []  # one answer alone is the fix
    found = [s for s in answers if s.place == places[-2] and s.fix < _FIX and s.evidence < _EVIDENCE]
    best = max(found, key=lambda s: (s.cause, -s.number), default=None)
    return [] if best is None else [best]


def _short_talk(said: Sequence[Message]) -> bool:
    """True where people talk and no tools are called: only there does the place of a sentence say what it is."""
    return len(said) <= _TALK and all(m.role in ("user", "assistant") for m in said)


def _troubled(text: str) -> bool:
    low = lowered(text[:_PASTED])
    rows = _tables()["zh" if _HAN.search(text) else "en"]["trouble"]
    return any(pattern.search(low) for pattern, _ in rows)


def _chosen_causes(said: Sequence[Message], told: Sequence[_Weighed]) -> list[_Weighed]:
    """Sentences that say why; of those with nothing done between them the weightiest."""
    out: list[_Weighed] = []
    last = max(
        (s.place for s in told if said[s.place].role == "assistant" and not _PLAN.match(s.text)), default=0
    )
    for one in told:
        later = one.place < last  # what follows it is the fix, though this names a change as well
        if one.cause < _CAUSE or (one.cause < one.fix and not later):
            continue
        done = out and any(s.fix >= _FIX and s.fix > s.cause for s in told[out[-1].number + 1 : one.number])
        if not out or done:
            out.append(one)
        elif one.cause > out[-1].cause:
            out[-1] = one
    return out


def _arc(
    said: Sequence[Message], told: Sequence[_Weighed], cause: _Weighed | None, low: int, high: int
) -> Arc | None:
    """The best fix behind a cause, and the best evidence behind the fix."""
    fixes = [s for s in told[low:high] if s.fix >= _FIX and s.fix >= s.evidence]
    fix = max(fixes, key=lambda s: (s.fix, -s.number), default=None)
    talk = _short_talk(said)
    if fix is None and cause is not None and talk:
        # What the assistant says next is what was done about it, whatever its words.
        later = [s for s in told[low:high] if said[s.place].role == "assistant" and s.place > cause.place]
        fix = next((s for s in later if s.evidence < _EVIDENCE and not _PLAN.match(s.text)), None)
    behind = low if fix is None else fix.number + 1
    shown = [s for s in told[behind:high] if s.evidence >= _EVIDENCE and s.evidence > s.cause]
    evidence = max(shown, key=lambda s: (s.evidence, s.number), default=None)
    if evidence is None and fix is not None and talk:
        # Nobody praises it, but the user tells how it went.
        hinted = [s for s in told[behind:high] if said[s.place].role == "user"]
        evidence = hinted[-1] if hinted and (cause is not None or hinted[-1].evidence >= _HINTED) else None
    if fix is None and (cause is None or evidence is None):
        return None
    done = None if fix is None else Told(_whole(fix, told[low:]), said[fix.place])
    shows = None if evidence is None else Told(evidence.text, said[evidence.place])
    why = None if cause is None else Told(_with_before(cause), said[cause.place])
    return Arc(why, done, shows)


def _whole(fix: _Weighed, told: Sequence[_Weighed]) -> str:
    """A fix together with the rest of a short message: what was done is often told in two sentences."""
    every = " ".join(s.text for s in told if s.place == fix.place)
    return every if len(every) <= _SHOWN else fix.text


def _with_before(cause: _Weighed) -> str:
    """A cause that only points back, together with what it points at."""
    return f"{cause.before} {cause.text}" if cause.before and _BACK.match(cause.text) else cause.text


def _weighed(said: Sequence[Message]) -> list[_Weighed]:
    out: list[_Weighed] = []
    looked = False
    for place, message in enumerate(said):
        if message.role not in ("user", "assistant"):
            continue
        looked = looked or message.role == "assistant"
        before = cut = ""
        for piece in marked(message.text[:_WIDE]):
            text = _MARKS.sub("", f"{cut} {piece.text.strip()}".strip())
            cut = (
                text if text.endswith(" .") else ""
            )  # a stop by itself is an argument, not an end: "COPY . ."
            if cut:
                continue
            if piece.sentence.shape not in ("prose", "item") or len(text) > _LONG:
                before = ""
                continue
            plain = _plain(text)
            if "question" in piece.cues or not plain or plain.endswith((":", "：")) or plain[0] in "<#":
                before = ""
                continue
            pasted = message.role == "user" and len(message.text) > _PASTED
            cause, fix, evidence = _weigh(plain, message.role, "success" in piece.cues)
            # What is told before anybody looked is the trouble, not its cause.
            weights = (0.0, 0.0, 0.0) if pasted else (cause if looked else 0.0, fix, evidence)
            out.append(_Weighed(place, len(out), plain, before, *weights))
            before = plain
    return out


def _plain(text: str) -> str:
    """A sentence without thanks before it; empty where nothing is left that says something."""
    thanks = _THANKS.match(text)
    rest = text if thanks is None else text[thanks.end() :]
    if _WISHES.search(rest) or len(rest) + len(_HAN.findall(rest)) < _SHORT:
        return ""
    return rest


def _weigh(text: str, role: str, success: bool) -> tuple[float, float, float]:
    low = lowered(text)
    sums = {"cause": 0.0, "fix": 0.0, "evidence": 0.0}
    for language in ("en", "zh") if _HAN.search(text) else ("en",):
        for what, rows in _tables()[language].items():
            if what not in sums:
                continue
            found = [weight for pattern, weight in rows if pattern.search(low)]
            if what == "evidence" and role == "assistant" and max(found, default=0.0) < _STRONG:
                continue
            sums[what] += sum(found)
    if _PLAN.match(text):  # what somebody is about to do shows nothing yet
        return 0.0, 0.0, 0.0
    if role == "user":
        # People ask for what is to be done, and tell how it went.
        return sums["cause"] * 0.6, sums["fix"] * 0.4, sums["evidence"] + 0.4 + 0.6 * success
    return sums["cause"], sums["fix"], sums["evidence"] + 0.3 * success
