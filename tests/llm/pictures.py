"""The first bytes of pictures: all that tells their size."""

from __future__ import annotations

import struct
import zlib


def png(width: int, height: int) -> bytes:
    body = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + body + struct.pack(">I", zlib.crc32(body))


def jpeg(width: int, height: int) -> bytes:
    head = b"\xff\xd8\xff\xe0" + struct.pack(">H", 16) + b"JFIF\x00" + bytes(9)
    tables = b"\xff\xc4" + struct.pack(">H", 4) + b"\x00\x00"
    return head + tables + b"\xff\xc2" + struct.pack(">HBHH", 17, 8, height, width) + bytes(12)


PICTURES = {
    "png": png(640, 480),
    "jpeg": jpeg(640, 480),
    "gif": b"GIF89a" + struct.pack("<HH", 640, 480) + bytes(10),
    "bmp": b"BM" + bytes(16) + struct.pack("<ii", 640, -480),
    "webp lossy": b"RIFF" + bytes(4) + b"WEBPVP8 " + bytes(10) + struct.pack("<HH", 640, 480),
    "webp lossless": b"RIFF" + bytes(4) + b"WEBPVP8L" + bytes(5) + struct.pack("<I", 639 | 479 << 14),
    "webp extended": b"RIFF"
    + bytes(4)
    + b"WEBPVP8X"
    + bytes(8)
    + (639).to_bytes(3, "little")
    + (479).to_bytes(3, "little"),
}
