"""Removal of handles from blocks, for models without a tool to open them.

A handle such as `[bs:17]` names an original that a prompt does not show. Without a tool that opens it, it only costs
tokens and invites the model to call a missing tool; so do the sentences that explain handles. Words of the conversation itself are
never touched: of a message that is shown verbatim, or with its results in a line, only the handle that stands for its own rest
goes. Not here: deciding who gets them (`engine/prompts/builder`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from backscroll.vocab.handle import IN_TEXT, handle_of
from backscroll.vocab.part import Json, Part, Text, ToolCall, ToolResult
from backscroll.vocab.prompt import Block, Level

_ANY = IN_TEXT.pattern
_SHAPE = r"\[bs:…\]"  # how a title describes handles
#: Our phrases around a handle; `H` is the handle.
_AROUND = (
    r" The whole is kept: expand H",
    r"全文已保留：展开 H",
    r"; H has them in full",
    r"；H 是全部原文",
    r"; H names the originals",
    r"；H 指向原文",
    r"; expand a handle such as H for the full result",
    r"；展开 H 这样的句柄可看完整结果",
)


def offers_expand(tools: Sequence[Mapping[str, Json]]) -> bool:
    """Return True if one of the tools, in the form of any wire, returns the originals."""
    return any("expand" in name.lower() for name in map(_name, tools))


def _name(tool: Mapping[str, Json]) -> str:
    inner: Json = tool.get("function")
    named = cast("Mapping[str, Json]", inner) if isinstance(inner, Mapping) else tool
    return str(named.get("name") or "")


def without_handles(block: Block) -> Block:
    """Return a block without handles; its text and its token count are otherwise unchanged, so the count is slightly too
    high.
    """
    own = block.message is not None and block.level <= Level.DIGEST and not _stands_in(block)
    handle = re.escape(handle_of(block.message)) if own and block.message is not None else _ANY
    parts = tuple(_part(part, handle, own=own) for part in block.parts)
    return block if parts == block.parts else replace(block, parts=parts)


def _stands_in(block: Block) -> bool:
    """Return True for the summary of a crop: its revision is derived from its text, not from an event of the thread."""
    return any(block.message is not None and s.thread != block.message.thread for s in block.sources)


def _part(part: Part, handle: str, *, own: bool) -> Part:
    match part:
        case Text(text=text):
            return replace(part, text=_strip_handle(text, handle, own=own)) if "[bs:" in text else part
        case ToolResult(content=content):
            return replace(part, content=tuple(_part(inner, handle, own=own) for inner in content))
        case ToolCall(arguments=arguments):
            return replace(part, arguments=_value(arguments, handle))
        case _:
            return part


def _value(value: Json, handle: str) -> Json:
    """Return arguments without the handles of omitted text."""
    if isinstance(value, str):
        return _strip_handle(value, handle, own=True) if "[bs:" in value else value
    if isinstance(value, Mapping):
        return {k: _value(v, handle) for k, v in cast("Mapping[str, Json]", value).items()}
    if isinstance(value, list):
        return [_value(v, handle) for v in cast("list[Json]", value)]
    return value


def _strip_handle(text: str, handle: str, *, own: bool) -> str:
    either = f"(?:{handle}|{_SHAPE})"
    for words in _AROUND:
        text = re.sub(words.replace("H", either), "", text)
    if not own:
        text = re.sub(rf"\n(?:[-•] )?{handle}(?=\n|\Z)", "", text)
        text = re.sub(rf"(?m)^((?:[-•] )?){handle} ?", r"\1", text)
    return re.sub(rf" ?{handle}", "", text)
