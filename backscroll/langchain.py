"""Backscroll in LangChain: a message history and a middleware (install `backscroll[langchain]`)."""

from __future__ import annotations

from backscroll.surfaces.adapters.langchain import BackscrollChatMessageHistory, BackscrollMiddleware

__all__ = ["BackscrollChatMessageHistory", "BackscrollMiddleware"]
