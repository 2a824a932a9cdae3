"""Tools for agents: the decorator, and the types a tool receives and returns.

    from backscroll.tool import ToolContext, tool

The module itself can be called as the decorator, so that `@backscroll.tool` means the same before and after this import.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from backscroll.agent.tool import Tool, ToolContext, ToolOutput
from backscroll.agent.toolbox import Toolbox, tool

__all__ = ["Tool", "ToolContext", "ToolOutput", "Toolbox", "tool"]


class _Decorator(ModuleType):
    """This module, callable as the decorator of the same name."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        return tool(*args, **named)


sys.modules[__name__].__class__ = _Decorator
