"""The state of the graph: turns in order, their lines, groups of names, and queries over them."""

from __future__ import annotations

from functools import cache

from backscroll.graph.claims.claim import Order, TurnEntry
from backscroll.graph.claims.index import ClaimIndex, Profile, add_votes, clear_gender, elect_type
from backscroll.graph.claims.names import NAMELESS, ROLES, key_of
from backscroll.graph.claims.predicates import rules
from backscroll.graph.naming.identity import NOWHERE, NameGroup, NameLinks, NameTie, Place, RuleTies
from backscroll.graph.naming.vocatives import VocativeNames
from backscroll.graph.overrides import OverrideLayer
from backscroll.graph.tuning import SHOWN
from backscroll.vocab.ids import Ref


class GraphState:
    """Turns in order, their lines, and groups of names."""

    def __init__(self, user: str, character: str = "") -> None:
        self.turns: dict[Ref, TurnEntry] = {}
        self.places: list[Place] = []
        self.index = ClaimIndex()
        self.links = NameLinks()
        self.layer: OverrideLayer = OverrideLayer()
        self.unsettled: int = 0
        self._groups: dict[str, NameGroup] = {}
        self._rules = RuleTies(self.links)
        self._callings = VocativeNames(self.links)
        self._kinds: dict[str, Profile] = {}
        #: Keys added or removed since the names were last read; None: they never were.
        self.renamed: set[str] | None = None
        self.user = key_of(user)
        self.links.tie("user", self.user, NameTie.STATED, 1)
        if character := key_of(character):
            self.links.tie("assistant", character, NameTie.STATED, 1)

    def _own_kind(self, key: str) -> Profile:
        """Return what claims under this name say about its type."""
        return Profile(
            elect_type(self.index.votes.get(key, {})), clear_gender(self.index.genders.get(key, {}))
        )

    def kind(self, key: str) -> Profile:
        """Return the type behind a name, from claims under any name that is joined without pronouns."""
        known = self._kinds.get(key)
        if known is None:
            votes: dict[str, int] = {}
            genders: dict[str, int] = {}
            members = self.links.group(key, NameTie.RULE)
            for member in members:
                add_votes(votes, self.index.votes.get(member, {}))
                add_votes(genders, self.index.genders.get(member, {}))
            known = self._kinds[key] = Profile(elect_type(votes), clear_gender(genders), members)
        return known

    def group(self, key: str) -> NameGroup:
        """Return the node of a key."""
        group = self._groups.get(key)
        if group is None:
            group = NameGroup(self.links.group(key))
            for member in group.members:
                self._groups[member] = group
        return group

    def lives(self, key: str) -> bool:
        """Return True for a key that a live turn or an override uses."""
        return key in self.index.mentions or key in self.layer.shown

    def names(self, key: str) -> bool:
        """Return True for a key under which a node may be looked up: one in use, or a name that the user gave."""
        return self.lives(key) or key in self.layer.spelled or key == self.user

    def all_names(self) -> set[str]:
        """Return every such key."""
        return {*self.index.mentions, *self.layer.shown, *self.layer.spelled, self.user}

    def first(self, group: NameGroup) -> tuple[Order, str]:
        """Return where a node first appears, and under which key: that determines its id."""
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

    def newest(self, group: NameGroup) -> Place:
        """Return the last turn that mentions a node."""
        if group.last is None:
            turns = self.turns
            places = (turns[o].place for key in group.members for o in self.index.mentions.get(key, ()))
            group.last = max(places, default=(b"", NOWHERE))
        return group.last

    def there(self, group: NameGroup) -> bool:
        """Return True for a node that a turn or an override mentions and that the user did not delete; it may be a mere candidate."""
        return any(self.lives(key) for key in group.members) and not self.layer.hides(group.members)

    def has_enough_evidence(self, group: NameGroup) -> bool:
        """Return True if there is enough evidence that a name is one, or an override mentions it."""
        members, layer = group.members, self.layer
        if any(key in told for key in members for told in (layer.about, layer.stands, layer.shown)):
            return True
        if "user" in members:
            return True
        if members == ("assistant",):  # a program of which only its replies are known is not shown
            return False
        return sum(self.index.proof.get(key, 0) for key in members) >= SHOWN

    def visible(self, group: NameGroup) -> bool:
        """Return True for a node that exists and is shown."""
        return self.there(group) and self.has_enough_evidence(group)

    def _is_listed(self, group: NameGroup) -> bool:
        """Return False for an unnamed assistant: its statements about itself are kept, and it is listed once it has a name."""
        named = not NAMELESS.issuperset(group.members)
        return self.visible(group) and (named or any(key in self.layer.about for key in group.members))

    def groups(self, *, candidates: bool = False) -> list[NameGroup]:
        """Return every visible node, in order of appearance; with mere candidates, if requested."""
        seen: set[int] = set()
        out: list[NameGroup] = []
        for key in {**self.index.mentions, **self.layer.shown}:
            group = self.group(key)
            if id(group) not in seen:
                seen.add(id(group))
                if self.there(group) if candidates else self._is_listed(group):
                    out.append(group)
        return sorted(out, key=self.first)

    def openings(self, group: NameGroup) -> list[Ref]:
        """Return the turns that mention a node, the oldest first."""
        found = {opening for key in group.members for opening in self.index.mentions.get(key, ())}
        return sorted(found, key=lambda opening: self.turns[opening].place)

    def type(self, group: NameGroup) -> str:
        """Return the type of a node: set by an override, or the one with the most votes."""
        if told := self.layer.newest(self.layer.types, group.members):
            return told
        votes: dict[str, int] = {}
        for member in group.members:
            add_votes(votes, self.index.votes.get(member, {}))
            add_votes(votes, self.index.echoes.get(member, {}))
        return elect_type(votes) or ("person" if any(map(self._somebody, group.members)) else "")

    def _somebody(self, key: str) -> bool:
        """Return True if only a person is spoken of in this way, even if the text does not say so."""
        return key in ROLES or not self.index.slots.get(key, {}).keys().isdisjoint(_of_people())

    def forget_views(self) -> None:
        """Drop the cached views."""
        for group in self._groups.values():
            group.view = group.told = None


@cache
def _of_people() -> frozenset[str]:
    return frozenset(str(name) for name in rules()["kinds"]["person"])
