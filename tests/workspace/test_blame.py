"""Which version wrote a line."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backscroll.workspace.git.blame import FileVersion, blame_lines


def keys(*contents: str | bytes, ignore_whitespace: bool = False) -> list[str]:
    versions = [FileVersion(str(n), content) for n, content in enumerate(contents, start=1)]
    return [line.key for line in blame_lines(versions, ignore_whitespace=ignore_whitespace)]


def test_line_belongs_to_its_last_author() -> None:
    """Edited lines change their author, the others do not."""
    assert keys("a\nb\nc\n", "a\nB\nc\n", "a\nB\nc\nd\n") == ["1", "2", "1", "3"]


def test_line_that_returns_is_new() -> None:
    """Its author is whoever wrote it again."""
    assert keys("a\nb\n", "a\n", "a\nb\n") == ["1", "3"]


def test_line_ends_are_no_change() -> None:
    """From CRLF to LF and back, and a last line that gets its newline."""
    assert keys("a\r\nb\r\nc", "a\nb\nc\n", "a\r\nb\r\nc\r\n", b"a\nb\nc") == ["1", "1", "1"]


def test_whitespace_can_be_ignored() -> None:
    """Otherwise indentation is a change of its own."""
    before, after = "if x:\n  go()\n", "if x:\n    go( )\n"
    assert keys(before, after) == ["1", "2"]
    assert keys(before, after, ignore_whitespace=True) == ["1", "1"]


def test_text_is_that_of_the_last_version() -> None:
    """Also if whitespace was ignored; line numbers start at 1."""
    lines = blame_lines(
        [FileVersion("x", "a b\n"), FileVersion("y", "a  b\r\n中文\n")], ignore_whitespace=True
    )
    assert [(line.number, line.text, line.key) for line in lines] == [(1, "a  b", "x"), (2, "中文", "y")]


def test_moved_block_keeps_its_origin() -> None:
    """Three lines or more; fewer count as written anew."""
    block = "def f(x):\n    y = x + 1\n\n    return y\n"
    rest = "".join(f"rest {n}\n" for n in range(10))
    assert keys(block + rest, rest + block) == ["1"] * 14
    assert keys("one\ntwo\n" + rest, rest + "one\ntwo\n") == ["1"] * 10 + ["2"] * 2


def test_new_line_next_to_a_moved_block_is_new() -> None:
    """What is new in between is new."""
    block = ["alpha()\n", "beta()\n", "gamma()\n"]
    rest = [f"rest {n}\n" for n in range(6)]
    after = [*rest, "new()\n", *block, "newer()\n"]
    assert keys("".join(block + rest), "".join(after)) == ["1"] * 6 + ["2"] + ["1"] * 3 + ["2"]


def test_copied_block_is_new() -> None:
    """Only one of the two keeps the origin."""
    block = "alpha()\nbeta()\ngamma()\n"
    assert sorted(keys(block + "end\n", block + "end\n" + block)) == ["1"] * 4 + ["2"] * 3


def test_blame_of_empty_histories() -> None:
    """No versions, empty versions, an emptied file that is filled again."""
    assert keys() == []
    assert keys("") == []
    assert keys("a\n", "") == []
    assert keys("a\n", "", "a\n") == ["3"]


def test_odd_bytes_are_lines_too() -> None:
    """No UTF-8, zero bytes, form feeds: nothing is lost and nothing crashes."""
    assert keys(b"\xff\xfe\nx\n", b"\xff\xfe\ny\n") == ["1", "2"]
    assert keys("a\x0cb\u2028c\n\ud800\n", "a\x0cb\u2028c\n\ud800\nz") == ["1", "1", "2"]


def test_long_history_of_a_large_file() -> None:
    """Thousands of lines through many versions: each edit is found where it was made."""
    lines = [f"line {n}\n" for n in range(3000)]
    versions = [FileVersion("0", "".join(lines))]
    for n in range(1, 40):
        lines[n * 50] = f"edited {n}\n"
        versions.append(FileVersion(str(n), "".join(lines)))
    found = {line.number - 1: line.key for line in blame_lines(versions) if line.key != "0"}
    assert found == {n * 50: str(n) for n in range(1, 40)}


TEXTS = st.lists(
    st.lists(st.sampled_from(["a", "b", "c", "", "}", "d e"]), max_size=12).map("\n".join), max_size=5
)


@given(TEXTS)
def test_the_lines_are_the_files_lines(texts: list[str]) -> None:
    """Whatever happened before, the last version is what is shown."""
    lines = blame_lines([FileVersion(str(n), text) for n, text in enumerate(texts)])
    shown = [line.text for line in lines]
    assert shown == (texts[-1].removesuffix("\n").split("\n") if texts and texts[-1] else [])
    assert all(line.key in {str(n) for n in range(len(texts))} for line in lines)


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=8), min_size=1, max_size=5))
def test_a_line_that_nobody_touched_keeps_its_first_origin(around: list[list[str]]) -> None:
    """Unique lines that stand in every version, whatever comes and goes around them."""
    versions = [
        FileVersion(str(n), "\n".join([*some, "anchor one", "anchor two", *reversed(some), "last anchor"]))
        for n, some in enumerate(around)
    ]
    for line in blame_lines(versions):
        if "anchor" in line.text:
            assert line.key == "0"
