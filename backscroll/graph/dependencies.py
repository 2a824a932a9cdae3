"""Dependencies between turns, names and groups: what one changed turn invalidates, and nothing else.

Everything here follows from the live turns and the overrides alone, whatever the order of changes.
Owns which caches are dropped by which change. Order of work for a change: the turn's local claims, names joined by rules,
types, pronouns (later turns, as far as they change), groups, views.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from backscroll.graph.claims.claim import ClaimLine, Order, TurnEntry
from backscroll.graph.claims.predicates import direction
from backscroll.graph.claims.turns import read
from backscroll.graph.naming.identity import NameGroup, NameTie, Place
from backscroll.graph.naming.pronouns import settle
from backscroll.graph.overrides import layer_of
from backscroll.graph.state import GraphState
from backscroll.graph.tuning import REACH, SURE
from backscroll.vocab.assertion import PRONOUN, Claim, Override, TurnClaims
from backscroll.vocab.ids import Ref


@dataclass(slots=True)
class ChangeScope:
    """What one change has touched so far."""

    lines: list[ClaimLine] = field(default_factory=list[ClaimLine])
    named: dict[str, set[Ref]] = field(
        default_factory=dict[str, set[Ref]]
    )  # keys with other mentions, and their turns
    spelled: set[str] = field(default_factory=set[str])  # keys that gained or lost a spelling or a vote
    dirty: set[Place] = field(default_factory=set[Place])  # turns whose pronouns are resolved again
    called: set[str] = field(default_factory=set[str])  # names that may now be borne by another speaker
    #: nodes whose evidence changed, and whether they were shown before
    shown: dict[int, tuple[NameGroup, bool]] = field(default_factory=dict[int, tuple[NameGroup, bool]])


class ChangingGraphState(GraphState):
    """A graph state that applies changes and drops exactly what they invalidate."""

    def __init__(self, overrides: Sequence[Override], user: str, character: str = "") -> None:
        super().__init__(user, character)
        self.override(overrides)

    # Changes.

    def change(self, put: Sequence[TurnClaims] = (), drop: Iterable[Ref] = ()) -> None:
        """Replace, add and remove turns."""
        work = ChangeScope()
        gone = [
            opening for opening in dict.fromkeys([*drop, *(t.opening for t in put)]) if opening in self.turns
        ]
        for opening in gone:
            self._take_out(self.turns.pop(opening), work)
        fresh = {turn.opening: turn for turn in put}  # the last of several versions wins
        for turn in fresh.values():
            self._put_in(read(turn, self.layer.split(turn.opening)), work, sort=len(fresh) < 64)
        if len(fresh) >= 64:
            self.places.sort()
            work.called |= self._callings.called
        if len(fresh) < 64:
            for turn in fresh.values():
                self._mark(bisect_left(self.places, (turn.position, turn.opening)), work, REACH + 1)
        self._settle_all(work, everything=len(fresh) >= 64)

    def override(self, overrides: Sequence[Override]) -> None:
        """Replace the layer of overrides."""
        old, self.layer = self.layer, layer_of(overrides)
        for one, two in old.merges:
            self.links.tie(one, two, NameTie.PERSON, -1)
        for one, two in self.layer.merges:
            self.links.tie(one, two, NameTie.PERSON, 1)
        self.links.bar(self.layer.bars)
        moved = {o for o in {*old.splits, *self.layer.splits} if old.split(o) != self.layer.split(o)}
        touched = old.keys | self.layer.keys
        self.links.changed |= touched
        if self.renamed is not None:
            self.renamed |= touched
        again = [self.turns[opening].turn for opening in sorted(moved) if opening in self.turns]
        if again:
            self.change(again)
        else:
            self._settle_all(ChangeScope(), everything=False)

    def _take_out(self, said: TurnEntry, work: ChangeScope) -> None:
        at = bisect_left(self.places, said.place)
        del self.places[at]
        work.dirty.discard(said.place)
        self._mark(at, work, REACH)
        self._unwrite(said, work)
        self._local(said, -1, work)

    def _put_in(self, said: TurnEntry, work: ChangeScope, *, sort: bool) -> None:
        if sort:
            insort(self.places, said.place)
        else:
            self.places.append(said.place)
        self.turns[said.turn.opening] = said
        self._local(said, 1, work)

    def _mark(self, at: int, work: ChangeScope, count: int) -> None:
        """Mark the turns to read again, and the forms of address in turns with new neighbours."""
        work.dirty.update(self.places[at : at + count])
        for place in self.places[max(0, at - 1) : at + 2]:
            for voice in self.turns[place[1]].voices:
                work.called.update(voice.calls)

    def _local(self, said: TurnEntry, sign: int, work: ChangeScope) -> None:
        for key in said.proofs if self._groups else ():
            if (group := self._groups.get(key)) is not None and id(group) not in work.shown:
                work.shown[id(group)] = group, self.has_enough_evidence(group)
        work.spelled |= self.index.local(said, sign)
        work.called |= self._callings.note(said, sign)
        for raw in said.raws:
            if raw.subject[0] != PRONOUN:
                work.spelled.add(raw.subject)
                if raw.other and raw.claim.sure >= SURE:
                    self.links.tie(raw.subject, raw.other, NameTie.STATED, sign)
                if raw.hinted:
                    self._rules.hint(raw.subject, raw.hinted, sign)
            if raw.object and raw.object[0] != PRONOUN:
                work.spelled.add(raw.object)
            if raw.other:
                work.spelled.add(raw.other)

    def _settle_all(self, work: ChangeScope, *, everything: bool) -> None:
        self._rules.look_again(work.spelled, self.index.surfaces, self._own_kind)
        self._callings.look_again(work.called, self._neighbourhood)
        self._look_at_kinds(work)
        if everything:
            for place in self.places:
                self._settle(place, work)
        else:
            self._settle_forward(work)
        self._regroup(work)
        if self.renamed is not None:
            self.renamed |= work.named.keys()

    def _neighbourhood(self, opening: Ref) -> list[TurnEntry]:
        """Return the turn before a turn, the turn, and the turn after it."""
        at = bisect_left(self.places, self.turns[opening].place)
        return [self.turns[place[1]] for place in self.places[max(0, at - 1) : at + 2]]

    def _look_at_kinds(self, work: ChangeScope) -> None:
        """Mark the turns in which a pronoun may now mean another person, because the type of a name changed."""
        if not self._kinds:
            return
        looked: set[str] = set()
        for key in self.links.changed | work.spelled:
            if key not in looked:
                looked |= self.links.reach(key, NameTie.RULE)
        for key in looked & self._kinds.keys():
            if self._kinds.pop(key) != self.kind(key):
                for opening in self.index.mentions.get(key, ()):
                    if opening in self.turns:
                        self._mark(bisect_left(self.places, self.turns[opening].place), work, REACH + 1)

    def _settle_forward(self, work: ChangeScope) -> None:
        heap: list[Place] = []
        for place in work.dirty:
            heappush(heap, place)
        done: Place | None = None
        while heap:
            place = heappop(heap)
            if place == done:
                continue
            done = place
            if self._settle(place, work):
                at = bisect_left(self.places, place)
                for later in self.places[at + 1 : at + 1 + REACH]:
                    if self.turns[later[1]].pronouns:
                        heappush(heap, later)

    def _settle(self, place: Place, work: ChangeScope) -> bool:
        """Resolve the names of a turn; True if its mentions changed."""
        said = self.turns[place[1]]
        if said.settled and not said.pronouns:
            return False
        before: list[TurnEntry] = []
        if said.pronouns:
            at = bisect_left(self.places, place)
            before = [self.turns[p[1]] for p in self.places[max(0, at - REACH) : at]]
        was = said.mentions, said.speakers, said.asked
        self._unwrite(said, work)
        settle(said, before, self.kind)
        self._write(said, work)
        return was != (said.mentions, said.speakers, said.asked)

    def _write(self, said: TurnEntry, work: ChangeScope) -> None:
        self.index.insert(said)
        self.unsettled += said.unsettled
        for one, two in said.joins:
            self.links.tie(one, two, NameTie.PRONOUN, 1)
        self._note(said, work)

    def _note(self, said: TurnEntry, work: ChangeScope) -> None:
        """Record that claims of a turn were added or removed."""
        if not self._groups and self.renamed is None:
            return  # not read yet: there is nothing to drop
        work.lines += said.lines
        for key in said.firsts:
            work.named.setdefault(key, set()).add(said.turn.opening)

    def _unwrite(self, said: TurnEntry, work: ChangeScope) -> None:
        if not said.settled:
            return
        self.index.remove(said)
        self.unsettled -= said.unsettled
        for one, two in said.joins:
            self.links.tie(one, two, NameTie.PRONOUN, -1)
        self._note(said, work)
        said.settled = False

    def _regroup(self, work: ChangeScope) -> None:
        """Drop everything cached about what the change touches."""
        changed, self.links.changed = self.links.changed, set()
        if not self._groups:
            return
        reshaped: set[str] = set()
        for key in changed:
            if key not in reshaped:
                reshaped |= self.links.reach(key)
        for key in reshaped:
            self._ungroup(key)
        for line in work.lines:
            self._forget_line(line)
        for key in reshaped:
            self._forget_neighbours(key, views_only=False)
        self._forget_flipped(work)
        for key in work.spelled | work.named.keys():
            group = self._groups.get(key)
            if group is None:
                continue
            group.view = group.told = group.last = None
            if group.first is not None:
                known = group.first[1]
                group.first = self._moved_first(group.first, key, work.named.get(key, ()))
                if self.first(group)[1] != known:
                    for member in group.members:
                        self._forget_neighbours(member, views_only=True)

    def _forget_flipped(self, work: ChangeScope) -> None:
        """Drop everything cached about the neighbours of nodes that became visible or hidden."""
        for group, was in work.shown.values():
            if self.has_enough_evidence(group) != was:
                for member in group.members:
                    self._forget_neighbours(member, views_only=True)

    def _moved_first(
        self, first: tuple[Order, str], key: str, openings: Iterable[Ref]
    ) -> tuple[Order, str] | None:
        """Return where a node first appears, after a key of it gained or lost mentions; None: search them all."""
        (rank, position, opening, number), name = first
        said = self.turns.get(opening)
        if rank or said is None or said.turn.position != position:
            return None
        if self.index.mentions.get(name, {}).get(opening) != number:
            return None
        here = self.index.mentions.get(key, {})
        return min(
            first,
            *(((0, self.turns[o].turn.position, o, here[o]), key) for o in openings if o in here),
            first,
        )

    def _ungroup(self, key: str) -> None:
        group = self._groups.pop(key, None)
        if group is not None:
            for member in group.members:
                self._groups.pop(member, None)

    def _forget_line(self, line: ClaimLine) -> None:
        way = direction(line.predicate)
        ends = line.kind is Claim.END
        for key, one in ((line.subject, way.subject_one), (line.object, way.object_one)):
            if not key:
                continue
            group = self._groups.get(key)
            if group is not None:
                group.forget(line.predicate)
                for opposite in way.opposites:
                    group.forget(opposite)
            if ends or (way.exclusive if way.symmetric else one):
                # If this end is exclusive, a claim about it under any name ends something at the other ends.
                for member in (key,) if group is None else group.members:
                    self._forget_slot(member, line.predicate, views_only=False)

    def _forget_slot(self, key: str, predicate: str, *, views_only: bool) -> None:
        for other in self._others(key, predicate):
            if group := self._groups.get(other):
                if views_only:
                    group.view = group.told = None
                else:
                    group.forget(predicate)

    def _forget_neighbours(self, key: str, *, views_only: bool) -> None:
        for predicate in self.index.slots.get(key, ()):
            self._forget_slot(key, predicate, views_only=views_only)
            if not views_only:
                for opposite in direction(predicate).opposites:
                    self._forget_slot(key, opposite, views_only=False)
        for stand in self.layer.stands.get(key, ()):
            for other in stand.keys:
                if group := self._groups.get(other):
                    group.forget(stand.predicate)

    def _others(self, key: str, predicate: str) -> Iterator[str]:
        for line in self.index.lines(key, predicate):
            other = line.object if line.subject == key else line.subject
            if other:
                yield other
