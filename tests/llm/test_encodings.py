"""The tables are genuine, and cutting texts into pieces does not change their token counts."""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.llm.tokens import encodings
from backscroll.llm.tokens.encodings import VOCABULARIES, available, coder, pieces, read_table, well_formed
from backscroll.llm.tokens.rank_table import RankTable, ShortCounter, pack_ranks
from tests.house import tree

if TYPE_CHECKING:
    import tiktoken

SHORT_COUNTER = ShortCounter(RankTable(Path(encodings.__file__).with_name("tables") / "o200k.ranks"))
#: As OpenAI's own package pins them.
PINNED = {
    "o200k": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
WORDS = st.text(
    st.sampled_from(list("aZ9 \n\t.,;'!?/(\"中文字。，é́😀ــ\u3000\u200b=<>{}")), min_size=0, max_size=120
)


@pytest.mark.parametrize("name", PINNED)
def test_tables_are_those_openai_publishes(name: str) -> None:
    found = hashlib.sha256(read_table(name)).hexdigest()
    assert found == PINNED[name] == VOCABULARIES[name].sha256


@pytest.mark.parametrize("name", PINNED)
def test_hashes_are_those_tiktoken_pins(name: str) -> None:
    """Read from the source of the package, because calling it would use the network."""
    from importlib.util import find_spec

    spec = find_spec("tiktoken_ext.openai_public")
    assert spec is not None
    assert spec.origin is not None
    assert PINNED[name] in Path(spec.origin).read_text(encoding="utf-8")


def test_text_is_split_as_by_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Same tables, same token counts on texts of all kinds."""
    import tiktoken
    from tiktoken_ext import openai_public

    def load(url: str, expected_hash: str) -> dict[bytes, int]:
        from backscroll.llm.tokens.encodings import _ranks

        return _ranks(read_table("o200k" if "o200k" in url else "cl100k"))

    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", load)
    texts = [
        "Hello, world! It's 2026-11-15; don't PANIC.\n\n\tdef f(x):\n        return x ** 2\n",
        "今天天气很好，我们去公园吧！（第二次）",
        "<|endoftext|> is only text here / and/or\r\n\r\n   ",
        "naïve café Ελληνικά русский العربية हिन्दी 👩‍👩‍👧‍👦 ́combining",
        '{"a": [1, 2.5e-3, null], "b": "\\u4e2d"}',
        " " * 50 + "x" + "\n" * 7,
    ]
    for name, constructor in (("o200k", openai_public.o200k_base), ("cl100k", openai_public.cl100k_base)):
        theirs = tiktoken.Encoding(**constructor())
        for text in texts:
            assert coder(name).count(text) == len(theirs.encode_ordinary(text)), (name, text)


#: What is counted without the whole vocabulary, and what comes near to it.
SHORT = st.lists(
    st.sampled_from(
        [
            *"aZ9 \n\r\t\x0b\x1c.,;'’!?/(\"中文字一龥。，、《》…—é\u3000\u9fa6",
            "'s",
            "'RE",
            "'ll",
            "the",
            "Über",
            "    ",
            "数据库",
        ]
    ),
    max_size=60,
).map("".join)


@pytest.fixture(scope="module")
def theirs() -> tiktoken.Encoding:
    import tiktoken

    found = VOCABULARIES["o200k"]
    ranks = RankTable(Path(encodings.__file__).with_name("tables") / found.file).ranks()
    return tiktoken.Encoding("o200k", pat_str=found.pattern, mergeable_ranks=ranks, special_tokens={})


@given(SHORT)
@settings(max_examples=400, deadline=None)
def test_short_texts_count_the_same_without_the_vocabulary(theirs: tiktoken.Encoding, text: str) -> None:
    """Or are left to it."""
    found = SHORT_COUNTER.count(text)
    assert found is None or found == len(theirs.encode_ordinary(text))
    if text.isascii() and len(text) <= 40:
        assert found is not None


@given(
    st.sampled_from(["的一是不了在人有我他", "数据库迁移脚本测试", "abcdeABC", "=-+*/", "aab"]),
    st.randoms(),
    st.integers(40, 900),
)
@settings(max_examples=60, deadline=None)
def test_long_runs_count_the_same_without_the_vocabulary(
    theirs: tiktoken.Encoding, letters: str, dice: random.Random, size: int
) -> None:
    """Chinese has no blanks: a page without a comma is one piece."""
    text = "".join(dice.choice(letters) for _ in range(size))
    assert SHORT_COUNTER.count(text) == len(theirs.encode_ordinary(text))


@given(st.dictionaries(st.binary(min_size=1, max_size=5), st.integers(0, 1000), max_size=40))
def test_a_table_comes_back_as_it_was(ranks: dict[bytes, int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "x.ranks"
        file.write_bytes(pack_ranks(ranks))
        table = RankTable(file)
        assert table.ranks() == ranks
        assert all(table.find(token) == rank for token, rank in ranks.items())
        assert all(table.find(token + b"x") == ranks.get(token + b"x") for token in ranks)


def test_long_texts_load_the_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few texts do not, many do; the counts are the same."""
    monkeypatch.setattr(encodings, "SHORTLY", 10)
    counter = encodings._RankCoder(VOCABULARIES["o200k"])
    first = counter.count("Hello, world!")
    assert counter._encoding is None
    for _ in range(10):
        assert counter.count("Hello, world!") == first
    assert counter._encoding is not None


@given(WORDS, st.integers(4, 40))
def test_pieces_put_together_are_the_text(text: str, most: int) -> None:
    cut = list(pieces(text, most))
    assert "".join(cut) == text
    assert all(len(piece) <= most for piece in cut)


@settings(max_examples=60)
@given(st.lists(WORDS, min_size=1, max_size=6), st.sampled_from(["o200k", "cl100k"]))
def test_seams_are_places_where_no_token_crosses(parts: list[str], name: str) -> None:
    """Cut at a seam, the pieces count to what the whole counts to."""
    from backscroll.llm.tokens.encodings import _SEAM

    text = " word.".join(parts)
    whole = coder(name).count(text)
    for seam in list(_SEAM.finditer(text))[:8]:
        assert coder(name).count(text[: seam.end()]) + coder(name).count(text[seam.end() :]) == whole


@pytest.mark.parametrize("name", PINNED)
@pytest.mark.parametrize("run", [" ", "\n", "\t", "\u3000", "A", "中", "=", "\u200b", "😀", "\ufffd", "1"])
def test_long_run_of_one_character_is_counted(name: str, run: str) -> None:
    """In one piece a million blanks overflow the tokenizer's stack, and it panics."""
    assert 0 < coder(name).count(run * 300_000) <= 900_000


@pytest.mark.parametrize("name", PINNED)
def test_head_of_a_text_ends_between_characters(name: str) -> None:
    text = "👩‍👩‍👧‍👦 zebra 龘靐齉"
    for n in range(coder(name).count(text) + 2):
        end = coder(name).head(text, n)
        assert 0 <= end <= len(text)
    assert coder(name).head(text, 10_000) == len(text)


def test_lone_surrogates_are_replaced_one_for_one() -> None:
    assert well_formed("a\ud800b\udfff") == "a\ufffdb\ufffd"


def test_missing_vocabulary_is_not_available() -> None:
    assert available("o200k")
    assert not available("klingon")


def test_importing_the_package_does_not_load_a_tokenizer() -> None:
    """The tables take a third of a second: only counting loads them."""
    program = (
        "import sys, backscroll, backscroll.llm.tokens.tokens, backscroll.engine.budget.costs\n"
        "backscroll.llm.tokens.tokens.tokenizer_for('gpt-5')\n"
        "heavy = {'tiktoken', 'tokenizers', 'genai_prices', 'numpy', 'openai'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tree.ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
