"""Retry failed calls: which errors, how often, and how long to wait.

Owns the policy: busy services, server errors, cut streams and refused connections are retried after a growing pause, or after
the one that the service asked for; a wrong key, an unknown model or an overflow never are. Every failed attempt is reported
to the caller, who records it on the ledger. A broken stream is requested again as a whole, and `Again` tells the reader to
discard what arrived. Sleeping and randomness are passed in.
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

#: Errors worth a retry; all others would recur.
PASSING = (ModelBusy, Unreachable, CutShort)


def _quiet(_error: ModelError, _attempt: int) -> None:
    """Ignore a report."""


@dataclass(frozen=True, slots=True)
class Patience:
    """The number of attempts and the pauses between them."""

    tries: int = 4  # including the first
    first: float = 0.5  # seconds before the second try; doubled each time
    most: float = 30.0  # seconds between two tries, at most
    longest: float = 120.0  # give up if a service asks for a longer pause
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random  # 0 to 1: spreads clients that failed together

    def pause(self, error: ModelError, attempt: int) -> float | None:
        """Return the seconds to wait after failed attempt 1, 2, …; None: give up."""
        if attempt >= self.tries or not isinstance(error, PASSING):
            return None
        if error.facts.get("aborted") or error.facts.get("flooded"):  # a retry would fail in the same way
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
    """Repeat a call until it succeeds or an error is permanent. `on_failure` is called for every failure."""
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
    """Yield a stream, retried until it completes or an error is permanent.

    `Again` precedes every pause: discard what was read, the answer starts over. The pause is `patience.sleep`; a caller that
    passes an interruptible one can end the wait. Closing this generator closes the connection. `before` is called right
    before every attempt.
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
    """Hold a stream and close its connection on every exit."""
    try:
        yield events
    finally:
        close = getattr(events, "close", None)
        if close is not None:
            close()
