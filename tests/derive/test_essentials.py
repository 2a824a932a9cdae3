"""What must survive is found, is settled by what comes later, and joins like a fold over the whole."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.derive.essence.essentials import (
    CARRIED,
    Close,
    Essential,
    EssentialKind,
    Findings,
    fold,
    from_json,
    join,
    to_json,
)
from backscroll.derive.essence.reader import essentials, findings
from backscroll.derive.essence.tool_calls import command_name
from backscroll.vocab.ids import Ref
from tests.derive.planted import THREAD, Talk


def found(talk: Talk, kind: EssentialKind) -> list[str]:
    return [e.text for e in essentials(talk.messages) if e.kind is kind]


@pytest.mark.parametrize(
    ("text", "kind", "wanted"),
    [
        ("Hi. We must support Python 3.11. Bye.", EssentialKind.CONSTRAINT, "We must support Python 3.11."),
        ("不要动这个文件。", EssentialKind.CONSTRAINT, "不要动这个文件。"),
        (
            "Let's use uv. That way installs are quick.",
            EssentialKind.DECISION,
            "Let's use uv. That way installs are quick.",
        ),
        ("我们就用 SQLite，因为简单。", EssentialKind.DECISION, "我们就用 SQLite，因为简单。"),
        ("- [ ] ship it", EssentialKind.TODO, "ship it"),
        ("还需要写文档。", EssentialKind.TODO, "还需要写文档。"),
        ("I get `KeyError: 'id'` at start.", EssentialKind.ERROR, "I get `KeyError: 'id'` at start."),
        ("启动就报错 1067。", EssentialKind.ERROR, "启动就报错 1067。"),
        (
            "Look:\n```\nTraceback\nValueError: bad width 3\n```",
            EssentialKind.ERROR,
            "ValueError: bad width 3",
        ),
        ("Why?", EssentialKind.QUESTION, "Why?"),
        ("See src/app.py", EssentialKind.PATH, "src/app.py"),
        ("Ticket OPS-7", EssentialKind.ID, "OPS-7"),
    ],
)
def test_essential_of_a_user_is_found_verbatim(text: str, kind: EssentialKind, wanted: str) -> None:
    talk = Talk()
    message = talk.say("user", text)
    got = [e for e in essentials(talk.messages) if e.kind is kind]
    assert [e.text for e in got] == [wanted]
    assert got[0].source == message.revision


def test_announced_list_is_kept_with_its_items() -> None:
    talk = Talk()
    talk.say("assistant", "Next steps:\n- write the docs\n- cut a release")
    assert found(talk, EssentialKind.TODO) == ["Next steps:\n- write the docs\n- cut a release"]


def test_latest_todo_list_of_a_tool_wins() -> None:
    """Lists of Claude and Codex, boxes of Cline: completed items and items missing from the next list are dropped."""
    talk = Talk()
    talk.use(
        "TodoWrite",
        {"todos": [{"content": "a one", "status": "pending"}, {"content": "b two", "status": "pending"}]},
        "ok",
    )
    assert found(talk, EssentialKind.TODO) == ["a one", "b two"]
    talk.use(
        "update_plan",
        '{"plan": [{"step": "c three", "status": "in_progress"}, {"step": "d", "status": "completed"}]}',
        "ok",
    )
    assert found(talk, EssentialKind.TODO) == ["c three"]
    talk.use(
        "todo_write", {"merge": True, "todos": [{"id": "1", "content": "e five", "status": "pending"}]}, "ok"
    )
    assert found(talk, EssentialKind.TODO) == ["c three", "e five"]
    talk.use("read_file", {"path": "x.py", "task_progress": "- [x] c three\n- [ ] f six"}, "text")
    assert found(talk, EssentialKind.TODO) == ["f six"]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("- [ ] write the migration", "- [x] write the migration"),
        ("We still need to write the migration.", "The migration is written and the work is completed."),
        ("还需要给登录页写测试。", "登录页的测试已完成，还写得不错。"),
    ],
)
def test_todo_is_open_until_done(first: str, then: str) -> None:
    talk = Talk()
    talk.say("user", first)
    assert len(found(talk, EssentialKind.TODO)) == 1
    talk.say("user", then)
    assert found(talk, EssentialKind.TODO) == []


def test_error_is_open_until_the_same_command_succeeds() -> None:
    """Another command does not settle it; the same one with other options does."""
    talk = Talk()
    talk.use(
        "Bash",
        {"command": "cd app && pytest tests/test_a.py -q"},
        "Exit code 1\nE  assert 1 == 2\nFAILED",
        error=True,
    )
    assert len(found(talk, EssentialKind.ERROR)) == 1
    talk.use("Bash", {"command": "ls"}, "a.py")
    assert len(found(talk, EssentialKind.ERROR)) == 1
    talk.use("Bash", {"command": "python -m pytest -x"}, "12 passed")
    assert found(talk, EssentialKind.ERROR) == []


def test_reported_error_is_open_until_said_to_work() -> None:
    talk = Talk()
    talk.say("user", "The server crashes on port 80.")
    talk.say("assistant", "I think it is fixed, but I could not test it.")
    assert len(found(talk, EssentialKind.ERROR)) == 1
    talk.say("user", "Great, it works now.")
    assert found(talk, EssentialKind.ERROR) == []
    talk.say("user", "The server crashes on port 81.")
    talk.say("assistant", "Fixed, it works now.")
    assert found(talk, EssentialKind.ERROR) == []
    talk.say("user", "It still crashes on port 81.")
    assert len(found(talk, EssentialKind.ERROR)) == 1


def test_search_without_matches_is_not_an_error() -> None:
    talk = Talk()
    talk.use("Bash", {"command": "grep -r needle src"}, "Exit code 1", error=True)
    assert found(talk, EssentialKind.ERROR) == []


def test_question_is_open_until_answered() -> None:
    talk = Talk()
    talk.say("user", "Which port?")
    talk.say("assistant", "8080. Shall I change it?")
    assert found(talk, EssentialKind.QUESTION) == ["Shall I change it?"]


def test_files_touched_by_tools_are_essentials() -> None:
    """Edited, written, read, run; not the numbers that some tools take for a target."""
    talk = Talk()
    talk.use("Write", {"file_path": "docs/计划.md", "content": "x"}, "ok")
    talk.use("Edit", {"file_path": "src/a.py", "old_string": "a", "new_string": "b"}, "ok")
    talk.use("Bash", {"command": "python tools/run.py > /dev/null"}, "ok")
    talk.use("open", {"path": "1475"}, "ok")
    assert found(talk, EssentialKind.PATH) == ["docs/计划.md", "src/a.py", "tools/run.py"]


def test_ids_in_tool_arguments_are_essentials() -> None:
    talk = Talk()
    talk.use("cancel_reservation", {"reservation_id": "EHGLP3", "note": "no refund"}, "{}")
    assert found(talk, EssentialKind.ID) == ["EHGLP3"]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("cd /app && python -m pytest -q", "pytest"),
        ("pytest tests/test_a.py::test_b", "pytest"),
        ("FOO=1 npm run build -- --prod", "npm run build"),
        ("git push origin main", "git push"),
        ("python scripts/run.py --x", "python scripts/run.py"),
        ("sudo make install | tee log", "make install"),
        ("", ""),
    ],
)
def test_command_name_is_the_same_for_variants(command: str, name: str) -> None:
    assert command_name(command) == name


def things(kind: EssentialKind, number: int, weight: float = 1.0) -> Essential:
    ref = Ref(THREAD, number + 1)
    return Essential(kind, f"t{number}", ref, ref, kind.value, f"t{number}", weight)


def test_essentials_over_the_limit_are_counted() -> None:
    """The most important ones stay; the rest are counted."""
    many = CARRIED[EssentialKind.ERROR] + 5
    got = fold(things(EssentialKind.ERROR, n, 2.0 if n == 0 else 1.0) for n in range(many))
    assert len(got.open) == CARRIED[EssentialKind.ERROR]
    assert got.open[0].text == "t0"
    assert got.more == {EssentialKind.ERROR: 5}
    assert join([got, got]).more == {EssentialKind.ERROR: 10}


names = st.sampled_from(["write the docs", "fix the build", "drop the view", "删除旧表格", "更新接口文档"])
saying = st.one_of(
    names.map(lambda n: ("user", f"- [ ] {n}")),
    names.map(lambda n: ("user", f"- [x] {n}")),
    names.map(lambda n: ("assistant", f"Done: {n}.")),
    st.just(("user", "It fails with code 3.")),
    st.just(("user", "It works now.")),
    st.just(("user", "Which port?")),
    st.just(("assistant", "8080.")),
    names.map(lambda n: ("user", f"Never {n}.")),
)


@given(st.lists(saying, max_size=14), st.lists(st.integers(0, 14), max_size=4))
@settings(deadline=None)
def test_joining_spans_gives_what_reading_everything_gives(
    said: list[tuple[str, str]], cuts: list[int]
) -> None:
    """However a conversation is cut, the joined findings leave the same things open."""
    talk = Talk()
    for role, text in said:
        talk.say("user" if role == "user" else "assistant", text)
    edges = sorted({0, *(c for c in cuts if c < len(said)), len(said)})
    spans = [findings(talk.messages[a:b]) for a, b in pairwise(edges)]
    assert join(spans).open == findings(talk.messages).open


def test_findings_round_trip_through_json() -> None:
    got = Findings(
        (things(EssentialKind.TODO, 3), things(EssentialKind.PATH, 4)),
        (Close("todo", "x"), Close("error/said")),
        {EssentialKind.ID: 3},
    )
    assert from_json(to_json(got, lambda r: r.seq), lambda n: Ref(THREAD, n)) == got
