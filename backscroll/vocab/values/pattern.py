"""Regular expressions compiled on first use.

Owns one thing: `late`, for patterns at the top of a module. A process that builds one prompt imports hundreds of them and uses a few,
and compiling them took a third of its time. After the first use a late pattern is as fast as any other: its methods are those of the
compiled one.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _LazyPattern:
    """A pattern that is compiled at first use."""

    def __init__(self, source: str, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, found)  # later accesses bypass `__getattr__`
        return found

    def __repr__(self) -> str:
        return f"late({self._source!r})"


def late(source: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern, compiled at first use; an invalid one is reported then."""
    return cast("re.Pattern[str]", _LazyPattern(source, flags))
