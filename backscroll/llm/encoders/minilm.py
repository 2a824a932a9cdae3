"""MiniLM encoder: a small sentence transformer computed with numpy; no torch, no network.

Owns the forward pass of all-MiniLM-L6-v2 (six layers, mean pooling) over weights that `model_files` keeps. Texts are computed
one by one, so that a vector never depends on the rest of the batch; long ones in windows, whose vectors are averaged. Chinese
is first glossed into English by `gloss`, because the model reads little else.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from backscroll.errors import MissingExtra
from backscroll.llm.encoders.gloss import gloss_text
from backscroll.llm.encoders.model_files import folder_of, is_installed
from backscroll.recall.text.words import has_unspaced

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

    Matrix = NDArray[float32]

_LAYERS = 6
_HEADS = 12
_EPSILON = 1e-12
_WINDOW = 254  # tokens at a time, besides the two special ones; the model was trained on 256
_WINDOWS = 4  # windows of one text; the rest adds little about its topic
_AROUND = (101, 102)  # [CLS] and [SEP]
_LONGEST = 8_000  # characters of a text that are read


class MiniLMEncoder:
    """all-MiniLM-L6-v2: 384 dimensions."""

    name = "minilm-384-1"
    dim = 384

    def __init__(self, root: Path | None = None) -> None:
        if not is_installed("minilm", root):
            raise MissingExtra("the model minilm is not installed", hint="`backscroll models install minilm`")
        from tokenizers import Tokenizer

        folder = folder_of("minilm", root)
        self._weights = _tensors(folder / "model.safetensors")
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Return one row of length 1 per text; zeros for an empty text."""
        rows = np.zeros((len(texts), self.dim), np.float32)
        known: dict[str, Matrix] = {}
        for row, text in zip(rows, texts, strict=True):
            if text not in known:
                known[text] = self._vector(_readable(text))
            row[:] = known[text]
        return rows

    def _vector(self, text: str) -> Matrix:
        ids = self._tokenizer.encode(text, add_special_tokens=False).ids
        total = np.zeros(self.dim, np.float32)
        for start in range(0, min(len(ids), _WINDOW * _WINDOWS), _WINDOW):
            piece = ids[start : start + _WINDOW]
            total += len(piece) * _unit(self._states([_AROUND[0], *piece, _AROUND[1]]).mean(axis=0))
        return _unit(total)

    def _states(self, ids: list[int]) -> Matrix:
        """Return the last hidden states of one window."""
        w = self._weights
        words, places = w["embeddings.word_embeddings.weight"], w["embeddings.position_embeddings.weight"]
        x = words[ids] + places[: len(ids)] + w["embeddings.token_type_embeddings.weight"][0]
        x = self._normal(x, "embeddings.LayerNorm")
        for layer in range(_LAYERS):
            at = f"encoder.layer.{layer}"
            attended = self._linear(
                self._attention(x, f"{at}.attention.self"), f"{at}.attention.output.dense"
            )
            x = self._normal(x + attended, f"{at}.attention.output.LayerNorm")
            inner = _gelu(self._linear(x, f"{at}.intermediate.dense"))
            x = self._normal(x + self._linear(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        return x

    def _attention(self, x: Matrix, at: str) -> Matrix:
        length, size = x.shape
        each = size // _HEADS

        queries, keys, values = (
            self._linear(x, f"{at}.all").reshape(length, 3, _HEADS, each).transpose(1, 2, 0, 3)
        )
        scores = queries @ keys.transpose(0, 2, 1) / np.float32(np.sqrt(each))
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares = scores / scores.sum(axis=-1, keepdims=True)
        return (shares @ values).transpose(1, 0, 2).reshape(length, size)

    def _linear(self, x: Matrix, at: str) -> Matrix:
        return x @ self._weights[f"{at}.weight"] + self._weights[f"{at}.bias"]

    def _normal(self, x: Matrix, at: str) -> Matrix:
        centred = x - x.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(_EPSILON))
        return centred / spread * self._weights[f"{at}.weight"] + self._weights[f"{at}.bias"]


def _unit(vector: Matrix) -> Matrix:
    length = np.float32(np.sqrt(vector @ vector))
    return vector / length if length > 0 else vector


def _gelu(x: Matrix) -> Matrix:
    """Return the exact GELU; numpy lacks the error function, so by Abramowitz and Stegun 7.1.26, accurate to 2e-7."""
    z = np.abs(x) * np.float32(0.7071067811865476)
    t = 1 / (1 + np.float32(0.3275911) * z)
    series = t * (
        np.float32(0.254829592)
        + t
        * (
            np.float32(-0.284496736)
            + t * (np.float32(1.421413741) + t * (np.float32(-1.453152027) + t * np.float32(1.061405429)))
        )
    )
    bell = np.asarray(np.exp(-z * z), np.float32)
    return np.asarray(x * np.float32(0.5) * (1 + np.sign(x) * (1 - series * bell)), np.float32)


def _readable(text: str) -> str:
    """Return what the tokenizer can read: no lone surrogates, not too long, English in place of Chinese."""
    text = text[:_LONGEST]
    if text.isascii():
        return text
    text = text.encode("utf-8", "replace").decode()
    return gloss_text(text) if has_unspaced(text) else text


def _tensors(path: Path) -> dict[str, Matrix]:
    """Return the matrices of a safetensors file by name, memory-mapped."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        head = cast("dict[str, dict[str, object]]", json.loads(file.read(size)))
    data = np.memmap(path, np.uint8, "r", 8 + size)
    out: dict[str, Matrix] = {}
    for name, facts in head.items():
        if facts.get("dtype") == "F32":
            low, high = cast("list[int]", facts["data_offsets"])
            shape = tuple(cast("list[int]", facts["shape"]))
            out[name] = np.asarray(data[low:high].view("<f4").reshape(shape))
    return _prepare_weights(out)


def _prepare_weights(tensors: dict[str, Matrix]) -> dict[str, Matrix]:
    """Return weights ready for multiplication: transposed, with queries, keys and values concatenated."""
    for layer in range(_LAYERS):
        at = f"encoder.layer.{layer}.attention.self"
        for kind in ("weight", "bias"):
            tensors[f"{at}.all.{kind}"] = np.concatenate(
                [tensors.pop(f"{at}.{name}.{kind}") for name in ("query", "key", "value")]
            )
    return {
        name: np.ascontiguousarray(tensor.T) if name.startswith("encoder.") and tensor.ndim == 2 else tensor
        for name, tensor in tensors.items()
    }
