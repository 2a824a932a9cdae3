"""Facts about models: name variants, families, windows."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.llm.prices.families import built_in_window, family_of, plain_name
from backscroll.llm.prices.table import price_table
from backscroll.llm.prices.windows import UNKNOWN_WINDOW, window_for


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ("gpt-5", "gpt-5"),
        (" GPT-5 ", "gpt-5"),
        ("openrouter/anthropic/claude-opus-5", "claude-opus-5"),
        ("models/gemini-3.8-flash", "gemini-3.8-flash"),
        ("us.anthropic.claude-opus-5-v1:0", "claude-opus-5-v1:0"),
        ("meta.llama3-70b-instruct-v1:0", "llama3-70b-instruct-v1:0"),
        ("ft:gpt-4o-mini:acme:tides:9x", "gpt-4o-mini"),
        ("gpt-5.2", "gpt-5.2"),
    ],
)
def test_one_model_has_many_spellings(given: str, plain: str) -> None:
    assert plain_name(given) == plain


@pytest.mark.parametrize(
    ("model", "tokens", "output"),
    [
        ("gpt-4", 8_192, 8_192),
        ("gpt-4-0613", 8_192, 8_192),
        ("gpt-4-32k", 32_768, 8_192),
        ("gpt-4-turbo", 128_000, 4_096),
        ("gpt-4o-2024-08-06", 128_000, 16_384),
        ("gpt-4.1-mini", 1_047_576, 32_768),
        ("gpt-5", 400_000, 128_000),
        ("gpt-5.4", 1_050_000, 128_000),
        ("gpt-5.4-mini", 400_000, 128_000),
        ("o3", 200_000, 100_000),
        ("claude-3-5-haiku-latest", 200_000, 8_192),
        ("claude-sonnet-4-5", 200_000, 64_000),
        ("claude-opus-4-1", 200_000, 32_000),
        ("claude-opus-4-7", 1_000_000, 128_000),
        ("claude-haiku-5-5", 1_000_000, 64_000),
        ("gemini-2.5-pro", 1_048_576, 65_536),
    ],
)
def test_common_models_have_their_window(model: str, tokens: int, output: int) -> None:
    found = window_for(model)
    assert (found.tokens, found.output, found.known) == (tokens, output, True)


def test_model_known_only_to_the_price_list_has_its_window() -> None:
    assert built_in_window("moonshot-v1-8k") is None
    found = window_for("moonshot-v1-8k")
    assert (found.tokens, found.known) == (8_192, True)


def test_unknown_model_gets_a_small_window_marked_as_unknown() -> None:
    found = window_for("nobody-knows-me")
    assert (found.tokens, found.known) == (UNKNOWN_WINDOW, False)


def test_own_table_wins(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(
        '[[model]]\nmatch = "gpt-5*"\nwindow = 50000\nmax_output = 9000\n'
        '[[model]]\nmatch = "mine"\nprovider = "work"\nwindow = 3000\n',
        encoding="utf-8",
    )
    table = price_table(str(path))
    assert window_for("gpt-5-mini", table=table).tokens == 50_000
    assert window_for("gpt-5-mini", table=table).output == 9_000
    assert window_for("mine", provider="work", table=table).tokens == 3_000
    assert window_for("mine", provider="work", table=table).output <= 3_000
    assert not window_for("mine", table=table).known


@given(st.text(max_size=60))
def test_every_name_has_a_family_and_a_window(model: str) -> None:
    assert family_of(model).name
    assert window_for(f"nobody {model}").tokens > 0


def test_window_table_is_consistent() -> None:
    """Every family can be reached by a name, has sensible factors, and every window holds its answer."""
    data = tomllib.loads((files("backscroll.llm") / "models.toml").read_text(encoding="utf-8"))
    assert len({f["name"] for f in data["family"]}) == len(data["family"])
    for family in data["family"]:
        assert family["tokenizer"] in {"o200k", "cl100k", "estimate"}
        assert 0 < family["read"] <= 1 <= family["write"] <= family["output"]
        if family["tokenizer"] == "estimate":
            assert 0.9 <= family["factor"] <= 2
            assert 0.9 <= family["factor_cjk"] <= 2.5  # a small English vocabulary spells Chinese in bytes
    for window in data["window"]:
        assert 0 < window["output"] <= window["window"]


def test_no_row_hides_another() -> None:
    """The plain name in each pattern of a window finds its own row, not an earlier one."""
    data = tomllib.loads((files("backscroll.llm") / "models.toml").read_text(encoding="utf-8"))
    hidden: list[str] = []
    for row in data["window"]:
        for pattern in row["match"]:
            name = (
                pattern.replace("[123]", "1")
                .replace("[567]", "5")
                .replace("[678]", "6")
                .replace("[5-9]", "5")
            )
            found = built_in_window(name.replace("*", "") + "0" * pattern.endswith("b-2512*"))
            if found is None or (found.tokens, found.output) != (row["window"], row["output"]):
                hidden.append(pattern)
    assert hidden == []
