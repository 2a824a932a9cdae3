"""Build a scripted model's answer before a wire renders it, and the bodies of errors.

Owns filling in a line of the scenario: ids, cutting at the limit of tokens, usage. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import cast

from backscroll.testing.cache import CacheTokens
from backscroll.testing.request import ScriptedRequest
from backscroll.testing.scenario import Fault, Line, ScriptedCall
from backscroll.vocab.part import Json
from backscroll.vocab.prompt import Wire

#: The fixed time in answers, so that the same scenario gives the same bytes.
MOMENT = 1_700_000_000


@dataclass(frozen=True, slots=True)
class ScriptedAnswer:
    """One answer."""

    number: int
    model: str
    text: str
    reasoning: str
    calls: tuple[ScriptedCall, ...]
    finish: str
    input: int
    cached: int
    written: int
    output: int
    thought: int  # tokens of the reasoning, part of the output
    chunk: int
    half: str | None = None  # the partial arguments of the last call, if the limit cut it
    endless: bool = False
    seal: str = ""  # the signature of the reasoning, if the wire has one
    redacted: bool = False  # the reasoning is only sent redacted
    dropped: tuple[tuple[int, int], ...] = ()  # thinking in the prompt that was dropped

    def pieces(self, text: str) -> Iterable[str]:
        """Split a text into the pieces of a stream."""
        found = [text[n : n + self.chunk] for n in range(0, len(text), self.chunk)]
        return cycle(found) if self.endless and text == self.text else found

    def arguments(self, place: int) -> str:
        """Return the arguments of a call as JSON text; partial if the call was cut."""
        if self.half is not None and place == len(self.calls) - 1:
            return self.half
        return json.dumps(dict(self.calls[place].arguments), ensure_ascii=False)

    def is_half(self, place: int) -> bool:
        """Return True for a call that the limit cut."""
        return self.half is not None and place == len(self.calls) - 1


def speak(
    line: Line,
    asked: ScriptedRequest,
    counted: CacheTokens,
    number: int,
    step: int,
    count: Callable[[str], int],
) -> ScriptedAnswer:
    """Return a line's answer to a request; `number` counts answers, `step` those of this line."""
    facts: Mapping[str, int | str] = (
        {"last": asked.last[1], "system": asked.system, "number": number, "step": step} if line.fill else {}
    )
    text, reasoning = fill_placeholders(line.text, facts), fill_placeholders(line.reasoning, facts)
    finish = line.finish or ("tools" if line.calls else "stop")
    calls = tuple(
        ScriptedCall(
            c.name,
            fill_placeholders(dict(c.arguments), facts),
            fill_placeholders(c.id, facts) or f"call_{number}_{n}",
        )
        for n, c in enumerate(line.calls, 1)
    )
    half: str | None = None
    if asked.limit and not line.endless:
        reasoning, text, calls, half, cut = _limit_answer(reasoning, text, calls, asked.limit, count)
        finish = "length" if cut else finish
    thought = count(reasoning)
    said = count(text) + sum(_weight(c, count) for c in calls[: -1 if half is not None else None])
    said += 0 if half is None else count(f"{calls[-1].name}{half}")
    told: Mapping[str, int] = {
        "input": counted.input,
        "cached": counted.cached,
        "written": counted.written,
        "output": said + thought,
        "reasoning": thought,
        **line.usage,
    }
    return ScriptedAnswer(
        number=number,
        model=asked.model or "scripted",
        text=text,
        reasoning=reasoning,
        calls=calls,
        finish=finish,
        input=told["input"],
        cached=told["cached"],
        written=told["written"],
        output=told["output"],
        thought=told["reasoning"],
        chunk=line.chunk,
        half=half,
        endless=line.endless,
    )


def _weight(call: ScriptedCall, count: Callable[[str], int]) -> int:
    return count(f"{call.name}{json.dumps(dict(call.arguments), ensure_ascii=False)}")


def _limit_answer(
    reasoning: str, text: str, calls: Sequence[ScriptedCall], limit: int, count: Callable[[str], int]
) -> tuple[str, str, tuple[ScriptedCall, ...], str | None, bool]:
    """Truncate an answer to the limit: reasoning first, then text, then calls, the last of them perhaps partial."""
    if (left := limit - count(reasoning)) < 0:
        return _cut(reasoning, limit, count), "", (), None, True
    if count(text) > left:
        return reasoning, _cut(text, left, count), (), None, True
    left -= count(text)
    kept: list[ScriptedCall] = []
    for call in calls:
        if _weight(call, count) > left:
            whole = json.dumps(dict(call.arguments), ensure_ascii=False)
            half = _cut(f"{call.name}{whole}", left, count).removeprefix(call.name)
            if left <= count(call.name):
                return reasoning, text, tuple(kept), None, True
            return reasoning, text, (*kept, call), half, True
        left -= _weight(call, count)
        kept.append(call)
    return reasoning, text, tuple(kept), None, False


def fill_placeholders(value: Json, facts: Mapping[str, int | str]) -> Json:
    """Fill in the placeholders of a value; a text that is only `{step:int}` becomes a number."""
    if isinstance(value, str):
        if (number := re.fullmatch(r"\{(\w+):int\}", value)) and isinstance(facts.get(number[1]), int):
            return facts[number[1]]
        return re.sub(r"\{(\w+)\}", lambda found: str(facts.get(found[1], found[0])), value)
    if isinstance(value, Mapping):
        return {k: fill_placeholders(v, facts) for k, v in cast("Mapping[str, Json]", value).items()}
    if isinstance(value, list | tuple):
        return [fill_placeholders(v, facts) for v in cast("list[Json]", value)]
    return value


def _cut(text: str, limit: int, count: Callable[[str], int]) -> str:
    """Return the longest prefix of a text within a number of tokens."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(text[:middle]) <= limit else (low, middle - 1)
    return text[:low]


_ANTHROPIC_TYPES: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}
_OPENAI_CODES: Mapping[int, str] = {
    401: "invalid_api_key",
    404: "model_not_found",
    429: "rate_limit_exceeded",
}


def fault_body(wire: Wire, fault: Fault) -> Json:
    """Return the error body of a fault on a wire."""
    if wire == "anthropic":
        kind = fault.code or _ANTHROPIC_TYPES.get(fault.status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": fault.message}}
    kind = "invalid_request_error" if fault.status < 500 else "server_error"
    code = fault.code or _OPENAI_CODES.get(fault.status)
    return {"error": {"message": fault.message, "type": kind, "param": None, "code": code}}


def fault_event(wire: Wire, fault: Fault) -> str:
    """Return a fault as a stream event, after the status was sent."""
    body = fault_body(wire, fault)
    if wire == "openai-responses":
        told = body["error"]
        body = {
            "type": "error",
            "sequence_number": 0,
            "param": None,
            "code": told["code"],
            "message": told["message"],
        }
    name = "" if wire == "openai-chat" else "event: error\n"
    return f"{name}data: {json.dumps(body, ensure_ascii=False)}\n\n"


def too_long_answer(wire: Wire, model: str, most: int, asked: int) -> Fault:
    """Return the fault for a request beyond the model's output limit, worded like the wire's vendor."""
    if wire == "anthropic":
        words = (
            f"max_tokens: {asked} > {most}, which is the maximum allowed number of output tokens for {model}"
        )
        return Fault(400, words)
    if wire == "openai-responses":
        words = (
            f"Invalid 'max_output_tokens': integer above maximum value. Expected a value <= {most}, "
            f"but got {asked} instead."
        )
        return Fault(400, words, "integer_above_max_value")
    words = (
        f"max_tokens is too large: {asked}. This model supports at most {most} completion tokens, "
        f"whereas you provided {asked}."
    )
    return Fault(400, words, "invalid_value")


def total(*figures: Json) -> Json:
    """Return the sum of figures; if they are absurd, the first."""
    return sum(figures) if all(isinstance(f, int | float) for f in figures) else figures[0]


def overflow(wire: Wire, window: int, asked: int) -> Fault:
    """Return the fault for an overlong prompt, worded like the wire's vendor."""
    if wire == "anthropic":
        return Fault(400, f"prompt is too long: {asked} tokens > {window} maximum")
    return Fault(
        400,
        f"This model's maximum context length is {window} tokens, but {asked} were requested.",
        "context_length_exceeded",
    )
