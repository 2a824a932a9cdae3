"""Sizes of pictures and documents, and their cost in tokens.

Owns reading the first bytes of PNG, JPEG, GIF, WebP and BMP, and the vendors' rules. Decodes nothing: if the size is unknown,
the flat figure is used.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from math import ceil
from typing import Any

_PAGE = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")
_PAGE_BYTES = 50_000  # pages of a document whose pages cannot be counted
_TEXT = re.compile(r"text/|application/(?:[\w.+-]*json|[\w.+-]*xml|javascript|x-sh|toml|yaml|x-yaml|sql)")
_SCANS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # JPEG frames; the three others are tables


def is_text(media_type: str) -> bool:
    """Return True for media types that vendors read as text."""
    return _TEXT.match(media_type) is not None


def page_count(data: bytes) -> int:
    """Return the approximate number of pages of a document."""
    return max(1, len(_PAGE.findall(data)), ceil(len(data) / _PAGE_BYTES))


def image_size(data: bytes) -> tuple[int, int] | None:
    """Return width and height of a picture from its first bytes; None if unknown."""
    try:
        found = _size(data)
    except (struct.error, IndexError):  # cut off
        return None
    return found if found is not None and min(found) > 0 else None


def _size(data: bytes) -> tuple[int, int] | None:
    if data[:8] == b"\x89PNG\r\n\x1a\n":
        return struct.unpack(">II", data[16:24])
    if data[:6] in (b"GIF87a", b"GIF89a"):
        return struct.unpack("<HH", data[6:10])
    if data[:2] == b"BM":
        wide, high = struct.unpack("<ii", data[18:26])
        return wide, abs(high)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return _webp(data)
    return _jpeg(data) if data[:2] == b"\xff\xd8" else None


def _webp(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8X":
            return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
        case b"VP8 ":
            wide, high = struct.unpack("<HH", data[26:30])
            return wide & 0x3FFF, high & 0x3FFF
        case b"VP8L":
            bits = int.from_bytes(data[21:25], "little")
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case _:
            return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(data):
        if data[at] != 0xFF:
            at += 1
            continue
        marker = data[at + 1]
        if marker in _SCANS:
            high, wide = struct.unpack(">HH", data[at + 5 : at + 9])
            return wide, high
        if marker == 0xFF or 0xD0 <= marker <= 0xD9 or marker == 0x01:
            at += 1 if marker == 0xFF else 2
            continue
        at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
    return None


def picture_tokens(width: int, height: int, rule: Mapping[str, Any]) -> int:
    """Return the tokens of a picture of this size, by a vendor's rule."""
    if rule["rule"] == "area":
        return max(rule["least"], min(rule["most"], ceil(width * height / rule["pixels"])))
    wide, high = float(width), float(height)
    if max(wide, high) > rule["fit"]:
        scale = rule["fit"] / max(wide, high)
        wide, high = wide * scale, high * scale
    patches = min(rule["patches"], ceil(wide / 32) * ceil(high / 32))
    if min(wide, high) > rule["short"]:
        scale = rule["short"] / min(wide, high)
        wide, high = wide * scale, high * scale
    tiles = ceil(wide / rule["tile"]) * ceil(high / rule["tile"])
    return max(rule["base"] + rule["each"] * tiles, ceil(patches * rule["patch"]))
