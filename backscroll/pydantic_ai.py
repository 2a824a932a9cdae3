"""Backscroll in Pydantic AI: a capability, a history processor, and histories in both directions (install `backscroll[pydantic-ai]`)."""

from __future__ import annotations

from backscroll.surfaces.adapters.pydantic_ai import (
    BackscrollMemory,
    HistoryProcessor,
    history_processor,
    load_history,
    store_history,
)

__all__ = ["BackscrollMemory", "HistoryProcessor", "history_processor", "load_history", "store_history"]
