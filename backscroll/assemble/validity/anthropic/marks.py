"""Cache marks of the Anthropic wire: four at most, their valid places, the long-lived ones first.

Owns: `cache_control` in tools, system prompt and messages. Not here: placing marks; `wires/anthropic` does that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from backscroll.assemble.validity.draft import DraftMessage, PromptDraft
from backscroll.formats.sources.rows import as_array, as_object, without
from backscroll.vocab.part import Json

MARK: Final = "cache_control"
MOST: Final = 4
_UNMARKED: Final = ("thinking", "redacted_thinking")


class _Mark(NamedTuple):
    """A mark: the part of the prompt, its place there, its path, the block, and how to replace it."""

    part: str
    place: tuple[int, int]
    where: str
    block: dict[str, Json]
    put: Callable[[Json], None]


def mend_marks(draft: PromptDraft) -> None:
    """Remove excess and misplaced marks, and shorten lifetimes that are too long."""
    marks = list(_marks(draft))
    if not marks:
        return
    for mark in marks:
        kind = (as_object(mark.block[MARK]) or {}).get("type")
        if kind != "ephemeral" or mark.block.get("type") in _UNMARKED:
            draft.note("A10", mark.where, "a cache mark that is not allowed here", "it was removed")
            mark.put(without(mark.block, MARK))
    marks = list(_marks(draft))
    kept = _select_marks(marks)
    for mark in marks:
        if (mark.part, mark.place) not in kept:
            draft.note("A10", mark.where, "more than four cache marks", "this one was removed")
            mark.put(without(mark.block, MARK))
    short = False
    for mark in list(_marks(draft)):
        long = mark.block[MARK].get("ttl") == "1h"
        if long and short:
            draft.note(
                "A10",
                mark.where,
                "a cache mark that lives longer than one before it",
                "it lives as long as that one",
            )
            mark.put({**mark.block, MARK: without(mark.block[MARK], "ttl")})
        short = short or not long


def _select_marks(marks: list[_Mark]) -> set[tuple[str, tuple[int, int]]]:
    """Choose the marks to keep: the last of the tools, the last of the system prompt, and the newest of the messages."""
    places = [(mark.part, mark.place) for mark in marks]
    if len(places) <= MOST:
        return set(places)
    kept = [last[-1] for part in ("tools", "system") if (last := [p for p in places if p[0] == part])]
    others = [place for place in places if place[0] == "messages"]
    kept += others[-(MOST - len(kept)) :]
    more = [place for place in reversed(places) if place not in kept]
    return {*kept, *more[: MOST - len(kept)]}


def _marks(draft: PromptDraft) -> Iterator[_Mark]:
    yield from _in_list("tools", 0, "tools", list(draft.tools or ()), lambda value: _set_tools(draft, value))
    system = as_array(draft.system)
    if system is not None:
        yield from _in_list("system", 0, "system", system, lambda value: _set_system(draft, value))
    for n, entry in enumerate(draft.entries):
        content = as_array(entry.message["content"])
        if content is not None:
            yield from _in_list(
                "messages", n, draft.at(entry, ".content"), content, _content_setter(draft, n)
            )


def _set_tools(draft: PromptDraft, value: list[Json]) -> None:
    draft.tools = value


def _set_system(draft: PromptDraft, value: list[Json]) -> None:
    draft.system = value


def _content_setter(draft: PromptDraft, n: int) -> Callable[[list[Json]], None]:
    def put(value: list[Json]) -> None:
        entry = draft.entries[n]
        draft.entries[n] = DraftMessage({**entry.message, "content": value}, entry.origins)

    return put


def _in_list(
    part: str, n: int, path: str, blocks: list[Json], put: Callable[[list[Json]], None]
) -> Iterator[_Mark]:
    current = list(blocks)

    def putter(m: int) -> Callable[[Json], None]:
        def one(block: Json) -> None:
            current[m] = block
            put(list(current))

        return one

    for m, block in enumerate(blocks):
        data = as_object(block)
        if data is not None and data.get(MARK) is not None:
            yield _Mark(part, (n, m), f"{path}[{m}]", data, putter(m))
