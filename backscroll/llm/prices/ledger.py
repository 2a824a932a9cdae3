"""Normalize the tokens of a call from any vendor's report.

Owns one definition: `input` is the whole prompt, cache reads and writes included; `output` is the whole answer, with its
reasoning. Anthropic reports a prompt without cached tokens, the OpenAI wires with them; Gemini and Grok report an answer
without its reasoning. Elsewhere: money (`llm/prices/prices`) and storing (`engine/budget/costs`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from math import isfinite
from typing import Any, cast

from backscroll.errors import InvalidInput

MOST = 10**10  # tokens of a call; sums of such calls still fit into a database
PLAUSIBLE = 10**8  # largest plausible token count that a service may report
_DEAREST = 10**6  # US dollars of a call, as reported by the seller
_USUAL = ("", "auto", "default", "standard")
_DETAILS_IN = ("prompt_tokens_details", "input_tokens_details")
_DETAILS_OUT = ("completion_tokens_details", "output_tokens_details")


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a call, in and out."""

    input: int = 0  # the whole prompt
    cached: int = 0  # of these, read from the cache
    written: int = 0  # of these, written to the cache
    written_long: int = 0  # of the written ones, those that stay for an hour
    output: int = 0  # the whole answer
    reasoning: int = 0  # of these, thinking
    estimated: bool = False  # not reported
    cost: float | None = None  # US dollars, if the seller reports its charge
    tier: str = ""  # flex, priority, batch …: the seller's service tier

    def __post_init__(self) -> None:
        for name in ("input", "cached", "written", "written_long", "output", "reasoning"):
            value: Any = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise InvalidInput(
                    f"{name} tokens: {value!r} is not a whole number", hint="give numbers of 0 or more"
                )
            if value < 0:
                raise InvalidInput(f"{name} tokens: {value} is negative", hint="give numbers of 0 or more")
            if value > MOST:
                raise InvalidInput(
                    f"{name} tokens: {value:.3g} is more than any call can have",
                    hint="give tokens of one call",
                )
        if self.cached + self.written > self.input or self.written_long > self.written:
            raise InvalidInput(
                f"{self.cached} cached and {self.written} written tokens do not fit into a prompt of {self.input}",
                hint="`input` counts the whole prompt, cached and written tokens included",
            )
        if self.reasoning > self.output:
            raise InvalidInput(
                f"{self.reasoning} tokens of reasoning do not fit into an answer of {self.output}",
                hint="`output` counts the whole answer, reasoning included",
            )


def tokens_of(usage: object) -> Tokens:
    """Return the tokens of a call from the `usage` of an answer: a mapping, an SDK object, or `Tokens`."""
    if isinstance(usage, Tokens):
        return usage
    told = _mapping(usage)
    if told is None:
        return Tokens(estimated=True)
    if told.get("known") is False:
        return Tokens(estimated=True)
    if isinstance(told.get("usage"), Mapping) and "input" not in told:
        told = cast("Mapping[str, Any]", told["usage"])
    if "input" in told or "output" in told:
        return _own(told)
    if any(name in told for name in ("promptTokenCount", "candidatesTokenCount", "prompt_token_count")):
        return _gemini(told)
    if any(name in told for name in ("prompt_eval_count", "eval_count")):
        return _fit_tokens(_whole(told, "prompt_eval_count"), 0, 0, 0, _whole(told, "eval_count"), 0)
    if "prompt_tokens" not in told and "input_tokens" in told and _is_anthropic(told):
        return _anthropic(told)
    return _openai(told)


def heard_tokens(read: Callable[[], Tokens]) -> Tokens:
    """Return what a service reported; impossible figures count as unreported, so that no answer is lost over them."""
    try:
        told = read()
    except (InvalidInput, ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return Tokens(estimated=True)
    return told if max(told.input, told.output) <= PLAUSIBLE else Tokens(estimated=True)


def _own(told: Mapping[str, Any]) -> Tokens:
    """Return tokens under our own names, from a client of ours or from a program that uses the library."""
    names = ("input", "cached", "written", "written_long", "output", "reasoning")
    counts = {name: _whole(told, name) for name in names}
    return Tokens(**counts, estimated=bool(told.get("estimated", False)), cost=_cost(told), tier=_tier(told))


def _is_anthropic(told: Mapping[str, Any]) -> bool:
    names = ("cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation")
    return any(name in told for name in names)


def _anthropic(told: Mapping[str, Any]) -> Tokens:
    cached = _whole(told, "cache_read_input_tokens")
    spans = _inner(told, ("cache_creation",))
    long = _whole(spans, "ephemeral_1h_input_tokens")
    written = _whole(told, "cache_creation_input_tokens") or long + _whole(spans, "ephemeral_5m_input_tokens")
    prompt = _whole(told, "input_tokens") + cached + written
    thought = _whole(_inner(told, _DETAILS_OUT), "reasoning_tokens", "thinking_tokens")
    return _fit_tokens(
        prompt, cached, written, min(long, written), _whole(told, "output_tokens"), thought, told
    )


def _openai(told: Mapping[str, Any]) -> Tokens:
    prompt = _whole(told, "prompt_tokens", "input_tokens")
    answer = _whole(told, "completion_tokens", "output_tokens")
    inside, outside = _inner(told, _DETAILS_IN), _inner(told, _DETAILS_OUT)
    cached = _whole(inside, "cached_tokens") or _whole(
        told, "prompt_cache_hit_tokens", "cache_read_input_tokens", "cached_tokens"
    )
    written = _whole(inside, "cache_write_tokens", "cache_creation_tokens") or _whole(
        told, "cache_creation_input_tokens", "cache_write_tokens"
    )
    thought = _whole(outside, "reasoning_tokens")
    if thought and (thought > answer or _whole(told, "total_tokens") == prompt + answer + thought):
        answer += thought  # not included in the answer
    return _fit_tokens(prompt, cached, written, 0, answer, thought, told)


def _gemini(told: Mapping[str, Any]) -> Tokens:
    prompt = _whole(told, "promptTokenCount", "prompt_token_count")
    prompt += _whole(told, "toolUsePromptTokenCount", "tool_use_prompt_token_count")
    thought = _whole(told, "thoughtsTokenCount", "thoughts_token_count")
    answer = _whole(told, "candidatesTokenCount", "candidates_token_count") + thought
    cached = _whole(told, "cachedContentTokenCount", "cached_content_token_count")
    return _fit_tokens(prompt, cached, 0, 0, answer, thought, told)


def _fit_tokens(
    prompt: int,
    cached: int,
    written: int,
    long: int,
    answer: int,
    thought: int,
    told: Mapping[str, Any] | None = None,
) -> Tokens:
    """Return a vendor's figures; if the parts exceed the whole, the whole is their sum."""
    whole = max(prompt, cached + written)
    more = told or {}
    return Tokens(
        whole, cached, written, long, max(answer, thought), thought, cost=_cost(more), tier=_tier(more)
    )


def _cost(told: Mapping[str, Any]) -> float | None:
    """Return the charge that the seller reports (OpenRouter and similar services)."""
    value = told.get("cost")
    usable = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _DEAREST
    return float(cast("float", value)) if usable else None


def _tier(told: Mapping[str, Any]) -> str:
    """Return the service tier; empty for the default one."""
    value = told.get("service_tier")
    return value.lower() if isinstance(value, str) and value.lower() not in _USUAL else ""


def _inner(told: Mapping[str, Any], names: Sequence[str]) -> Mapping[str, Any]:
    for name in names:
        found = _mapping(told.get(name))
        if found is not None:
            return found
    return {}


def _whole(told: Mapping[str, Any], *names: str) -> int:
    """Return the first of these fields that is present; null counts as absent."""
    for name in names:
        value = told.get(name)
        if value is None:
            continue
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not isfinite(value) or value != int(value):
            raise InvalidInput(
                f"{name} tokens: {value!r} is not a whole number", hint="give numbers of 0 or more"
            )
        if value < 0:
            raise InvalidInput(f"{name} tokens: {value} is negative", hint="give numbers of 0 or more")
        return int(value)
    return 0


def _mapping(value: object) -> Mapping[str, Any] | None:
    """Return an SDK object as a mapping."""
    if value is None or isinstance(value, Mapping):
        return cast("Mapping[str, Any] | None", value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return cast("Mapping[str, Any]", dump())
    if hasattr(value, "__dict__") and not isinstance(value, type):
        return vars(value)
    raise InvalidInput(
        f"the usage of a call cannot be read from {type(value).__name__}",
        hint="give the `usage` of the answer, or a dictionary with input and output",
    )
