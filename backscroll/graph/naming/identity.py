"""Name identity: joins stated by texts, joins by rule if only one reading is possible, joins by the user.

Owns links between keys and the rules for titles, first names and family names. A rule joins only what has one reading: as soon as
a second "John …" appears, "John" is separate again. Nothing is stored: the links follow from what is live, so removing a
turn removes its joins.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable
from enum import IntEnum

from backscroll.graph.claims.claim import Order
from backscroll.graph.claims.index import Profile
from backscroll.graph.claims.names import NameShape, code_like, shape_of, split_owner
from backscroll.graph.view import NodeView
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json

Place = tuple[bytes, Ref]
#: What rests on overrides alone comes after everything that a turn says.
NOWHERE = Ref("", 0)


class NameGroup:
    """Names of one node, with what has been computed about it."""

    __slots__ = ("first", "last", "members", "spans", "told", "view")

    def __init__(self, members: tuple[str, ...]) -> None:
        self.members = members
        self.spans: dict[tuple[str, str], Json] = {}  # predicate and role: the spans of `graph/facts`
        self.view: NodeView | None = None
        self.first: tuple[Order, str] | None = None
        self.last: Place | None = None
        self.told: Json = None  # the cache of `graph/reading/conflicts`

    def forget(self, predicate: str) -> None:
        """Drop what was computed about a predicate, and what depends on it."""
        for role in "svox":
            self.spans.pop((predicate, role), None)
        self.view = self.told = None


class NameTie(IntEnum):
    """Why two names belong to one node, the strongest reason first."""

    PERSON = 0  # a merge
    STATED = 1  # stated by a text
    RULE = 2  # only one reading is possible
    PRONOUN = 3  # stated by a text of a person whom it only calls "she"


Pair = tuple[str, str]


def pair(one: str, two: str) -> Pair:
    """Return two keys in a fixed order."""
    return (one, two) if one <= two else (two, one)


class NameLinks:
    """Ties between keys, counted, and the resulting groups."""

    def __init__(self) -> None:
        self._ties: dict[str, dict[str, list[int]]] = {}
        self._bars: frozenset[Pair] = frozenset()
        self.changed: set[str] = set()  # keys whose ties were added or removed since the last read

    def __contains__(self, key: str) -> bool:
        return key in self._ties

    def tie(self, one: str, two: str, why: NameTie, by: int) -> None:
        """Count a tie up (1) or down (-1)."""
        if one == two or not one or not two:
            return
        counts = self._ties.get(one, {}).get(two)
        if counts is None:
            counts = [0, 0, 0, 0]
            self._ties.setdefault(one, {})[two] = counts
            self._ties.setdefault(two, {})[one] = counts
        counts[why] += by
        if counts[why] == max(by, 0):  # added or removed
            self.changed |= {one, two}
        if not any(counts):
            for key, other in ((one, two), (two, one)):
                del self._ties[key][other]
                if not self._ties[key]:
                    del self._ties[key]

    def bar(self, pairs: Collection[Pair]) -> None:
        """Replace the pairs of keys that overrides keep apart."""
        fresh = frozenset(pairs)
        for one, two in self._bars ^ fresh:
            self.changed |= {one, two}
        self._bars = fresh

    def reach(self, key: str, most: NameTie = NameTie.PRONOUN) -> set[str]:
        """Return every key connected by ties, ignoring what overrides keep apart."""
        if key not in self._ties:
            return {key}
        seen = {key}
        todo = [key]
        while todo:
            for other, counts in self._ties.get(todo.pop(), {}).items():
                if other not in seen and any(counts[: most + 1]):
                    seen.add(other)
                    todo.append(other)
        return seen

    def group(self, key: str, most: NameTie = NameTie.PRONOUN) -> tuple[str, ...]:
        """Return the keys of the same node as this one."""
        reached = self.reach(key, most)
        if len(reached) == 1:
            return (key,)
        barred = [(a, b) for a, b in self._bars if a in reached and b in reached]
        if not barred:
            return tuple(sorted(reached))
        return self._kept_apart(key, reached, barred, most)

    def _kept_apart(self, key: str, reached: set[str], barred: list[Pair], most: NameTie) -> tuple[str, ...]:
        """Follow ties, the strongest first; skip one that would join what overrides keep apart."""
        part = {k: {k} for k in reached}
        ties = {
            (next(why for why, n in enumerate(counts) if n), *pair(one, two))
            for one in reached
            for two, counts in self._ties[one].items()
            if any(counts[: most + 1])
        }
        for _, one, two in sorted(ties):
            first, second = part[one], part[two]
            if first is second or any(
                (a in first and b in second) or (b in first and a in second) for a, b in barred
            ):
                continue
            first |= second
            for moved in second:
                part[moved] = first
        return tuple(sorted(part[key]))


_PERSONAL = frozenset({"person", "creature", "animal"})
_FILES = frozenset({"file", "", "thing", "concept"})


def tokens_of(key: str) -> tuple[str, ...]:
    """Return the parts by which a key can match others: its name without titles, its first and last part."""
    if mine := split_owner(key):
        return (f"o:{mine[1]}",)
    shape = shape_of(key)
    if shape is None:
        return (f"b:{name}",) if (name := _file_name(key)) else ()
    if shape.chinese and "·" not in key:
        if shape.family:  # 小明 may be a 明, or the given name of a 王小明
            return (f"f:{shape.family}", f"g:{key}") if shape.core[0] == key else (f"f:{shape.family}",)
        if shape.whole:
            family, given = shape.core
            return (f"n:{family}{given}", f"f:{family}", f"g:{given}", f"f:{given[-1]}")
        name = shape.core[0]
        return (f"n:{name}", f"f:{name[0]}", f"g:{name}") if len(name) == 2 else (f"n:{name}",)
    first, last = shape.core[0], shape.core[-1]
    meets = (f"n:{' '.join(shape.core)}", f"p:{first}", f"p:{last}", f"k:{first[:2]}")
    return tuple(dict.fromkeys(meets))


def _file_name(key: str) -> str:
    """Return the last part of a path, or a bare file name; empty for identifiers, addresses and folders."""
    name = key.rsplit("/", 1)[-1]
    return name if code_like(key) and "." in name and "://" not in key and "#" not in key else ""


def find_joined_pairs(token: str, keys: Iterable[str], kind_of: Callable[[str], Profile]) -> set[Pair]:
    """Return the pairs of live keys that share a token and can only mean one node."""
    if token[0] == "b":
        return _same_file(sorted(keys, key=lambda key: (-len(key), key)), kind_of)
    known = [(key, shape, _kind(shape, kind_of(key))) for key in sorted(keys) if (shape := shape_of(key))]
    if len(known) < 2:
        return set()
    if token[0] == "n":
        return _same_name(known)
    if token[0] == "k":
        return _short_forms(known)
    return _part_of_name(token, known)


def _same_file(paths: list[str], kind_of: Callable[[str], Profile]) -> set[Pair]:
    """Join a shorter path with the only file that it can mean: `table.py` with `src/table.py`, while that is the only one."""
    out: set[Pair] = set()
    for at, path in enumerate(paths):
        ends = "/" + path.lstrip("/")
        longer = [other for other in paths[:at] if other.endswith(ends) and kind_of(other).type in _FILES]
        longest = "/" + longer[0] if longer else ""
        if longer and kind_of(path).type in _FILES and all(longest.endswith(other) for other in longer):
            out.add(pair(path, longer[0]))
    return out


def _kind(shape: NameShape, said: Profile) -> Profile:
    """Return the type, with the gender of a title if none is stated."""
    return Profile(said.type or ("person" if shape.titled else ""), said.gender or shape.gender)


def _same_name(known: list[tuple[str, NameShape, Profile]]) -> set[Pair]:
    """Join a name with and without titles, unless the titles show different genders."""
    if len({kind.gender for _, _, kind in known if kind.gender}) > 1:
        return set()
    if not all(kind.type in ("person", "") for _, _, kind in known):
        return set()
    first = known[0][0]
    return {pair(first, key) for key, _, _ in known[1:]}


def _part_of_name(token: str, known: list[tuple[str, NameShape, Profile]]) -> set[Pair]:
    """Join a first, last, family or given name with the only full name that contains it."""
    part = token[2:]
    shorts: list[tuple[str, Profile]] = []
    wholes: list[tuple[str, tuple[str, ...], Profile]] = []
    somebody = any(kind.type in _PERSONAL for _, _, kind in known)
    for key, shape, kind in known:
        if kind.type not in _PERSONAL and not (somebody and not kind.type and not shape.chinese):
            continue
        if token[0] == "f":
            short = bool(shape.family)
        else:
            short = shape.core == (part,) and not (token[0] == "g" and shape.titled and not shape.family)
        if short:
            shorts.append((key, kind))
        elif shape.whole or token[0] == "f":
            wholes.append((key, shape.core, kind))
    if token[0] == "f":
        given = {key for key, _ in shorts}
        wholes = [w for w in wholes if w[1][0][0] == part or w[1][-1] in given]
    if not shorts or len({"".join(core) for _, core, _ in wholes}) != 1:
        return set()
    if token[0] == "f" and len(shorts) > 1:
        return set()  # 小王 and 王老师 are usually two people
    genders = {kind.gender for _, kind in shorts} | {kind.gender for _, _, kind in wholes}
    if len(genders - {""}) > 1:
        return set()
    full, _, type_ = wholes[0]
    return {
        pair(key, full) for key, kind in shorts if kind.type == type_.type or not (kind.type and type_.type)
    }


def _short_forms(known: list[tuple[str, NameShape, Profile]]) -> set[Pair]:
    """Join Ed with Edmund, until an Edwin appears: the beginning of the only matching first name."""
    people = [
        (key, shape.core[0], shape.core)
        for key, shape, kind in known
        if (kind.type == "person" or (not kind.type and shape.whole)) and not shape.chinese and shape.core
    ]
    out: set[Pair] = set()
    for key, name, core in people:
        if len(core) > 1 or not 2 <= len(name) <= 5:
            continue
        longer = [(k, n, c) for k, n, c in people if n.startswith(name) and len(n) >= len(name) + 2]
        if len({n for _, n, _ in longer}) == 1 and len({c for _, _, c in longer if len(c) > 1}) < 2:
            out.add(pair(key, min(k for k, _, _ in longer)))
    return out


class RuleTies:
    """Ties that rules make among the names in use, recomputed only for names that were added, removed or changed their type."""

    def __init__(self, links: NameLinks) -> None:
        self._links = links
        self._tokens: dict[str, set[str]] = {}
        self._pairs: dict[str, set[Pair]] = {}
        self._owners: dict[str, set[str]] = {}  # owners of a "sister" and the like: key, tokens
        self._hints: dict[str, dict[str, int]] = {}  # a description, the names that sentences hint at

    def hint(self, name: str, description: str, by: int) -> None:
        """Tie a person to "Ann's sister" on the hint of a sentence, until another person is stated to be her."""
        if split_owner(description) is None or name == description:
            return
        names = self._hints.setdefault(description, {})
        before = set(names) if len(names) == 1 else set[str]()
        names[name] = names.get(name, 0) + by
        if not names[name]:
            del names[name]
        now = set(names) if len(names) == 1 else set[str]()
        for one in before ^ now:
            self._links.tie(one, description, NameTie.RULE, 1 if one in now else -1)
        if not names:
            del self._hints[description]

    def look_again(
        self, keys: Iterable[str], live: Container[str], kind_of: Callable[[str], Profile]
    ) -> None:
        """Apply the rules for some keys again."""
        tokens: set[str] = set()
        for changed in list(self._links.changed) if self._owners else ():
            for owner in self._links.reach(changed, NameTie.STATED):
                tokens |= self._owners.get(owner, set())
        for key in keys:
            alive = key in live
            for token in tokens_of(key):
                sharing = self._tokens.setdefault(token, set())
                (sharing.add if alive else sharing.discard)(key)
                tokens.add(token)
            if mine := split_owner(key):
                self._own(mine[0], f"o:{mine[1]}")
        for token in sorted(tokens):
            sharing = self._tokens.get(token, set())
            now = self._same_owner(sharing) if token[0] == "o" else find_joined_pairs(token, sharing, kind_of)
            before = self._pairs.get(token, set())
            for one, two in now ^ before:
                self._links.tie(one, two, NameTie.RULE, 1 if (one, two) in now else -1)
            if now:
                self._pairs[token] = now
            else:
                self._pairs.pop(token, None)
            if not sharing:
                self._tokens.pop(token, None)

    def _own(self, owner: str, token: str) -> None:
        """Record the owner in a description, as long as a turn mentions it."""
        tokens = self._owners.setdefault(owner, set())
        if any((mine := split_owner(key)) and mine[0] == owner for key in self._tokens[token]):
            tokens.add(token)
        else:
            tokens.discard(token)
            if not tokens:
                del self._owners[owner]

    def _same_owner(self, keys: Iterable[str]) -> set[Pair]:
        """Join the user's sister with Li Lei's sister if the text says that the user is Li Lei."""
        by_owner: dict[tuple[str, ...], list[str]] = {}
        for key in sorted(keys):
            if mine := split_owner(key):
                by_owner.setdefault(self._links.group(mine[0], NameTie.STATED), []).append(key)
        return {pair(same[0], other) for same in by_owner.values() for other in same[1:]}
