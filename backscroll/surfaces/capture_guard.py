"""Recording third-party programs without ever breaking them.

Owns one rule: an error of ours is warned about once, and the program continues; `strict` raises it instead.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TypeVar

from backscroll.logs import logger_of

_LOG = logger_of("surfaces")
T = TypeVar("T")
_DEEP = 4  # frames between the warning and the program's own line, at least


class CaptureGuard:
    """Runs code that records a program."""

    strict: bool
    warned: bool

    def run_guarded(self, work: Callable[[], T]) -> T | None:
        """Run our part; an error in it must not break the program that is only being recorded."""
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
