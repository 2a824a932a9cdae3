"""What every format is made of: how it is recognised, read and written.

A format module defines one module-level `FORMAT: Format`. Readers never open files: they get a `Source`. Writers never
open files either: they yield text. What a writer cannot say in its format it reports as `Problem`s, never drops silently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from backscroll.vocab.foreign import ForeignThread, Problem


class Overlong(str):
    """What stands for a line that is longer than the limit, and was not read."""

    __slots__ = ("why",)

    def __new__(cls, size: int, longest: int) -> Overlong:
        """Say how long it was."""
        why = (
            f"the line has {size:,} characters, and the limit is {longest:,}: raise `longest_line` to read it"
        )
        made = super().__new__(cls, f"[{why}]")
        made.why = why
        return made

    why: str


class Source(Protocol):
    """A file or a folder that somebody wants to import; every call starts again from the beginning."""

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
        """Numbered lines (from 1) without line ends; a BOM is removed; undecodable bytes become U+FFFD."""
        ...

    def text(self) -> str:
        """The whole file as text; a BOM is removed."""
        ...

    def chunks(self) -> Iterator[str]:
        """The file as text in pieces of moderate size, for incremental parsers."""
        ...

    def head(self, characters: int = 65536) -> str:
        """The first characters of the file."""
        ...

    def data(self, most: int = -1) -> bytes:
        """The raw bytes, for attachments and packed files; no more than `most` where that is not negative."""
        ...

    def child(self, name: str) -> Source | None:
        """A file or folder inside this folder (`/` allowed), or beside this file for `../name`; None where absent."""
        ...

    def children(self) -> tuple[str, ...]:
        """The names inside this folder, sorted."""
        ...


#: Fetches the bytes of a blob by its hash; None once forgotten.
Blobs: TypeAlias = Callable[[str], bytes | None]


@dataclass(frozen=True, slots=True)
class Written:
    """What a writer gives back: the pieces of text in order, and afterwards what the format could not say.

    `problems` is complete only once `text` has been read to the end.
    """

    text: Iterable[str]
    problems: list[Problem]


@dataclass(frozen=True, slots=True)
class Format:
    """One foreign shape."""

    name: str  # `claude-code`, `sillytavern`, ... as typed on the command line
    label: str  # `Claude Code transcript`, for people
    suffix: str  # `.jsonl`, for exports
    sniff: Callable[[Source], float]  # 0.0 (surely not) to 1.0 (surely); must be cheap and never raise
    read: Callable[
        [Source], Iterable[ForeignThread]
    ]  # raises FormatError only where nothing at all can be read
    write: Callable[[ForeignThread, Blobs], Written] | None = None  # None: import only
