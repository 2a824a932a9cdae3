"""Memories as text and as JSON: shared by the commands about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from backscroll.surfaces.i18n import t
from backscroll.surfaces.i18n.translation import say
from backscroll.surfaces.screen.cells import wrap
from backscroll.surfaces.screen.plain import one_line, safe
from backscroll.surfaces.screen.table import Column, table
from backscroll.surfaces.screen.times import format_time

if TYPE_CHECKING:
    from backscroll.surfaces.screen.screen import Screen
    from backscroll.vocab.part import Json
    from backscroll.vocab.task import Memory


def of_memory(memory: Memory) -> dict[str, Json]:
    """Return a memory as JSON."""
    return {
        "id": memory.id,
        "kind": memory.kind.value,
        "text": memory.text,
        "thread": memory.thread,
        "task": memory.task or None,
        "sources": [str(source) for source in memory.sources],
        "at": memory.at,
        "confidence": memory.confidence,
        "weight": memory.weight,
        "uses": memory.uses,
        "pinned": memory.pinned,
        "by": memory.by,
        "note": memory.note or None,
    }


def listing(screen: Screen, memories: Sequence[Memory]) -> Iterator[str]:
    """Yield a table of memories."""
    columns = [
        Column(t("memory.id"), style="dim"),
        Column(t("memory.kind")),
        Column(t("memory.weight"), right=True, style="dim"),
        Column(t("memory.text"), shrinks=True),
    ]
    rows = [
        (m.id, t(f"memory_kinds.{m.kind.value}"), _weight(m), one_line(_render_text(m))) for m in memories
    ]
    yield from table(screen, columns, rows)


def _weight(memory: Memory) -> str:
    return t("memory.pinned") if memory.pinned else f"{memory.weight * memory.confidence:.2f}"


def _render_text(memory: Memory) -> str:
    return memory.text or f"({say(memory.note)})"


def page_of(screen: Screen, memory: Memory) -> Iterator[str]:
    """Yield the details of a memory."""
    head = f"{memory.id}  {t(f'memory_kinds.{memory.kind.value}')}"
    yield screen.style(head, "strong")
    for line in safe(memory.text).splitlines():
        yield from (f"  {part}" for part in wrap(line, screen.room(2)) or [""])
    if memory.note:
        yield screen.style(f"  {say(memory.note)}", "warn")
    facts = [
        t("memory.by", who=t(f"memory_makers.{memory.by}")),
        *([t("memory.of_task", task=memory.task, thread=memory.thread[:8])] if memory.task else []),
        t("memory.said_at", at=format_time(memory.at)) if memory.at else "",
        t("memory.sure", confidence=f"{memory.confidence:.2f}", weight=f"{memory.weight:.2f}"),
        t("memory.used", n=memory.uses) if memory.uses else "",
        t("memory.is_pinned") if memory.pinned else "",
    ]
    yield screen.style(f"  {' · '.join(fact for fact in facts if fact)}", "dim")


def report_memory(screen: Screen, memory: Memory, text: str) -> None:
    """Report a memory that was changed."""
    if screen.as_json:
        screen.json(of_memory(memory))
    else:
        screen.line(text)
