"""Read the texts inside a PNG picture (`tEXt`, `zTXt` and `iTXt` chunks) within limits.

A truncated or damaged picture yields the chunks before the damage and a problem. Pixels are not decoded. Pure.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

SIGNATURE = b"\x89PNG\r\n\x1a\n"
#: Bytes of one text when it is unpacked.
LARGEST_TEXT = 32_000_000


@dataclass(slots=True)
class PictureTexts:
    """Texts by keyword (lower case), the first of each, and the problems of the picture."""

    found: dict[str, bytes] = field(default_factory=dict[str, bytes])
    wrong: dict[str, str] = field(default_factory=dict[str, str])  # keyword → what is wrong with its text
    damage: str = ""


def texts_of_png(data: bytes) -> PictureTexts:
    """Read the text chunks of a picture. Never raises: problems are reported."""
    out = PictureTexts()
    if not data.startswith(SIGNATURE):
        out.damage = "it does not begin as a PNG picture does"
        return out
    at, size = len(SIGNATURE), len(data)
    while True:
        if at + 8 > size:
            out.damage = "it breaks off before its end"
            return out
        length, kind = int.from_bytes(data[at : at + 4]), data[at + 4 : at + 8]
        body, end = at + 8, at + 8 + length
        if end + 4 > size:
            out.damage = "it breaks off before its end"
            return out
        if kind in _READERS:
            _take(
                out,
                kind,
                data[body:end],
                zlib.crc32(data[at + 4 : end]) == int.from_bytes(data[end : end + 4]),
            )
        if kind == b"IEND":
            return out
        at = end + 4


def _take(out: PictureTexts, kind: bytes, chunk: bytes, sound: bool) -> None:
    word, nul, rest = chunk.partition(b"\0")
    keyword = word.decode("latin-1").strip().casefold()
    if not nul or not 0 < len(word) < 80 or keyword in out.found:
        return
    if not sound:
        out.wrong.setdefault(keyword, "its checksum does not fit")
        return
    text = _READERS[kind](rest)
    if isinstance(text, str):
        out.wrong.setdefault(keyword, text)
    else:
        out.found[keyword] = text


def _plain(rest: bytes) -> bytes | str:
    return rest


def _read_compressed(rest: bytes) -> bytes | str:
    return _decompress(rest[1:]) if rest[:1] == b"\0" else "it is packed in an unknown way"


def _international(rest: bytes) -> bytes | str:
    packed, method = rest[:1], rest[1:2]
    _, nul, rest = rest[2:].partition(b"\0")  # language
    _, nul2, text = rest.partition(b"\0")  # the keyword in that language
    if not nul or not nul2:
        return "it breaks off"
    if packed != b"\1":
        return text
    return _decompress(text) if method == b"\0" else "it is packed in an unknown way"


def _decompress(data: bytes) -> bytes | str:
    """Decompress zlib data up to the limit: a few kilobytes can expand to gigabytes."""
    reader = zlib.decompressobj()
    try:
        out = reader.decompress(data, LARGEST_TEXT)
    except zlib.error as error:
        return f"it cannot be unpacked: {error}"
    if reader.unconsumed_tail:
        return f"it is larger than {LARGEST_TEXT:,} bytes when it is unpacked"
    return out if reader.eof else "it breaks off"


_READERS = {b"tEXt": _plain, b"zTXt": _read_compressed, b"iTXt": _international}
