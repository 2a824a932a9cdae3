"""Backscroll's native file format: the log itself, one JSON object per line, without any loss.

The first line identifies the file. Then come threads (parents before forks), the bytes that their messages refer to, and
their events as sealed and linked. A body that plain UTF-8 cannot hold is stored as base64. The engine checks every seal and
every link before it accepts a line. Every field is checked here as untrusted input.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from backscroll.errors import BackscrollError, FormatError
from backscroll.formats.shape import Format, Source
from backscroll.formats.sources.json_text import dumps
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.foreign import ForeignThread
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.part import Json
from backscroll.vocab.values.fields import (
    Check,
    is_count,
    is_digest,
    is_place,
    is_ref,
    is_salt,
    is_seq,
    is_text,
    is_thread,
    is_time,
    wrong_field,
)

VERSION = 1
#: The kinds of lines, by the field that only such lines have.
LINES = ("thread", "event", "blob", "reply", "lesson")


@dataclass(frozen=True, slots=True)
class ThreadLine:
    """The line that describes a thread in a file."""

    id: str
    root: str
    created_at: str
    head: int
    hash: bytes
    parent: str | None = None
    fork_seq: int = 0
    fork_position: bytes | None = None
    fork_message: Ref | None = None


def _is_seal(value: Json) -> bool:
    return value == "" or is_digest(value)


_THREAD: Mapping[str, Check] = {
    "thread": is_thread,
    "root": is_thread,
    "created_at": is_time,
    "head": is_seq,
    "hash": is_digest,
}
_FORK: Mapping[str, Check] = {"parent": is_thread, "fork_seq": is_seq}
_AT: Mapping[str, Check] = {"fork_position": is_place, "fork_message": is_ref}
_EVENT: Mapping[str, Check] = {
    "event": is_ref,
    "kind": is_text,
    "actor": is_text,
    "at": is_text,
    "head": lambda value: isinstance(value, dict),
    "seal": _is_seal,
    "hash": is_digest,
}


def header(kind: str, exported_at: str, threads: int) -> str:
    """Return the first line."""
    return dumps({"backscroll": VERSION, "kind": kind, "exported_at": exported_at, "threads": threads})


def checked_header(data: Mapping[str, Json]) -> str | None:
    """Reject a file that is not ours or is too new; return any other problem of the first line."""
    version: Json = data.get("backscroll", 0)
    if not is_count(version) or version < 1:
        raise FormatError(
            f"not a native Backscroll file: its version is {version!r}",
            hint="its first line must hold the key `backscroll` with a number",
        )
    if version > VERSION:
        raise FormatError(
            f"the file has version {version}, this program knows up to {VERSION}", hint="update Backscroll"
        )
    fields: Mapping[str, Check] = {
        "kind": lambda value: value in ("store", "thread"),
        "exported_at": is_time,
        "threads": is_count,
    }
    wrong = wrong_field(data, fields, {})
    return None if wrong is None else f"the field {wrong} of the first line is missing or not valid"


def thread_from(data: Mapping[str, Json]) -> ThreadLine:
    """Return the line about a thread; raises ValueError with the name of the invalid field."""
    forked = any(data.get(name) is not None for name in ("parent", *_AT))
    wrong = wrong_field(data, {**_THREAD, **(_FORK if forked else {})}, _AT)
    if wrong is None and not forked and data.get("fork_seq", 0) != 0:
        wrong = "fork_seq"
    if wrong is None and type(data.get("fork_seq", 0)) is not int:
        wrong = "fork_seq"
    if wrong is None and not forked and data["root"] != data["thread"]:
        wrong = "root"
    if wrong is None and (data.get("parent") == data["thread"] or data["head"] <= data.get("fork_seq", 0)):
        wrong = "parent" if data.get("parent") == data["thread"] else "head"
    if wrong is not None:
        raise ValueError(f"the field {wrong} is missing or not valid: {_show_value(data.get(wrong))}")
    position, message = data.get("fork_position"), data.get("fork_message")
    return ThreadLine(
        data["thread"],
        data["root"],
        data["created_at"],
        data["head"],
        bytes.fromhex(data["hash"]),
        data.get("parent"),
        data.get("fork_seq", 0),
        None if position is None else bytes.fromhex(position),
        None if message is None else parse_ref(message),
    )


def _show_value(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def event_line(event: Event, *, forgotten: bool = False) -> str:
    """Return one event of the log; `forgotten` marks its body as erased if the rest of the file does not."""
    data: dict[str, Json] = {
        "event": str(event.id),
        "kind": event.kind.value,
        "actor": event.actor,
        "at": event.at,
        "target": None if event.target is None else str(event.target),
        "head": event.head,
        "seal": event.commit.hex(),
        "hash": event.hash.hex(),
    }
    if event.body is not None:
        data["salt"] = (event.salt or b"").hex()
        value = _plain(event.body)
        if value is not None:
            data["body"] = value
        else:
            data["body64"] = base64.b64encode(event.body).decode("ascii")
    elif forgotten:
        data["forgotten"] = True
    return dumps({k: v for k, v in data.items() if v is not None})


def _plain(body: bytes) -> Json:
    """Return the body as a JSON value if it round-trips to the same bytes; else None."""
    try:
        value = json.loads(body.decode("utf-8"))
    except ValueError:  # lone surrogates, which a UTF-8 file may not hold
        return None
    return value if _bytes(value) == body else None


def _bytes(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def event_from(data: Mapping[str, Json]) -> Event:
    """Return the event that `event_line` wrote; raises ValueError where the line is damaged."""
    sealed = "body" in data or "body64" in data
    once = {"body64": is_text} if "body64" in data else {}
    wrong = wrong_field(data, {**_EVENT, **once, **({"salt": is_salt} if sealed else {})}, {"target": is_ref})
    if wrong is None and "body" in data and "body64" in data:
        wrong = "body64"
    if wrong is None and not sealed and "salt" in data:
        wrong = "body"
    if wrong is None and data.get("forgotten", False) not in ((True, False) if not sealed else (False,)):
        wrong = "forgotten"
    if wrong is not None:
        raise ValueError(f"the field {wrong} is missing or not valid: {_show_value(data.get(wrong))}")
    try:
        kind = Kind(data["kind"])
        body = _body(data)
    except (ValueError, RecursionError, BackscrollError) as error:
        raise ValueError(str(error)) from error
    ref, target = parse_ref(data["event"]), data.get("target")
    return Event(
        ref.thread,
        ref.seq,
        kind,
        data["actor"],
        data["at"],
        None if target is None else parse_ref(target),
        data["head"],
        body,
        bytes.fromhex(data["salt"]) if body is not None else None,
        bytes.fromhex(data["seal"]),
        bytes.fromhex(data["hash"]),
    )


def _body(data: Mapping[str, Json]) -> bytes | None:
    if "body64" in data:
        return base64.b64decode(data["body64"], validate=True)
    return _bytes(data["body"]) if "body" in data else None


def blob_line(digest: str, data: bytes) -> str:
    """Return the line for bytes that messages refer to."""
    return dumps({"blob": digest, "data": base64.b64encode(data).decode("ascii")})


def blob_from(data: Mapping[str, Json]) -> tuple[str, bytes]:
    """Return the bytes that `blob_line` wrote; raises ValueError if they do not match their hash."""
    wrong = wrong_field(data, {"blob": is_digest, "data": is_text}, {})
    if wrong is not None:
        raise ValueError(f"the field {wrong} is missing or not valid: {_show_value(data.get(wrong))}")
    try:
        held = base64.b64decode(data["data"], validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"the bytes are damaged: {error}") from error
    if hashlib.sha256(held).hexdigest() != data["blob"]:
        raise ValueError("the bytes are damaged: they do not fit their hash")
    return data["blob"], held


def _sniff(source: Source) -> float:
    if source.is_folder:
        return 0.0
    start = source.head(200).lstrip()
    return 1.0 if start.startswith(('{"backscroll":', '{"backscroll" :')) else 0.0


def _read(source: Source) -> Iterable[ForeignThread]:
    raise FormatError(
        f"{source.name} holds logs, not foreign conversations", hint="the engine reads native files itself"
    )


FORMAT = Format("native", "Backscroll native log", ".backscroll.jsonl", _sniff, _read)
