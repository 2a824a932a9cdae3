"""List which models wrote artefacts in a store, without importing the code that calls models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backscroll.record.chain import words_from_bytes

if TYPE_CHECKING:
    from backscroll.record.ports import Reader
    from backscroll.vocab.part import Json

#: In the store's meta, for each kind of artefact: which models made some, newest first.
MODELS = "models used:"
#: The names of the recipes that prompts ask about (`derive/models` has the recipes).
GIST, SUMMARY, ASSERTIONS = "gist:model", "summary:model", "assertions:model"


def models_used(reader: Reader, name: str) -> list[str]:
    """Return the models that made artefacts of a kind in this store, newest first."""
    raw: Json = words_from_bytes((reader.meta(f"{MODELS}{name}") or "[]").encode())
    return [str(model) for model in raw]
