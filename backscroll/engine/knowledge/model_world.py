"""The world description as a model reads it with a turn, and what the model inferred from it, as world entries.

Owns which entries belong to a turn: those whose names or keys it mentions, those that apply to everything, then others as
far as there is room. What a model inferred counts only while the text it quoted is in the description, and ranks below what
the description states.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from backscroll.derive.models.turn import ImpliedAttribute
from backscroll.engine.core.lineage import View
from backscroll.engine.knowledge.graph_acts import world_in
from backscroll.graph.view import WorldEntry
from backscroll.vocab.event import Kind
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope

_ROOM = 12_000  # characters of descriptions that go with a turn; the plan counts tokens


def world_text(engine: EngineScope, thread: str, messages: Sequence[Message]) -> str:
    """Return the world description for a turn; empty if there is none, or if the settings disable it."""
    settings = engine.settings
    if not (settings.node_creation_use_world_context and settings.node_creation_auto_infer_attributes):
        return ""

    def read_entries(view: View) -> list[WorldEntry]:
        events = view.others()
        return world_in(events) if any(event.kind is Kind.WORLD_TOLD for event in events) else []

    entries = [
        entry for entry in engine.thread(thread).reading(read_entries) if entry.enabled and entry.text.strip()
    ]
    said = "\n".join(message.text for message in messages).casefold()
    out, room = list[str](), _ROOM
    for entry in sorted(entries, key=lambda entry: (not _is_mentioned(entry, said), not entry.constant)):
        text = _render_entry(entry)
        if len(text) <= room:
            out.append(text)
            room -= len(text)
    return "\n\n".join(out)


def _render_entry(entry: WorldEntry) -> str:
    return f"{entry.name}: {entry.text.strip()}" if entry.name else entry.text.strip()


def _is_mentioned(entry: WorldEntry, said: str) -> bool:
    return any(name and name.casefold() in said for name in (*entry.keys, *entry.names))


def implied_entries(
    turns: Mapping[Ref, Iterable[ImpliedAttribute]], world: Sequence[WorldEntry]
) -> list[WorldEntry]:
    """Return what models inferred in some turns, as world entries; the newest turn first."""
    out: list[WorldEntry] = []
    for opening in sorted(turns, reverse=True):
        for one in turns[opening]:
            source = next(
                (entry for entry in world if entry.enabled and one.because in _render_entry(entry)), None
            )
            if source is not None:
                out.append(
                    WorldEntry(
                        source.name,
                        (one.subject,),
                        one.because,
                        attributes=((one.predicate, one.value),),
                        source=source.source,
                        names=(one.subject,),
                    )
                )
    return out
