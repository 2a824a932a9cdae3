"""Listening to other people's programs without ever breaking them.

Owns one rule: a fault of ours is warned of once, and the program goes on; `strict` raises it instead. Before: nothing. After:
`surfaces/wrap/client`, `surfaces/adapters/recorder`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TypeVar

from backscroll.logs import logger_of

_LOG = logger_of("surfaces")
T = TypeVar("T")
_DEEP = 4  # frames between the warning and the program's own line, in the shortest way there is


class CaptureGuard:
    """Something that listens to a program."""

    strict: bool
    warned: bool

    def run_guarded(self, work: Callable[[], T]) -> T | None:
        """Do our part; what goes wrong in it must not break the program that we only listen to."""
        try:
            return work()
        except Exception as error:
            if self.strict:
                raise
            _LOG.warning("a call was not recorded: %s", type(error).__name__)
            if not self.warned:
                self.warned = True
                warnings.warn(
                    f"backscroll could not record a call: {error}. The program goes on; strict=True raises instead.",
                    RuntimeWarning,
                    stacklevel=_DEEP,
                )
            return None
