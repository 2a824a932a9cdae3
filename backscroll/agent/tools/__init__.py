"""The standard tools, one module each."""

from __future__ import annotations

from backscroll.agent.tools.standard import standard_tools

__all__ = ["standard_tools"]
