"""Prices of models by date, and the cost of a number of tokens.

Owns the lookup order: the user's own table, then `genai-prices` (loaded on first use), then unknown, which is None and never
zero. Money is counted in whole billionths of a US dollar. Calls are recorded by `engine/budget/costs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from backscroll.llm.prices.families import family_of, local_providers, plain_name, sold_by_amazon
from backscroll.llm.prices.ledger import Tokens
from backscroll.llm.prices.table import PRICES, PriceRow, PriceTable, PriceTier

if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation

_NONE = PriceTable()
#: What `genai-prices` calls them.
_LISTED = {
    "input": "input_mtok",
    "cached": "cache_read_mtok",
    "written": "cache_write_mtok",
    "written_long": "cache_write_1h_mtok",
    "output": "output_mtok",
}


@dataclass(frozen=True, slots=True)
class Rates:
    """Prices in US dollars per million tokens; above a prompt size, the step's prices apply to the whole prompt."""

    prices: Mapping[str, Decimal]
    above: tuple[PriceTier, ...] = ()
    source: str = ""  # the user's table, or genai-prices

    def at(self, prompt: int) -> Mapping[str, Decimal]:
        """Return the prices for a prompt of this size."""
        held = self.prices
        for step in self.above:
            if prompt > step.tokens:
                held = step.prices
        return held

    def nano(self, tokens: Tokens) -> int:
        """Return what a call costs, in billionths of a US dollar."""
        held = self.at(tokens.input)
        plain = held["input"]
        written = held.get("written", plain)
        owed = (
            (tokens.input - tokens.cached - tokens.written) * plain
            + tokens.cached * held.get("cached", plain)
            + (tokens.written - tokens.written_long) * written
            + tokens.written_long * held.get("written_long", written)
            + tokens.output * held["output"]
        )
        return int((owed * 1000).quantize(Decimal(1), rounding=ROUND_HALF_UP))


@dataclass(frozen=True, slots=True)
class Price:
    """Relative prices, where a plain prompt token costs 1."""

    read: float = 0.1
    write: float = 1.25
    output: float = 5.0
    known: bool = False  # False: the vendor's usual ratios
    per_million: float | None = None  # US dollars per million plain tokens; None: unknown


def rates_for(
    model: str,
    *,
    provider: str = "",
    at: datetime | None = None,
    table: PriceTable = _NONE,
    tier: str = "",
) -> Rates | None:
    """Return the prices of a model at a moment (None: now); None if unknown.

    `tier` is the service tier (flex, priority, batch); the user's own table has one price for all.
    """
    moment = at or datetime.now(UTC)
    own = table.find_price_row(model, provider, moment.date())
    if own is not None:
        return _own(own, table.path)
    if not model.strip() or provider.strip().lower() in local_providers():
        return None
    # A price changes by the hour at most, so calls within an hour share one lookup.
    return _listed_rates(model, provider, moment.replace(minute=0, second=0, microsecond=0), tier)


def price_for(
    model: str, *, provider: str = "", at: datetime | None = None, table: PriceTable = _NONE
) -> Price:
    """Return relative prices for cost decisions; if unknown, the vendor's usual ratios."""
    found = rates_for(model, provider=provider, at=at, table=table)
    family = family_of(model)
    if found is None or not found.prices["input"]:
        return Price(family.read, family.write, family.output)
    plain = found.prices["input"]
    written = found.prices.get("written", plain)
    return Price(
        float(found.prices.get("cached", plain) / plain),
        float(written / plain),
        float(found.prices["output"] / plain),
        known=True,
        per_million=float(plain),
    )


def listed_window(model: str, provider: str = "") -> int | None:
    """Return the current context window of a model from the price list."""
    found = _find_price(model, provider, datetime.now(UTC)) if model.strip() else None
    return None if found is None else found.model.context_window


def _own(row: PriceRow, path: str) -> Rates:
    return Rates(row.prices, row.above, path)


@lru_cache(maxsize=512)
def _listed_rates(model: str, provider: str, at: datetime, tier: str) -> Rates | None:
    found = _find_price(model, provider, at, tier)
    if found is None:
        return None
    listed = {
        name: value for name in PRICES if (value := getattr(found.model_price, _LISTED[name])) is not None
    }
    if "input" not in listed or "output" not in listed:
        return None  # priced per picture or minute; unknown per token
    sizes = sorted({tier.start for value in listed.values() for tier in getattr(value, "tiers", ())})
    steps = tuple(
        PriceTier(size, {name: _at(value, size) for name, value in listed.items()}) for size in sizes
    )
    return Rates({name: _at(value, None) for name, value in listed.items()}, steps, "genai-prices")


def _at(value: Any, size: int | None) -> Decimal:
    """Return a listed price for prompts above a size; None: the smallest size."""
    if isinstance(value, Decimal):
        return value
    held: Decimal = value.base
    for tier in value.tiers:
        if size is not None and size >= tier.start:
            held = tier.price
    return held


def _find_price(model: str, provider: str, at: datetime, tier: str = "") -> PriceCalculation | None:
    from genai_prices import Usage, calc_price

    nothing = Usage(input_tokens=0)
    served = {"processing": "batch"} if tier == "batch" else {"service_tier": tier} if tier else None
    for seller, name in _spellings(model.strip(), provider.strip()):
        try:
            return calc_price(
                nothing, name, provider_id=seller, genai_request_timestamp=at, price_context=served
            )
        except LookupError:
            continue  # it is not listed under this spelling
    return None


def _spellings(model: str, provider: str) -> Iterator[tuple[str | None, str]]:
    """Yield pairs of seller and model name, the most exact first."""
    if provider:
        yield provider, model
    seller, slash, rest = model.partition("/")
    if slash and seller and rest:
        yield seller, rest
    if sold_by_amazon(model):
        yield "aws", model
    yield None, model
    if plain_name(model) != model:
        yield None, plain_name(model)
