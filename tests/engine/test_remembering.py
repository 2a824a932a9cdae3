"""What is remembered, from the log: it follows edits, deletions and undo, equals a rebuild, and knows why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import backscroll
from backscroll.engine.engine import Engine
from backscroll.engine.thread import Thread
from backscroll.engine.work.memory import acts as remembering_acts
from backscroll.engine.work.memory import memories as remembering
from backscroll.engine.work.memory import plans
from backscroll.engine.work.memory.memory_block import memory_block
from backscroll.engine.work.tasks import Tasks
from backscroll.errors import Ambiguous, InvalidInput, NotFound
from backscroll.tasks.memory.words import reminder
from backscroll.tasks.notes import WITHHELD
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import Text, ToolCall, ToolResult
from backscroll.vocab.prompt import Section
from backscroll.vocab.task import Memory, MemoryKind


@pytest.fixture(
    params=[
        pytest.param("sqlite_url", id="sqlite"),
        pytest.param("prepared_url", id="postgres", marks=pytest.mark.postgres),
    ]
)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An empty store of each kind, without a worker of its own."""
    with backscroll.open(request.getfixturevalue(request.param), background=False) as engine:
        yield engine


def call(
    thread: Thread,
    number: int,
    name: str,
    arguments: object,
    result: str,
    *,
    error: bool = False,
    text: str = "",
) -> Message:
    parts = [*([Text(text)] if text else []), ToolCall(f"c{number}", name, arguments)]
    thread.append("assistant", parts)
    return thread.append("tool", ToolResult(f"c{number}", (Text(result),), is_error=error, name=name))


def work(thread: Thread, *, end: bool = True) -> dict[str, Message]:
    """A task from its beginning to its end."""
    tasks = Tasks(thread)
    tasks.start("Mend the login")
    out = {
        "asked": thread.append(
            "user", "The login fails with a 500 error. Always run the tests before you commit."
        )
    }
    out["failed"] = call(
        thread,
        1,
        "Bash",
        {"command": "pytest tests/test_login.py"},
        "E KeyError: 'user'\n1 failed",
        error=True,
    )
    cause = "The problem is that old cookies have no user key, because the format changed."
    out["edited"] = call(
        thread,
        2,
        "Edit",
        {"file_path": "src/login.py", "old_string": "a", "new_string": "b"},
        "ok",
        text=cause,
    )
    out["passed"] = call(thread, 3, "Bash", {"command": "pytest tests/test_login.py"}, "3 passed")
    out["report"] = thread.append(
        "assistant", "I've fixed it. We decided to keep a fallback because old cookies exist."
    )
    if end:
        tasks.attempt("Old sessions log in again")
        tasks.complete()
    return out


def kinds(thread: Thread, **more: object) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for memory in remembering.memories(thread, **more):  # type: ignore[arg-type]
        out.setdefault(memory.kind.value, []).append(memory.text)
    return out


def plain(memories: list[Memory]) -> list[tuple[object, ...]]:
    return [
        (m.id, m.kind, m.text, m.task, m.sources, m.confidence, m.uses, m.pinned, m.by, m.note)
        for m in memories
    ]


def test_ended_task_leaves_memories(engine: Engine) -> None:
    """Summary, outcomes, lessons, preferences and files exist only after the end."""
    thread = engine.create("t")
    work(thread, end=False)
    assert set(kinds(thread)) == {"preference"}
    Tasks(thread).complete()
    assert set(kinds(thread)) == {"summary", "outcome", "lesson", "preference", "file"}


def test_undo_of_the_end_removes_the_memories(engine: Engine) -> None:
    thread = engine.create("t")
    work(thread)
    before = plain(remembering.memories(thread))
    thread.undo()
    assert set(kinds(thread)) == {"preference"}
    thread.redo()
    assert plain(remembering.memories(thread)) == before


def test_memories_equal_a_rebuild_after_edits(engine: Engine, tmp_path: Path) -> None:
    """Caches change nothing: a copy of the log derives the same."""
    thread = engine.create("t")
    said = work(thread)
    remembering.memories(thread)
    thread.edit(said["report"].id, "Done. We decided to drop old cookies because they are insecure.")
    thread.delete(said["edited"].id)
    remembering.memories(thread)
    thread.append("user", "Never log passwords.")
    remembering_acts.pin(thread, remembering.memories(thread, kinds=["lesson"])[0].id)
    live = plain(remembering.memories(thread))
    target = tmp_path / "copy.jsonl"
    engine.export([thread.id], "native", str(target))
    with backscroll.open(str(tmp_path / "other.db"), background=False) as other:
        other.import_path(str(target))
        again = plain(remembering.memories(other.thread(thread.id)))
    assert live == again
    engine.memo.clear()
    assert plain(remembering.memories(thread)) == live


def test_deleted_message_leaves_no_memory(engine: Engine) -> None:
    thread = engine.create("t")
    said = work(thread)
    assert "KeyError" in str(kinds(thread))
    thread.delete(said["failed"].id)
    assert "KeyError" not in str(kinds(thread))
    thread.restore(said["failed"].id)
    assert "KeyError" in str(kinds(thread))


def test_memories_follow_edits(engine: Engine) -> None:
    thread = engine.create("t")
    said = work(thread)
    thread.edit(said["asked"].id, "Nothing to see here.")
    found = kinds(thread)
    assert "preference" not in found
    assert "500 error" not in str(found)


def test_forgotten_message_leaves_no_memory_in_the_store(engine: Engine) -> None:
    thread = engine.create("t")
    said = work(thread)
    remembering.memories(thread)
    thread.forget(said["failed"].id)
    assert "KeyError" not in str(kinds(thread))
    assert engine.verify().ok


# -- scopes ------------------------------------------------------------------------------------------------------


def test_threads_of_a_project_share_memories(engine: Engine) -> None:
    first, second = engine.create("a", project="shop"), engine.create("b", project="shop")
    other, alone = engine.create("c", project="bank"), engine.create("d")
    work(first)
    assert "lesson" in kinds(second)
    assert kinds(second, scope="thread") == {}
    assert kinds(other) == {}
    assert kinds(alone) == {}
    assert "lesson" in kinds(alone, scope="all")
    lesson = remembering.memories(second, kinds=["lesson"])[0]
    summary = remembering.memories(second, kinds=["summary"])[0]
    assert lesson.thread == first.id
    assert f"[bs:{first.id[:8]}." in summary.text


def test_unknown_scope_is_refused(engine: Engine) -> None:
    with pytest.raises(InvalidInput):
        remembering.memories(engine.create("t"), scope="world")


def test_fork_has_its_own_memories(engine: Engine) -> None:
    """A message deleted in the fork leaves no memory there; the parent is unchanged."""
    thread = engine.create("t", project="shop")
    said = work(thread)
    fork = thread.fork()
    assert plain(remembering.memories(fork, scope="thread"))
    fork.delete(said["asked"].id)
    assert "preference" not in kinds(fork)
    assert "preference" in kinds(thread)
    assert len({m.id for m in remembering.memories(thread)}) == len(remembering.memories(thread))


# -- preferences -------------------------------------------------------------------------------------------------


def test_preferences_apply_across_threads(engine: Engine) -> None:
    one, two = engine.create("a", project="p"), engine.create("b", project="p")
    one.append("user", "Please reply in Chinese from now on.")
    two.append("user", "以后不要用 npm，用 pnpm")
    found = remembering.defaults(one)
    assert found.language == "zh"
    assert ("pnpm", True) in [(t.name, t.wanted) for t in found.tools]
    assert [p.superseded for p in remembering.preferences(one)] == [False, False, False]


def test_latest_preference_of_a_project_wins_until_deleted(engine: Engine) -> None:
    one, two = engine.create("a", project="p"), engine.create("b", project="p")
    one.append("user", "Always use npm.", at="2026-11-01T00:00:00+00:00")
    later = two.append("user", "From now on use pnpm.", at="2026-11-02T00:00:00+00:00")
    assert kinds(one)["preference"] == ["From now on use pnpm."]
    two.delete(later.id)
    assert kinds(one)["preference"] == ["Always use npm."]


def test_preference_keeps_its_pin_without_its_first_statement(engine: Engine) -> None:
    thread = engine.create("t")
    first = thread.append("user", "Always use ruff.")
    thread.append("user", "As I said: always use ruff!")
    remembering_acts.pin(thread, remembering.memories(thread)[0].id)
    assert remembering.memories(thread)[0].pinned
    thread.append("user", "And once more, always use ruff.")
    assert [m.pinned for m in remembering.memories(thread)] == [True]
    thread.delete(first.id)
    assert [m.text for m in remembering.memories(thread)] == ["And once more, always use ruff."]


# -- one memory --------------------------------------------------------------------------------------------------


def test_why_quotes_the_sources_of_a_memory(engine: Engine) -> None:
    thread = engine.create("t")
    said = work(thread)
    lesson = remembering.memories(thread, kinds=["lesson"])[0]
    why = remembering.why(thread, lesson.id)
    quotes = {s.handle: s.quote for s in why.sources}
    assert "KeyError" in quotes[f"[bs:{said['failed'].id.seq}]"]
    assert all(s.live for s in why.sources)
    outcome = next(m for m in remembering.memories(thread) if "Old sessions" in m.text)
    assert "Old sessions" in remembering.why(thread, outcome.id).sources[0].quote


def test_memory_is_found_by_id_prefix(engine: Engine) -> None:
    thread = engine.create("t")
    work(thread)
    one = remembering.memories(thread)[0]
    assert remembering.memory_of(thread, one.id[:7]).id == one.id
    with pytest.raises(NotFound):
        remembering.memory_of(thread, "ffffffffff")
    with pytest.raises((NotFound, Ambiguous)):
        remembering.memory_of(thread, one.id[:1])


# -- the person's layer ------------------------------------------------------------------------------------------


def test_edited_memory_stands_until_its_source_changes(engine: Engine) -> None:
    thread = engine.create("t")
    said = work(thread)
    lesson = remembering.memories(thread, kinds=["lesson"])[0]
    remembering_acts.edit(thread, lesson.id, "Old cookies break the login")
    thread.append("user", "Go on")
    assert remembering.memory_of(thread, lesson.id).text == "Old cookies break the login"
    thread.edit(said["failed"].id, "all fine")
    changed = [m for m in remembering.memories(thread) if m.id == lesson.id]
    assert [m.text for m in changed if "Old cookies break" in m.text] == []
    assert all(m.note == WITHHELD for m in changed)
    thread.undo()
    assert remembering.memory_of(thread, lesson.id).text == "Old cookies break the login"


def test_undo_and_lifting_revert_a_memory_edit(engine: Engine) -> None:
    thread = engine.create("t")
    work(thread)
    lesson = remembering.memories(thread, kinds=["lesson"])[0]
    remembering_acts.edit(thread, lesson.id, "mine")
    thread.undo()
    assert remembering.memory_of(thread, lesson.id).text == lesson.text
    remembering_acts.edit(thread, lesson.id, "mine")
    remembering_acts.hide(thread, lesson.id)
    assert lesson.id not in {m.id for m in remembering.memories(thread)}
    assert lesson.id in {m.id for m in remembering.memories(thread, hidden=True)}
    remembering_acts.bring_back(thread, lesson.id)
    assert remembering.memory_of(thread, lesson.id).text == lesson.text
    with pytest.raises(NotFound):
        remembering_acts.bring_back(thread, lesson.id)


def test_facts_can_be_added(engine: Engine) -> None:
    thread = engine.create("t")
    message = thread.append("user", "The server is called Bluebird.")
    free = remembering_acts.add(thread, "The customer prefers mornings", kind="preference")
    bound = remembering_acts.add(thread, "Server: Bluebird", sources=[message.id])
    assert {m.id for m in remembering.memories(thread)} == {free.id, bound.id}
    thread.delete(message.id)
    assert remembering.memory_of(thread, bound.id).text == ""
    assert remembering.memory_of(thread, bound.id).note == WITHHELD
    with pytest.raises(InvalidInput):
        remembering_acts.add(thread, "   ")
    with pytest.raises(InvalidInput):
        remembering_acts.add(thread, "x", kind="song")
    with pytest.raises(NotFound):
        remembering_acts.add(thread, "x", sources=[message.id])


def test_act_on_a_memory_is_recorded_in_its_own_thread(engine: Engine) -> None:
    one, two = engine.create("a", project="p"), engine.create("b", project="p")
    work(one)
    lesson = remembering.memories(two, kinds=["lesson"])[0]
    before = two.head
    remembering_acts.pin(two, lesson.id)
    assert two.head == before
    assert remembering.memory_of(one, lesson.id).pinned


def test_erasing_a_memory_erases_its_text(engine: Engine, tmp_path: Path) -> None:
    thread = engine.create("t")
    fact = remembering_acts.add(thread, "the vault opens with xylophone")
    assert remembering_acts.forget(thread, fact.id, erase=True) == 1
    assert remembering.memories(thread) == []
    assert not any(b"xylophone" in (e.body or b"") for e in thread.events())
    assert engine.verify().ok
    store = tmp_path / "store.db"
    if store.exists():
        assert b"xylophone" not in store.read_bytes()


def test_forgetting_a_memory_without_erasing_hides_it(engine: Engine) -> None:
    thread = engine.create("t")
    fact = remembering_acts.add(thread, "the vault is green")
    assert remembering_acts.forget(thread, fact.id) == 0
    assert remembering.memories(thread) == []
    remembering_acts.bring_back(thread, fact.id)
    assert [m.text for m in remembering.memories(thread)] == ["the vault is green"]


# -- use ---------------------------------------------------------------------------------------------------------


def test_relevant_history_fits_its_budget(engine: Engine) -> None:
    one, two = engine.create("a", project="p"), engine.create("b", project="p")
    work(one)
    remembering_acts.add(one, "The harbour master likes tea", kind="fact")
    found = remembering.load_relevant_history(two, "pytest tests/test_login.py: KeyError again")
    texts = [m.text for m in found.memories]
    assert any("KeyError" in text for text in texts)
    assert not any("tea" in text for text in texts)
    assert len(found.reasons) == len(found.memories)
    assert set(found.sources) == {s for m in found.memories for s in m.sources}
    small = remembering.load_relevant_history(two, "pytest tests/test_login.py: KeyError again", 60)
    assert len(small.memories) < len(found.memories)
    assert remembering.load_relevant_history(engine.create("z"), "anything").text == ""


def test_accepted_task_counts_uses_of_its_memories(engine: Engine) -> None:
    """Uses follow from the log, so undoing the acceptance takes them back."""
    thread = engine.create("t")
    work(thread)
    tasks = Tasks(thread)
    tasks.start("pytest tests/test_login.py fails with KeyError again")
    thread.append("user", "Mend it again")
    lesson = remembering.memories(thread, kinds=["lesson"])[0]
    assert lesson.uses == 0
    tasks.complete()
    assert remembering.memory_of(thread, lesson.id).uses == 1
    thread.undo()
    assert remembering.memory_of(thread, lesson.id).uses == 0


def test_hints_name_earlier_failures(engine: Engine) -> None:
    one, two = engine.create("a", project="p"), engine.create("b", project="p")
    work(one)
    found = remembering.hints(two, "run pytest tests/test_login.py for the login")
    assert found
    assert reminder(found[0], two.id, "en").startswith("Last time: ")
    assert remembering.hints(two, "paint the fence green") == []
    assert remembering.hints(two, " ") == []


def test_task_summary_names_its_sources(engine: Engine) -> None:
    thread = engine.create("t")
    said = work(thread)
    text, sources = remembering.task_summary(thread, Tasks(thread).list()[0])
    assert text.startswith("Mend the login")
    assert said["asked"].revision in sources
    assert remembering.task_summary(thread, Tasks(thread).list()[0].id)[0] == text


# -- the block ---------------------------------------------------------------------------------------------------


def block(thread: Thread, room: int = 2_000) -> str:
    found = memory_block(thread, room)
    return "" if found is None else found.text


def test_memory_block_changes_only_at_task_boundaries(engine: Engine) -> None:
    """New messages, even new preferences, wait for the next task boundary: the cached beginning of prompts stays."""
    thread = engine.create("t")
    work(thread)
    before = block(thread)
    assert "Always run the tests" in before
    thread.append("user", "Never push on Fridays.")
    thread.append("assistant", "Noted.")
    assert block(thread) == before
    Tasks(thread).start("Next")
    assert "Never push on Fridays." in block(thread)


def test_other_threads_do_not_change_the_memory_block(engine: Engine) -> None:
    one, two = engine.create("a", project="p"), engine.create("b", project="p")
    work(one)
    assert block(two) == ""  # it began before anything was remembered
    Tasks(two).start("Something")
    before = block(two)
    assert "Lesson" in before
    one.append("user", "Always use tabs.")
    assert block(two) == before


def test_deleted_source_leaves_the_memory_block_at_once(engine: Engine) -> None:
    thread = engine.create("t")
    said = work(thread)
    thread.append("user", "Go on")
    thread.delete(said["asked"].id)
    assert "Always run the tests" not in block(thread)
    thread.undo()
    assert "Always run the tests" in block(thread)


def test_memory_block_puts_pins_first_within_its_budget(engine: Engine) -> None:
    thread = engine.create("t")
    work(thread)
    fact = remembering_acts.add(thread, "Deploys happen on Tuesdays")
    remembering_acts.pin(thread, fact.id)
    from backscroll.derive.essence.sentences import rough_count

    small = memory_block(thread, 70)
    assert small is not None
    assert "Tuesdays" in small.text
    assert rough_count(small.text) <= 70
    assert small.section is Section.MEMORY
    assert set(small.sources) >= set(fact.sources)
    assert memory_block(thread, 5) is None


def test_no_memory_block_without_memories(engine: Engine) -> None:
    thread = engine.create("t")
    thread.append("user", "Hello")
    assert memory_block(thread, 1_000) is None


def test_memory_block_uses_the_language_of_the_thread(engine: Engine) -> None:
    thread = engine.create("t", language="zh")
    thread.append("user", "以后都用中文回答。")
    Tasks(thread).start("下一个")
    assert "偏好：以后都用中文回答。" in block(thread)


# -- plans -------------------------------------------------------------------------------------------------------


def test_plan_follows_feedback_and_answers(engine: Engine) -> None:
    thread = engine.create("t")
    tasks = Tasks(thread)
    tasks.start("Build the page")
    thread.append("user", "Build the page. Don't forget to write the docs.")
    thread.append("assistant", "Here it is.")
    tasks.attempt("The page")
    tasks.incomplete("Still broken")
    task = tasks.list()[0]
    first = plans.plan_for(thread, task)
    assert [q.about for q in plans.followups_for(thread, task)] == ["expected"]
    answer = thread.append("user", "The list is empty, I expected three rows")
    second = plans.plan_for(thread, task)
    assert first.steps != second.steps
    assert second.steps[0].sources == (answer.revision,)
    assert any("docs" in s.text for s in second.steps)
    assert plans.followups_for(thread, task) == []


def test_plan_cites_live_messages_only(engine: Engine) -> None:
    thread = engine.create("t")
    tasks = Tasks(thread)
    tasks.start("Build the page")
    gone = thread.append("user", "Build it. Don't forget to write the zanzibar docs.")
    thread.append("assistant", "Here it is.")
    tasks.attempt("The page")
    tasks.incomplete("The title is wrong")
    assert "zanzibar" in plans.plan_for(thread, tasks.list()[0].id).text()
    thread.delete(gone.id)
    assert "zanzibar" not in plans.plan_for(thread, tasks.list()[0].id).text()


def test_plan_names_messages_of_other_threads_with_their_thread(engine: Engine) -> None:
    one, two = engine.create("a", project="p"), engine.create("b", project="p")
    one.append("user", "Always run the linter before you commit.")
    tasks = Tasks(two)
    tasks.start("Build the page")
    two.append("user", "Build it.")
    text = plans.plan_for(two, tasks.list()[0]).text(two.id)
    assert f"[bs:{one.id[:8]}." in text
    assert Ref(one.id, 2) in {s for step in plans.plan_for(two, tasks.list()[0]).steps for s in step.sources}


def test_memories_filter_by_kind(engine: Engine) -> None:
    thread = engine.create("t")
    work(thread)
    assert {m.kind for m in remembering.memories(thread, kinds=[MemoryKind.FILE, "lesson"])} == {
        MemoryKind.FILE,
        MemoryKind.LESSON,
    }
    assert [m.kind for m in remembering.memories(thread, text="KeyError user login cookies")][:1]


def test_statements_of_a_long_thread_are_cached(engine: Engine) -> None:
    """A change anywhere derives them again; a new message only adds."""
    thread = engine.create("t")
    first = thread.append("user", "Always use npm.")
    for number in range(520):
        thread.append("assistant", f"Step {number}.")
    thread.append("user", "Never push on Fridays.")
    assert remembering.catch_up(thread) == 2
    engine.memo.clear()
    thread.append("user", "From now on use pnpm.")
    assert kinds(thread)["preference"] == ["Never push on Fridays.", "From now on use pnpm."]
    thread.edit(first.id, "Hello.")
    engine.memo.clear()
    assert sorted(kinds(thread)["preference"]) == ["From now on use pnpm.", "Never push on Fridays."]
    thread.undo()
    engine.memo.clear()
    assert len(remembering.preferences(thread)) == 3


def test_forgetting_a_message_erases_notes_about_it(engine: Engine) -> None:
    thread = engine.create("t")
    message = thread.append("user", "The password is kept by Ann.")
    remembering_acts.add(thread, "Ann keeps the quokka password", sources=[message.id])
    thread.forget(message.id)
    assert not any(b"quokka" in (e.body or b"") for e in thread.events())
    assert "quokka" not in str(remembering.memories(thread))
    assert engine.verify().ok


def test_memory_follows_the_system_prompt(tmp_path: Path) -> None:
    """On every wire; undoing a compaction restores the prompt."""
    with backscroll.open(tmp_path / "order.db", background=False) as engine:
        thread = engine.create("order")
        thread.append("system", "You are a careful gardener.")
        thread.append("user", "From now on always answer in rhymes.")
        thread.append("assistant", "I will do so, that I know, with every answer row by row.")
        before = thread.prompt(4000, reserve=0, wire="anthropic", dry_run=True).request
        thread.compact(4000)
        if any(e.kind.value == "compacted" for e in thread.events()):
            thread.undo()
        assert thread.prompt(4000, reserve=0, wire="anthropic", dry_run=True).request == before
        thread.tasks.start("roses", keep=True)
        thread.append("user", "Write about roses.")
        made = thread.prompt(4000, reserve=0, wire="anthropic", dry_run=True)
        assert "careful gardener" in str(made.system)
        assert "answer in rhymes" in str(made.messages)
        assert "careful gardener" not in str(made.messages)
        chat = thread.prompt(4000, reserve=0, wire="openai-chat", dry_run=True)
        assert chat.messages[0]["role"] == "system"
