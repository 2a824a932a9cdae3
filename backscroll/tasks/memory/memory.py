"""Memories of a task: its summary, outcomes, lessons, and changed files.

Owns the recipe: from a task and its live messages to memories, by rules, each with the revisions it rests on. The findings in
messages (`found_in`) are an artefact under a key over their content; the task's own events (results, feedback, reasons) are
read anew every time, so nothing outlives them. The id of a memory follows from its kind, its task and the messages it rests on,
never from its text: it is the same after a rebuild and reveals nothing. Not here: reading a store, the user's changes
(`tasks/memory/acts`) and preferences across tasks (`tasks/preferences/preferences`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from backscroll.derive.digest import digests_of
from backscroll.derive.essence.sentences import rough_count
from backscroll.derive.recipe import Count, Recipe
from backscroll.derive.summaries.gist import filter_quotable, gist_messages, inputs_of
from backscroll.derive.summaries.summary import summarise_messages
from backscroll.formats.language import language_of
from backscroll.formats.sources.json_text import dumps
from backscroll.record.chain import DAMAGE, make_corrupt_error, words_from_bytes
from backscroll.tasks.memory.arcs import arcs_of
from backscroll.tasks.memory.lessons import lessons_of, verdicts_of
from backscroll.tasks.memory.outcomes import REPORT, accepted_of, files_of, outcomes_of, with_changes
from backscroll.tasks.memory.tuning import SAMPLE, SUMMARY_TOKENS
from backscroll.tasks.notes import FileChangeNote, MemoryNote, memory_id, quote_text, words_of
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import Json
from backscroll.vocab.task import Memory, MemoryKind, Task, TaskState

#: The recipe of rule-made memories; raise its version whenever the same messages would give others.
RECIPE = Recipe("task-memory", 3, {"summary": SUMMARY_TOKENS})
#: States that leave memories: a result sent back with feedback is a lesson already.
ENDED = frozenset({TaskState.COMPLETED, TaskState.INCOMPLETE, TaskState.CANCELLED})


@dataclass(frozen=True, slots=True)
class MemoryArtefact:
    """The artefact: rule-made findings in the messages of a task."""

    summary: str
    sources: tuple[Ref, ...]  # of the summary
    notes: tuple[MemoryNote, ...]
    language: str
    at: str  # of the last message


def key_of(state: TaskState, messages: Sequence[Message]) -> bytes:
    """Return the key of the findings for a task that ended in a state."""
    return RECIPE.key([state.value, *inputs_of(messages)])


def found_in(state: TaskState, messages: Sequence[Message], count: Count = rough_count) -> MemoryArtefact:
    """Return the findings in the messages of a task that ended (or is) in a state."""
    said = filter_quotable(messages)
    if not said:
        return MemoryArtefact("", (), (), "", "")
    language = language_of(" ".join(m.text[:SAMPLE] for m in said if m.role != "tool"))
    words, digests = words_of(language), digests_of(said)
    arcs = arcs_of(said, digests)
    course = "\n".join(f"- {arc.line(handles=True)}" for arc in arcs)
    room = max(SUMMARY_TOKENS // 3, SUMMARY_TOKENS - count(course))
    made = summarise_messages(said, limit_tokens=room, count=count)
    gist = made if made.text else gist_messages(said, limit_tokens=room, count=count)
    notes = (
        *outcomes_of(state, said, digests, words, arcs),
        *lessons_of(state, said, digests, words, arcs),
        *files_of(said, digests, words),
    )
    told = tuple(part.message.revision for arc in arcs for part in arc.parts)
    sources = (
        tuple(dict.fromkeys((*told, *gist.sources))) if gist.sources else tuple(m.revision for m in said)
    )
    return MemoryArtefact(f"{course}\n{gist.text}".strip(), sources, notes, language, said[-1].at)


def assemble_memories(
    task: Task, found: MemoryArtefact, changes: Sequence[FileChangeNote] = ()
) -> list[Memory]:
    """Return the memories of a task: from its messages, and from its own events."""
    words = words_of(found.language or language_of(f"{task.title} {task.reason} {' '.join(task.feedback)}"))
    accepted = list(accepted_of(task, words))
    notes = [n for n in found.notes if not (accepted and n.sort == REPORT)]
    notes = with_changes([*accepted, *verdicts_of(task, words), *notes], changes, words)
    out = [summary for summary in [_summary(task, found)] if summary is not None]
    seen: dict[tuple[str, tuple[Ref, ...]], int] = {}
    for note in notes:
        # Counted by rule: a change in the findings of one rule does not rename those of another in the same message.
        number = seen[note.sort, note.messages] = seen.get((note.sort, note.messages), -1) + 1
        out.append(_memory(task, note, number))
    return out


def _summary(task: Task, found: MemoryArtefact) -> Memory | None:
    title = quote_text(task.title)
    text = f"{title}\n{found.summary}".strip()
    if not text:
        return None
    at = task.ended or found.at or task.began
    name = memory_id("summary", str(task.event), ())
    return Memory(name, MemoryKind.SUMMARY, text, task.thread, task.id, found.sources, at)


def _memory(task: Task, note: MemoryNote, number: int) -> Memory:
    return Memory(
        memory_id(f"{note.kind.value} {note.sort}", str(task.event), note.messages, number),
        note.kind,
        note.text,
        task.thread,
        task.id,
        note.sources,
        note.at or task.ended or task.began,
        note.confidence,
    )


# -- stored form -------------------------------------------------------------------------------------------------


def encode_found(found: MemoryArtefact) -> bytes:
    """Return the bytes of the artefact."""
    rows = [
        [
            n.kind.value,
            n.text,
            [*map(str, n.messages)],
            [*map(str, n.sources)],
            n.at,
            n.confidence,
            n.path,
            n.sort,
        ]
        for n in found.notes
    ]
    data: dict[str, Json] = {
        "summary": found.summary,
        "sources": [str(s) for s in found.sources],
        "notes": rows,
        "language": found.language,
        "at": found.at,
    }
    return dumps(data).encode("utf-8", "surrogatepass")


def decode_found(body: bytes) -> MemoryArtefact:
    """Read what `encode_found` wrote."""
    data = cast("Mapping[str, Json]", words_from_bytes(body))
    try:
        told = tuple(
            MemoryNote(
                MemoryKind(kind), text, _refs(messages), _refs(sources), at, float(confidence), path, sort
            )
            for kind, text, messages, sources, at, confidence, path, sort in data["notes"]
        )
        return MemoryArtefact(data["summary"], _refs(data["sources"]), told, data["language"], data["at"])
    except DAMAGE as error:
        raise make_corrupt_error("what is remembered of a task", error) from error


def _refs(names: Iterable[str]) -> tuple[Ref, ...]:
    return tuple(parse_ref(name) for name in names)
