"""The standing weave of turns, names and groups: what has to be looked at again when one turn changes, and nothing else.

Everything here follows from the live turns, the person's layer and nothing else; the way by which it was reached leaves no
trace. Owns which caches are dropped by which change. Order of work for a change: what the turn says by itself, names that
rules join, kinds of things, pronouns (forward, as far as they change), groups, views. Before: `graph/index`,
`graph/naming/identity`, `graph/naming/pronouns`, `graph/overrides`. After: `graph/fold`.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from heapq import heappop, heappush

from backscroll.graph.index import (
    SURE,
    Index,
    Line,
    Order,
    Profile,
    Said,
    add_votes,
    clear_gender,
    elected,
    read,
)
from backscroll.graph.naming.calling import Callings
from backscroll.graph.naming.group import NOWHERE, Group, Place
from backscroll.graph.naming.identity import ByRule, Links, Tie
from backscroll.graph.naming.names import NAMELESS, ROLES, key_of
from backscroll.graph.naming.pronouns import REACH, settle
from backscroll.graph.naming.proof import enough
from backscroll.graph.overrides import Layer, layer_of
from backscroll.graph.predicates import direction, rules
from backscroll.graph.touched import Touched
from backscroll.vocab.assertion import PRONOUN, Claim, Override, TurnClaims
from backscroll.vocab.ids import Ref


class Weave:
    """Turns in order, their lines, and groups of names; see the module."""

    def __init__(self, overrides: Sequence[Override], user: str, character: str = "") -> None:
        self.turns: dict[Ref, Said] = {}
        self.places: list[Place] = []
        self.index = Index()
        self.links = Links()
        self.layer: Layer = Layer()
        self.unsettled = 0
        self._groups: dict[str, Group] = {}
        self._rules = ByRule(self.links)
        self._callings = Callings(self.links)
        self._kinds: dict[str, Profile] = {}
        #: Keys that came or went since the names were last read; None: they never were.
        self.renamed: set[str] | None = None
        self.user = key_of(user)
        self.links.tie("user", self.user, Tie.STATED, 1)
        if character := key_of(character):
            self.links.tie("assistant", character, Tie.STATED, 1)
        self.override(overrides)

    # Changes.

    def change(self, put: Sequence[TurnClaims] = (), drop: Iterable[Ref] = ()) -> None:
        """Replace, add and take away turns."""
        work = Touched()
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
        """Another layer of a person's changes."""
        old, self.layer = self.layer, layer_of(overrides)
        for one, two in old.merges:
            self.links.tie(one, two, Tie.PERSON, -1)
        for one, two in self.layer.merges:
            self.links.tie(one, two, Tie.PERSON, 1)
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
            self._settle_all(Touched(), everything=False)

    def _take_out(self, said: Said, work: Touched) -> None:
        at = bisect_left(self.places, said.place)
        del self.places[at]
        work.dirty.discard(said.place)
        self._mark(at, work, REACH)
        self._unwrite(said, work)
        self._local(said, -1, work)

    def _put_in(self, said: Said, work: Touched, *, sort: bool) -> None:
        if sort:
            insort(self.places, said.place)
        else:
            self.places.append(said.place)
        self.turns[said.turn.opening] = said
        self._local(said, 1, work)

    def _mark(self, at: int, work: Touched, count: int) -> None:
        """Turns that have to be read again, and calls whose turn has other neighbours."""
        work.dirty.update(self.places[at : at + count])
        for place in self.places[max(0, at - 1) : at + 2]:
            for voice in self.turns[place[1]].voices:
                work.called.update(voice.calls)

    def _local(self, said: Said, sign: int, work: Touched) -> None:
        for key in said.proofs if self._groups else ():
            if (group := self._groups.get(key)) is not None and id(group) not in work.shown:
                work.shown[id(group)] = group, self.shown(group)
        work.spelled |= self.index.local(said, sign)
        work.called |= self._callings.note(said, sign)
        for raw in said.raws:
            if raw.subject[0] != PRONOUN:
                work.spelled.add(raw.subject)
                if raw.other and raw.claim.sure >= SURE:
                    self.links.tie(raw.subject, raw.other, Tie.STATED, sign)
                if raw.hinted:
                    self._rules.hint(raw.subject, raw.hinted, sign)
            if raw.object and raw.object[0] != PRONOUN:
                work.spelled.add(raw.object)
            if raw.other:
                work.spelled.add(raw.other)

    def _settle_all(self, work: Touched, *, everything: bool) -> None:
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

    def _neighbourhood(self, opening: Ref) -> list[Said]:
        """The turn before a turn, the turn, and the turn after it."""
        at = bisect_left(self.places, self.turns[opening].place)
        return [self.turns[place[1]] for place in self.places[max(0, at - 1) : at + 2]]

    def _look_at_kinds(self, work: Touched) -> None:
        """Turns in which a pronoun may now mean somebody else, because a name means another kind of thing."""
        if not self._kinds:
            return
        looked: set[str] = set()
        for key in self.links.changed | work.spelled:
            if key not in looked:
                looked |= self.links.reach(key, Tie.RULE)
        for key in looked & self._kinds.keys():
            if self._kinds.pop(key) != self.kind(key):
                for opening in self.index.mentions.get(key, ()):
                    if opening in self.turns:
                        self._mark(bisect_left(self.places, self.turns[opening].place), work, REACH + 1)

    def _settle_forward(self, work: Touched) -> None:
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

    def _settle(self, place: Place, work: Touched) -> bool:
        """Settle the names of a turn; True where its mentions are others than before."""
        said = self.turns[place[1]]
        if said.settled and not said.pronouns:
            return False
        before: list[Said] = []
        if said.pronouns:
            at = bisect_left(self.places, place)
            before = [self.turns[p[1]] for p in self.places[max(0, at - REACH) : at]]
        was = said.mentions, said.speakers, said.asked
        self._unwrite(said, work)
        settle(said, before, self.kind)
        self._write(said, work)
        return was != (said.mentions, said.speakers, said.asked)

    def _write(self, said: Said, work: Touched) -> None:
        self.index.insert(said)
        self.unsettled += said.unsettled
        for one, two in said.joins:
            self.links.tie(one, two, Tie.PRONOUN, 1)
        self._note(said, work)

    def _note(self, said: Said, work: Touched) -> None:
        """What a turn says has come or gone."""
        if not self._groups and self.renamed is None:
            return  # nobody has looked yet: there is nothing to drop
        work.lines += said.lines
        for key in said.firsts:
            work.named.setdefault(key, set()).add(said.turn.opening)

    def _unwrite(self, said: Said, work: Touched) -> None:
        if not said.settled:
            return
        self.index.remove(said)
        self.unsettled -= said.unsettled
        for one, two in said.joins:
            self.links.tie(one, two, Tie.PRONOUN, -1)
        self._note(said, work)
        said.settled = False

    def _regroup(self, work: Touched) -> None:
        """Drop what was worked out about everything that the change touches."""
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

    def _forget_flipped(self, work: Touched) -> None:
        """What was told of the neighbours of nodes that are shown now and were not, or the other way round."""
        for group, was in work.shown.values():
            if self.shown(group) != was:
                for member in group.members:
                    self._forget_neighbours(member, views_only=True)

    def _moved_first(
        self, first: tuple[Order, str], key: str, openings: Iterable[Ref]
    ) -> tuple[Order, str] | None:
        """Where a node appears first, after a key of it gained or lost mentions; None: look at all of them."""
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

    def _forget_line(self, line: Line) -> None:
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
                # Where this end may have only one, what is said of it under any name ends something at the others.
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

    # Reading.

    def _own_kind(self, key: str) -> Profile:
        """What claims that use this very name say about its kind."""
        return Profile(elected(self.index.votes.get(key, {})), clear_gender(self.index.genders.get(key, {})))

    def kind(self, key: str) -> Profile:
        """What is said about the kind of thing behind a name, under any name that is joined without pronouns."""
        known = self._kinds.get(key)
        if known is None:
            votes: dict[str, int] = {}
            genders: dict[str, int] = {}
            members = self.links.group(key, Tie.RULE)
            for member in members:
                add_votes(votes, self.index.votes.get(member, {}))
                add_votes(genders, self.index.genders.get(member, {}))
            known = self._kinds[key] = Profile(elected(votes), clear_gender(genders), members)
        return known

    def group(self, key: str) -> Group:
        """The node of a key."""
        group = self._groups.get(key)
        if group is None:
            group = Group(self.links.group(key))
            for member in group.members:
                self._groups[member] = group
        return group

    def lives(self, key: str) -> bool:
        """True for a key that a live turn or a person uses."""
        return key in self.index.mentions or key in self.layer.shown

    def names(self, key: str) -> bool:
        """True for a key by which a node may be looked for: one in use, or a name that the person gave."""
        return self.lives(key) or key in self.layer.spelled or key == self.user

    def all_names(self) -> set[str]:
        """Every such key."""
        return {*self.index.mentions, *self.layer.shown, *self.layer.spelled, self.user}

    def first(self, group: Group) -> tuple[Order, str]:
        """Where a node appears first, and under which key: that is its id."""
        if group.first is None:
            found = [(self._first(key), key) for key in group.members if self.lives(key)]
            group.first = min(found) if found else ((2, b"", NOWHERE, 0), group.members[0])
        return group.first

    def _first(self, key: str) -> Order:
        named_in = self.index.mentions.get(key)
        if not named_in:
            return (1, b"", NOWHERE, self.layer.shown.get(key, 0))
        turns = self.turns
        position, opening = min((turns[opening].turn.position, opening) for opening in named_in)
        return (0, position, opening, named_in[opening])

    def newest(self, group: Group) -> Place:
        """The last turn that speaks of a node."""
        if group.last is None:
            turns = self.turns
            places = (turns[o].place for key in group.members for o in self.index.mentions.get(key, ()))
            group.last = max(places, default=(b"", NOWHERE))
        return group.last

    def there(self, group: Group) -> bool:
        """True for a node that some turn or person speaks of and that no person deleted; it may be a candidate only."""
        return any(self.lives(key) for key in group.members) and not self.layer.hides(group.members)

    def shown(self, group: Group) -> bool:
        """True where enough speaks for a name being one, or a person said something of it."""
        return enough(group.members, self.index, self.layer)

    def visible(self, group: Group) -> bool:
        """True for a node that is there and shown."""
        return self.there(group) and self.shown(group)

    def _is_listed(self, group: Group) -> bool:
        """False for an assistant without a name: what it says of itself is kept, and listed once it is called something."""
        named = not NAMELESS.issuperset(group.members)
        return self.visible(group) and (named or any(key in self.layer.about for key in group.members))

    def groups(self, *, candidates: bool = False) -> list[Group]:
        """Every visible node, in order of appearance; with those that are only candidates, where they are asked for."""
        seen: set[int] = set()
        out: list[Group] = []
        for key in {**self.index.mentions, **self.layer.shown}:
            group = self.group(key)
            if id(group) not in seen:
                seen.add(id(group))
                if self.there(group) if candidates else self._is_listed(group):
                    out.append(group)
        return sorted(out, key=self.first)

    def openings(self, group: Group) -> list[Ref]:
        """The turns that speak of a node, the oldest first."""
        found = {opening for key in group.members for opening in self.index.mentions.get(key, ())}
        return sorted(found, key=lambda opening: self.turns[opening].place)

    def type(self, group: Group) -> str:
        """The type of a node: what a person says, or what most is said for."""
        if told := self.layer.newest(self.layer.types, group.members):
            return told
        votes: dict[str, int] = {}
        for member in group.members:
            add_votes(votes, self.index.votes.get(member, {}))
            add_votes(votes, self.index.echoes.get(member, {}))
        return elected(votes) or ("person" if any(map(self._somebody, group.members)) else "")

    def _somebody(self, key: str) -> bool:
        """True where nothing but a person is spoken of so, though nobody says that it is one."""
        return key in ROLES or not self.index.slots.get(key, {}).keys().isdisjoint(_of_people())

    def forget_views(self) -> None:
        """Drop what was made for readers."""
        for group in self._groups.values():
            group.view = group.told = None


@cache
def _of_people() -> frozenset[str]:
    return frozenset(str(name) for name in rules()["kinds"]["person"])
