"""Counting and cutting tokens, for every family."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.errors import InvalidInput
from backscroll.llm.tokens import tokens
from backscroll.llm.tokens.tokens import Tokenizer, named_tokenizer, tokenizer_for

ANY_TEXT = st.text(st.characters(), max_size=200) | st.text(
    st.sampled_from(list("ab Z9\n中文。\ud800\udfff\x00😀<|>")), max_size=400
)
MODELS = ["", "gpt-4", "gpt-5", "claude-opus-5", "qwen3-max", "nobody-knows-me"]


@pytest.mark.parametrize(
    ("model", "name", "exact"),
    [
        ("", "o200k", True),
        ("  ", "o200k", True),
        ("gpt-4", "cl100k", True),
        ("gpt-4-turbo-2024-04-09", "cl100k", True),
        ("gpt-3.5-turbo", "cl100k", True),
        ("gpt-4o", "o200k", True),
        ("gpt-4o-mini-2024-07-18", "o200k", True),
        ("gpt-4.1-nano", "o200k", True),
        ("gpt-5.2-codex", "o200k", True),
        ("gpt-6.1-sol", "o200k", True),
        ("openai/gpt-oss-120b", "o200k", True),
        ("o1-pro", "o200k", True),
        ("o4-mini", "o200k", True),
        ("ft:gpt-4o:acme:x:1", "o200k", True),
        ("ft:gpt-3.5-turbo:acme", "cl100k", True),
        ("claude-3-5-sonnet-20241022", "estimate:anthropic", False),
        ("claude-opus-4-5", "estimate:anthropic", False),
        ("claude-opus-4-8", "estimate:anthropic-new", False),
        ("claude-haiku-5-5", "estimate:anthropic-new", False),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "estimate:anthropic", False),
        ("openrouter/anthropic/claude-opus-5", "estimate:anthropic-new", False),
        ("GEMINI-3.8-Flash", "estimate:google", False),
        ("grok-4.7", "estimate:xai", False),
        ("kimi-k3", "estimate:moonshot", False),
        ("glm-5", "estimate:zhipu", False),
        ("meta-llama/Llama-3.3-70B-Instruct", "estimate:meta", False),
        ("mistral-large-4", "estimate:mistral", False),
        ("a-model-of-my-own", "estimate:unknown", False),
    ],
)
def test_model_has_its_tokenizer(model: str, name: str, exact: bool) -> None:
    found = tokenizer_for(model)
    assert (found.name, found.exact) == (name, exact)


@pytest.mark.parametrize(("model", "vocabulary"), [("deepseek-v4-pro", "deepseek"), ("qwen3.8-27b", "qwen")])
def test_installed_vocabulary_is_used(model: str, vocabulary: str) -> None:
    """Without the package an estimate, with it an exact count."""
    from backscroll.llm.tokens.encodings import available

    found = tokenizer_for(model)
    assert found.exact is available(vocabulary)
    assert found.name == (vocabulary if found.exact else f"estimate:{vocabulary}")


@pytest.mark.parametrize(
    ("text", "o200k", "cl100k"),
    [("", 0, 0), ("hello world", 2, 2), ("你好，世界", 3, 6), ("<|endoftext|>", 7, 7), ("\n\n\n", 1, 1)],
)
def test_known_token_counts(text: str, o200k: int, cl100k: int) -> None:
    assert named_tokenizer("o200k").count(text) == o200k
    assert named_tokenizer("cl100k").count(text) == cl100k


def test_unknown_model_counts_like_o200k() -> None:
    text = "The quick brown fox 快速的棕色狐狸"
    assert tokenizer_for("nobody-knows-me").count(text) == named_tokenizer("o200k").count(text)


def test_estimate_is_scaled_and_weighs_chinese_separately() -> None:
    plain = named_tokenizer("o200k")
    claude = tokenizer_for("claude-opus-5")
    english, chinese = "a word about tides " * 50, "今天的潮汐表在这里" * 50
    assert claude.count(english) / plain.count(english) == pytest.approx(1.6, abs=0.02)
    assert claude.count(chinese) / plain.count(chinese) == pytest.approx(1.7, abs=0.03)


def test_unknown_tokenizer_name_is_refused() -> None:
    with pytest.raises(InvalidInput, match="unknown tokenizer"):
        named_tokenizer("p50k")


@given(ANY_TEXT, st.sampled_from(MODELS))
def test_any_text_can_be_counted_and_counts_the_same_again(text: str, model: str) -> None:
    counter = tokenizer_for(model)
    first = counter.count(text)
    assert first == counter.count(text) == counter._count_tokens(text)
    assert (first == 0) == (text == "")


@settings(max_examples=200)
@given(ANY_TEXT, st.integers(-2, 60), st.sampled_from(MODELS))
def test_a_cut_text_is_a_beginning_that_fits(text: str, n: int, model: str) -> None:
    counter = tokenizer_for(model)
    cut = counter.cut(text, n)
    assert text.startswith(cut)
    assert counter.count(cut) <= max(n, 0)
    if counter.count(text) <= n:
        assert cut == text


@pytest.mark.parametrize("model", MODELS)
def test_cut_uses_the_available_room(model: str) -> None:
    counter = tokenizer_for(model)
    text = "All tides are moved by the moon, and some by the sun. " * 400
    assert counter.count(counter.cut(text, 500)) >= 495


def test_cut_keeps_whole_words() -> None:
    assert tokenizer_for("gpt-5").cut("one two three four five", 3) == "one two three"


def test_cut_works_on_runs_with_few_tokens() -> None:
    """The range that is examined grows until it contains enough tokens."""
    counter = tokenizer_for("gpt-5")
    cut = counter.cut(" " * 400_000, 100)
    assert 10_000 < len(cut) < 20_000
    assert counter.count(cut) <= 100


def test_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest counts go when there are too many."""
    monkeypatch.setattr(tokens, "_KEPT", 40)
    counter = Tokenizer("test", "o200k", exact=True)
    for n in range(500):
        counter.count(f"text {n}")
    assert len(counter._kept) <= 40
    assert "text 499" in counter._kept


def test_long_texts_are_not_cached() -> None:
    counter = Tokenizer("test", "o200k", exact=True)
    counter.count("tide " * 10_000)
    assert all(len(key) <= 192 for key in counter._kept)


def test_concurrent_threads_count_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_KEPT", 16)
    counter = Tokenizer("test", "o200k", exact=True)
    texts = [f"word {n} 字" for n in range(200)]
    alone = [Tokenizer("alone", "o200k", exact=True).count(text) for text in texts]
    with ThreadPoolExecutor(6) as pool:
        for found in pool.map(lambda _: [counter.count(text) for text in texts], range(12)):
            assert found == alone
