"""Memories written by a model: from the lines of its answer to the same nouns that the rules make.

Owns the labels by which lines are distinguished and which rule-made memories stay beside them: results, feedback and
reasons that users wrote down, and changed files, are facts that no model rewrites.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from backscroll.tasks.memory.memory import MemoryArtefact
from backscroll.tasks.memory.request import lines_of
from backscroll.tasks.memory.tuning import WRITTEN
from backscroll.tasks.notes import memory_id, quote_text
from backscroll.vocab.ids import Ref
from backscroll.vocab.task import Memory, MemoryKind, Task

_LABELS: Mapping[str, MemoryKind] = {
    "summary": MemoryKind.SUMMARY,
    "摘要": MemoryKind.SUMMARY,
    "总结": MemoryKind.SUMMARY,
    "outcome": MemoryKind.OUTCOME,
    "decision": MemoryKind.OUTCOME,
    "成果": MemoryKind.OUTCOME,
    "结果": MemoryKind.OUTCOME,
    "决定": MemoryKind.OUTCOME,
    "lesson": MemoryKind.LESSON,
    "教训": MemoryKind.LESSON,
    "经验": MemoryKind.LESSON,
}
_WRITTEN = frozenset({MemoryKind.SUMMARY, MemoryKind.OUTCOME, MemoryKind.LESSON})


def by_model(
    task: Task, rules: Sequence[Memory], text: str, revisions: Mapping[Ref, Ref], found: MemoryArtefact
) -> list[Memory]:
    """Return the memories of a task that a model wrote, and the rule-made ones where its answer was unusable."""
    known = {message.seq: message for message in revisions}
    ours = set(revisions.values())
    written: list[Memory] = []
    seen: dict[tuple[MemoryKind, tuple[Ref, ...]], int] = {}
    at = {m.id: m.at for m in rules}
    for line in lines_of(text, known):
        kind = _LABELS.get(line.label)
        if kind is None or (not line.messages and kind is not MemoryKind.SUMMARY):
            continue  # without a handle it cannot be looked up
        number = seen[kind, line.messages] = seen.get((kind, line.messages), -1) + 1
        summary = kind is MemoryKind.SUMMARY
        if summary and number:
            continue
        name = memory_id(
            kind.value, str(task.event), () if summary else line.messages, 0 if summary else number
        )
        sources = tuple(dict.fromkeys(revisions[ref] for ref in line.messages)) or found.sources
        words = quote_text(line.text, WRITTEN)
        words = f"{quote_text(task.title)}\n{words}".strip() if summary else words
        when = at.get(name) or task.ended or found.at or task.began
        written.append(Memory(name, kind, words, task.thread, task.id, sources, when, 0.8, by="model"))
    kinds = {m.kind for m in written}
    kept = [m for m in rules if m.kind not in kinds & _WRITTEN or not _from_messages(m, ours)]
    return [*written, *(replace(m) for m in kept if m.id not in {w.id for w in written})]


def _from_messages(memory: Memory, ours: set[Ref]) -> bool:
    """Return True if rules made it from messages; text that users wrote rests on events of the task."""
    return memory.kind is MemoryKind.SUMMARY or bool(set(memory.sources) & ours) or memory.by != "rules"
