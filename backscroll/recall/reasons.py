"""Why a text was recalled, in a few words for people and receipts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

#: The clue, from which value on it is worth telling, and how it is told.
_TOLD = (
    ("inside", 1.0, "said at that time"),
    ("held", 0.5, "holds the words"),
    ("soft", 0.45, "holds similar words"),
    ("near_z", 2.0, "near in meaning"),
    ("words_share", 0.4, "holds some of the words"),
    ("spoke", 1.0, "said by whom the question names"),
    ("first_by", 0.5, "beside what matches"),
    ("session_words", 0.8, "in a session that matches"),
)
_MOST = 3


def reason_of(clues: Mapping[str, NDArray[float64]], number: int) -> str:
    """Return the strongest clues for one text."""
    told = [words for name, least, words in _TOLD if name in clues and clues[name][number] >= least]
    if "holds the words" in told and "holds similar words" in told:
        told.remove("holds similar words")
    return ", ".join(told[:_MOST]) or "the nearest there is"
