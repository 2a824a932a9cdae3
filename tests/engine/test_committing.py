"""Commits of exactly what the agent changed, to the user's own repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from backscroll.errors import BackscrollError, Conflict, NotFound
from tests.engine.workrooms import Desk, git


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    git(made.root, "init", "-q")
    git(made.root, "config", "user.name", "Ann")
    git(made.root, "config", "user.email", "ann@example.org")
    made.write("a.py", "one\n\n\n\ntwo\n")
    git(made.root, "add", ".")
    git(made.root, "commit", "-qm", "first")
    made.room.look()
    yield made
    made.close()


def head(desk: Desk) -> str:
    return git(desk.root, "show", "--stat", "--format=%B", "HEAD")


def test_commit_message_is_made_from_the_turn(desk: Desk) -> None:
    """The request is the subject, the changes follow, and trailers name thread and turn."""
    desk.turn("Add a greeting\nplease", greet__py="def hello():\n    return 1\n")
    done = desk.room.commit()
    assert done.id == git(desk.root, "rev-parse", "HEAD").strip()
    said = git(desk.root, "log", "-1", "--format=%B")
    assert said.startswith("Add a greeting\n\n- ")
    assert "hello" in said
    assert f"Backscroll-Thread: {desk.thread.id}" in said
    assert "Backscroll-Turn: 1" in said
    assert (done.files, done.turns) == (("greet.py",), (1,))


def test_commit_includes_only_changes_of_the_agent(desk: Desk) -> None:
    """Staged changes stay staged and manual edits stay uncommitted, in the same file too."""
    desk.write("mine.py", "mine\n")
    git(desk.root, "add", "mine.py")
    desk.turn("change two", a__py="one\n\n\n\nTWO\n")
    desk.write("a.py", "ONE by hand\n\n\n\nTWO\n")
    desk.room.commit("The agent's part")
    assert git(desk.root, "show", "HEAD:a.py") == "one\n\n\n\nTWO\n"
    assert git(desk.root, "diff", "--cached", "--name-only").split() == ["mine.py"]
    assert desk.read("a.py") == "ONE by hand\n\n\n\nTWO\n"


def test_committed_changes_are_not_committed_again(desk: Desk) -> None:
    """Later changes go into the next commit."""
    desk.turn("one", a__py="1\n")
    desk.room.commit()
    with pytest.raises(NotFound):
        desk.room.commit()
    desk.write("a.py", "mine instead\n")
    git(desk.root, "commit", "-qam", "by hand")
    desk.turn("two", b__py="2\n")
    done = desk.room.commit()
    assert (done.files, done.turns) == (("b.py",), (2,))
    git(desk.root, "reset", "-q", "--hard", "HEAD~1")
    desk.write("b.py", "2\n")
    assert desk.room.commit(dry_run=True).files == ("b.py",)


def test_commit_of_one_turn(desk: Desk) -> None:
    """With a turn, what others did stays out of the commit."""
    desk.turn("one", b__py="b\n")
    desk.turn("two", c__py="c\n")
    assert desk.room.commit(turn=2).files == ("c.py",)
    assert desk.room.commit().files == ("b.py",)
    with pytest.raises(NotFound):
        desk.room.commit(turn=7)


def test_commit_message_lists_each_turn(desk: Desk) -> None:
    """With what was done in it."""
    desk.turn("Write b", b__py="b\n")
    desk.turn("写 c", c__py="c\n")
    message = desk.room.commit(dry_run=True).message
    assert message.startswith("写 c\n")
    assert "Write b:" in message
    assert "Backscroll-Turn: 1, 2" in message


def test_dry_run_commits_nothing(desk: Desk) -> None:
    """It names files and message; HEAD and log stay."""
    desk.turn("one", a__py="1\n")
    before, events = git(desk.root, "rev-parse", "HEAD"), desk.thread.head
    told = desk.room.commit(dry_run=True)
    assert (told.id, told.files) == ("", ("a.py",))
    assert (git(desk.root, "rev-parse", "HEAD"), desk.thread.head) == (before, events)


def test_commit_all_includes_changes_by_hand(desk: Desk) -> None:
    """With `all=True`, manual edits are committed too."""
    desk.turn("one", a__py="1\n")
    desk.write("mine.py", "mine\n")
    assert desk.room.commit("Both", all=True).files == ("a.py", "mine.py")


def test_commit_includes_renames(desk: Desk) -> None:
    """A file that was moved by a command is moved in the commit."""
    desk.says("move it")
    desk.tool(lambda: (desk.root / "a.py").rename(desk.root / "文件.py"), tool="run_command")
    desk.room.commit()
    assert git(desk.root, "-c", "core.quotepath=false", "ls-files").split() == ["文件.py"]


def test_rewound_changes_are_not_committed(desk: Desk) -> None:
    """After a rewind there is nothing to commit; rewinding a commit can itself be committed."""
    desk.turn("one", b__py="b\n")
    desk.room.rewind(1)
    with pytest.raises(NotFound):
        desk.room.commit()
    desk.turn("again", b__py="b\n")
    desk.room.commit()
    desk.room.rewind(1)
    assert desk.room.commit("Take it back").files == ("b.py",)
    assert "b.py" not in git(desk.root, "ls-files")


def test_commit_refuses_lines_changed_by_person_and_agent(desk: Desk) -> None:
    """The agent worked on a line that a person had changed and not committed: the file is named, nothing is committed."""
    desk.write("a.py", "mine\n")
    desk.turn("change it", a__py="mine and the agent's\n")
    before = git(desk.root, "rev-parse", "HEAD")
    with pytest.raises(Conflict, match=r"a\.py"):
        desk.room.commit()
    assert git(desk.root, "rev-parse", "HEAD") == before


def test_commit_without_a_repository_is_an_error(tmp_path: Path) -> None:
    """The error has a hint."""
    desk = Desk(tmp_path)
    desk.turn("one", a__py="1\n")
    with pytest.raises(BackscrollError) as said:
        desk.room.commit()
    assert said.value.hint
    desk.close()


def test_commit_skips_secret_files(desk: Desk) -> None:
    """A file whose content is not kept is named as skipped."""
    desk.says("one")
    desk.edit(".env", "KEY=1\n")
    desk.edit("b.py", "b\n")
    done = desk.room.commit()
    assert done.files == ("b.py",)
    assert done.skipped == (".env",)


def test_commit_to_git_uses_the_folder_of_the_thread(desk: Desk) -> None:
    """`thread.commit_to_git(message)` commits in the thread's own folder."""
    thread = desk.thread
    thread.workroom().look()
    room = thread.workroom()
    desk.room = room
    desk.turn("one", c__py="c\n")
    assert thread.commit_to_git("A message").message.startswith("A message\n\nBackscroll-Thread")


def test_commit_subject_is_shortened_at_a_sentence_or_word(desk: Desk) -> None:
    """Long requests are shortened between sentences, else between words."""
    asked = (
        "Greet everybody in the house. And then do a great many other things that nobody needs to read here"
    )
    desk.turn(asked, a__py="print('hi')\n")
    assert desk.room.commit(dry_run=True).message.splitlines()[0] == "Greet everybody in the house"
    desk.turn("word " * 40, a__py="print('ho')\n")
    assert desk.room.commit(dry_run=True).message.splitlines()[0].endswith("word…")


# -- programs that a commit would run ----------------------------------------------------------------------------


def evil(desk: Desk, name: str = "evil") -> Path:
    """A filter that leaves a trace, set up in the repository by a command of the agent; gives where the trace would be."""
    trace = desk.folder / "ran"
    git(desk.root, "config", f"filter.{name}.clean", f"touch {trace}; tr a-z A-Z")
    return trace


def test_commit_refuses_a_git_filter_set_by_the_agent(desk: Desk) -> None:
    """Settings and attributes changed in a turn: the commit is refused, shows the command, and runs nothing; trusted, it runs."""
    desk.says("go")
    traces: list[Path] = []
    desk.tool(lambda: traces.append(evil(desk)), tool="run_command")
    desk.edit(".gitattributes", "*.py filter=evil\n")
    desk.edit("b.py", "new\n")
    before = git(desk.root, "rev-parse", "HEAD")
    for dry_run in (True, False):
        with pytest.raises(Conflict, match=r"filter\.evil\.clean = touch"):
            desk.room.commit(dry_run=dry_run)
    assert not traces[0].exists()
    assert git(desk.root, "rev-parse", "HEAD") == before
    desk.room.commit(trust=True)
    assert traces[0].exists()
    assert git(desk.root, "show", "HEAD:b.py") == "NEW\n"
    desk.edit("b.py", "newer\n")
    desk.room.commit()
    assert git(desk.root, "show", "HEAD:b.py") == "NEWER\n"


def test_commit_ignores_a_git_filter_of_other_files(desk: Desk) -> None:
    """A filter for files outside the commit is neither run nor a reason to refuse."""
    desk.says("go")
    trace = evil(desk)
    desk.write(".git/info/attributes", "a.py filter=evil\n")
    desk.write("a.py", "one\n\n\n\nTWO\n")
    desk.edit("b.txt", "new\n")
    desk.room.commit()
    assert git(desk.root, "show", "HEAD:b.txt") == "new\n"
    assert not trace.exists()


def test_commit_runs_preexisting_git_filters(tmp_path: Path) -> None:
    """Filters of the user, in the repository or global; unknown filter names have no effect."""
    desk = Desk(tmp_path)
    try:
        git(desk.root, "init", "-q")
        git(desk.root, "config", "user.name", "Ann")
        git(desk.root, "config", "user.email", "ann@example.org")
        git(desk.root, "config", "filter.mine.clean", "tr a-z A-Z")
        desk.write(".gitattributes", "*.py filter=mine\n*.txt filter=nowhere\n")
        desk.turn("go", a__py="one\n", b__txt="two\n")
        desk.room.commit()
        assert git(desk.root, "show", "HEAD:a.py") == "ONE\n"
        assert git(desk.root, "show", "HEAD:b.txt") == "two\n"
        git(desk.root, "config", "filter.mine.clean", "tr a-z b-za")  # the same name, another command
        desk.turn("again", a__py="one more\n")
        with pytest.raises(Conflict, match=r"filter\.mine\.clean"):
            desk.room.commit()
    finally:
        desk.close()


def test_commit_refuses_a_git_hook_set_by_the_agent(desk: Desk) -> None:
    """Also where hooks are asked for, and where another folder is named for them."""
    trace = desk.folder / "ran"

    def put(place: str) -> None:
        desk.write(place, f"#!/bin/sh\ntouch {trace}\n")
        (desk.root / place).chmod(0o755)

    desk.says("go")
    desk.tool(lambda: put(".git/hooks/pre-commit"), tool="run_command")
    desk.edit("b.py", "new\n")
    with pytest.raises(Conflict, match="pre-commit"):
        desk.room.commit(hooks=True)
    assert not trace.exists()
    desk.room.commit()  # without hooks it is no matter
    (desk.root / ".git/hooks/pre-commit").unlink()
    put("hooks/commit-msg")
    git(desk.root, "config", "core.hooksPath", "hooks")
    desk.edit("b.py", "newer\n")
    with pytest.raises(Conflict, match="commit-msg"):
        desk.room.commit(hooks=True)
    assert not trace.exists()
    desk.room.commit(hooks=True, trust=True)
    assert trace.exists()
