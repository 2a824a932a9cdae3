"""The rendered prompt, in the form common to all wires.

Owns: the messages, the system text beside them, the source blocks of each message, the cache marks.
Marks are kept beside the messages, so that two prompts can be compared byte for byte; `add_cache_marks` inserts
them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple, TypeAlias

from backscroll.assemble.validity.rules import RepairAction
from backscroll.assemble.wires.insertion import InsertionForm
from backscroll.formats.shape import Blobs
from backscroll.formats.sources.rows import as_array, as_object
from backscroll.vocab.part import Json
from backscroll.vocab.prompt import Block, Wire

#: Whether the proofs of a reply's thinking may be sent back: yes or no for all, or decided block by block.
SameModel: TypeAlias = bool | Callable[[Block], bool]

_MARKS: Final[dict[str, tuple[str, Json]]] = {
    "anthropic": ("cache_control", {"type": "ephemeral"}),
    "openai-chat": ("prompt_cache_breakpoint", {"mode": "explicit"}),
    "openai-responses": ("prompt_cache_breakpoint", {"mode": "explicit"}),
}


class Breakpoint(NamedTuple):
    """A place for a cache mark: the end of a block."""

    part: Literal["tools", "system", "messages"]
    message: int  # index of the message; 0 for tools and system
    block: int  # index of the block in it, of the tool, of the block of the system text


class WireContext(NamedTuple):
    """What a wire needs besides the blocks."""

    blobs: Blobs
    model: str | None
    same_model: SameModel
    tools: bool = True  # False: none are sent
    insertions: InsertionForm = "plain"

    def proves(self, block: Block) -> bool:
        """Return True if signatures and sealed reasoning of this block may be sent back."""
        return self.same_model if isinstance(self.same_model, bool) else self.same_model(block)


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """A prompt rendered for a wire."""

    wire: Wire
    messages: list[dict[str, Json]]
    system: (
        Json  # Anthropic: the system prompt, a list of text blocks; Responses: the instructions; Chat: None
    )
    origins: list[tuple[int, ...]]  # for each message the indexes of its source blocks; empty: added
    system_origins: tuple[int, ...]
    breakpoints: tuple[Breakpoint, ...]
    stable: int  # so many messages recur byte for byte in longer prompts; the newest one may still grow
    inserted: tuple[int, ...]  # indexes of the blocks that are our own insertions
    cache_key: str  # a suggestion for `prompt_cache_key`
    changes: tuple[RepairAction, ...]  # the repairs made
    tools: Sequence[Json] | None = None
    waiting: tuple[str, ...] = ()  # calls with stand-ins at the end, by their ids in the history
    goes_on: str = ""  # request at the end that asks the model to continue its reply

    @property
    def settled(self) -> bool:
        """False if the end contains a placeholder for something still to come: a waiting result, the user's next message."""
        return any(self.origins) and not self.waiting and not self.goes_on

    def add_cache_marks(self) -> RenderedPrompt:
        """Return the prompt with cache marks inserted, if the wire has them and they were requested."""
        key, value = _MARKS[self.wire]
        messages, system, tools = list(self.messages), self.system, self.tools
        for point in self.breakpoints:
            if point.part == "tools":
                tools = _put(list(tools or ()), point.block, key, value)
            elif point.part == "system":
                system = _put(list(as_array(system) or ()), point.block, key, value)
            else:
                message = messages[point.message]
                blocks = _as_blocks(message.get("content"))
                messages[point.message] = {**message, "content": _put(blocks, point.block, key, value)}
        return replace(self, messages=messages, system=system, tools=tools)


def _put(blocks: list[Json], place: int, key: str, value: Json) -> list[Json]:
    return [{**block, key: value} if n == place else block for n, block in enumerate(blocks)]


def _as_blocks(content: Json) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(as_array(content) or ())


def block_kinds(message: dict[str, Json]) -> list[str]:
    """Return the kinds of the blocks of a message, a text counting as one."""
    content = message.get("content")
    if isinstance(content, str):
        return ["text"]
    return [str((as_object(block) or {}).get("type")) for block in as_array(content) or []]
