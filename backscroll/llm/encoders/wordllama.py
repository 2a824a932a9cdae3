"""Static word vectors from the wordllama wheel: no network, no inference, about ten thousand sentences per second.

Owns reading the wheel's weights and the pooling. A text is the mean of the vectors of its tokens (weighting rare ones was
measured and did not help); Chinese is first glossed into English by `llm/encoders/gloss`. Downloads nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from backscroll.llm.encoders.gloss import gloss_text
from backscroll.recall.text.words import has_unspaced

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
#: Longer texts are truncated here: beyond a few thousand words a mean carries no information.
LONGEST = 20_000
_FEW = 64


def _folder() -> Path:
    """Return the folder of the installed wheel. It is not imported: that is slow and configures logging globally."""
    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("No module named 'wordllama'", name="wordllama")
    return Path(next(iter(spec.submodule_search_locations)))


class WordLlamaEncoder:
    """The base encoder: 256 dimensions."""

    name = "wordllama-256-2"
    dim = 256

    def __init__(self) -> None:
        from tokenizers import Tokenizer

        folder = _folder()
        self._vectors = _tensor(folder.joinpath(_WEIGHTS))
        self._tokenizer = Tokenizer.from_str(folder.joinpath(_TOKENIZER).read_text(encoding="utf-8"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def encode(self, texts: Sequence[str]) -> NDArray[float32]:
        """Return one row of length 1 per text."""
        rows = np.zeros((len(texts), self.dim), np.float32)
        for row, ids in zip(rows, self._ids([_readable(text) for text in texts]), strict=True):
            if ids:
                row[:] = self._vectors[ids].mean(axis=0, dtype=np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / np.maximum(lengths, 1e-9, dtype=np.float32)

    def _ids(self, texts: list[str]) -> list[list[int]]:
        if len(texts) > _FEW:
            return [found.ids for found in self._tokenizer.encode_batch(texts, add_special_tokens=False)]
        # For a question and its words, starting several threads costs more than the work.
        return [self._tokenizer.encode(text, add_special_tokens=False).ids for text in texts]


def _readable(text: str) -> str:
    """Return what the tokenizer can read: no lone surrogates, not too long, English in place of Chinese."""
    text = text[:LONGEST]
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8", "replace")
        if has_unspaced(text):
            text = gloss_text(text)
    # Whitespace has a vector too: all words missing from the dictionary would mean the same.
    return text if text.strip() else ""


def _tensor(file: Path) -> NDArray[np.float16 | float32]:
    """Return the only matrix in a safetensors file, memory-mapped: only the rows in use are loaded."""
    with file.open("rb") as opened:
        size = int.from_bytes(opened.read(8), "little")
        head = cast("dict[str, dict[str, object]]", json.loads(opened.read(size)))
    facts = next(value for name, value in head.items() if name != "__metadata__")
    low, _ = cast("tuple[int, int]", facts["data_offsets"])
    kind = {"F16": "<f2", "F32": "<f4"}[str(facts["dtype"])]
    shape = cast("tuple[int, int]", tuple(cast("list[int]", facts["shape"])))
    return np.asarray(np.memmap(file, kind, "r", 8 + size + low, shape))
