"""Dead sources: revisions quoted in a compaction that may no longer be shown.

A message was deleted, hidden, edited or cropped since, or a fork does not share it: what a compaction says about it is
neither shown nor carried over. Only a rare event changes that, so it is checked once after each: an index of what was read
names many messages.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from backscroll.engine.core.lineage import View
from backscroll.engine.crops.crops import summarised_again
from backscroll.engine.inputs.inputs import PromptInputs, stand_in
from backscroll.record.history import HIDDEN
from backscroll.vocab.ids import Ref

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope

_KNOWN = 64  # results in memory: for each thread the newest is asked for


def dead_sources(
    thread: ThreadScope, sheet: PromptInputs, sources: Collection[Ref], view: View, *, now: bool
) -> frozenset[Ref]:
    """Return the sources that may no longer be shown; `now`: the sheet is the current one."""
    written = sheet.compaction
    shelf = thread.engine.memo.shelf("dead-sources", _KNOWN)
    key = (thread.id, None if written is None else written.id, sheet.standing.rare)
    found: frozenset[Ref] | None = shelf.get(key) if now else None
    if found is None:
        found, sure = look_at_sources(thread, sheet, sources, view)
        if now and sure:
            shelf[key] = found
    return found


def look_at_sources(
    thread: ThreadScope, sheet: PromptInputs, sources: Collection[Ref], view: View
) -> tuple[frozenset[Ref], bool]:
    """Return the same from the store, and whether it holds until the next rare event."""
    crops, written = sheet.crops, sheet.compaction
    # A fork shares what its parent recorded, but not all of the messages it mentions.
    inherited = written is not None and written.id.thread != thread.id
    out: set[Ref] = set()
    sure = True
    for source in set(sources):
        event = view.reader.event(source)
        message = None if event is None else event.message
        if message is None:
            sure = False
            if not _is_worded(thread, sheet, source, view):
                out.add(source)
        elif inherited or message in sheet.touched:
            entry = view.entry(message)
            if entry is None or not entry.live or entry.flags & HIDDEN or entry.revision != source:
                out.add(source)
        if message is not None and any(crop.holds(message) for crop in crops):
            out.add(source)
    return frozenset(out), sure


def _is_worded(thread: ThreadScope, sheet: PromptInputs, source: Ref, view: View) -> bool:
    """Return True for the summary of a crop that is unchanged: notes may rest on it."""
    again = summarised_again(thread)
    crops = (crop for crop in sheet.crops if crop.event.seq == source.seq)
    return any(stand_in(view, crop, again).revision == source for crop in crops)
