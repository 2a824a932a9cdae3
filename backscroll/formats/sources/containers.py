"""Find the lists of messages in a file: a JSON list, an object with `messages`, one conversation or one message per line.

Owns: telling these shapes apart, streaming the two line shapes, salvaging the complete messages of a truncated document, and
writing each shape. Messages themselves are parsed by the formats.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from backscroll.errors import FormatError
from backscroll.formats.shape import Source
from backscroll.formats.sources.json_text import dumps, elements
from backscroll.formats.sources.rows import as_array, as_object, keep_line, parse, parse_row, stem
from backscroll.vocab.foreign import Aside, Problem
from backscroll.vocab.part import Json

Shape: TypeAlias = Literal["list", "object", "row", "rows"]
Entry: TypeAlias = tuple[int | None, Json]  # line, where known, and value
Found: TypeAlias = Entry | Problem | Aside

_OBJECT_OPENS = re.compile(r'\s*\{[^\[\]{}]*?"messages"\s*:\s*(?=\[)')


@dataclass(frozen=True, slots=True)
class MessageList:
    """One list of messages of a file. `entries` may be read once."""

    name: str
    shape: Shape
    document: Mapping[str, Json]  # the keys besides `messages`
    entries: Iterable[Found]


def shape_of(value: Json) -> Shape:
    """Return the shape that a thread's metadata asks for; default: an object."""
    return value if value in ("list", "object", "row", "rows") else "object"


def conversations(source: Source) -> Iterator[MessageList]:
    """Yield the lists of messages in a file. Raises FormatError if there is none."""
    first = _first_row(source)
    if first is not None and as_array(first.get("messages")) is not None:
        return _conversation_rows(source)
    if first is not None and "role" in first:
        return iter([MessageList(stem(source.name), "rows", {}, _message_rows(source))])
    return iter([_document(source)])


def _first_row(source: Source) -> dict[str, Json] | None:
    """Return the object on the first non-blank line; None if that line is not an object."""
    for number, line in source.lines():
        if line.strip():
            row = parse_row(number, line)
            return None if isinstance(row, Problem) else row
    return None


def _message_rows(source: Source) -> Iterator[Found]:
    for number, line in source.lines():
        if not line.strip():
            continue
        row = parse_row(number, line)
        if isinstance(row, Problem):
            yield row
            yield keep_line(line, number)
        else:
            yield number, row


def _conversation_rows(source: Source) -> Iterator[MessageList]:
    """Yield one conversation per line; problems of a line are attached to the conversation before or after it."""
    waiting: MessageList | None = None
    troubles: list[Found] = []
    for number, line in source.lines():
        if not line.strip():
            continue
        row = parse_row(number, line)
        messages = None if isinstance(row, Problem) else as_array(row.get("messages"))
        if isinstance(row, Problem) or messages is None:
            troubles.append(row if isinstance(row, Problem) else Problem("not a list of messages", number))
            troubles.append(keep_line(line, number))
            continue
        if waiting is not None:
            yield waiting
        entries: list[Found] = [*troubles, *((number, message) for message in messages)]
        document = {key: value for key, value in row.items() if key != "messages"}
        waiting = MessageList(_row_name(source, document, number), "row", document, entries)
        troubles = []
    if waiting is not None:
        yield MessageList(waiting.name, waiting.shape, waiting.document, [*waiting.entries, *troubles])


def _row_name(source: Source, document: Mapping[str, Json], number: int) -> str:
    name = document.get("id")
    return name if isinstance(name, str) and name else f"{stem(source.name)}:{number}"


def _document(source: Source) -> MessageList:
    text = source.text()
    try:
        value = parse(text)
    except ValueError as error:
        return _salvage_document(source, text, str(error))
    name, document = stem(source.name), as_object(value)
    if document is None:
        messages = as_array(value)
        if messages is None:
            raise FormatError(f"{source.name} holds no list of messages", hint=_HINT)
        return MessageList(name, "list", {}, [(None, message) for message in messages])
    messages = as_array(document.get("messages"))
    if messages is None:
        raise FormatError(f"{source.name} has no list called `messages`", hint=_HINT)
    rest = {key: value for key, value in document.items() if key != "messages"}
    given = rest.get("id")
    name = given if isinstance(given, str) and given else name
    return MessageList(name, "object", rest, [(None, message) for message in messages])


_HINT = "expected a JSON list of messages, an object with `messages`, or one of these per line"


def _salvage_document(source: Source, text: str, why: str) -> MessageList:
    """Return the complete content of a document that is not valid JSON: elements before the break, or single lines."""
    opens = _OBJECT_OPENS.match(text)
    if opens or text.lstrip().startswith("["):
        whole, cut = elements(text, opens.end() if opens else 0)
        if whole:
            found: list[Found] = [(element.line, element.value) for element in whole]
            line = cut.line if cut else None
            found.append(Problem(f"the document breaks off here: {cut.what if cut else why}", line))
            if cut and cut.rest.strip():
                found.append(keep_line(cut.rest, cut.line))
            return MessageList(stem(source.name), "object" if opens else "list", {}, found)
    if any(isinstance(item, tuple) and "role" in item[1] for item in _message_rows(source)):
        return MessageList(stem(source.name), "rows", {}, _message_rows(source))
    raise FormatError(f"{source.name} is not valid JSON: {why}", hint=_HINT)


def write_document(shape: Shape, document: Mapping[str, Json], entries: Iterable[str]) -> Iterator[str]:
    """Yield the text of a conversation in its shape, from the JSON texts of its messages.

    `document` is read only after the first entry, because some keys (Anthropic's `system`) come from the messages.
    """
    texts = iter(entries)
    if shape == "rows":
        yield from (text + "\n" for text in texts)
        return
    first = next(texts, None)
    gap = " " if shape == "row" else "\n  "
    if shape == "list":
        opening, closing = "[", "]"
    else:
        keys = "".join(f"{dumps(key)}: {dumps(value)}, " for key, value in document.items())
        opening, closing = "{" + keys + '"messages": [', "]}"
    yield opening
    if first is not None:
        yield gap + first
        yield from ("," + gap + text for text in texts)
    yield ("" if shape == "row" or first is None else "\n") + closing + "\n"


def sniff_messages(head: str, looks: Callable[[Mapping[str, Json], str], float]) -> float:
    """Return the confidence of `looks(first message or object, text from there)` for the head of a file; 0.0 if it is not a
    list."""
    text = head.lstrip()
    if not text or text[0] not in "[{":
        return 0.0
    if text[0] == "{":
        opens = _OBJECT_OPENS.match(text)
        at_line = text.split("\n", 1)[0]
        try:
            row = as_object(parse(at_line))
        except ValueError:
            row = None
        if row is not None and "role" in row:
            return looks(row, text)
        messages = as_array(row.get("messages")) if row is not None else None
        if messages is not None:
            return max((looks(m, text) for m in map(as_object, messages[:1]) if m is not None), default=0.0)
        if not opens:
            found = re.search(r'"messages"\s*:\s*(?=\[)', text)
            text = text[found.end() :] if found else ""
        else:
            text = text[opens.end() :]
    return _sniff_list(text, looks)


_ROLE = re.compile(r'"role"\s*:\s*"(\w+)"')


def _sniff_list(text: str, looks: Callable[[Mapping[str, Json], str], float]) -> float:
    """Return the confidence for a list; if the head ends inside the first message, its role decides."""
    if not text.startswith("["):
        return 0.0
    whole, _ = elements(text)
    if whole:
        first = as_object(whole[0].value)
        return looks(first, text) if first is not None else 0.0
    role = _ROLE.search(text[:2000])
    return looks({"role": role[1], "content": ""}, text) if role else 0.0
