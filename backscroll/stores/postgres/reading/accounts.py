"""Read the ledger, lessons and receipts."""

from __future__ import annotations

from collections.abc import Sequence

from backscroll.record.derived import Charge, Lesson, SpendingTotal
from backscroll.stores.columns import plain
from backscroll.stores.ledger import CHARGE, SUMS, charge_of, grouping, sums, when
from backscroll.stores.postgres.reading.derived import PostgresDerivedReader


class PostgresAccountReader(PostgresDerivedReader):
    """Reads accounts."""

    def charges(
        self,
        *,
        thread: str | None = None,
        since_us: int | None = None,
        until_us: int | None = None,
        limit: int = 100,
    ) -> list[Charge]:
        where, values = when(thread, since_us, until_us, None, "%s")
        sql = f"SELECT {CHARGE} FROM backscroll_charges WHERE tenant = %s{where} ORDER BY at_us DESC, id DESC LIMIT %s"
        return [charge_of(row) for row in self._s.ask(sql, self._tenant, *values, max(0, limit))]

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
        where, values = when(thread, since_us, until_us, day, "%s")
        names = ", ".join(groups)
        sql = f"SELECT {names}{', ' if groups else ''}{SUMS} FROM backscroll_charges WHERE tenant = %s{where}"
        rows = self._s.ask(f"{sql} GROUP BY {names}" if groups else sql, self._tenant, *values)
        return sums(groups, rows)

    def lessons(self, thread: str | None = None, limit: int = 10_000) -> list[Lesson]:
        where, values = ("", ()) if thread is None else (" AND thread = %s", (plain(thread),))
        sql = (
            f"SELECT at, thread, feature, amount FROM backscroll_lessons WHERE tenant = %s{where} "
            "ORDER BY at_us DESC, feature, thread LIMIT %s"
        )
        return [Lesson(*row) for row in self._s.ask(sql, self._tenant, *values, max(0, limit))]

    def receipts(self, thread: str, limit: int = 1) -> list[bytes]:
        root = self._root(thread)
        if root is None:
            return []
        sql = (
            "SELECT body FROM backscroll_receipts WHERE tenant = %s AND root = %s AND thread = %s "
            "ORDER BY no DESC LIMIT %s"
        )
        return [row[0] for row in self._s.ask(sql, self._tenant, root, thread, max(0, limit))]
