"""What real data contain: broken characters, patterns as names, very long turns, one moment for everything, forks of forks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import backscroll
from backscroll.engine.background.worker import Worker, bring_up_to_date
from backscroll.engine.knowledge.analysis import catch_up, rebuild
from backscroll.vocab.part import Text, ToolCall, ToolResult
from tests import proof
from tests.properties.living import living, marked, reference

ODD = (
    "\ud800 Ellie lives in Green\udc00vale.",
    "Ellie\x00 lives in \x00.",
    "\u202eEllie lives in \u202cGreenvale\u2066.",
    "Ellie lives in .*(a+)+$ and [x.",
    "Robert'); DROP TABLE messages;-- lives in Greenvale.",
    "<script>alert(1)</script> lives in <b>Greenvale</b>.",
    "\ufeff\u200bEllie\u200b's brother is \u200bTom.",
    "艾莉\ud83d住在\x00绿谷。",
    "My name is \ud800.",
    "\n" * 300,
    " \x1b[31mTom\x1b[0m works at \x07Acme.",
    "𝔗𝔬𝔪 lives in 𝕻𝖆𝖗𝖎𝖘.",
    "Tom lives in " + "a\u0301" * 3000 + ".",
    '{"a": ' * 1000,
    "%s %d {0} {n} $1 \\1 lives in %(x)s.",
)


@pytest.fixture(
    params=[
        pytest.param("sqlite_url", id="sqlite"),
        pytest.param("prepared_url", id="postgres", marks=pytest.mark.postgres),
    ]
)
def engine(request: pytest.FixtureRequest) -> Iterator[backscroll.Engine]:
    """An empty store of each kind."""
    with backscroll.open(request.getfixturevalue(request.param), background=False) as engine:
        yield engine


@pytest.fixture
def small(sqlite_url: str) -> Iterator[backscroll.Engine]:
    """An empty file."""
    with backscroll.open(sqlite_url, background=False) as engine:
        yield engine


def holds(thread: backscroll.Thread) -> None:
    """Marks are the reference's, and everything is what a rebuild gives."""
    catch_up(thread.engine, thread.id)
    assert marked(thread) == reference(thread)
    before = living(thread)
    rebuild(thread.engine, thread.id)
    assert living(thread) == before


def test_odd_characters_everywhere_lose_nothing(engine: backscroll.Engine) -> None:
    """Messages, names, values, worlds, tasks and memories: nothing falls over, and nothing is lost."""
    thread = engine.create("odd")
    for text in ODD:
        thread.append("user", text)
        thread.append("assistant", text[::-1])
    thread.graph.flush()
    graph = thread.graph
    for node in graph.nodes():
        assert graph.node(node.id).id == node.id
        graph.why(node.id)
        graph.around(node.id)
    for n, text in enumerate(ODD[:9]):
        graph.add(f"{text} {n}", "person", mood=f"{n} {text}")
        assert graph.node(f"{text} {n}").attributes
        graph.tell_world(f"book {text}", f"Tom: {text}")
        thread.tasks.start(f"{n} {text}", again=True)
        thread.tasks.attempt(f"{n} {text}")
        thread.tasks.complete()
        thread.memory.add(f"{n} {text}", sources=[thread.message(0).id])
        thread.prompt(4000, reserve=0)
    holds(thread)
    assert len(graph.overrides()) == 18
    proof.assert_sound(engine)


def test_hundreds_of_unanswered_messages_are_turns(small: backscroll.Engine) -> None:
    """Deleting half of them and undoing that gives the same state."""
    thread = small.create("alone")
    for n in range(260):
        thread.append("user", f"I moved on. Ellie lives in Vale{'abcdefghij'[n % 10]}.")
    catch_up(small, thread.id)
    before = living(thread)
    thread.delete(*[m.id for m in list(thread)[:130]])
    assert len(thread.window.states()) == 130
    thread.undo()
    catch_up(small, thread.id)
    assert {o: m[3] for o, m in marked(thread).items()} == {o: m[3] for o, m in before["marks"].items()}
    rebuilt = living(thread)
    rebuild(small, thread.id)
    assert living(thread) == rebuilt


def test_turn_of_hundreds_of_steps_can_be_edited(small: backscroll.Engine) -> None:
    """Editing one of four hundred tool steps changes the facts of the turn."""
    thread = small.create("work")
    thread.append("user", "Please mend src/first.py.")
    for n in range(400):
        call = ToolCall(
            f"c{n}", "Edit", {"file_path": f"src/part{n}.py", "old_string": "a", "new_string": "b"}
        )
        thread.append("assistant", [Text(f"Step {n}."), call])
        said = f"ValueError: bad value in src/part{n}.py"
        thread.append("tool", [ToolResult(call.id, (Text(said),), name="Edit", is_error=n % 3 == 0)])
    thread.graph.flush()
    (status,) = thread.window.states()
    thread.edit(
        list(thread)[1].id, [Text("Step nought."), ToolCall("c0", "Edit", {"file_path": "src/new.py"})]
    )
    catch_up(small, thread.id)
    (after,) = thread.window.states()
    assert after.version != status.version
    before = living(thread)
    rebuild(small, thread.id)
    assert living(thread) == before
    thread.tasks.start("next")
    thread.prompt(6000, reserve=0)


def test_import_with_identical_times_keeps_the_log_order(small: backscroll.Engine, tmp_path: Path) -> None:
    """Order is the log's own: turns, marks and the last word about Ellie are right without any help from the clock."""
    moment = "2020-01-01T00:00:00.000Z"
    rows: list[dict[str, object]] = [{"user_name": "Jo", "character_name": "Bot", "create_date": moment}]
    for n in range(40):
        place = "Greenvale" if n == 39 else "Harbour"
        who = {"name": ("Jo", "Bot")[n % 2], "is_user": n % 2 == 0}
        rows.append({**who, "mes": f"Ellie lives in {place}.", "send_date": moment})
    file = tmp_path / "one.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (report,) = small.import_path(str(file))
    thread = small.thread(report.thread or "")
    worker = Worker(small)
    worker.run()
    assert worker.progress.last_error == ""
    bring_up_to_date(small, thread.id)
    holds(thread)
    assert [f.object for f in thread.graph.node("Ellie").relations if f.predicate == "lives_in"] == [
        "greenvale"
    ]


def test_forks_of_forks_equal_their_rebuild(engine: backscroll.Engine) -> None:
    """Each generation edits, deletes, corrects, forks in the middle and restores: every one equals its rebuild."""
    thread = engine.create("generation 0")
    for n in range(7):
        thread.append("user", f"Tom lives in {'ABCDEFG'[n]}town.")
        thread.append("assistant", f"Ellie's brother is {'ABCDEFG'[n]}rno.")
    family = [thread]
    for n in range(4):
        messages = [m.id for m in thread]
        catch_up(engine, thread.id)
        thread.edit(messages[n * 2], "Tom works at the Mill.")
        thread.delete(messages[n * 2 + 1])
        thread.graph.set("Tom", "mood", f"mood {n}")
        fork = thread.fork(messages[-1 - n])
        fork.append("user", f"Tom lives in Fork{'abcd'[n]}.")
        fork.restore(messages[n * 2 + 1])
        thread.edit(messages[0], f"Tom is {30 + n} years old.")  # the fork does not see this
        family.append(fork)
        thread = fork
    for n, each in enumerate(family):
        holds(each)
        moods = [f.value for f in each.graph.node("Tom").attributes if f.predicate == "mood"]
        assert moods == [f"mood {min(n, 3)}"]
    proof.assert_sound(engine)
