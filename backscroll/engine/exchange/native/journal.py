"""The journal in native files: models' answers, one line each, after all logs, so that they are not paid for again.

Owns the shape of such a line and reading it back. A reply is imported if its thread and all of its sources are here with
their text; if the file's part became a fork, its sources get the fork's ids. A program that does not know the journal skips
these lines and reports it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from backscroll.engine.exchange.reports import ImportReport
from backscroll.formats.sources.json_text import dumps
from backscroll.record.derived import RecipeReply
from backscroll.record.ports import Writer
from backscroll.vocab.foreign import Problem
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.part import Json
from backscroll.vocab.values.fields import (
    Check,
    is_name,
    is_position,
    is_ref,
    is_text,
    is_thread,
    is_time,
    make_list_check,
    wrong_field,
)

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope

_REPLY: Mapping[str, Check] = {
    "reply": is_position,
    "recipe": is_name,
    "for": is_thread,
    "model": lambda value: value == "" or is_name(value),
    "sources": make_list_check(is_ref),
    "at": is_time,
}
#: Where a thread of a file went: its fork, and the first event that the fork rebuilt.
Moved = Mapping[str, tuple[str, int]]


def reply_lines(engine: EngineScope, threads: Sequence[str]) -> Iterator[str]:
    """Yield a line for every reply stored for these threads."""
    for thread in threads:
        for reply in engine.store.read(lambda reader, t=thread: reader.replies(t)):
            yield reply_line(reply)


def reply_line(reply: RecipeReply) -> str:
    """Return the line of one reply."""
    data: dict[str, Json] = {
        "reply": reply.key.hex(),
        "recipe": reply.recipe,
        "for": reply.thread,
        "model": reply.model,
        "sources": [str(source) for source in reply.sources],
        "at": reply.at,
    }
    value = _plain(reply.body)
    return dumps({**data, **({"body64": _encode_body(reply.body)} if value is None else {"body": value})})


def reply_from(data: Mapping[str, Json]) -> RecipeReply:
    """Return the reply that `reply_line` wrote; raises ValueError where the line is damaged."""
    wrong = wrong_field(data, _REPLY, {"body64": is_text})
    if wrong is None and ("body" in data) == ("body64" in data):
        wrong = "body"
    if wrong is not None:
        raise ValueError(f"the field {wrong} is missing or not valid")
    try:
        body = base64.b64decode(data["body64"], validate=True) if "body64" in data else _bytes(data["body"])
    except RecursionError as error:
        raise ValueError("its body is nested too deeply") from error
    sources = tuple(parse_ref(source) for source in data["sources"])
    key = bytes.fromhex(data["reply"])
    return RecipeReply(key, data["recipe"], data["for"], data["model"], body, sources, data["at"])


def take_reply(
    engine: EngineScope, row: Mapping[str, Json], moved: Moved, report: ImportReport, line: int
) -> None:
    """Store a reply from a file, or report why not. A damaged line was reported by the survey."""
    try:
        reply = reply_from(row)
    except ValueError:
        return  # already reported by the survey
    thread = moved[reply.thread][0] if reply.thread in moved else reply.thread
    sources = tuple(_rename_ref(source, moved) for source in reply.sources)
    kept = RecipeReply(reply.key, reply.recipe, thread, reply.model, reply.body, sources, reply.at)

    def work(tx: Writer) -> bool:
        there = tx.read_spoken(sources)
        sound = all(source in there and there[source].body is not None for source in sources)
        if sound and tx.thread(thread) is not None:
            tx.keep_reply(kept)
            return True
        return False

    if not engine.store.write(work):
        what = "a reply of a model was left out: what it was made of is not here, or was forgotten"
        report.problems.append(Problem(what, line))


def _rename_ref(ref: Ref, moved: Moved) -> Ref:
    """Return the id of an event in a fork that rebuilt it: one higher, because a fork's first event is its own."""
    name, first = moved.get(ref.thread, ("", 0))
    return Ref(name, ref.seq + 1) if name and ref.seq >= first else ref


def _plain(body: bytes) -> Json:
    """Return the body as a JSON value if reading and writing it again gives the same bytes; else None."""
    try:
        value = json.loads(body.decode("utf-8"))
        return value if value is not None and _bytes(value) == body else None
    except (ValueError, RecursionError):
        return None


def _bytes(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def _encode_body(body: bytes) -> str:
    return base64.b64encode(body).decode("ascii")
