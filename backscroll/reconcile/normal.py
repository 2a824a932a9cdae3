"""Normalize texts and compute the keys by which contents are compared.

A program that shows or re-sends a conversation makes insignificant changes: line ends, trailing whitespace, the composition
of accented letters. `normal_text` removes exactly those. A content has two keys: `exact` (verbatim) and `loose` (the text in
normal form). Thinking and vendor parts belong to neither, because other programs omit them; `unspoken` returns them. No
lower-casing, width folding, or anything else that could make two different texts equal.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from backscroll.vocab.message import Content
from backscroll.vocab.part import Json, Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult

#: Returns the name that the store would give to bytes.
BlobName: TypeAlias = Callable[[bytes], str]

_BLANKS = " \t\u00a0\u3000"
_UNTIDY = ("\r", *(blank + "\n" for blank in _BLANKS), "\n\n\n")
_GAP = re.compile(r"\n{3,}")
WEIGHTY = 16  # texts this long are not repeated by coincidence
_MARK = "\0"  # prefix of every key with more than text, so that no text can equal one


def sha256_name(data: bytes) -> str:
    """Return the SHA-256 name of a blob."""
    return hashlib.sha256(data).hexdigest()


def normal_text(text: str) -> str:
    """Return the text without what rendering and saving change; applying it twice changes nothing more."""
    if ("\n" in text or "\r" in text) and any(sign in text for sign in _UNTIDY):
        lines = text.replace("\r", "").split("\n")
        text = _GAP.sub("\n\n", "\n".join(line.rstrip(_BLANKS) for line in lines))
    text = text.strip()
    if text.isascii() or unicodedata.is_normalized("NFC", text):
        return text
    return unicodedata.normalize("NFC", text)


def exact(content: Content, blob_name: BlobName = sha256_name) -> str:
    """Return the verbatim key: text, calls, results and media, without vendors' extras."""
    return _key(content, blob_name, whole=True)


def loose(content: Content, blob_name: BlobName = sha256_name) -> str:
    """Return the key in normal form; call ids are left out, because programs rename them."""
    return _key(content, blob_name, whole=False)


def unspoken(content: Content) -> tuple[str, ...]:
    """Return thinking and vendor parts, which a program may omit without changing the message."""
    parts = content.parts
    if len(parts) == 1 and isinstance(parts[0], Text):
        return ()
    out: list[str] = []
    for part in parts:
        if isinstance(part, Reasoning):
            out.append(part.text)
        elif isinstance(part, Opaque):
            out.append(part.raw)
    return tuple(out)


def call_ids(content: Content) -> tuple[str, ...]:
    """Return the ids of the tool calls that a content makes or answers; they are not reused."""
    out: list[str] = []
    for part in content.parts:
        if isinstance(part, ToolCall) and part.id:
            out.append(f"call {part.id}")
        elif isinstance(part, ToolResult) and part.call_id:
            out.append(f"result {part.call_id}")
    return tuple(out)


def _key(content: Content, blob_name: BlobName, *, whole: bool) -> str:
    parts = content.parts
    if len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].text if whole else normal_text(parts[0].text)
    marks: list[Json] = []
    words: list[str] = []
    for part in parts:
        if isinstance(part, Text):
            words.append(part.text)
            continue
        mark = _mark(part, blob_name, whole=whole)
        if mark is None:
            continue
        if words:
            marks.append(_join_texts(words, whole=whole))
            words = []
        marks.append(mark)
    if not marks:
        return _join_texts(words, whole=whole)
    if words:
        marks.append(_join_texts(words, whole=whole))
    return _MARK + json.dumps([m for m in marks if m != ""], ensure_ascii=False, sort_keys=True)


def _join_texts(words: Iterable[str], *, whole: bool) -> str:
    text = "\n".join(words)
    return text if whole else normal_text(text)


def _mark(part: Part, blob_name: BlobName, *, whole: bool) -> Json | None:
    match part:
        case ToolCall():
            return ["call", part.id if whole else "", part.name, _arguments(part.arguments)]
        case ToolResult():
            inner = [_inner(p, blob_name, whole=whole) for p in part.content]
            return ["result", part.call_id if whole else "", part.is_error, inner]
        case Media():
            return ["media", *_media(part, blob_name)]
        case Text():
            return _join_texts([part.text], whole=whole)
        case Reasoning() | Opaque():
            return None


def _inner(part: Text | Media | Opaque, blob_name: BlobName, *, whole: bool) -> Json:
    return part.raw if isinstance(part, Opaque) else _mark(part, blob_name, whole=whole)


def _media(part: Media, blob_name: BlobName) -> tuple[str, str]:
    if part.blob is not None:
        return "blob", part.blob
    if part.data is not None:
        return "blob", blob_name(part.data)
    return "url", part.url or part.name or part.media_type


def _arguments(value: Json) -> Json:
    """Return arguments as a value, whether the wire sent a value or a string with one."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (
        ValueError,
        RecursionError,
    ):  # a model may send invalid JSON; then compare the string itself
        return value


def substance(text: str) -> int:
    """Return the amount of content in a text, up to 64: a Chinese character counts as two letters."""
    head = text[:64]
    return len(head) if head.isascii() else sum(2 if sign >= "\u2e80" else 1 for sign in head)


@dataclass(frozen=True, slots=True)
class SpeakerNames:
    """The speakers' names that a program may have put before a text (`Ellie: …`, `艾莉：…`)."""

    pattern: re.Pattern[str] | None

    def split_name(self, text: str) -> tuple[str | None, str]:
        """Return the name, if the text is signed with a known one, and the text without it."""
        found = self.pattern.match(text) if self.pattern else None
        return (found[1], text[found.end() :]) if found else (None, text)


def names_of(names: Iterable[str]) -> SpeakerNames:
    """Recognise these names, longer ones first."""
    known = sorted({normal_text(n) for n in names} - {""}, key=lambda n: (-len(n), n))
    if not known:
        return SpeakerNames(None)
    return SpeakerNames(re.compile(f"({'|'.join(map(re.escape, known))})[ \\t]*[:\uff1a][ \\t]*\\n?"))
