"""Insertions: text added between the messages of a conversation, placed once and never moved.

Owns: which blocks are insertions, whether their text is our own, and their form on a wire. Our own text (task, operations,
memory, and entries of lorebooks, which the user chose) may have the role of the developer or the user. Text quoted from
elsewhere (recalled text, graph) must never be mistaken for an instruction: it is sent as the result of a call if that is certainly
valid, else in a frame that no text can close, because its name is derived from the text itself. Every choice depends on the request
and on earlier blocks alone.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from backscroll.assemble.validity.draft import mint_digits
from backscroll.assemble.validity.models import binds_thinking, knows_developer
from backscroll.vocab.part import Text, ToolCall, ToolResult
from backscroll.vocab.prompt import TAIL, Block, Section, Wire

#: `plain`: forms that every model takes. `system`: system messages in the middle, on Claude models that take them.
InsertionForm: TypeAlias = Literal["plain", "system"]
INSERTION_FORMS: tuple[InsertionForm, ...] = get_args(InsertionForm)


def insertion_form(name: str) -> InsertionForm:
    """Return the insertion form of this name in the settings."""
    return "system" if name == "system" else "plain"


#: The tool that recalled text is attributed to, if it is sent as a result.
TOOL: Final = "backscroll_recall"
_OWN: Final = frozenset({Section.TASK, Section.OPERATIONS, Section.MEMORY, Section.LORE})
_SAID: Final = frozenset({Section.HISTORY, Section.RECENT})


class InsertionContext(NamedTuple):
    """The properties of a request that limit the forms of insertions."""

    wire: Wire
    model: str | None = None
    tools: bool = False  # True: tools are offered


def begins_history(block: Block) -> bool:
    """Return True for a block of the conversation itself; memory after it is an insertion."""
    return block.section in _SAID


def is_inserted(block: Block, *, begun: bool) -> bool:
    """Return True for our own block between messages. `begun`: the conversation has started before it."""
    return block.section in TAIL or (block.section is Section.MEMORY and block.message is None and begun)


def is_own(block: Block) -> bool:
    """Return True for our own text, False for quoted text."""
    return block.section in _OWN


def takes_pair(block: Block, manner: InsertionContext, before: str) -> bool:
    """Return True if quoted text can be the result of a call. `before` is the role of the last message.

    Claude models in the older thinking mode refuse a call without thinking, and it is doubtful inside a loop of
    calls: only models with bound thinking, for which the vendor recommends it, get one, right after a message of the user.
    Other vendors' models on the Chat wire may require proofs or names that a call of ours does not have.
    """
    if is_own(block) or not manner.tools:
        return False
    if manner.wire == "anthropic":
        return binds_thinking(manner.model) and before == "user"
    return manner.wire == "openai-responses" or knows_developer(manner.model)


def as_pair(block: Block) -> tuple[ToolCall, ToolResult]:
    """Return quoted text as a call of ours and its result; the id is derived from its text and its sources."""
    id = f"recall_{mint_digits(block.section, block.text, *map(str, block.sources))[:24]}"
    return ToolCall(id, TOOL, {}), ToolResult(id, (Text(block.text),), name=TOOL)


def words_of_insertion(block: Block) -> str:
    """Return the text as sent if it is not a result: our own unchanged, quoted text in its frame."""
    if is_own(block):
        return block.text
    id = mint_digits(block.section, block.text)[:12]
    return f"[quoted as data {id}]\n{block.text}\n[end of {id}]"
