"""Backscroll: long conversations, kept whole.

    import backscroll
    with backscroll.open("notes.db") as store:
        thread = store.create("First steps")
        thread.append("user", "Hello")

Names are loaded when first used, so importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from backscroll.act.agent import Agent
    from backscroll.assemble.validity import check, repair
    from backscroll.engine.engine import Engine
    from backscroll.engine.opening import open
    from backscroll.engine.reading import History
    from backscroll.engine.thread import Thread
    from backscroll.errors import (
        BackscrollError,
        Conflict,
        Forgotten,
        FormatError,
        InvalidInput,
        NotFound,
        StoreError,
    )
    from backscroll.surfaces.wrapping import wrap
    from backscroll.vocab.event import Event, Kind
    from backscroll.vocab.ids import Ref
    from backscroll.vocab.message import Content, Message, Revision
    from backscroll.vocab.part import Media, Opaque, Reasoning, Text, ToolCall, ToolResult
    from backscroll.vocab.thread import Step, ThreadInfo, Turn

__version__ = "0.1.0"

_HOME = {
    "act.agent": ("Agent",),
    "assemble.validity": ("check", "repair"),
    "engine.engine": ("Engine",),
    "engine.opening": ("open",),
    "engine.reading": ("History",),
    "engine.thread": ("Thread",),
    "errors": (
        "BackscrollError",
        "Conflict",
        "Forgotten",
        "FormatError",
        "InvalidInput",
        "NotFound",
        "StoreError",
    ),
    "surfaces.wrapping": ("wrap",),
    "vocab.event": ("Event", "Kind"),
    "vocab.ids": ("Ref",),
    "vocab.message": ("Content", "Message", "Revision"),
    "vocab.part": ("Media", "Opaque", "Reasoning", "Text", "ToolCall", "ToolResult"),
    "vocab.thread": ("Step", "ThreadInfo", "Turn"),
}
_WHERE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Agent",
    "BackscrollError",
    "Conflict",
    "Content",
    "Engine",
    "Event",
    "Forgotten",
    "FormatError",
    "History",
    "InvalidInput",
    "Kind",
    "Media",
    "Message",
    "NotFound",
    "Opaque",
    "Reasoning",
    "Ref",
    "Revision",
    "Step",
    "StoreError",
    "Text",
    "Thread",
    "ThreadInfo",
    "ToolCall",
    "ToolResult",
    "Turn",
    "check",
    "open",
    "repair",
    "wrap",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'backscroll' has no attribute {name!r}")
    value = getattr(import_module(f"backscroll.{_WHERE[name]}"), name)
    globals()[name] = value
    return value
