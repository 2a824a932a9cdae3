"""The tools every agent has, one small module each."""

from __future__ import annotations

from backscroll.act.tools.standard import standard_tools

__all__ = ["standard_tools"]
