"""Encoders: texts in, vectors out.

Owns the interface that every encoder has, and the one place where a name becomes an encoder. An encoder that cannot be had (a
package is missing) is None with a reason for `doctor`: recall then goes by words alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from backscroll.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray


class Encoder(Protocol):
    """What makes vectors. The same text has the same vector, whatever is encoded beside it."""

    @property
    def name(self) -> str:
        """Under which vectors are stored; another way of making them has another name."""
        ...

    @property
    def dim(self) -> int:
        """How long a vector is."""
        ...

    def encode(self, texts: Sequence[str]) -> NDArray[float32]:
        """One row of length 1 for each text; a text without anything to encode gives zeros."""
        ...


def _wordllama() -> Encoder:
    # start-up: numpy
    from backscroll.llm.encoders.wordllama import WordLlamaEncoder

    return WordLlamaEncoder()


def _minilm() -> Encoder:
    # start-up: numpy
    from backscroll.llm.encoders.minilm import MiniLMEncoder

    return MiniLMEncoder()


_KNOWN: dict[str, Callable[[], Encoder]] = {"wordllama": _wordllama, "minilm": _minilm}


def register_encoder(name: str, make: Callable[[], Encoder]) -> None:
    """Add a way to get an encoder; the last one under a name wins."""
    _KNOWN[name] = make
    _load_encoder.cache_clear()


def encoder_names() -> tuple[str, ...]:
    """Return what `encoder` may be set to."""
    return ("none", *sorted(_KNOWN))


@lru_cache(maxsize=8)
def _load_encoder(name: str) -> tuple[Encoder | None, str]:
    try:
        return _KNOWN[name](), ""
    except (ImportError, MissingExtra, OSError) as error:
        return None, str(error)


def encoder_of(name: str) -> Encoder | None:
    """Return the encoder of that name; None for `none`, and where it cannot be had (`why_no_encoder` says why)."""
    if name == "none":
        return None
    if name not in _KNOWN:
        raise InvalidInput(f"unknown encoder: {name!r}", hint=f"use one of {', '.join(encoder_names())}")
    return _load_encoder(name)[0]


def why_no_encoder(name: str) -> str:
    """Return why there are no vectors; empty if there are."""
    if name == "none":
        return "switched off by the setting encoder"
    return _load_encoder(name)[1] if encoder_of(name) is None else ""
