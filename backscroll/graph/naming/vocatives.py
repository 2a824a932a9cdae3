"""Bearers of forms of address: who is called by a name and answers, counted over the whole conversation.

"Hey Ann!" names the addressee, and among several speakers a single call does not show who that is. Owns the count: a call
is a vote for the next speaker, a smaller one for the previous speaker, and one against the caller; a speaker who uses a name for
another person hardly bears it. A name is tied to the speaker in the lead. An unnamed speaker (user, assistant) gets a name only
if called by no other: a speaker who plays three people in turn is none of them. Counts are whole and follow from the live turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from backscroll.graph.claims.claim import MessageSpeaker, TurnEntry
from backscroll.graph.claims.names import ROLES
from backscroll.graph.naming.identity import NameLinks, NameTie
from backscroll.graph.tuning import (
    ALONE_VOTE,
    BEFORE_VOTE,
    CALLER_VOTE,
    NEXT_VOTE,
    OWNER_VOTE,
    USER_VOTE,
    VOTES_NEEDED,
)
from backscroll.vocab.ids import Ref

#: Returns the turn before a turn, the turn itself, and the turn after it.
Around = Callable[[Ref], Sequence[TurnEntry]]


class VocativeNames:
    """Names by which speakers are addressed."""

    def __init__(self, links: NameLinks) -> None:
        self._links = links
        self._calls: dict[str, dict[Ref, int]] = {}  # name, turn: count
        self._uses: dict[str, dict[str, int]] = {}  # name, speaker: messages
        self._owns: dict[str, dict[str, int]] = {}  # name, the speaker who claims it
        self._speaks: dict[str, int] = {}  # speaker: messages
        self._owner: dict[str, str] = {}
        self._names: dict[str, set[str]] = {}  # role, the names that point to it
        self._tied: dict[str, str] = {}  # name, speaker

    @property
    def called(self) -> set[str]:
        """Every name used as a form of address."""
        return set(self._calls)

    def note(self, said: TurnEntry, sign: int) -> set[str]:
        """Add (1) or remove (-1) a turn; return the names whose bearer must be determined again."""
        touched: set[str] = set()
        for voice in said.voices:
            if _count(self._speaks, voice.speaker, sign) and voice.speaker in self._calls:
                touched.add(voice.speaker)
            for name in voice.calls:
                _count(self._calls.setdefault(name, {}), said.turn.opening, sign)
                if not self._calls[name]:
                    del self._calls[name]
                touched.add(name)
            for into, names in ((self._uses, voice.uses), (self._owns, voice.owns)):
                for name in names:
                    _count(into.setdefault(name, {}), voice.speaker, sign)
                    if not into[name]:
                        del into[name]
                    touched.add(name)
        return touched

    def look_again(self, names: Iterable[str], around: Around) -> None:
        """Tie names to their bearers, or untie them."""
        roles: set[str] = set()
        for name in sorted(names):
            old, new = self._owner.get(name, ""), self._bearer(name, around)
            if old == new:
                continue
            if new:
                self._owner[name] = new
            else:
                del self._owner[name]
            for role in {old, new} & ROLES:
                bearers = self._names.setdefault(role, set())
                (bearers.add if role == new else bearers.discard)(name)
                roles.add(role)
            self._retie(name, "" if new in ROLES else new)
        for role in sorted(roles):
            for name in sorted(self._names[role]):
                self._retie(name, role if len(self._names[role]) == 1 else "")

    def _retie(self, name: str, speaker: str) -> None:
        old = self._tied.get(name, "")
        if old == speaker:
            return
        if old:
            self._links.tie(name, old, NameTie.PRONOUN, -1)
            del self._tied[name]
        if speaker:
            self._links.tie(name, speaker, NameTie.PRONOUN, 1)
            self._tied[name] = speaker

    def _bearer(self, name: str, around: Around) -> str:
        """Return the bearer of a name; empty without a clear leader."""
        if name not in self._calls or name in self._speaks:
            return ""
        votes: dict[str, int] = {}
        for opening in self._calls[name]:
            _count_call_votes(name, opening, around(opening), votes)
        for weight, counts in ((USER_VOTE, self._uses), (OWNER_VOTE, self._owns)):
            for who, count in counts.get(name, {}).items():
                votes[who] = votes.get(who, 0) + weight * count
        ranked = sorted(votes.items(), key=lambda item: (-item[1], item[0]))
        leads = ranked and ranked[0][1] >= VOTES_NEEDED and (len(ranked) == 1 or ranked[0][1] > ranked[1][1])
        return ranked[0][0] if leads else ""


def _count_call_votes(name: str, opening: Ref, turns: Sequence[TurnEntry], votes: dict[str, int]) -> None:
    """Add the votes of the forms of address in one turn."""
    voices = [(said.turn.opening == opening, voice) for said in turns for voice in said.voices]
    present = {voice.speaker for _, voice in voices}
    for at, (here, voice) in enumerate(voices):
        if not here:
            continue
        for _ in range(voice.calls.count(name)):
            me = voice.speaker
            votes[me] = votes.get(me, 0) + CALLER_VOTE
            if len(present) == 2:
                (other,) = present - {me}
                votes[other] = votes.get(other, 0) + ALONE_VOTE
                continue
            if following := _other(me, (v for _, v in voices[at + 1 :])):
                votes[following] = votes.get(following, 0) + NEXT_VOTE
            if before := _other(me, (v for _, v in reversed(voices[:at]))):
                votes[before] = votes.get(before, 0) + BEFORE_VOTE


def _other(me: str, voices: Iterable[MessageSpeaker]) -> str:
    return next((voice.speaker for voice in voices if voice.speaker != me), "")


def _count(into: dict[str, int] | dict[Ref, int], key: str | Ref, by: int) -> bool:
    """Count; True if the entry was added or removed."""
    counts: dict[str | Ref, int] = into  # type: ignore[assignment]
    total = counts.get(key, 0) + by
    if total:
        counts[key] = total
        return total == by
    del counts[key]
    return True
