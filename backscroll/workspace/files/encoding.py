"""Text encoding and line ends of files, with an exact round trip to bytes.

Owns telling text from binary, guessing an encoding, and encoding changed text like the original. Text always gives the same
bytes when written unchanged; anything else counts as binary. Disk access: `files`.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from backscroll.errors import InvalidInput

Newline: TypeAlias = Literal["", "\n", "\r\n", "\r", "mixed"]

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is a prefix of this one
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = re.compile(
    rb"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]"
)  # control characters that are rare in text files
_ENDS = re.compile(r"\r\n|\r|\n")
_SAMPLE = 65_536


@dataclass(frozen=True, slots=True)
class DecodedText:
    """The text of a file, and its encoding."""

    raw: str  # with the line ends of the file, without its byte order mark
    encoding: str = "utf-8"
    bom: bytes = b""
    newline: Newline = "\n"
    guessed: bool = False  # no mark, and not UTF-8

    @property
    def text(self) -> str:
        """The text with plain newlines."""
        return self.raw.replace("\r\n", "\n").replace("\r", "\n") if "\r" in self.raw else self.raw


def decode_text(data: bytes) -> DecodedText | None:
    """Return the text of a file; None if it is binary."""
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return _try_encoding(data[len(bom) :], encoding, bom)
    if b"\0" in data:
        return None
    if (text := _try_encoding(data, "utf-8")) is not None:
        return text if _few_controls(data) else None
    if not _few_controls(data):
        return None
    encoding = _guess(data)
    return _try_encoding(data, encoding, guessed=True) if encoding else None


def encode_text(text: str, like: DecodedText | None) -> bytes:
    """Encode a text with exactly these line ends, in the encoding of its file."""
    encoding = like.encoding if like else "utf-8"
    try:
        data = text.encode(encoding)
    except UnicodeEncodeError as error:
        wrong = text[error.start : error.start + 1]
        if 0xD800 <= ord(wrong) <= 0xDFFF:
            raise InvalidInput(
                "the text contains a lone surrogate and cannot be encoded",
                hint="write the whole character, or leave it out",
            ) from None
        raise InvalidInput(
            f"the file is in {encoding}, which has no {wrong!r}",
            hint="write it with other characters, or replace the whole file with one in UTF-8",
        ) from None
    return like.bom + data if like else data


def with_newlines(text: str, newline: Newline) -> str:
    """Return the text with one kind of line ends; `mixed` and none leave it as it is."""
    if newline in ("", "mixed"):
        return text
    plain = _ENDS.sub("\n", text)
    return plain if newline == "\n" else plain.replace("\n", newline)


def newline_of(text: str) -> Newline:
    """Return the kind of line ends in a text."""
    pairs = text.count("\r\n")
    feeds, returns = text.count("\n") - pairs, text.count("\r") - pairs
    if (pairs > 0) + (feeds > 0) + (returns > 0) > 1:
        return "mixed"
    return "\r\n" if pairs else "\n" if feeds else "\r" if returns else ""


def is_binary(start: bytes) -> bool:
    """Return True if the first bytes of a file look binary, without reading all of it."""
    if start.startswith(tuple(bom for bom, _ in _BOMS)):
        return False
    return b"\0" in start or not _few_controls(start)


def _try_encoding(
    data: bytes, encoding: str, bom: bytes = b"", *, guessed: bool = False
) -> DecodedText | None:
    try:
        raw = data.decode(encoding)
        same = raw.encode(encoding) == data
    except UnicodeError:
        return None
    return DecodedText(raw, encoding, bom, newline_of(raw), guessed) if same else None


def _few_controls(data: bytes) -> bool:
    sample = data[:_SAMPLE]
    return len(_CONTROLS.findall(sample)) * 50 <= len(sample)


def _guess(data: bytes) -> str:
    """Guess GB18030 if nearly all non-ASCII bytes decode to common characters; a western code page for a few accents."""
    sample = data[:_SAMPLE]
    high = sum(byte >= 0x80 for byte in sample)
    everyday = pairs = 0
    at = 0
    while at < len(sample) - 1:
        if sample[at] < 0x80:
            at += 1
            continue
        pairs += 1
        # The rows of GB 2312: punctuation and full-width letters, then characters by how common they are.
        first, second = sample[at], sample[at + 1]
        everyday += second >= 0xA1 and (0xB0 <= first <= 0xF7 or 0xA1 <= first <= 0xA3)
        at += 2
    if pairs and everyday * 100 >= pairs * 85:
        return "gb18030"
    return "cp1252" if high * 5 <= len(sample) else ""
