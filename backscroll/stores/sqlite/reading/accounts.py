"""Read the ledger, lessons and receipts."""

from __future__ import annotations

from collections.abc import Sequence

from backscroll.record.derived import Charge, Lesson, SpendingTotal
from backscroll.stores.columns import plain
from backscroll.stores.ledger import CHARGE, SUMS, charge_of, grouping, sums, when
from backscroll.stores.sqlite.reading.derived import SqliteDerivedReader


class SqliteAccountReader(SqliteDerivedReader):
    """Reads accounts."""

    def charges(
        self,
        *,
        thread: str | None = None,
        since_us: int | None = None,
        until_us: int | None = None,
        limit: int = 100,
    ) -> list[Charge]:
        where, values = when(thread, since_us, until_us, None, "?")
        sql = f"SELECT {CHARGE} FROM charges WHERE 1{where} ORDER BY at_us DESC, id DESC LIMIT ?"
        return [charge_of(row) for row in self._c.execute(sql, (*values, max(0, limit)))]

    def sum_spending(
        self,
        by: Sequence[str] = (),
        *,
        thread: str | None = None,
        since_us: int | None = None,
        until_us: int | None = None,
        day: str | None = None,
    ) -> list[SpendingTotal]:
        groups = grouping(by)
        where, values = when(thread, since_us, until_us, day, "?")
        names = ", ".join(groups)
        sql = f"SELECT {names}{', ' if groups else ''}{SUMS} FROM charges WHERE 1{where}"
        return sums(groups, self._c.execute(f"{sql} GROUP BY {names}" if groups else sql, values).fetchall())

    def lessons(self, thread: str | None = None, limit: int = 10_000) -> list[Lesson]:
        where, values = ("", ()) if thread is None else ("WHERE thread = ? ", (plain(thread),))
        sql = f"SELECT at, thread, feature, amount FROM lessons {where}ORDER BY at_us DESC, feature, thread LIMIT ?"
        return [Lesson(*row) for row in self._c.execute(sql, (*values, max(0, limit)))]

    def receipts(self, thread: str, limit: int = 1) -> list[bytes]:
        sql = "SELECT body FROM receipts WHERE thread = ? ORDER BY no DESC LIMIT ?"
        return [row[0] for row in self._c.execute(sql, (self._number(thread), max(0, limit)))]
