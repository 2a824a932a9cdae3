"""Seal and link events in a hash chain, which proves that no byte of the log was changed.

An event's hash covers the hash before it, its own head, and a salted commitment to its sealed body. `forget` destroys salt and
body; the commitment stays, so the chain still verifies, and without the salt the body cannot be guessed from it. Salts are
passed in; storage is elsewhere.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

from backscroll.errors import BackscrollError, InvalidInput, StoreCorrupt
from backscroll.vocab.event import Event
from backscroll.vocab.part import Json
from backscroll.vocab.values.nesting import DEEPEST, is_deeper
from backscroll.vocab.values.unicode import valid_json

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_encode_in_order = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
_sha256 = hashlib.sha256
_ORIGIN = b"backscroll/1/"
SALT = 16  # bytes of every salt; fixed, so that no byte can move between salt and body


#: Errors that reading damaged data can raise.
DAMAGE = (ValueError, TypeError, LookupError, AttributeError, RecursionError, InvalidInput)


def make_corrupt_error(what: str, error: Exception) -> StoreCorrupt:
    """Return the error for data from the store that cannot be read."""
    said = error.message if isinstance(error, BackscrollError) else f"{type(error).__name__}: {error}"
    return StoreCorrupt(f"{what} cannot be read ({said})", hint="run `backscroll verify` to list the damage")


def to_bytes(value: Json, *, in_order: bool = False) -> bytes:
    """Return JSON as bytes (with `in_order`, names are sorted); lone surrogates, which plain UTF-8 rejects, are kept."""
    try:
        data = (_encode_in_order if in_order else _encode)(value).encode("utf-8", "surrogatepass")
        if data.count(b"[") + data.count(b"{") > DEEPEST and is_deeper(value, DEEPEST):
            raise ValueError(f"it is nested more than {DEEPEST} deep")
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"this cannot be stored: {error}", hint="metadata, arguments and extras must be plain JSON values"
        ) from error
    return data


def from_bytes(data: bytes) -> Json:
    """Return the value that `to_bytes` wrote."""
    try:
        return json.loads(data.decode("utf-8", "surrogatepass"))
    except DAMAGE as error:
        raise make_corrupt_error("a part of the log", error) from error


def words_from_bytes(data: bytes) -> Json:
    """Return the same in valid Unicode, for all rooms. Lone surrogates are removed; the log keeps them."""
    value = from_bytes(data)
    if data.isascii() and b"\\u" not in data:
        return value
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return valid_json(value)
    return valid_json(value) if b"\\u" in data else value


def genesis(thread: str) -> bytes:
    """Return the initial hash of a thread that is not a fork."""
    return _sha256(_ORIGIN + thread.encode()).digest()


def commitment(salt: bytes, body: bytes) -> bytes:
    """Return a salted commitment to the body, which reveals nothing once the salt is gone."""
    return _sha256(salt + body).digest()


def link(previous: bytes, event: Event) -> bytes:
    """Return the hash of an event, given the hash of the event before it."""
    return hash_link(
        previous,
        f"{event.thread}.{event.seq}\n{event.kind.value}\n{event.at}\n{event.target or ''}\n{event.actor}\n",
        event.commit,
        to_bytes(event.head),
    )


def hash_link(previous: bytes, line: str, commit: bytes, head: bytes) -> bytes:
    """Return the same from its parts: id, kind, time, target and actor as lines; the seal; the head as bytes."""
    return _sha256(previous + commit + line.encode("utf-8", "surrogatepass") + head).digest()


def seal_event(event: Event, previous: bytes, salt: bytes) -> Event:
    """Return the event with commitment and hash filled in, ready for the log."""
    if event.body is not None:
        event = replace(event, salt=salt, commit=commitment(salt, event.body))
    return replace(event, hash=link(previous, event))


def flaws(event: Event, previous: bytes) -> list[str]:
    """Return the problems of an event of the log as text; empty if there are none."""
    out: list[str] = []
    if event.commit and event.body is not None:
        if event.salt is None or len(event.salt) != SALT:
            out.append("the salt of the body is missing")
        elif commitment(event.salt, event.body) != event.commit:
            out.append("the body was changed: it no longer fits its seal")
    if event.body is not None and not event.commit:
        out.append("the body has no seal")
    if "\n" in event.actor or "\n" in event.at:
        out.append("the name of the actor or the time holds a line break")
    if link(previous, event) != event.hash:
        out.append("the head was changed, or the event before it: the hash does not follow")
    return out
