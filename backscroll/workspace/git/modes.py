"""The properties of a file that git distinguishes: mode, and text or binary."""

from __future__ import annotations

from typing import Literal, TypeAlias

#: The kinds of paths: a plain file, an executable one, a symbolic link (its content is the target).
Kind: TypeAlias = Literal["file", "exec", "link"]
MODES: dict[Kind, str] = {"file": "100644", "exec": "100755", "link": "120000"}
KINDS: dict[str, Kind] = {mode: kind for kind, mode in MODES.items()}
_LOOKED_AT = 8000  # leading bytes in which a zero byte means binary


def is_binary(data: bytes) -> bool:
    """Return True for binary content."""
    return b"\0" in data[:_LOOKED_AT]
