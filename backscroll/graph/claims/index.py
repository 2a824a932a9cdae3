"""Index of the claims of turns: lines, mentions and type votes, by name.

Owns storage that is filled and emptied turn by turn, and no judgement: pronouns are resolved by
`graph/naming/pronouns`, names are grouped by `graph/naming/identity`. All counts are whole numbers, so that removing what was
added leaves exactly the previous state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from backscroll.graph.claims.claim import ClaimLine, TurnEntry, is_call
from backscroll.graph.claims.names import gender_of
from backscroll.graph.tuning import SURE
from backscroll.vocab.assertion import LEANS, PRONOUN, Claim
from backscroll.vocab.ids import Ref

_NOTHING: dict[Ref, list[ClaimLine]] = {}


@dataclass(frozen=True, slots=True)
class Profile:
    """What claims say about the type and gender behind a name."""

    type: str = ""
    gender: str = ""
    names: tuple[str, ...] = ()  # the keys joined with it, if requested


_VAGUE = frozenset({"", "thing", "concept"})


def elect_type(votes: Mapping[str, int]) -> str:
    """Return the type with the most votes; a vague one only without any other; the first by name among equals."""
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
        self.surfaces: dict[str, dict[str, int]] = {}  # key, spelling: count
        self.doubts: dict[str, dict[str, int]] = {}  # key, attribute: sentences that contradict its default
        self.proof: dict[str, int] = {}  # key: evidence that it is a name (`graph/claims/evidence`)

    def local(self, said: TurnEntry, sign: int) -> set[str]:
        """Add (1) or remove (-1) the local claims of a turn; return the keys on whose type it votes."""
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
        """Add the lines of a turn whose pronouns are resolved."""
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
        """Remove the lines again."""
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
        """Return the most frequent spelling of a name."""
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
    """Sum votes."""
    for name, count in more.items():
        into[name] = into.get(name, 0) + count


def clear_gender(genders: dict[str, int]) -> str:
    """Return the gender with more votes; empty if it is not clear."""
    female, male = genders.get("female", 0), genders.get("male", 0)
    return "" if female == male else "female" if female > male else "male"
