"""Loggers, one for each room that performs I/O: `backscroll.engine`, `.stores`, `.llm`, `.act`, `.workspace`, `.surfaces`.

Silent unless the program configures `logging`. Records contain ids, names of tools and models, counts and error classes;
never conversation text, arguments, addresses, keys or error messages, which may quote all of these. Pure rooms log nothing.
"""

from __future__ import annotations

import logging
from typing import Literal, TypeAlias

Room: TypeAlias = Literal["engine", "stores", "llm", "act", "workspace", "surfaces"]

logging.getLogger("backscroll").addHandler(logging.NullHandler())


def logger_of(room: Room) -> logging.Logger:
    """Return the logger of a room."""
    return logging.getLogger(f"backscroll.{room}")
