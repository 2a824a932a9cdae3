"""Attachments of a message: images as images, files as text that is marked as data; the text stays as typed.

Owns reading a file that the user points to (never a pipe or a device, never protected ones), recognising images by their first
bytes, and the size limits. Attachments are `Media` parts: the history keeps them whole, prompts include texts and fold
them later, and the text of the message is only what was typed. Refuses: finding files in a text (`mention`).
"""

from __future__ import annotations

import hashlib
import os
import stat
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from backscroll.errors import InvalidInput, NotFound
from backscroll.surfaces.i18n import t
from backscroll.surfaces.i18n.translation import say
from backscroll.vocab.message import Content
from backscroll.vocab.part import Media, Part, Text
from backscroll.workspace.files.encoding import decode_text
from backscroll.workspace.files.guard import Guard

#: Maximum bytes of an image or a document, and characters of a text; more would fill the window without helping.
LARGEST, LONGEST = 5_000_000, 60_000
#: Maximum characters of all texts of one message together.
TOGETHER = 160_000
_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0)
_PICTURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)


def attach(text: str, paths: Sequence[str | Path] = ()) -> Content:
    """Return a message with files: the text as typed, then each file. Raises an error for the first that cannot be attached."""
    parts: list[Part] = [Text(text)]
    left = TOGETHER
    for path in paths:
        part, used = attachment(own_path(path), most=left)
        parts.append(part)
        left -= used
    return Content(tuple(parts))


def own_path(typed: str | Path) -> Path:
    """Return a path as typed: `~` is home; `~name` is only a name."""
    text = str(typed)
    return Path(text).expanduser() if text == "~" or text.startswith("~/") else Path(text)


def attachment(path: Path, *, shown: str = "", most: int = LONGEST) -> tuple[Media, int]:
    """Return a file as a part, and how many characters of text it takes."""
    Guard(path.parent).check(str(path))
    data, size = read_file(path, LARGEST + 1)
    return part_of(data, shown or path.name, size=size, most=most)


def read_file(path: Path, most: int) -> tuple[bytes, int]:
    """Return the first bytes of a regular file, and its size; anything else is refused without waiting for it."""
    try:
        handle = os.open(path, _OPEN)
    except FileNotFoundError as error:
        raise NotFound(t("attach.no_file", path=str(path)), hint=t("attach.no_file_hint")) from error
    except (OSError, ValueError) as error:
        what = say(getattr(error, "strerror", None) or str(error))
        raise InvalidInput(t("attach.unreadable", path=str(path), what=what)) from error
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        raise InvalidInput(t("attach.no_regular", path=str(path)), hint=t("attach.no_regular_hint"))
    with os.fdopen(handle, "rb") as file:
        return file.read(most), status.st_size


def picture_type(data: bytes) -> str:
    """Return the media type of an image (or a PDF) by its first bytes, whatever its name says; empty for anything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for begin, kind in _PICTURES if data.startswith(begin)), "")


def part_of(data: bytes, name: str, *, size: int = 0, most: int = LONGEST) -> tuple[Media, int]:
    """Return bytes as a part: an image by its own type, a text marked as data and bounded; anything else is refused."""
    if kind := picture_type(data):
        if max(size, len(data)) > LARGEST:
            raise InvalidInput(
                t("attach.too_large", name=name, size=max(size, len(data)) // 1000, most=LARGEST // 1000),
                hint=t("attach.too_large_hint"),
            )
        return Media(kind, name=Path(name).name, data=data), 0
    whole = data[: LARGEST + 1]
    found = decode_text(whole[: _clean_end(whole)] if size > len(whole) else whole)
    if found is None:
        raise InvalidInput(t("attach.binary", name=name), hint=t("attach.binary_hint"))
    return text_part("file", name, found.text, most=most)


def _clean_end(data: bytes) -> int:
    """Return where a text can be cut without splitting a character."""
    end = data.rfind(b"\n")
    return end + 1 if end >= 0 else max(0, len(data) - 4)


def text_part(kind: str, name: str, text: str, *, part: str = "", most: int = LONGEST) -> tuple[Media, int]:
    """Return a text as a part, marked as data; a long one is cut, with a note. Returns also the characters it takes."""
    room = min(LONGEST, most)
    if room <= 0:
        raise InvalidInput(t("attach.too_many", name=name), hint=t("attach.too_many_hint", most=TOGETHER))
    body = text
    if len(body) > room:
        body = body[: body.rfind("\n", 0, room) + 1 or room]
        part += _templates()["cut"].format(shown=len(body), all=len(text))
    tag = f"{kind}-{hashlib.sha256(body.encode('utf-8', 'surrogatepass')).hexdigest()[:6]}"
    facts = {"path": _plain(name), "part": part, "tag": tag, "body": body.rstrip("\n")}
    marked = _templates()[kind].strip("\n").format_map(facts)
    # Lone surrogates (odd names, odd files) have no UTF-8: a replacement character stands for them.
    return Media("text/plain", name=name, data=marked.encode("utf-8", "replace")), len(body)


def lines_told(first: int, last: int, total: int) -> str:
    """Return which lines of a file are attached, for `text_part`."""
    return _templates()["lines"].format(first=first, last=last, all=total)


def _plain(name: str) -> str:
    """Return a name that cannot leave its quotes or its line."""
    return "".join("?" if c in '"<>\n\r' or not c.isprintable() else c for c in name)


@cache
def _templates() -> Mapping[str, str]:
    return tomllib.loads(
        files("backscroll.surfaces.chat").joinpath("attaching.toml").read_text(encoding="utf-8")
    )
