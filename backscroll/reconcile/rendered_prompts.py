"""Plan a sync from a rendered prompt, which has both less and more than the conversation.

Less: the oldest messages were dropped to fit, hidden ones are absent, neighbours may be joined. More: a system prompt, lore,
notes and markers are in between, and names may precede the text. So a prompt never deletes anything: messages missing in the
middle are hidden, which is reversible, and noted; blocks that are not part of the conversation are noted and left out.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from backscroll.reconcile.alignment import Pair
from backscroll.reconcile.holes import beside_holes, withhold
from backscroll.reconcile.joined_messages import by_signature, piece, taken_apart
from backscroll.reconcile.matching import (
    NEAR,
    ForeignBlock,
    Gap,
    Keys,
    Matching,
    Sides,
    kind_of,
    sides_of,
    start_matching,
)
from backscroll.reconcile.normal import normal_text
from backscroll.reconcile.operations import (
    Ambiguity,
    InjectionNote,
    Note,
    OurEntry,
    RegenerateRequest,
    SyncPlan,
    TrimNote,
)
from backscroll.reconcile.placement import UnmatchedOutcome, matched_of, operations_of
from backscroll.reconcile.slides import settle
from backscroll.reconcile.stages import (
    by_absence,
    by_ids,
    by_knowledge,
    by_likeness,
    by_move,
    by_tail,
    by_words,
    top_of,
)
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.part import Text

#: Prefixes of a marker line after which the chat begins.
MARKERS = ("[Start a new Chat", "[Start a new group chat")
REPLACED = 2  # how many neighbours may have been replaced in place


def plan_prompt(
    ours: Sequence[OurEntry], theirs: Sequence[ForeignMessage], keys: Keys, markers: tuple[str, ...]
) -> SyncPlan:
    """Return the plan for our history from the prompt that another program sent to a model."""
    known = {keys.loose(entry.content) for entry in ours}
    sent = [block for t, m in enumerate(theirs) for block in _blocks(m, t, keys, known) if block.loose]
    blocks, notes, begun = _chat_only(sent, markers, keys)
    sides = sides_of(ours, blocks, keys)
    matching = _same_words(sides)
    for hidden in (False, True):  # first expected entries, then unexpected ones
        expected = frozenset(o for o in range(len(ours)) if _visible(sides, o) or (hidden and sides.live(o)))
        parted, joined = taken_apart(sides, matching, expected.__contains__, keys)
        if joined or parted != sides.blocks:
            notes.extend(joined)
            sides = sides_of(ours, parted, keys)
            matching = _same_words(sides)
    notes += _match_prompt(sides, matching)
    fate = _PromptOutcome(sides, matching, begun, notes)
    fate.decide()
    verdict = UnmatchedOutcome(frozenset(), frozenset(fate.hide), frozenset(fate.add))
    operations, more = operations_of(sides, matching, verdict, knows_hidden=False)
    return SyncPlan(tuple(operations), (*notes, *more), matched_of(sides, matching))


def _blocks(message: ForeignMessage, theirs: int, keys: Keys, known: Container[str]) -> list[ForeignBlock]:
    """Return one block per message of theirs; several if it joins signed messages."""
    block = ForeignBlock(message, theirs, keys.loose(message.content), kind_of("prompt", message.role))
    parts = message.content.parts
    if len(parts) != 1 or not isinstance(parts[0], Text):
        return [block]
    text = normal_text(parts[0].text)
    if keys.names.split_name(text)[0] is None:
        return [block]
    return [piece(block, text, keys, glued=False)] if block.loose in known else by_signature(block, keys)


def _chat_only(
    blocks: Sequence[ForeignBlock], markers: tuple[str, ...], keys: Keys
) -> tuple[list[ForeignBlock], list[Note], bool]:
    """Return the blocks after the chat marker, those before it, and whether there was one."""
    starts = tuple(marker.casefold() for marker in markers)
    for t in range(len(blocks) - 1, -1, -1):
        lines = normal_text(blocks[t].message.content.text).split("\n")
        marked = [k for k, line in enumerate(lines) if starts and line.casefold().startswith(starts)]
        if not marked:
            continue
        before = [*blocks[:t], piece(blocks[t], "\n".join(lines[: marked[-1] + 1]), keys, glued=False)]
        notes: list[Note] = [InjectionNote(b.theirs, b.loose, "stands before the chat") for b in before]
        rest = "\n".join(lines[marked[-1] + 1 :]).strip()
        after = [piece(blocks[t], rest, keys, glued=False)] if rest else []
        return [*after, *blocks[t + 1 :]], notes, True
    return list(blocks), [], False


def _visible(sides: Sides, o: int) -> bool:
    """Return True for entries that a prompt should show; empty ones never show."""
    return sides.live(o) and not sides.ours[o].hidden and bool(sides.our_loose[o])


def _same_words(sides: Sides) -> Matching:
    """Match equal words in order: first expected entries, then the others."""
    matching = start_matching(sides)
    said = [t for t, block in enumerate(sides.blocks) if block.message.role != "system"]
    if by_tail(sides, matching, [o for o in range(len(sides.ours)) if _visible(sides, o)], said):
        return matching
    by_ids(sides, matching)
    by_words(sides, matching, lambda o: _visible(sides, o))
    by_absence(sides, matching, lambda o: sides.live(o) and sides.ours[o].hidden)
    return matching


def _match_prompt(sides: Sides, matching: Matching) -> list[Note]:
    notes = settle(sides, matching, lambda o: _visible(sides, o), complete=False)
    notes += by_move(sides, matching, lambda o: _visible(sides, o), top_of(sides, matching))
    if matching.free_blocks():
        withhold(sides, matching)
        by_absence(sides, matching, lambda o: sides.ours[o].deleted and not sides.ours[o].forgotten)
        by_knowledge(sides, matching, sides.live)
        by_likeness(sides, matching, lambda o: _visible(sides, o))
        gaps = matching.gaps(lambda o: _visible(sides, o))
        matching.take([pair for gap in gaps for pair in _same_place(sides, matching, gap)])
        notes += beside_holes(sides, matching)
    return notes


def _same_place(sides: Sides, matching: Matching, gap: Gap) -> list[Pair]:
    """Return pairs by position: a reply to the same message, or one or two messages between the same neighbours; not at the
    top, where lore is."""
    said = [t for t in gap.theirs if sides.blocks[t].message.role != "system"]
    if not said or not gap.number or gap.ours[0] < top_of(sides, matching):
        return []
    ours, before = gap.ours, matching.chain[gap.number - 1][0]
    out: list[Pair] = []
    first = (sides.our_kinds[ours[0]], sides.blocks[said[0]].kind)
    if sides.our_kinds[before] == "user" and first == ("assistant", "assistant"):
        out.append((ours[0], said[0]))
        ours, said = ours[1:], said[1:]
    kinds = [sides.our_kinds[o] for o in ours]
    if len(ours) <= REPLACED and kinds == [sides.blocks[t].kind for t in said]:
        out.extend(zip(ours, said, strict=True))
    return out


@dataclass(slots=True)
class _PromptOutcome:
    """The outcome of unmatched items."""

    sides: Sides
    matching: Matching
    begun: bool  # a marker showed where the chat begins
    notes: list[Note]
    hide: set[int] = field(default_factory=set[int])
    add: set[int] = field(default_factory=set[int])
    known: set[int] = field(default_factory=set[int])  # tokens of everything that was ever live here
    first: int = 0  # the first and last block that found a match
    last: int = -1
    lines: set[str] = field(default_factory=set[str])  # and the lines of the text around it

    def decide(self) -> None:
        """Decide blocks first, then entries: what was added at the end determines what is expected there."""
        found = [t for t, o in enumerate(self.matching.ours_of) if o >= 0]
        self.first, self.last = (found[0], found[-1]) if found else (len(self.sides.blocks), -1)
        self.known = {token for o, token in enumerate(self.sides.our_tokens) if self.sides.live(o)}
        top = top_of(self.sides, self.matching)
        around = range(max(top - NEAR, 0), len(self.sides.ours))
        texts = (self.sides.our_loose[o] for o in around if self.sides.live(o))
        self.lines = {line for text in texts for line in text.split("\n")}
        self._learn(found)
        lone = [o for o in self.matching.free_entries() if _visible(self.sides, o)]
        trimmed = tuple(self.sides.ours[o].id for o in lone if o < top)
        if trimmed:
            self.notes.append(TrimNote(trimmed))
        runs = [run for gap in self.matching.gaps(lambda _: False, both=False) for run in self._runs(gap)]
        while runs:  # added text is known from then on, and may show that other blocks are messages too
            found = [run for run in runs if self._is_said(run, trimmed=bool(trimmed))]
            for run in found:
                self._take(run, said=True)
                self._learn(run)
            runs = [run for run in runs if run not in found]
            if not found:
                break
        for run in runs:
            self._take(run, said=False)
        if trimmed and self.add and not self.matching.chain:
            considered = ("another conversation", "trimmed beyond all that we know", "everything was changed")
            self.notes.append(Ambiguity("nothing-in-common", considered, "appended"))
        self._miss([o for o in lone if o >= top])

    def _take(self, run: Sequence[int], *, said: bool) -> None:
        if said:
            self.add.update(run)
        else:
            self.notes.extend(self._make_injected(t, "was never said") for t in run)
        if not self._sure(run):
            theirs = tuple(self.sides.blocks[t].theirs for t in run)
            done = "added" if said else "left out"
            self.notes.append(Ambiguity("injected-or-said", ("injected", "said"), done, (), theirs))

    def _is_said(self, run: Sequence[int], *, trimmed: bool) -> bool:
        """Return whether these blocks are messages: at the end, certainly; elsewhere they may be lore."""
        blocks = [self.sides.blocks[t] for t in run]
        spoken = any(b.message.role == "assistant" for b in blocks)
        if run[0] > self.last or any(b.signed for b in blocks):
            return True
        if any(self.sides.their_tokens[t] in self.known for t in run):
            return True  # lore does not repeat messages
        glued = blocks[0].glued
        if glued and all(line in self.lines for b in blocks for line in b.loose.split("\n")):
            return True
        if run[-1] < self.first:
            return self.begun or (spoken and not trimmed and not glued)
        return not glued and (spoken or not self._between_users(run))

    def _learn(self, blocks: Sequence[int]) -> None:
        """Remember that text of messages is not lore, wherever else it appears."""
        for t in blocks:
            self.known.add(self.sides.their_tokens[t])
            self.lines.update(self.sides.blocks[t].loose.split("\n"))

    def _sure(self, run: Sequence[int]) -> bool:
        blocks = [self.sides.blocks[t] for t in run]
        if any(b.signed for b in blocks):
            return True
        if run[0] > self.last:
            return not blocks[0].glued
        return run[-1] < self.first and self.begun

    def _runs(self, gap: Gap) -> list[list[int]]:
        """Return neighbouring free blocks that may be messages; system text in between is lore."""
        runs: list[list[int]] = []
        for t in gap.theirs:
            block = self.sides.blocks[t]
            if block.message.role == "system":
                self.notes.append(self._make_injected(t, "a system block that is not ours"))
            elif (
                runs
                and block.glued == self.sides.blocks[runs[-1][-1]].glued
                and self._adjoin(runs[-1][-1], t)
            ):
                runs[-1].append(t)
            else:
                runs.append([t])
        return runs

    def _adjoin(self, first: int, second: int) -> bool:
        between = range(first + 1, second)
        return all(self.sides.blocks[t].message.role == "system" for t in between)

    def _between_users(self, run: Sequence[int]) -> bool:
        """Return True if a user message is next to it: users rarely send two in a row, lore does."""
        blocks = self.sides.blocks
        before = (blocks[t].kind for t in range(run[0] - 1, -1, -1) if blocks[t].message.role != "system")
        after = (
            blocks[t].kind for t in range(run[-1] + 1, len(blocks)) if blocks[t].message.role != "system"
        )
        return "user" in (next(before, ""), next(after, ""))

    def _make_injected(self, t: int, why: str) -> InjectionNote:
        return InjectionNote(self.sides.blocks[t].theirs, self.sides.blocks[t].loose, why)

    def _miss(self, lone: Sequence[int]) -> None:
        """Note entries missing from a prompt: expected replies at the end; others were hidden or deleted there."""
        chain = self.matching.chain
        end = chain[-1][0] if chain else len(self.sides.ours)
        awaited: list[int] = []
        if not any(t > chain[-1][1] for t in (*self.add, *self.matching.moved) if chain):
            for o in lone:
                if o > end and self.sides.ours[o].role == "user":
                    break
                if o > end:
                    awaited.append(o)
        if awaited:
            self.notes.append(RegenerateRequest(tuple(self.sides.ours[o].id for o in awaited)))
        self.hide.update(set(lone) - set(awaited))
        if self.hide:
            ids = tuple(self.sides.ours[o].id for o in sorted(self.hide))
            self.notes.append(Ambiguity("deleted-or-hidden", ("deleted", "hidden"), "hidden", ids))
