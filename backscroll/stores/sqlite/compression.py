"""Long words are stored compressed. Whether a body is, its row says (`unpack_body`: the bytes it was, 0: it is as it was).

Owns the two directions. Does not guess: a body whose row says nothing is given as it is. What is hashed, exported and verified is
always the plain bytes.
"""

from __future__ import annotations

import zlib

from backscroll.record.chain import make_corrupt_error

#: A body is worth unpacking again and again only where this share of it is saved.
_SAVES = 0.1
_LEVEL = 3  # a third of the time of the usual 6, for a twentieth more bytes


def pack_body(body: bytes | None, above: int) -> tuple[bytes | None, int]:
    """Return what goes into the row, and how many bytes it was before; 0 where it goes as it is."""
    if not body or len(body) < above:
        return body, 0
    small = zlib.compress(body, _LEVEL)
    return (small, len(body)) if len(small) <= len(body) * (1 - _SAVES) else (body, 0)


def unpack_body(body: bytes | None, size: int) -> bytes | None:
    """Return the plain bytes again."""
    if not size or body is None:
        return body
    opened = zlib.decompressobj()
    try:
        plain = opened.decompress(body, size + 1)
    except (zlib.error, TypeError, ValueError, OverflowError) as error:
        raise make_corrupt_error("a compressed text", error) from error
    if len(plain) != size or not opened.eof:
        raise make_corrupt_error(
            "a compressed text", ValueError(f"it is not the {size} bytes that its row says")
        )
    return plain
