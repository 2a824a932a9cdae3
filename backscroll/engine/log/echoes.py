"""Echoes: find the text of a forgotten message outside of it.

An import takes the title of a thread from its first message, some tools write every message twice (as a message and in a
line about it), and a summary may quote. A user who forgets a message wants those gone too. Searches titles, metadata,
asides, code changes, crops, compactions, task steps and memories of the threads that showed the message; other messages,
overrides and world descriptions are left alone, because the user wrote them on purpose; only a pinned value goes with the
last message that states it (`engine/log/erasure`), and an override of a node with the last message that contains its name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from backscroll.engine.core.clock import ClockAndIds
from backscroll.engine.core.pen import Pen
from backscroll.errors import InvalidInput
from backscroll.record.chain import words_from_bytes
from backscroll.record.content import decode
from backscroll.record.ports import SearchFilter, Writer
from backscroll.record.thread_info import TELLING, ThreadDescription
from backscroll.vocab.event import SPEAKING, Event, Kind
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json, Opaque, Reasoning, Text, ToolCall, ToolResult
from backscroll.vocab.values.unicode import valid_text

_BESIDE = frozenset(
    {Kind.ASIDE, Kind.CODE_CHANGED, Kind.CROPPED, Kind.COMPACTED, Kind.PLACED, Kind.TASKED, Kind.REMEMBERED}
)
#: Shorter texts occur everywhere by chance; a Chinese character carries about as much as three letters.
_ENOUGH = 12


def words_of(events: Iterable[Event]) -> list[str]:
    """Return every text in these events, part by part."""
    out: list[str] = []
    for event in events:
        if event.kind not in SPEAKING or event.body is None:
            continue
        for part in decode(event.body).parts:
            if isinstance(part, Text | Reasoning):
                out.append(part.text)
            elif isinstance(part, ToolResult):
                out += [p.text for p in part.content if isinstance(p, Text)]
            elif isinstance(part, ToolCall):
                out += _leaves(part.arguments)
            elif isinstance(part, Opaque):
                out += _leaves(part.raw)
    return [folded for text in out if (folded := _fold_whitespace(text))]


def beside(tx: Writer, threads: Sequence[str], words: Sequence[str]) -> list[Event]:
    """Return the asides, code changes and summaries of these threads that repeat the text."""
    long = [text for text in words if _weight(text) >= _ENOUGH]
    return [
        event
        for thread in threads
        for event in (tx.events(thread) if long else ())
        if event.kind in _BESIDE and event.body is not None and _repeats(words_from_bytes(event.body), long)
    ]


def erase_from_titles(
    tx: Writer, means: ClockAndIds, threads: Sequence[str], words: Sequence[str], actor: str
) -> Iterator[Event]:
    """Remove the text from titles and metadata of threads; return the events that contained it."""
    for thread in threads:
        pen = Pen(tx, thread, means, actor)
        said = [e for e in tx.events(thread) if e.body is not None and e.kind in TELLING]
        left = _without(pen.state.about, words)
        if left == pen.state.about and not any(
            _repeats(words_from_bytes(e.body or b"{}"), words) for e in said
        ):
            continue
        pen.write(Kind.FORGOTTEN, head={"messages": []}, body={"about": left.to_json()})
        pen.save()
        yield from said


def naming(
    tx: Writer,
    threads: Sequence[str],
    words: Sequence[str],
    gone: Collection[Ref],
    dialect: str,
    heard: Sequence[str] = (),
) -> list[Event]:
    """Return the overrides of a node whose name only this text contains, so that the name repeats it.

    A name that the user chose is kept. `heard` are other threads in which the name may occur.
    """
    from backscroll.recall.question.query import parse_query  # start-up: a store opens without it

    acts = [e for thread in threads for e in tx.others(thread) if e.kind is Kind.OVERRIDDEN and e.body]
    said = " ".join(words).casefold()
    bodies = [(event, cast("Mapping[str, Json]", words_from_bytes(event.body or b"{}"))) for event in acts]
    own = {str(body.get("node")) for _, body in bodies if body.get("change") == "add"}
    known: dict[str, bool] = {}

    def left_without(name: str) -> bool:
        if name not in known:
            try:
                query = parse_query(f'"{name.replace(chr(34), " ")}"')
            except InvalidInput:
                known[name] = False
                return False
            expression = query.to_fts5() if dialect == "fts5" else query.to_tsquery()
            hits = tx.search(expression, SearchFilter((*threads, *heard)), len(gone) + 1)
            known[name] = all(hit.message in gone for hit in hits)
        return known[name]

    out: list[Event] = []
    for event, body in bodies:
        names = {str(body.get(key) or "") for key in ("node", "object")} - own - {""}
        if any(name.casefold() in said and left_without(name) for name in names):
            out.append(event)
    return out


def tag(salt: bytes, body: bytes) -> str:
    """Return a tag by which an import recognises an erased line; a whole line is too long to be guessed."""
    return hashlib.sha256(salt + hashlib.sha256(body).digest()).hexdigest()[:16]


def _without(about: ThreadDescription, words: Sequence[str]) -> ThreadDescription:
    return replace(
        about,
        title="" if _is_title_of(about.title, words) else about.title,
        metadata={k: v for k, v in about.metadata.items() if k == "origin" or not _repeats(v, words)},
    )


def _is_title_of(title: str, words: Sequence[str]) -> bool:
    """Return whether a title is the beginning of a text, shortened or not, or contains all of it."""
    short = _fold_whitespace(title).rstrip("… .")
    if not short:
        return False
    return any(text.startswith(short) or (_weight(text) >= _ENOUGH and text in short) for text in words)


def _repeats(value: Json, words: Sequence[str]) -> bool:
    for leaf in map(_fold_whitespace, _leaves(value)):
        whole = leaf.rstrip("… ")
        for text in words:
            if _weight(text) >= _ENOUGH and text in leaf:
                return True
            if _weight(whole) >= _ENOUGH and whole in text:
                return True
    return False


def _leaves(value: Json) -> list[str]:
    """Return every text inside a JSON value; text that is itself JSON is opened."""
    if isinstance(value, dict):
        return [leaf for inner in cast("dict[str, Json]", value).values() for leaf in _leaves(inner)]
    if isinstance(value, list | tuple):
        return [leaf for inner in cast("list[Json]", value) for leaf in _leaves(inner)]
    if not isinstance(value, str):
        return []
    if value[:1] in ("{", "["):
        try:
            return _leaves(json.loads(value))
        except (ValueError, RecursionError):
            return [value]
    return [value]


def _fold_whitespace(text: str) -> str:
    return " ".join(valid_text(text).split())


def _weight(text: str) -> int:
    return sum(3 if ord(character) > 0x2E7F else 1 for character in text[: _ENOUGH + 1])
