"""Utterances: one message of a turn as the rules read it.

A noun only: `derive/extract/assertions` decides which messages count and makes these; the readers
(`derive/extract/en/reader`, `derive/extract/zh/reader`, `derive/extract/code/reader`) read them in order.
"""

from __future__ import annotations

from dataclasses import dataclass

from backscroll.vocab.ids import Ref


@dataclass(frozen=True, slots=True)
class Utterance:
    """One message of the turn: its words, the revision that holds them, who says them and to whom."""

    text: str
    source: Ref | None = None
    speaker: str = ""  # the author's name, if the message has one
    role: str = "user"
    addressee: str = ""  # the addressee, if that is plain: the other of two

    @property
    def who(self) -> str:
        """The referent of "I": the author's name, or the role word."""
        return self.speaker or self.role
