"""Loggers, one for each room that touches something: `backscroll.engine`, `.stores`, `.llm`, `.act`, `.workspace`, `.surfaces`.

Quiet unless the program configures `logging`. Records hold ids, names of tools and models, counts and classes of errors; never the words
of a conversation, arguments, addresses, keys or messages of errors, which may quote all of these. Pure rooms log nothing.
"""

from __future__ import annotations

import logging
from typing import Literal, TypeAlias

Room: TypeAlias = Literal["engine", "stores", "llm", "act", "workspace", "surfaces"]

logging.getLogger("backscroll").addHandler(logging.NullHandler())


def logger_of(room: Room) -> logging.Logger:
    """Return the logger of a room."""
    return logging.getLogger(f"backscroll.{room}")
