"""The stored form of gists and summaries: JSON with short names, because there are as many as turns.

Owns encoding and decoding, and a clear error for a damaged artefact.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from backscroll.derive.essence.essentials import from_json, to_json
from backscroll.derive.summaries.gist import Gist, GistLine
from backscroll.derive.summaries.summary import Summary
from backscroll.formats.sources.json_text import dumps
from backscroll.record.chain import DAMAGE, make_corrupt_error, words_from_bytes
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json


class _IdTable:
    """Ids by number: the 32 digits of a thread are written once."""

    def __init__(self, threads: list[str]) -> None:
        self.threads = threads
        self._numbers = {name: number for number, name in enumerate(threads)}

    def pack_ref(self, ref: Ref) -> Json:
        number = self._numbers.setdefault(ref.thread, len(self._numbers))
        if number == len(self.threads):
            self.threads.append(ref.thread)
        return ref.seq if number == 0 else [number, ref.seq]

    def unpack_ref(self, name: Json) -> Ref:
        if isinstance(name, int):
            return Ref(self.threads[0], name)
        number, seq = cast("list[int]", name)
        return Ref(self.threads[number], seq)


def encode_gist(made: Gist) -> bytes:
    """Return the bytes of a gist or a summary."""
    names = _IdTable([])
    ref = names.pack_ref
    data: dict[str, Json] = {
        "text": made.text,
        "sources": [ref(s) for s in made.sources],
        "lines": [[x.text, ref(x.source), ref(x.message), x.role, x.label, x.score] for x in made.lines],
        "found": to_json(made.findings, ref),
        "first": None if made.first is None else ref(made.first),
        "last": None if made.last is None else ref(made.last),
        "messages": made.messages,
        "turns": made.turns,
        "threads": names.threads,
    }
    if isinstance(made, Summary):
        data["level"] = made.level
    return dumps(data).encode()


def decode_gist(body: bytes) -> Gist:
    """Read what `encode_gist` wrote."""
    data = cast("Mapping[str, Json]", words_from_bytes(body))
    try:
        ref = _IdTable(list(data["threads"])).unpack_ref
        found = from_json(data["found"], ref)
        rows = cast("list[list[Json]]", data["lines"])
        lines = tuple(
            GistLine(text, ref(source), ref(message), role, label, score)
            for text, source, message, role, label, score in rows
        )
        sources = tuple(ref(s) for s in data["sources"])
        first, last = (None if data[k] is None else ref(data[k]) for k in ("first", "last"))
        rest = (found.closes, found.more, first, last, data["messages"], data["turns"])
        if "level" in data:
            return Summary(data["text"], sources, found.open, lines, *rest, data["level"])
        return Gist(data["text"], sources, found.open, lines, *rest)
    except DAMAGE as error:
        raise make_corrupt_error("a stored summary", error) from error
