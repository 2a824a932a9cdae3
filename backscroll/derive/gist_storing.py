"""The stored shape of gists and summaries: JSON, short names, because there are as many as turns.

Owns both directions, and an error that says so where a stored artefact is damaged. Before: `derive/summary`. After:
`engine/tree`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from backscroll.derive.essentials import from_json, to_json
from backscroll.derive.gist import Gist, Line
from backscroll.derive.summary import Summary
from backscroll.formats.json_text import dumps
from backscroll.record.chain import DAMAGE, damaged, from_bytes
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.part import Json


def stored(made: Gist) -> bytes:
    """The bytes of a gist or a summary."""
    data: dict[str, Json] = {
        "text": made.text,
        "sources": [str(s) for s in made.sources],
        "lines": [[x.text, str(x.source), str(x.message), x.role, x.label, x.score] for x in made.lines],
        "found": to_json(made.findings),
        "first": None if made.first is None else str(made.first),
        "last": None if made.last is None else str(made.last),
        "messages": made.messages,
        "turns": made.turns,
    }
    if isinstance(made, Summary):
        data["level"] = made.level
    return dumps(data).encode()


def restored(body: bytes) -> Gist:
    """What `stored` wrote."""
    data = cast("Mapping[str, Json]", from_bytes(body))
    try:
        found = from_json(data["found"])
        rows = cast("list[list[Json]]", data["lines"])
        lines = tuple(
            Line(text, parse_ref(source), parse_ref(message), role, label, score)
            for text, source, message, role, label, score in rows
        )
        sources = tuple(parse_ref(s) for s in data["sources"])
        rest = (
            found.closes,
            found.more,
            _ref(data["first"]),
            _ref(data["last"]),
            data["messages"],
            data["turns"],
        )
        if "level" in data:
            return Summary(data["text"], sources, found.open, lines, *rest, data["level"])
        return Gist(data["text"], sources, found.open, lines, *rest)
    except DAMAGE as error:
        raise damaged("a stored summary", error) from error


def _ref(name: str | None) -> Ref | None:
    return None if name is None else parse_ref(name)
