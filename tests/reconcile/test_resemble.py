"""Similarity of texts: versions of one text are found, different texts are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.reconcile.likeness import ALIKE, alike, likeness, pair_versions

LONG = " ".join(f"word{k % 97} and{k % 89}" for k in range(400))
ZH = "".join(chr(0x4E00 + (k * 37) % 1500) for k in range(600))


@given(st.text(max_size=400), st.text(max_size=400))
def test_likeness_is_a_share(a: str, b: str) -> None:
    """Between nothing and everything, equal both ways where it counts, and everything for equal texts."""
    assert 0.0 <= likeness(a, b) <= 1.0
    assert (likeness(a, b) >= ALIKE) == (likeness(b, a) >= ALIKE)
    assert likeness(a, a) == 1.0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Hello there, my frend.", "Hello there, my friend."),
        ("她推开门，走进了森林。", "她推开门，慢慢走进了森林。"),
        (LONG, LONG.replace("word7 ", "WORD7 ")),
        (ZH, ZH[:250] + "改" * 40 + ZH[290:]),
        (
            "The reply was cut off in the",
            "The reply was cut off in the middle, and here is all the rest of it, at length.",
        ),
        ("สวัสดีครับ วันนี้อากาศดี", "สวัสดีครับ วันนี้อากาศดีมาก"),
    ],
)
def test_versions_of_a_text_are_similar(old: str, new: str) -> None:
    """Touched up, continued or partly rewritten, in any language."""
    assert alike(old, new)
    assert alike(new, old)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ok", "no"),
        ("continue", "stop here"),
        ("继续", "停下"),
        (LONG, " ".join(reversed(LONG.split()))),
        (ZH, ZH[::-1]),
        ("yes", "yesterday we walked to the river and back"),
        ("The gate is locked.", "Nobody has seen the key since Monday."),
    ],
)
def test_different_texts_are_not_similar(old: str, new: str) -> None:
    """Even with some words in common."""
    assert not alike(old, new)


def test_unrelated_prose_of_equal_length_is_not_similar() -> None:
    """Two long texts in one language share letters and small words."""
    other = " ".join(f"thing{k % 83} and{k % 89}" for k in range(400))
    assert likeness(LONG, other) < ALIKE


def test_similar_pairs_keep_order_and_kind() -> None:
    """Pairs rise on both sides and join only texts of one kind."""
    ours = ["the quick brown fox jumps", "over the lazy sleeping dog", "and away it goes again"]
    theirs = ["over the lazy sleeping dog!", "the quick brown fox jumps!", "and away it goes again!"]
    kinds = ["u", "u", "a"]
    pairs = pair_versions(ours, theirs, kinds, ["u", "u", "u"])
    assert pairs in ([(0, 1)], [(1, 0)])
    assert pair_versions(ours, ours, kinds, kinds) == [(0, 0), (1, 1), (2, 2)]


def test_most_similar_text_is_the_version() -> None:
    """Of several similar ones."""
    ours = ["You roll the dice: fourteen, a hit.", "You roll the dice: fifteen, a hit."]
    assert pair_versions(ours, ["You roll the dice: fifteen, a hit!"], ["a", "a"], ["a"]) == [(1, 0)]


def test_versions_are_found_among_thousands() -> None:
    """Although a stretch is missing, without comparing all with all."""
    ours = [" ".join(f"w{(k * 31 + n * n) % 5003}" for n in range(30)) for k in range(2000)]
    theirs = [text.replace("w1", "v1", 1) + " indeed" for k, text in enumerate(ours) if not 500 <= k < 650]
    expected = [(k if k < 500 else k + 150, k) for k in range(len(theirs))]
    assert pair_versions(ours, theirs, ["u"] * len(ours), ["u"] * len(theirs)) == expected


def test_empty_texts_are_no_versions() -> None:
    """Nothing is not similar to nothing."""
    assert pair_versions(["", "a"], ["", ""], ["u", "u"], ["u", "u"]) == []
