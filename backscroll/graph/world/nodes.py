"""Nodes that only the world description mentions: characters of cards, entries of lorebooks that state something.

They can be asked about before the conversation names them; facts about them have the rank `world`, with the entry
as its source. Not here: Markdown and plain text: their headings are not names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from backscroll.graph.claims.names import ROLES, key_of, readable
from backscroll.graph.view import NodeView, Options, WorldEntry
from backscroll.graph.world.completion import complete_node
from backscroll.graph.world.words import form_of, is_han, plain

_KEPT = 8  # cached descriptions
_ready: tuple[tuple[Sequence[WorldEntry], Options, dict[str, NodeView]], ...] = ()


def let_go() -> None:
    """Drop the cached nodes; called when text is erased."""
    global _ready
    _ready = ()


def world_nodes(world: Sequence[WorldEntry], options: Options) -> dict[str, NodeView]:
    """Return the nodes that entries of cards and lorebooks describe, by their ids, in the order of the books."""
    global _ready
    if not world or not options.use_world:
        return {}
    for held, known, nodes in _ready:
        if held is world and known == options:
            return nodes
    made: dict[str, NodeView] = {}
    for entry in world:
        if entry.rule is None or not entry.enabled or not (entry.attributes and entry.names):
            continue
        name = _find_spelling(entry)
        id = key_of(name)
        if id and id not in ROLES and id not in made:
            bare = NodeView(id, readable(name), name, entry.type, _others(entry, name))
            made[id] = replace(complete_node(bare, world, options), type=entry.type)
    if isinstance(world, tuple):
        _ready = ((world, options, made), *_ready[: _KEPT - 1])
    return made


def world_node(world: Sequence[WorldEntry], options: Options, name: str) -> NodeView | None:
    """Return the node of that name, in the singular or the plural; None if the world description has none."""
    wanted = form_of(name)
    for id, node in world_nodes(world, options).items():
        if name.strip() in (id, node.readable) or wanted in map(form_of, (node.name, *node.aliases)):
            return node
    return None


def _find_spelling(entry: WorldEntry) -> str:
    """Return the name as the entry writes it: notes of authors are often in lower case."""
    name = entry.names[0]
    if is_han(name) or name != name.lower():
        return name
    for found in re.finditer(re.escape(name), entry.text, re.IGNORECASE):
        if found[0][0].isupper():
            return found[0]
    return name


def _others(entry: WorldEntry, name: str) -> tuple[str, ...]:
    return tuple(each for each in entry.names if plain(each) != plain(name))
