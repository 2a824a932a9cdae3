"""Compress long bodies. Each row records the uncompressed size (0: stored uncompressed).

Hashing, exports and verification always use the plain bytes.
"""

from __future__ import annotations

import zlib

from backscroll.record.chain import make_corrupt_error

#: Compress a body only if it saves this share, because every read decompresses it.
_SAVES = 0.1
_LEVEL = 3  # a third of the time of the usual 6, for a twentieth more bytes


def pack_body(body: bytes | None, above: int) -> tuple[bytes | None, int]:
    """Return the stored body, and its uncompressed size; 0 if it is stored as is."""
    if not body or len(body) < above:
        return body, 0
    small = zlib.compress(body, _LEVEL)
    return (small, len(body)) if len(small) <= len(body) * (1 - _SAVES) else (body, 0)


def unpack_body(body: bytes | None, size: int) -> bytes | None:
    """Return the plain bytes of a stored body."""
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
