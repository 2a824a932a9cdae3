"""Memories as text: the lines of the memory section, of the start of a new task, of a reminder.

Owns the wording and the order; the fixed words are data (`memory_words.toml`). Memories are presented as a record, not as a
request. Not here: choosing them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from backscroll.tasks.memory.tuning import HANDLES, LINE
from backscroll.tasks.notes import quote_text, words_of
from backscroll.tasks.relevance import ORDER
from backscroll.vocab.handle import IN_TEXT, Handle
from backscroll.vocab.ids import Ref
from backscroll.vocab.task import Memory, MemoryKind


def line_of(memory: Memory, home: str, language: str = "en", *, label: bool = True) -> str:
    """Return a memory on one line, with the handles of its sources."""
    words = words_of(language)
    text = words_told(memory)
    kind = f"{words[f'kind_{memory.kind.value}']}{words['colon']}" if label else ""
    marks = " ".join(handles_of(memory, home)[:HANDLES])
    return f"- {kind}{text} {marks}".rstrip()


def words_told(memory: Memory) -> str:
    """Return the text of a memory as it appears on a line."""
    return quote_text(_bare(memory.text), LINE)


def told_as(memory: Memory) -> str:
    """Return a memory and its text, as the caller names them."""
    digest = hashlib.sha256(words_told(memory).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{memory.id}:{digest[:12]}"


def _bare(text: str) -> str:
    """Return text without the handles inside it: those are at the end of the line."""
    return IN_TEXT.sub("", text)


def handles_of(memory: Memory, home: str) -> list[str]:
    """Return the handles of a memory's sources, as used in a thread."""
    in_text = list(dict.fromkeys(IN_TEXT.findall(memory.text)))
    if in_text:
        return in_text
    return [str(Handle(s.seq, s.seq, None if s.thread == home else s.thread)) for s in memory.sources[:4]]


def render_memories(memories: Sequence[Memory], home: str, language: str, title: str) -> str:
    """Render memories under a title, by kind, in the given order."""
    words = words_of(language)
    lines = [line_of(m, home, language) for m in sorted(memories, key=lambda m: ORDER[m.kind])]
    return "\n".join([words[title], *lines]) if lines else ""


def reminder(memory: Memory, home: str, language: str) -> str:
    """Return a lesson as a reminder."""
    return words_of(language)["reminder"].format(text=line_of(memory, home, language, label=False)[2:])


def sources_of(memories: Sequence[Memory]) -> tuple[Ref, ...]:
    """Return every revision that some memories rest on."""
    return tuple(dict.fromkeys(s for m in memories for s in m.sources))


def is_long_term(memory: Memory) -> bool:
    """Return True for kinds that apply beyond their task, not only to it."""
    return memory.pinned or memory.kind in (
        MemoryKind.PREFERENCE,
        MemoryKind.FACT,
        MemoryKind.LESSON,
        MemoryKind.OUTCOME,
    )
