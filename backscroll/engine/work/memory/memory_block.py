"""The block of long-term memory in prompts: which memories it contains, in which order, within its room.

It changes only at task boundaries and compactions (and at once when the user deletes or rewords its sources), so that the
provider's cache keeps hitting. Memories are read in `reader` and queried in `memories`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from backscroll.derive.essence.sentences import rough_count
from backscroll.derive.recipe import Count
from backscroll.engine.work.memory.memories import PREFERENCES, order_of
from backscroll.engine.work.memory.reader import ScopeMemories, collect, edge_of
from backscroll.tasks.memory.words import is_long_term, line_of, render_memories, sources_of, told_as
from backscroll.tasks.notes import words_of
from backscroll.tasks.relevance import ORDER
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Text
from backscroll.vocab.prompt import Block, Level, Section
from backscroll.vocab.task import Memory, MemoryKind

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope

_LESSONS, _OUTCOMES = 12, 12  # maximum numbers in prompts


def _collect_memories(thread: ThreadScope, scope: str, *, now: bool) -> ScopeMemories:
    edge = None if now else thread.reading(lambda view: edge_of(thread.engine, view))
    return collect(thread, scope, edge=edge, ready=True)


def in_telling_order(found: ScopeMemories) -> list[Memory]:
    """Return the memories that prompts may contain: pinned first, then by kind, the most certain of each."""
    some = [m for m in found.memories if is_long_term(m) and m.text.strip()]
    pinned = [m for m in some if m.pinned]
    out = sorted(pinned, key=lambda m: (ORDER[m.kind], m.id))
    for kind, most in (
        (MemoryKind.PREFERENCE, PREFERENCES),
        (MemoryKind.FACT, PREFERENCES),
        (MemoryKind.LESSON, _LESSONS),
        (MemoryKind.OUTCOME, _OUTCOMES),
    ):
        out += sorted((m for m in some if m.kind is kind and not m.pinned), key=order_of)[:most]
    return out


def memory_block(
    thread: ThreadScope,
    room: int,
    count: Count = rough_count,
    *,
    scope: str = "project",
    shown: Collection[Ref] = (),
    known: Collection[str] = (),
    holds: Callable[[Ref], bool] = lambda _: True,
    now: bool = False,
    language: str | None = None,
) -> Block | None:
    """Return long-term memory and pinned memories within `room` tokens; None if there are none, or no room.

    Left out: memories that rest only on revisions that are `shown` anyway, lines already `known`, and memories with a
    revision that is no longer valid where the prompt is made (`holds`). `now`: as of this moment, not of the last one at
    which memories may change by themselves. `language`: that of the surrounding lines; the default is that of the thread.
    """
    language = thread.legible.info.language if language is None else language
    free = room - count(words_of(language)["title_memory"]) - 4
    chosen: list[Memory] = []
    found = _collect_memories(thread, scope, now=now)
    for memory in in_telling_order(found):
        line = line_of(memory, thread.id, language)
        if line in known or (memory.sources and all(s in shown for s in memory.sources)):
            continue
        if not all(map(holds, memory.sources)):
            continue
        cost = count(line) + 1
        if cost <= free:
            chosen.append(memory)
            free -= cost
    if not chosen:
        return None
    parts = (Text(render_memories(chosen, thread.id, language, "title_memory")),)
    reason = "long-term memory" + (", pinned first" if any(m.pinned for m in chosen) else "")
    # A text that a user wrote is erased with that event, whatever else it rests on.
    written = (
        e.id for m in chosen if m.by == "person" for e in found.acts.get(m.id, ()) if e.body is not None
    )
    return Block(
        "user",
        parts,
        Section.MEMORY,
        Level.GIST,
        tuple(dict.fromkeys((*sources_of(chosen), *written))),
        reason=reason,
        tokens=count(parts[0].text),
        tells=tuple(told_as(m) for m in chosen),
    )
