"""Vectors for the text of a thread, made off the hot path and stored per revision; an append never waits for them.

Owns which revisions are due: those added to the log since the last run. A revision keeps its vector for life, whether or
not it is live (an undo may restore it); what a search shows is decided by the history. Forgotten revisions have none. A
background worker calls this; recall catches up a bounded amount itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from backscroll.engine.search.recall_pool import encoder_for, spoken_text
from backscroll.errors import StoreError
from backscroll.record.content import decode
from backscroll.vocab.event import SPEAKING, Event
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope
    from backscroll.record.ports import Reader, Writer

_TOGETHER = 256  # events read and written at once
_LONGEST = 20_000  # characters of a text that its vector covers


def recipe_of(encoder: str) -> str:
    """Return the name under which the store keeps the progress of an encoder."""
    return f"vectors:{encoder}"


def embed_pending(engine: EngineScope, thread: str, limit: int = 1000) -> int:
    """Make the vectors that a thread's own log still lacks, for at most `limit` events; return how many events were processed."""
    encoder = encoder_for(engine)
    if encoder is None:
        return 0
    recipe = recipe_of(encoder.name)
    done = 0
    while done < limit:
        size = min(_TOGETHER, limit - done)

        def look(reader: Reader, size: int = size) -> list[Event]:
            return reader.events(thread, reader.progress(thread, recipe) + 1, limit=size)

        events = engine.store.read(look)
        if not events:
            break
        due = [(event.id, text) for event in events if (text := _text(event))]
        vectors = encoder.encode([text for _, text in due])
        rows = [
            (ref, row.astype("<f2").tobytes())
            for (ref, _), row in zip(due, vectors, strict=True)
            if row.any()
        ]
        last = events[-1].seq

        def keep(tx: Writer, rows: list[tuple[Ref, bytes]] = rows, last: int = last) -> None:
            # What was forgotten meanwhile gets no vector: text can be guessed from vectors.
            there = tx.read_spoken([ref for ref, _ in rows])
            tx.set_vectors(
                encoder.name, [row for row in rows if row[0] in there and there[row[0]].body is not None]
            )
            tx.set_progress(thread, recipe, max(last, tx.progress(thread, recipe)))

        engine.store.write(keep)
        done += len(events)
    return done


def embed_some(engine: EngineScope, threads: tuple[str, ...], limit: int = 256) -> int:
    """Catch up a little before a recall; best effort: a read-only store must not break recall."""
    done = 0
    for thread in threads:
        if done >= limit:
            break
        try:
            done += embed_pending(engine, thread, limit - done)
        except StoreError:
            return done
    return done


def _text(event: Event) -> str:
    """Return the text that an event added; empty if it added none, or it is forgotten."""
    if event.kind not in SPEAKING or event.body is None:
        return ""
    content = decode(event.body)
    message = Message(event.id, "user", event.id, content, event.at)
    return spoken_text(message)[:_LONGEST].strip()
