"""Trying a call again: what is worth it, how long to wait, how often.

Owns the policy: busy services, faults over there, cut streams and refused connections are tried again after a growing pause, or
after the one that the service asked for; a wrong key, an unknown model or an overflow never are. Every failed attempt is reported
to the caller, who puts it on the ledger. A stream that broke off is asked for as a whole again, and `Again` asks the reader to
drop what came of it. Not here: a clock of its own (sleeping and chance are passed in).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from backscroll.errors import CutShort, ModelBusy, ModelError, Unreachable
from backscroll.llm.clients.client import Again, Client, Done, Request, StreamEvent
from backscroll.logs import logger_of

_LOG = logger_of("llm")

T = TypeVar("T")

#: Worth another try; everything else fails in the same way again.
PASSING = (ModelBusy, Unreachable, CutShort)


def _quiet(_error: ModelError, _attempt: int) -> None:
    """Ignore a report."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long."""

    tries: int = 4  # the first one included
    first: float = 0.5  # seconds before the second try; doubled each time
    most: float = 30.0  # seconds between two tries, at most
    longest: float = 120.0  # a service that asks for a longer pause than this is not waited for
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random  # 0 to 1: spreads clients that failed together

    def pause(self, error: ModelError, attempt: int) -> float | None:
        """Return seconds to wait after this failure of attempt 1, 2, …; None: give up."""
        if attempt >= self.tries or not isinstance(error, PASSING):
            return None
        if error.facts.get("aborted") or error.facts.get("flooded"):  # the next try would end in the same way
            return None
        asked = error.facts.get("retry_after")
        if isinstance(asked, int | float) and asked >= 0:
            return float(asked) if asked <= self.longest else None
        return min(self.most, self.first * 2 ** (attempt - 1)) * (0.5 + self.chance() / 2)


def with_retries(
    call: Callable[[], T],
    patience: Patience | None = None,
    on_failure: Callable[[ModelError, int], None] = _quiet,
) -> T:
    """Make a call until it succeeds, or the last error is worth no further try. `on_failure` hears of every failure."""
    patience = patience or Patience()
    attempt = 1
    while True:
        try:
            return call()
        except ModelError as error:
            on_failure(error, attempt)
            wait = patience.pause(error, attempt)
            _LOG.warning("call failed, attempt %d: %s", attempt, type(error).__name__)
            if wait is None:
                raise
            patience.sleep(wait)
            attempt += 1


def stream_with_retries(
    client: Client,
    request: Request,
    patience: Patience | None = None,
    on_failure: Callable[[ModelError, int], None] = _quiet,
    before: Callable[[], None] | None = None,
) -> Iterator[StreamEvent]:
    """Yield a stream until it is whole, or the last error is worth no further try.

    Before every pause comes `Again`: what was read so far is void, the answer begins anew. The pause is `patience.sleep`, so that
    a caller who passes one that can be woken (or that raises) can end the waiting. Closing this generator closes the connection.
    `before` is called right before every attempt goes out.
    """
    patience = patience or Patience()
    attempt = 1
    while True:
        begun = False
        if before is not None:
            before()
        try:
            with _close_stream(client.stream(request)) as events:
                for event in events:
                    begun = True
                    yield event
                    if isinstance(event, Done):
                        return
            raise CutShort(f"the answer of {client.provider} broke off", hint="try again")
        except ModelError as error:
            on_failure(error, attempt)
            wait = patience.pause(error, attempt)
            _LOG.warning("call failed, attempt %d: %s", attempt, type(error).__name__)
            if wait is None:
                raise
            told = Again(error.message, attempt, wait, begun, type(error).__name__)
        yield told
        patience.sleep(wait)
        attempt += 1


@contextmanager
def _close_stream(events: Iterator[StreamEvent]) -> Generator[Iterator[StreamEvent]]:
    """A stream whose connection is closed on every way out."""
    try:
        yield events
    finally:
        close = getattr(events, "close", None)
        if close is not None:
            close()
