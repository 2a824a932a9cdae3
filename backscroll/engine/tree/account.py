"""A readable summary of a conversation's current state: from the summary tree and the last turn, not from all of its history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backscroll.derive.summaries.account import account
from backscroll.derive.summaries.gist import Gist
from backscroll.derive.summaries.tree import PROGRESS
from backscroll.engine.core.history import message_of
from backscroll.engine.core.lineage import View
from backscroll.engine.tree.reader import Forest
from backscroll.engine.tree.tree import catch_up
from backscroll.errors import InvalidInput
from backscroll.formats.language import language_of
from backscroll.llm.tokens.tokens import tokenizer_for
from backscroll.vocab.message import Message

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope

LEAST = 60  # tokens below which a summary is useless
_AT_ONCE = 20_000  # events that are summarized while a caller waits
_BACK = 64  # messages in which the last exchange is searched


def context_summary(thread: ThreadScope, budget: int = 800) -> str:
    """Return a readable summary of the conversation's state, at most `budget` tokens long, in its own language."""
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < LEAST:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(
            f"an account cannot have {budget!r} tokens", hint=f"give a whole number of {LEAST} or more"
        )

    catch_up(thread.engine, thread.id, _AT_ONCE)
    info = thread.legible.info
    gists, last, behind = thread.reading(_read)
    language = info.language if info.language in ("en", "zh") else _language(gists, last)
    return account(
        title=info.title,
        turns=info.turns,
        messages=info.messages,
        gists=gists,
        last=last,
        budget=budget,
        count=tokenizer_for(thread.engine.settings.model).count,
        language=language,
        behind=behind,
    )


def _read(view: View) -> tuple[list[Gist], list[Message], int]:
    """Return the gists of the tree, the last exchange, and how many events the tree has not processed."""
    forest = Forest(view)
    gists = [forest.gist(part) for part in forest.cover(None, None)]
    rows = view.page(_BACK, newest_first=True)
    recent = [message_of(*row) for row in reversed(rows) if row[1].body is not None]
    asked = [n for n, m in enumerate(recent) if m.role == "user" and not m.hidden]
    behind = view.as_of - view.reader.progress(view.state.id, PROGRESS)
    return gists, recent[asked[-1] :] if asked else recent, behind


def _language(gists: list[Gist], last: list[Message]) -> str:
    lines = [line.text for g in gists for line in g.lines][:200]
    return language_of("\n".join([*lines, *(m.text[:400] for m in last)])) or "en"
