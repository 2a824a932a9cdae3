"""State of one English message while it is read: the referents of "I" and "she", and the assertions so far.

Owns the names under which assertions refer to phrases ("my mother" of Tom is "Tom's mother"), pronouns, and collecting
assertions without duplicates. Refuses grammar (`derive/extract/en/grammar/phrases`) and rules.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from backscroll.derive.extract.en.grammar.clauses import Mood
from backscroll.derive.extract.en.grammar.phrases import NounPhrase, ParsedSentence, kin
from backscroll.derive.extract.en.grammar.words import words
from backscroll.derive.extract.utterance import Utterance
from backscroll.vocab.assertion import LEANS, PRONOUN, Assertion, Claim

_FIRST = frozenset({"i", "me", "myself", "mine"})
_MARKS = {
    "you": "you", "your": "you", "yours": "you", "yourself": "you",
    "he": "he", "him": "he", "his": "he", "himself": "he",
    "she": "she", "her": "she", "hers": "she", "herself": "she",
    "it": "it", "its": "it", "itself": "it",
    "they": "they", "them": "they", "their": "they", "theirs": "they", "themselves": "they",
    "we": "we", "us": "we", "our": "we", "ours": "we", "ourselves": "we",
}  # fmt: skip
_PROGRAM = "assistant's "
_HINTS = {"he": "male", "she": "female", "it": "thing"}
#: Relatives of whom a person has only one, or who are worth a node without a name.
_ONE = frozenset(
    """mother father mom dad mum mommy daddy mama papa stepmother stepfather stepmom stepdad wife husband hubby fiance fiancé fiancee fiancée girlfriend
    boyfriend partner brother sister son daughter boss roommate uncle aunt grandmother grandfather grandma grandpa nephew niece cousin twin
    ex-wife ex-husband ex-girlfriend ex-boyfriend mother-in-law father-in-law brother-in-law sister-in-law""".split()
)
_SAME = {
    "mom": "mother", "mum": "mother", "mommy": "mother", "mama": "mother", "momma": "mother", "ma": "mother", "mummy": "mother",
    "dad": "father", "daddy": "father", "papa": "father", "pa": "father", "hubby": "husband",
    "grandma": "grandmother", "granny": "grandmother", "nana": "grandmother", "gran": "grandmother", "grandpa": "grandfather",
    "stepmom": "stepmother", "stepdad": "stepfather", "bro": "brother", "sis": "sister", "gf": "girlfriend", "bf": "boyfriend",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class NamedThing:
    """A person or thing under the name that an assertion uses."""

    name: str
    type: str = ""
    hint: str = ""
    sure: float = 1.0

    @property
    def pronoun(self) -> bool:
        """True if the fold must resolve the pronoun."""
        return self.name.startswith(PRONOUN)


@dataclass(slots=True)
class TurnContext:
    """State shared by the messages of a turn: known genders and types, and the assertions found."""

    genders: dict[str, str] = field(default_factory=dict[str, str])
    types: dict[str, str] = field(default_factory=dict[str, str])
    found: dict[tuple[str, ...], Assertion] = field(default_factory=dict[tuple[str, ...], Assertion])


@dataclass(slots=True)
class MessageReading:
    """The state of one message while it is read."""

    said: Utterance
    turn: TurnContext
    line: ParsedSentence
    #: (number of the sentence, where in the message, name)
    people: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])
    number: int = 0  # of the sentence
    voice: str = ""  # the speaker inside quotation marks; empty: the author
    scale: float = 1.0  # of narration and quoted speech

    @property
    def me(self) -> str:
        """The referent of "I"."""
        return self.voice or self.said.who

    # -- names -----------------------------------------------------------

    def pronoun(self, low: str, at: int = 1 << 40) -> NamedThing | None:
        """Return the referent of a pronoun or possessive at this place of the message."""
        if low in _FIRST or low == "my":
            return NamedThing(self.me, "person")
        mark = _MARKS.get(low)
        if mark is None:
            return None
        if mark == "you":
            if self.said.addressee and not self.voice:
                return NamedThing(self.said.addressee, "person")
            return NamedThing(PRONOUN + "you", "person")
        if mark in {"he", "she"}:
            known = self._antecedent(mark, at)
            if known:
                self.turn.types.setdefault(known, "person")
                return NamedThing(known, "person", sure=0.9)
            return NamedThing(PRONOUN + mark, "person", _HINTS[mark])
        return NamedThing(PRONOUN + mark, "", _HINTS.get(mark, ""))

    def _antecedent(self, mark: str, at: int) -> str:
        wanted = _HINTS[mark]
        before = [(number, name) for number, place, name in self.people if place < at and name != self.me]
        near = {
            name
            for number, name in before
            if number >= self.number - 1 and self.turn.genders.get(name) == wanted
        }
        if not near:  # a sole mention in the whole message is too weak
            near = {name for _, name in before}
            near = near if all(self.turn.genders.get(name, wanted) == wanted for name in near) else set[str]()
        if not before:  # no known person: the only name in the sentence so far
            names = [w for w in self.line.words if w.tag == "K" and w.start < at]
            near = {
                w.text for w in names if (w.type or self.turn.types.get(w.text, "person")) == "person"
            } - {self.me}
        return near.pop() if len(near) == 1 else ""

    def _place(self, phrase: NounPhrase) -> int:
        tokens = self.line.words
        return tokens[phrase.start].start if 0 <= phrase.start < len(tokens) else 1 << 40

    def refer(self, phrase: NounPhrase, *, loose: bool = False) -> NamedThing | None:
        """Return the name a phrase refers to; `loose` also accepts unnamed things."""
        if phrase.pronoun:
            return self.pronoun(phrase.pronoun, self._place(phrase))
        if phrase.name is not None:
            if phrase.owner and not phrase.head:
                return None
            name = phrase.name
            kind = self.turn.types.get(name.text) or name.type
            if phrase.head in kin() and phrase.head != "family":
                kind = "person"
            return NamedThing(name.text, kind, sure=name.sure)
        owner = self.owner(phrase)
        if phrase.text.lower().endswith((" one", " ones")):
            return None
        if owner is not None and not owner.pronoun:
            if phrase.head in kin() and phrase.head in _ONE | {"family", "parents"} | _SAME.keys():
                return self.relative(owner.name, phrase.head)
            if phrase.head in words("animal", "pets"):
                return NamedThing(f"{owner.name}'s {phrase.head}", "animal")
            if phrase.head in words("thing", "vehicle") or loose:
                return NamedThing(f"{owner.name}'s {phrase.text}", "thing")
            return None
        if owner is not None:
            return None
        if loose and phrase.text and phrase.head:
            return NamedThing(phrase.text, "")
        return None

    def owner(self, phrase: NounPhrase) -> NamedThing | None:
        """Return the owner that a phrase names."""
        if phrase.owner:
            det, _, noun = phrase.owner.partition(" ")
            if noun and det.islower():
                whose = self.pronoun(det, self._place(phrase))
                if whose is None or whose.pronoun:
                    return None
                return (
                    self.relative(whose.name, noun)
                    if noun in kin()
                    else NamedThing(f"{whose.name}'s {noun}", "animal")
                )
            return NamedThing(phrase.owner, self.turn.types.get(phrase.owner, ""))
        known = phrase.det in _MARKS or phrase.det == "my"
        return self.pronoun(phrase.det, self._place(phrase)) if known else None

    def kin_owner(self, phrase: NounPhrase) -> NamedThing | None:
        """Return the person a relative or pet belongs to: "our kids" are the speaker's."""
        return NamedThing(self.me, "person", sure=0.9) if phrase.det == "our" else self.owner(phrase)

    def relative(self, owner: str, head: str) -> NamedThing:
        """Return the relative of a person, under a stable name."""
        noun = _SAME.get(head, head)
        name = f"{owner}'s {noun}"
        self.gender(name, noun)
        return NamedThing(name, "group" if noun in {"family", "parents"} else "person")

    def gender(self, name: str, noun: str) -> None:
        """Note the gender shown by a word for a person."""
        for gender in ("female", "male"):
            if noun in words("gender", gender):
                self.turn.genders.setdefault(name, gender)

    def meet(self, name: str, kind: str = "person") -> None:
        """Note a mention of a person or thing."""
        if kind == "person":
            self.people.append((self.number, self._find_start(name), name))
        if kind:
            self.turn.types.setdefault(name, kind)

    def _find_start(self, name: str) -> int:
        return next((w.start for w in self.line.words if w.text == name), self.line.start)

    # -- finding ---------------------------------------------------------

    def add(
        self,
        kind: Claim,
        who: NamedThing,
        predicate: str = "",
        *,
        value: str = "",
        to: NamedThing | None = None,
        sure: float = 1.0,
    ) -> None:
        """Add an assertion; a repeated one is kept once, with the highest certainty."""
        value = " ".join(value.split())
        if who.name.startswith(_PROGRAM) or (to is not None and to.name.startswith(_PROGRAM)):
            return  # "your brother", said to a program without a name
        if kind is Claim.ALIAS and value.lower() == who.name.lower():
            return
        if to is not None and to.name == who.name:
            return
        if self.said.role == "assistant" and not self.said.speaker and not self.voice:
            if who.name == self.me or (to is not None and to.name == self.me):
                return  # a program is glad to help; that states nothing
            if who.name == PRONOUN + "we":
                return
            if who.name == PRONOUN + "you":
                sure *= 0.5  # "you" of advice is generic
        sure = round(max(0.05, min(1.0, sure * who.sure * (to.sure if to else 1.0) * self.scale)), 2)
        where = str(self.said.source) if kind is Claim.NODE or who.pronoun else ""
        key = (kind.value, who.name, predicate, value.lower(), to.name if to else "", where)
        claim = Assertion(
            kind,
            who.name,
            predicate,
            value,
            to.name if to else "",
            who.type,
            to.type if to else "",
            self.line.text,
            self.said.source,
            self.me,
            sure,
            who.hint or (to.hint if to else ""),
        )
        held = self.turn.found.get(key)
        if held is None:
            self.turn.found[key] = claim
        elif held.hint == LEANS and claim.type and claim.hint != LEANS:
            self.turn.found[key] = replace(held, sure=max(held.sure, sure), type=claim.type, hint=claim.hint)
        elif held.sure < sure or (claim.type and not held.type):
            hint = held.hint if held.type else claim.hint
            self.turn.found[key] = replace(
                held, sure=max(held.sure, sure), type=held.type or claim.type, hint=hint
            )

    def node(self, who: NamedThing, sure: float = 1.0) -> None:
        """Assert a node of this name."""
        if not who.pronoun:
            self.add(Claim.NODE, who, sure=sure)

    def attribute(self, who: NamedThing, predicate: str, value: str, mood: Mood, sure: float = 1.0) -> None:
        """Assert that `predicate` is `value`, or no longer is."""
        if not value:
            return
        sure *= mood.sure
        if mood.over or mood.denied:
            self.add(Claim.END, who, predicate, value=value, sure=sure * (1.0 if mood.over else 0.8))
        else:
            self.add(Claim.ATTRIBUTE, who, predicate, value=value, sure=sure)

    def relation(
        self, who: NamedThing, predicate: str, to: NamedThing, mood: Mood, sure: float = 1.0
    ) -> None:
        """Assert a relation, or its end."""
        sure *= mood.sure
        if mood.over or mood.denied:
            self.add(Claim.END, who, predicate, to=to, sure=sure * (1.0 if mood.over else 0.8))
        else:
            self.add(Claim.RELATION, who, predicate, to=to, sure=sure)
