"""Split a turn into claims in one direction each, speakers, and evidence for each name.

Local: nothing here reads another turn, so an edited turn is read again by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from backscroll.graph.claims.claim import NAMING, MessageSpeaker, RawClaim, TurnEntry, is_call
from backscroll.graph.claims.evidence import find_doubted_attributes, proofs
from backscroll.graph.claims.names import both_scripts, key_of, pronoun_of
from backscroll.graph.claims.predicates import direction, normalize_predicate
from backscroll.graph.tuning import SURE
from backscroll.vocab.assertion import PRONOUN, Assertion, Claim, TurnClaims
from backscroll.vocab.ids import Ref


def read(turn: TurnClaims, split: Mapping[str, str]) -> TurnEntry:
    """Split a turn; `split` maps keys to the node that a user assigned them to in this turn."""
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
    """Return the defaults that the sentences of a turn make doubtful, by name."""
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
