"""What git distinguishes of a file: its mode, and whether its content is text."""

from __future__ import annotations

from typing import Literal, TypeAlias

#: What a path is: a plain file, one that may be run, a symbolic link (its content is where it points).
Kind: TypeAlias = Literal["file", "exec", "link"]
MODES: dict[Kind, str] = {"file": "100644", "exec": "100755", "link": "120000"}
KINDS: dict[str, Kind] = {mode: kind for kind, mode in MODES.items()}
_LOOKED_AT = 8000  # bytes in which a zero byte means that it is not text


def is_binary(data: bytes) -> bool:
    """Return True for what is not text."""
    return b"\0" in data[:_LOOKED_AT]
