"""Recipes: the names of derived data, so that nothing is ever stale.

A recipe turns inputs into an artefact. The key of the artefact is a hash over the recipe, its version, its settings, the
model (where one is used) and the inputs, so there is nothing to invalidate: after an edit the inputs have another key; what
is missing under the current keys is due, and whatever exists is valid.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from backscroll.formats.sources.json_text import dumps
from backscroll.vocab.part import Json

#: Counts the tokens of a text; passed in, because its tables are read from disk.
Count: TypeAlias = Callable[[str], int]


def _none() -> Mapping[str, Json]:
    return {}


@dataclass(frozen=True, slots=True)
class Recipe:
    """A recipe for artefacts of one kind. Raise `version` whenever the same inputs would give another artefact."""

    name: str
    version: int
    settings: Mapping[str, Json] = field(default_factory=_none)
    model: str = ""  # empty: rules

    def key(self, inputs: Iterable[str]) -> bytes:
        """Return the key of the artefact for these inputs (content hashes of revisions, keys of artefacts, other text)."""
        facts = dumps([self.name, self.version, dict(sorted(self.settings.items())), self.model])
        hashed = hashlib.sha256(facts.encode())
        for text in inputs:
            data = text.encode("utf-8", "surrogatepass")
            hashed.update(len(data).to_bytes(8, "big") + data)
        return hashed.digest()[:20]
