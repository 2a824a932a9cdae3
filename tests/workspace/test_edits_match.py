"""Where an edit applies: exactly, loosely if unambiguous, or nowhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import InvalidInput
from backscroll.workspace.edits.edit import TextReplacement
from backscroll.workspace.edits.match import Document, find_replace

CODE = (
    "class A:\n    def f(self):\n        x = 1   \n        return x\n\n    def g(self):\n        return 2\n"
)


def result(text: str, edit: TextReplacement) -> tuple[str, list[str]]:
    found = sorted(find_replace(Document(text), edit), key=lambda f: f.start)
    out, at = "", 0
    for each in found:
        out += text[at : each.start] + each.text
        at = each.end
    return out + text[at:], [each.note for each in found if each.note]


def test_exact_text_is_found() -> None:
    """A part of a line, several lines, every place."""
    assert result(CODE, TextReplacement("a", "return 2", "return 3")) == (
        CODE.replace("return 2", "return 3"),
        [],
    )
    assert result("a b a b", TextReplacement("a", "a", "c", replace_all=True)) == ("c b c b", [])
    assert result("a b a b", TextReplacement("a", "a", "c", count=2)) == ("c b c b", [])
    assert result("aaaa", TextReplacement("a", "aa", "b", replace_all=True)) == ("bb", [])
    assert result("a\r\n".replace("\r\n", "\n"), TextReplacement("a", "a\r\n", "b\r\n")) == ("b\n", [])


def test_blocks_match_whole_lines() -> None:
    """The end of a longer line is no match."""
    assert result("x = 10\n= 10\n", TextReplacement("a", "= 10\n", "= 11\n", by_lines=True)) == (
        "x = 10\n= 11\n",
        [],
    )
    assert result("a\nb", TextReplacement("a", "b\n", "c\n", by_lines=True)) == ("a\nc", [])
    assert result("a\nb", TextReplacement("a", "b\n", "", by_lines=True)) == ("a\n", [])


def test_trailing_spaces_do_not_matter_if_unambiguous() -> None:
    """This is reported; unchanged lines keep theirs."""
    edit = TextReplacement(
        "a", "        x = 1\n        return x\n", "        x = 1\n        return x + 1\n", by_lines=True
    )
    assert result(CODE, edit) == (
        CODE.replace("return x\n", "return x + 1\n"),
        ["spaces at the ends of lines differ"],
    )


@pytest.mark.parametrize(
    ("old", "new", "after"),
    [
        (
            "def g(self):\n    return 2\n",
            "def g(self):\n    y = 1\n\n    return y\n",
            "    def g(self):\n        y = 1\n\n        return y\n",
        ),
        (
            "        def g(self):\n            return 2\n",
            "        def g(self):\n            return 3\n",
            "    def g(self):\n        return 3\n",
        ),
    ],
)
def test_indentation_is_shifted_as_a_whole(old: str, new: str, after: str) -> None:
    """All lines more, or all less, by the same; the new lines follow."""
    text, notes = result(CODE, TextReplacement("a", old, new))
    assert text == CODE.replace("    def g(self):\n        return 2\n", after)
    assert notes == ["the indentation differs"]


def test_tabs_are_shifted_too() -> None:
    """Whatever the indentation is made of."""
    text, _ = result("if a:\n\tif b:\n\t\tc()\n", TextReplacement("a", "if b:\n\tc()\n", "if b:\n\td()\n"))
    assert text == "if a:\n\tif b:\n\t\td()\n"


def test_uneven_shift_is_no_match() -> None:
    """Lines that differ by different amounts mean something else."""
    with pytest.raises(InvalidInput, match=r"was not found in the file; nearest, at line 6:\n6 \|     def g"):
        find_replace(Document(CODE), TextReplacement("a", "def g(self):\nreturn 2\n", "x\n"))


@pytest.mark.parametrize(
    ("text", "edit", "said"),
    [
        ("a\nb\na\n", TextReplacement("x", "a", "c"), "2 times, not 1: lines 1, 3"),
        ("aaa", TextReplacement("x", "aa", "c"), "2 times, not 1: lines 1, 1"),
        ("a\n", TextReplacement("x", "a", "c", count=2), "1 times, not 2: lines 1"),
        ("a  \nb\na \n", TextReplacement("x", "a\t\n", "c\n"), "2 times ignoring whitespace: lines 1, 3"),
        (" a\n  a\n", TextReplacement("x", "\ta\n", "\tc\n"), "was not found"),
        ("a\n", TextReplacement("x", "a", "a"), "are the same"),
        ("a\n", TextReplacement("x", "", "b"), "is empty"),
        ("a\n", TextReplacement("x", "\n\n", "b\n", by_lines=True), "is empty"),
        ("", TextReplacement("x", "a", "b"), "was not found in the file"),
        (
            "q" * 50 + "\n",
            TextReplacement("x", "completely different text", "b"),
            r"was not found in the file \(",
        ),
    ],
)
def test_missing_or_ambiguous_match_is_refused(text: str, edit: TextReplacement, said: str) -> None:
    """With the number of matches and their places; none is guessed."""
    with pytest.raises(InvalidInput, match=said) as refused:
        find_replace(Document(text), edit)
    assert refused.value.hint


def test_nearest_lines_are_shown() -> None:
    """By most common lines, else by the most similar line; with numbers."""
    text = "".join(f"value_{n} = compute({n})\n" for n in range(1, 40))
    with pytest.raises(InvalidInput) as refused:
        find_replace(
            Document(text),
            TextReplacement("x", "value_20 = compute(20)\nvalue_21 = wrong\nvalue_22 = compute(22)\n", "y"),
        )
    assert "nearest, at line 20:\n20 | value_20 = compute(20)\n21 | value_21" in refused.value.message
    with pytest.raises(InvalidInput, match="nearest, at line 7:"):
        find_replace(Document(text), TextReplacement("x", "valeu_7 = compute(7)", "y"))


def test_copied_line_numbers_are_recognised() -> None:
    """The error tells the model about them."""
    with pytest.raises(InvalidInput) as refused:
        find_replace(
            Document(CODE), TextReplacement("x", " 6 |     def g(self):\n 7 |         return 2", "y")
        )
    assert "leave out the line numbers" in refused.value.hint


@given(st.text(st.sampled_from("ab \n文"), max_size=40), st.data())
def test_what_stands_there_once_is_found_there(text: str, data: st.DataObject) -> None:
    """Any piece that occurs once is replaced where it stands, and nowhere else."""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    old = text[start:end]
    overlapping = sum(text.startswith(old, n) for n in range(len(text)))
    if not old or overlapping != 1:
        return
    assert result(text, TextReplacement("x", old, "NEW"))[0] == text[:start] + "NEW" + text[end:]


@given(st.text(st.sampled_from("a\n"), max_size=20))
def test_lines_and_characters_agree(text: str) -> None:
    """Putting every line back where it stands changes nothing."""
    document = Document(text)
    for n in range(len(document.lines) + 1):
        found = document.block(n, min(2, len(document.lines) - n), document.lines[n : n + 2])
        if document.lines[n : n + 2]:
            assert text[: found.start] + found.text + text[found.end :] == text
