"""Linearize a conversation tree into a live path with branches.

Tools that keep every edit and every second answer store a tree of nodes. Here it becomes a sequence in which the live path
comes first and each branch follows later, naming the message it leaves from; a second answer without a continuation becomes
another version of the same message. Owns the order only; nodes are parsed by the formats. Not recursive: conversations can be
thousands of nodes deep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.message import Content, Role

#: `Step.leaves_from` of a branch that shares nothing with the live path: an edited first message.
BEGINNING = ""


@dataclass(frozen=True, slots=True)
class MessageNode:
    """One node: its parent and role; the role is empty for a node without content."""

    id: str
    parent: str | None
    role: str


@dataclass(frozen=True, slots=True)
class PathStep:
    """The next message. `leaves_from` names the message after which a branch begins, and is None inside a path.

    `versions` are the nodes of all its versions in order, itself included; empty where there is only one.
    """

    node: str
    leaves_from: str | None = None
    versions: tuple[str, ...] = ()


class _MessageTree:
    def __init__(self, nodes: Sequence[MessageNode], leaf: str | None) -> None:
        self.nodes = {node.id: node for node in reversed(nodes)}
        order = dict.fromkeys(node.id for node in nodes)
        self.parent = {
            id: node.parent if (node := self.nodes[id]).parent in self.nodes else None for id in order
        }
        self.children: dict[str | None, list[str]] = {None: []}
        for id in order:
            self.children.setdefault(self.parent[id], []).append(id)
        self._break_circles()
        self._leaf = leaf if leaf in self.nodes else nodes[-1].id
        self._live = self._path_to(self._leaf)
        self._groups: dict[str | None, tuple[str, tuple[str, ...]]] = {}

    def _break_circles(self) -> None:
        """Make unreachable nodes roots: damage must not hide messages."""
        reached: set[str] = set()
        self._reach(list(self.children[None]), reached)
        for id in self.parent:
            if id not in reached:
                self.children[self.parent[id]].remove(id)
                self.parent[id] = None
                self.children[None].append(id)
                self._reach([id], reached)

    def _reach(self, todo: list[str], reached: set[str]) -> None:
        while todo:
            id = todo.pop()
            if id not in reached:
                reached.add(id)
                todo += self.children.get(id, [])

    def _path_to(self, leaf: str) -> dict[str | None, str]:
        """Return the next node for each node on the path from the root to the leaf."""
        following: dict[str | None, str] = {}
        at: str | None = leaf
        while at is not None:
            following[self.parent[at]] = at
            at = self.parent[at]
        return following

    def main(self, at: str | None) -> str | None:
        """Return the next node after a node: along the live path, elsewhere the newest child."""
        if at in self._live or at == self._leaf:
            return self._live.get(at)
        kids = self.children.get(at)
        return kids[-1] if kids else None

    def _answers(self, parent: str | None) -> tuple[str, tuple[str, ...]]:
        """Return the answer to a message that continues, and all its versions (dead ends included) in order."""
        if parent not in self._groups:
            answers = [id for id in self.children.get(parent, []) if self.nodes[id].role == "assistant"]
            dead = {id for id in answers if not self.children.get(id)}
            alive = [id for id in answers if id not in dead]
            main = self.main(parent)
            head = main if main in answers else (alive or answers or [""])[-1]
            found = tuple(id for id in answers if id == head or id in dead)
            self._groups[parent] = (head, found if len(found) > 1 else ())
        return self._groups[parent]

    def versions(self, at: str) -> tuple[str, ...]:
        """Return all versions of an answer; empty if there is one, and for a version beside the continuing branch."""
        head, found = self._answers(self.parent[at])
        return found if at == head else ()

    def branches(self, at: str | None) -> list[str]:
        """Return the children that start a branch: neither the continuation nor another version of an answer."""
        head, found = self._answers(at)
        gathered = set(found) - {head}
        main = self.main(at)
        return [kid for kid in self.children.get(at, []) if kid != main and kid not in gathered]


def walk(nodes: Sequence[MessageNode], leaf: str | None) -> Iterator[PathStep]:
    """Yield every node with content once: the path to `leaf` first, then the branches.

    Nodes come in the order of siblings. Without a known leaf the last node is taken for it.
    """
    if not nodes:
        return
    tree = _MessageTree(nodes, leaf)
    pending: list[tuple[str | None, str | None]] = [(id, BEGINNING) for id in reversed(tree.branches(None))]
    pending.append((tree.main(None), None))
    while pending:
        at, leaves_from = pending.pop()
        said = leaves_from or BEGINNING
        found: list[tuple[str | None, str | None]] = []
        while at is not None:
            if tree.nodes[at].role:
                yield PathStep(at, leaves_from, tree.versions(at))
                leaves_from, said = None, at
            found += [(id, said) for id in tree.branches(at)]
            at = tree.main(at)
        pending += reversed(found)


def build_message(
    step: PathStep, role: Role, said: Callable[[str], tuple[Content, str | None]]
) -> ForeignMessage:
    """Return the message of a step with all its versions; an id that begins with `#` is ours, because the node had none."""
    versions = step.versions or (step.node,)
    contents, times = zip(*map(said, versions), strict=True)
    chosen = versions.index(step.node)
    return ForeignMessage(
        role,
        contents[chosen],
        times[chosen],
        source_id=None if step.node.startswith("#") else step.node,
        parent_id=step.leaves_from,
        alternatives=contents if len(versions) > 1 else (),
        alternative_times=times if len(versions) > 1 else (),
        chosen=chosen,
    )
