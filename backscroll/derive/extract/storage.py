"""The stored form of a turn's assertions, which refer to messages by their place in the turn, not by revision.

So the artefacts of equal turns have the same bytes: forks, undo and a restored text share them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from backscroll.formats.sources.json_text import dumps
from backscroll.record.chain import DAMAGE, make_corrupt_error, words_from_bytes
from backscroll.vocab.assertion import Assertion, assertion_from_json
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import Json


def to_body(assertions: Iterable[Assertion], messages: Sequence[Message]) -> bytes:
    """Return the stored form for a turn that consists of these messages."""
    return dumps(rows_of(assertions, messages)).encode("utf-8", "surrogatepass")


def from_body(body: bytes, revisions: Sequence[Ref]) -> tuple[Assertion, ...]:
    """Return the assertions of a turn whose messages are in these revisions, in stored order."""
    return from_rows(cast("list[Mapping[str, Json]]", words_from_bytes(body)), revisions)


def rows_of(assertions: Iterable[Assertion], messages: Sequence[Message]) -> list[dict[str, Json]]:
    """Return one row for each assertion; `at` is the place of its message in the turn."""
    places = {m.revision: n for n, m in enumerate(messages)}
    out: list[dict[str, Json]] = []
    for assertion in assertions:
        row = replace(assertion, source=None).to_json()
        at = None if assertion.source is None else places.get(assertion.source)
        if at is not None:
            row["at"] = at
        out.append(row)
    return out


def from_rows(rows: Iterable[Mapping[str, Json]], revisions: Sequence[Ref]) -> tuple[Assertion, ...]:
    """Return the assertions of stored rows, with the names of the revisions filled in."""
    try:
        return tuple(_restore_claim(row, revisions) for row in rows)
    except DAMAGE as error:
        raise make_corrupt_error("the assertions of a turn", error) from error


def _restore_claim(row: Mapping[str, Json], revisions: Sequence[Ref]) -> Assertion:
    at = row.get("at")
    home = revisions[at] if isinstance(at, int) and 0 <= at < len(revisions) else None
    made = assertion_from_json(row, home)
    return made if home is None or made.source is home else replace(made, source=home)
