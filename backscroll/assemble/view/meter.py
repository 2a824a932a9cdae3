"""Token counts of blocks: words, calls, results, and the frame around a message.

Owns no tokenizer: how a text is counted is passed in, and what was counted once is passed in too (`sizes`, by revision).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from backscroll.assemble.wires.parts import arguments_text
from backscroll.derive.recipe import Count
from backscroll.formats.sources.json_text import dumps
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import Json, Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult


def _none() -> Mapping[Ref, int]:
    return {}


@dataclass(frozen=True, slots=True)
class Meter:
    """How tokens are counted. `frame` is what a wire adds to every message, `call` what it adds to a call."""

    count: Count
    sizes: Mapping[Ref, int] = field(default_factory=_none)  # of whole messages, by revision, frame included
    frame: int = 4
    call: int = 2
    media: int = 1100  # where no count is known: what an image of middling size costs

    def message(self, message: Message) -> int:
        """Return tokens of a message in its current state."""
        known = self.sizes.get(message.revision)
        return self.parts(message.parts, message.author) if known is None else known

    def parts(self, parts: Sequence[Part], author: str | None = None) -> int:
        """Return tokens of a message that consists of these parts, signed by an author."""
        return self.frame + sum(self.part(part) for part in parts) + (self.count(author) if author else 0)

    def part(self, part: Part) -> int:
        """Return tokens of one part, without the frame of its message."""
        match part:
            case Text() | Reasoning():
                return self.count(part.text) if part.text else 0
            case ToolCall():
                return self.count(part.name) + self.count(arguments_text(part)) + self.call
            case ToolResult():
                return sum(self.part(inner) for inner in part.content)
            case Media():
                return self.media
            case Opaque():
                return self.count(part.raw)


def render_arguments(arguments: Json) -> str:
    """Return the arguments of a call as they were given, as text."""
    if isinstance(arguments, str):
        return arguments
    return "{}" if arguments is None else dumps(arguments)


def rough(text: str) -> float:
    """Estimate the tokens of a text, where a table would take longer than the answer is worth."""
    return 0.28 * len(text.encode("utf-8", "surrogatepass"))
