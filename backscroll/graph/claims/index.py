"""What the turns say, taken apart and found by name: lines, mentions, votes on types.

Owns storage that can be filled and emptied turn by turn, nothing that has to be judged: who a pronoun means is
`graph/naming/pronouns`, which names are one node is `graph/naming/identity`. Every count is whole, so that taking away what was
put in leaves exactly what was there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from backscroll.graph.naming.doubts import find_doubted_attributes
from backscroll.graph.naming.evidence import proofs
from backscroll.graph.naming.names import both_scripts, gender_of, key_of, pronoun_of
from backscroll.graph.predicates import direction, normalize_predicate
from backscroll.vocab.assertion import LEANS, PRONOUN, Assertion, Claim, TurnClaims
from backscroll.vocab.ids import Ref

#: Where a claim stands: 0 for the text, position and opening of the turn, number in the turn; 1 for a person's own change.
Order: TypeAlias = tuple[int, bytes, Ref, int]

#: Claims below this are only hints: they join no names and supersede nothing that is surer.
SURE = 0.5
#: Attributes that are names.
NAMING = frozenset({"name", "nickname", "full_name", "alias"})
_NOTHING: dict[Ref, list[ClaimLine]] = {}
#: Whom a call by name means: settled over the whole conversation (`graph/naming/vocatives`).
CALLED = PRONOUN + "you"
#: Whom the turn before asked about, where this one gives a bare answer.
ASKED = PRONOUN + "asked"


class ClaimLine:
    """One claim with its names settled, in the direction in which its predicate is folded."""

    __slots__ = ("claim", "flipped", "kind", "object", "opening", "order", "predicate", "subject")

    def __init__(
        self,
        order: Order,
        opening: Ref,
        claim: Assertion,
        kind: Claim,
        subject: str,
        predicate: str,
        object: str,  # noqa: A002 - the word of the vocabulary
        flipped: bool,
    ) -> None:
        self.order = order
        self.opening = opening
        self.claim = claim
        self.kind = kind
        self.subject = subject
        self.predicate = predicate
        self.object = object
        self.flipped = flipped

    @property
    def weak(self) -> bool:
        """True for what is only a hint."""
        return self.claim.sure < SURE


@dataclass(slots=True)
class RawClaim:
    """One claim as it was read, before pronouns are settled. A name is a key, a pronoun has its mark."""

    claim: Assertion
    kind: Claim
    subject: str
    predicate: str
    object: str
    flipped: bool
    other: str = ""  # a second name of the subject, stated with it, or the value of an alias
    hinted: str = ""  # such a name that a sentence only hints at: no mention, no tie


@dataclass(frozen=True, slots=True)
class MessageSpeaker:
    """One message of a turn: who speaks, whom they call by name, which other names they use."""

    speaker: str
    calls: tuple[str, ...]
    uses: frozenset[str]
    owns: frozenset[str] = frozenset()  # names that they give themselves


@dataclass(slots=True)
class TurnEntry:
    """One turn, read: what is local to it, and (once pronouns are settled) its lines."""

    turn: TurnClaims
    raws: list[RawClaim]
    pronouns: bool
    lines: list[ClaimLine] = field(default_factory=list["ClaimLine"])
    mentions: tuple[str, ...] = ()  # keys in order, each where it was mentioned last
    speakers: tuple[str, ...] = ()
    echoes: list[tuple[str, str, int]] = field(default_factory=list[tuple[str, str, int]])
    joins: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])  # names that pronouns joined
    firsts: dict[str, int] = field(default_factory=dict[str, int])  # key: where in the turn it is named first
    asked: dict[str, str] = field(default_factory=dict[str, str])  # what it asks: predicate, of whom
    unsettled: int = 0
    settled: bool = False  # the fields above are filled in
    proofs: dict[str, int] = field(default_factory=dict[str, int])  # how much it says for each name
    voices: tuple[MessageSpeaker, ...] = ()
    doubts: tuple[tuple[str, str], ...] = ()  # names, and attributes of which it speaks against the default

    @property
    def place(self) -> tuple[bytes, Ref]:
        """By which turns are put in order."""
        return (self.turn.position, self.turn.opening)


def read(turn: TurnClaims, split: Mapping[str, str]) -> TurnEntry:
    """Take a turn apart; `split` says which keys a person gave to another node in this turn."""
    raws: list[RawClaim] = []
    pronouns = False
    for claim in turn.claims:
        raw = _read_one(claim, split)
        if raw is None:
            continue
        raws.append(raw)
        pronouns = pronouns or raw.subject[0] == PRONOUN or raw.object[:1] == PRONOUN
    return TurnEntry(
        turn, raws, pronouns, proofs=proofs(raws), voices=_voices(raws), doubts=tuple(sorted(_doubts(raws)))
    )


def _doubts(raws: Sequence[RawClaim]) -> set[tuple[str, str]]:
    """Return what the sentences of a turn make doubtful of the names in them."""
    out: set[tuple[str, str]] = set()
    known: dict[str, frozenset[str]] = {}
    for raw in raws:
        quote = raw.claim.quote
        found = known.get(quote)
        if found is None:
            found = known[quote] = find_doubted_attributes(quote)
        for attribute in found:
            out.update((key, attribute) for key in (raw.subject, raw.object, raw.other) if key)
    return out


def is_call(raw: RawClaim) -> bool:
    """Return True if a person is called by a name: "Hey Ann!"."""
    return raw.kind is Claim.ALIAS and raw.subject == CALLED


def is_question(raw: RawClaim) -> bool:
    """Return True if a claim only says what a turn asks."""
    return raw.claim.kind is Claim.NODE and raw.claim.hint == "asked"


def _voices(raws: Sequence[RawClaim]) -> tuple[MessageSpeaker, ...]:
    """Return the messages of a turn, as far as claims show them."""
    out: list[MessageSpeaker] = []
    source: Ref | None = None
    speaker, calls, uses, owns = "", list[str](), set[str](), set[str]()
    for raw in raws:
        claim = raw.claim
        if not claim.speaker:
            continue
        who = key_of(claim.speaker)
        if (claim.source, who) != (source, speaker):
            if speaker:
                out.append(_voice(speaker, calls, uses, owns))
            source, speaker = claim.source, who
            calls, uses, owns = list[str](), set[str](), set[str]()
        if is_call(raw):
            calls.append(raw.other)
        elif raw.kind is Claim.ALIAS and raw.subject == speaker:
            owns.add(raw.other)
        uses |= {key for key in (raw.subject, raw.object, raw.other) if key and key[0] != PRONOUN}
    if speaker:
        out.append(_voice(speaker, calls, uses, owns))
    return tuple(out)


def _voice(speaker: str, calls: list[str], uses: set[str], owns: set[str]) -> MessageSpeaker:
    return MessageSpeaker(
        speaker, tuple(calls), frozenset(uses - owns - {speaker, ""}), frozenset(owns - {""})
    )


def _name(text: str, split: Mapping[str, str]) -> str:
    """Return a key, a pronoun with its mark, or nothing."""
    if text[:1] == PRONOUN and (pronoun := pronoun_of(text)):
        return PRONOUN + pronoun
    key = key_of(text)
    return split.get(key, key) if split else key


def _read_one(claim: Assertion, split: Mapping[str, str]) -> RawClaim | None:
    kind, other = claim.kind, ""
    if pair := both_scripts(claim.subject) if claim.subject[-1:] in ")）" else None:
        subject, other = _name(pair[0], split), _name(pair[1], split)
    else:
        subject = _name(claim.subject, split)
    if not subject:
        return None
    if kind is Claim.ALIAS or (kind is Claim.ATTRIBUTE and claim.predicate in NAMING):
        kind, other = Claim.ALIAS, _name(claim.value, split)
        usable = other and other[0] != PRONOUN and other != subject
        if usable and claim.sure < SURE:
            return RawClaim(claim, Claim.NODE, subject, "", "", False, hinted=other)
        return RawClaim(
            claim, kind if usable else Claim.NODE, subject, "alias", "", False, other if usable else ""
        )
    if kind is Claim.NODE:
        return RawClaim(claim, kind, subject, "", "", False, other)
    has = _name(claim.object, split) if claim.object else ""
    if kind is Claim.RELATION and not has:
        kind = Claim.ATTRIBUTE if claim.value.strip() else Claim.NODE
    elif kind is Claim.ATTRIBUTE and not claim.value.strip():
        kind = Claim.RELATION if has else Claim.NODE
    if kind is Claim.NODE:
        return RawClaim(claim, kind, subject, "", "", False, other)
    said = normalize_predicate(claim.predicate) or ("related_to" if kind is Claim.RELATION else "description")
    if kind is Claim.ATTRIBUTE:
        return RawClaim(claim, kind, subject, said, "", False, other)
    way = direction(said)
    return RawClaim(claim, kind, subject, way.name, has, way.flipped, other)


@dataclass(frozen=True, slots=True)
class Profile:
    """What claims say about the kind of thing behind a name."""

    type: str = ""
    gender: str = ""
    names: tuple[str, ...] = ()  # the keys that are one with it, where that was asked for


_VAGUE = frozenset({"", "thing", "concept"})


def elect_type(votes: Mapping[str, int]) -> str:
    """Return the type that most is said for; a vague one only where nothing else is said; the first by name among equals."""
    if not votes:
        return ""
    return min(votes, key=lambda type: (type in _VAGUE, -votes[type], type))


class ClaimIndex:
    """All lines, found by name and predicate."""

    def __init__(self) -> None:
        self.slots: dict[str, dict[str, dict[Ref, list[ClaimLine]]]] = {}  # key, predicate, turn
        self.mentions: dict[str, dict[Ref, int]] = {}  # key, turn: number of the first claim that names it
        self.votes: dict[str, dict[str, int]] = {}  # key, type: hundredths, from claims that name it
        self.echoes: dict[str, dict[str, int]] = {}  # the same from claims that use a pronoun
        self.genders: dict[str, dict[str, int]] = {}
        self.surfaces: dict[str, dict[str, int]] = {}  # key, spelling: how often
        self.doubts: dict[
            str, dict[str, int]
        ] = {}  # key, attribute: sentences that speak against its default
        self.proof: dict[str, int] = {}  # key: how much speaks for it being a name (`graph/naming/evidence`)

    def local(self, said: TurnEntry, sign: int) -> set[str]:
        """Put in (1) or take out (-1) what a turn says by itself; the keys on whose kind it votes."""
        voted: set[str] = set()
        for key, worth in said.proofs.items():
            total = self.proof.get(key, 0) + sign * worth
            if total:
                self.proof[key] = total
            else:
                del self.proof[key]
        for key, attribute in said.doubts:
            _count(self.doubts, key, attribute, sign)
        for raw in said.raws:
            claim = raw.claim
            weight = sign * (1 if claim.hint == LEANS else max(1, round(claim.sure * 100)))
            if raw.subject[0] != PRONOUN:
                if claim.type:
                    _count(self.votes, raw.subject, claim.type, weight)
                    voted.add(raw.subject)
                told = gender_of(claim.value) if raw.predicate == "gender" else claim.hint
                if told in ("female", "male") and claim.sure >= SURE:
                    _count(self.genders, raw.subject, told, sign)
                    voted.add(raw.subject)
                _count(self.surfaces, raw.subject, claim.subject, sign)
            if raw.object and raw.object[0] != PRONOUN:
                if claim.object_type:
                    _count(self.votes, raw.object, claim.object_type, weight)
                    voted.add(raw.object)
                _count(self.surfaces, raw.object, claim.object, sign)
            if raw.other:
                _count(self.surfaces, raw.other, claim.value if raw.kind is Claim.ALIAS else raw.other, sign)
                if claim.type and (raw.subject[0] != PRONOUN or is_call(raw)):
                    _count(self.votes, raw.other, claim.type, weight)
                    voted.add(raw.other)
        return voted

    def insert(self, said: TurnEntry) -> None:
        """Put in the lines of a turn whose pronouns are settled."""
        opening = said.turn.opening
        for line in said.lines:
            if line.subject:
                self._slot(line.subject, line)
            if line.object:
                self._slot(line.object, line)
        for key, number in said.firsts.items():
            named_in = self.mentions.get(key)
            if named_in is None:
                named_in = self.mentions[key] = {}
            named_in[opening] = number
        for key, type, weight in said.echoes:
            _count(self.echoes, key, type, weight)

    def _slot(self, key: str, line: ClaimLine) -> None:
        by_predicate = self.slots.get(key)
        if by_predicate is None:
            by_predicate = self.slots[key] = {}
        by_turn = by_predicate.get(line.predicate)
        if by_turn is None:
            by_turn = by_predicate[line.predicate] = {}
        lines = by_turn.get(line.opening)
        if lines is None:
            by_turn[line.opening] = [line]
        else:
            lines.append(line)

    def remove(self, said: TurnEntry) -> None:
        """Take them out again."""
        opening = said.turn.opening
        for line in said.lines:
            for key in (line.subject, line.object):
                by_predicate = self.slots.get(key)
                by_turn = by_predicate.get(line.predicate) if by_predicate else None
                if by_predicate is None or by_turn is None:
                    continue
                by_turn.pop(opening, None)
                if not by_turn:
                    del by_predicate[line.predicate]
                    if not by_predicate:
                        del self.slots[key]
        for key in said.firsts:
            named_in = self.mentions[key]
            del named_in[opening]
            if not named_in:
                del self.mentions[key]
        for key, type, weight in said.echoes:
            _count(self.echoes, key, type, -weight)

    def lines(self, key: str, predicate: str) -> Iterator[ClaimLine]:
        """Yield lines of a predicate that name a key at either end, in no order."""
        for lines in self.slots.get(key, {}).get(predicate, _NOTHING).values():
            yield from lines

    def pick_spelling(self, key: str) -> str:
        """Return how a name is mostly written."""
        spellings = self.surfaces.get(key)
        if not spellings:
            return ""
        return min(spellings, key=lambda text: (-spellings[text], text))


def _count(into: dict[str, dict[str, int]], key: str, what: str, by: int) -> None:
    counts = into.get(key)
    if counts is None:
        into[key] = {what: by}
        return
    total = counts.get(what, 0) + by
    if total:
        counts[what] = total
        return
    del counts[what]
    if not counts:
        del into[key]


def add_votes(into: dict[str, int], more: dict[str, int]) -> None:
    """Count votes together."""
    for name, count in more.items():
        into[name] = into.get(name, 0) + count


def clear_gender(genders: dict[str, int]) -> str:
    """Return the gender that is said more often; empty if it is not clear."""
    female, male = genders.get("female", 0), genders.get("male", 0)
    return "" if female == male else "female" if female > male else "male"
