"""The user's own table of prices and windows: a TOML file that overrides all built-in figures.

Owns reading and checking it: an error names the file, the line and the field. Invalid rows are rejected.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Any, cast

from backscroll.errors import InvalidInput
from backscroll.llm.prices.families import fitting, plain_name
from backscroll.regular_files import read_text

#: US dollars per million tokens.
PRICES = ("input", "cached", "written", "written_long", "output")
_DEAREST = 100_000
_NUMBERS = ("window", "max_output")
_KNOWN = ("match", "provider", "since", "above", *PRICES, *_NUMBERS)
_ROW = re.compile(r"\s*\[\[\s*model\s*\]\]")
_HINT = "every row is a [[model]] with `match` and prices in US dollars per million tokens; docs/costs.md shows one"


@dataclass(frozen=True, slots=True)
class PriceTier:
    """Prices from a prompt size upwards."""

    tokens: int
    prices: Mapping[str, Decimal]


@dataclass(frozen=True, slots=True)
class PriceRow:
    """One row of the table, with the models it matches."""

    fits: re.Pattern[str]
    provider: str
    since: date | None
    prices: Mapping[str, Decimal]
    above: tuple[PriceTier, ...]
    window: int | None
    max_output: int | None
    line: int

    def about(self, model: str, provider: str) -> bool:
        """Return True if this row matches a model, named with or without the seller."""
        if self.provider and self.provider != provider.strip().lower():
            return False
        return bool(self.fits.match(model.strip().lower()) or self.fits.match(plain_name(model)))


@dataclass(frozen=True, slots=True)
class PriceTable:
    """The rows in the order of the file; the first match wins."""

    path: str = ""
    rows: tuple[PriceRow, ...] = ()

    def find_price_row(self, model: str, provider: str, at: date) -> PriceRow | None:
        """Return the row with the prices of a model on a day."""
        fitting_rows = (r for r in self.rows if r.prices and r.about(model, provider))
        return next((r for r in fitting_rows if r.since is None or r.since <= at), None)

    def find_window_row(self, model: str, provider: str = "") -> PriceRow | None:
        """Return the row with the window of a model."""
        return next((r for r in self.rows if r.window and r.about(model, provider)), None)

    def find_output_row(self, model: str, provider: str = "") -> PriceRow | None:
        """Return the row with the longest answer of a model."""
        return next((r for r in self.rows if r.max_output and r.about(model, provider)), None)


def price_table(path: str) -> PriceTable:
    """Return the table in a file; an empty path gives an empty table. Reread only if the file has changed."""
    if not path:
        return PriceTable()
    place = Path(path).expanduser()
    try:
        stamp = place.stat()
    except OSError as error:
        raise InvalidInput(
            f"cannot read the price table {place}: {error.strerror}",
            hint="correct the setting `prices`, or unset it",
        ) from error
    return _read(place, stamp.st_mtime_ns, stamp.st_size)


@lru_cache(maxsize=8)
def _read(place: Path, _changed: int, _size: int) -> PriceTable:
    try:
        text = read_text(place, "utf-8-sig")
        data = tomllib.loads(text)
    except OSError as error:
        raise InvalidInput(
            f"cannot read the price table {place}: {error.strerror}",
            hint="correct the setting `prices`, or unset it",
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"the price table {place} is not UTF-8: byte {error.start}", hint="save it as UTF-8"
        ) from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidInput(f"the price table {place} is not TOML: {error}", hint=_HINT) from error
    return parsed_table(str(place), text, data)


def parsed_table(path: str, text: str, data: Mapping[str, Any]) -> PriceTable:
    """Return the table that a TOML document holds."""
    reader = _PriceReader(path, text)
    for name in data:
        if name != "model":
            raise reader.wrong(-1, name, "an unknown field")
    rows = data.get("model", [])
    if not isinstance(rows, list):
        raise reader.wrong(-1, "model", "write it as [[model]]")
    return PriceTable(path, tuple(reader.row(n, row) for n, row in enumerate(cast("list[Any]", rows))))


class _PriceReader:
    """Reads the rows of one file, with their line numbers."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.lines = text.splitlines()
        self.starts = [n for n, line in enumerate(self.lines) if _ROW.match(line)]

    def wrong(self, row: int, field: str, what: str) -> InvalidInput:
        """Return the error for a field of a row; row -1 is outside all rows."""
        return InvalidInput(
            f"price table {self.path}, line {self.line(row, field)}, {field}: {what}",
            hint=_HINT,
            file=self.path,
            field=field,
        )

    def line(self, row: int, field: str = "") -> int:
        """Return the line number of a field, or of its row if the field is absent; counted from 1."""
        begin = self.starts[row] if 0 <= row < len(self.starts) else 0
        end = self.starts[row + 1] if 0 <= row + 1 < len(self.starts) else len(self.lines)
        outer = re.escape(field.partition(".")[0])
        names = re.compile(rf"""\s*(?:\[+\s*(?:model\.)?)?["']?{outer}["']?\s*[=\].]""")
        for number in range(begin, end):
            if field and names.match(self.lines[number]):
                return number + 1
        return begin + 1

    def row(self, n: int, entry: Any) -> PriceRow:
        """Return one checked row."""
        if not isinstance(entry, dict):
            raise self.wrong(n, "model", "write it as [[model]]")
        given = cast("dict[str, Any]", entry)
        for name in given:
            if name not in _KNOWN:
                raise self.wrong(n, name, "an unknown field")
        prices = self.prices(n, given)
        if not prices and not any(name in given for name in _NUMBERS):
            raise self.wrong(n, "match", "the row says neither prices nor a window")
        for name in ("input", "output"):
            if prices and name not in prices:
                raise self.wrong(n, name, "is missing")
        provider = given.get("provider", "")
        if not isinstance(provider, str):
            raise self.wrong(n, "provider", "is not a text")
        return PriceRow(
            fitting(self.patterns(n, given)),
            provider.strip().lower(),
            self.since(n, given.get("since")),
            prices,
            self.above(n, given, prices),
            self.number(n, given, "window"),
            self.number(n, given, "max_output"),
            self.line(n),
        )

    def patterns(self, n: int, given: Mapping[str, Any]) -> Sequence[str]:
        match = given.get("match")
        names = cast("list[Any]", match if isinstance(match, list) else [match])
        if not names or not all(isinstance(name, str) and name.strip() for name in names):
            raise self.wrong(n, "match", "is not the name of a model, or a list of names")
        return [str(name).strip() for name in names]

    def prices(self, n: int, given: Mapping[str, Any], inside: str = "") -> dict[str, Decimal]:
        out: dict[str, Decimal] = {}
        for name in PRICES:
            value = given.get(name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
                raise self.wrong(n, inside + name, "is not a number")
            if value < 0:
                raise self.wrong(n, inside + name, "is negative")
            if value > _DEAREST:
                raise self.wrong(
                    n, inside + name, "is more than anything costs; give dollars per million tokens"
                )
            out[name] = Decimal(str(value))
        return out

    def above(self, n: int, given: Mapping[str, Any], base: Mapping[str, Decimal]) -> tuple[PriceTier, ...]:
        steps = given.get("above", [])
        if not isinstance(steps, list) or (steps and not base):
            raise self.wrong(n, "above", "is not a list of prices above a number of tokens")
        out: list[PriceTier] = []
        for step in cast("list[Any]", steps):
            if not isinstance(step, dict):
                raise self.wrong(n, "above", "is not a list of prices above a number of tokens")
            entry = cast("dict[str, Any]", step)
            for name in entry:
                if name != "tokens" and name not in PRICES:
                    raise self.wrong(n, f"above.{name}", "an unknown field")
            tokens = self.number(n, entry, "tokens", "above.")
            if tokens is None:
                raise self.wrong(n, "above.tokens", "is missing")
            out.append(PriceTier(tokens, {**base, **self.prices(n, entry, "above.")}))
        return tuple(sorted(out, key=lambda s: s.tokens))

    def number(self, n: int, given: Mapping[str, Any], name: str, inside: str = "") -> int | None:
        value = given.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise self.wrong(n, inside + name, "is not a whole number of tokens")
        return value

    def since(self, n: int, value: Any) -> date | None:
        if value is None or isinstance(value, date):
            return value.date() if isinstance(value, datetime) else value
        try:
            return date.fromisoformat(str(value))
        except ValueError as error:
            raise self.wrong(n, "since", "is not a date such as 2026-11-01") from error
