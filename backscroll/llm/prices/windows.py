"""Find a model's context window and output limit.

Owns the lookup order: the user's own table, ours (`models.toml`), the price list, then conservative figures marked as such.
"""

from __future__ import annotations

from dataclasses import replace

from backscroll.llm.prices.families import ContextWindow, built_in_window, usual_output
from backscroll.llm.prices.prices import listed_window
from backscroll.llm.prices.table import PriceTable

#: Used if nothing better is known.
UNKNOWN_WINDOW = 128_000


def window_for(model: str, *, provider: str = "", table: PriceTable | None = None) -> ContextWindow:
    """Return the window of a model: from the user's own table, ours, or the price list."""
    found = _find_window(model, provider, table)
    own = None if table is None else table.find_output_row(model, provider)
    most = found.output if own is None or own.max_output is None else own.max_output
    return replace(found, output=min(most, found.tokens))


def _find_window(model: str, provider: str, table: PriceTable | None) -> ContextWindow:
    known = built_in_window(model)
    own = None if table is None else table.find_window_row(model, provider)
    if own is not None and own.window is not None:
        return ContextWindow(own.window, known.output if known else usual_output(own.window))
    if known is not None:
        return known
    listed = listed_window(model, provider)  # loads a megabyte of prices: only for names we do not know
    if listed:
        return ContextWindow(listed, usual_output(listed))
    return ContextWindow(UNKNOWN_WINDOW, usual_output(UNKNOWN_WINDOW), known=False)
