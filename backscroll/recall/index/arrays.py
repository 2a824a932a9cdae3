"""Arrays that grow at their end: capacity is reserved, so that adding a row does not copy all earlier rows.

Owns only that. A view that was returned never changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_FIRST = 16


@dataclass(slots=True)
class GrowingArray:
    """Rows of one kind; `width` 0: numbers."""

    dtype: Any
    width: int = 0
    size: int = 0
    _rows: NDArray[Any] = field(init=False)

    def __post_init__(self) -> None:
        self._rows = self._room(_FIRST)

    def _room(self, size: int) -> NDArray[Any]:
        return np.zeros((size, self.width) if self.width else size, self.dtype)

    def extend(self, rows: ArrayLike) -> None:
        """Add rows at the end."""
        new: NDArray[Any] = np.asarray(rows, self.dtype)
        needed = self.size + len(new)
        if needed > len(self._rows):
            more = self._room(max(needed, 2 * len(self._rows)))
            more[: self.size] = self._rows[: self.size]
            self._rows = more
        self._rows[self.size : needed] = new
        self.size = needed

    @property
    def view(self) -> NDArray[Any]:
        """All rows so far."""
        return self._rows[: self.size]
