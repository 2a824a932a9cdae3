"""The history as blocks, at the levels of the last compaction.

Owns the form of a unit at each level. Deterministic and prefix-stable: with the same compaction, more units only append blocks,
byte for byte. Calls and results fade together, so no result is ever shown without its call. Wherever something is hidden, its handle is shown. Does not decide: `assemble/compaction/policy` does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from backscroll.assemble.view.compaction import Compaction, CompactionNote
from backscroll.assemble.view.excerpt import shown_parts
from backscroll.assemble.view.meter import Meter
from backscroll.assemble.view.pieces import (
    GAP,
    Range,
    Slot,
    Slots,
    arguments_of,
    render_kept,
    shorten_arguments,
    strings_in,
)
from backscroll.assemble.view.units import Unit, newest_turn, waiting_replies
from backscroll.vocab.handle import handle_of
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message, is_spoken_by_user
from backscroll.vocab.part import Media, Part, Text, ToolCall, ToolResult
from backscroll.vocab.prompt import Block, Level, Section

#: One line for every call of a unit, by call id: it replaces the result.
Lines: TypeAlias = Callable[[Unit], Mapping[str, str]]
Shown: TypeAlias = "tuple[Block, ...] | str"
Memo: TypeAlias = MutableMapping[object, Shown]

CONDENSED = "Earlier, condensed; [bs:…] names the originals:"
NOTES = "Notes from earlier: "
_CHINESE = {CONDENSED: "较早的内容，已压缩；[bs:…] 指向原文：", NOTES: "较早的要点："}
LEAD = 80  # characters shown of a text of which nothing was kept


def call_lines(unit: Unit) -> dict[str, str]:
    """Return one line for every call of a unit, and for results whose call is not in it."""
    results = {p.call_id: p for m in unit.messages for p in m.parts if isinstance(p, ToolResult)}
    out: dict[str, str] = {}
    for message in unit.messages:
        for part in message.parts:
            if isinstance(part, ToolCall):
                out[part.id] = _line(part, results.get(part.id))
    for call_id, result in results.items():
        out.setdefault(call_id, _outcome(result))
    return out


def _line(call: ToolCall, result: ToolResult | None) -> str:
    values = [v.strip().replace("\n", " ") for v in strings_in(arguments_of(call)) if v.strip()]
    target = min(values, key=lambda v: (not any(c in v for c in "/_."), len(v) > 120))[:90] if values else ""
    return f"{call.name} {target}: {_outcome(result)}" if result else f"{call.name} {target}"


def _outcome(result: ToolResult) -> str:
    text = next((c.text for c in result.content if isinstance(c, Text)), "")
    return next(
        (line.strip()[:90] for line in text.split("\n") if line.strip() and not line.startswith("```")), ""
    )


def find_protected_units(units: Sequence[Unit]) -> dict[Ref, str]:
    """Return units that are never condensed, with the reasons: system messages, pins, waiting calls, the latest user message.

    A call waits only while its turn is the newest: once the user has spoken again it was interrupted, and is condensed like
    everything else (a stand-in answers it on the wire).
    """
    out: dict[Ref, str] = {}
    latest = next((u.id for u in reversed(units) if is_spoken_by_user(u.messages[0])), None)
    turn = [m for unit in newest_turn(units) for m in unit.messages]
    waiting = {reply.message.id for reply in waiting_replies(reversed(turn))}
    for unit in units:
        if unit.role == "system":
            out[unit.id] = "system"
        elif unit.pinned:
            stands_in = "backscroll" in unit.messages[0].content.metadata  # our own summary of a crop
            out[unit.id] = "cropped" if stands_in else "pinned"
        elif any(m.id in waiting for m in unit.messages):
            out[unit.id] = "unanswered"
        elif unit.id == latest:
            out[unit.id] = "latest"
    return out


def find_held_messages(units: Sequence[Unit], safe: Mapping[Ref, str] | None = None) -> set[Ref]:
    """Return messages that every prompt shows verbatim: of a protected unit the pin or the waiting reply, not the results
    beside it, which may be cut if nothing else helps. `safe` is the result of `find_protected_units`.
    """
    safe = find_protected_units(units) if safe is None else safe
    out: set[Ref] = set()
    for unit in units:
        why = safe.get(unit.id)
        if why == "unanswered":
            out |= {m.id for m in unit.messages if m.role != "tool"}
        elif why == "pinned":
            out |= {m.id for m in unit.messages if m.pinned}
        elif why is not None:
            out |= {m.id for m in unit.messages}
    return out


@dataclass(frozen=True, slots=True)
class RenderContext:
    """What rendering needs besides the units: the token counter, call lines, the cache of rendered blocks."""

    meter: Meter
    lines: Lines = call_lines
    memo: Memo | None = None
    slots: Slots = field(default_factory=Slots)
    language: str = ""  # of the thread, as recorded
    limit: int = 0  # bytes of a tool result that are shown; 0: all of it

    def title(self, english: str) -> str:
        """Return a title of ours in the language of the thread."""
        return _CHINESE[english] if self.language.startswith("zh") else english

    def show_unit(
        self, unit: Unit, level: Level, keeps: Mapping[Ref, tuple[Range, ...]], reason: str = "kept"
    ) -> Shown:
        """Return a unit at a level: blocks, or the text of its gist. `reason` says why it is shown in full; a unit newer than
        the last compaction is `recent`, with the reason after a colon if it is protected.
        """
        revisions = unit.revisions
        ranges = tuple(keeps.get(r) for r in revisions) if level is not Level.VERBATIM else ()
        # Summaries of crops in two threads can have the same text, and so the same revision.
        key = (unit.id, revisions, level, ranges, reason)
        known = None if self.memo is None else self.memo.get(key)
        if known is not None:
            return known
        made = self._render_unit(unit, level, keeps, reason)
        if self.memo is not None:
            self.memo[key] = made
        return made

    def make_block(self, text: str, sources: tuple[Ref, ...], reason: str) -> Block:
        """Return condensed text as a separate block."""
        key = (text, sources, reason)
        known = None if self.memo is None else self.memo.get(key)
        if known is not None and not isinstance(known, str):
            return known[0]
        parts = (Text(text),)
        tokens = self.meter.parts(parts)
        block = Block("user", parts, Section.HISTORY, Level.GIST, sources, reason=reason, tokens=tokens)
        if self.memo is not None:
            self.memo[key] = (block,)
        return block

    def _render_unit(
        self, unit: Unit, level: Level, keeps: Mapping[Ref, tuple[Range, ...]], reason: str
    ) -> Shown:
        if level is Level.VERBATIM:
            return tuple(self._verbatim(m, reason) for m in unit.messages)
        if level is Level.DIGEST:
            lines = self.lines(unit)
            return tuple(self._digest(m, lines, keeps.get(m.revision)) for m in unit.messages)
        return gist(unit, self.slots, self.lines(unit), keeps)

    def _verbatim(self, message: Message, reason: str) -> Block:
        section = Section.RECENT if reason.startswith("recent") else Section.HISTORY
        reason = reason.removeprefix("recent:")
        if message.role == "system":
            section, reason = Section.SYSTEM, "system"
        parts = shown_parts(message, self.limit, self.language)
        whole = parts is message.parts
        return Block(
            message.role,
            parts,
            section,
            Level.VERBATIM if whole else Level.DIGEST,
            (message.revision,),
            message.id,
            message.author,
            reason if whole else "shown in part",
            self.meter.message(message) if whole else self.meter.parts(parts, message.author),
        )

    def _digest(self, message: Message, lines: Mapping[str, str], ranges: tuple[Range, ...] | None) -> Block:
        block = self._verbatim(message, "kept")
        slots = self.slots(message)
        if slots and ranges and ranges[0] == (0, slots[-1].first + len(slots[-1].pieces)):
            return block  # all of it is kept
        parts = tuple(_render_digest_parts(message, slots, lines, ranges))
        tokens = self.meter.parts(parts, message.author)
        if tokens >= block.tokens:  # a digest no shorter than the original is useless
            return block
        return replace(block, parts=parts, level=Level.DIGEST, reason="digest", tokens=tokens)


def _render_digest_parts(
    message: Message, slots: Sequence[Slot], lines: Mapping[str, str], ranges: tuple[Range, ...] | None
) -> Iterator[Part]:
    """Yield the parts of a message at the level of digests."""
    handle = handle_of(message.id)
    for at, part in enumerate(message.parts):
        own = [slot for slot in slots if slot.part == at]
        match part:
            case Text():
                if ranges is None or not part.text:
                    yield part
                else:
                    left = render_kept(own[0], ranges) if own else ""
                    whole = left == part.text
                    yield (
                        part
                        if whole
                        else replace(part, text=f"{left}\n{GAP} {handle}" if left else f"{GAP} {handle}")
                    )
            case ToolCall():
                yield replace(part, arguments=shorten_arguments(part, own, ranges or ()))
            case ToolResult():
                if own and _is_whole(own, ranges or ()):
                    yield part
                    continue
                left = _render_kept_slots(own, ranges or ())
                text = "\n".join([*left, GAP]) if left else lines.get(part.call_id) or GAP
                yield replace(part, content=(Text(f"{text} {handle}"),))
            case Media():
                yield Text(f"[{part.media_type} {part.name or ''}]".replace(" ]", "]") + f" {handle}")
            case _:  # reasoning and vendor parts are only useful with their original text
                continue


def _is_whole(slots: Sequence[Slot], ranges: Sequence[Range]) -> bool:
    """Return True if ranges keep all of some consecutive texts."""
    first, stop = slots[0].first, slots[-1].first + len(slots[-1].pieces)
    return any(low <= first and stop <= high for low, high in ranges)


def _render_kept_slots(slots: Sequence[Slot], ranges: Sequence[Range]) -> list[str]:
    return [text for slot in slots if (text := render_kept(slot, ranges))]


def _lead(text: str) -> str:
    """Return the beginning of a text of which nothing was kept."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= LEAD else line[:LEAD].rstrip() + GAP


def gist(unit: Unit, slots: Slots, lines: Mapping[str, str], keeps: Mapping[Ref, tuple[Range, ...]]) -> str:
    """Return a unit as a few lines of text: the speaker, the kept text, one line for each call, the kept parts of results."""
    out: list[str] = []
    results: dict[str, list[str]] = {}
    for message in unit.messages[1:] if unit.role == "assistant" else ():
        ranges = keeps.get(message.revision, ())
        for at, part in enumerate(message.parts):
            if isinstance(part, ToolResult) and ranges:
                own = [s for s in slots(message) if s.part == at]
                results.setdefault(part.call_id, []).extend(_render_kept_slots(own, ranges))
    for message in unit.messages:
        ranges = keeps.get(message.revision, ())
        cut = slots(message) if ranges else ()
        for at, part in enumerate(message.parts):
            if isinstance(part, ToolCall):
                out.append("→ " + (lines.get(part.id) or part.name))
            elif isinstance(part, Media):
                out.append(f"[{part.media_type}]")
            elif isinstance(part, ToolResult) and unit.role == "assistant":
                continue
            if isinstance(part, Text) and not ranges:
                out.append(_lead(part.text))
            out.extend(_render_kept_slots([s for s in cut if s.part == at], ranges))
            if isinstance(part, ToolCall):
                out.extend(results.pop(part.id, ()))
    for rest in results.values():  # results whose call is not in this unit
        out.extend(rest)
    return f"{handle_of(unit.id, unit.last)} {unit.role}: " + "\n".join(out)


def view(
    units: Sequence[Unit],
    compaction: Compaction | None,
    lens: RenderContext,
    *,
    dead: Collection[Ref] = frozenset(),
    safe: Mapping[Ref, str] | None = None,
) -> list[Block]:
    """Return the blocks of a history.

    `dead` are revisions that are no longer live: notes taken from them are left out. `safe` is the result of
    `find_protected_units`, if the caller has it.
    """
    safe = find_protected_units(units) if safe is None else safe
    return list(_UnitWalk(units, compaction or Compaction(), lens, dead, safe).blocks())


class _UnitWalk:
    """One pass over the units. Pending gists are joined into one block."""

    def __init__(
        self,
        units: Sequence[Unit],
        compaction: Compaction,
        lens: RenderContext,
        dead: Collection[Ref],
        safe: Mapping[Ref, str],
    ) -> None:
        self.units, self.compaction, self.lens = units, compaction, lens
        self.safe = safe
        self.notes: dict[Ref, list[CompactionNote]] = {}
        for note in compaction.notes:
            if note.source not in dead:
                self.notes.setdefault(note.before, []).append(note)
        self.run: list[tuple[str, Unit]] = []
        self.said = False  # the line that explains condensed text

    def blocks(self) -> Iterator[Block]:
        """Yield all blocks, in order."""
        compaction = self.compaction
        names = {unit.id for unit in self.units}
        first = compaction.start
        begun = first is None
        upto = compaction.upto
        waiting = sorted(ref for ref in self.notes if ref not in names)  # their unit is gone: by number
        for unit in self.units:
            begun = (
                begun
                or unit.id == first
                or (first not in names and first is not None and unit.id.seq >= first.seq)
            )
            old = upto is not None and unit.id.seq <= upto.seq
            here = [ref for ref in waiting if ref.seq <= unit.id.seq]
            waiting = waiting[len(here) :]
            notes = [n for ref in (*here, unit.id) for n in self.notes.get(ref, ())]
            if notes:
                yield from self._flush(notes)
            elif unit.id in compaction.cuts:
                yield from self._flush(())
            yield from self._unit(unit, begun, old)
        rest = [n for ref in waiting for n in self.notes[ref]]
        yield from self._flush(rest)

    def _unit(self, unit: Unit, begun: bool, old: bool) -> Iterator[Block]:
        why = self.safe.get(unit.id)
        level = self.compaction.levels.get(unit.id, Level.VERBATIM)
        if why == "pinned" and level is not Level.VERBATIM:
            why = None  # pinned after it was condensed: until the next compaction it is shown at the end
        level = Level.VERBATIM if why else level
        if not why and (not begun or level >= Level.SUMMARY):
            return
        reason = "kept"
        if level is Level.VERBATIM:
            reason = (why or "kept") if old else (f"recent:{why}" if why else "recent")
        shown = self.lens.show_unit(unit, level, self.compaction.keeps, reason)
        if isinstance(shown, str):
            self.run.append((shown, unit))
            return
        yield from self._flush(())
        yield from shown

    def _flush(self, notes: Sequence[CompactionNote]) -> Iterator[Block]:
        """Yield the pending gists as one block, followed by their notes."""
        if not self.run and not notes:
            return
        texts = [text for text, _ in self.run]
        if texts and not self.said:
            texts.insert(0, self.lens.title(CONDENSED))
            self.said = True
        if notes:
            texts.append(self.lens.title(NOTES) + "; ".join(note.text for note in notes))
        sources = [r for _, unit in self.run for r in unit.revisions] + [note.source for note in notes]
        reason = "gist" if self.run else "notes"
        self.run = []
        yield self.lens.make_block("\n".join(texts), tuple(dict.fromkeys(sources)), reason)
