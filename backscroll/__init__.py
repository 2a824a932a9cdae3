"""Backscroll: long conversations, kept whole.

    import backscroll
    with backscroll.open("notes.db") as store:
        thread = store.create("First steps")
        thread.append("user", "Hello")

Names are loaded when first used, so importing the package costs next to nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from backscroll.agent.agent import Agent
    from backscroll.agent.toolbox import tool
    from backscroll.assemble.receipt import Receipt
    from backscroll.assemble.validity import check, repair
    from backscroll.engine.core.history import History
    from backscroll.engine.engine import Engine
    from backscroll.engine.opening import open
    from backscroll.engine.prompts.builder import Prompt
    from backscroll.engine.thread import Thread
    from backscroll.errors import (
        BackscrollError,
        BudgetExceeded,
        Conflict,
        Forgotten,
        FormatError,
        InvalidInput,
        MissingExtra,
        ModelError,
        NotFound,
        StoreBusy,
        StoreError,
    )
    from backscroll.surfaces.wrap.client import wrap
    from backscroll.vocab.event import Event, Kind
    from backscroll.vocab.ids import Ref
    from backscroll.vocab.message import Content, Message, Revision, Role
    from backscroll.vocab.part import Media, Opaque, Reasoning, Text, ToolCall, ToolResult
    from backscroll.vocab.prompt import Wire
    from backscroll.vocab.thread import Scope, Step, ThreadInfo, Turn

__version__ = "0.1.0"

_HOME = {
    "agent.agent": ("Agent",),
    "assemble.receipt": ("Receipt",),
    "assemble.validity": ("check", "repair"),
    "engine.engine": ("Engine",),
    "engine.opening": ("open",),
    "engine.prompts.builder": ("Prompt",),
    "engine.core.history": ("History",),
    "engine.thread": ("Thread",),
    "errors": (
        "BackscrollError",
        "BudgetExceeded",
        "Conflict",
        "Forgotten",
        "FormatError",
        "InvalidInput",
        "MissingExtra",
        "ModelError",
        "NotFound",
        "StoreBusy",
        "StoreError",
    ),
    "surfaces.wrap.client": ("wrap",),
    "vocab.event": ("Event", "Kind"),
    "vocab.ids": ("Ref",),
    "vocab.message": ("Content", "Message", "Revision", "Role"),
    "vocab.part": ("Media", "Opaque", "Reasoning", "Text", "ToolCall", "ToolResult"),
    "vocab.prompt": ("Wire",),
    "vocab.thread": ("Scope", "Step", "ThreadInfo", "Turn"),
}
#: Modules of the package that `import backscroll` alone also provides.
_MODULES = frozenset({"langchain", "openai_agents", "pydantic_ai", "tool"})
_WHERE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Agent",
    "BackscrollError",
    "BudgetExceeded",
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
    "MissingExtra",
    "ModelError",
    "NotFound",
    "Opaque",
    "Prompt",
    "Reasoning",
    "Receipt",
    "Ref",
    "Revision",
    "Role",
    "Scope",
    "Step",
    "StoreBusy",
    "StoreError",
    "Text",
    "Thread",
    "ThreadInfo",
    "ToolCall",
    "ToolResult",
    "Turn",
    "Wire",
    "check",
    "open",
    "repair",
    "tool",
    "wrap",
]


class _OldPaths:
    """Asked for modules that nothing else finds: those that `old_paths` knows have moved."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        """Return a specification for an old path of this package."""
        del path, target
        if not name.startswith("backscroll."):
            return None
        return import_module("backscroll.old_paths").spec_of(name)


if not any(getattr(finder, "__name__", "") == _OldPaths.__name__ for finder in sys.meta_path):
    sys.meta_path.append(_OldPaths)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"backscroll.{name}")
    if name not in _WHERE:
        raise AttributeError(f"module 'backscroll' has no attribute {name!r}")
    value = getattr(import_module(f"backscroll.{_WHERE[name]}"), name)
    globals()[name] = value
    return value
