"""Leases: the right to have a model work on a thread, held by one process at a time, so that no call is paid for twice.

Owns taking, renewing and releasing; a lease expires if its holder dies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from backscroll.record.ports import Reader, Writer
from backscroll.vocab.values.moment import microseconds

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import EngineScope

LENGTH = 900 * 1_000_000  # microseconds; longer than one call with all its retries


class Lease:
    """The right to do one kind of work for a thread; use it in a `with`. `about` tells others what is worked on."""

    def __init__(self, engine: EngineScope, thread: str, what: str = "modelling", about: str = "") -> None:
        self._engine, self._name = engine, f"{what} {thread}"
        self._thread = thread
        self._about = about
        self._holder = engine.means.random(8).hex()
        self._held = False

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *_: object) -> None:
        if self._held:
            self._engine.store.write(self._release)

    def renew(self) -> bool:
        """Take the lease, or extend it; False if another process has it."""

        def work(tx: Writer) -> bool:
            tx.lock_thread(self._thread)  # other claimants wait here
            now = microseconds(self._engine.means.now())
            holder, until, _ = _read(tx.meta(self._name))
            if holder not in ("", self._holder) and until > now:
                return False
            tx.set_meta(self._name, f"{self._holder} {now + LENGTH} {self._about}".strip())
            return True

        self._held = self._engine.store.write(work)
        return self._held

    def _release(self, tx: Writer) -> None:
        tx.lock_thread(self._thread)
        if (tx.meta(self._name) or "").startswith(self._holder):
            tx.set_meta(self._name, "")


def find_lease(reader: Reader, thread: str, what: str, now_us: int) -> str | None:
    """Return what a process is currently working on for a thread; None if nothing."""
    holder, until, about = _read(reader.meta(f"{what} {thread}"))
    return about if holder and until > now_us else None


def _read(text: str | None) -> tuple[str, int, str]:
    """Return the holder, the expiry, and what the lease is about."""
    holder, _, rest = (text or "").partition(" ")
    until, _, about = rest.partition(" ")
    return holder, int(until) if until.isdecimal() else 0, about
