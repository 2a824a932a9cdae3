"""The shape of a format: detection, reading, writing.

A format module defines one module-level `FORMAT: Format`. Readers never open files: they get a `Source`. Writers never
open files either: they yield text. What the target cannot express, writers report as `Problem`s; nothing is dropped silently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from backscroll.vocab.foreign import ForeignThread, Problem


class OverlongLine(str):
    """A placeholder for a line that exceeds the limit and was not read."""

    __slots__ = ("why",)

    def __new__(cls, size: int, longest: int) -> OverlongLine:
        """Create the placeholder from the line's length and the limit."""
        why = (
            f"the line has {size:,} characters, and the limit is {longest:,}: raise `longest_line` to read it"
        )
        made = super().__new__(cls, f"[{why}]")
        made.why = why
        return made

    why: str


class Source(Protocol):
    """A file or folder to import; every call starts again from the beginning."""

    @property
    def name(self) -> str:
        """The last part of the path (`chat.jsonl`, `1719820000000`)."""
        ...

    @property
    def path(self) -> str:
        """The whole path as text, for origins and messages; may be empty for text that came from elsewhere."""
        ...

    @property
    def is_folder(self) -> bool:
        """True for a folder: only `children` may be used then."""
        ...

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield numbered lines (from 1) without line ends; a BOM is removed; undecodable bytes become U+FFFD."""
        ...

    def text(self) -> str:
        """Return the whole file as text; a BOM is removed."""
        ...

    def chunks(self) -> Iterator[str]:
        """Yield the file as text in pieces of moderate size, for incremental parsers."""
        ...

    def head(self, characters: int = 65536) -> str:
        """Return the first characters of the file."""
        ...

    def data(self, most: int = -1) -> bytes:
        """Return the raw bytes, for attachments and packed files; no more than `most` where that is not negative."""
        ...

    def child(self, name: str) -> Source | None:
        """Return a file or folder inside this folder (`/` allowed), or beside this file for `../name`; None where absent."""
        ...

    def children(self) -> tuple[str, ...]:
        """Return the names inside this folder, sorted."""
        ...


#: Returns the bytes of a blob by its hash; None once forgotten.
Blobs: TypeAlias = Callable[[str], bytes | None]


@dataclass(frozen=True, slots=True)
class FormatOutput:
    """The output of a writer: pieces of text in order, then what the format could not hold.

    `problems` is complete only once `text` has been read to the end.
    """

    text: Iterable[str]
    problems: list[Problem]


@dataclass(frozen=True, slots=True)
class Format:
    """One file format of another tool."""

    name: str  # `claude-code`, `sillytavern`, ... as typed on the command line
    label: str  # `Claude Code transcript`, for people
    suffix: str  # `.jsonl`, for exports
    sniff: Callable[[Source], float]  # 0.0 (surely not) to 1.0 (surely); must be cheap and never raise
    read: Callable[[Source], Iterable[ForeignThread]]  # raises FormatError only if nothing can be read
    write: Callable[[ForeignThread, Blobs], FormatOutput] | None = None  # None: import only
