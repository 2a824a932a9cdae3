"""The last resort: fit blocks into a budget in any case.

A compaction only aims at a budget; this guarantees it. Blocks that are too large are cut in the middle and name the handle of the
whole; then the oldest are dropped. Held blocks stay verbatim: system messages, pins, the latest user message, waiting calls. Other blocks
of the same unit (results of sibling calls) are only cut. If even these do not fit, the error names the smallest sufficient budget.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from backscroll.assemble.compaction.retention import water_level
from backscroll.assemble.compaction.tuning import HEAD, LAST_FLOOR, NEWEST
from backscroll.assemble.view.meter import Meter, render_arguments
from backscroll.assemble.view.pieces import GAP, arguments_of
from backscroll.errors import BudgetTooSmall
from backscroll.formats.sources.json_text import dumps
from backscroll.vocab.handle import handle_of
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from backscroll.vocab.prompt import Block, Level, Section


def minimum_of(blocks: Sequence[Block], safe: Collection[Ref], meter: Meter) -> int:
    """Return the smallest budget for what must stay. `safe` names the messages that are shown verbatim."""
    groups = [group for group in _groups(blocks) if _stays(group, safe)]
    return sum(b.tokens for group in groups for b in _least(group, safe, meter))


def fit_last(blocks: Sequence[Block], budget: int, meter: Meter, safe: Collection[Ref]) -> list[Block]:
    """Return the blocks, cut and dropped until they fit. Blocks that fit are returned unchanged."""
    if sum(b.tokens for b in blocks) <= budget:
        return list(blocks)
    least = minimum_of(blocks, safe, meter)
    if least > budget:
        raise BudgetTooSmall(
            f"the budget of {budget} tokens is too small: what may not be left out takes {least}",
            minimum=least,
            hint="give a larger budget, or unpin or shorten what is pinned",
        )
    groups = _groups(blocks)
    stay = [_stays(group, safe) for group in groups]
    newest = _newest(groups)
    if newest is not None and not stay[newest]:
        stay[newest] = least + sum(b.tokens for b in _least(groups[newest], safe, meter)) <= budget
    last = len(groups) - 1 if newest is None else newest
    made = _drop_oldest(_cut_to(groups, last, budget, meter, safe), stay, budget, meter)
    if sum(b.tokens for b in made) <= budget:
        return made
    # Cutting does not always reach the requested size: other blocks of a unit with held ones are made as small as possible.
    small = [_least(group, safe, meter) for group in groups]
    if newest is not None and stay[newest]:
        others = sum(b.tokens for at, g in enumerate(small) if stay[at] and at != newest for b in g)
        shared = _share_room(groups[newest], budget - others, meter, safe)
        made = _drop_oldest([*small[:newest], shared, *small[newest + 1 :]], stay, budget, meter)
        if sum(b.tokens for b in made) <= budget:
            return made
    return _drop_oldest(small, stay, budget, meter)


def _newest(groups: Sequence[Sequence[Block]]) -> int | None:
    """Return the step that the next reply answers: the newest reply with the results of its calls, if any."""
    at = next((at for at in range(len(groups) - 1, -1, -1) if groups[at][0].role == "assistant"), None)
    return None if at is None or len(groups[at]) == 1 else at


def _share_room(group: Sequence[Block], room: int, meter: Meter, safe: Collection[Ref]) -> list[Block]:
    """Fit a unit into so many tokens: small blocks stay whole, large ones get equal shares."""
    free = room - sum(b.tokens for b in group if _is_held(b, safe))
    share = max(_level([b.tokens for b in group if not _is_held(b, safe)], free), LAST_FLOOR)
    return [b if _is_held(b, safe) else cut_block(b, share, meter) for b in group]


def _least(group: Sequence[Block], safe: Collection[Ref], meter: Meter) -> list[Block]:
    """Return a unit cut as far as possible."""
    return [b if _is_held(b, safe) else cut_block(b, LAST_FLOOR, meter) for b in group]


def _groups(blocks: Sequence[Block]) -> list[list[Block]]:
    """Group blocks, each reply with the results of its calls."""
    out: list[list[Block]] = []
    for block in blocks:
        if block.role == "tool" and out and out[-1][0].role == "assistant":
            out[-1].append(block)
        else:
            out.append([block])
    return out


def _is_held(block: Block, safe: Collection[Ref]) -> bool:
    return block.role == "system" or (block.message is not None and block.message in safe)


def _stays(group: Sequence[Block], safe: Collection[Ref]) -> bool:
    return any(_is_held(b, safe) for b in group)


def _cut_to(
    groups: Sequence[list[Block]], newest: int, budget: int, meter: Meter, safe: Collection[Ref]
) -> list[list[Block]]:
    """Cut blocks to a common size, as high as the budget allows; the newest step only if nothing else helps."""
    for share in (float("inf"), NEWEST):
        shares = [share if at == newest else 1 for at in range(len(groups))]
        fixed = sum(b.tokens for g in groups for b in g if _is_held(b, safe))
        sizes = [
            (b.tokens, share)
            for g, share in zip(groups, shares, strict=True)
            for b in g
            if not _is_held(b, safe)
        ]
        low, high = LAST_FLOOR, max((n for n, _ in sizes), default=LAST_FLOOR)
        while low < high:
            middle = (low + high + 1) // 2
            if fixed + sum(min(n, middle * share) for n, share in sizes) <= budget:
                low = middle
            else:
                high = middle - 1
        if fixed + sum(min(n, low * share) for n, share in sizes) <= budget:
            break
    return [
        [
            b if _is_held(b, safe) or share * low >= b.tokens else cut_block(b, int(low * share), meter)
            for b in g
        ]
        for g, share in zip(groups, shares, strict=True)
    ]


def _drop_oldest(
    groups: Sequence[list[Block]], stay: Sequence[bool], budget: int, meter: Meter
) -> list[Block]:
    """Drop the oldest groups that do not fit, and name them in a line if it fits."""
    total = sum(b.tokens for g in groups for b in g)
    out: list[Block] = []
    gone: list[Block] = []
    place = 0
    for group, stays in zip(groups, stay, strict=True):
        if total > budget and not stays:
            total -= sum(b.tokens for b in group)
            place = place if gone else len(out)
            gone += group
        else:
            out += group
    line = _line_for(gone, meter)
    if line is not None and total + line.tokens <= budget:
        out.insert(place, line)
    return out


def _line_for(gone: Sequence[Block], meter: Meter) -> Block | None:
    names = [b.message for b in gone if b.message is not None]
    if not names:
        return None
    parts = (Text(f"{GAP} {handle_of(min(names, key=_seq), max(names, key=_seq))}"),)
    sources = tuple(dict.fromkeys(r for b in gone for r in b.sources))
    return Block(
        "user", parts, Section.HISTORY, Level.GONE, sources, reason="gone", tokens=meter.parts(parts)
    )


def _seq(ref: Ref) -> int:
    return ref.seq


def cut_block(block: Block, tokens: int, meter: Meter) -> Block:
    """Return the block in at most so many tokens, as far as its texts and arguments can be cut."""
    if block.tokens <= tokens:
        return block
    handle = "" if block.message is None else " " + handle_of(block.message)
    room = tokens - meter.frame
    parts = tuple(p for p in block.parts if not isinstance(p, Reasoning | Opaque)) or (Text(GAP + handle),)
    weights = [meter.part(p) for p in parts]
    cap = _level(weights, room)
    made = tuple(
        p if n <= cap else _cut_part(p, cap, meter, handle) for p, n in zip(parts, weights, strict=True)
    )
    size = meter.parts(made, block.author)
    level = block.level if block.level is Level.GIST else Level.DIGEST
    return (
        block if size >= block.tokens else replace(block, parts=made, level=level, tokens=size, reason="cut")
    )


def _level(weights: Sequence[int], room: int) -> int:
    """Return the highest cap under which all weights together fit, in whole tokens."""
    return max(int(water_level(weights, room)), 8)


def _cut_part(part: Part, tokens: int, meter: Meter, handle: str) -> Part:
    match part:
        case Text():
            return replace(part, text=middle_cut(part.text, tokens, meter, handle))
        case ToolResult():
            text = "\n".join(c.text for c in part.content if isinstance(c, Text))
            return replace(part, content=(Text(middle_cut(text, tokens, meter, handle)),))
        case ToolCall():
            return replace(
                part,
                arguments=_cut_arguments(part, tokens - meter.count(part.name) - meter.call, meter, handle),
            )
        case _:
            return Text(f"{GAP}{handle}")


def _cut_arguments(call: ToolCall, tokens: int, meter: Meter, handle: str) -> Json:
    value: Json = {"cut": middle_cut(render_arguments(arguments_of(call)), tokens - 6, meter, handle)}
    return dumps(value) if isinstance(call.arguments, str) else value


def middle_cut(text: str, tokens: int, meter: Meter, handle: str) -> str:
    """Return the beginning and the end of a text with a gap between them, in at most so many tokens."""
    total = meter.count(text)
    if total <= tokens:
        return text
    gap = f"\n{GAP}{handle}\n"
    room = tokens - meter.count(gap)
    length = int(len(text) * max(room, 0) / total)
    while length > 0:
        head = int(length * HEAD)
        made = text[:head] + gap + text[len(text) - (length - head) :]
        over = meter.count(made) - tokens
        if over <= 0:
            return made
        length = min(length - 1, int(length * room / (room + over)) if room > 0 else 0)
    return f"{GAP}{handle}"
