"""A person's edit while a tool runs is the person's; where that cannot be told, it is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.errors import Conflict
from backscroll.workspace.edits.edits import WholeFile, apply, plan
from backscroll.workspace.files.files import Files
from tests.engine.workrooms import Desk, git


@pytest.fixture(params=[True, False], ids=["git", "hashes"])
def desk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Desk]:
    made = Desk(tmp_path, git=request.param)
    yield made
    made.close()


def tool_writes(desk: Desk, **files: str) -> None:
    """As the tool `write_file` does it."""
    edits = [WholeFile(name.replace("__", "."), text) for name, text in files.items()]
    apply(plan(Files(desk.root, journal=desk.folder / "edits"), edits, syntax="warn"))


def during(desk: Desk, *work: Callable[[], object], tool: str = "write_file") -> None:
    """A turn with one call, in which several things happen."""
    desk.says("go")
    desk.tool(lambda: [one() for one in work], tool=tool)


def told(desk: Desk) -> list[tuple[str, bool, list[str]]]:
    """Every change, oldest first: by whom, the tool's own, which files."""
    return [(c.cause.by, c.own, [f.path for f in c.files]) for c in reversed(desk.room.changes())]


def authors(desk: Desk, path: str) -> dict[str, str | None]:
    return {one.text: one.by for one in desk.room.blame(path)}


def test_other_file_changed_during_a_tool_call_belongs_to_the_person(desk: Desk) -> None:
    """Two changes, each with its author; going back stops at the person's file, and only there."""
    desk.write("mine.txt", "one\n")
    during(desk, lambda: desk.write("mine.txt", "one\ntwo\n"), lambda: tool_writes(desk, a__py="x = 1\n"))
    assert told(desk) == [("person", False, ["mine.txt"]), ("tool", True, ["a.py"])]
    assert authors(desk, "mine.txt") == {"one": None, "two": "person"}
    assert authors(desk, "a.py") == {"x = 1": "tool"}
    assert desk.room.rewind(1, "files", dry_run=True).paths == ("a.py", "mine.txt")
    with pytest.raises(Conflict, match=r"mine\.txt"):
        desk.room.rewind(1)


def test_person_edits_around_a_tool_write_are_attributed_by_line(desk: Desk) -> None:
    """Even without a look in between."""
    desk.write("a.py", "old\n")
    during(
        desk,
        lambda: desk.write("a.py", "old\nearly\n"),
        lambda: tool_writes(desk, a__py="old\nearly\ntool\n"),
        lambda: desk.write("a.py", "old\nearly\ntool\nlate\n"),
    )
    assert told(desk) == [("person", False, ["a.py"]), ("tool", True, ["a.py"]), ("person", False, ["a.py"])]
    assert authors(desk, "a.py") == {"old": None, "early": "person", "tool": "tool", "late": "person"}
    assert all(one.sure for one in desk.room.blame("a.py"))


def test_failed_tool_is_not_blamed_for_changes(desk: Desk) -> None:
    """Changes after a failed call belong to the person."""
    desk.write("a.py", "old\n")

    def fails() -> None:
        made = plan(
            Files(desk.root, journal=desk.folder / "edits"), [WholeFile("a.py", "x\n")], syntax="warn"
        )
        desk.write("a.py", "theirs\n")
        with pytest.raises(Conflict):
            apply(made)

    during(desk, fails)
    assert told(desk) == [("person", False, ["a.py"])]


def test_deleted_and_recreated_files_during_a_tool_call(desk: Desk) -> None:
    """Nothing is claimed of a file that is on neither side."""
    desk.write("a.py", "old\n")
    during(
        desk,
        (desk.root / "a.py").unlink,
        lambda: tool_writes(desk, a__py="new\n", gone__py="1\n"),
        (desk.root / "gone.py").unlink,
    )
    assert told(desk) == [("person", False, ["a.py"]), ("tool", True, ["a.py"])]
    assert desk.room.blame("a.py")[0].by == "tool"


def test_changes_during_a_command_are_marked_unsure(desk: Desk) -> None:
    """A command does not report what it writes; a file tool does and is believed."""
    during(desk, lambda: desk.write("a.py", "1\n"), tool="run_command")
    during(desk, lambda: desk.write("b.py", "2\n"), tool="write_file")
    assert [(one.by, one.tool, one.sure) for one in desk.room.blame("a.py")] == [
        ("tool", "run_command", False)
    ]
    assert [(one.by, one.tool, one.sure) for one in desk.room.blame("b.py")] == [("tool", "write_file", True)]


def test_commit_includes_only_the_lines_of_the_tool(tmp_path: Path) -> None:
    """The person's lines of the same moment stay out of the commit."""
    desk = Desk(tmp_path)
    try:
        git(desk.root, "init", "-q")
        git(desk.root, "config", "user.name", "Ann")
        git(desk.root, "config", "user.email", "ann@example.org")
        lines = "".join(f"line {n}\n" for n in range(9))
        desk.write("a.py", lines)
        git(desk.root, "add", ".")
        git(desk.root, "commit", "-qm", "first")
        during(
            desk,
            lambda: tool_writes(desk, a__py=lines + "tool\n"),
            lambda: desk.write("a.py", "person\n" + lines + "tool\n"),
        )
        desk.room.commit()
        assert git(desk.root, "show", "HEAD:a.py") == lines + "tool\n"
    finally:
        desk.close()


MOMENTS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=4)


@settings(max_examples=10)
@given(MOMENTS, st.sets(st.sampled_from(["a", "b", "c"]), min_size=1), MOMENTS, st.booleans())
def test_every_line_belongs_to_who_wrote_it(
    tmp_path_factory: pytest.TempPathFactory,
    early: list[str],
    mine: set[str],
    late: list[str],
    with_git: bool,
) -> None:
    """Whatever people add to files before and after a tool writes some of them, in one call."""
    desk = Desk(tmp_path_factory.mktemp("parting"), git=with_git)
    try:
        wanted: dict[str, dict[str, str | None]] = {}
        for name in "abc":
            desk.write(name, f"start {name}\n")
            wanted[name] = {f"start {name}": None}

        def person(when: str, names: list[str]) -> None:
            for n, name in enumerate(names):
                desk.write(name, desk.read(name) + f"{when} {n}\n")
                wanted[name][f"{when} {n}"] = "person"

        def tool() -> None:
            tool_writes(desk, **{name: desk.read(name) + "tool\n" for name in mine})
            for name in mine:
                wanted[name]["tool"] = "tool"

        during(desk, lambda: person("early", early), tool, lambda: person("late", late))
        assert {name: authors(desk, name) for name in "abc"} == wanted
    finally:
        desk.close()
