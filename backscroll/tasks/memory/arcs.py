"""Arcs of a piece of work: the cause of a problem, the fix, the evidence that it helped.

Owns finding these three sentences in what people and the assistant said, in this order. A talk is read as a
whole: the user reports a problem, the assistant states the cause and then the fix, and the user or a tool shows
the outcome; without such an outcome only sentences with unambiguous words count. Not here: writing
notes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from backscroll.derive.digest import Digest
from backscroll.derive.essence.cues import NUMBER, mark_sentences
from backscroll.tasks.memory.moves import wrong
from backscroll.tasks.memory.tuning import (
    ARC_PART,
    ARCS,
    CAPPED,
    CAUSE_IN_COURSE,
    CLEAR,
    CLOSING,
    EVIDENCE,
    FIX,
    FIX_IN_COURSE,
    HINTED,
    NEAR,
    READ,
    SAYS,
    SURE_CAUSE,
    TALK,
    TELLING,
    WITHOUT_LEAD,
)
from backscroll.tasks.memory.turns import (
    PLAN,
    MessageSigns,
    SentenceWeights,
    plain_of,
    size_of,
    turns_of,
)
from backscroll.tasks.notes import quote_text
from backscroll.vocab.handle import Handle
from backscroll.vocab.message import Message
from backscroll.vocab.values.pattern import late

#: Introductory phrases of a part.
_LEAD = late(
    r"(?i)^(?:found (?:it|the (?:cause|problem|bug))|(?:so )?(?:the |that's the )?(?:root |real )?(?:cause|reason|problem|issue|culprit)(?: (?:is|was))?"
    r"|it (?:turned|turns) out|fixed|done|that fits|(?:找|查)到了?(?:原因)?(?:了)?|(?:根本)?原因(?:找到了|是|在于)|问题(?:是|(?:出)?在于?))"
    r"(?:\s*[:：,，.]\s*|\s+that\s+|\s+(?=[a-z]))|^(?:(?:根本)?原因是|问题(?:是|出在|在于))\s*"
)


@dataclass(frozen=True, slots=True)
class ArcSentence:
    """A sentence and its message."""

    text: str
    message: Message


@dataclass(frozen=True, slots=True)
class Arc:
    """Cause, fix and evidence of one piece of work; a part that is not stated is None."""

    cause: ArcSentence | None
    fix: ArcSentence | None
    evidence: ArcSentence | None

    @property
    def parts(self) -> tuple[ArcSentence, ...]:
        """The stated parts, in order."""
        return tuple(part for part in (self.cause, self.fix, self.evidence) if part is not None)

    def line(self, *, handles: bool = False) -> str:
        """Return the arc on one line; with `handles` each part names its message."""
        return " → ".join(_part(part, handles=handles) for part in self.parts)


def _part(part: ArcSentence, *, handles: bool) -> str:
    lead = _LEAD.match(part.text)
    rest = part.text if lead is None else part.text[lead.end() :]
    text = quote_text(rest if len(rest) >= WITHOUT_LEAD else part.text, ARC_PART).rstrip(" .。!！,，;；")
    seq = part.message.id.seq
    return f"{text} {Handle(seq, seq)}" if handles else text


def arcs_of(said: Sequence[Message], digests: Sequence[Digest] = ()) -> list[Arc]:
    """Return the arcs in messages, in order; each has a fix, or a cause with evidence.

    A talk that is short enough is read as a whole: problem, cause, fix, outcome. In longer work only sentences with
    unambiguous words count.
    """
    turns = turns_of(said, digests)
    if sum(turn.role != "tool" for turn in turns.values()) <= TALK:
        found = _courses(turns)
        if found:
            return [_arc(said, turns, *parts) for parts in found[-ARCS:]]
    return _by_words(said, turns)[-ARCS:]


def trouble_before(said: Sequence[Message], after: int, arc: Arc) -> ArcSentence | None:
    """Return the problem that the user reported: the first informative sentence between a place and the cause of an arc."""
    upto = next((n for n, m in enumerate(said) if m is arc.parts[0].message), len(said))
    asked: ArcSentence | None = None
    for message in said[after : upto + 1]:
        if message.role != "user":
            continue
        for piece in mark_sentences(message.text[:READ]):
            if piece.sentence.shape not in ("prose", "item") or not plain_of(piece.text.strip()):
                continue
            if "question" not in piece.cues:
                return ArcSentence(piece.text.strip(), message)
            asked = asked or ArcSentence(piece.text.strip(), message)
        if asked is not None and any(map(wrong, mark_sentences(asked.text))):
            return asked
    return asked


def says_something(text: str) -> bool:
    """Return True for a sentence that is more than thanks, wishes or a plan."""
    return bool(plain_of(text.strip())) and PLAN.match(text.strip()) is None


# -- read as a whole ---------------------------------------------------------------------------------------------


_Parts: TypeAlias = tuple[SentenceWeights | None, SentenceWeights, SentenceWeights | None]


def _courses(turns: Mapping[int, MessageSigns]) -> list[_Parts]:
    """Return the arcs of a talk: for each problem the best cause, fix and evidence after it, in this order."""
    out: list[_Parts] = []
    places, began = sorted(turns), 0
    while began < len(places):
        best: tuple[float, int, _Parts] | None = None
        start = next((n for n in range(began, len(places)) if _begins(turns[places[n]], began)), len(places))
        for n in range(start + 1, len(places)):
            course = _course(turns, places[start:], n - start)
            if course is None:
                continue
            if best is not None and course[1][1].place > places[best[1]]:
                if _worked_on(turns, course[1][1]):
                    break  # something else was done after a good outcome: another arc
                course = (
                    course[0],
                    (best[2][0], best[2][1], course[1][2]),
                )  # the good outcome is reported again
            if best is None or course[0] > best[0]:
                best = course[0], n, course[1]
        if best is None:
            return out
        out.append(best[2])
        began = best[1] + 1
    return out


def _begins(turn: MessageSigns, later: int) -> bool:
    """Return True for a message in which the user reports a problem; after a finished arc, for anything new."""
    return turn.role == "user" and (turn.wrong or (later > 0 and bool(turn.told)))


def _course(turns: Mapping[int, MessageSigns], places: Sequence[int], at: int) -> tuple[float, _Parts] | None:
    """Return the best cause and fix before a message that reports an outcome; the weight and the three."""
    shown = _shows(turns, places, at)
    if shown is None:
        return None
    evidence, weight = shown
    # Tools and the assistant show the outcome of its own work, not of its advice.
    own = turns[places[at]].role != "user"
    stated = [n for n in range(1, at + 1) if turns[places[n]].role == "assistant" and turns[places[n]].told]
    if turns[places[at]].role == "assistant":
        stated = [n for n in stated if n < at] or stated
    best: tuple[float, _Parts] | None = None
    for n in stated:
        turn = turns[places[n]]
        for fix in turn.told:
            value = _as_fix(turns, places, n, fix)
            if (
                fix.number >= evidence.number
                or value < FIX_IN_COURSE
                or (own and not (turn.edits or _did(fix)))
            ):
                continue
            near = NEAR if n == stated[-1] else 0.0
            why, because = _find_cause(turns, places, n, fix)
            total = weight + value + near + because
            if best is None or total > best[0]:
                best = total, (why, fix, evidence)
    if best is None and not own:
        # No message states the fix; the cause and the good outcome can still be kept.
        why = [s for n in stated for s in turns[places[n]].told if s.cause >= SAYS and s.fix < FIX]
        found = max(why, key=lambda s: (s.cause, s.number), default=None)
        best = None if found is None else (weight + found.cause, (None, found, evidence))
    return best


def _did(one: SentenceWeights) -> bool:
    return one.fix >= FIX and "advises" not in one.moves


def _worked_on(turns: Mapping[int, MessageSigns], one: SentenceWeights) -> bool:
    """Return True if a sentence does or advises something."""
    return turns[one.place].edits or _did(one) or "advises" in one.moves


def _shows(
    turns: Mapping[int, MessageSigns], places: Sequence[int], at: int
) -> tuple[SentenceWeights, float] | None:
    """Return the sentence of a message that best reports an outcome; none if the message makes a request or reports a
    problem.
    """
    turn = turns[places[at]]
    if turn.long or turn.fails or _is_explained(turns, places, at):
        return None
    if turn.role == "tool":
        weights = {s.number: (s, min(s.evidence, CAPPED) - 0.6) for s in turn.told if s.evidence >= HINTED}
    elif turn.role == "assistant":
        least = HINTED if turn.seen else CLEAR
        weights = {s.number: (s, min(s.evidence, CAPPED)) for s in turn.told if s.evidence >= least}
    else:
        settled = _settles(turns, places, at)
        found = [s for s in turn.told if "reports" in s.moves and (settled or s.evidence >= CLEAR)]
        weights = {s.number: (s, 0.9 + min(s.evidence, CAPPED)) for s in found}
    weights = {
        n: (s, w + 0.4 * bool(NUMBER.search(s.text)) - 0.8 * (size_of(s.text) < TELLING))
        for n, (s, w) in weights.items()
    }
    return max(weights.values(), key=lambda row: (row[1], row[0].number), default=None)


def _is_explained(turns: Mapping[int, MessageSigns], places: Sequence[int], at: int) -> bool:
    """Return True if the assistant then states a cause: the report was what it examined, not an outcome."""
    after = turns[places[at + 1]] if at + 1 < len(places) else None
    if after is None or after.role == "user":
        return False
    return any(s.cause >= SAYS and len(s.text) > CLOSING for s in after.told)


def _settles(turns: Mapping[int, MessageSigns], places: Sequence[int], at: int) -> bool:
    """Return True if a message of the user ends the matter: no request, no answer to a question, no further advice after it."""
    turn, before = turns[places[at]], turns[places[at - 1]]
    if turn.open or (before.role == "assistant" and before.open):
        return False
    after = turns[places[at + 1]] if at + 1 < len(places) else None
    if after is None or after.role == "user":
        return True
    told = [s for s in after.told if "proposes" in s.moves or s.fix >= FIX]
    return not told and not after.long and not after.open and not after.edits


def _as_fix(turns: Mapping[int, MessageSigns], places: Sequence[int], n: int, one: SentenceWeights) -> float:
    """Return how well a sentence of the assistant states what was done or should be done."""
    turn, before = turns[places[n]], turns[places[n - 1]]
    value = min(one.fix, CAPPED) - 0.5 * min(one.cause, CAPPED)
    if not turn.long:
        value += 0.7 * ("proposes" in one.moves) + 0.6 * turn.edits
        # After a person asks what to do, or nods, the next statement is the answer.
        value += 0.6 * (before.role == "user" and n > 1 and not before.fails)
    return value - 0.8 * (one.evidence >= EVIDENCE and one.evidence > one.fix)


def _find_cause(
    turns: Mapping[int, MessageSigns], places: Sequence[int], upto: int, fix: SentenceWeights
) -> tuple[SentenceWeights | None, float]:
    """Return the sentence before a fix that best states the cause, with its weight."""
    best: tuple[SentenceWeights | None, float] = None, 0.0
    looked = False
    for n in range(1, upto + 1):
        turn = turns[places[n]]
        for one in turn.told:
            if one.number >= fix.number or (turn.role == "user" and not looked):
                continue
            value = min(one.cause, CAPPED) - 0.5 * min(one.fix, CAPPED)
            if turn.role == "assistant" and not turn.long:
                # A statement of the assistant between problem and fix is its finding, whatever the words.
                value += 0.9 * (n < upto) - 0.4 * ("proposes" in one.moves) + 0.3 * (turn.seen and n < upto)
            same = best[0] is not None and best[0].place == one.place
            longer = same and value == best[1] and best[0] is not None and len(one.text) > len(best[0].text)
            if value >= CAUSE_IN_COURSE and (value > best[1] or longer):
                best = one, value
        looked = looked or turn.role == "assistant"
    return best


# -- read by words -----------------------------------------------------------------------------------------------


def _by_words(said: Sequence[Message], turns: Mapping[int, MessageSigns]) -> list[Arc]:
    """Return the arcs of sentences with unambiguous words."""
    told = [one for place in sorted(turns) for one in turns[place].told]
    causes = _chosen_causes(told)
    if not causes:
        parts = _strong(told, None, 0, len(told))
        return [] if parts is None or parts[2] is None else [_arc(said, turns, *parts)]
    out: list[Arc] = []
    for n, cause in enumerate(causes):
        upto = causes[n + 1].number if n + 1 < len(causes) else len(told)
        parts = _strong(told, cause, cause.number + 1, upto)
        if parts is not None:
            out.append(_arc(said, turns, *parts))
    return out


def _chosen_causes(told: Sequence[SentenceWeights]) -> list[SentenceWeights]:
    """Return sentences that state a cause; without any action between them, only the heaviest."""
    out: list[SentenceWeights] = []
    for one in told:
        if one.cause < SURE_CAUSE or one.cause < one.fix:
            continue
        done = out and any(s.fix >= FIX and s.fix > s.cause for s in told[out[-1].number + 1 : one.number])
        if not out or done:
            out.append(one)
        elif one.cause > out[-1].cause:
            out[-1] = one
    return out


def _strong(
    told: Sequence[SentenceWeights], cause: SentenceWeights | None, low: int, high: int
) -> _Parts | None:
    """Return the certain action after a cause, and the best evidence after that."""
    # Advice alone is not an action.
    fixes = [s for s in told[low:high] if s.fix >= SAYS and s.fix >= s.evidence and _did(s)]
    fix = max(fixes, key=lambda s: (s.fix, -s.number), default=None)
    if fix is None:
        return None
    shown = [s for s in told[fix.number + 1 : high] if s.evidence >= EVIDENCE and s.evidence > s.cause]
    return cause, fix, max(shown, key=lambda s: (s.evidence, s.number), default=None)


def _arc(
    said: Sequence[Message],
    turns: Mapping[int, MessageSigns],
    cause: SentenceWeights | None,
    fix: SentenceWeights,
    evidence: SentenceWeights | None,
) -> Arc:
    if cause is None and fix.cause >= SAYS and fix.fix < FIX and evidence is not None:
        # The cause is stated but not the fix; a message shows that it helped.
        shown = ArcSentence(_quote_report(evidence, turns[evidence.place]), said[evidence.place])
        return Arc(ArcSentence(fix.text, said[fix.place]), None, shown)
    done = ArcSentence(_whole(cause, fix, evidence, turns[fix.place].told), said[fix.place])
    shows = (
        None
        if evidence is None
        else ArcSentence(_quote_report(evidence, turns[evidence.place]), said[evidence.place])
    )
    why = (
        None
        if cause is None
        else ArcSentence(_explanation(cause, fix, turns[cause.place].told), said[cause.place])
    )
    return Arc(why, done, shows)


def _whole(
    cause: SentenceWeights | None,
    fix: SentenceWeights,
    evidence: SentenceWeights | None,
    told: Sequence[SentenceWeights],
) -> str:
    """Return a fix together with the rest of a short message: a fix often takes two sentences."""
    low = -1 if cause is None else cause.number
    high = 1 << 30 if evidence is None else evidence.number
    every = " ".join(s.text for s in told if low < s.number < high)
    return every if len(every) <= ARC_PART else fix.text


def _quote_report(evidence: SentenceWeights, turn: MessageSigns) -> str:
    """Return the user's report, whole if it is short: attempt and result are often two sentences."""
    every = " ".join(s.text for s in turn.told if s is evidence or not s.moves & {"proposes", "advises"})
    return every if turn.role == "user" and not turn.open and len(every) <= ARC_PART else evidence.text


def _explanation(cause: SentenceWeights, fix: SentenceWeights, told: Sequence[SentenceWeights]) -> str:
    """Return a cause with the sentences around it, as far as they fit: a cause seldom fits in one sentence."""
    chosen = [s for s in told if s.number < fix.number]
    low = high = chosen.index(cause)
    while True:
        grown = next(
            (
                (a, b)
                for a, b in ((low, high + 1), (low - 1, high))
                if a >= 0 and b < len(chosen) and len(" ".join(s.text for s in chosen[a : b + 1])) <= ARC_PART
            ),
            None,
        )
        if grown is None:
            return " ".join(s.text for s in chosen[low : high + 1])
        low, high = grown
