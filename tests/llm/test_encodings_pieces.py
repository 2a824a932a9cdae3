"""Where long texts are cut before encoding."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backscroll.llm.tokens import encodings
from backscroll.llm.tokens.encodings import pieces


def _looked_at_whole(text: str, most: int) -> list[str]:
    """The same with every place to cut looked at."""
    out: list[str] = []
    start = 0
    while len(text) - start > most:
        end = start + most
        seams = list(encodings._SEAM.finditer(text, start + most // 2, end))
        end = seams[-1].end() if seams else end
        out.append(text[start:end])
        start = end
    return [*out, text[start:]]


@given(
    st.lists(st.sampled_from(["a", "word", "-" * 70, "-" * 700, " ", ".", "好", "。", "\n"]), max_size=60),
    st.sampled_from([8, 64, 200, 1_000]),
)
def test_the_last_place_to_cut_is_found_however_far_it_is_from_the_end(words: list[str], most: int):
    """Looking from the end finds the same cut as looking at every place, and nothing of the text is lost."""
    text = "".join(words)
    cut = list(pieces(text, most))
    assert cut == _looked_at_whole(text, most)
    assert "".join(cut) == text
