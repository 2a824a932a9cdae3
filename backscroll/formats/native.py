"""The native file: the log itself, one JSON object a line, so that nothing at all is lost on the way.

The first line says what the file is. Then come threads (parents before forks), the bytes that their messages refer to, and their
events as they are sealed and linked. A body that plain UTF-8 cannot hold travels in base64. The engine checks every seal and
every link before it believes a line.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping

from backscroll.errors import FormatError
from backscroll.formats.json_text import dumps
from backscroll.formats.shape import Format, Source
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.foreign import ForeignThread
from backscroll.vocab.ids import parse_ref
from backscroll.vocab.part import Json

VERSION = 1


def header(kind: str, exported_at: str, threads: int) -> str:
    """The first line."""
    return dumps({"backscroll": VERSION, "kind": kind, "exported_at": exported_at, "threads": threads})


def checked_header(data: Mapping[str, Json]) -> None:
    """Refuse a file that is none of ours, or newer than we are."""
    version = data.get("backscroll")
    if not isinstance(version, int):
        raise FormatError(
            "not a native Backscroll file", hint="its first line must hold the key `backscroll`"
        )
    if version > VERSION:
        raise FormatError(
            f"the file has version {version}, this program knows up to {VERSION}", hint="update Backscroll"
        )


def event_line(event: Event) -> str:
    """One event of the log."""
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
    return dumps({k: v for k, v in data.items() if v is not None})


def _plain(body: bytes) -> Json:
    """The body as a JSON value, where reading and writing it again gives the same bytes; else None."""
    try:
        value = json.loads(body.decode("utf-8"))
    except ValueError:  # lone surrogates, which a UTF-8 file may not hold
        return None
    return value if _bytes(value) == body else None


def _bytes(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def event_from(data: Mapping[str, Json]) -> Event:
    """The event that `event_line` wrote; raises ValueError or LookupError where the line is damaged."""
    ref = parse_ref(data["event"])
    body: bytes | None = None
    if "body64" in data:
        body = base64.b64decode(data["body64"], validate=True)
    elif "body" in data:
        body = _bytes(data["body"])
    target = data.get("target")
    return Event(
        ref.thread,
        ref.seq,
        Kind(data["kind"]),
        data["actor"],
        data["at"],
        None if target is None else parse_ref(target),
        data["head"],
        body,
        bytes.fromhex(data["salt"]) if body is not None else None,
        bytes.fromhex(data["seal"]),
        bytes.fromhex(data["hash"]),
    )


def blob_line(digest: str, data: bytes) -> str:
    """Bytes that messages refer to."""
    return dumps({"blob": digest, "data": base64.b64encode(data).decode("ascii")})


def blob_from(data: Mapping[str, Json]) -> tuple[str, bytes]:
    """The bytes that `blob_line` wrote."""
    try:
        return data["blob"], base64.b64decode(data["data"], validate=True)
    except binascii.Error as error:
        raise ValueError(f"the bytes are damaged: {error}") from error


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
