"""Finding nodes by name: a requested name, and names that occur in a text.

Owns an index of the names in use, updated name by name. Chinese is matched without spaces, everything else at
word boundaries; the longest name wins.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable

from backscroll.graph.claims.names import ROLES, key_of, readable, trim_name, units, units_with_places
from backscroll.graph.naming.identity import NameGroup, split_owner
from backscroll.graph.state import GraphState

_APART = frozenset(',;!?\n，。！？；、：:"“”')


class Lookup:
    """Index of the names in use, by their first word and by their readable form."""

    def __init__(self, weave: GraphState) -> None:
        self._weave = weave
        self._starts: dict[str, dict[tuple[str, ...], set[str]]] = {}
        self._slugs: dict[str, set[str]] = {}
        self._parts: dict[str, set[str]] = {}
        self._known: set[str] = set()

    def _refresh(self) -> None:
        """Update the names that were added or removed."""
        weave = self._weave
        changed, weave.renamed = weave.renamed, set()
        for key in weave.all_names() if changed is None else changed:
            live = weave.names(key)
            if live == (key in self._known):
                continue
            words = units(key)
            if live:
                self._known.add(key)
            else:
                self._known.discard(key)
            _place(self._slugs, readable(key), key, live)
            for word in set(words):
                _place(self._parts, word, key, live)
            if words:
                starts = self._starts.setdefault(words[0], {})
                keys = starts.setdefault(words, set())
                (keys.add if live else keys.discard)(key)
                if not keys:
                    del starts[words]
                    if not starts:
                        del self._starts[words[0]]

    def groups(self, keys: Iterable[str]) -> list[NameGroup]:
        """Return the visible nodes of some keys, each once, in order."""
        out: dict[int, NameGroup] = {}
        for key in keys:
            group = self._weave.group(key)
            if self._weave.visible(group):
                out.setdefault(id(group), group)
        return list(out.values())

    def exact(self, name: str) -> NameGroup | None:
        """Return the node that has exactly this name, key or alias."""
        for key in dict.fromkeys((name, key_of(name))):
            if key and (self._weave.lives(key) or key in self._weave.links):
                group = self._weave.group(key)
                if self._weave.there(group):
                    return group  # a lookup by name also finds mere candidates
        return None

    def by_readable(self, name: str) -> list[NameGroup]:
        """Return nodes that may have this readable id: one of their names is its beginning."""
        self._refresh()
        slug = name.casefold()
        cuts = [slug, *(slug[:at] for at in range(len(slug) - 1, 0, -1) if slug[at] == "_")]
        keys = [key for cut in cuts for key in sorted(self._slugs.get(cut, ()))]
        return self.groups(keys)

    def by_part(self, name: str) -> list[NameGroup]:
        """Return nodes with a name that contains all of these words, in order of their names."""
        self._refresh()
        words = units(name)
        if not words:
            return []
        found = set[str].intersection(*(self._parts.get(word, set[str]()) for word in words))
        return self.groups(sorted(key for key in found if _within(words, units(key))))

    def nearest(self, name: str, count: int = 3) -> list[str]:
        """Return names that are spelled similarly."""
        self._refresh()
        key = key_of(name)
        near = difflib.get_close_matches(key, sorted(self._known)[:20_000], n=count * 2, cutoff=0.5)
        groups = {id(group): group for group in (*self.by_part(name)[:count], *self.groups(near))}
        return [self.name(group) for group in list(groups.values())[:count]]

    def name(self, group: NameGroup) -> str:
        """Return the name of a node: set by an override, or as the text mostly calls it."""
        return choose_name(self._weave, group)

    def find_mentioned_nodes(self, text: str) -> list[NameGroup]:
        """Return nodes whose names occur in a text, in the order of the text; of several names at one place the longest."""
        self._refresh()
        plain = unicodedata.normalize("NFKC", text).casefold()
        words = units_with_places(plain)
        found: list[str] = []
        at = 0
        while at < len(words):
            starts = self._starts.get(words[at][0])
            best: tuple[int, list[str]] = (0, [])
            if starts:
                for name, keys in starts.items():
                    if best[0] < len(name) <= len(words) - at and _stands(name, words, at, plain):
                        usable = sorted(key for key in keys if key not in ROLES and _telling(name, plain))
                        best = (len(name), usable) if usable else best
            found += best[1]
            at += best[0] or 1
        return self.groups(found)


def _place(into: dict[str, set[str]], word: str, key: str, live: bool) -> None:
    keys = into.setdefault(word, set())
    (keys.add if live else keys.discard)(key)
    if not keys:
        del into[word]


def _within(words: tuple[str, ...], name: tuple[str, ...]) -> bool:
    size = len(words)
    return any(name[at : at + size] == words for at in range(len(name) - size + 1))


def _stands(name: tuple[str, ...], words: list[tuple[str, int, int]], at: int, plain: str) -> bool:
    """Return True if the words of a name are adjacent at this place."""
    for offset, word in enumerate(name):
        if words[at + offset][0] != word:
            return False
        if offset:
            between = plain[words[at + offset - 1][2] : words[at + offset][1]]
            if between and not _APART.isdisjoint(between):
                return False
    return True


def _telling(name: tuple[str, ...], plain: str) -> bool:
    """Return False for a single character, unless it is the whole text."""
    return len("".join(name)) > 1 or plain.strip() == name[0]


def choose_name(weave: GraphState, group: NameGroup) -> str:
    """Return the name of a node: set by an override, or as the text mostly calls it; a role only without a name."""
    if told := weave.layer.newest(weave.layer.names, group.members):
        return told.strip()
    live = [key for key in group.members if weave.lives(key)]
    own = [key for key in live if key not in ROLES] or live or list(group.members)
    index = weave.index
    # A description ("Li Lei's sister") is a name only if there is no other; of two equally usual ones the fuller wins. A person only
    # called "he" afterwards is not called by the last of their names for that.
    best = min(
        own,
        key=lambda key: (
            split_owner(key) is not None,
            -sum(index.surfaces.get(key, {}).values()),
            -len(key),
            key,
        ),
    )
    return choose_spelling(weave, best)


def choose_spelling(weave: GraphState, key: str) -> str:
    """Return the spelling of a key: as in the override, or as the text mostly writes it."""
    return trim_name(weave.index.pick_spelling(key) or weave.layer.spelled.get(key, "") or key)
