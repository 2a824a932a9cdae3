"""Caches for reading the summary tree between compactions: decoded gists, and spans joined from them.

Keyed by node keys, which cover all inputs, so no entry can be stale.
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from backscroll.derive.summaries.gist import Gist
from backscroll.derive.summaries.summary import SummaryDraft, summarise

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope

_GISTS = 256  # gists, and spans put together, that stay in memory


class ForestMemo(NamedTuple):
    """Three small caches."""

    gists: MutableMapping[bytes, Gist]
    drafts: MutableMapping[Any, SummaryDraft]
    spans: MutableMapping[Any, Gist]

    def join_gists(self, key: object, gists: Sequence[Gist], limit: int, level: int) -> Gist:
        """Return several gists joined into one of at most `limit` tokens; cached under a key (None: not cached)."""
        if key is None:
            return summarise(gists, limit_tokens=limit, level=level)
        found = self.spans.get((key, limit))
        if found is None:
            draft = self.drafts.get(key)
            if draft is None:
                draft = self.drafts[key] = SummaryDraft(gists, level=level)
            found = self.spans[key, limit] = draft.within(limit)
        return found


def forest_memo(engine: EngineScope) -> ForestMemo:
    """Return the caches of an engine."""
    memo = engine.memo
    return ForestMemo(memo.shelf("gists", _GISTS), memo.shelf("drafts", _GISTS), memo.shelf("spans", _GISTS))
