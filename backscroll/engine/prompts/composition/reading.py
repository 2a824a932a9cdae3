"""Reading what a prompt needs, at one moment: the step before it is composed."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from backscroll.engine.budget.request import PromptRequest
from backscroll.engine.core.history import History
from backscroll.engine.core.lineage import View
from backscroll.engine.crops.crops import summarised_again
from backscroll.engine.inputs.inputs import read_sheet
from backscroll.engine.inputs.rows import RowCaches
from backscroll.engine.prompts.composition.composer import Composer
from backscroll.engine.prompts.composition.messages import told_by
from backscroll.vocab.ids import Ref

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope

WINDOWS = 8  # threads whose window stays in memory


def read_composer(
    thread: ThreadScope, ask: PromptRequest, as_of: int | None = None, without: Collection[Ref] = ()
) -> Composer:
    """Read what a prompt needs, and get ready to compose it."""
    engine = thread.engine
    now = as_of is None and not without
    memo = engine.memo.shelf("sheets", 512) if now else None
    name = f"{ask.tokenizer.name}:{ask.wire}:{ask.shown}"
    kept = RowCaches(engine.memo.shelf("rows", WINDOWS), name) if now else None

    def read(view: View) -> Composer:
        told, summarised = told_by(engine, ask), summarised_again(thread)
        sheet = read_sheet(view, max(ask.room, 1), told, summarised, memo, kept, without)
        return Composer(thread, ask, sheet, view, as_of)

    return History(thread.store, thread.id, as_of).reading(read)
