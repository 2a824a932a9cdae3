"""Usage reports of every vendor in one form."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import InvalidInput
from backscroll.llm.clients.client import Usage
from backscroll.llm.prices.ledger import Tokens, tokens_of

SHAPES: dict[str, tuple[dict[str, Any], Tokens]] = {
    "openai chat, cached inside": (
        {
            "prompt_tokens": 1000,
            "completion_tokens": 50,
            "total_tokens": 1050,
            "prompt_tokens_details": {"cached_tokens": 768, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 20},
        },
        Tokens(1000, 768, 0, 0, 50, 20),
    ),
    "openai responses": (
        {
            "input_tokens": 1000,
            "input_tokens_details": {"cached_tokens": 512},
            "output_tokens": 40,
            "output_tokens_details": {"reasoning_tokens": 32},
            "total_tokens": 1040,
        },
        Tokens(1000, 512, 0, 0, 40, 32),
    ),
    "anthropic, cached outside": (
        {
            "input_tokens": 12,
            "cache_read_input_tokens": 5000,
            "cache_creation_input_tokens": 300,
            "output_tokens": 70,
        },
        Tokens(5312, 5000, 300, 0, 70),
    ),
    "anthropic, written for an hour": (
        {
            "input_tokens": 12,
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 300,
            "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 200},
            "output_tokens": 7,
            "service_tier": "standard",
        },
        Tokens(312, 0, 300, 200, 7),
    ),
    "anthropic without a cache": ({"input_tokens": 12, "output_tokens": 7}, Tokens(12, 0, 0, 0, 7)),
    "deepseek": (
        {
            "prompt_tokens": 900,
            "completion_tokens": 10,
            "prompt_cache_hit_tokens": 640,
            "prompt_cache_miss_tokens": 260,
        },
        Tokens(900, 640, 0, 0, 10),
    ),
    "kimi": (
        {"prompt_tokens": 900, "completion_tokens": 10, "cached_tokens": 256},
        Tokens(900, 256, 0, 0, 10),
    ),
    "grok, reasoning outside": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 9,
            "total_tokens": 409,
            "completion_tokens_details": {"reasoning_tokens": 300},
        },
        Tokens(100, 0, 0, 0, 309, 300),
    ),
    "gemini": (
        {
            "promptTokenCount": 800,
            "cachedContentTokenCount": 512,
            "candidatesTokenCount": 30,
            "thoughtsTokenCount": 200,
            "totalTokenCount": 1030,
        },
        Tokens(800, 512, 0, 0, 230, 200),
    ),
    "ollama": ({"prompt_eval_count": 26, "eval_count": 298}, Tokens(26, 0, 0, 0, 298)),
    "openrouter, with what it charged": (
        {"prompt_tokens": 194, "completion_tokens": 2, "cost": 0.95},
        Tokens(194, 0, 0, 0, 2, cost=0.95),
    ),
    "anthropic behind an openai wire": (
        {
            "prompt_tokens": 5312,
            "completion_tokens": 7,
            "cache_read_input_tokens": 5000,
            "cache_creation_input_tokens": 300,
        },
        Tokens(5312, 5000, 300, 0, 7),
    ),
    "served in another way": (
        {"prompt_tokens": 5, "completion_tokens": 1, "service_tier": "Flex"},
        Tokens(5, output=1, tier="flex"),
    ),
    "nulls": (
        {"prompt_tokens": 5, "completion_tokens": None, "prompt_tokens_details": None, "cost": None},
        Tokens(5),
    ),
    "a whole answer": (
        {"id": "x", "usage": {"prompt_tokens": 5, "completion_tokens": 1}},
        Tokens(5, output=1),
    ),
    "our own names": ({"input": 10, "cached": 4, "output": 3}, Tokens(10, 4, output=3)),
    "parts larger than the whole": (
        {"prompt_tokens": 10, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 64}},
        Tokens(64, 64),
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_usage_reports_of_every_vendor_are_read(name: str) -> None:
    given_usage, wanted = SHAPES[name]
    assert tokens_of(given_usage) == wanted


@pytest.mark.parametrize("name", SHAPES)
def test_objects_are_read_like_mappings(name: str) -> None:
    """SDKs return objects, also nested ones."""

    def objects(value: Any) -> Any:
        return (
            SimpleNamespace(**{k: objects(v) for k, v in value.items()}) if isinstance(value, dict) else value
        )

    given_usage, wanted = SHAPES[name]
    if "usage" not in given_usage:
        assert tokens_of(objects(given_usage)) == wanted


def test_usage_of_our_clients_is_read() -> None:
    assert tokens_of(Usage(100, 60, 10, 5, 2)) == Tokens(100, 60, 10, 0, 5, 2)
    assert tokens_of(Usage(known=False)) == Tokens(estimated=True)


def test_usage_of_an_sdk_object_is_read() -> None:
    from openai.types import CompletionUsage

    told = CompletionUsage.model_validate(SHAPES["openai chat, cached inside"][0])
    assert tokens_of(told) == SHAPES["openai chat, cached inside"][1]


def test_reported_cost_must_be_an_amount() -> None:
    for cost in (-1, float("nan"), float("inf"), 1e30, "much", True, None):
        assert tokens_of({"prompt_tokens": 5, "cost": cost}).cost is None


def test_missing_report_is_an_estimate_of_zero() -> None:
    assert tokens_of(None) == Tokens(estimated=True)


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -1},
        {"input": -5},
        {"input_tokens": 5, "cache_read_input_tokens": -2},
        {"prompt_tokens": "many"},
        {"prompt_tokens": 1.5},
        {"prompt_tokens": True},
        {"prompt_tokens": float("nan")},
        {"input": 10**30},
        {"prompt_tokens": 10**11},
        {"input": 5, "cached": 6},
        {"output": 5, "reasoning": 6},
        7,
        "usage",
        Usage,
    ],
    ids=repr,
)
def test_invalid_token_count_is_refused_with_a_hint(usage: object) -> None:
    with pytest.raises(InvalidInput) as error:
        tokens_of(usage)
    assert error.value.hint


COUNTS = st.integers(0, 10**9)


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_the_two_ways_of_counting_agree(plain: int, cached: int, written: int, output: int) -> None:
    """The same call told by Anthropic and told by OpenAI is the same call."""
    told_apart = {
        "input_tokens": plain,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": written,
        "output_tokens": output,
    }
    told_together = {
        "prompt_tokens": plain + cached + written,
        "completion_tokens": output,
        "prompt_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
    }
    assert tokens_of(told_apart) == tokens_of(told_together)
