"""Memories: what is known from ended tasks, for the thread that is worked in now.

Owns the queries: list memories, get one, explain one, find what matters for a task, find applicable lessons. Short-term
memory is the history itself, middle-term the summaries of recent tasks, long-term the memories returned here. Writing is in
`engine/work/memory/acts`, the block in prompts in `engine/work/memory/memory_block`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from backscroll.derive.essence.sentences import rough_count
from backscroll.derive.flat import flat
from backscroll.derive.recipe import Count
from backscroll.engine.core.audience import checked_scope
from backscroll.engine.core.checks import in_valid_text
from backscroll.engine.core.history import message_of
from backscroll.engine.core.lineage import View
from backscroll.engine.models.artefacts import better
from backscroll.engine.work.memory.reader import ScopeMemories, collect, of_task
from backscroll.engine.work.task_reader import all_tasks, find_task
from backscroll.errors import Ambiguous, NotFound
from backscroll.record.chain import words_from_bytes
from backscroll.tasks.memory import memory as recipe
from backscroll.tasks.memory import request as memory_ask
from backscroll.tasks.memory.acts import words_in
from backscroll.tasks.memory.model import by_model
from backscroll.tasks.memory.words import (
    line_of,
    render_memories,
    sources_of,
)
from backscroll.tasks.notes import quote_text, words_of
from backscroll.tasks.preferences.preferences import Preference, PreferenceDefaults, defaults_from
from backscroll.tasks.relevance import (
    ORDER,
    ComparisonText,
    Encode,
    RankedMemory,
    kind_of,
    prepare_text,
    rank,
    within,
)
from backscroll.vocab.event import SPEAKING, Event, Kind
from backscroll.vocab.handle import Handle
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json
from backscroll.vocab.task import Memory, MemoryKind, Task
from backscroll.vocab.values.moment import microseconds

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope, ThreadScope

RELEVANT_TOKENS = 1_500
PREFERENCES = 8  # preferences that go with every task, the most certain
_HINTS = 3
_QUOTE = 300
_SHORTEST = 4  # minimum characters of an id prefix


@dataclass(frozen=True, slots=True)
class RelevantHistory:
    """What earlier work contributes to a task."""

    text: str  # ready for a prompt; empty if nothing matters
    memories: tuple[Memory, ...]
    reasons: tuple[str, ...]  # one for each memory
    sources: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class MemorySource:
    """One source of a memory."""

    handle: str
    revision: Ref
    message: Ref | None
    thread: str
    role: str  # empty: an event of a task, a logged change, or the user's own text
    at: str
    quote: str  # empty if it may no longer be shown
    live: bool


@dataclass(frozen=True, slots=True)
class MemoryExplanation:
    """Why something is remembered: the memory, its sources and the user's changes."""

    memory: Memory
    sources: tuple[MemorySource, ...]
    acts: tuple[Event, ...]  # users' changes to it, oldest first
    stated: int = 0  # how often a preference was stated


# -- lists -------------------------------------------------------------------------------------------------------


@in_valid_text
def memories(
    thread: ThreadScope,
    *,
    kinds: Collection[MemoryKind | str] = (),
    scope: str = "project",
    text: str = "",
    hidden: bool = False,
) -> list[Memory]:
    """Return memories: pinned first, then by weight; with `text`, only related ones, best match first."""
    found = collect(thread, scope)
    wanted = {str(k.value if isinstance(k, MemoryKind) else k) for k in kinds}
    told_ = found.hidden if hidden else found.memories
    some = [m for m in told_ if not wanted or m.kind.value in wanted]
    if text.strip():
        return [r.memory for r in _rank_memories(thread.engine, found, text, some)]
    return sorted(some, key=order_of)


def sort_memories(found: Iterable[Memory], kind: MemoryKind) -> list[Memory]:
    """Return the memories of a kind in list order: pinned first, then by weight."""
    return sorted((m for m in found if m.kind is kind), key=order_of)


def order_of(memory: Memory) -> tuple[object, ...]:
    """Return the key by which memories are sorted: pinned first, then by weight."""
    # Of equals the older first: it was there before.
    worth = -round(memory.weight * memory.confidence, 3)
    at = microseconds(memory.at) if memory.at else 0
    return (not memory.pinned, ORDER[memory.kind], worth, at, memory.id)


def memory_of(thread: ThreadScope, name: str, *, scope: str = "project") -> Memory:
    """Return one memory by its id or id prefix; hidden ones too."""
    return _find_memory(collect(thread, scope), name)


def _find_memory(found: ScopeMemories, name: str) -> Memory:
    wanted = name.strip().lower()
    everything = {m.id: m for m in (*found.memories, *found.hidden)}
    wanted = found.aliases.get(wanted, wanted)
    if wanted in everything:
        return everything[wanted]
    fits = sorted(i for i in everything if len(wanted) >= _SHORTEST and i.startswith(wanted))
    if len(fits) > 1:
        raise Ambiguous(f"{name} matches several memories: {', '.join(fits[:5])}", hint="give more digits")
    if not fits:
        raise NotFound(f"memory {name} not found", hint="run `backscroll memory list` to list memories")
    return everything[fits[0]]


def preferences(thread: ThreadScope, *, scope: str = "project") -> list[Preference]:
    """Return the user's preferences with all evidence; superseded and doubtful ones last."""
    found = collect(thread, scope).preferences
    return sorted(found, key=lambda p: (p.superseded, -p.confidence, p.ids[0]))


def defaults(thread: ThreadScope, *, scope: str = "project") -> PreferenceDefaults:
    """Return the defaults that follow from the preferences in force: language, name, style, tools."""
    return defaults_from(memories(thread, kinds=[MemoryKind.PREFERENCE], scope=scope))


def why(thread: ThreadScope, name: str, *, scope: str = "project") -> MemoryExplanation:
    """Return why something is remembered: the evidence, quoted, and the user's changes to it."""
    found = collect(thread, scope)
    memory = _find_memory(found, name)
    stated = next((len(p.stated) for p in found.preferences if memory.id in p.ids), 0)
    sources = thread.reading(lambda view: tuple(_source(view, ref) for ref in memory.sources))
    return MemoryExplanation(memory, sources, tuple(found.acts.get(memory.id, ())), stated)


def _source(view: View, ref: Ref) -> MemorySource:
    event = view.reader.event(ref)
    mine = view.event(ref.seq)
    handle = str(Handle(ref.seq, ref.seq, None if mine is not None and mine.id == ref else ref.thread))
    if event is None:
        return MemorySource(handle, ref, None, ref.thread, "", "", "", live=False)
    if event.kind not in SPEAKING or event.message is None:
        text = "" if event.forgotten else _read_words(event)
        return MemorySource(handle, ref, None, ref.thread, "", event.at, text, live=not event.forgotten)
    message = event.message
    state = view.reader.thread(ref.thread)
    entry = view.entry(message) or (None if state is None else View(view.reader, state).entry(message))
    seen = view.event(message.seq)
    other = None if seen is not None and seen.id == message else message.thread
    handle = str(Handle(message.seq, message.seq, other))
    spoken = view.reader.read_spoken([ref]).get(ref)
    if entry is None or not entry.live or entry.revision != ref or spoken is None or spoken.body is None:
        role = "" if entry is None else entry.role
        return MemorySource(handle, ref, message, ref.thread, role, event.at, "", live=False)
    shown = message_of(entry, spoken)

    return MemorySource(
        handle, ref, message, ref.thread, shown.role, shown.at, quote_text(flat(shown), _QUOTE), live=True
    )


def _read_words(event: Event) -> str:
    """Return the text of an event that is not a message."""
    if event.kind is Kind.REMEMBERED:
        return quote_text(words_in(event), _QUOTE)
    if event.body is None:
        return ""

    body = cast("dict[str, Json]", words_from_bytes(event.body))
    texts = [value for value in body.values() if isinstance(value, str)]
    return quote_text(" · ".join(texts), _QUOTE)


# -- tasks -------------------------------------------------------------------------------------------------------


def catch_up(thread: ThreadScope) -> int:
    """Derive the memories of a thread ahead of time, for a background worker; return how many there are.

    Everything is derived on first use anyway, except for prompts, which do not wait for it.
    """
    return len(collect(thread, "thread").memories)


def task_summary(thread: ThreadScope, task: Task | str) -> tuple[str, tuple[Ref, ...]]:
    """Return the summary of a task (a model's, if one wrote it) and the revisions it rests on."""
    one = task if isinstance(task, Task) else find_task(all_tasks(thread), task)

    def read(view: View) -> tuple[str, tuple[Ref, ...]]:
        messages = of_task(view, one)
        name = recipe.key_of(one.state, messages)
        made = view.reader.read_artefacts([name]).get(name)
        found = recipe.found_in(one.state, messages) if made is None else recipe.decode_found(made.body)
        rules = recipe.assemble_memories(one, found)
        how = better(view.reader, lambda model: memory_ask.recipe(memory_ask.MEMORY, model), [name])
        if name in how:
            rules = by_model(one, rules, how[name].text, {m.id: m.revision for m in messages}, found)
        summary = next((m for m in rules if m.kind is MemoryKind.SUMMARY), None)
        return ("", ()) if summary is None else (summary.text, summary.sources)

    return thread.reading(read)


@in_valid_text
def load_relevant_history(
    thread: ThreadScope,
    task: Task | str,
    budget_tokens: int = RELEVANT_TOKENS,
    *,
    scope: str = "project",
    count: Count = rough_count,
) -> RelevantHistory:
    """Return what earlier work contributes to a task or a text, by meaning, words, files and kind of work, within a budget.

    The most certain preferences are always included.
    """
    query, own = _query(thread, task)
    found = collect(thread, checked_scope(scope))
    language = thread.legible.info.language
    some = [
        m
        for m in found.memories
        if m.kind is not MemoryKind.PREFERENCE and (m.thread, m.task) != (thread.id, own)
    ]

    def line(memory: Memory) -> str:
        return line_of(memory, thread.id, language)

    title = count(words_of(language)["title_relevant"]) + 1
    always = sorted((m for m in found.memories if m.kind is MemoryKind.PREFERENCE), key=order_of)[
        :PREFERENCES
    ]
    base = [RankedMemory(m, m.confidence * m.weight, ("preference",)) for m in always]
    base += [RankedMemory(m, 1.0, ("pinned",)) for m in some if m.pinned]
    pinned = {r.memory.id for r in base}
    ranked = [r for r in _rank_memories(thread.engine, found, query, some) if r.memory.id not in pinned]
    chosen = within([*base, *ranked], budget_tokens - title, count, line)
    picked = sorted(chosen, key=lambda r: (ORDER[r.memory.kind], -r.score, r.memory.id))
    text = render_memories([r.memory for r in picked], thread.id, language, "title_relevant")
    some_ = tuple(r.memory for r in picked)
    return RelevantHistory(text, some_, tuple("; ".join(r.reasons) for r in picked), sources_of(some_))


def _query(thread: ThreadScope, task: Task | str) -> tuple[str, str]:
    """Return the text of a task, and its id if it is one of this thread."""
    if isinstance(task, str):
        known = next((t for t in all_tasks(thread) if task.strip() in (t.id, f"#{t.id}")), None)
        if known is None:
            return task, ""
        task = known
    one = task
    messages = thread.reading(lambda view: of_task(view, one))
    asked = [m.text[:2_000] for m in messages if m.role == "user"][:2]
    return "\n".join([one.title, *asked, *one.feedback[-1:]]), one.id


@in_valid_text
def hints(
    thread: ThreadScope,
    text: str,
    *,
    scope: str = "project",
    limit: int = _HINTS,
    among: ScopeMemories | None = None,
) -> list[Memory]:
    """Return lessons that apply to a text: what failed, was refused or was abandoned in similar work.

    `among`: the memories, if they were collected already.
    """
    if not text.strip():
        return []
    found = collect(thread, checked_scope(scope)) if among is None else among
    lessons = [m for m in found.memories if m.kind is MemoryKind.LESSON]
    return [r.memory for r in _rank_memories(thread.engine, found, text, lessons)[:limit]]


def _rank_memories(
    engine: EngineScope, found: ScopeMemories, text: str, some: Sequence[Memory]
) -> list[RankedMemory]:
    shelf = engine.memo.shelf("remembered-words", 8_000)

    def prepare(words: str) -> ComparisonText:
        known = cast("ComparisonText | None", shelf.get(words))
        if known is None:
            known = shelf[words] = prepare_text(words)
        return known

    titles = {task: kind_of(task.title) for task in dict.fromkeys(found.tasks.values())}
    kinds = {m.id: titles[t] for m in some if (t := found.tasks.get((m.thread, m.task))) is not None}
    return rank(text, some, encode=encode_with(engine), kinds=kinds, prepare=prepare)


def encode_with(engine: EngineScope) -> Encode | None:
    """Return the configured encoder; encoded texts are cached until something is forgotten."""
    # start-up: numpy is loaded by the first search
    from backscroll.engine.search.recall_pool import encoder_for

    encoder = encoder_for(engine)
    if encoder is None:
        return None
    shelf = engine.memo.shelf(f"remembered-vectors:{encoder.name}", 8_000)

    def encode(texts: Sequence[str]) -> Sequence[Sequence[float]]:
        known: dict[str, Json] = {t: shelf.get(t) for t in texts}
        missing = [t for t, row in known.items() if row is None]
        if missing:
            known.update(zip(missing, encoder.encode(missing), strict=True))
            shelf.update((t, known[t]) for t in missing)
        return [known[t] for t in texts]

    return encode
