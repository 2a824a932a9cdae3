"""Fit the blocks of a prompt into the room of the request, and find the smallest possible prompt."""

from __future__ import annotations

from collections.abc import Sequence

from backscroll.engine.budget.request import too_small
from backscroll.engine.prompts.account import Prompt, make_prompt
from backscroll.engine.prompts.composition.composer import weight
from backscroll.engine.prompts.insertions import Insertions
from backscroll.engine.prompts.rendering import LAST_WORD, REPAIRED, PromptRenderer, count_tokens
from backscroll.errors import BudgetTooSmall
from backscroll.vocab.prompt import Block

_TRIES = 4  # how often the blocks are refitted if the wire needs more


def smallest_blocks(job: PromptRenderer) -> list[Block]:
    """Return the blocks that every prompt must show; if they do not fit, the error names the smallest sufficient budget.

    This alone decides whether a budget is rejected, so a larger one never is if a smaller one works.
    """
    blocks = job.composer.least()
    if weight(blocks) + REPAIRED * (2 * len(blocks) + 2) + LAST_WORD <= job.ask.room:
        return blocks
    waiting = weight(b for b in blocks if b.reason == "unanswered")
    need = count_tokens(blocks, job.render_blocks(blocks))
    refused = too_small(job.composer.thread.engine, job.ask, need, waiting)
    if refused is not None:
        raise refused
    return blocks


def fit_prompt(
    job: PromptRenderer, stable: Sequence[Block], new: Insertions, least: Sequence[Block]
) -> tuple[Prompt, tuple[Block, ...]]:
    """Fit, render and repair; a repair can add tokens, so this may take another try.

    If no try fits, only the required blocks are sent, which are known to fit.
    """
    room, more = job.ask.room, LAST_WORD
    for attempt in range(_TRIES):
        # New insertions are dropped first; a pin never is.
        kept = new.blocks if attempt < 2 else tuple(b for b in new.blocks if b.message is not None)
        try:
            blocks = job.composer.fit_blocks([*stable, *kept], room - more)
        except BudgetTooSmall:
            break
        rendered = job.render_blocks(blocks)
        need = count_tokens(blocks, rendered)
        if need <= room:
            cut = list(blocks) != [*stable, *kept]
            return make_prompt(job, blocks, rendered, new.why, cut=cut), tuple(b for b in kept if b in blocks)
        more = max(more, need - weight(blocks))
    return make_prompt(job, least, job.render_blocks(least), new.why, cut=True), ()
