"""Derive memories from the log: ended tasks of a thread or its project, users' preferences, and users' changes to memories.

Owns what is read and what is stored: what messages say about an ended task is an artefact under a key over their content;
preference statements are read once per revision; users' changes come from the rare events. Nothing depends on messages after a task
ended, so an append remakes only its own statements. If a fork and its parent both know a message, the current thread decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from backscroll.engine.core.artefacts import keep_artefacts
from backscroll.engine.core.audience import STATES, ScopeThreads, checked_scope, may_see, near
from backscroll.engine.core.lineage import View, reach
from backscroll.engine.models.artefacts import better
from backscroll.engine.work.memory.log import (
    EvidenceCheck,
    MemoryHorizon,
    RareEvents,
    acts_of,
    edge_of,
    rare_of,
)
from backscroll.engine.work.memory.model_preferences import with_heard
from backscroll.engine.work.memory.preferences import SAID, Allowance, ThreadStatements, said_in, said_since
from backscroll.engine.work.task_reader import messages_in, tasks_of
from backscroll.errors import InvalidInput
from backscroll.record.chain import words_from_bytes
from backscroll.record.derived import Artefact
from backscroll.record.order import at_end
from backscroll.record.ports import Reader, ThreadState
from backscroll.tasks.memory import memory as recipe
from backscroll.tasks.memory import request as memory_ask
from backscroll.tasks.memory.acts import MemoryLayer, layer_acts
from backscroll.tasks.memory.decay import MemoryUse, fade_memory
from backscroll.tasks.memory.model import by_model
from backscroll.tasks.notes import FileChangeNote
from backscroll.tasks.preferences.preferences import Preference, fold
from backscroll.tasks.preferences.reader import PreferenceStatement
from backscroll.tasks.preferences.tuning import SHOWN
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.handle import qualify_handles
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.task import Memory, Task, TaskState
from backscroll.vocab.values.moment import microseconds

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope, ThreadScope
    from backscroll.engine.models.artefacts import ModelText

_THREADS = 200  # of a project, the most recently changed
#: Messages that one prompt reads if no worker has read them yet: with a worker, and without one.
_MESSAGES, _ALONE = 256, 1024


@dataclass(frozen=True, slots=True)
class ScopeMemories:
    """All memories of a scope."""

    memories: tuple[Memory, ...]  # with the users' changes, faded; without hidden ones
    hidden: tuple[Memory, ...]
    preferences: tuple[Preference, ...]  # including superseded and doubtful ones
    aliases: Mapping[str, str]  # former ids of memories
    acts: Mapping[str, tuple[Event, ...]]
    tasks: Mapping[tuple[str, str], Task]  # by thread and id


@dataclass(frozen=True, slots=True)
class _EndedTask:
    """An ended task, with what its messages say."""

    task: Task
    key: bytes
    found: recipe.MemoryArtefact
    revisions: Mapping[Ref, Ref]  # of its messages
    changes: tuple[FileChangeNote, ...]


def collect(
    thread: ThreadScope, scope: str = "project", *, edge: MemoryHorizon | None = None, ready: bool = False
) -> ScopeMemories:
    """Return all memories available to a thread; with `edge`, as of that event.

    `ready`: for a prompt, which does not wait. What a background worker has yet to read is left out except for a fixed
    amount, the newest first, and counted in `pending`.
    """
    engine = thread.engine
    checked_scope(scope)
    # By day: nothing fades within one, so a result can be reused.
    now = edge.at if edge is not None else f"{engine.means.now()[:10]}T00:00:00+00:00"
    fresh: list[Artefact] = []
    most = Allowance(_MESSAGES if engine.at_work is not None else _ALONE) if ready else None
    found = engine.store.read(lambda r: _collect_scope(engine, r, thread.id, scope, edge, now, fresh, most))
    keep_artefacts(engine, fresh)
    return found


def _collect_scope(
    engine: EngineScope,
    reader: Reader,
    home: str,
    scope: str,
    edge: MemoryHorizon | None,
    now: str,
    fresh: list[Artefact],
    most: Allowance | None,
) -> ScopeMemories:
    states = list(_threads(reader, home, scope, engine.memo.shelf(STATES, 64)))
    parts = [_part(engine, reader, state, fresh, most) for state in states]
    names = [one.key for part in parts for one in part.ended]
    written = _find_written(reader, names)
    told_ = tuple((state.id, p.rare.last, p.mark) for state, p in zip(states, parts, strict=True))
    key = (scope, edge, now, told_, tuple(sorted((name, words.at) for name, words in written.items())))
    shelf = engine.memo.shelf("remembered", 64)
    known = cast("ScopeMemories | None", shelf.get(key))
    if known is not None:
        return known
    views = [View(reader, state) for state in states]
    sees = dict(reach(reader, states[0]))
    ended: dict[Ref, _EndedTask] = {}
    stated: dict[tuple[Ref, int], PreferenceStatement] = {}
    acts: dict[Ref, Event] = {}
    used: dict[str, MemoryUse] = {}
    for view, part in zip(views, parts, strict=True):
        own = view.state.id == home
        for one in part.ended:
            other = not own and _is_seen(sees, one.task.event)
            if other or not (own or _in_time(_moment(one.task), edge)):
                continue
            if one.task.event not in ended:
                ended[one.task.event] = one
                _count_uses(used, one.task)
        for says in part.said.stated:
            if (says.message, says.number) in stated or (not own and _is_seen(sees, says.message)):
                continue
            if (says.message.seq <= edge.seq if own else _in_time(says.at, edge)) if edge else True:
                stated[says.message, says.number] = says
        for event in acts_of(view, part.rare):
            if (own or not _is_seen(sees, event.id)) and (own or _in_time(event.at, edge)):
                acts.setdefault(event.id, event)
    shelf[key] = made = _fold_memories(
        reader, views, home, list(ended.values()), written, stated, acts, used, now
    )
    return made


def _find_written(reader: Reader, names: Sequence[bytes]) -> Mapping[bytes, ModelText]:
    """Return what a model wrote about tasks, by the keys of the rule-made texts."""
    if not names:
        return {}

    return better(reader, lambda model: memory_ask.recipe(memory_ask.MEMORY, model), names)


def _fold_memories(
    reader: Reader,
    views: Sequence[View],
    home: str,
    ended: Sequence[_EndedTask],
    written: Mapping[bytes, ModelText],
    stated: Mapping[tuple[Ref, int], PreferenceStatement],
    acts: Mapping[Ref, Event],
    used: Mapping[str, MemoryUse],
    now: str,
) -> ScopeMemories:
    derived = [memory for one in ended for memory in _memories(one, written.get(one.key))]
    # A task's text may be under one id in two threads: the first, that of the current thread, counts.
    byid = {memory.id: memory for memory in reversed(derived)}
    derived = [byid[name] for name in dict.fromkeys(m.id for m in derived)]
    order = sorted(stated.values(), key=lambda s: (microseconds(s.at) if s.at else 0, s.message, s.number))
    preferences = fold(order)
    aliases: dict[str, str] = {}
    for preference in preferences:
        first, *more = preference.ids
        aliases |= dict.fromkeys(more, first)
    sure = [p for p in preferences if p.confidence >= SHOWN and not p.superseded]
    told: dict[tuple[str, tuple[Ref, ...]], Preference] = {}
    for preference in sorted(sure, key=lambda p: -p.confidence):
        # One sentence may state two things ("no npm, use pnpm"): it is remembered once.
        same = told.setdefault((preference.text, preference.sources), preference)
        if same is not preference:
            aliases |= dict.fromkeys(preference.ids, same.ids[0])
    kept = {id(p) for p in told.values()}
    homes = {message: one.task.id for one in reversed(ended) for message in one.revisions}
    derived += [p.memory(homes.get(p.stated[-1].message, "")) for p in sure if id(p) in kept]
    layer = layer_acts(derived, _in_order(acts.values()), EvidenceCheck(reader, views).sound, aliases)
    uses = _rename_uses(used, aliases)

    def fade_memories(memories: Iterable[Memory]) -> tuple[Memory, ...]:
        return tuple(_elsewhere(fade_memory(m, now, uses.get(m.id)), home) for m in memories)

    return ScopeMemories(
        fade_memories(layer.shown),
        fade_memories(layer.hidden),
        tuple(preferences),
        aliases,
        layer.acts,
        {(one.task.thread, one.task.id): one.task for one in ended},
    )


def _memories(one: _EndedTask, words: ModelText | None) -> list[Memory]:
    made = recipe.assemble_memories(one.task, one.found, one.changes)
    return made if words is None else by_model(one.task, made, words.text, one.revisions, one.found)


def _in_order(acts: Iterable[Event]) -> list[Event]:
    return sorted(acts, key=lambda e: (microseconds(e.at), e.thread, e.seq))


def _elsewhere(memory: Memory, home: str) -> Memory:
    """Return a memory with handles that are readable from another thread."""
    if memory.thread == home:
        return memory
    return replace(memory, text=qualify_handles(memory.text, memory.thread))


# -- which threads -----------------------------------------------------------------------------------------------


def _threads(
    reader: Reader, home: str, scope: str, memo: MutableMapping[Any, Any] | None = None
) -> Iterable[ThreadState]:
    """Yield the current thread, then the others of its scope, oldest first."""
    state = reader.thread(home)
    if state is None:
        raise InvalidInput(f"thread {home} not found")
    yield state
    about = state.about
    if scope == "project":
        yield from near(reader, state, _THREADS, memo)  # a thread without user and project has only itself
    elif scope == "user" and about.user:
        yield from (s for s in ScopeThreads.of_user(about.user).threads(reader, _THREADS) if s.id != home)
    elif scope == "all":
        found = reader.threads(limit=_THREADS)
        others = [s for s in found if s.id != home and not s.forgotten and may_see(about, s.about)]
        yield from sorted(others, key=lambda s: (s.created_at, s.id))


@dataclass(frozen=True, slots=True)
class _MemoryShare:
    """What one thread contributes to memory, up to its newest event."""

    head: int
    rare: RareEvents
    said: ThreadStatements
    ended: Sequence[_EndedTask]
    mark: int  # equal for the same statements


def _part(
    engine: EngineScope, reader: Reader, state: ThreadState, fresh: list[Artefact], most: Allowance | None
) -> _MemoryShare:
    """Return what a thread contributes to memory; an unchanged thread is not read again."""
    shelf = engine.memo.shelf("remembered-threads", 2 * _THREADS)
    known = cast("_MemoryShare | None", shelf.get(state.id))
    if known is None or known.head != state.head or known.said.pending:
        view = View(reader, state)
        rare = rare_of(engine, view)
        said_ = with_heard(engine, view, rare.touched, _read_statements(engine, view, rare, most))
        mark = hash(frozenset((s.message, s.revision, s.number, s.text) for s in said_.stated))
        known = _MemoryShare(state.head, rare, said_, _read_ended_tasks(engine, view, rare, fresh), mark)
        shelf[state.id] = known
    return known


def _is_seen(sees: Mapping[str, int], ref: Ref) -> bool:
    """Return True if the current thread sees an event through its own history."""
    return ref.seq <= sees.get(ref.thread, 0)


def _moment(task: Task) -> str:
    return task.ended or (task.attempts[-1].at if task.attempts else task.began)


def _in_time(at: str, edge: MemoryHorizon | None) -> bool:
    return edge is None or not at or microseconds(at) <= microseconds(edge.at)


# -- tasks -------------------------------------------------------------------------------------------------------


def _read_ended_tasks(
    engine: EngineScope, view: View, rare: RareEvents, fresh: list[Artefact]
) -> list[_EndedTask]:
    """Return the ended tasks of a thread that are remembered, with what their messages say."""
    shelf = engine.memo.shelf("remembered-tasks", 400)
    key = (view.state.id, rare.last)
    known = cast("list[_EndedTask] | None", shelf.get(key))
    if known is not None:
        return known
    tasks = [t for t in tasks_of(view, engine.memo.shelf("tasks", 200)) if t.state in recipe.ENDED]
    logged = [e for e in view.others() if e.kind is Kind.CODE_CHANGED and e.body is not None] if tasks else []
    out: list[_EndedTask] = []
    for task in tasks:
        messages = of_task(view, task)
        name = recipe.key_of(task.state, messages)
        made = view.reader.read_artefacts([name]).get(name)
        if made is not None:
            found = recipe.decode_found(made.body)
        else:
            found = recipe.found_in(task.state, messages)
            sources = tuple(dict.fromkeys(m.revision for m in messages))
            if sources:
                now = engine.means.now()
                fresh.append(
                    Artefact(
                        name, recipe.RECIPE.name, view.state.id, recipe.encode_found(found), sources, now
                    )
                )
        changes = tuple(_read_file_change(e) for e in logged if _belongs(task, e))
        out.append(_EndedTask(task, name, found, {m.id: m.revision for m in messages}, changes))
    shelf[key] = out
    return out


def of_task(view: View, task: Task) -> list[Message]:
    """Return the live messages of a task; if it was sent back, those up to the verdict, because another attempt follows."""
    messages = messages_in(view, task)
    if task.state is TaskState.INCOMPLETE and task.attempts:
        upto = max(a.place for a in task.attempts)
        return [m for m in messages if m.position <= upto]
    return messages


def _read_file_change(event: Event) -> FileChangeNote:
    body = cast("Mapping[str, Any]", words_from_bytes(event.body or b"{}"))
    return FileChangeNote(
        str(body.get("file", "")),
        str(body.get("description", "")),
        event.id,
        event.head.get("said", event.at),
    )


def _belongs(task: Task, event: Event) -> bool:
    """Return whether a code change was logged while a task was worked on."""
    place = at_end(event.seq)
    for low, high in task.spans:
        if low < place and (high is None or place <= high):
            return True
    # What is logged after the last message belongs to it too, until it ends.
    last = max((high for _, high in task.spans if high is not None), default=None)
    late = last is not None and place > last and bool(task.ended)
    return late and microseconds(event.at) <= microseconds(task.ended)


def _count_uses(used: dict[str, MemoryUse], task: Task) -> None:
    """Count a memory as useful if a task began with it and was completed; derived from the log, so a rebuild counts the same."""
    if task.state is not TaskState.COMPLETED:
        return
    for name in dict.fromkeys(task.relevant):
        before = used.get(name)
        last = task.ended if before is None else max(before.last, task.ended, key=microseconds)
        used[name] = MemoryUse(1 if before is None else before.times + 1, last)


def _rename_uses(used: Mapping[str, MemoryUse], aliases: Mapping[str, str]) -> dict[str, MemoryUse]:
    out: dict[str, MemoryUse] = {}
    for name, use in used.items():
        known = out.get(aliases.get(name, name))
        more = 0 if known is None else known.times
        last = use.last if known is None else max(use.last, known.last, key=microseconds)
        out[aliases.get(name, name)] = MemoryUse(use.times + more, last)
    return out


# -- preferences -------------------------------------------------------------------------------------------------


def _read_statements(
    engine: EngineScope, view: View, rare: RareEvents, allowance: Allowance | None
) -> ThreadStatements:
    """Return what the user messages of a thread state about preferences; only new messages are read, unless old ones changed."""
    shelf = engine.memo.shelf("remembered-said", 2 * _THREADS)
    known = cast("tuple[int, int, ThreadStatements] | None", shelf.get(view.state.id))
    found, reached = None, 0
    if known is not None and known[0] == rare.touched:
        # A caller that does not wait continues with what there is until the worker has read the rest.
        reached = known[1] if not known[2].pending else view.reader.progress(view.state.id, SAID)
        if not known[2].pending or (allowance is not None and reached == known[1]):
            found = said_since(engine, view, known[2])
    if found is None:
        reached = view.reader.progress(view.state.id, SAID)
        found = said_in(engine, view, allowance)
    shelf[view.state.id] = (rare.touched, reached, found)
    return found


__all__ = [
    "MemoryHorizon",
    "MemoryLayer",
    "ScopeMemories",
    "collect",
    "edge_of",
    "of_task",
]
