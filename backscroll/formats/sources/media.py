"""Encode and decode bytes in JSON: base64 and `data:` URLs.

Decodes only what encodes back to the same text, so that nothing changes on a round trip.
"""

from __future__ import annotations

import base64
import binascii
import re

from backscroll.formats.shape import Blobs
from backscroll.vocab.part import Media

_DATA_URL = re.compile(r"data:([^;,]+);base64,(.*)", re.DOTALL)


def from_base64(text: str) -> bytes | None:
    """Return the bytes; None if the text is not their canonical encoding."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if to_base64(data) == text else None


def to_base64(data: bytes) -> str:
    """Return the text for these bytes."""
    return base64.b64encode(data).decode("ascii")


def from_data_url(url: str) -> tuple[str, bytes] | None:
    """Return media type and bytes of a `data:` URL; None if it would not round-trip."""
    found = _DATA_URL.fullmatch(url)
    if not found:
        return None
    data = from_base64(found[2])
    return (found[1], data) if data is not None else None


def to_data_url(media_type: str, data: bytes) -> str:
    """Return the `data:` URL of these bytes."""
    return f"data:{media_type};base64,{to_base64(data)}"


def bytes_of(part: Media, blobs: Blobs) -> bytes | None:
    """Return the bytes of a part, inline or by their hash; None if there is only an address, or they were forgotten."""
    if part.data is not None:
        return part.data
    return blobs(part.blob) if part.blob else None


def no_blobs(_: str) -> None:
    """Return None: no blobs are available."""
