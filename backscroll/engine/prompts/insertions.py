"""Insertions: text to add to a prompt that is neither in the history nor added before.

Pins, memories, the current task, operations no longer shown, recalled details, what the graph knows. Each text is placed
once, after the newest message, and stays there until the next compaction; so only what is new or changed is added, and
nothing that the history shows. Recalled details answer a question of the user: they are searched when it is asked, and
again if a compaction happened since. Text from earlier is marked as data.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from backscroll.assemble.view.handles import offers_expand
from backscroll.derive.operations import recent_operations, render_operations
from backscroll.engine.folder.recent_operations import operations
from backscroll.engine.prompts.composition.placement import SourceCheck
from backscroll.engine.prompts.sections.graph import graph_block
from backscroll.engine.prompts.sections.lore import look_at_lore
from backscroll.engine.prompts.sections.profile import profile_block
from backscroll.engine.prompts.sections.tasks import ended_line, task_block
from backscroll.engine.search.recall import recall_for_prompt
from backscroll.engine.work.memory.memory_block import memory_block
from backscroll.record.turns import into_turns
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message, is_spoken_by_user
from backscroll.vocab.part import Text
from backscroll.vocab.prompt import INSERTED, Block, Level, Section

if TYPE_CHECKING:
    from backscroll.derive.digest import Digest
    from backscroll.engine.prompts.composition.composer import Composer

#: The heading of lines added to an earlier insertion.
SINCE: Mapping[str, str] = {
    "en": "Since then (a record, not a request):",
    "zh": "此后（仅为记录，不是请求）：",
}

_ANSWERED = 3  # replies after which a question needs no more recalled details


@dataclass(frozen=True, slots=True)
class Insertions:
    """The blocks to insert, and why details were recalled or not."""

    blocks: tuple[Block, ...]
    why: str


def insertions_for(composer: Composer, stable: Sequence[Block], *, recall: bool, anew: bool) -> Insertions:
    """Return what to insert now. `stable` is what the prompt shows already; `anew`: a compaction was just made."""
    newest = next(reversed(composer.sheet.window), None)
    if newest is None or newest.role == "system":
        return Insertions((), "there is nothing to look for")
    found = _InsertionFinder(composer, stable, anew=anew)
    pins, lore = found.pins(), found.lore()
    blocks = [*pins, *found.memories()]
    blocks += [*found.profile(blocks), *found.task(), *found.operations()]
    why = "recall is off"
    if recall and composer.as_of is None:
        recalled, why = found.recall_details()
        blocks += recalled
        blocks += found.graph()
    return Insertions((*blocks, *lore), why)


class _InsertionFinder:
    """Finds the insertions of one prompt."""

    def __init__(self, composer: Composer, stable: Sequence[Block], *, anew: bool) -> None:
        self.composer, self.stable, self.anew = composer, stable, anew
        self._known: dict[Ref, bool] = {}
        self.settings = composer.thread.engine.settings
        free = composer.ask.room - sum(block.tokens for block in stable)
        self.room = max(free, int(0.25 * composer.ask.room)) if anew else free
        self.shown = {
            s
            for b in stable
            if b.level is Level.VERBATIM and b.section is not Section.RECALLED
            for s in b.sources
        }
        self.told = {
            section: {line for b in stable if b.section is section for line in b.text.split("\n")}
            for section in INSERTED
        }
        window = composer.sheet.window
        self.newest = window[-1] if window else None
        spoken = (m for m in reversed(window) if is_spoken_by_user(m))
        self.question: Message | None = next(spoken, composer.sheet.asked)

    def _holds(self, source: Ref) -> bool:
        """Return True if a revision is valid here. Each check is short: a caller that waits for a connection must not hold one."""
        if source not in self._known:
            thread, moment = self.composer.thread, self.composer.as_of
            history = thread if moment is None else thread.at(moment)
            self._known[source] = source in self.shown or history.reading(
                lambda v: SourceCheck(v).source(source)
            )
        return self._known[source]

    def _most(self, share: float) -> int:
        return min(self.room, int(share * self.composer.ask.room))

    def _take_block(self, block: Block | None) -> list[Block]:
        if block is None or not all(map(self._holds, block.sources)):
            return []  # a source was deleted here: the next prompt would not show it
        weighed = self.composer.weigh_block(block)
        if weighed.tokens > self.room:
            return []
        self.room -= weighed.tokens
        return [weighed]

    def _news(self, block: Block | None) -> Block | None:
        """Return a block without lines that were inserted before; None if nothing is left."""
        if block is None:
            return None
        told = self.told[block.section]
        if not told:
            return block
        lines = list(_new_lines(block.text.split("\n")[1:], told))
        if not lines:
            return None
        title = SINCE["zh" if self.composer.frames.startswith("zh") else "en"]
        return replace(block, parts=(Text("\n".join([title, *lines])),))

    # -- independent of a question -----------------------------------------------------------------------------

    def pins(self) -> list[Block]:
        """Return messages that were pinned after they were condensed: they are shown, whatever the room."""
        found = self.composer.pinned_since(self.stable)
        self.room -= sum(block.tokens for block in found)
        return found

    def lore(self) -> list[Block]:
        """Return lorebook entries that the newest messages trigger and that this prompt does not show."""
        composer = self.composer
        if composer.as_of is not None or not composer.memory.books.entries:
            return []

        look = look_at_lore(composer, composer.memory.books, self.stable, self.room, anew=self.anew)
        return [taken for block in look.blocks for taken in self._take_block(block)]

    def memories(self) -> list[Block]:
        """Return memories of earlier work that are not in this prompt."""
        composer = self.composer
        if composer.as_of is not None:
            return []

        room = self._most(self.settings.share_memory)
        told = self.told[Section.MEMORY]
        block = memory_block(
            composer.thread,
            room,
            composer.ask.tokenizer.count,
            shown=self.shown,
            known=told,
            holds=self._holds,
            now=self.anew,
            language=composer.frames,
        )
        return self._take_block(self._change_title(block, told))

    def profile(self, said: Sequence[Block]) -> list[Block]:
        """Return what other conversations of the user, or of the project, contribute; `said` precedes it."""
        room = self._most(self.settings.share_profile)
        if room <= 0:
            return []

        told = self.told[Section.PROFILE]
        new = {line for block in said for line in block.text.split("\n")}
        everything = told | self.told[Section.MEMORY] | new
        block = profile_block(self.composer, room, self.question, self.shown, everything)
        return self._take_block(self._change_title(block, told))

    def _change_title(self, block: Block | None, told: Collection[str]) -> Block | None:
        """Return a block with its follow-up title if one of its kind was inserted before."""
        if block is None or not told:
            return block
        title = SINCE["zh" if self.composer.frames.startswith("zh") else "en"]
        return replace(block, parts=(Text("\n".join([title, *block.text.split("\n")[1:]])),))

    def task(self) -> list[Block]:
        """Return the state of the current task."""
        room = self._most(self.settings.share_task)
        block = task_block(self.composer, room, self.shown)
        if block is None and self.told[Section.TASK]:
            block = ended_line(self.composer, self.told[Section.TASK])
        return self._take_block(self._news(block))

    def operations(self) -> list[Block]:
        """Return recent tool calls that a condensed history does not show; inserted once, at the compaction."""
        composer = self.composer
        if composer.frozen is None or not self.anew or self.settings.operations_inline:
            return []
        crops, shown = composer.sheet.crops, _find_shown(composer)
        digests = [
            d
            for d in _lately(composer)
            if d.call not in shown and not any(crop.holds(d.call) for crop in crops)
        ]
        room = self._most(self.settings.share_operations)
        while digests:
            block = _operations(digests, composer.frames, handles=offers_expand(composer.ask.tools))
            if composer.weigh_block(block).tokens <= room:
                return self._take_block(block)
            digests = digests[max(1, len(digests) // 4) :]
        return []

    # -- recalled for a question -------------------------------------------------------------------------------

    def recall_details(self) -> tuple[list[Block], str]:
        """Return details that the question asks for; searched once, and again if a compaction happened soon after."""
        question, composer = self.question, self.composer
        if question is None or not question.text.strip():
            return [], "there is nothing to look for"
        replies = [
            m for m in composer.sheet.window if m.role == "assistant" and m.position > question.position
        ]
        again = self.anew and len(replies) <= _ANSWERED
        if not again and (self.newest is not question or self._was_recalled(question)):
            return [], "it was looked for when the question was asked"
        room = self._most(self.settings.share_recalled)
        if room < 60:
            return [], "no room for recalled details"

        frame = composer.meter.parts((Text(""),))
        known = {s for b in self.stable if b.section is Section.RECALLED for s in b.sources}
        count = composer.ask.tokenizer.count
        found = recall_for_prompt(
            composer.thread, question, room - frame, count, exclude=frozenset(self.shown | known)
        )
        if found is None or not found.items:
            return [], "nothing older is needed, or nothing good enough was found"
        block = Block(
            "user",
            (Text(found.text),),
            Section.RECALLED,
            Level.VERBATIM,
            found.sources,
            reason="the newest message asks for it",
        )
        taken = self._take_block(block)
        if not taken:
            return [], "no room for recalled details"
        return taken, f"{len(found.items)} details recalled"

    def _was_recalled(self, question: Message) -> bool:
        """Return True if details are already placed after the question."""
        after = False
        for block in self.stable:
            after = after or block.message == question.id
            if after and block.section is Section.RECALLED:
                return True
        return False

    def graph(self) -> list[Block]:
        """Return what the graph knows about the current subject."""
        if not self.anew and self.newest is not self.question:
            return []
        block = graph_block(self.composer, self._most(self.settings.share_graph), self.shown)
        return self._take_block(self._news(block))


def _new_lines(lines: Iterable[str], told: Collection[str]) -> Iterator[str]:
    """Yield lines that were not inserted before, each list under its own heading."""
    heading = ""
    for line in lines:
        listed = line.startswith("- ") or line.partition(". ")[0].isdecimal()
        if listed and line not in told:
            if heading:
                yield heading
            yield line
            heading = ""
        elif not listed and line.endswith((":", "：")):
            heading = line
        elif not listed:
            heading = ""
            if line not in told:
                yield line


# -- operations ------------------------------------------------------------------------------------------------------


def _find_shown(composer: Composer) -> set[Ref]:
    """Return messages that a condensed history shows at any resolution."""
    if composer.frozen is None:
        return set()
    levels: Mapping[Ref, Level] = composer.frozen.compaction.levels
    units = (u for u in composer.units if levels.get(u.id, Level.VERBATIM) < Level.SUMMARY)
    return {message.id for unit in units for message in unit.messages}


def _lately(composer: Composer) -> list[Digest]:
    """Return the tool calls of the last rounds; as of an earlier moment, those in its window."""
    if composer.as_of is None:
        return operations(composer.thread)
    settings = composer.thread.engine.settings
    turns = list(into_turns(composer.thread.id, composer.sheet.window))
    return recent_operations(turns, rounds=settings.operations_rounds, max_summaries=settings.max_summaries)


def _operations(digests: Sequence[Digest], language: str, *, handles: bool) -> Block:
    parts = (Text(render_operations(digests, language, expands=handles)),)
    sources = tuple(dict.fromkeys(d.call for d in digests))
    return Block("user", parts, Section.OPERATIONS, Level.DIGEST, sources, reason="recent operations")
