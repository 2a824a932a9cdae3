"""Convert one line of a Claude Code transcript to items and back.

Owns: which lines are messages (`user` and `assistant` with a content), the actual sender, what to hide from a reader. The
line without its content is in `metadata["claude-code"]["line"]` (uuid, parentUuid, usage, toolUseResult, ...), the original
form of the content in `content`; a user line with results and text becomes several messages, the later ones with `joins`.
Every other line is kept verbatim as an `Aside`. How lines are linked: `claude_code/tree`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from backscroll.formats.anthropic.message import pieces
from backscroll.formats.anthropic.parts import BlockWriter, describe_content_shape
from backscroll.formats.sources.rows import (
    UNKNOWN,
    as_array,
    as_object,
    as_text,
    keep_line,
    parse_row,
    time_of,
)
from backscroll.vocab.foreign import Aside, ForeignMessage, Item, Problem
from backscroll.vocab.message import Content, Role
from backscroll.vocab.part import Json, Part

VENDOR = "claude-code"
#: What Claude Code writes in the user's name: not typed by the user, and not to be answered.
_MACHINE = ("<local-command-stdout>", "<local-command-stderr>", "<local-command-caveat>")
_WRAPPED = ("<command-", "<bash-", "[Request interrupted", "Caveat: ")


# -- from a line -----------------------------------------------------------------------------------------------


def content_of(row: Mapping[str, Json]) -> Json:
    """Return the content of a message line, a string or a list; None for every other line."""
    if row.get("type") not in ("user", "assistant"):
        return None
    content = (as_object(row.get("message")) or {}).get("content")
    return content if isinstance(content, str) or as_array(content) is not None else None


def items_of(number: int, line: str, again: int = 0) -> Iterator[Item]:
    """Yield the items of a line. `again` counts earlier lines with the same uuid, so that ids stay unique."""
    row = parse_row(number, line)
    if isinstance(row, Problem):
        yield row
        yield keep_line(line, number)
        return
    kind, uuid = as_text(row.get("type")), as_text(row.get("uuid")) or None
    if uuid and again:
        uuid = f"{uuid}#{again + 1}"
    content = content_of(row)
    if content is not None:
        yield from _messages(number, row, content, uuid)
        return
    if not kind:
        yield Problem("a line without a type", number)
    elif kind in ("user", "assistant"):
        yield Problem(f"a line of the type {kind} without a message that can be read", number)
    yield Aside(kind or UNKNOWN, line, time_of(row.get("timestamp")), uuid, number)


def _messages(number: int, row: Mapping[str, Json], content: Json, uuid: str | None) -> Iterator[Item]:
    odd = sum(as_object(block) is None for block in as_array(content) or [])
    if odd:
        yield Problem(f"{odd} block(s) of the content are no objects; kept as they are", number)
    role: Role = "assistant" if row["type"] == "assistant" else "user"
    message = {**row["message"], "content": None}
    meta: dict[str, Json] = {"line": {**row, "message": message}, "content": describe_content_shape(content)}
    spoken = pieces(role, content)
    when, unseen = time_of(row.get("timestamp")), is_machine(row, content)
    for index, (speaker, parts) in enumerate(spoken):
        last = index == len(spoken) - 1
        yield ForeignMessage(
            speaker,
            Content(parts, metadata={VENDOR: {"joins": as_text(row.get("uuid"))} if index else meta}),
            when,
            # Other lines refer to the whole line, so its id goes to the last piece.
            uuid if last or uuid is None else f"{uuid}/{index}",
            hidden=unseen,
            line=number,
        )


def is_machine(row: Mapping[str, Json], content: Json) -> bool:
    """Return True for text from neither the user nor the model: injected instructions, output of local commands, errors."""
    if row.get("isMeta") is True or row.get("isApiErrorMessage") is True:
        return True
    if (as_object(row.get("message")) or {}).get("model") == "<synthetic>":
        return True
    return row.get("type") == "user" and words_of(content).startswith(_MACHINE)


def is_prompt(row: Mapping[str, Json], content: Json) -> bool:
    """Return True for a prompt typed by the user, which is suitable for a title."""
    if row.get("type") != "user" or row.get("isCompactSummary") or is_machine(row, content):
        return False
    words = words_of(content)
    return bool(words) and not words.startswith(_WRAPPED)


def words_of(content: Json) -> str:
    """Return the first words of a content."""
    if isinstance(content, str):
        return content.lstrip()
    for block in as_array(content) or []:
        data = as_object(block) or {}
        if data.get("type") == "text" and isinstance(data.get("text"), str):
            return data["text"].lstrip()
    return ""


# -- back to a line --------------------------------------------------------------------------------------------


def line_of(
    skeleton: Mapping[str, Json], parts: tuple[Part, ...], how: str, blocks: BlockWriter
) -> dict[str, Json]:
    """Return the line that a message came from, with its content put back."""
    message = as_object(skeleton.get("message")) or {}
    return {**skeleton, "message": {**message, "content": blocks.content(parts, how)}}
