"""Files of OpenAI Responses items: a request with `input`, a response with `output`, a bare list, or one of the first per line.

Owns: recognising, reading and writing them, in the shape they had. The plain functions for programs are re-exported from
`openai/responses_item`. Entries that are not items are kept as asides, with a problem. Files with one item per line are
Codex's: `codex` reads those.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from backscroll.errors import FormatError
from backscroll.formats.losses import ExportLosses
from backscroll.formats.openai.responses_item import (
    VENDOR,
    ResponsesPrompt,
    instructions_from,
    is_instructions,
    items_of,
    message_from_item,
    messages_from_responses,
    messages_to_responses,
)
from backscroll.formats.shape import Blobs, Format, FormatOutput, Source
from backscroll.formats.sources.json_text import dumps, elements
from backscroll.formats.sources.rows import (
    as_array,
    as_object,
    as_text,
    keep_line,
    of_vendor,
    parse,
    short_title,
    stem,
    without,
)
from backscroll.vocab.foreign import Aside, ForeignMessage, ForeignThread, Item, Problem
from backscroll.vocab.part import Json

__all__ = ["FORMAT", "ResponsesPrompt", "messages_from_responses", "messages_to_responses"]

Shape: TypeAlias = Literal["list", "object", "row"]
_ENTRY = "openai-responses"  # the kind of an aside that is an entry of the list, but no message
_HINT = "expected a list of items, or an object with `input` or `output`"
_KEY = re.compile(r'"(input|output)"\s*:\s*(?=\[)')
_KINDS = (
    "function_call|function_call_output|custom_tool_call|custom_tool_call_output|reasoning|item_reference|compaction|"
    "web_search_call|file_search_call|image_generation_call|code_interpreter_call|local_shell_call|mcp_call|shell_call"
)
_ITEM = re.compile(rf'"type"\s*:\s*"(?:{_KINDS}|input_text|output_text|input_image)"')


@dataclass(frozen=True, slots=True)
class _ResponseItems:
    """One list of items of a file."""

    name: str
    shape: Shape
    key: str  # input or output
    document: Mapping[str, Json]  # the other keys
    entries: list[tuple[int | None, Json]]
    plain: bool = False  # the input was a text
    troubles: list[Item] = field(default_factory=list[Item])


# -- recognising -----------------------------------------------------------------------------------------------


def _sniff(source: Source) -> float:
    if source.is_folder:
        return 0.0
    head = source.head().lstrip()
    if head.startswith("["):
        first = re.match(r'\[\s*\{[^{}\[\]]*"(?:type|role)"\s*:', head)
        return 0.82 if first and _ITEM.search(head) and '"payload"' not in head else 0.0
    if not head.startswith("{") or '"payload"' in head or '"messages"' in head:
        return 0.0
    if re.search(r'"object"\s*:\s*"response"', head):
        return 0.9
    if _KEY.search(head) and _ITEM.search(head):
        return 0.85
    told = re.search(r'"(?:instructions|model|previous_response_id)"\s*:', head)
    return 0.7 if told and re.search(r'"input"\s*:\s*["\[]', head) else 0.0


# -- reading ---------------------------------------------------------------------------------------------------


def _read(source: Source) -> Iterator[ForeignThread]:
    if source.is_folder:
        raise FormatError(f"{source.name} is a folder", hint="name one of the files in it")
    return (_thread(talk) for talk in _talks(source))


def _talks(source: Source) -> list[_ResponseItems]:
    text = source.text()
    try:
        value = parse(text)
    except ValueError as error:
        return _rows(source) or [_salvage_items(source, text, str(error))]
    talk = _talk(stem(source.name), value, "object")
    if talk is None:
        raise FormatError(f"{source.name} holds no list of items", hint=_HINT)
    return [talk]


def _talk(name: str, value: Json, shape: Shape, line: int | None = None) -> _ResponseItems | None:
    items, document = as_array(value), as_object(value)
    if items is not None:
        return _ResponseItems(name, "list", "input", {}, [(line, item) for item in items])
    if document is None:
        return None
    key = next((k for k in ("input", "output") if as_array(document.get(k)) is not None), None)
    given = as_text(document.get("id")) or name
    if key is not None:
        return _ResponseItems(
            given, shape, key, without(document, key), [(line, item) for item in document[key]]
        )
    if isinstance(document.get("input"), str):
        said = {"role": "user", "content": document["input"]}
        return _ResponseItems(given, shape, "input", without(document, "input"), [(line, said)], plain=True)
    return None


def _rows(source: Source) -> list[_ResponseItems]:
    """Return one request or response per line; empty if the first line is neither."""
    out: list[_ResponseItems] = []
    for number, line in source.lines():
        if not line.strip():
            continue
        try:
            value = parse(line)
        except ValueError as error:
            if not out:
                return []
            out[-1].troubles.extend([Problem(f"not JSON: {error}", number), keep_line(line, number)])
            continue
        talk = _talk(f"{stem(source.name)}:{number}", value, "row", number) if as_object(value) else None
        if talk is None and not out:
            return []
        if talk is None:
            out[-1].troubles.extend([Problem("not a list of items", number), keep_line(line, number)])
        else:
            out.append(talk)
    return out


def _salvage_items(source: Source, text: str, why: str) -> _ResponseItems:
    """Return the complete items of a truncated document."""
    opens = _KEY.search(text)
    if opens or text.lstrip().startswith("["):
        whole, cut = elements(text, opens.end() if opens else 0)
        if whole:
            line = cut.line if cut else None
            troubles: list[Item] = [
                Problem(f"the document breaks off here: {cut.what if cut else why}", line)
            ]
            troubles += [keep_line(cut.rest, cut.line)] if cut and cut.rest.strip() else []
            entries: list[tuple[int | None, Json]] = [(element.line, element.value) for element in whole]
            key = opens[1] if opens else "input"
            return _ResponseItems(
                stem(source.name), "object" if opens else "list", key, {}, entries, troubles=troubles
            )
    raise FormatError(f"{source.name} is not valid JSON: {why}", hint=_HINT)


def _thread(talk: _ResponseItems) -> ForeignThread:
    document = dict(talk.document)
    instructions = document.pop("instructions", None)
    if not isinstance(instructions, str):
        if "instructions" in talk.document:
            document["instructions"] = instructions
        instructions = None
    meta: dict[str, Json] = {"shape": talk.shape, "key": talk.key, "document": document}
    meta |= {"plain": True} if talk.plain else {}
    title = next((t for _, entry in talk.entries if (t := short_title(_read_user_text(entry)))), "")
    items = _items(talk, instructions)
    return ForeignThread(VENDOR, talk.name, items, title=title, metadata={VENDOR: meta})


def _read_user_text(entry: Json) -> str:
    item = as_object(entry) or {}
    if item.get("role") != "user":
        return ""
    said = message_from_item(item)
    return said[1].text if said is not None else ""


def _items(talk: _ResponseItems, instructions: str | None) -> Iterator[Item]:
    if instructions is not None:
        yield ForeignMessage("system", instructions_from(instructions))
    for line, value in talk.entries:
        data = as_object(value)
        said = message_from_item(data) if data is not None else None
        if said is not None:
            yield ForeignMessage(*said, line=line)
            continue
        if data is None or not as_text(data.get("type")):
            yield Problem("not an item: an object with a known type or role was expected", line)
        yield Aside(_ENTRY, dumps(value), line=line)
    yield from talk.troubles


# -- writing ---------------------------------------------------------------------------------------------------


def _write(thread: ForeignThread, blobs: Blobs) -> FormatOutput:
    problems: list[Problem] = []
    return FormatOutput(_texts(thread, blobs, problems), problems)


def _texts(thread: ForeignThread, blobs: Blobs, problems: list[Problem]) -> Iterator[str]:
    """Yield the document as a whole: its instructions come from the first message, which may have been edited."""
    unsaid = ExportLosses("the OpenAI Responses format", problems)
    meta = of_vendor(thread.metadata, VENDOR)
    instructions: str | None = None
    out: list[str] = []
    for item in thread.items:
        if isinstance(item, ForeignMessage):
            unsaid.flags(item)
            if instructions is None and not out and meta.get("shape") != "list" and is_instructions(item):
                instructions = item.content.text
                continue
            out += [dumps(each) for each in items_of(item.role, item.content, blobs, unsaid.note)]
        elif isinstance(item, Aside) and item.kind == _ENTRY:
            out.append(item.raw)
        else:
            unsaid.leave_out(item)
    unsaid.close()
    yield from _document(meta, instructions, out)


def _document(meta: Mapping[str, Json], instructions: str | None, items: list[str]) -> Iterator[str]:
    gap = " " if meta.get("shape") == "row" else "\n  "
    if meta.get("shape") == "list":
        opening, closing = "[", "]"
    else:
        document = dict(as_object(meta.get("document")) or {})
        document |= {"instructions": instructions} if instructions is not None else {}
        keys = "".join(f"{dumps(key)}: {dumps(value)}, " for key, value in document.items())
        only = as_object(parse(items[0])) if meta.get("plain") is True and len(items) == 1 else None
        if only is not None and isinstance(only.get("content"), str):
            yield f'{{{keys}"input": {dumps(only["content"])}}}\n'
            return
        opening, closing = f'{{{keys}"{as_text(meta.get("key")) or "input"}": [', "]}"
    yield opening
    for n, item in enumerate(items):
        yield ("," if n else "") + gap + item
    yield ("" if gap == " " or not items else "\n") + closing + "\n"


FORMAT = Format("openai-responses", "OpenAI Responses items", ".json", _sniff, _read, _write)
