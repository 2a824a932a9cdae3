"""Read account exports of chat services: a folder with one or more huge documents and attached files.

Owns: finding those files, detecting a service by the start of its document, and passing on what belongs to no conversation.
Knows no particular service.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain

from backscroll.errors import BackscrollError, FormatError
from backscroll.formats.shape import Source
from backscroll.formats.sources.json_stream import Member, pieces
from backscroll.formats.sources.json_text import dumps, try_parse
from backscroll.formats.sources.rows import as_object, as_text, stem, time_of
from backscroll.vocab.foreign import Aside, ForeignThread, Problem
from backscroll.vocab.part import Json

_CONVERSATIONS = re.compile(r"conversations(?:[-_]\d+)?\.json", re.IGNORECASE)
_FILE_ID = re.compile(r"file[-_][A-Za-z0-9]+")
_NAMES = "conversation_asset_file_names.json"
_DEPTH = 3
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def documents(source: Source) -> list[Source]:
    """Return the documents with conversations: the file itself, or those of an unpacked export."""
    if not source.is_folder:
        return [source]
    names = [name for name in source.children() if _CONVERSATIONS.fullmatch(name)]
    found = [source.child(name) for name in names]
    return [child for child in found if child is not None and not child.is_folder]


def sniff_documents(source: Source, likely: Callable[[str], float]) -> float:
    """Return the confidence of `likely` about the first document, from its head."""
    first = next(iter(documents(source)), None)
    if first is None:
        return 0.0
    head = first.head().lstrip()
    return likely(head) if head[:1] in ("[", "{") else 0.0


def read_conversations(
    document: Source,
    is_conversation: Callable[[Mapping[str, Json]], bool],
    to_thread: Callable[[Mapping[str, Json], str], ForeignThread],
    lacks: str,
) -> Iterator[ForeignThread | Problem | Aside]:
    """Yield the conversations of a document (a list or a single one) and its other content. `lacks`: what other elements lack."""
    members: dict[str, Json] = {}
    for piece in pieces(document, "conversations"):
        if isinstance(piece, Problem):
            yield piece
        elif isinstance(piece, Member):
            members[piece.key] = piece.value
        elif is_conversation(found := as_object(piece.value) or {}):
            yield to_thread(found, f"{stem(document.name)}-{piece.number}")
        else:
            yield Problem(f"element {piece.number} is not a conversation: it has no {lacks}", piece.line)
    if is_conversation(members):
        yield to_thread(members, stem(document.name))
    else:
        yield from beside(members)


def with_leftovers(found: Iterable[ForeignThread | Problem | Aside]) -> Iterator[ForeignThread]:
    """Yield the threads, each with the content after it that belongs to no conversation (for the first: also before it).

    Holds one thread back, so that problems in the rest of a file are reported. Raises FormatError if there are problems and
    no thread.
    """
    held: ForeignThread | None = None
    leftovers: list[Problem | Aside] = []
    for item in found:
        if not isinstance(item, ForeignThread):
            leftovers.append(item)
            continue
        if held is not None:
            yield _append_leftovers(held, leftovers)
            leftovers = []
        held = item
    if held is not None:
        yield _append_leftovers(held, leftovers)
    elif problem := next((item for item in leftovers if isinstance(item, Problem)), None):
        line = f" (line {problem.line})" if problem.line else ""
        raise FormatError(f"nothing in this file could be read: {problem.what}{line}")


def _append_leftovers(thread: ForeignThread, leftovers: list[Problem | Aside]) -> ForeignThread:
    return replace(thread, items=chain(thread.items, leftovers)) if leftovers else thread


def beside(members: Mapping[str, Json]) -> Iterator[Aside]:
    """Yield the other content of an export (the account, projects, ...) verbatim."""
    for key, value in members.items():
        if value not in (None, "", [], {}):
            yield Aside(key, dumps(value))


def moment(value: Json) -> str | None:
    """Return a time in ISO 8601: from ISO text, from seconds or milliseconds since 1970, also as text or as MongoDB writes it."""
    if isinstance(value, dict):
        inner = as_object(value) or {}
        return moment(inner.get("$date", inner.get("$numberLong")))
    if isinstance(value, str):
        if not re.fullmatch(r"\d+(\.\d+)?", value):
            return time_of(value)
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e14:
        return None
    seconds = value / 1000 if value > 1e11 else value
    return (_EPOCH + timedelta(seconds=seconds)).isoformat()


class ExportFiles:
    """The attached files of an export, found by the id that messages name them by."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._index: dict[str, str] | None = None
        self._names: dict[str, str] | None = None

    def find(self, id: str, name: str = "") -> tuple[str, Source] | None:
        """Return the original file name, if known, and the file; None if the export lacks it."""
        for path in self._paths(id, name):
            found = self._source.child(path)
            if found is not None and not found.is_folder:
                return self._find_original_name(path) or name or found.name, found
        return None

    def _paths(self, id: str, name: str) -> list[str]:
        if self._source.is_folder:
            if self._index is None:
                self._index = dict(self._list(self._source, "", _DEPTH))
            return [self._index[id]] if id in self._index else []
        listed = [path for path in self._original_names() if path.startswith(id)]
        guesses = [*listed, id, f"{id}.dat", *([f"{id}-{name}"] if name else [])]
        return ["../" + path for path in guesses if "/" not in path]

    def _list(self, folder: Source, path: str, depth: int) -> Iterator[tuple[str, str]]:
        for name in reversed(folder.children()):  # the first of several files with one id wins
            found = _FILE_ID.match(name)
            if found:
                yield found[0], path + name
            elif depth and "." not in name:
                child = folder.child(name)
                if child is not None and child.is_folder:
                    yield from self._list(child, f"{path}{name}/", depth - 1)

    def _find_original_name(self, path: str) -> str:
        return self._original_names().get(path.rpartition("/")[2], "")

    def _original_names(self) -> dict[str, str]:
        if self._names is None:
            file = self._source.child(_NAMES if self._source.is_folder else "../" + _NAMES)
            listed = as_object(try_parse(file.text())) if file is not None and not file.is_folder else None
            self._names = {key: as_text(value) for key, value in (listed or {}).items()}
        return self._names


def bytes_of(file: Source) -> bytes | None:
    """Return the bytes of an attached file; None if it cannot be read."""
    try:
        return file.data()
    except (BackscrollError, OSError):
        return None
