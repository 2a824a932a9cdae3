"""A `Source` made of values in memory, for tests of formats: no file is opened, so no file is left behind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

Tree: TypeAlias = "str | bytes | Mapping[str, Tree]"

#: Small on purpose, so that incremental readers meet tokens cut in two.
CHUNK = 1000


class MemorySource:
    """A file (text or bytes) or a folder (a mapping from names to files and folders)."""

    def __init__(
        self,
        content: Tree,
        name: str = "chat.jsonl",
        path: str | None = None,
        folder: MemorySource | None = None,
    ) -> None:
        self._content: Tree = content
        self._name = name
        self._folder = folder
        self._path = path if path is not None else f"{folder.path}/{name}" if folder else name

    @property
    def name(self) -> str:
        return self._name

    @property
    def path(self) -> str:
        return self._path

    @property
    def is_folder(self) -> bool:
        return not isinstance(self._content, str | bytes)

    def lines(self) -> Iterator[tuple[int, str]]:
        # Only line feeds end a line: JSON strings may hold U+2028 and other characters that `splitlines` cuts at.
        pieces = self.text().split("\n")
        if pieces[-1] == "":
            pieces.pop()
        for number, line in enumerate(pieces, 1):
            yield number, line.removesuffix("\r")

    def text(self) -> str:
        return self.data().decode("utf-8", errors="replace").removeprefix("\ufeff")

    def chunks(self) -> Iterator[str]:
        text = self.text()
        for start in range(0, len(text), CHUNK):
            yield text[start : start + CHUNK]

    def head(self, characters: int = 65536) -> str:
        return self.text()[:characters]

    def data(self, most: int = -1) -> bytes:
        if isinstance(self._content, bytes):
            return self._content if most < 0 else self._content[:most]
        if isinstance(self._content, str):
            encoded = self._content.encode("utf-8", errors="surrogatepass")
            return encoded if most < 0 else encoded[:most]
        raise IsADirectoryError(self._path)

    def child(self, name: str) -> MemorySource | None:
        here: MemorySource | None = self
        for step in name.split("/"):
            if here is None:
                return None
            here = here._folder if step == ".." else here._inside(step)
        return here

    def _inside(self, name: str) -> MemorySource | None:
        if isinstance(self._content, str | bytes) or name not in self._content:
            return None
        return MemorySource(self._content[name], name, None, self)

    def children(self) -> tuple[str, ...]:
        if isinstance(self._content, str | bytes):
            raise NotADirectoryError(self._path)
        return tuple(sorted(self._content))
