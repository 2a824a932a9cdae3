"""Matching the lines of two texts."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from backscroll.workspace.git.line_history import count_changes, hunks, match_lines, split_lines

LINES = st.lists(st.sampled_from("abcdefgh"), max_size=25)


@given(LINES, LINES)
def test_runs_are_equal_and_in_order(before: list[str], after: list[str]) -> None:
    """What is called the same is the same, and no line is used twice."""
    old_at = new_at = 0
    for old, new, count in match_lines(before, after):
        assert old >= old_at
        assert new >= new_at
        assert before[old : old + count] == after[new : new + count]
        old_at, new_at = old + count, new + count


@given(LINES)
def test_text_matches_all_of_itself(lines: list[str]) -> None:
    assert match_lines(lines, lines) == ([(0, 0, len(lines))] if lines else [])


@given(LINES, LINES, LINES)
def test_insertions_keep_every_old_line(head: list[str], middle: list[str], tail: list[str]) -> None:
    """Only insertions are counted."""
    assert count_changes(head + tail, head + [f"new {line}" for line in middle] + tail) == (len(middle), 0)


@given(st.text(alphabet="ab\r\n\x0c\u2028", max_size=30))
def test_lines_make_up_the_text(text: str) -> None:
    """Only line feeds end a line."""
    lines = split_lines(text)
    assert "".join(lines) == text
    assert all(line.count("\n") == line.endswith("\n") for line in lines)


@given(st.text(alphabet="ab\n", max_size=40), st.text(alphabet="ab\n", max_size=40))
def test_hunks_are_a_diff(before: str, after: str) -> None:
    """Taking the lines with a minus and those without a sign gives the old text around the changes, with right numbers."""
    old, new = split_lines(before), split_lines(after)
    for sign, lines, at in (("-", old, 1), ("+", new, 2)):
        position = 0
        rebuilt: list[str] = []
        for line in "".join(hunks(old, new)).split("\n")[:-1]:
            if line.startswith("@@"):
                start, _, count = line.split()[at][1:].partition(",")
                begin = int(start) - (count != "0")
                rebuilt += lines[position:begin]
                position = begin
            elif line.startswith((" ", sign)):
                rebuilt.append(line[1:] + "\n")
                position += 1
        rebuilt += lines[position:]
        # Whether the last line has an end is told by a line of its own, which is left out here.
        assert "".join(rebuilt).rstrip("\n") == "".join(lines).rstrip("\n")


def test_git_applies_our_hunks(tmp_path: Path) -> None:
    """The real git accepts them as a patch."""
    old = [f"line {n}\n" for n in range(100)]
    new = [*old[:10], "ten\n", *old[12:50], *old[55:], "end"]
    (tmp_path / "f").write_text("".join(old))
    patch = "--- a/f\n+++ b/f\n" + "".join(hunks(old, new))
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=patch.encode(), check=True)
    assert (tmp_path / "f").read_text() == "".join(new)


@given(st.lists(st.sampled_from("ab"), max_size=14), st.lists(st.sampled_from("ab"), max_size=14))
def test_as_many_lines_as_can_be_are_matched(before: list[str], after: list[str]) -> None:
    """Lines that all repeat themselves have no anchors: there the longest common part is found, whatever is tried."""
    best = [[0] * (len(after) + 1) for _ in range(len(before) + 1)]
    for i, one in enumerate(before):
        for j, other in enumerate(after):
            best[i + 1][j + 1] = best[i][j] + 1 if one == other else max(best[i][j + 1], best[i + 1][j])
    found = sum(count for _, _, count in match_lines(before, after))
    if all(before.count(line) != 1 or after.count(line) != 1 for line in "ab"):
        assert found == best[-1][-1]


def test_long_lists_of_repeated_lines() -> None:
    """Tables and logs: thousands of lines of which none is unique."""
    before = [f"row {n * n % 11}" for n in range(4000)]
    after = [line for n, line in enumerate(before) if n % 40]
    assert sum(count for _, _, count in match_lines(before, after)) == len(after)
    turned = [f"row {n * n * n % 11}" for n in range(4000)]
    assert sum(count for _, _, count in match_lines(before, turned)) > 1000


def test_large_different_texts_are_fast() -> None:
    """No table of all lines against all lines is filled."""
    before = [f"a{n % 7}" for n in range(20_000)]
    after = [f"b{n % 7}" for n in range(20_000)]
    assert match_lines(before, after) == []
    assert match_lines(before, [*before[:9000], "x", *before[9000:]])[0][2] >= 9000
