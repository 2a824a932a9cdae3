"""The detector of boundaries as an adapter for the shared harness: does a new task or topic start at this message?

    cd ../shared/bench/boundary && PYTHONPATH=<repository> python run.py --detector bench.boundary:Detector

`Detector` reads vectors as the engine does (`wordllama`), `Words` goes by words alone. One setting for all sets and both languages.
"""

from __future__ import annotations

from typing import Any

from backscroll.llm.encoder import encoder_of
from backscroll.tasks import boundary


class Words:
    """Without vectors."""

    threshold = boundary.THRESHOLD
    encode: Any = None

    def start(self, lang: str) -> None:
        """A new dialogue begins."""
        self._detector = boundary.Detector(lang, self.encode)

    def step(self, msg: dict[str, str], nxt: dict[str, str] | None) -> float:  # noqa: ARG002 - the harness passes it
        """The score of the next message; what follows is never looked at."""
        return float(self._detector.step(boundary.Signal(msg["role"], msg["text"])).value)


class Detector(Words):
    """With the vectors that the engine uses; without the package, by words alone."""

    def __init__(self) -> None:
        encoder = encoder_of("wordllama")
        self.encode = None if encoder is None else encoder.encode
