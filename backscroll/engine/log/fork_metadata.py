"""Erase the title, tags and metadata that forks copied from a thread that is being forgotten.

A fork starts with a copy of them, and they may return to its log whenever a change is undone. So a fork that ever had the
forgotten text starts over: its current description, without that text, is written once, and all earlier descriptions are
erased. Project, kind and language are kept, because many threads are grouped by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from backscroll.engine.core.clock import ClockAndIds
from backscroll.engine.core.lineage import ancestors
from backscroll.engine.core.pen import Pen
from backscroll.record.chain import to_bytes
from backscroll.record.ports import ThreadState, Writer
from backscroll.record.thread_info import TELLING, ThreadDescription, after
from backscroll.vocab.event import Event, Kind


def disown(
    tx: Writer, means: ClockAndIds, thread: str, family: Sequence[ThreadState], actor: str
) -> Iterator[Event]:
    """Reset every fork that has text of a thread in its description; return the events to be erased."""
    words = _words_of(tx.events(thread))
    for kin in family:
        if not any(parent.id == thread for _, parent in ancestors(tx, kin)):
            continue
        said = [e for e in tx.events(kin.id) if e.body is not None and e.kind in TELLING]
        if words.isdisjoint(_words_of(said)):
            continue
        pen = Pen(tx, kin.id, means, actor)
        left = _without(pen.state.about, words)
        pen.write(Kind.FORGOTTEN, head={"messages": []}, body={"about": left.to_json()})
        pen.save()
        yield from said


def _words_of(events: Iterable[Event]) -> set[tuple[str, bytes]]:
    """Return every title, tag and metadata value that these events ever gave a thread."""
    out: set[tuple[str, bytes]] = set()
    about = ThreadDescription()
    for event in events:
        about = after(about, event)
        out |= {("title", to_bytes(about.title))} if about.title else set()
        out |= {("tag", to_bytes(tag)) for tag in about.tags}
        out |= {("metadata", to_bytes(about.metadata))} if about.metadata else set()
    return out


def _without(about: ThreadDescription, words: set[tuple[str, bytes]]) -> ThreadDescription:
    return replace(
        about,
        title="" if ("title", to_bytes(about.title)) in words else about.title,
        tags=tuple(tag for tag in about.tags if ("tag", to_bytes(tag)) not in words),
        metadata={} if ("metadata", to_bytes(about.metadata)) in words else about.metadata,
    )
