"""Landlock rules for everything except protected places.

Owns finding the fewest folders and files that together cover everything below a folder except protected places. Links are left out:
their targets are allowed at their real path, or not at all. Bounded: a folder that contains a protected place is listed, and no
other.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import PurePosixPath

from backscroll.errors import InvalidInput

#: Entries beside protected places that are examined; each costs some microseconds at the start of a command.
MOST = 50_000


def around(top: str, protected: Iterable[str]) -> list[str]:
    """Return what to allow so that everything below `top` is allowed except protected places; absolute paths without links."""
    closed = {str(PurePosixPath(path)) for path in protected}
    lies_in = {str(parent) for path in closed for parent in PurePosixPath(path).parents}
    if top in closed or any(str(parent) in closed for parent in PurePosixPath(top).parents):
        return []
    out: list[str] = []
    left = [top]
    seen = 0
    while left:
        place = left.pop()
        if place not in lies_in:
            out.append(place)
            continue
        for entry in _entries(place):
            seen += 1
            if seen > MOST:
                raise InvalidInput(
                    f"the sandbox would have to look at more than {MOST} names beside protected places",
                    hint="keep the store and the settings in folders of their own",
                )
            if entry.path not in closed and not entry.is_symlink():
                left.append(entry.path)
    return sorted(out)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """Return the entries of a folder; none if it cannot be listed: then nothing in it is allowed either."""
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []
