"""Count the tokens of a text for a given model.

Owns the choice of a vocabulary, counting, and cutting at a number of tokens. o200k and cl100k are counted exactly, and so are
vendors whose vocabulary is installed; others are estimated from the o200k count (`exact` is False) and corrected by
`llm/tokens/calibration`. Elsewhere: messages and tools (`llm/tokens/overhead`) and storing (`engine/budget/counts`).
"""

from __future__ import annotations

import threading
from functools import lru_cache
from hashlib import blake2b
from math import ceil

from backscroll.errors import InvalidInput
from backscroll.llm.prices.families import ModelFamily, family_of
from backscroll.llm.tokens.encodings import available, coder, well_formed
from backscroll.vocab.values.pattern import late

_KEPT = 16_384  # counts in memory, per vocabulary
_SHORT = 192  # characters up to which a text is its own key; longer ones are remembered by their hash
_CJK = late("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_CJK_TOKENS = 0.75  # o200k tokens of such a character, approximately


class Tokenizer:
    """Counts the tokens of texts; safe to share between OS threads."""

    __slots__ = ("_factor", "_factor_cjk", "_kept", "_lock", "_vocabulary", "exact", "name")

    def __init__(
        self, name: str, vocabulary: str, *, exact: bool, factor: float = 1.0, factor_cjk: float = 1.0
    ) -> None:
        self.name = name  # the key under which counts are stored
        self.exact = exact
        self._vocabulary = vocabulary
        self._factor = factor
        self._factor_cjk = factor_cjk
        self._kept: dict[str | bytes, int] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<Tokenizer {self.name}{'' if self.exact else ' (estimate)'}>"

    def count(self, text: str) -> int:
        """Return the number of tokens of a text. Special tokens in it are counted as plain text."""
        if not text:
            return 0
        key = text if len(text) <= _SHORT else _hash(text)
        found = self._kept.get(key)
        if found is None:
            found = self._count_tokens(text)
            with self._lock:
                if len(self._kept) >= _KEPT:  # drop the oldest quarter
                    for old in list(self._kept)[: _KEPT // 4]:
                        del self._kept[old]
                self._kept[key] = found
        return found

    def cut(self, text: str, n: int) -> str:
        """Return the start of a text of at most `n` tokens, whole characters only."""
        if n <= 0 or not text:
            return ""
        room = 5 * n + 64  # most texts have fewer characters per token than this
        while (whole := self._count_tokens(text[:room])) <= n and room < len(text):
            room *= 2
        head = text[:room]
        if whole <= n:
            return head
        plain, vocabulary = _encodable(head), coder(self._vocabulary)
        wanted = n if self.exact else n * vocabulary.count(plain) // whole
        while wanted > 0:
            end = vocabulary.head(plain, wanted)
            excess = (
                self._count_tokens(head[:end]) - n
            )  # the cut text may be more tokens than it was in context
            if excess <= 0:
                return head[:end]
            wanted -= max(1, int(excess / max(self._factor, self._factor_cjk)))
        return ""

    def _count_tokens(self, text: str) -> int:
        text = _encodable(text)
        total = coder(self._vocabulary).count(text)
        if self._factor == self._factor_cjk == 1.0:
            return total
        wide = min(float(total), _CJK_TOKENS * len(_CJK.findall(text)))
        return ceil((total - wide) * self._factor + wide * self._factor_cjk)


def _encodable(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return well_formed(text)
    return text


def _hash(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@lru_cache(maxsize=64)
def named_tokenizer(name: str) -> Tokenizer:
    """Return the tokenizer that stores its counts under this name."""
    if name in ("o200k", "cl100k"):
        return Tokenizer(name, name, exact=True)
    raise InvalidInput(f"unknown tokenizer: {name!r}", hint="use o200k or cl100k")


@lru_cache(maxsize=64)
def _of_family(family: ModelFamily) -> Tokenizer:
    if family.tokenizer != "estimate":
        return named_tokenizer(family.tokenizer)
    if family.vocabulary and available(family.vocabulary):
        return Tokenizer(family.vocabulary, family.vocabulary, exact=True)
    return Tokenizer(
        f"estimate:{family.name}",
        "o200k",
        exact=False,
        factor=family.factor,
        factor_cjk=family.factor_cjk,
    )


def tokenizer_for(model: str = "") -> Tokenizer:
    """Return the tokenizer of a model; default: o200k. Unknown models are estimated by o200k (`exact` is False)."""
    return _of_family(family_of(model)) if model.strip() else named_tokenizer("o200k")
