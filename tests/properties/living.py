"""What the properties of living memory share: sentences with facts in them, a reference for the marks of turns, and dumps.

The reference knows nothing of incremental work: it looks at the history as of every event, one after the other.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import backscroll
from backscroll.derive.window import Window, window_of
from backscroll.engine.core.lineage import View
from backscroll.engine.knowledge.analysis import catch_up
from backscroll.engine.work.memory.memories import memories
from backscroll.record.history import HIDDEN, Entry
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref

NAMES = ("Ellie", "Tom", "Mira", "Captain Vale", "艾莉")
#: Each says something about somebody, and carries a mark as one of the names in it.
SENTENCES = (
    "{n} lives in {m}.",
    "{n} is a forest elf from {m}.",
    "{n}'s brother is {m}.",
    "{n} works at {m}.",
    "My name is {m}.",
    "{n} gave the lantern to {m}.",
    "She likes {m}.",
    "{n}住在{m}。",
    "{n}的朋友叫{m}。",
    "We decided to use {m} instead of {n}.",
    "Please always use {m}.",
    "TODO: write a test for {m}.",
)


class Tales:
    """Sentences about a few people, each with a mark of its own: a name that occurs nowhere else."""

    def __init__(self) -> None:
        self.count = 0

    def text(self, kind: int = 0) -> str:
        """Another sentence."""
        self.count += 1
        mark = f"Qz{self.count}zq"
        name = NAMES[(self.count + kind) % len(NAMES)]
        return SENTENCES[(self.count * 5 + kind) % len(SENTENCES)].format(n=name, m=mark)


# -- the reference for the marks of turns ------------------------------------------------------------------------


def entries_at(view: View) -> list[Entry]:
    """The live entries as of an event, even those whose words were forgotten since."""
    out: list[Entry] = []
    low: bytes | None = None
    while rows := view.page(500, after=low, gone=True):
        out += [entry for entry, _ in rows if entry.live]
        low = rows[-1][0].position
    return out


def openings_at(view: View, thread: str) -> list[tuple[bytes, Ref]]:
    """The turns of a history, each by the message that opens it."""
    out: list[tuple[bytes, Ref]] = []
    for entry in entries_at(view):
        if entry.role == "user":
            out.append((entry.position, entry.message))
        elif not out:
            out.append((b"", Ref(thread, 0)))
    return out


def reference(thread: backscroll.Thread) -> dict[Ref, tuple[Any, ...]]:
    """Due, pinned, gone, and the revisions that count, of every turn: from the log, event by event."""
    window = window_of(thread.engine.settings)
    return thread.reading(lambda view: _reference(view, thread, window))


def _reference(now: View, thread: backscroll.Thread, window: Window) -> dict[Ref, tuple[Any, ...]]:
    state, reader = now.state, now.reader
    events = list(thread.events())
    turns: dict[Ref, dict[str, Any]] = {}
    flushed = False
    for event, following in zip(events, [*events[1:], None], strict=True):
        seq = event.seq
        flushed |= event.kind is Kind.FLUSHED
        if following is not None and _stroke(following) == _stroke(event):
            continue  # what was done in one stroke counts as one
        order = openings_at(View(reader, state, seq), thread.id)
        here = {opening for _, opening in order}
        for opening in [o for o in turns if o not in here]:
            if turns[opening]["due"] or turns[opening]["pinned"]:
                turns[opening]["gone"] = True
            else:
                del turns[opening]
        for place, (position, opening) in enumerate(order):
            turn = turns.setdefault(opening, {"due": 0, "pinned": 0, "position": position})
            rank = len(order) - 1 - place
            turn["gone"] = False
            if turn["position"] != position:
                turn |= {"pinned": 0, "position": position}
            if not turn["due"] and (rank > window.delay or flushed):
                turn["due"] = seq
            if rank <= window.size:
                turn["pinned"] = 0
            elif not turn["pinned"]:
                turn["pinned"] = seq
        flushed = False
    return {
        opening: (t["due"], t["pinned"], t["gone"], _content(now, thread, window, opening, t))
        for opening, t in turns.items()
    }


def _stroke(event: Event) -> object:
    return event.head.get("group", event.seq)


def _content(
    now: View, thread: backscroll.Thread, window: Window, opening: Ref, turn: dict[str, Any]
) -> tuple[Ref, ...]:
    """The revisions of which the assertions of a turn are made."""
    if not turn["due"]:
        return ()
    live = {} if turn["gone"] else _said_in(now, thread.id, opening)
    if not turn["pinned"]:
        return _revisions(live)
    then = _said_in(View(now.reader, now.state, turn["pinned"]), thread.id, opening)
    standing = {e.message for e in entries_at(now)}
    if window.settled_edits == "ignore":
        keep = window.settled_deletes == "ignore"
        return _revisions({m: e for m, e in then.items() if keep or m in standing})
    if window.settled_deletes == "retract":
        return _revisions(live)
    return _revisions({**live, **{m: e for m, e in then.items() if m not in standing}})


def _revisions(entries: dict[Ref, Entry]) -> tuple[Ref, ...]:
    return tuple(e.revision for e in sorted(entries.values(), key=lambda e: e.position))


def _said_in(view: View, thread: str, opening: Ref) -> dict[Ref, Entry]:
    """The messages of a turn at a moment whose words can still be read; without system messages and hidden ones."""
    out: dict[Ref, Entry] = {}
    current: Ref | None = Ref(thread, 0)
    for entry in entries_at(view):
        if entry.role == "user":
            current = entry.message
        if current == opening and entry.role != "system" and not entry.flags & HIDDEN:
            spoken = view.reader.read_spoken([entry.revision])[entry.revision]
            if spoken.body is not None:
                out[entry.message] = entry
    return out


def marked(thread: backscroll.Thread) -> dict[Ref, tuple[Any, ...]]:
    """The same as the store holds it."""
    rule = window_of(thread.engine.settings).rule
    found = thread.store.read(lambda reader: reader.turn_marks(thread.id, rule))
    return {m.opening: (m.due, m.pinned, m.gone, m.sources) for m in found}


# -- dumps -------------------------------------------------------------------------------------------------------


def graph_dump(thread: backscroll.Thread) -> dict[str, Any]:
    """Everything that the graph of a thread tells."""
    catch_up(thread.engine, thread.id)
    graph = thread.graph.current()
    nodes = graph.nodes()
    return {
        "nodes": [asdict(node) for node in nodes],
        "history": {node.id: [asdict(f) for f in graph.history(node.id)] for node in nodes},
        "conflicts": [asdict(c) for c in graph.conflicts()],
        "questions": [asdict(q) for q in graph.questions()],
        "suggestions": [asdict(s) for s in graph.suggestions()],
    }


def living(thread: backscroll.Thread) -> dict[str, Any]:
    """Graph, turn states, tasks and memories of a thread, without the times at which work was done."""
    dump = graph_dump(thread)
    states = [(s.number, s.id, s.state.value, s.version, s.in_window, s.by) for s in thread.window.states()]
    return {
        "graph": dump,
        "marks": marked(thread),
        "states": states,
        "tasks": [asdict(task) for task in thread.tasks.list()],
        "memories": [asdict(memory) for memory in memories(thread, scope="thread")],
    }
