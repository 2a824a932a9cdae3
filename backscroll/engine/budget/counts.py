"""Token counts of messages: counted once, stored with each revision, cached in memory, corrected by vendors' reports.

Owns when counts are written: in batches, after the work, never within an append. A count that could not be written is
simply counted again. Vocabularies are in `llm/tokens/tokens`, overheads of wires in `llm/tokens/overhead`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from backscroll.errors import StoreError
from backscroll.llm.prices.families import plain_name
from backscroll.llm.tokens.calibration import Calibration, key_of, restore_calibration
from backscroll.llm.tokens.overhead import BytesOf, message_tokens
from backscroll.llm.tokens.tokens import Tokenizer, tokenizer_for
from backscroll.vocab.prompt import checked_wire

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope
    from backscroll.record.ports import Writer
    from backscroll.vocab.ids import Ref
    from backscroll.vocab.message import Message
    from backscroll.vocab.part import Media

#: Increase when the rules of `llm/tokens/overhead` change: old counts are then ignored.
_RULES = 2
_KEPT = 200_000  # counts in memory per store
_TOGETHER = 256  # counts that are written at once


class _Counts:
    """The counts that an engine caches, and those it has yet to write."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.known: dict[tuple[Ref, str], int] = {}
        self.due: dict[tuple[Ref, str], int] = {}


_remembered: WeakKeyDictionary[EngineScope, _Counts] = WeakKeyDictionary()
_making = threading.Lock()


def _counts(engine: EngineScope) -> _Counts:
    with _making:
        found = _remembered.get(engine)
        if found is None:
            found = _remembered[engine] = _Counts()
            engine.on_close(lambda: _at_close(engine))
        return found


def _at_close(engine: EngineScope) -> bool:
    flush_counts(engine)
    return True


def counts_for(
    engine: EngineScope, messages: Iterable[Message], tokenizer: Tokenizer, wire: str = "openai-chat"
) -> dict[Ref, int]:
    """Return the tokens of each message on a wire, by live revision (`message.revision`)."""
    key = f"{tokenizer.name}/{checked_wire(wire)}/{_RULES}"
    counts, given = _counts(engine), list(messages)
    out = {m.revision: n for m in given if (n := counts.known.get((m.revision, key))) is not None}
    missing = [m for m in given if m.revision not in out]
    if not missing:
        return out
    stored = engine.tokens([m.revision for m in missing], key)
    made: dict[Ref, int] = {}
    for message in missing:
        found = stored.get(message.revision)
        if found is None:
            found = made[message.revision] = _count(engine, message, tokenizer, wire)
        out[message.revision] = found
    with counts.lock:
        if len(counts.known) + len(missing) > _KEPT:
            counts.known.clear()  # what is needed again is in the store
        counts.known.update({(m.revision, key): out[m.revision] for m in missing})
        counts.due.update({(revision, key): n for revision, n in made.items()})
    return out


def _count(engine: EngineScope, message: Message, tokenizer: Tokenizer, wire: str) -> int:
    return message_tokens(
        message.parts, message.role, tokenizer, wire, author=message.author, bytes_of=kept_bytes(engine)
    )


def kept_bytes(engine: EngineScope) -> BytesOf:
    """Return a function that gives the bytes of attachments, including those in the store."""

    def bytes_of(media: Media) -> bytes | None:
        if media.data is not None or media.blob is None:
            return media.data
        return engine.blob(media.blob)

    return bytes_of


def flush_if_many(engine: EngineScope) -> None:
    """Write the counts that are only in memory, once there are enough of them.

    Not during a read: a write inside a read takes a second connection while it holds the first.
    """
    counts = _counts(engine)
    with counts.lock:
        many = len(counts.due) >= _TOGETHER
    if many:
        flush_counts(engine)


def flush_counts(engine: EngineScope) -> int:
    """Write the counts that are only in memory; return how many."""
    counts = _counts(engine)
    with counts.lock:
        due, counts.due = counts.due, {}
    if not due:
        return 0

    def work(tx: Writer) -> int:
        # What was forgotten meanwhile gets no count: not even its length is kept.
        there = tx.read_spoken(list({revision for revision, _ in due}))
        rows = [
            (revision, key, n)
            for (revision, key), n in due.items()
            if revision in there and there[revision].body is not None
        ]
        tx.set_tokens(rows)
        return len(rows)

    try:
        return engine.store.write(work)
    except StoreError:
        return (
            0  # full, read-only or busy: they can be counted again, and the caller did not ask for this write
        )


# -- correcting estimates ----------------------------------------------------------------------------------------


def calibration_of(engine: EngineScope, model: str) -> Calibration:
    """Return how far our counts for a model have differed from its vendor's reports."""
    key = key_of(plain_name(model))
    return restore_calibration(engine.store.read(lambda reader: reader.meta(key)))


def corrections_of(engine: EngineScope, models: Iterable[str]) -> dict[str, Calibration]:
    """Return the corrections learned for models whose tokens are estimated."""
    guessed = [name for name in models if name.strip() and not tokenizer_for(name).exact]
    found = {name: calibration_of(engine, name) for name in guessed}
    return {name: calibration for name, calibration in found.items() if calibration.calls}


def correction(engine: EngineScope, model: str) -> float:
    """Return the factor for counts of this model: 1 for an exact tokenizer, or without reports."""
    if not model.strip() or tokenizer_for(model).exact:
        return 1.0
    return calibration_of(engine, model).ratio


def usable(engine: EngineScope, model: str, budget: int) -> int:
    """Return a budget of the vendor's tokens in tokens by our count."""
    return int(budget / correction(engine, model))
