"""Token counts of blocks: text, calls, results, and the overhead of a message.

Owns no tokenizer: the counter is passed in, and so are cached counts (`sizes`, by revision).
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
    """Counts tokens. `frame` is what a wire adds to every message, `call` what it adds to a call."""

    count: Count
    sizes: Mapping[Ref, int] = field(
        default_factory=_none
    )  # of whole messages, by revision, overhead included
    frame: int = 4
    call: int = 2
    media: int = 1100  # the default for media: an image of medium size

    def message(self, message: Message) -> int:
        """Return tokens of a message in its current state."""
        known = self.sizes.get(message.revision)
        return self.parts(message.parts, message.author) if known is None else known

    def parts(self, parts: Sequence[Part], author: str | None = None) -> int:
        """Return tokens of a message with these parts and this author."""
        return self.frame + sum(self.part(part) for part in parts) + (self.count(author) if author else 0)

    def part(self, part: Part) -> int:
        """Return tokens of one part, without the overhead of its message."""
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
    """Return the arguments of a call as given, as text."""
    if isinstance(arguments, str):
        return arguments
    return "{}" if arguments is None else dumps(arguments)


def rough(text: str) -> float:
    """Estimate the tokens of a text, where an exact count is not worth the time."""
    return 0.28 * len(text.encode("utf-8", "surrogatepass"))
