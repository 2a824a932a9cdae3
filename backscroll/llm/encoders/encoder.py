"""The encoder interface (texts in, vectors out) and the registry of encoders.

Owns the interface of every encoder, and the one lookup by name. An unavailable encoder (a package is missing) is None with a
reason for `doctor`: recall then uses words alone.
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
    """Encodes texts as vectors. The same text always has the same vector, whatever else is in the batch."""

    @property
    def name(self) -> str:
        """The name under which vectors are stored; a change of method needs a new name."""
        ...

    @property
    def dim(self) -> int:
        """The number of dimensions."""
        ...

    def encode(self, texts: Sequence[str]) -> NDArray[float32]:
        """Return one row of length 1 per text; zeros for a text with nothing to encode."""
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
    """Register a factory for an encoder; the last one under a name wins."""
    _KNOWN[name] = make
    _load_encoder.cache_clear()


def encoder_names() -> tuple[str, ...]:
    """Return the valid values of the setting `encoder`."""
    return ("none", *sorted(_KNOWN))


@lru_cache(maxsize=8)
def _load_encoder(name: str) -> tuple[Encoder | None, str]:
    try:
        return _KNOWN[name](), ""
    except (ImportError, MissingExtra, OSError) as error:
        return None, str(error)


def encoder_of(name: str) -> Encoder | None:
    """Return the encoder of that name; None for `none` or if unavailable (`why_no_encoder` gives the reason)."""
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
