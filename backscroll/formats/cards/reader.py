"""Read a character card from the bytes of a file: PNG, CHARX or JSON.

Owns the order of attempts (`ccv3` before `chara`), the limits, and errors that say what is wrong with a file. Does not open
files.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import NamedTuple

from backscroll.errors import FormatError
from backscroll.formats.cards import charx, png
from backscroll.formats.sources.json_text import NotJson, words_parsed
from backscroll.formats.sources.rows import as_object
from backscroll.vocab.part import Json

LARGEST_FILE = 128_000_000
_SPACE = re.compile(rb"\s+")
_WEB = bytes.maketrans(b"-_", b"+/")
_HINT = "export the character again as PNG or JSON"


class CardFile(NamedTuple):
    """The content of a card file, and its problems."""

    value: dict[str, Json]
    problems: tuple[str, ...] = ()


def is_packed_card(data: bytes) -> bool:
    """Return True for a picture or an archive, by its first bytes."""
    return data.startswith((png.SIGNATURE[:4], charx.SIGNATURE))


def card_file(data: bytes, name: str) -> CardFile:
    """Return the JSON object that a card file holds. Raises FormatError where there is none."""
    if len(data) > LARGEST_FILE:
        raise FormatError(f"{name} is larger than {LARGEST_FILE:,} bytes", hint="name the card itself")
    if data.startswith(png.SIGNATURE[:4]):
        return _of_picture(data, name)
    if data.startswith(charx.SIGNATURE):
        return CardFile(_object(charx.card_in_charx(data, name), name))
    return CardFile(_object(data, name))


def _of_picture(data: bytes, name: str) -> CardFile:
    texts = png.texts_of_png(data)
    problems = [f"the picture is damaged: {texts.damage}"] if texts.damage else []
    for keyword in ("ccv3", "chara"):
        if keyword in texts.wrong:
            problems.append(f"the text `{keyword}` of the picture cannot be read: {texts.wrong[keyword]}")
        if keyword in texts.found:
            try:
                return CardFile(_object(_decode_json(texts.found[keyword]), name), tuple(problems))
            except FormatError as error:
                problems.append(f"the text `{keyword}` of the picture cannot be read: {error.message}")
    if problems:
        raise FormatError(
            f"{name} holds no character card that can be read: {'; '.join(problems)}", hint=_HINT
        )
    raise FormatError(
        f"{name} is a picture without a character card",
        hint="a card is a PNG with the character inside; copies from a chat program or an editor often lose it",
    )


def _decode_json(text: bytes) -> bytes:
    """Return the JSON in a text of a picture: in base64, or as it is."""
    plain = _SPACE.sub(b"", text)
    if plain[:1] == b"{":
        return text
    plain = plain.rstrip(b"=").translate(_WEB)
    try:
        return base64.b64decode(plain + b"=" * (-len(plain) % 4), validate=True)
    except binascii.Error as error:
        raise FormatError(f"it is not base64: {error}", hint=_HINT) from error


def _object(data: bytes, name: str) -> dict[str, Json]:
    try:
        text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"the card in {name} is not UTF-8: {error.reason}", hint=_HINT) from error
    value = words_parsed(text)
    if isinstance(value, NotJson):
        line = text.count("\n", 0, value.at) + 1
        raise FormatError(
            f"the card in {name} breaks off or is not JSON: line {line}: {value.what}", hint=_HINT
        )
    found = as_object(value)
    if found is None:
        raise FormatError(f"the card in {name} is not a JSON object", hint=_HINT)
    return found
