"""Fold the events of crops and compactions into those in effect.

Holds no text: summaries and levels are in the bodies of the events it names. Undo and redo are followed by their targets
(`of`), so this fold needs only the thread's rare events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from backscroll.vocab.event import Event, Kind

_KINDS = frozenset({Kind.CROPPED, Kind.UNCROPPED, Kind.COMPACTED})


def _none() -> Mapping[int, tuple[Kind, tuple[int, ...]]]:
    return {}


@dataclass(frozen=True, slots=True)
class CropState:
    """Crops and compaction in effect after the events seen so far."""

    seen: int = 0  # number of the last event examined
    rare: int = 0  # number of the last event that was folded
    crops: tuple[int, ...] = ()  # events, oldest first
    compactions: tuple[int, ...] = ()  # all that were not reverted; the last one is in effect
    acts: Mapping[int, tuple[Kind, tuple[int, ...]]] = field(
        default_factory=_none
    )  # events that an undo may name

    @property
    def compaction(self) -> int | None:
        """The event of the compaction in effect."""
        return self.compactions[-1] if self.compactions else None


def fold_standing(events: Iterable[Event], start: CropState | None = None) -> CropState:
    """Return what is in effect after more events; other kinds may be left out."""
    now = start or CropState()
    for event in events:
        now = _after(now, event)
    return now


def _after(now: CropState, event: Event) -> CropState:
    now = replace(now, seen=max(now.seen, event.seq), rare=event.seq)
    kind = event.kind
    if kind in _KINDS:
        names = tuple(event.head.get("of", ())) if kind is Kind.UNCROPPED else (event.seq,)
        now = replace(now, acts={**now.acts, event.seq: (kind, names)})
        return _apply_act(now, kind, names)
    if kind in (Kind.UNDONE, Kind.REDONE):
        names = tuple(n for n in event.head.get("of", ()) if n in now.acts)
        if names:
            now = replace(now, acts={**now.acts, event.seq: (kind, names)})
        for name in names:
            now = _apply_redo(now, name) if kind is Kind.REDONE else _taken_back(now, *now.acts[name])
    return now


def _apply_redo(now: CropState, undo: int) -> CropState:
    """Redo what an undo reverted; a redo names the undo."""
    for name in now.acts[undo][1]:
        now = _apply_act(now, *now.acts[name])
    return now


def _apply_act(now: CropState, kind: Kind, names: tuple[int, ...]) -> CropState:
    if kind is Kind.CROPPED:
        return replace(now, crops=tuple(sorted({*now.crops, *names})))
    if kind is Kind.UNCROPPED:
        return replace(now, crops=tuple(c for c in now.crops if c not in names))
    if kind is Kind.COMPACTED:
        return replace(now, compactions=tuple(sorted({*now.compactions, *names})))
    return now


def _taken_back(now: CropState, kind: Kind, names: tuple[int, ...]) -> CropState:
    if kind is Kind.CROPPED:
        return replace(now, crops=tuple(c for c in now.crops if c not in names))
    if kind is Kind.UNCROPPED:
        return replace(now, crops=tuple(sorted({*now.crops, *names})))
    if kind is Kind.COMPACTED:
        return replace(now, compactions=tuple(c for c in now.compactions if c not in names))
    return now
