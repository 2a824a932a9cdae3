"""Both keepers see the same files and the same changes."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.workspace.snapshots.keeper_choice import snapshots_for

NAMES = st.sampled_from(
    ["a.py", "b.txt", "dir/a.py", "dir/c/d.md", "文件.txt", "x.log", ".env", "build/o", "z"]
)
CONTENTS = st.sampled_from(
    ["", "1\n", "1\r\n", "one\ntwo\nthree\n", "one\n2\nthree\n", "x" * 3000, "\0bin", "LINK", "RUN"]
)
TREES = st.lists(st.dictionaries(NAMES, CONTENTS, max_size=6), min_size=2, max_size=4)


def make(root: Path, files: dict[str, str]) -> None:
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    (root / ".gitignore").write_text("*.log\nbuild/\n")
    for path, content in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if content == "LINK":
            place.symlink_to("a.py")
        else:
            place.write_text(content, newline="")
            place.chmod(0o755 if content == "RUN" else 0o644)


@settings(max_examples=12)
@given(TREES)
def test_the_same_files_and_the_same_changes(
    tmp_path_factory: pytest.TempPathFactory, trees: list[dict[str, str]]
) -> None:
    """Paths, kinds, contents, what was not kept and why; and for every pair of snapshots which files changed, by how many lines.

    Which of several equal files a rename came from is each keeper's own choice, so renames count here as gone and come.
    """
    place = tmp_path_factory.mktemp("agree")
    root = place / "r"
    root.mkdir()
    keepers = [snapshots_for(root, place / "kept", git=git, largest=2000) for git in (True, False)]
    taken: list[tuple[str, ...]] = []
    for files in trees:
        make(root, files)
        taken.append(tuple(keeper.take() for keeper in keepers))
        one, other = (keeper.entries(name) for keeper, name in zip(keepers, taken[-1], strict=True))
        assert [(p, e.kind, e.size, e.why) for p, e in one.items()] == [
            (p, e.kind, e.size, e.why) for p, e in other.items()
        ]
        for path in one:
            assert keepers[0].read(taken[-1][0], path) == keepers[1].read(taken[-1][1], path)
    for before, after in itertools.pairwise(taken):
        told: list[set[tuple[str, str, int, int]]] = []
        for keeper, old, new in zip(keepers, before, after, strict=True):
            changes = keeper.compare(old, new)
            assert [change.path for change in changes] == sorted(change.path for change in changes)
            told.append(
                {(c.path, c.action, c.added, c.removed) for c in changes if c.action == "changed"}
                | {(c.path, "added", 0, 0) for c in changes if c.action in {"added", "renamed"}}
                | {
                    (c.old_path or c.path, "deleted", 0, 0)
                    for c in changes
                    if c.action in {"deleted", "renamed"}
                }
            )
        assert told[0] == told[1]
    assert [n == taken[0][0] for n, _ in taken] == [m == taken[0][1] for _, m in taken]
