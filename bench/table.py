"""Print the table of figures: what, measured, floor, ratio, bar."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. `bar` says what it should stay under; `ok` None where there is no bar."""

    what: str
    measured: str
    floor: str = ""
    ratio: float | None = None
    bar: str = ""
    ok: bool | None = None


def print_table(rows: list[Row]) -> None:
    """Print the rows as a table."""
    table = Table(title="Backscroll: the record", title_justify="left")
    for name in ("what", "measured", "raw sqlite3", "ratio", "bar", ""):
        table.add_column(name, justify="right" if name in ("measured", "raw sqlite3", "ratio") else "left")
    for row in rows:
        mark = "" if row.ok is None else "ok" if row.ok else "MISSED"
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}x"
        table.add_row(row.what, row.measured, row.floor, ratio, row.bar, mark)
    Console(width=max(120, Console().width)).print(table)
