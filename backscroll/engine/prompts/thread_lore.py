"""The lorebooks of a thread: add and remove them, and see which entries prompts include and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from backscroll.engine.budget.request import check_request
from backscroll.engine.core.checks import in_valid_text
from backscroll.engine.core.signatures import doors
from backscroll.engine.knowledge.graph import ThreadGraph
from backscroll.engine.knowledge.lore.books import TELLS
from backscroll.engine.prompts.builder import receipts
from backscroll.engine.prompts.composition.composer import read_composer
from backscroll.engine.prompts.sections.lore import look_at_lore, reason_of
from backscroll.recall.lore.keys import why_unusable
from backscroll.vocab.prompt import Section

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope
    from backscroll.graph.view import WorldEntry
    from backscroll.recall.lore.activation import LoreLine


_USUAL = 128_000  # tokens of a prompt, until there is one


@dataclass(frozen=True, slots=True)
class LoreState:
    """An entry of a lorebook, and whether prompts include it."""

    name: str
    book: str
    keys: tuple[str, ...]
    text: str
    state: str  # shown, next, budget, chance, group, asleep, off, card (it is in the system message)
    why: str = ""  # what triggered it, or what is wrong with its keys
    tokens: int = 0


@doors
class ThreadLore:
    """The lorebooks of one thread."""

    def __init__(self, thread: ThreadScope) -> None:
        self.thread = thread

    def add(self, name: str, data: str | bytes) -> list[WorldEntry]:
        """Add a lorebook or a character card: its text, or the bytes of a PNG or CHARX. The same name replaces it."""
        return ThreadGraph(self.thread).tell_world(name, data)

    @in_valid_text
    def drop(self, name: str) -> None:
        """Remove a lorebook; the next prompt no longer includes its entries."""
        ThreadGraph(self.thread).drop_world(name)

    def entries(self, budget: int | None = None, *, model: str | None = None) -> list[LoreState]:
        """Return every entry of the lorebooks in force, in order, with what the next prompt would do with it.

        Budget and model default to those of the last prompt.
        """
        thread, settings = self.thread, self.thread.engine.settings
        if not (budget or model or settings.budget or settings.model):
            budget = next((receipt.budget for receipt in receipts(thread, 1)), _USUAL)
        composer = read_composer(thread, check_request(thread.engine, budget, model=model))
        books = composer.memory.books
        if not books.entries:
            return []
        stable = composer.blocks(composer.frozen)
        shown = {t.removeprefix(TELLS): b for b in stable if b.section is Section.LORE for t in b.tells}
        free = composer.ask.room - sum(block.tokens for block in stable)
        look = look_at_lore(composer, books, stable, free, anew=False)
        new = {t.removeprefix(TELLS): b for b in look.blocks for t in b.tells}
        awake = {woken.id: reason_of(woken) for woken in look.waking.awake}
        out: list[LoreState] = []
        for line in look.lines:
            state, why, tokens = "asleep", _wrong(line), 0
            if not line.enabled or line.rule.never:
                state = "off"
            elif line.rule.position == "card":
                state = "card"
            elif line.id in shown:
                state, why, tokens = "shown", shown[line.id].reason, shown[line.id].tokens
            elif line.id in new:
                state, why, tokens = "next", new[line.id].reason, new[line.id].tokens
            elif line.id in look.waking.kept_out:
                state = look.waking.kept_out[line.id]
            elif line.id in look.over:
                state, why = "budget", awake[line.id]
            out.append(LoreState(line.name, line.book, line.rule.keys, line.text, state, why, tokens))
        return out


def _wrong(line: LoreLine) -> str:
    """Return what is wrong with the keys of an entry."""
    rule = line.rule
    found = [(key, why_unusable(key, patterns=rule.patterns)) for key in (*rule.keys, *rule.secondary)]
    return "; ".join(f"{key}: {wrong}" for key, wrong in found if wrong)
