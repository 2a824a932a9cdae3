"""Digests: one line in place of a tool call: the tool, its target, the outcome, and a handle to the full result.

Owns: pairing calls with results (parallel calls, several results in one message, results without a call, calls without
an answer), the line, and shortening long arguments. Refuses: which calls are shown as digests; `assemble` decides.
The rules by kind of tool live in `derive/digests`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from backscroll.derive.digests.calls import Kind, kind_of, parse_call
from backscroll.derive.digests.outcome import outcome
from backscroll.derive.digests.output_text import cut_middle, one_line, plain, width
from backscroll.derive.digests.results import ResultDetails, parse_result
from backscroll.derive.recipe import Recipe
from backscroll.formats.sources.json_text import NotJson, dumps, words_parsed
from backscroll.vocab.handle import handle_of
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import Json, Text, ToolCall, ToolResult

__all__ = ["RECIPE", "Digest", "Kind", "digest_call", "digests_of", "kind_of", "short_arguments"]

#: The recipe of digests; raise its version whenever the same call and result would give a different line.
RECIPE = Recipe("digest", 2)
LIMIT = 160
NO_RESULT = "no result yet"
_DEPTH = 12
_NAMELESS = "tool"
_LEAST = 16  # cells
_ORDINARY = 2_000  # characters of a result up to which the limit is unchanged
_MOST = 3.0  # the longest outcome, as a multiple of the limit
_KEPT = 4_096  # outcomes kept in memory: every prompt and compaction needs the same ones


@dataclass(frozen=True, slots=True)
class Digest:
    """The digest of one tool call and its result."""

    tool_name: str
    target: str
    summary: str  # the outcome on one line
    timestamp: str  # ISO time of the result, else of the call
    handle: str  # "[bs:17]": the message that holds the full result, else the call
    kind: Kind
    is_error: bool
    exit_code: int | None
    call: Ref  # the message with the call; without one, the message with the result
    result: Ref | None  # the message with the result; None: no result yet
    call_id: str = ""
    tokens: int | None = None  # of the full result, if counted

    @property
    def line(self) -> str:
        """The whole digest on one line, for a list of operations."""
        head = f"{self.tool_name} {self.target}".strip()
        return f"{head}: {self.summary} {self.handle}"

    @property
    def stub(self) -> str:
        """The text that replaces the result under its call, which already names tool and target."""
        return f"{self.summary} {self.handle}"


def digest_call(
    call: ToolCall,
    result: ToolResult | None,
    *,
    at: str,
    call_message: Ref,
    result_message: Ref | None,
    limit: int = LIMIT,
    grows: bool = True,
) -> Digest:
    """Return the digest of one call.

    `limit` is how many cells the outcome may take (a Chinese character takes two). With `grows` the outcome of a long
    result may take up to three times as many: it holds more that a later step may need.
    """
    came = _came(call, result, limit, grows=grows)
    return Digest(
        came.tool_name,
        came.target,
        came.summary,
        at,
        handle_of(result_message or call_message),
        came.kind,
        came.is_error,
        came.exit_code,
        call_message,
        result_message,
        call.id,
    )


@dataclass(frozen=True, slots=True)
class _CallResult:
    """The outcome of a call, wherever the call and its result are in the history."""

    tool_name: str
    target: str
    summary: str
    kind: Kind
    is_error: bool
    exit_code: int | None


_kept: dict[bytes, _CallResult] = {}


def let_go() -> None:
    """Clear the cache of lines; `forget` calls this."""
    _kept.clear()


def _came(call: ToolCall, result: ToolResult | None, limit: int, *, grows: bool) -> _CallResult:
    """Return the outcome of a call, cached by call and result: reading a long result takes milliseconds."""
    key = _fingerprint(call, result, limit, grows=grows)
    found = _kept.get(key)
    if found is None:
        found = _read(call, result, limit, grows=grows)
        if len(_kept) >= _KEPT:  # the oldest quarter goes; another OS thread may be doing the same
            for old in list(_kept)[: _KEPT // 4]:
                _kept.pop(old, None)
        _kept[key] = found
    return found


def _fingerprint(call: ToolCall, result: ToolResult | None, limit: int, *, grows: bool) -> bytes:
    hashed = hashlib.blake2b(
        repr((call.name, call.arguments, limit, grows, result is None)).encode("utf-8", "surrogatepass"),
        digest_size=20,
    )
    if result is not None:
        hashed.update(b"!" if result.is_error else b".")
        for part in result.content:
            # The text itself, not its repr, which is quick for long ones; preceded by its length, so that different parts never look alike.
            words = (part.text if isinstance(part, Text) else repr(part)).encode("utf-8", "surrogatepass")
            hashed.update(f"{type(part).__name__} {len(words)} ".encode())
            hashed.update(words)
    return hashed.digest()


def _read(call: ToolCall, result: ToolResult | None, limit: int, *, grows: bool) -> _CallResult:
    wanted = parse_call(call.name, call.arguments)
    if result is None:
        heard, summary = ResultDetails(""), NO_RESULT
    else:
        heard = parse_result(result)
        summary = outcome(wanted, heard, room_for(heard.size, limit) if grows else max(_LEAST, limit))
    return _CallResult(
        one_line(plain(call.name)) or _NAMELESS,
        wanted.target,
        summary,
        wanted.kind,
        heard.is_error,
        heard.exit_code,
    )


def room_for(size: int, limit: int = LIMIT) -> int:
    """Return how many cells the outcome of a result of this many characters may take."""
    growth = min(_MOST, max(1.0, (size / _ORDINARY) ** 0.45))
    return max(_LEAST, int(limit * growth))


def digests_of(messages: Sequence[Message], *, limit: int = LIMIT, grows: bool = True) -> list[Digest]:
    """Return the digests of one or more steps, in the order of the calls; a result without a call gets its own digest."""
    answers: dict[str, list[tuple[int, Message, ToolResult]]] = {}
    for place, message in enumerate(messages):
        for part in message.parts:
            if isinstance(part, ToolResult):
                answers.setdefault(part.call_id, []).append((place, message, part))
    out: list[tuple[int, Digest]] = []
    for place, message, call in _calls(messages):
        found = _answer(answers, call.id, place)
        result, home = (found[2], found[1]) if found else (None, None)
        made = digest_call(
            call,
            result,
            at=(home or message).at,
            call_message=message.id,
            result_message=None if home is None else home.id,
            limit=limit,
            grows=grows,
        )
        out.append((place, made))
    for left in answers.values():
        for place, message, part in left:
            call = ToolCall(part.call_id, part.name or _NAMELESS, None)
            made = digest_call(
                call,
                part,
                at=message.at,
                call_message=message.id,
                result_message=message.id,
                limit=limit,
                grows=grows,
            )
            out.append((place, made))
    return [made for _, made in sorted(out, key=lambda row: row[0])]


def _calls(messages: Sequence[Message]) -> Iterator[tuple[int, Message, ToolCall]]:
    for place, message in enumerate(messages):
        for part in message.parts:
            if isinstance(part, ToolCall):
                yield place, message, part


def _answer(
    answers: dict[str, list[tuple[int, Message, ToolResult]]], call_id: str, place: int
) -> tuple[int, Message, ToolResult] | None:
    """Return the first answer that does not precede the call, and remove it, so that ids used twice are paired in order."""
    waiting = answers.get(call_id, [])
    for index, (where, _, _) in enumerate(waiting):
        if where >= place:
            return waiting.pop(index)
    return None


def short_arguments(call: ToolCall, limit: int = LIMIT) -> Json:
    """Return the arguments of a call with long values cut in the middle; the structure and short values are unchanged.

    A string that holds JSON is cut inside that JSON and stays a string; any other string is cut itself.
    """
    arguments = call.arguments
    if not isinstance(arguments, str):
        return _shorten_value(arguments, limit, 0)
    if width(arguments) <= limit:
        return arguments
    value = words_parsed(arguments) if arguments.lstrip()[:1] in ("{", "[", '"') else NotJson("", 0)
    if isinstance(value, NotJson):
        return _cut_value(arguments, limit)
    short = _shorten_value(value, limit, 0)
    return arguments if short == value else dumps(short)


def _shorten_value(value: Json, limit: int, depth: int) -> Json:
    if isinstance(value, str):
        return _cut_value(value, limit)
    if depth >= _DEPTH:
        return "…" if isinstance(value, dict | list | tuple) else value
    if isinstance(value, dict):
        return {
            key: _shorten_value(inner, limit, depth + 1)
            for key, inner in cast("dict[str, Json]", value).items()
        }
    if isinstance(value, list | tuple):
        items = cast("list[Json]", value)
        if len(items) <= 12:
            return [_shorten_value(inner, limit, depth + 1) for inner in items]
        kept = [_shorten_value(inner, limit, depth + 1) for inner in [*items[:6], *items[-2:]]]
        return [*kept[:6], f"… {len(items) - 8} more …", *kept[6:]]
    return value


def _cut_value(text: str, limit: int) -> str:
    """Return both ends of a long value, with the number of omitted characters between them."""
    if width(text) <= limit:
        return text
    short = cut_middle(text, limit - 12)
    head, _, tail = short.rpartition("…")
    return f"{head}… {len(text) - len(head) - len(tail)} cut …{tail}"
