"""Convert rows of the log to messages of a prompt, with their tokens as shown; both are cached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from backscroll.assemble.view.excerpt import is_giant, shown_parts
from backscroll.engine.budget.counts import counts_for, kept_bytes
from backscroll.engine.budget.request import PromptRequest
from backscroll.engine.core.history import message_of
from backscroll.engine.core.lineage import View
from backscroll.engine.inputs.rows import Row, Telling
from backscroll.llm.tokens.overhead import message_tokens
from backscroll.record.content import decode
from backscroll.record.history import Entry
from backscroll.record.ports import RevisionBody
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope

_CONTENTS, _LARGE = 2000, 8192  # contents that are cached, and the maximum bytes of one
_LOGGED = 64  # replies whose log time is cached


def told_by(engine: EngineScope, ask: PromptRequest) -> Telling:
    """Return a function that converts rows to messages with their tokens; content parsed before is reused."""
    shelf = engine.memo.shelf("contents", _CONTENTS)

    def content(entry: Entry, spoken: RevisionBody) -> Content:
        found: Content | None = shelf.get(entry.revision)
        if found is None:
            assert spoken.body is not None
            found = decode(spoken.body)
            if len(spoken.body) <= _LARGE:
                shelf[entry.revision] = found
        return found

    def measure_messages(rows: Sequence[Row]) -> list[tuple[Message, int]]:
        messages = [message_of(entry, spoken, content(entry, spoken)) for entry, spoken in rows]
        sizes = shown_sizes(engine, messages, ask)
        return [(m, sizes[m.revision]) for m in messages]

    return measure_messages


def shown_sizes(engine: EngineScope, messages: Sequence[Message], ask: PromptRequest) -> dict[Ref, int]:
    """Return the tokens of messages as a prompt shows them in full: a giant result as an excerpt, the rest of it uncounted."""
    giants = [m for m in messages if is_giant(m, ask.shown)]
    named = {m.revision for m in giants}
    out = counts_for(engine, [m for m in messages if m.revision not in named], ask.tokenizer, ask.wire)
    shelf = engine.memo.shelf(f"excerpts:{ask.tokenizer.name}:{ask.wire}:{ask.shown}")
    for message in giants:
        known: int | None = shelf.get(message.revision)
        if known is None:
            known = shelf[message.revision] = message_tokens(
                shown_parts(message, ask.shown),
                message.role,
                ask.tokenizer,
                ask.wire,
                author=message.author,
                bytes_of=kept_bytes(engine),
            )
        out[message.revision] = known
    return out


def last_reply(engine: EngineScope, now: View, window: Sequence[Message]) -> str:
    """Return when the newest reply was logged; empty if the window has none.

    That was about the last time that the provider saw this conversation. The log knows it, whereas receipts, which are kept
    beside the log, are not part of a copy.
    """
    newest = next((m for m in reversed(window) if m.role == "assistant"), None)
    if newest is None:
        return ""
    shelf = engine.memo.shelf("logged", _LOGGED)
    known: str | None = shelf.get(newest.revision)
    if known is None:
        event = now.reader.event(newest.revision)
        known = shelf[newest.revision] = "" if event is None else event.at
    return known
