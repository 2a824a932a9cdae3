"""What an import reports about each conversation of a file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from backscroll.vocab.foreign import Problem


@dataclass(frozen=True, slots=True)
class SecretNotice:
    """A masked excerpt of a message that looks like a secret."""

    kind: str
    shown: str
    line: int | None


@dataclass(slots=True)
class ImportReport:
    """What an import did with one conversation of a file."""

    format: str
    source: str
    title: str = ""
    thread: str | None = None
    new: bool = False
    dry_run: bool = False
    counts: Counter[str] = field(default_factory=Counter[str])
    notes: list[str] = field(default_factory=list[str])
    problems: list[Problem] = field(default_factory=list[Problem])
    secrets: list[SecretNotice] = field(default_factory=list[SecretNotice])
