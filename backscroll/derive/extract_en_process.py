"""Where things are in the course of a process: "water falls into the river", "the plant absorbs the water".

Owns following given things from sentence to sentence: they come to be, move, turn into others, are gone (`extract_en_process.toml`).
Refuses to find the things: they are given. Before: `extract_en_phrases`. After: whoever asks where something is now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from backscroll.derive.extract_en_phrases import Line, phrase
from backscroll.derive.extract_en_words import Word, cut, table


@dataclass(frozen=True, slots=True)
class Mention:
    """A thing is spoken of: `line[start:end]`."""

    thing: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Spot:
    """A place after a preposition."""

    at: int  # of the preposition
    source: bool
    along: bool  # passed through rather than arrived at
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Clause:
    """One verb with the things around it."""

    line: Line
    verb: int
    before: list[Mention]
    after: list[Mention]
    inside: set[Mention]  # named as places
    spots: list[Spot]

    @property
    def passive(self) -> bool:
        """ "is absorbed"."""
        return self.verb > 0 and self.line.low(self.verb - 1) in _PASSIVE


_PASSIVE = frozenset("is are was were be been being get gets".split())


@cache
def _list(name: str) -> frozenset[str]:
    return frozenset(str(table("extract_en_process")[name]).split())


def stem(word: str) -> str:
    """A word without the ending of the plural."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    return (
        word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3 else word
    )


class Whereabouts:
    """Given things, and where each of them is."""

    def __init__(self, things: Sequence[str]) -> None:
        """`things`: names; other names of the same thing behind a semicolon."""
        self.forms: list[tuple[tuple[str, ...], str]] = sorted(
            (
                (tuple(stem(w.low) for w in cut(form)), thing)
                for thing in things
                for form in thing.split(";")
                if form.strip()
            ),
            key=lambda pair: (-len(pair[0]), pair),
        )
        self.held: dict[str, str] = {}
        self.focus = ""  # the place named last
        self.last: list[str] = []  # things spoken of last

    def where(self) -> dict[str, str]:
        """Thing -> place, for those whose place is known."""
        return dict(self.held)

    def add(self, text: str) -> None:
        """The next sentence."""
        for clause in _clauses(cut(text)):
            line = Line(clause, text, 0)
            self._clause(line)

    # -- reading ---------------------------------------------------------

    def mentions(self, line: Line) -> list[Mention]:
        """Every thing spoken of, the longest names first."""
        stems = [stem(w.low) for w in line.words]
        taken = [False] * len(stems)
        out: list[Mention] = []
        for form, thing in self.forms:
            if not form:
                continue
            size = len(form)
            for at in range(len(stems) - size + 1):
                if (
                    stems[at] == form[0]
                    and tuple(stems[at : at + size]) == form
                    and not any(taken[at : at + size])
                ):
                    taken[at : at + size] = [True] * size
                    out.append(Mention(thing, at, at + size))
        for form, thing in self.forms:  # "the vapor" for "water vapor"
            if len(form) > 1 and not any(m.thing == thing for m in out):
                for at, word in enumerate(stems):
                    if word == form[-1] and not taken[at]:
                        taken[at] = True
                        out.append(Mention(thing, at, at + 1))
                        break
        return sorted(out, key=lambda m: m.start)

    def spots(self, line: Line) -> list[Spot]:
        """Every place after a preposition."""
        out: list[Spot] = []
        for i, word in enumerate(line.words):
            source = word.low in _list("from")
            if not source and word.low not in _list("to"):
                continue
            if word.low == "to" and line.tag(i + 1) == "B":
                continue
            at = i + 1
            while line.low(at) in {"of", "the", "to", "from", "in"} and line.low(at) != "the":
                at += 1
            found = phrase(line, at)
            if found is None or found.pronoun or not found.head or found.number:
                continue
            end = found.end
            text = found.text
            if line.low(end) == "of":
                more = phrase(line, end + 1)
                if more is not None and not more.pronoun and more.head:
                    text, end = line.piece(found.end - len(found.text.split()), more.end), more.end
            if set(found.text.lower().split()) & _list("no_place") and len(found.text.split()) <= 2:
                continue
            out.append(Spot(i, source, word.low in {"through", "across", "along", "over"}, text, at, end))
        return out

    def _clause(self, line: Line) -> None:
        mentions = self.mentions(line)
        spots = self.spots(line)
        verb = next((i for i, w in enumerate(line.words) if _kind(line, i, w)), -1)
        kind = _kind(line, verb, line.words[verb]) if verb >= 0 else ""
        inside = {m for m in mentions for s in spots if s.start <= m.start < s.end}
        before = [m for m in mentions if m.start < verb] if verb >= 0 else mentions
        if not before and verb in {0, 1}:
            before = [
                Mention(thing, 0, 0) for thing in self.last
            ]  # "Turned into steel.": of what was said before
        after = [m for m in mentions if m.start > verb >= 0]
        seen = Clause(line, verb, before, after, inside, spots)
        into = self._turned(seen, kind)
        if into:
            self._become(seen, into)
        elif kind == "create":
            self._create(seen)
        elif kind == "gone":
            self._gone(seen)
        elif kind == "takes" and not seen.passive:
            self._take(seen)
        else:
            self._move(seen)
        self._as(seen)
        told = [m.thing for m in before if m not in inside] or [m.thing for m in after if m not in inside]
        self.last = told or self.last

    def _turned(self, c: Clause, kind: str) -> list[Mention]:
        """What something turns into."""
        if kind == "become":
            return c.after
        if kind in {"move", "takes"}:
            return []
        return [
            m
            for m in c.after
            if any(s.start <= m.start < s.end and c.line.low(s.at) == "into" for s in c.spots)
        ]

    def _put(self, thing: str, place: str) -> None:
        self.held[thing] = place
        self.focus = place

    def _gone(self, c: Clause) -> None:
        things = [m for m in c.after if m not in c.inside]
        if c.passive or (not things and c.line.low(c.verb) in _list("vanish")):
            things = [m for m in c.before if m not in c.inside]
        for m in things:
            self.held.pop(m.thing, None)

    def _take(self, c: Clause) -> None:
        holder = _subject_text(c.line, c.verb)
        for m in c.after:
            place = _where_to([s for s in c.spots if not s.source and s.at > m.start], m) or holder
            if m not in c.inside and place:
                self._put(m.thing, place)

    def _move(self, c: Clause) -> None:
        entered = phrase(c.line, c.verb + 1) if c.line.low(c.verb) in _list("enters") else None
        for m in c.before + c.after:
            if m in c.inside and not (
                m.start < c.verb and any(s.source and s.start <= m.start < s.end for s in c.spots)
            ):
                continue
            place = _where_to(c.spots, m)
            if not place and entered is not None and entered.head and m in c.before:
                place = entered.text
            if not place and c.passive:
                place = _by(c.line, c.verb)
            if place:
                self._put(m.thing, place)

    def _as(self, c: Clause) -> None:
        """ "falls to the ground as rain": what it is now is where it went."""
        for m in c.after:
            if c.line.low(m.start - 1) == "as" and c.before and c.before[0].thing in self.held:
                self.held[m.thing] = self.held[c.before[0].thing]

    def _become(self, c: Clause, into: list[Mention]) -> None:
        old = next((self.held[m.thing] for m in c.before if m.thing in self.held), "")
        every = c.before + c.after
        place = next(
            (s.text for s in c.spots if not s.source and not any(s.start <= m.start < s.end for m in every)),
            "",
        )
        new = {m.thing for m in into}
        for m in c.before:
            if m.thing not in new and m not in c.inside:
                self.held.pop(m.thing, None)
        for thing in sorted(new):
            if place or old or self.focus:
                self._put(thing, place or old or self.focus)

    def _create(self, c: Clause) -> None:
        new = [m for m in c.after if m not in c.inside] if not c.passive else []
        makers = [m for m in c.before if m not in c.inside] if new else []
        new = new or [m for m in c.before if m not in c.inside]
        place = next(
            (s.text for s in c.spots if not s.source and not any(s.start <= m.start < s.end for m in new)), ""
        )
        if not place and makers:
            place = next((self.held[m.thing] for m in makers if m.thing in self.held), "")
        elif not place and new and new[0] in c.after:
            place = _subject_text(c.line, c.verb)
        if makers and c.line.low(c.verb) in _list("spent"):
            for m in makers:
                self.held.pop(m.thing, None)
        for m in new:
            if place or (self.focus and m.thing not in self.held):
                self._put(m.thing, place or self.focus)


def _kind(line: Line, i: int, word: Word) -> str:
    if word.low in _list("become") and any(
        line.low(k) in _list("becoming") or word.low.startswith("becom") for k in (i + 1, i + 2)
    ):
        return "become"
    for kind in ("gone", "create", "takes", "move"):
        if word.low in _list(kind) and line.tag(i - 1) not in "DS":
            if kind == "gone" and word.low in {"use", "used", "uses"} and line.low(i + 1) == "to":
                continue
            return kind
    return ""


def _where_to(spots: list[Spot], m: Mention) -> str:
    """Where a thing goes or is: the last place after it, otherwise the one it comes from."""
    to = [s for s in spots if not s.source and s.at >= m.end and not s.start <= m.start < s.end]
    if to:
        return (next((s for s in reversed(to) if not s.along), None) or to[-1]).text
    ahead = [s for s in spots if not s.source and s.end <= m.start]
    if ahead:
        return ahead[-1].text
    return next((s.text for s in spots if s.source and s.at >= m.end), "")


def _by(line: Line, verb: int) -> str:
    """By what something is taken up."""
    if line.low(verb) not in _TAKEN:
        return ""
    by = next((i for i in range(max(verb, 0), len(line.words)) if line.low(i) == "by"), -1)
    found = phrase(line, by + 1) if by > 0 else None
    return found.text if found is not None and found.head else ""


_TAKEN = frozenset(
    "absorbed taken eaten collected trapped swallowed captured gathered stored caught held ingested".split()
)


def _subject_text(line: Line, verb: int) -> str:
    for at in range(verb):
        found = phrase(line, at, verb)
        if found is not None and found.head:
            return found.text
    return ""


def _clauses(tokens: list[Word]) -> list[list[Word]]:
    """A sentence cut where another verb begins that shares the subject or has its own: "flows down, and enters the lake"."""
    out: list[list[Word]] = [[]]
    known: frozenset[str] = frozenset[str]().union(
        *(_list(kind) for kind in ("move", "gone", "create", "takes", "become"))
    )
    had = False
    for i, word in enumerate(tokens):
        following = tokens[i + 1].low if i + 1 < len(tokens) else ""
        beyond = tokens[i + 2].low if i + 2 < len(tokens) else ""
        joins = word.low in {"and", "then"} or (
            word.low in {",", ";"} and following not in {"and", "or", "then"}
        )
        if had and joins and (following in known or (following in _BE and beyond in known)):
            out.append([])
            had = False
            continue
        out[-1].append(word)
        had = had or word.low in known
    return [clause for clause in out if clause]


_BE = frozenset("is are was were gets get then eventually".split())
