"""Ids of events, messages, revisions and turns.

A thread has a random id (32 hex digits). Everything inside it is named by the event that created it:
`<thread id>.<sequence number>`. So a message keeps its name for life, a fork shares the names of its past, and no index is
needed to find anything by id. The engine mints ids; this module only parses them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from backscroll.errors import InvalidInput

THREAD_ID = re.compile(r"[0-9a-f]{32}")
LAST = 0xFFFFFFFF  # the highest number an event can have
_REF = re.compile(r"([0-9a-f]{32})\.([1-9][0-9]{0,9})")


class Ref(NamedTuple):
    """The id of an event, and of the message or revision that it created."""

    thread: str
    seq: int

    def __str__(self) -> str:
        return f"{self.thread}.{self.seq}"

    @property
    def short(self) -> str:
        """The form people see and type: eight digits of the thread, a dot, the number."""
        return f"{self.thread[:8]}.{self.seq}"


def parse_ref(text: str | Ref) -> Ref:
    """Parse a full id."""
    if isinstance(text, Ref):
        return text
    found = _REF.fullmatch(text) if isinstance(text, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
    if not found or int(found[2]) > LAST:
        raise InvalidInput(
            f"invalid message or revision id: {text!r}", hint="ids look like <32 hex digits>.<number>"
        )
    return Ref(found[1], int(found[2]))


def turn_uuid(opening: Ref) -> str:
    """Return the UUID (version 8) of the turn that a message opens; turn 0 is opened by sequence number 0."""
    head = bytes.fromhex(opening.thread)[:10]
    raw = bytearray(head + b"\0\0" + opening.seq.to_bytes(4, "big"))
    raw[6] = 0x80 | (raw[6] & 0x0F)
    raw[8] = 0x80 | (raw[8] & 0x3F)
    text = bytes(raw).hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
