"""Evidence for a name: whether a node is shown, or kept as a candidate.

Owns the sum. A turn speaks for a name as surely as its reader saw a name there (a node claim), or, where the reader only used it
as the end of a fact or as another name, as surely as that was said; something plainly said of a name adds a little. Turns add up,
so a name that keeps coming back is shown in the end. Whole numbers, so that taking a turn away leaves exactly what was there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from backscroll.graph.naming.names import split_owner
from backscroll.vocab.assertion import PRONOUN, Claim

if TYPE_CHECKING:
    from backscroll.graph.index import ClaimIndex, RawClaim
    from backscroll.graph.overrides import OverrideLayer

#: Hundredths from which a node is shown.
SHOWN = 60
_TOLD = 20  # what a plain statement about a name adds to it
_SURE = 0.5
_PLAIN = 0.8  # how sure a relation has to be that it speaks for its other end as well
_BARE = 45  # a relative without a name, of whom only that is said


def proofs(raws: Iterable[RawClaim]) -> dict[str, int]:
    """Return what one turn says for each of its names, in hundredths."""
    seen: dict[str, int] = {}
    used: dict[str, int] = {}
    told: set[str] = set()
    for raw in raws:
        claim = raw.claim
        if raw.subject == PRONOUN + "asked" or (claim.kind is Claim.NODE and claim.hint == "asked"):
            continue  # a question names no person, and an answer only where it was asked for
        worth = max(1, round(claim.sure * 100))
        if claim.kind is Claim.NODE:
            if raw.subject[0] != PRONOUN:
                _most(seen, raw.subject, worth)
                if raw.other:
                    _most(seen, raw.other, worth)
            continue
        if raw.subject[0] != PRONOUN:
            _most(used, raw.subject, worth)
            if claim.sure >= _SURE and raw.kind is not Claim.NODE:
                told.add(raw.subject)
        if raw.object and raw.object[0] != PRONOUN:
            _most(used, raw.object, worth)
            told.update([raw.object] if claim.sure >= _PLAIN else [])
        for one, other in ((raw.subject, raw.object), (raw.object, raw.subject)):
            if one and raw.kind is Claim.RELATION and _of(one) == other not in ("", "user"):
                used[one] = min(used[one], _BARE)  # "Ann's brother" of whom nothing is known but that
        if raw.other:
            _most(seen if claim.sure >= _SURE else used, raw.other, worth)
    return {
        key: (seen[key] + (_TOLD if key in told else 0) if key in seen else used[key])
        for key in {**seen, **used}
    }


def enough(members: Sequence[str], index: ClaimIndex, layer: OverrideLayer) -> bool:
    """Return True if a node of these names is shown: the turns say enough for them, or a person said something of it."""
    if any(key in told for key in members for told in (layer.about, layer.stands, layer.shown)):
        return True
    if "user" in members:
        return True
    if tuple(members) == ("assistant",):  # a program of which nothing is said but that it answers is nobody
        return False
    return sum(index.proof.get(key, 0) for key in members) >= SHOWN


def _of(key: str) -> str:
    """Return whose relative a description speaks of."""
    mine = split_owner(key)
    return mine[0] if mine else ""


def _most(into: dict[str, int], key: str, worth: int) -> None:
    if into.get(key, 0) < worth:
        into[key] = worth
