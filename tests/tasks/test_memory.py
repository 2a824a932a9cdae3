"""Memories of a task: outcomes, lessons, files, a summary; each with its sources, and nothing deleted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backscroll.tasks.memory.memory import (
    decode_found,
    encode_found,
    found_in,
    key_of,
)
from backscroll.tasks.notes import FileChangeNote, memory_id
from backscroll.vocab.ids import Ref
from backscroll.vocab.task import Memory, MemoryKind, TaskState
from tests.tasks.builders import HOME, Talk, attempt, remember, task


def of_kind(memories: list[Memory], kind: MemoryKind) -> list[Memory]:
    return [m for m in memories if m.kind is kind]


def mended() -> Talk:
    """A bug that was found and mended, with the test that shows it."""
    talk = Talk()
    talk.user("The login fails with a 500 error.")
    talk.tool("Bash", {"command": "pytest tests/test_login.py"}, "E KeyError: 'user'\n1 failed", error=True)
    talk.tool(
        "Edit",
        {"file_path": "src/login.py", "old_string": "a", "new_string": "b"},
        "ok",
        text="The problem is that old cookies have no user key, because the format changed.",
    )
    talk.tool("Bash", {"command": "pytest tests/test_login.py -q"}, "3 passed in 0.1s")
    talk.assistant("I've fixed src/login.py. We decided to keep a fallback because old cookies exist.")
    return talk


def test_error_and_its_fix_are_one_lesson() -> None:
    """It says what failed, why, and what made it work; its sources are the messages that show it."""
    talk = mended()
    lessons = of_kind(remember(task(), talk.messages), MemoryKind.LESSON)
    assert len(lessons) == 1
    text = lessons[0].text
    assert "KeyError" in text
    assert "old cookies have no user key" in text
    assert "src/login.py" in text
    failed, explained, passed = talk.messages[2], talk.messages[3], talk.messages[6]
    assert set(lessons[0].sources) == {failed.revision, explained.revision, passed.revision}


def test_final_success_is_an_outcome_and_final_failure_is_not() -> None:
    talk = mended()
    passing = [m.text for m in of_kind(remember(task(), talk.messages), MemoryKind.OUTCOME)]
    assert any("3 passed" in text for text in passing)
    talk.tool("Bash", {"command": "pytest tests/test_login.py"}, "1 failed", error=True)
    again = [m.text for m in of_kind(remember(task(), talk.messages), MemoryKind.OUTCOME)]
    assert not any("passed" in text for text in again)


def test_decisions_are_outcomes_with_their_reasons() -> None:
    outcomes = of_kind(remember(task(), mended().messages), MemoryKind.OUTCOME)
    assert any("fallback because old cookies exist" in m.text for m in outcomes)


def test_accepted_result_replaces_the_last_report() -> None:
    """A written result describes the work better than the assistant's last sentence."""
    talk = Talk()
    talk.user("write a release note for the new importer")
    talk.assistant("The note covers the importer, the new limits and the changed defaults.")
    talk.user("fine")
    talk.assistant("You're welcome!")
    plain = [m.text for m in of_kind(remember(task(), talk.messages), MemoryKind.OUTCOME)]
    assert plain == ["Reported: The note covers the importer, the new limits and the changed defaults."]
    done = task(TaskState.COMPLETED, attempt("Old sessions log in again", "accepted"))
    told = [m.text for m in of_kind(remember(done, talk.messages), MemoryKind.OUTCOME)]
    assert "Accepted: Old sessions log in again" in told
    assert not any(text.startswith("Reported") for text in told)


def test_verdict_of_a_program_is_marked() -> None:
    done = task(TaskState.COMPLETED, attempt("All green", "accepted"), decided_as="program")
    assert any("by a program" in m.text for m in remember(done, mended().messages))


def test_changed_files_come_from_tools_and_from_recorded_changes() -> None:
    """One memory per file; a description of a change beats the number of changes."""
    talk = mended()
    talk.tool("Write", {"file_path": "docs/login.md", "content": "x"}, "ok")
    talk.tool("Edit", {"file_path": "src/login.py", "old_string": "b", "new_string": "c"}, "ok")
    logged = FileChangeNote(
        "src/login.py", "guard against old cookies", Ref(HOME, 77), "2026-11-01T20:00:00+00:00"
    )
    files = {m.text for m in of_kind(remember(task(), talk.messages, changes=[logged]), MemoryKind.FILE)}
    assert files == {"src/login.py: guard against old cookies", "docs/login.md: changed once"}
    bare = {m.text for m in of_kind(remember(task(), talk.messages), MemoryKind.FILE)}
    assert "src/login.py: changed 2 times" in bare


def test_failed_edit_changes_no_file() -> None:
    talk = Talk()
    talk.user("Change it")
    talk.tool("Edit", {"file_path": "a.py", "old_string": "a", "new_string": "b"}, "no match", error=True)
    assert of_kind(remember(task(), talk.messages), MemoryKind.FILE) == []


def test_feedback_on_refused_attempts_is_a_lesson() -> None:
    back = task(TaskState.INCOMPLETE, attempt("Login done", "refused", "The button does nothing on phones"))
    lessons = [m.text for m in of_kind(remember(back, []), MemoryKind.LESSON)]
    assert lessons == ["A result was refused: The button does nothing on phones It was: Login done"]


def test_feedback_without_a_result_is_the_reason_for_not_finishing() -> None:
    back = task(TaskState.INCOMPLETE, attempt("", "refused", "缺少测试"))
    lessons = [m.text for m in of_kind(remember(back, []), MemoryKind.LESSON)]
    assert lessons == ["没有完成，因为：缺少测试"]


def test_cancelled_task_leaves_its_reason_and_no_outcome() -> None:
    gone = task(TaskState.CANCELLED, reason="the customer left")
    memories = remember(gone, mended().messages)
    assert of_kind(memories, MemoryKind.OUTCOME) == []
    assert any("the customer left" in m.text for m in of_kind(memories, MemoryKind.LESSON))


def test_unfixed_error_is_a_lesson_only_of_an_unfinished_task() -> None:
    talk = Talk()
    talk.user("Build it")
    talk.tool("Bash", {"command": "make all"}, "ld: symbol not found\nExit code 2", error=True)
    assert of_kind(remember(task(), talk.messages), MemoryKind.LESSON) == []
    left = of_kind(remember(task(TaskState.CANCELLED), talk.messages), MemoryKind.LESSON)
    assert any("symbol not found" in m.text for m in left)


def test_reported_problem_is_paired_with_its_finding() -> None:
    """Without tools: what the user reported and what the assistant found, once the user confirms that it works."""
    talk = Talk()
    talk.user("导出的文件总是报错打不开")
    talk.assistant("原因找到了：问题在于编码写成了 GBK，改成 UTF-8 就好。")
    talk.user("可以了，谢谢")
    lessons = of_kind(remember(task(), talk.messages), MemoryKind.LESSON)
    assert [("打不开" in m.text, "GBK" in m.text) for m in lessons] == [(True, True)]


def test_correction_by_the_user_is_a_lesson() -> None:
    talk = Talk()
    talk.user("Add a cache")
    talk.assistant("I added Redis.")
    talk.user("No, that's not what I asked for: the cache must live in memory.")
    lessons = of_kind(remember(task(), talk.messages), MemoryKind.LESSON)
    assert any("must live in memory" in m.text for m in lessons)


def test_empty_grep_is_no_lesson() -> None:
    talk = Talk()
    talk.user("Where is it?")
    talk.tool("Bash", {"command": "grep -rn foo src"}, "Exit code 1", error=True)
    talk.tool("Bash", {"command": "grep -rn bar src"}, "src/a.py:1: bar")
    assert of_kind(remember(task(), talk.messages), MemoryKind.LESSON) == []


def test_slip_fixed_by_the_next_try_is_no_lesson() -> None:
    talk = Talk()
    talk.user("Change it")
    talk.tool(
        "Edit", {"file_path": "a.py", "old_string": "a", "new_string": "a"}, "No changes to make", error=True
    )
    talk.tool("Edit", {"file_path": "a.py", "old_string": "a", "new_string": "b"}, "ok")
    assert of_kind(remember(task(), talk.messages), MemoryKind.LESSON) == []


def test_refused_call_is_no_error() -> None:
    talk = Talk()
    talk.user("Deploy it")
    refused = "The user doesn't want to proceed with this tool use."
    talk.tool("Bash", {"command": "make deploy"}, refused, error=True)
    talk.tool("Bash", {"command": "make deploy"}, "deployed")
    assert of_kind(remember(task(TaskState.CANCELLED), talk.messages), MemoryKind.LESSON)[1:] == []


def test_no_memories_before_a_verdict() -> None:
    assert remember(task(TaskState.IN_PROGRESS), mended().messages) == []


def test_every_memory_names_existing_sources() -> None:
    talk = mended()
    known = {m.revision for m in talk.messages}
    for memory in remember(task(), talk.messages):
        assert memory.sources
        assert set(memory.sources) <= known


def test_no_word_of_a_deleted_message_is_left() -> None:
    """Delete any one message: no memory contains its own words, and ids never do."""
    talk = mended()
    for gone in talk.messages:
        words = {w for w in gone.text.split() if len(w) > 5} - {
            w for m in talk.without(gone) for w in f"{m.text} {m.parts}".split()
        }
        told = " ".join(m.text for m in remember(task(), talk.without(gone)))
        assert not [w for w in words if w in told], gone.text


def test_ids_do_not_depend_on_the_text() -> None:
    """Editing a message changes its memories, not their ids: pins and uses stay."""
    talk = Talk()
    asked = talk.user("Use what you like")
    talk.assistant("We decided to use SQLite because it is one file.")
    changed = talk.edited(talk.messages[1], "We decided to use DuckDB because it is quick.")
    before = {m.id for m in remember(task(), talk.messages)}
    after = remember(task(), changed)
    assert before == {m.id for m in after}
    assert any("DuckDB" in m.text for m in after)
    assert asked.revision not in {s for m in after if m.kind is MemoryKind.OUTCOME for s in m.sources}


def test_key_depends_on_the_content() -> None:
    talk = mended()
    key = key_of(TaskState.COMPLETED, talk.messages)
    assert key == key_of(TaskState.COMPLETED, list(talk.messages))
    assert key != key_of(TaskState.CANCELLED, talk.messages)
    assert key != key_of(TaskState.COMPLETED, talk.messages[:-1])
    assert key != key_of(TaskState.COMPLETED, talk.edited(talk.messages[0], "other words"))


def test_stored_artefact_round_trips() -> None:
    found = found_in(TaskState.COMPLETED, mended().messages)
    assert decode_found(encode_found(found)) == found


def test_hidden_messages_give_no_memories() -> None:
    from dataclasses import replace

    talk = Talk()
    talk.user("Do it")
    talk.assistant("We decided to use the swordfish protocol because it is secret.")
    hidden = [talk.messages[0], replace(talk.messages[1], hidden=True)]
    assert not any("swordfish" in m.text for m in remember(task(), hidden))


def test_ids_differ_where_anything_differs() -> None:
    one = memory_id("lesson", "t", [Ref(HOME, 1)])
    others = {
        memory_id("outcome", "t", [Ref(HOME, 1)]),
        memory_id("lesson", "u", [Ref(HOME, 1)]),
        memory_id("lesson", "t", [Ref(HOME, 2)]),
        memory_id("lesson", "t", [Ref(HOME, 1)], 1),
    }
    assert len(others | {one}) == 5


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=80)), max_size=6))
def test_any_words_can_be_remembered(rows: list[tuple[str, str]]) -> None:
    """Odd characters, lone surrogates and empty messages break nothing, and the same messages give the same memories."""
    talk = Talk()
    for role, text in rows:
        talk.say("user" if role == "user" else "assistant", text)
    made = remember(task(), talk.messages)
    assert made == remember(task(), list(talk.messages))
    assert decode_found(encode_found(found_in(TaskState.COMPLETED, talk.messages))) == found_in(
        TaskState.COMPLETED, talk.messages
    )
