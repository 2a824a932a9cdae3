"""Detection of runs that repeat the same calls with the same results.

Owns the detection: the steps of a run are compared by their calls and results; a cycle of up to three steps that was
repeated three times ends the run. Calls with new results each time (a poll that changes, a test after an edit) never do.
Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from backscroll.vocab.part import Json, ToolCall

#: Number of repetitions, and the maximum length of a cycle in steps.
TIMES, LONGEST = 3, 3


class Repeats:
    """The last steps of a run."""

    def __init__(self) -> None:
        self._steps: list[bytes] = []

    def step(self, calls: Sequence[ToolCall], results: Iterable[str]) -> bool:
        """Add a step; return True if the run is in a cycle."""
        told = [(call.name, _plain(call.arguments)) for call in calls]
        text = json.dumps([told, list(results)], sort_keys=True, default=str)
        self._steps.append(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
        del self._steps[: -TIMES * LONGEST]
        return any(self._turns(length) for length in range(1, LONGEST + 1))

    def _turns(self, length: int) -> bool:
        last = self._steps[-TIMES * length :]
        return len(last) == TIMES * length and last == last[-length:] * TIMES


def _plain(arguments: Json) -> Json:
    """Return arguments as a value, however they were written."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments, strict=False)
    except (ValueError, RecursionError):
        return arguments
