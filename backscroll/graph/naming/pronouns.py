"""Pronoun resolution: the last mentioned node that fits, in the same turn or up to three turns before.

Deterministic and local: goes through names in order, considering the type of each. What cannot be resolved is left out and
counted, never guessed. A resolved pronoun is itself a mention, so that further talk about "her" can be resolved.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import chain

from backscroll.graph.claims.claim import ASKED, ClaimLine, RawClaim, TurnEntry, is_call, is_question
from backscroll.graph.claims.index import Profile
from backscroll.graph.claims.names import ROLES, key_of, table
from backscroll.graph.claims.predicates import venues
from backscroll.graph.tuning import PRONOUN_EVIDENCE, SURE
from backscroll.vocab.assertion import PRONOUN, REGION, Claim

_ANIMATE = frozenset({"person", "creature", "animal", "group"})
_SEXED = frozenset({"person", "creature", "animal"})
_MANY = frozenset({"group", "organisation", "person", "creature", "animal"})
_TOPICS = {
    "work": frozenset({"work"}),
    "place": frozenset({"place", "organisation"}),
    "organisation": frozenset({"organisation", "place", "group"}),
}
_OTHER_ROLE = {"user": "assistant", "assistant": "user"}


class _MentionContext:
    """The mentions before a claim: in its turn so far, and in the turns within reach."""

    __slots__ = ("before", "flow", "said", "spoke")

    def __init__(self, said: TurnEntry, before: Sequence[TurnEntry]) -> None:
        self.said = said
        self.before = before
        self.flow: list[str] = []
        self.spoke: list[str] = []

    def mentions(self) -> Iterator[str]:
        """Yield keys, the newest first; some repeatedly."""
        yield from reversed(self.flow)
        for earlier in reversed(self.before):
            yield from reversed(earlier.mentions)

    def two(self) -> set[str]:
        """Return the speakers if there are exactly two: neither of them is "he" to the other."""
        found = {key_of(raw.claim.speaker) for raw in self.said.raws if raw.claim.speaker}
        found.update(key for said in self.before for key in said.speakers)
        return found if len(found) < 3 else set()

    def regions(self) -> set[str]:
        """Return the countries, cities and districts among the names within reach."""
        turns = (*self.before, self.said)
        return {raw.subject for said in turns for raw in said.raws if raw.claim.hint == REGION}

    def find_addressee(self, speaker: str) -> str:
        """Return the addressee: the other person who spoke last, or will answer in this turn, or the other role."""
        earlier = (key for said in reversed(self.before) for key in reversed(said.speakers))
        answer = (key_of(raw.claim.speaker) for raw in self.said.raws if raw.claim.speaker)
        for key in chain(reversed(self.spoke), earlier, answer):
            if key != speaker:
                return key
        return _OTHER_ROLE.get(speaker, "")


def settle(said: TurnEntry, before: Sequence[TurnEntry], kind_of: Callable[[str], Profile]) -> None:
    """Fill in the lines and mentions of a turn; `before` are the turns within reach, the oldest first."""
    talk = _MentionContext(said, before)
    flow, firsts = talk.flow, dict[str, int]()
    passing = _passing(said)
    said.lines, said.echoes, said.joins, said.asked, said.unsettled = [], [], [], {}, 0
    speaker = told = ""
    for number, raw in enumerate(said.raws):
        if raw.claim.speaker != told:
            told = raw.claim.speaker
            speaker = key_of(told)
            if speaker:
                talk.spoke.append(speaker)
        subject, object_ = raw.subject, raw.object
        if is_call(raw):  # its referent is counted over the whole conversation
            flow.append(raw.other)
            firsts.setdefault(raw.other, number * 4 + 1)
            continue
        if subject[0] == PRONOUN:
            subject = _subject(raw, speaker, talk, kind_of)
        if object_ and object_[0] == PRONOUN:
            object_ = _resolve_pronoun(object_[1:], raw, speaker, subject, talk, kind_of, at_object=True)
        if raw.subject == ASKED and not subject:
            continue  # no question came before: it answers nothing
        _note(said, raw, number, subject, object_, kind_of)
        keys = (subject, raw.other, object_)
        if (
            raw.claim.kind is not Claim.NODE or subject != speaker
        ):  # the author of a message is present, but not mentioned
            flow += [key for key in keys if key and key not in passing]
        for slot, key in enumerate(keys):
            if key:
                firsts.setdefault(key, number * 4 + slot)
    said.firsts = firsts
    said.mentions = _each_last(flow)
    said.speakers = _each_last(talk.spoke)
    said.settled = True


def _passing(said: TurnEntry) -> set[str]:
    """Return names mentioned in passing, which no pronoun means: those with little evidence that they are names,
    and those inside a value (the town in an address).
    """
    out = {key for key, worth in said.proofs.items() if worth < PRONOUN_EVIDENCE}
    values = [raw.claim.value.casefold() for raw in said.raws if raw.kind is Claim.ATTRIBUTE]
    longer = [value for value in values if len(value) > 6]
    if longer:
        out.update(key for key in said.proofs if any(key in value and key != value for value in longer))
    return out


def _note(
    said: TurnEntry, raw: RawClaim, number: int, subject: str, object_: str, kind_of: Callable[[str], Profile]
) -> None:
    """Store a claim whose names are resolved."""
    if is_question(raw):
        said.asked[raw.claim.predicate] = subject
    elif not subject or (raw.object and not object_):
        said.unsettled += 1
    elif raw.kind is not Claim.NODE or raw.subject[0] == PRONOUN:
        _write(said, raw, number, subject, object_, kind_of)


def _subject(raw: RawClaim, speaker: str, talk: _MentionContext, kind_of: Callable[[str], Profile]) -> str:
    """Return the referent of a claim's pronoun; for a bare answer, the subject of the question before."""
    if raw.subject == ASKED:
        return talk.before[-1].asked.get(raw.claim.predicate, "") if talk.before else ""
    return _resolve_pronoun(raw.subject[1:], raw, speaker, "", talk, kind_of)


def _each_last(keys: list[str]) -> tuple[str, ...]:
    """Return every key once, at its last position."""
    return tuple(reversed(dict.fromkeys(reversed(keys))))


def _write(
    said: TurnEntry, raw: RawClaim, number: int, subject: str, object_: str, kind_of: Callable[[str], Profile]
) -> None:
    """Return the line of a resolved claim."""
    turn, claim = said.turn, raw.claim
    if raw.subject[0] == PRONOUN:
        if claim.type:
            said.echoes.append((subject, claim.type, max(1, round(claim.sure * 100))))
        if raw.other and claim.sure >= SURE and _alike(kind_of(subject), kind_of(raw.other)):
            said.joins.append((subject, raw.other))
    if raw.kind is Claim.NODE:
        return
    one, two = (object_, subject) if raw.flipped else (subject, object_)
    order = (0, turn.position, turn.opening, number)
    said.lines.append(ClaimLine(order, turn.opening, claim, raw.kind, one, raw.predicate, two, raw.flipped))


def _alike(one: Profile, two: Profile) -> bool:
    """Return False if two names are known to have different types or genders."""
    types = not one.type or not two.type or one.type == two.type
    return types and (not one.gender or not two.gender or one.gender == two.gender)


def _resolve_pronoun(
    pronoun: str,
    raw: RawClaim,
    speaker: str,
    subject: str,
    talk: _MentionContext,
    kind_of: Callable[[str], Profile],
    *,
    at_object: bool = False,
) -> str:
    """Return the key that a pronoun stands for, or an empty string."""
    if pronoun in ("i", "we"):
        return speaker
    if pronoun == "you":
        return talk.find_addressee(speaker)
    # A hint narrows the pronoun of its claim: the subject, unless only the object is a pronoun.
    hint = raw.claim.hint if not at_object or raw.subject[0] != PRONOUN else ""
    wanted = (raw.claim.object_type if at_object else raw.claim.type) or ""
    barred = {speaker, subject, raw.other, raw.subject if at_object else raw.object} - {""}
    barred |= talk.two()
    if pronoun in ("it", "topic") and raw.predicate in venues():
        barred |= talk.regions()
    for key in talk.mentions():
        if key in barred or key in ROLES or (not at_object and _named_later(key, pronoun, raw.claim.quote)):
            continue
        kind = kind_of(key)
        # A third-person pronoun means neither the speaker nor the other end of the claim.
        if barred.isdisjoint(kind.names) and _fits(pronoun, hint, wanted, kind):
            return key
    return ""


def _named_later(key: str, pronoun: str, quote: str) -> bool:
    """Return True if the sentence names a person only after its pronoun: "She is married to Tom"."""
    plain = quote.casefold()
    at = plain.find(key)
    if at <= 0:
        return False
    found = _words(pronoun).search(plain)
    return found is not None and found.start() < at


@cache
def _words(pronoun: str) -> re.Pattern[str]:
    """Return the pattern of the words for a pronoun."""
    words = sorted(table()["pronouns"][pronoun], key=len, reverse=True)
    edged = (rf"\b{re.escape(word)}\b" if word.isascii() else re.escape(word) for word in words)
    return re.compile("|".join(edged))


def _fits(pronoun: str, hint: str, wanted: str, profile: Profile) -> bool:
    """Return True if a pronoun can stand for something of this type; an unknown type fits."""
    type_, gender = profile.type, profile.gender
    if pronoun == "topic":
        return type_ in hint.split("|")
    if hint in ("female", "male") and gender and gender != hint:
        return False
    if pronoun == "it" and wanted in _TOPICS and type_ not in _TOPICS[wanted]:
        return False  # a box office belongs to a film, whichever country was named last
    if (hint == "place" or pronoun == "there") and type_ not in ("place", "organisation", ""):
        return False
    if hint == "thing" and type_ in _ANIMATE:
        return False
    if wanted and type_ and wanted in _ANIMATE and type_ not in _ANIMATE:
        return False
    if pronoun == "she":
        return (not type_ or type_ in _SEXED) and gender != "male"
    if pronoun == "he":
        return (not type_ or type_ in _SEXED) and gender != "female"
    if pronoun == "it":
        return type_ not in ("person", "group")
    if pronoun == "they":
        return not type_ or type_ in _MANY
    return True
