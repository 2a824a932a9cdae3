"""Adapter of the boundary detector for the shared harness: does a new task or topic start at this message?

    cd ../shared/bench/boundary && PYTHONPATH=<repository> python run.py --detector bench.boundary:Detector

Part, not product: the detector gets the messages directly. `bench.boundary_product` asks a store as a user does (compared on 60 dialogues of each set, not on whole sets).
One setting for all sets and both languages.
"""

from __future__ import annotations

from backscroll.tasks.boundary import detector as boundary


class Detector:
    """The detector that the engine uses."""

    threshold = boundary.THRESHOLD

    def start(self, lang: str) -> None:
        """Start a new dialogue."""
        self._detector = boundary.Detector(lang)

    def step(self, msg: dict[str, str], nxt: dict[str, str] | None) -> float:  # noqa: ARG002 - the harness passes it
        """Return the score of the next message; later ones are never used."""
        return float(self._detector.step(boundary.Signal(msg["role"], msg["text"])).value)
