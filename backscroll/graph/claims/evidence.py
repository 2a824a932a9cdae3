"""Evidence from one turn: how much supports each name, and which defaults its sentences make doubtful.

A turn supports a name with the certainty of the reader that saw it (a node claim), or, if the reader only used it as the end of
a fact or as another name, with the certainty of that claim; a plain statement about a name adds a little. Turns add up, so a name
that keeps coming back is shown in the end. Whole numbers, so that removing a turn leaves exactly the previous state.
"My husband died there" makes it doubtful that he is alive: a default that any live sentence speaks against is not assumed
(`graph/world/completion`). The words are data (`doubts.toml`), by attribute; the caution needs no analysis of who did what.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

from backscroll.graph.claims.claim import RawClaim
from backscroll.graph.claims.names import split_owner
from backscroll.graph.tuning import PLAIN_RELATION, RELATIVE_EVIDENCE, SURE, TOLD_EVIDENCE
from backscroll.vocab.assertion import PRONOUN, Claim
from backscroll.vocab.values.table import read_table


def proofs(raws: Iterable[RawClaim]) -> dict[str, int]:
    """Return the evidence of one turn for each of its names, in hundredths."""
    seen: dict[str, int] = {}
    used: dict[str, int] = {}
    told: set[str] = set()
    for raw in raws:
        claim = raw.claim
        if raw.subject == PRONOUN + "asked" or (claim.kind is Claim.NODE and claim.hint == "asked"):
            continue  # a question names no person, and an answer only if it was asked for
        worth = max(1, round(claim.sure * 100))
        if claim.kind is Claim.NODE:
            if raw.subject[0] != PRONOUN:
                _most(seen, raw.subject, worth)
                if raw.other:
                    _most(seen, raw.other, worth)
            continue
        if raw.subject[0] != PRONOUN:
            _most(used, raw.subject, worth)
            if claim.sure >= SURE and raw.kind is not Claim.NODE:
                told.add(raw.subject)
        if raw.object and raw.object[0] != PRONOUN:
            _most(used, raw.object, worth)
            told.update([raw.object] if claim.sure >= PLAIN_RELATION else [])
        for one, other in ((raw.subject, raw.object), (raw.object, raw.subject)):
            if one and raw.kind is Claim.RELATION and _of(one) == other not in ("", "user"):
                # "Ann's brother", of whom nothing else is known
                used[one] = min(used[one], RELATIVE_EVIDENCE)
        if raw.other:
            _most(seen if claim.sure >= SURE else used, raw.other, worth)
    return {
        key: (seen[key] + (TOLD_EVIDENCE if key in told else 0) if key in seen else used[key])
        for key in {**seen, **used}
    }


def _of(key: str) -> str:
    """Return the owner in a description of a relative."""
    mine = split_owner(key)
    return mine[0] if mine else ""


def _most(into: dict[str, int], key: str, worth: int) -> None:
    if into.get(key, 0) < worth:
        into[key] = worth


@cache
def _words() -> Mapping[str, str]:
    return read_table("backscroll.graph", "doubts.toml")


@cache
def _doubting() -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<{name}>{words})" for name, words in _words().items()), re.IGNORECASE)


@cache
def _each_doubt() -> Mapping[str, re.Pattern[str]]:
    return {name: re.compile(words, re.IGNORECASE) for name, words in _words().items()}


def find_doubted_attributes(text: str) -> frozenset[str]:
    """Return the attributes whose defaults a sentence makes doubtful for the names in it ("died": not "alive")."""
    if not _doubting().search(text):
        return frozenset()
    return frozenset(name for name, words in _each_doubt().items() if words.search(text))
