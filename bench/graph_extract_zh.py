"""Adapter of the rule-based Chinese extraction for the development data of `../shared/bench/graph`.

`bench.graph_extract` hands Chinese items to `Rules` here. The predicates that the runner allows say which table is wanted: people in
dialogues, or well-known people, works and places. Who is addressed is settled here by who speaks next and before.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

from backscroll.derive.extract.utterance import Utterance
from backscroll.derive.extract.zh.reader import read
from backscroll.vocab.assertion import Assertion, Claim
from backscroll.vocab.ids import Ref

Triple = tuple[str, str, str]
THREAD = "0" * 32
_TABLES: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("graph_extract_zh.toml").read_text(encoding="utf-8")
)


class Rules:
    """Collects the turns, reads them when the result is wanted."""

    def start(self, lang: str, predicates: list[str], entities: list[str] | None = None) -> None:
        """Begin a new item."""
        del lang, entities
        self.turns: list[tuple[str, str]] = []
        self.people = any(p.startswith("per:") for p in predicates)
        self.allowed = set(predicates)

    def add(self, speaker: str | None, text: str) -> None:
        """Add the next turn."""
        self.turns.append((speaker or "", text))

    def result(self) -> dict[str, list[Any]]:
        """What is held true now, in the predicates of the data."""
        speakers = {who for who, _ in self.turns}
        said = [
            Utterance(
                text,
                Ref(THREAD, n + 1),
                who,
                addressee=next(iter(speakers - {who}), "") if len(speakers) == 2 and self.people else "",
            )
            for n, (who, text) in enumerate(self.turns)
        ]
        claims = read(said)
        return self._people(claims) if self.people else self._things(claims)

    # -- people who talk to each other -----------------------------------

    def _people(self, claims: list[Assertion]) -> dict[str, list[Any]]:
        owner, common = self._owners(claims)
        entities: set[str] = set()
        triples: set[Triple] = set()
        for claim in claims:
            if claim.kind is Claim.NODE and claim.sure >= 0.6:
                entities.add(claim.subject)
            if claim.sure < 0.5 or claim.kind in (Claim.NODE, Claim.ALIAS):
                continue
            s, o = (
                owner.get(claim.subject, claim.subject),
                owner.get(claim.object, claim.object) or claim.value,
            )
            if "@" in s or "@" in o or "的" in s or ("的" in o and claim.object_type == "person"):
                continue
            for name in _TABLES["people"].get(claim.predicate, ()):
                way, predicate = name[0], name[1:]
                if claim.kind is Claim.END and claim.predicate not in ("partner_of", "spouse_of"):
                    continue
                triples.add((s, predicate, o) if way == ">" else (o, predicate, s))
                entities.update((s, o))
        for who, name in [*((w, n) for n, w in owner.items()), *sorted(common)]:
            triples.add((who, "per:alternate_names", name))
            entities.add(name)
        return {"entities": sorted(entities), "triples": sorted(triples)}

    def _owners(self, claims: list[Assertion]) -> tuple[dict[str, str], set[tuple[str, str]]]:
        """Name -> the speaker who is called so, by those who call and those who answer; and who is called by common words."""
        votes: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        common: set[tuple[str, str]] = set()
        speakers = {who for who, _ in self.turns}
        for claim in claims:
            if claim.kind is not Claim.ALIAS or claim.source is None:
                continue
            at = claim.source.seq - 1
            me = self.turns[at][0]
            if claim.subject == "@you" or (claim.subject in speakers and claim.subject != me):
                heard = self._you(at)
                if claim.sure < 0.5:
                    common |= {(who, claim.value) for who, weight in heard.items() if weight >= 1.5}
                    continue
                votes[claim.value][me] -= 3  # speakers do not address themselves
                for who, weight in heard.items():
                    votes[claim.value][who] += weight
            elif claim.subject == me:
                votes[claim.value][me] += 6
        for name, by in votes.items():
            for who, text in self.turns:  # a speaker rarely means themselves by a name
                if name in text:
                    by[who] -= 1.2
        out: dict[str, str] = {}
        for name, by in votes.items():
            best = sorted(by.items(), key=lambda x: (-x[1], x[0]))
            if best[0][1] >= 0.9 and (len(best) == 1 or best[0][1] > best[1][1]) and name not in speakers:
                out[name] = best[0][0]
        return out, common

    def _you(self, at: int) -> dict[str, float]:
        me = self.turns[at][0]
        others = {who for who, _ in self.turns} - {me}
        if len(others) == 1:
            return {next(iter(others)): 1.5}
        out: dict[str, float] = defaultdict(float)
        following = next((who for who, _ in self.turns[at + 1 :] if who != me), "")
        before = next((who for who, _ in reversed(self.turns[:at]) if who != me), "")
        if following:
            out[following] += 1.0
        if before:
            out[before] += 0.5
        return out

    # -- works, places, well-known people --------------------------------

    def _things(self, claims: list[Assertion]) -> dict[str, list[Any]]:
        speakers = {who for who, _ in self.turns}
        entities: set[str] = set()
        triples: set[Triple] = set()
        for claim in claims:
            if (
                claim.sure < 0.5
                or claim.kind in (Claim.NODE, Claim.END)
                or claim.subject in speakers
                or claim.object in speakers
            ):
                continue
            o = claim.object or claim.value
            if "@" in claim.subject or "@" in o:
                continue
            for name in self._labels(claim):
                triples.add((claim.subject, name, o))
                entities.update((claim.subject, o))
        return {"entities": sorted(entities), "triples": sorted(triples)}

    def _labels(self, claim: Assertion) -> list[str]:
        """What the data call a predicate; of several names the one that the sentence uses."""
        key = claim.predicate or claim.kind.value
        names = [
            n
            for n in _TABLES["things"].get(f"{key}.{claim.type}", _TABLES["things"].get(key, ()))
            if n in self.allowed
        ]
        if len(names) > 1:
            told = [n for n in names if any(w in claim.quote for w in _TABLES["cues"].get(n, [n]))]
            return told[:1] or names[:1]
        return names
