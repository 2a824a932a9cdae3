"""What was sent stays as it was sent, and where it cannot, the receipt says so and the thinking that rests on it is left out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll import Content, Media, Reasoning, Text, Thread, ToolCall, ToolResult, Wire
from backscroll.assemble.validity.binding import Sent, check_binding, check_growth
from backscroll.engine.prompts.builder import Prompt
from backscroll.vocab.prompt import WIRES, checked_wire

MODEL = "claude-fable-5-2"
READ = [{"name": "Read", "input_schema": {"type": "object"}}]
MORE = [*READ, {"name": "Bash", "input_schema": {"type": "object"}}]


@pytest.fixture
def thread(tmp_path: Path) -> Iterator[Thread]:
    with backscroll.open(tmp_path / "store.db", background=False) as store:
        made = store.create("Harbour", project="harbour")
        made.append("system", "You keep the books.")
        made.append("user", "What is in the harbour?")
        yield made


def ask(thread: Thread, tools: Any = READ, budget: int = 8000, **more: Any) -> Prompt:
    return thread.prompt(budget, model=MODEL, wire="anthropic", reserve=0, tools=tools, recall=False, **more)


def sent(made: Prompt) -> Sent:
    return Sent(made.messages, "anthropic", system=made.system, tools=list(made.tools), model=MODEL)


def answer(thread: Thread, number: int, *parts: Any) -> None:
    thought = Reasoning(f"Thought {number}.", signature=f"seal{number}")
    thread.append("assistant", Content((thought, *parts), metadata={"model": MODEL}))


def thoughts(made: Prompt) -> list[str]:
    blocks = [b for m in made.messages for b in m["content"] if isinstance(b, dict)]
    return [str(b["signature"]) for b in blocks if b.get("type") == "thinking"]


def grown(before: Prompt, after: Prompt) -> bool:
    return check_growth(sent(before), sent(after)) == []


# -- tools and system text ---------------------------------------------------------------------------------------


def test_changed_tools_drop_earlier_thinking(thread: Thread) -> None:
    """Permanently, even after the first tools return; an imported copy drops the same."""
    requests = [sent(ask(thread))]
    answer(thread, 1, Text("A crane."))
    thread.append("user", "What else?")
    requests.append(sent(kept := ask(thread)))
    assert thoughts(kept) == ["seal1"]
    assert kept.receipt.broken == {}
    answer(thread, 2, Text("A boat."))
    thread.append("user", "And?")
    made = ask(thread, MORE)
    assert thoughts(made) == []
    assert made.receipt.broken["cause"] == "tools"
    assert made.receipt.broken["thinking"] == 2
    assert made.receipt.cached == 0
    requests.append(sent(made))
    answer(thread, 3, Text("A gull."))
    thread.append("user", "And then?")
    again = ask(thread, MORE)
    assert thoughts(again) == ["seal3"]
    requests.append(sent(again))
    back = ask(thread)
    assert thoughts(back) == []
    requests.append(sent(back))
    for number in range(1, len(requests)):
        assert check_binding(requests[:number], requests[number]) == []


def test_changed_system_text_drops_earlier_thinking(thread: Thread) -> None:
    ask(thread)
    answer(thread, 1, Text("A crane."))
    thread.append("user", "What else?")
    system = next(m for m in thread if m.role == "system")
    thread.edit(system.id, "You keep the bees.")
    made = ask(thread)
    assert thoughts(made) == []
    assert made.receipt.broken["cause"] == "edited"
    assert made.receipt.broken["thinking"] == 1


def test_thinking_of_foreign_replies_is_not_sent(thread: Thread) -> None:
    """An imported reply, or one to a program's own request, was made with another prompt."""
    answer(thread, 1, Text("A crane."))
    thread.append("user", "What else?")
    assert thoughts(ask(thread)) == []
    answer(thread, 2, Text("A boat."))
    thread.append("user", "And?")
    assert thoughts(ask(thread)) == ["seal2"]


def test_larger_budget_drops_thinking_made_without_the_past(
    thread: Thread,
) -> None:
    requests: list[Sent] = []
    for n in range(12):
        requests.append(sent(ask(thread, budget=2000)))
        answer(thread, n, Text(f"There is a crane, number {n}. " * 12))
        thread.append("user", f"And number {n}? " * 10)
    small = ask(thread, budget=2000)
    requests.append(sent(small))
    answer(thread, 20, Text("A gull."))
    thread.append("user", "And then?")
    large = ask(thread, budget=60_000)
    assert len(large.messages) > len(small.messages) + 2
    assert check_binding(requests, sent(large)) == []


def test_imported_copy_drops_the_same_thinking(thread: Thread, tmp_path: Path) -> None:
    ask(thread)
    answer(thread, 1, Text("A crane."))
    thread.append("user", "What else?")
    ask(thread, MORE)
    answer(thread, 2, Text("A boat."))
    thread.append("user", "And?")
    export = tmp_path / "copy.jsonl"
    thread.engine.export(None, "native", str(export))
    with backscroll.open(tmp_path / "other.db", background=False) as other:
        other.import_path(export)
        copy = other.thread(thread.id)
        assert ask(copy, MORE, dry_run=True).messages == ask(thread, MORE, dry_run=True).messages
        assert thoughts(ask(copy, MORE)) == ["seal2"]


# -- cuts --------------------------------------------------------------------------------------------------------


def test_cut_keeps_thinking_before_it(thread: Thread) -> None:
    """Only thinking made after the giant result becomes invalid when it is cut."""
    requests: list[Sent] = []
    cut: Prompt | None = None
    for n in range(8):
        made = ask(thread)
        requests.append(sent(made))
        if n:
            assert check_binding(requests[:-1], requests[-1]) == []
        if made.receipt.compaction.get("trimmed"):
            cut = made
            break
        call = ToolCall(f"c{n}", "Read", {"path": f"src/part{n}.py"})
        answer(thread, n, Text(f"Step {n}."), call)
        lines = "\n".join(f"value_{n}_{i} = {i * n}" for i in range(400 if n == 3 else 5))
        thread.append("tool", [ToolResult(call.id, (Text(lines),), name="Read")])
    assert cut is not None
    assert thoughts(cut) == ["seal0", "seal1", "seal2", "seal3"]
    assert cut.receipt.broken["cause"] == "compacted"


# -- what had not come yet ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", WIRES)
def test_answered_placeholder_result_stays(thread: Thread, wire: Wire) -> None:
    """The model was told that there is no result; the late result follows as text."""
    tools = {"openai-chat": [{"type": "function", "function": {"name": "Read"}}],
             "openai-responses": [{"type": "function", "name": "Read"}], "anthropic": READ}[wire]  # fmt: skip

    def made() -> Prompt:
        return thread.prompt(8000, wire=wire, reserve=0, tools=tools, recall=False)

    thread.append("assistant", [Text("I look."), ToolCall("c1", "Read", {"path": "a"})])
    first = made()
    thread.append("assistant", "Nothing came back.")
    second = made()
    assert _begins(first, second)
    thread.append("tool", [ToolResult("c1", (Text("three boats"),), name="Read")])
    thread.append("user", "And now?")
    third = made()
    assert _begins(second, third)
    assert "three boats" in json.dumps(third.messages)
    assert third.receipt.broken == {}
    assert not backscroll.check(third.messages, wire, system=third.system, tools=list(third.tools))


def _begins(before: Prompt, after: Prompt) -> bool:
    one = Sent(before.messages, checked_wire(before.wire), system=before.system, tools=list(before.tools))
    two = Sent(after.messages, checked_wire(after.wire), system=after.system, tools=list(after.tools))
    return check_growth(one, two) == []


def test_result_replaces_an_unanswered_placeholder(thread: Thread) -> None:
    """The prompt with the placeholder had no reply; the receipt names the change."""
    ask(thread)
    answer(thread, 1, ToolCall("c1", "Read", {"path": "a"}), ToolCall("c2", "Read", {"path": "b"}))
    waiting = ask(thread)
    assert "no result was recorded" in json.dumps(waiting.messages)
    for name in ("c1", "c2"):
        thread.append("tool", [ToolResult(name, (Text(f"boats of {name}"),), name="Read")])
    made = ask(thread)
    assert "no result was recorded" not in json.dumps(made.messages)
    assert made.receipt.broken["cause"] == "answered"
    assert thoughts(made) == ["seal1"]
    thread.append("user", "Thanks.")
    assert ask(thread).receipt.broken == {}


def test_continuation_request_stays_after_a_user_message(thread: Thread) -> None:
    ask(thread)
    cut = Content((Text("There are three"),), metadata={"model": MODEL, "act": {"cut": True}})
    thread.append("assistant", cut)
    first = ask(thread)
    assert "reached the output limit" in json.dumps(first.messages)
    thread.append("user", "Never mind.")
    assert grown(first, second := ask(thread))
    thread.append("assistant", "Fine.")
    thread.append("user", "What else?")
    assert grown(second, ask(thread))


def test_continuation_request_is_not_added_if_it_was_not_sent(thread: Thread) -> None:
    cut = Content((Text("There are three"),), metadata={"model": MODEL, "act": {"cut": True}})
    thread.append("assistant", cut)
    thread.append("user", "Never mind.")
    assert "reached the output limit" not in json.dumps(ask(thread).messages)


def test_continued_reply_follows_the_continuation_request(thread: Thread) -> None:
    """The wire requires a trailing user message; later thinking is bound to it."""
    first = ask(thread)
    answer(thread, 1, Text("A crane."))
    second = ask(thread)
    assert second.messages[-1]["content"][0]["text"] == "(continue)"
    answer(thread, 2, Text("And a boat."))
    third = ask(thread)
    assert grown(second, third)
    thread.append("user", "What else?")
    fourth = ask(thread)
    assert thoughts(fourth) == ["seal1", "seal2"]
    assert check_binding([sent(p) for p in (first, second, third)], sent(fourth)) == []


# -- memories and tasks ------------------------------------------------------------------------------------------


def test_forgetting_a_memory_removes_its_placed_text(thread: Thread) -> None:
    memory = thread.memory.add("Bills above berth 40 are monthly.")
    other = thread.memory.add("The harbour master is Mira.")
    first = ask(thread)
    assert "berth 40" in json.dumps(first.messages)
    answer(thread, 1, Text("A crane."))
    thread.append("user", "What else?")
    assert thoughts(ask(thread)) == ["seal1"]
    thread.memory.forget(memory.id)
    made = ask(thread)
    assert "berth 40" not in json.dumps(made.messages)
    assert "Mira" in json.dumps(made.messages)  # said anew
    assert made.receipt.broken["cause"] == "memory"
    assert thoughts(made) == []
    thread.append("assistant", "Nothing.")
    thread.append("user", "Sure?")
    assert grown(made, again := ask(thread))
    thread.memory.restore(memory.id)
    assert "berth 40" in json.dumps(ask(thread).messages)
    thread.memory.edit(other.id, "The harbour master is Nora.")
    edited = json.dumps(ask(thread).messages)
    assert "Mira" not in edited
    assert "Nora" in edited
    assert again.receipt.broken == {}


def test_forgetting_a_lesson_removes_its_reminder(thread: Thread) -> None:
    thread.tasks.start("Paint the crane")
    thread.append("user", "Please paint the crane red.")
    thread.tasks.attempt("Painted.")
    thread.tasks.incomplete("Never paint the crane in the rain, it peels.")
    thread.tasks.cancel("it rained, the paint of the crane peeled")
    thread.tasks.start("Paint the crane again")
    thread.append("user", "Please paint the crane again.")
    lessons = [m for m in thread.memory.list() if m.kind == "lesson"]
    made = ask(thread)
    told = [b for b in made.blocks if b.tells]
    assert lessons
    assert told
    for memory in thread.memory.list():
        thread.memory.forget(memory.id)
    after = ask(thread)
    assert not [b for b in after.blocks if b.tells]


def test_ended_task_is_not_named_after_a_deleted_message(thread: Thread) -> None:
    """An untitled task is named after its first request; not if that was deleted."""
    thread.tasks.start("", keep=True)
    said = thread.append("user", "Please find the secret berth of Captain Vale.")
    ask(thread)
    thread.append("assistant", "Found it.")
    thread.tasks.complete(keep=True)
    thread.append("user", "Good.")
    ended = ask(thread)
    lines = [b for b in ended.blocks if b.reason == "a task that ended"]
    assert "Captain Vale" in lines[0].text
    thread.delete(said.id)
    after = ask(thread)
    assert "Captain Vale" not in json.dumps(after.messages, ensure_ascii=False)


def test_task_result_is_withheld_after_its_source_is_deleted(thread: Thread) -> None:
    thread.tasks.start("Find the berth")
    said = thread.append("user", "It is the berth of Captain Vale.")
    thread.append("assistant", "Let me look.")
    thread.tasks.attempt("It is berth 12, of Captain Vale.")
    assert "of Captain Vale" in "".join(b.text for b in ask(thread).blocks if b.section == "task")
    thread.delete(said.id)
    assert "Captain Vale" not in json.dumps(ask(thread).messages)


def test_large_result_is_shown_in_full_if_it_fits(thread: Thread) -> None:
    thread.append("assistant", [ToolCall("c1", "Read", {"path": "a"})])
    lines = "\n".join(f"value {n} of the ledger is {n * 7}" for n in range(3000))
    assert 60_000 < len(lines) < 120_000
    thread.append("tool", [ToolResult("c1", (Text(lines),), name="Read")])
    assert lines in ask(thread, budget=128_000).messages[-1]["content"][0]["content"]


# -- attachments -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("forked", [False, True])
def test_thinking_made_without_a_forgotten_blob_is_dropped(thread: Thread, forked: bool) -> None:
    """The same bytes sent again reappear in an older message, which no event records."""
    picture = Content((Text("Look."), Media("image/png", data=b"\x89PNG\r\n\x1a\n" + b"crane" * 40)))
    kept = thread.append("user", picture)
    gone = thread.append("user", picture)
    thread.forget(gone.id)
    requests = [sent(ask(thread, budget=60_000))]
    assert "image" not in kinds(requests[0])
    answer(thread, 1, Text("A crane, you say."))
    thread.append("user", "What else?")
    requests.append(sent(before := ask(thread, budget=60_000)))
    assert thoughts(before) == ["seal1"]
    answer(thread, 2, Text("A boat."))
    thread.append("user", picture)
    went_on = thread.fork() if forked else thread
    after = ask(went_on, budget=60_000)
    requests.append(sent(after))
    assert kinds(requests[-1]).count("image") == 2
    assert thoughts(after) == []
    if not forked:
        assert after.receipt.broken["cause"] == "attachment"
    assert check_binding(requests[:-1], requests[-1]) == []
    assert thread.message(kept.id).text == "Look."


def kinds(request: Sent) -> list[str]:
    return [b["type"] for m in request.messages for b in m["content"] if isinstance(b, dict)]
