"""Whom a pronoun means: the last mentioned node that fits, in the same turn or up to three turns before.

Deterministic and local: looks at names in order and at what kind of thing each is. What cannot be settled is left out and
counted, never guessed. A pronoun that was settled is itself a mention, so a talk about "her" can go on. Before: `graph/index`.
After: `graph/weave`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from backscroll.graph.index import SURE, Line, Profile, Raw, Said
from backscroll.graph.names import ROLES, key_of
from backscroll.vocab.assertion import PRONOUN, Claim

#: How many turns back a pronoun may reach.
REACH = 3
_ANIMATE = frozenset({"person", "creature", "animal", "group"})
_SEXED = frozenset({"person", "creature", "animal"})
_MANY = frozenset({"group", "organisation", "person", "creature", "animal"})
_OTHER_ROLE = {"user": "assistant", "assistant": "user"}


@dataclass(slots=True)
class _Talk:
    """What has been mentioned so far, the newest last."""

    mentions: dict[str, None] = field(default_factory=dict[str, None])
    speakers: dict[str, None] = field(default_factory=dict[str, None])

    def mention(self, key: str) -> None:
        self.mentions.pop(key, None)
        self.mentions[key] = None

    def speak(self, key: str) -> None:
        self.speakers.pop(key, None)
        self.speakers[key] = None


def settle(said: Said, before: Sequence[Said], kind_of: Callable[[str], Profile]) -> None:
    """Fill in the lines and mentions of a turn; `before` are the turns in reach, the oldest first."""
    talk, own = _Talk(), _Talk()
    if said.pronouns:
        for earlier in before:
            for key in earlier.mentions:
                talk.mention(key)
            for key in earlier.speakers:
                talk.speak(key)
    said.lines, said.echoes, said.joins, said.firsts, said.unsettled = [], [], [], {}, 0
    for number, raw in enumerate(said.raws):
        speaker = key_of(raw.claim.speaker) if raw.claim.speaker else ""
        if speaker:
            talk.speak(speaker)
            own.speak(speaker)
        subject, object_ = raw.subject, raw.object
        if subject[0] == PRONOUN:
            subject = _meant(subject[1:], raw, speaker, "", talk, said, kind_of)
        if object_[:1] == PRONOUN:
            object_ = _meant(object_[1:], raw, speaker, subject, talk, said, kind_of, at_object=True)
        if not subject or (raw.object and not object_):
            said.unsettled += 1
        else:
            _write(said, raw, number, subject, object_)
        for slot, key in enumerate((subject, raw.other, object_)):
            if key:
                talk.mention(key)
                own.mention(key)
                said.firsts.setdefault(key, number * 4 + slot)
    said.mentions, said.speakers = tuple(own.mentions), tuple(own.speakers)
    said.settled = True


def _write(said: Said, raw: Raw, number: int, subject: str, object_: str) -> None:
    """The line of a settled claim."""
    turn, claim = said.turn, raw.claim
    if raw.subject[0] == PRONOUN:
        if claim.type:
            said.echoes.append((subject, claim.type, max(1, round(claim.sure * 100))))
        if raw.other and claim.sure >= SURE:
            said.joins.append((subject, raw.other))
    if raw.kind is Claim.NODE:
        return
    one, two = (object_, subject) if raw.flipped else (subject, object_)
    order = (0, turn.position, turn.opening, number)
    said.lines.append(Line(order, turn.opening, claim, raw.kind, one, raw.predicate, two, raw.flipped))


def _meant(
    pronoun: str,
    raw: Raw,
    speaker: str,
    subject: str,
    talk: _Talk,
    said: Said,
    kind_of: Callable[[str], Profile],
    *,
    at_object: bool = False,
) -> str:
    """The key that a pronoun stands for, or nothing."""
    if pronoun in ("i", "we"):
        return speaker
    if pronoun == "you":
        return _addressed(speaker, talk, said)
    # A hint narrows the pronoun of its claim: of the subject, unless only the object is one.
    hint = raw.claim.hint if not at_object or raw.subject[0] != PRONOUN else ""
    wanted = (raw.claim.object_type if at_object else raw.claim.type) or ""
    for key in reversed(talk.mentions):
        if key in (speaker, subject, raw.other) or key in ROLES:
            continue
        if at_object and key == raw.subject:
            continue
        if _fits(pronoun, hint, wanted, kind_of(key)):
            return key
    return ""


def _addressed(speaker: str, talk: _Talk, said: Said) -> str:
    """Who is spoken to: who else spoke last, or will answer in this turn, or the other role."""
    for key in reversed(talk.speakers):
        if key != speaker:
            return key
    for raw in said.raws:
        other = key_of(raw.claim.speaker) if raw.claim.speaker else ""
        if other and other != speaker:
            return other
    return _OTHER_ROLE.get(speaker, "")


def _fits(pronoun: str, hint: str, wanted: str, profile: Profile) -> bool:
    """Whether a pronoun can stand for something of this kind; what is not known does not speak against it."""
    type_, gender = profile.type, profile.gender
    if hint in ("female", "male") and gender and gender != hint:
        return False
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
