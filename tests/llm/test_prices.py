"""Prices: listed ones, the user's own, none."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.errors import InvalidInput
from backscroll.llm.prices.ledger import Tokens
from backscroll.llm.prices.prices import price_for, rates_for
from backscroll.llm.prices.table import PriceTable, parsed_table, price_table

THEN = datetime(2026, 11, 1, 12, tzinfo=UTC)


def own(text: str) -> PriceTable:
    import tomllib

    return parsed_table("prices.toml", text, tomllib.loads(text))


# -- listed ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "provider", "prices"),
    [
        ("gpt-5", "", {"input": "1.25", "cached": "0.125", "output": "10"}),
        ("gpt-5", "openai", {"input": "1.25", "cached": "0.125", "output": "10"}),
        ("gpt-5", "a-proxy-of-ours", {"input": "1.25", "cached": "0.125", "output": "10"}),
        ("openai/gpt-5", "", {"input": "1.25", "cached": "0.125", "output": "10"}),
        (
            "claude-opus-4-5-20251101",
            "anthropic",
            {"input": "5", "cached": "0.5", "written": "6.25", "written_long": "10", "output": "25"},
        ),
    ],
)
def test_listed_prices_are_found(model: str, provider: str, prices: dict[str, str]) -> None:
    found = rates_for(model, provider=provider, at=THEN)
    assert found is not None
    assert found.prices == {name: Decimal(value) for name, value in prices.items()}
    assert found.source == "genai-prices"


def test_sellers_names_are_resolved() -> None:
    for model in ("openrouter/anthropic/claude-opus-4.5", "us.anthropic.claude-opus-4-5-20251101-v1:0"):
        assert rates_for(model, at=THEN) is not None, model


@pytest.mark.parametrize("model", ["nobody-knows-me", "", "gpt-999", "llama-3.3-70b"])
def test_unknown_price_is_none_and_never_zero(model: str) -> None:
    assert rates_for(model, at=THEN) is None


def test_local_model_has_no_listed_price() -> None:
    assert rates_for("deepseek-chat", at=THEN) is not None
    assert rates_for("deepseek-chat", provider="ollama", at=THEN) is None


def test_model_not_sold_by_tokens_has_no_price() -> None:
    assert rates_for("whisper-1", provider="openai", at=THEN) is None


def test_price_above_a_threshold_applies_to_the_whole_prompt() -> None:
    found = rates_for("claude-sonnet-4-5", at=THEN)
    assert found is not None
    below, above = found.nano(Tokens(input=200_000)), found.nano(Tokens(input=200_001))
    assert below == 200_000 * 3_000
    assert above == 200_001 * 6_000


def test_price_depends_on_the_service_tier() -> None:
    usual, flex, batch = (rates_for("gpt-5", at=THEN, tier=tier) for tier in ("", "flex", "batch"))
    assert usual is not None
    assert flex is not None
    assert batch is not None
    assert usual.prices["input"] == 2 * flex.prices["input"] == 2 * batch.prices["input"]
    assert rates_for("gpt-5", at=THEN, tier="moonlight") == usual


def test_price_is_that_of_the_day() -> None:
    """o3 became cheaper in June 2025."""
    before = rates_for("o3", at=datetime(2025, 6, 1, tzinfo=UTC))
    after = rates_for("o3", at=datetime(2025, 7, 1, tzinfo=UTC))
    assert before is not None
    assert after is not None
    assert before.prices["input"] == 5 * after.prices["input"]


@settings(max_examples=40)
@given(
    st.sampled_from(["gpt-5", "claude-sonnet-4-5", "gemini-2.5-pro", "gpt-6.1-sol", "deepseek-chat"]),
    st.integers(0, 300_000),
    st.integers(0, 300_000),
    st.integers(0, 300_000),
    st.integers(0, 50_000),
)
def test_our_sums_are_those_of_the_price_list(
    model: str, plain: int, cached: int, written: int, output: int
) -> None:
    """The same call, priced by the package itself."""
    from genai_prices import Usage, calc_price

    whole = plain + cached + written
    found = rates_for(model, at=THEN)
    assert found is not None
    theirs = calc_price(
        Usage(input_tokens=whole, cache_read_tokens=cached, cache_write_tokens=written, output_tokens=output),
        model,
        genai_request_timestamp=THEN,
    ).total_price
    ours = found.nano(Tokens(whole, cached, written, 0, output))
    assert abs(ours - theirs * 10**9) <= 1


# -- for weighing ------------------------------------------------------------------------------------------------


def test_relative_prices_are_computed() -> None:
    claude = price_for("claude-opus-4-5", at=THEN)
    assert (claude.read, claude.write, claude.output, claude.known) == (0.1, 1.25, 5.0, True)
    assert claude.per_million == 5.0


def test_unknown_prices_follow_the_vendor() -> None:
    qwen = price_for("qwen-of-our-own", at=THEN)
    assert (qwen.read, qwen.known, qwen.per_million) == (0.2, False, None)
    nobody = price_for("", at=THEN)
    assert (nobody.read, nobody.write, nobody.output, nobody.known) == (0.1, 1.25, 5.0, False)


def test_free_model_is_weighed_with_usual_ratios() -> None:
    free = own('[[model]]\nmatch = "mine"\ninput = 0\noutput = 0\n')
    assert price_for("mine", table=free).known is False
    found = rates_for("mine", table=free)
    assert found is not None
    assert found.nano(Tokens(input=10**6, output=10**6)) == 0


# -- one's own ---------------------------------------------------------------------------------------------------

TABLE = """
[[model]]
match = ["mine-*", "ours"]
since = 2026-11-15
input = 2.0
output = 8

[[model]]
match = "mine-*"
input = 1
cached = 0.1
written = 1.25
written_long = 2
output = 4
window = 64000
above = [{ tokens = 100000, input = 2, output = 6 }]

[[model]]
match = "gpt-5*"
provider = "Work"
input = 0.5
output = 1
"""


def test_own_price_table_wins() -> None:
    table = own(TABLE)
    found = rates_for("mine-large", at=THEN, table=table)
    assert found is not None
    assert found.nano(Tokens(1_000_000, 500_000, 200_000, 100_000, 0)) == (
        300_000 * 2000 + 500_000 * 100 + 100_000 * 1250 + 100_000 * 2000
    )
    assert found.nano(Tokens(100_000, output=10)) == 100_000 * 1000 + 10 * 4000
    assert found.nano(Tokens(100_001, output=10)) == 100_001 * 2000 + 10 * 6000


def test_row_applies_from_its_date() -> None:
    table = own(TABLE)
    later = rates_for("mine-large", at=datetime(2026, 11, 15, 1, tzinfo=UTC), table=table)
    assert later is not None
    assert later.prices["input"] == 2
    assert rates_for("ours", at=THEN, table=table) is None


def test_row_may_apply_to_one_provider() -> None:
    table = own(TABLE)
    here, elsewhere = (rates_for("gpt-5", provider=p, at=THEN, table=table) for p in ("work", "openai"))
    assert here is not None
    assert elsewhere is not None
    assert (here.prices["input"], elsewhere.prices["input"]) == (Decimal("0.5"), Decimal("1.25"))


@pytest.mark.parametrize(
    ("text", "line", "field", "what"),
    [
        ('[[model]]\nmatch = "a"\nprice = 3\n', 3, "price", "an unknown field"),
        ('colour = "red"\n[[model]]\nmatch = "a"\n', 1, "colour", "an unknown field"),
        ('[[model]]\nmatch = "a"\ninput = 1\noutput = 2\n\n[[model]]\nmatch = "b"\ninput = -1\noutput = 2\n', 8, "input", "is negative"),
        ('[[model]]\nmatch = "a"\ninput = "1"\noutput = 2\n', 3, "input", "is not a number"),
        ('[[model]]\nmatch = "a"\ninput = true\noutput = 2\n', 3, "input", "is not a number"),
        ('[[model]]\nmatch = "a"\ninput = nan\noutput = 2\n', 3, "input", "is not a number"),
        ('[[model]]\nmatch = "a"\ninput = inf\noutput = 2\n', 3, "input", "is not a number"),
        ('[[model]]\nmatch = "a"\ninput = 1e9\noutput = 2\n', 3, "input", "is more than anything costs; give dollars per million tokens"),
        ('[[model]]\nmatch = "a"\ninput = 1\n', 1, "output", "is missing"),
        ('[[model]]\nmatch = "a"\n', 2, "match", "the row says neither prices nor a window"),
        ("[[model]]\ninput = 1\noutput = 1\n", 1, "match", "is not the name of a model, or a list of names"),
        ("[[model]]\nmatch = []\ninput = 1\noutput = 1\n", 2, "match", "is not the name of a model, or a list of names"),
        ('[[model]]\nmatch = ["a", 3]\ninput = 1\noutput = 1\n', 2, "match", "is not the name of a model, or a list of names"),
        ('[[model]]\nmatch = "a"\nwindow = 0\n', 3, "window", "is not a whole number of tokens"),
        ('[[model]]\nmatch = "a"\nwindow = 1e5\n', 3, "window", "is not a whole number of tokens"),
        ('[[model]]\nmatch = "a"\nsince = "soon"\ninput = 1\noutput = 1\n', 3, "since", "is not a date such as 2026-11-01"),
        ('[[model]]\nmatch = "a"\nprovider = 3\ninput = 1\noutput = 1\n', 3, "provider", "is not a text"),
        ('[[model]]\nmatch = "a"\ninput = 1\noutput = 1\nabove = 3\n', 5, "above", "is not a list of prices above a number of tokens"),
        ('[[model]]\nmatch = "a"\ninput = 1\noutput = 1\n[[model.above]]\ninput = 2\n', 5, "above.tokens", "is missing"),
        ('[[model]]\nmatch = "a"\ninput = 1\noutput = 1\n[[model.above]]\ntokens = 9\ninput = -2\n', 5, "above.input", "is negative"),
        ('[[model]]\nmatch = "a"\ninput = 1\noutput = 1\nabove = [{ tokens = 9, colour = 1 }]\n', 5, "above.colour", "an unknown field"),
        ('[model]\nmatch = "a"\n', 1, "model", "write it as [[model]]"),
    ],
)  # fmt: skip
def test_broken_table_names_file_line_and_field(text: str, line: int, field: str, what: str) -> None:
    with pytest.raises(InvalidInput) as error:
        own(text)
    assert error.value.message == f"price table prices.toml, line {line}, {field}: {what}"
    assert "[[model]]" in error.value.hint


def test_invalid_toml_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text('[[model]]\nmatch = "a"\ninput = = 1\n', encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"prices\.toml is not TOML: .*line 3"):
        price_table(str(path))


def test_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_bytes(b'[[model]]\nmatch = "\xff"\n')
    with pytest.raises(InvalidInput, match="is not UTF-8"):
        price_table(str(path))


@pytest.mark.parametrize("name", ["absent.toml", "."])
def test_unreadable_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match="cannot read the price table") as error:
        price_table(str(tmp_path / name))
    assert "`prices`" in error.value.hint


def test_changed_table_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text('[[model]]\nmatch = "a"\ninput = 1\noutput = 1\n', encoding="utf-8")
    before = price_table(str(path))
    assert price_table(str(path)) is before
    path.write_text('\ufeff[[model]]\nmatch = "a"\ninput = 10\noutput = 1\n', encoding="utf-8")
    found = rates_for("a", table=price_table(str(path)))
    assert found is not None
    assert found.prices["input"] == 10


def test_empty_path_is_an_empty_table() -> None:
    assert price_table("") == PriceTable()
