"""Backscroll in OpenAI's Agents SDK: a session for its runner (install `backscroll[agents]`)."""

from __future__ import annotations

from backscroll.surfaces.adapters.openai_agents import BackscrollSession

__all__ = ["BackscrollSession"]
