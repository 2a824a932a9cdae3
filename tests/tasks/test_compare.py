"""Comparison of two tasks."""

from __future__ import annotations

from backscroll.tasks.lifecycle.comparison import compare, only, side_of, topics_of
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message, Role
from backscroll.vocab.part import Part, Text, ToolCall, ToolResult
from backscroll.vocab.task import Link, Task, TaskState

THREAD = "b" * 32


def task(name: str, title: str, *links: Link) -> Task:
    ref = Ref(THREAD, int(name))
    return Task(name, ref, title, TaskState.COMPLETED, THREAD, None, None, "", links=links)


def said(seq: int, role: Role, *parts: Part) -> Message:
    ref = Ref(THREAD, seq)
    return Message(ref, role, ref, Content(parts), "2026-01-01T00:00:00+00:00")


def work(seq: int, path: str, words: str) -> list[Message]:
    return [
        said(seq, "user", Text(words)),
        said(seq + 1, "assistant", Text("Looking."), ToolCall(f"c{seq}", "Edit", {"file_path": path})),
        said(seq + 2, "tool", ToolResult(f"c{seq}", (Text("The file was updated."),))),
        said(seq + 3, "assistant", Text(f"We decided to keep {path}.")),
    ]


def test_comparison_lists_common_and_different_items() -> None:
    """Files, tools and subjects of both tasks, and of one alone."""
    first = side_of(
        task("1", "login"),
        [*work(10, "auth.py", "fix the login token expiry"), *work(20, "login.py", "login again")],
    )
    second = side_of(
        task("2", "logout"),
        work(30, "auth.py", "fix the logout token"),
    )
    found = compare(first, second)
    assert found.same_files == ("auth.py",)
    assert found.same_tools == ("Edit",)
    assert "token" in found.same_topics
    assert only(first.files, found.same_files) == ("login.py",)
    assert "logout" in only(second.topics, found.same_topics)
    assert 0 < found.likeness < 1
    assert (first.turns, first.messages) == (2, 8)


def test_tasks_without_anything_in_common() -> None:
    """Nothing is invented, and two empty tasks are not similar."""
    nothing = side_of(task("3", ""), [])
    assert compare(nothing, side_of(task("4", ""), [])).likeness == 0.0
    other = compare(side_of(task("1", "paint"), [said(5, "user", Text("paint the shed"))]), nothing)
    assert (other.same_files, other.same_topics, other.likeness) == ((), (), 0.0)


def test_links_are_shown_from_either_side() -> None:
    """Whichever of the two names the other."""
    first, second = side_of(task("1", "a"), []), side_of(task("2", "b", Link("1", "follows")), [])
    assert compare(first, second).linked == compare(second, first).linked == "follows"


def test_subjects_are_found_in_both_languages() -> None:
    """Chinese words are cut, English ones counted by stem and shown as written; stop words are left out."""
    found = topics_of(["修理起重机的马达，起重机坏了", "The crane motor broke; cranes break often \ud800"])
    assert "起重机" in found
    assert any(word in found for word in ("crane", "cranes"))
    assert "the" not in [word.lower() for word in found]
