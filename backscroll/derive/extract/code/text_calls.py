"""Tool calls written in the text: as tags (Cline and its relatives) or as functions (older OpenHands), with their answers.

Owns turning such a message into one with real calls and results, under the same names, so that the rules for calls
apply to it too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from backscroll.derive.digests.calls import kind_of
from backscroll.vocab.message import Content, Message
from backscroll.vocab.part import Part, Text, ToolCall, ToolResult
from backscroll.vocab.values.pattern import late

_OPENS = late(r"<(?P<name>[a-z][a-z]*(?:_[a-z]+)+)>")
_FIELD = late(r"<(?P<name>[a-z_]{2,40})>")
_FUNCTION = late(r"<function=(?P<name>[\w.-]{1,60})>")
_PARAMETER = late(r"<parameter=(?P<name>[\w.-]{1,60})>")
_ANSWER = late(
    r"^\[(?P<name>[a-z_]{3,40})(?: for [^\n]{0,400})?\] Result:[ \t]*\n?|^EXECUTION RESULT of \[(?P<other>[\w.-]+)\]:[ \t]*\n?",
    re.MULTILINE,
)
_CUT = late(r"<environment_details>")
_WIDE = 400_000
_FIELDS = 20
_FAILED = late(r"(?i)\b(?:error|failed|exit code [1-9]|exit(?:ed)? with (?:code )?[1-9]|traceback)")


def unfold_calls(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with calls and answers in the text as separate parts; most are returned unchanged."""
    out: list[Message] = []
    waiting: list[tuple[str, str]] = []  # names and ids of unanswered calls
    for message in messages:
        text = message.text[:_WIDE]
        parts: list[Part] = []
        if message.role == "assistant" and "<" in text and not _has_calls(message):
            made = list(_calls(text, str(message.id)))
            waiting += [(call.name, call.id) for call in made]
            parts += made
        elif message.role == "user" and waiting and _ANSWER.search(text):
            parts += _answers(text, waiting)
        out.append(
            replace(message, content=Content((*message.parts, *parts), message.author)) if parts else message
        )
    return out


def _has_calls(message: Message) -> bool:
    return any(isinstance(p, ToolCall) for p in message.parts)


def _calls(text: str, home: str) -> Iterator[ToolCall]:
    at = number = 0
    opens = sorted((*_OPENS.finditer(text), *_FUNCTION.finditer(text)), key=lambda m: m.start())
    never: set[str] = set()  # closing tags that are known to be missing: none is searched for twice
    for tag in opens:
        function = tag[0].startswith("<function")
        name, end = tag["name"], "</function>" if function else f"</{tag['name']}>"
        if tag.start() < at or end in never or (not function and not _is_tool(name)):
            continue
        close = text.find(end, tag.end())
        if close < 0:
            never.add(end)
            continue
        yield ToolCall(f"{home}/{number}", name, _fields(text[tag.end() : close], function=function))
        number, at = number + 1, close


@lru_cache(maxsize=1024)
def _is_tool(name: str) -> bool:
    return kind_of(name) != "other"


def _fields(body: str, *, function: bool) -> dict[str, str]:
    """Return the arguments inside a call, without descending into them."""
    out: dict[str, str] = {}
    at = 0
    for tag in (_PARAMETER if function else _FIELD).finditer(body):
        if tag.start() < at:
            continue
        close = body.find("</parameter>" if function else f"</{tag['name']}>", tag.end())
        if close < 0:
            break
        if tag["name"] not in out:
            out[tag["name"]] = body[tag.end() : close].strip("\n")
        at = close
        if len(out) >= _FIELDS:
            break
    return out


def _answers(text: str, waiting: list[tuple[str, str]]) -> Iterator[ToolResult]:
    """Yield answers in the order of the calls; a report of the environment ends the last one."""
    found = list(_ANSWER.finditer(text))
    for n, answer in enumerate(found):
        stop = found[n + 1].start() if n + 1 < len(found) else len(text)
        end = _CUT.search(text, answer.end(), stop)
        told = text[answer.end() : end.start() if end else stop].strip()
        name = answer["name"] or answer["other"]
        place = next((k for k, (called, _) in enumerate(waiting) if called == name), None)
        if place is not None:
            _, call = waiting.pop(place)
            yield ToolResult(call, (Text(told),), bool(_FAILED.search(told[:400])), name)
