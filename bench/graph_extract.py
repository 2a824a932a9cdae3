"""Adapter of the rule-based extraction for the development data of `../shared/bench/graph` (its README describes the protocol).

    cd ../shared/bench/graph && PYTHONPATH=<this repository> python run.py --extractor bench.graph_extract:Rules

Part, not product (`bench.graph_product` reads `thread.graph`). Two tables of predicates are known (people in dialogues, profiles of persons); which one is wanted
is seen from the predicates that the runner allows. Who "you" is, is settled here by who speaks next and before, as the fold does
for threads. Chinese is handed to `bench.graph_extract_zh`.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from backscroll.derive.extract.en.reader import read
from backscroll.derive.extract.utterance import Utterance
from backscroll.vocab.assertion import PRONOUN, Assertion, Claim
from backscroll.vocab.ids import Ref

Triple = tuple[str, str, str]
THREAD = "0" * 32
LEAST = 0.5  # surer than this is held true; names used to address someone count as hints too
_TABLES: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("graph_extract.toml").read_text(encoding="utf-8")
)


class Rules:
    """Dispatches on the language and on what is asked for."""

    def __init__(self) -> None:
        self.usual: dict[tuple[bool, bool], str] = {}

    def fit(self, items: list[Any]) -> None:
        """The commonest predicate between speakers and names: what is answered for a given pair of which nothing was said."""
        seen: dict[tuple[bool, bool], Counter[str]] = defaultdict(Counter)
        for item in items:
            for s, p, o in item.triples:
                seen[_speaker(s), _speaker(o)][p] += 1
        self.usual = {kind: by.most_common(1)[0][0] for kind, by in seen.items()}

    def start(self, lang: str, predicates: list[str], entities: list[str] | None = None) -> None:
        """Begin a new item."""
        if lang == "zh":
            from bench.graph_extract_zh import Rules as Chinese

            self.inner: Any = Chinese()
            self.inner.start(lang, predicates, entities)
        elif "has_profession" in predicates:
            self.inner = Profile()
        else:
            self.inner = Dialogue()

    def add(self, speaker: str | None, text: str) -> None:
        """Add the next turn."""
        self.inner.add(speaker, text)

    def result(self) -> dict[str, list[Any]]:
        """What is held true now."""
        return self.inner.result()

    def classify(self, pairs: list[tuple[str, str]]) -> list[set[str]]:
        """The predicates between given pairs."""
        if hasattr(self.inner, "classify"):
            return self.inner.classify(pairs)
        held: dict[tuple[str, str], set[str]] = defaultdict(set)
        for s, p, o in self.result()["triples"]:
            held[s.lower(), o.lower()].add(p)
        usual = self.usual
        return [
            held.get((x.lower(), y.lower())) or {usual.get((_speaker(x), _speaker(y)), "")} - {""}
            for x, y in pairs
        ]


def _speaker(name: str) -> bool:
    return name.startswith("Speaker ") and name[8:].isdigit()


class Dialogue:
    """People who talk to each other."""

    def __init__(self) -> None:
        self.turns: list[tuple[str, str]] = []

    def add(self, speaker: str | None, text: str) -> None:
        """Add the next turn."""
        self.turns.append((speaker or "", text))

    def result(self) -> dict[str, list[Any]]:
        """Entities and triples in the predicates of the data."""
        said = [Utterance(text, Ref(THREAD, n + 1), who) for n, (who, text) in enumerate(self.turns)]
        claims = read(said)
        owner = self._owners(claims)
        triples: set[Triple] = set()
        entities: set[str] = set()
        for claim in claims:
            self._entities(claim, entities)
            triples |= self._triples(claim, owner)
        for name, who in owner.items():
            triples.add((who, "per:alternate_names", name))
        return {"entities": sorted(entities), "triples": sorted(triples)}

    def _entities(self, claim: Assertion, out: set[str]) -> None:
        if claim.kind is Claim.NODE and claim.sure < LEAST:
            return
        for name in (claim.subject, claim.object):
            if name and not name.startswith(PRONOUN) and "'s " not in name and name[:1].isupper():
                out.add(name)
        if claim.kind is Claim.ALIAS or (
            claim.kind is Claim.ATTRIBUTE and claim.predicate in _TABLES["dialogue"]["values"]
        ):
            out.add(claim.value)

    # -- who is who ------------------------------------------------------

    def _owners(self, claims: list[Assertion]) -> dict[str, str]:
        """Name -> the speaker who is called so."""
        votes: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        spoken = self._mentions(claims)
        for claim in claims:
            if claim.kind is not Claim.ALIAS or claim.source is None:
                continue
            at = claim.source.seq - 1
            if claim.subject == PRONOUN + "you":
                for who, weight in self._you(at).items():
                    if who not in spoken.get(claim.value, ()) or not claim.value[:1].isupper():
                        votes[claim.value][who] += weight * (1.0 if claim.sure >= LEAST else 0.8)
            elif claim.subject == self.turns[at][0]:
                votes[claim.value][claim.subject] += 4 * claim.sure
        out: dict[str, str] = {}
        for name, by in votes.items():
            best = sorted(by.items(), key=lambda x: (-x[1], x[0]))
            if best[0][1] >= 0.6 and (len(best) == 1 or best[0][1] > best[1][1] * 1.2):
                out[name] = best[0][0]
        return out

    def _mentions(self, claims: list[Assertion]) -> dict[str, set[str]]:
        """Map each name to the speakers who use it for others: speakers do not address themselves."""
        out: dict[str, set[str]] = defaultdict(set)
        names = {c.subject for c in claims if c.kind is Claim.NODE} | {
            c.value for c in claims if c.kind is Claim.ALIAS
        }
        for name in sorted(names):
            for who, text in self.turns:
                if name[:1].isupper() and re.search(rf"\b{re.escape(name)}\b", text):
                    out[name].add(who)
        for claim in claims:
            if claim.kind is Claim.ALIAS and not claim.subject.startswith(PRONOUN):
                out[claim.value].discard(claim.subject)
        return out

    def _you(self, at: int) -> dict[str, float]:
        """Who is spoken to in a turn."""
        me = self.turns[at][0]
        speakers = {who for who, _ in self.turns}
        if len(speakers) == 2:
            return {next(iter(speakers - {me}), me): 1.0}
        out: dict[str, float] = defaultdict(float)
        following = next((who for who, _ in self.turns[at + 1 :] if who != me), "")
        before = next((who for who, _ in reversed(self.turns[:at]) if who != me), "")
        if following:
            out[following] += 1.0
        if before:
            out[before] += 0.7
        return out

    def _one(self, name: str, claim: Assertion, owner: dict[str, str]) -> str:
        if name == PRONOUN + "you" and claim.source is not None:
            by = sorted(self._you(claim.source.seq - 1).items(), key=lambda x: (-x[1], x[0]))
            return by[0][0] if by and (len(by) == 1 or by[0][1] > 1.2 * by[1][1]) else ""
        if name.startswith(PRONOUN) or "'s " in name:
            return ""
        return owner.get(name, name)

    def _triples(self, claim: Assertion, owner: dict[str, str]) -> set[Triple]:
        if claim.kind in {Claim.NODE, Claim.END} or claim.sure < LEAST:
            return set()
        one = self._one(claim.subject, claim, owner)
        if not one:
            return set()
        if claim.kind is Claim.ALIAS:
            return (
                {(one, "per:alternate_names", claim.value)}
                if not claim.subject.startswith(PRONOUN)
                else set()
            )
        if claim.kind is Claim.ATTRIBUTE:
            predicate = _TABLES["dialogue"]["values"].get(claim.predicate)
            return {(one, predicate, claim.value)} if predicate else set()
        other = self._one(claim.object, claim, owner)
        there, back = _TABLES["dialogue"]["relations"].get(claim.predicate, ("", ""))
        if not other or other == one:
            return set()
        if (
            claim.predicate in {"likes", "loves", "hates", "dislikes"}
            and claim.object_type != "person"
            and not other[:1].isupper()
        ):
            return set()
        return ({(one, there, other)} if there else set()) | ({(other, back, one)} if back else set())


class Profile:
    """One person tells of herself, a sentence at a time."""

    def __init__(self) -> None:
        self.claims: list[Assertion] = []

    def add(self, speaker: str | None, text: str) -> None:
        """The next sentence."""
        self.claims += read([Utterance(text, None, speaker or "")])

    def result(self) -> dict[str, list[Any]]:
        """Triples in the predicates of the data."""
        triples: set[Triple] = set()
        for claim in self.claims:
            if claim.sure < LEAST:
                continue
            triple = self._triple(claim)
            if triple is not None:
                triples.add(triple)
        entities = {t[2] for t in triples} | {t[0] for t in triples}
        return {"entities": sorted(entities), "triples": sorted(triples)}

    def _triple(self, claim: Assertion) -> Triple | None:
        table = _TABLES["profile"]
        who = claim.subject
        if "'s " in who:
            who = "my " + who.split("'s ", 1)[1]
        if who.startswith(PRONOUN):
            return None
        value = claim.value if claim.kind is Claim.ATTRIBUTE else claim.object
        if claim.kind is Claim.END:
            predicate = table["ended"].get(claim.predicate, "")
            value = claim.object or claim.value
        elif claim.kind in {Claim.NODE, Claim.ALIAS}:
            return None
        else:
            predicate = self._predicate(claim.predicate, value.lower(), table)
        return (who, predicate, value) if predicate and value and value != "yes" else None

    def _predicate(self, predicate: str, value: str, table: dict[str, Any]) -> str:
        found = table["predicates"].get(predicate)
        if found is None and predicate.startswith("favourite_"):
            noun = predicate.removeprefix("favourite_")
            return table["favourites"].get(noun, "favorite")
        if found == "by value":
            for kind, listed in table["sorts"].items():
                if any(w in listed.split() for w in value.split()):
                    return kind
            return "like_activity" if predicate == "hobby" else "like_general"
        return found or ""
