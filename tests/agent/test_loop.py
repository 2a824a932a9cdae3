"""The loop against a scripted model over real HTTP, on all three wires."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll.agent.events import (
    Asked,
    Began,
    Called,
    Calling,
    Finished,
    Forming,
    Noted,
    Output,
    RunStep,
    Said,
    to_json,
)
from backscroll.agent.person import Decision, Nobody
from backscroll.agent.tool import ToolContext, ToolOutput
from backscroll.agent.toolbox import tool
from backscroll.engine.calls.replies import find_unanswered, mark_at_work
from backscroll.testing import Line
from backscroll.testing.scenario import Fault
from backscroll.vocab.part import ToolResult
from backscroll.vocab.prompt import Wire
from tests.agent.scripted_agent import KINDS, Stage, Told, call, stage


@tool(effect="read")
def look(what: str) -> str:
    """Look at something.

    Args:
        what: the thing
    """
    return f"there is a {what}"


@tool(effect="command")
def shake(context: ToolContext, what: str) -> str:
    """Shake something, loudly.

    Args:
        what: the thing
    """
    context.show(f"shaking {what}\n")
    (context.root / f"{what}.txt").write_text("shaken\n", encoding="utf-8")
    return "shaken"


@tool(effect="command")
def wait_for_stop(context: ToolContext) -> str:
    """Work until the person stops it."""
    context.show("at work\n")
    context.stop.wait(30)
    context.stop.check()
    return "never stopped"


@tool
def explode() -> str:
    """Fail."""
    raise RuntimeError("boom")


TOOLS = (look, shake, wait_for_stop, explode)


def results(thread: Any) -> list[str]:
    """The words of every tool result, in order."""
    parts = [p for m in thread.messages() if m.role == "tool" for p in m.parts]
    return [str(p.content[0].text) for p in parts if isinstance(p, ToolResult)]  # type: ignore[union-attr]


def valid(happy: Stage, wire: Wire) -> None:
    """The next prompt breaks no rule of its wire, and every call has its result."""
    prompt = happy.thread.prompt(30_000, model="gpt-4o", wire=wire, tools=happy.agent.toolbox.specs(wire))
    assert not backscroll.check(prompt.messages, wire=wire, system=prompt.system, tools=prompt.tools)
    assert not find_unanswered(happy.thread)[1]


@pytest.mark.parametrize("kind", KINDS)
def test_loop_calls_a_tool_then_answers(tmp_path: Path, kind: str) -> None:
    answers = (Line(text="I look.", calls=(call("look", what="tree"),), times=1), "It is a tree.")
    with stage(tmp_path, *answers, kind=kind, tools=TOOLS, standard=False) as on:
        seen = on.say("what is there?")
        assert isinstance(seen[0], Began)
        assert [type(s).__name__ for s in seen if isinstance(s, Asked | Calling | Called | RunStep | Finished)] == [
            "Asked", "RunStep", "Calling", "Called", "Asked", "RunStep", "Finished",
        ]  # fmt: skip
        assert "".join(s.text for s in seen if isinstance(s, Said)) == "I look.It is a tree."
        end = seen[-1]
        assert isinstance(end, Finished)
        assert (end.end, end.text, end.steps) == ("answered", "It is a tree.", 2)
        assert any("there is a tree" in r for r in results(on.thread))
        assert "there is a tree" in on.sent()
        valid(on, on.agent.client().wire)
        for happening in seen:
            assert to_json(happening)["type"]


def test_ledger_uses_the_token_counts_of_the_server(tmp_path: Path) -> None:
    usage = {"input": 1000, "cached": 600, "output": 50}
    answers = (
        Line(calls=(call("look", what="a"),), times=1, usage=usage),
        Line(text="ok", times=1, usage=usage),
    )
    with stage(tmp_path, *answers, tools=TOOLS, standard=False) as on:
        end = on.end("go")
        assert (end.counted.input, end.counted.cached, end.counted.output) == (2000, 1200, 100)
        assert on.agent.counted() == end.counted
        assert end.counted.nano


def test_parallel_calls_each_get_their_own_answer(tmp_path: Path) -> None:
    """Two allowed, one refused with a reason, one that cannot be: four results, and the reason reaches the model."""

    def decide(proposal: Any) -> Decision:
        bad = proposal.arguments.get("what") == "bush"
        return Decision(not bad, "the bush is asleep" if bad else "")

    calls = [
        call("look", what="tree"),
        call("shake", what="bush"),
        call("nothing_like_it"),
        call("shake", what="tree"),
    ]
    with stage(tmp_path, calls, "done", person=Told(decide), tools=TOOLS, standard=False) as on:
        seen = on.say("go")
        told = results(on.thread)
        assert len(told) == 4
        assert "the bush is asleep" in on.sent()
        assert any(r.startswith("[nothing_like_it]") for r in told)
        assert not (on.root / "bush.txt").exists()
        assert (on.root / "tree.txt").exists()
        assert len(on.person.asked) == 1
        assert [p.tool for p in on.person.asked[0]] == ["shake", "shake"]
        refused = [s for s in seen if isinstance(s, Called) and s.refused is not None]
        assert [r.refused for r in refused] == ["the bush is asleep"]
        valid(on, "openai-chat")


def test_repeated_refused_call_is_marked(tmp_path: Path) -> None:
    never = Told(lambda _: Decision(False, "not today"))
    answers = (call("shake", what="tree"), call("shake", what="tree"), "I stop.")
    with stage(tmp_path, *answers, person=never, tools=TOOLS, standard=False) as on:
        on.say("go")
        assert [p.refused_before for batch in never.asked for p in batch] == [None, "not today"]


def test_call_is_refused_without_a_person(tmp_path: Path) -> None:
    with stage(tmp_path, call("shake", what="x"), "no", tools=TOOLS, standard=False) as on:
        on.agent.person = Nobody()
        on.say("go")
        assert not (on.root / "x.txt").exists()


def test_failing_tool_does_not_end_the_run(tmp_path: Path) -> None:
    with stage(tmp_path, call("explode"), "so be it", tools=TOOLS, standard=False) as on:
        assert on.end("go").end == "answered"
        assert results(on.thread)[0].startswith("[explode]")
        assert "boom" in on.sent()


def test_tool_output_is_live_and_its_change_is_attributed(tmp_path: Path) -> None:
    with stage(tmp_path, call("shake", what="tree"), "ok", tools=TOOLS, standard=False) as on:
        seen = on.say("go")
        kinds = [type(s).__name__ for s in seen]
        assert kinds.index("Calling") < kinds.index("Output") < kinds.index("Called")
        change = next(s.change for s in seen if isinstance(s, Called))
        assert change is not None
        assert [f.path for f in change.files] == ["tree.txt"]
        assert (change.cause.by, change.cause.tool) == ("tool", "shake")


def test_steps_and_cost_are_limited(tmp_path: Path) -> None:
    forever = Line(calls=(call("look", what="x{step}"),), fill=True)
    with stage(tmp_path, forever, tools=TOOLS, standard=False, max_steps=3) as on:
        end = on.end("go")
        assert (end.end, end.steps) == ("limit", 3)
        valid(on, "openai-chat")
    dear = Line(calls=(call("look", what="x"),), usage={"input": 1_000_000, "output": 10})
    other = tmp_path / "b"
    other.mkdir()
    with stage(other, dear, tools=TOOLS, standard=False, spend=3.0) as on:
        end = on.end("go")
        assert end.end == "limit"
        assert end.steps == 2  # 2.5 dollars each: the second passes the limit, there is no third


@pytest.mark.parametrize("kind", KINDS)
def test_stop_during_an_answer_keeps_the_partial_text(tmp_path: Path, kind: str) -> None:
    long = Line(text="word " * 400, chunk=5, times=1)
    with stage(tmp_path, long, "after", kind=kind, tools=TOOLS, standard=False) as on:
        seen: list[Any] = []
        for happening in on.agent.events("go"):
            seen.append(happening)
            if sum(isinstance(s, Said) for s in seen) == 3:
                on.agent.stop()
        end = seen[-1]
        assert (end.end, end.error) == ("stopped", "")
        kept = on.thread.recent(1)[0]
        assert kept.role == "assistant"
        assert 0 < len(kept.text) < 1000
        assert kept.content.metadata["act"]["interrupted"] == "stopped"
        assert on.agent.unfinished
        assert on.end("and now?").text == "after"
        valid(on, on.agent.client().wire)


def test_stop_during_a_tool_answers_every_call(tmp_path: Path) -> None:
    calls = [call("wait_for_stop"), call("shake", what="tree")]
    with stage(tmp_path, calls, "after", tools=TOOLS, standard=False) as on:
        seen: list[Any] = []
        for happening in on.agent.events("go"):
            seen.append(happening)
            if isinstance(happening, Output):
                threading.Thread(target=on.agent.stop).start()
        assert seen[-1].end == "stopped"
        told = results(on.thread)
        assert len(told) == 2
        assert "not run" in told[1]
        assert not (on.root / "tree.txt").exists()
        assert on.end("go on").text == "after"


def test_leaving_the_iterator_early_leaves_a_valid_thread(tmp_path: Path) -> None:
    with stage(tmp_path, Line(text="abc " * 50, chunk=4, times=1), "ok", tools=TOOLS, standard=False) as on:
        run = on.agent.events("go")
        for happening in run:
            if isinstance(happening, Said):
                break
        run.close()  # type: ignore[attr-defined]
        assert on.thread.recent(1)[0].content.metadata["act"]["interrupted"]
        assert on.end("again").end == "answered"


def test_rate_limit_and_cut_stream_are_retried(tmp_path: Path) -> None:
    busy = Line(fault=Fault(429, "slow down", retry_after=0.01), times=1)
    cut = Line(text="half of an answer that is cut", chunk=4, cut_after=3, times=1)
    with stage(tmp_path, busy, cut, "whole", tools=TOOLS, standard=False) as on:
        seen = on.say("go")
        assert [s.kind for s in seen if isinstance(s, Noted)] == ["again", "again"]
        end = seen[-1]
        assert isinstance(end, Finished)
        assert end.text == "whole"
        spoken = [m.text for m in on.thread.messages() if m.role == "assistant"]
        assert spoken == ["whole"]
        assert end.counted.calls == 3  # the failed ones are on the ledger too


def test_context_overflow_is_compacted_and_retried(tmp_path: Path) -> None:
    over = Line(fault=Fault(400, "maximum context length exceeded", code="context_length_exceeded"), times=1)
    with stage(tmp_path, over, "fits now", tools=TOOLS, standard=False) as on:
        for n in range(40):
            on.thread.append("user", f"question {n}: " + "words " * 120)
            on.thread.append("assistant", f"answer {n}: " + "more " * 120)
        seen = on.say("go")
        asked = [s for s in seen if isinstance(s, Asked)]
        assert [s.kind for s in seen if isinstance(s, Noted)] == ["overflow"]
        assert asked[1].tokens < asked[0].tokens
        assert seen[-1].end == "answered"  # type: ignore[union-attr]


def test_rejected_request_ends_the_run_with_a_hint(tmp_path: Path) -> None:
    with stage(tmp_path, "x", scenario={"models": ("other",)}, tools=TOOLS, standard=False) as on:
        end = on.end("go")
        assert (end.end, end.exit_code) == ("failed", 12)
        assert end.hint
        assert on.thread.recent(1)[0].text == "go"


def test_resume_after_a_crash_in_a_tool_runs_the_remaining_calls(tmp_path: Path) -> None:
    """The call that had begun is answered as unknown; the one that had not is run."""
    calls = [call("wait_for_stop"), call("shake", what="tree")]
    with stage(tmp_path, calls, "after the crash", tools=TOOLS, standard=False) as on:
        on.thread.append("user", "go")
        on.agent.stopping.clear()
        loop = on.agent._loop()
        answer = None
        step = loop.asker.step(1, loop.tools)
        while answer is None:
            try:
                next(step)
            except StopIteration as stop:
                answer = stop.value
        mark_at_work(on.thread, answer.recorded.calls[0], "")
        assert "wait_for_stop" in on.agent.unfinished
        seen = list(on.agent.resume())
        assert isinstance(seen[0], Began)
        assert seen[0].resumed
        told = results(on.thread)
        assert "was running when the program ended" in told[0]
        assert (on.root / "tree.txt").exists()
        assert seen[-1].text == "after the crash"  # type: ignore[union-attr]
        assert on.agent.unfinished == ""


def test_resume_with_nothing_open_sends_no_request(tmp_path: Path) -> None:
    with stage(tmp_path, "fine", tools=TOOLS, standard=False) as on:
        on.say("go")
        before = len(on.server.asked)
        assert on.say(None)[-1].end == "answered"  # type: ignore[union-attr]
        assert len(on.server.asked) == before


def test_new_message_closes_open_calls(tmp_path: Path) -> None:
    with stage(tmp_path, "ok", tools=TOOLS, standard=False) as on:
        on.thread.append("user", "go")
        made = backscroll.ToolCall("c9", "shake", {"what": "x"})
        on.thread.append("assistant", made)
        assert on.end("never mind").end == "answered"
        assert "went on with something else" in results(on.thread)[0]
        valid(on, "openai-chat")


def test_empty_answers_end_the_run(tmp_path: Path) -> None:
    with stage(tmp_path, Line(text=""), tools=TOOLS, standard=False) as on:
        end = on.end("go")
        assert end.steps == 2
        assert not [m for m in on.thread.messages() if m.role == "assistant"]


def test_tool_calls_stream_as_they_form(tmp_path: Path) -> None:
    with stage(tmp_path, call("look", what="a very long thing"), "ok", tools=TOOLS, standard=False) as on:
        forming = [s for s in on.say("go") if isinstance(s, Forming)]
        assert forming[-1].name == "look"
        assert "a very long thing" in forming[-1].arguments


def test_tool_can_end_the_run(tmp_path: Path) -> None:
    @tool(effect="none")
    def finish(result: str) -> ToolOutput:
        """Say that it is done.

        Args:
            result: what came of it
        """
        return ToolOutput(result, ends="completed", facts={"result": result})

    with stage(tmp_path, call("finish", result="all green"), tools=(finish,), standard=False) as on:
        end = on.end("go")
        assert (end.end, end.text) == ("completed", "all green")


def git(root: Path, *words: str) -> str:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    done = subprocess.run(["git", *identity, *words], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout


def test_changes_are_committed_after_each_turn_if_configured(tmp_path: Path) -> None:
    """The agent's file is committed at the end of the turn; staged changes of the user stay staged."""
    answers = (call("shake", what="tree"), "shaken", "nothing to do")
    with stage(tmp_path, *answers, tools=TOOLS, standard=False, settings={"workspace_commit": "turn"}) as on:
        git(on.root, "init", "-q")
        git(on.root, "config", "user.name", "Ada")
        git(on.root, "config", "user.email", "ada@example.org")
        (on.root / "mine.txt").write_text("my own\n", encoding="utf-8")
        git(on.root, "add", "mine.txt")
        seen = on.say("shake the tree")
        assert any(isinstance(s, Noted) and s.kind == "committed" for s in seen)
        assert git(on.root, "show", "--name-only", "--format=", "HEAD").split() == ["tree.txt"]
        assert "Backscroll-Thread:" in git(on.root, "log", "-1", "--format=%B")
        assert git(on.root, "diff", "--cached", "--name-only").split() == ["mine.txt"]
        head = git(on.root, "rev-parse", "HEAD")
        on.say("and now?")
        assert git(on.root, "rev-parse", "HEAD") == head


def test_failed_commit_is_noted_and_the_run_continues(tmp_path: Path) -> None:
    answers = (call("shake", what="tree"), "shaken")
    with stage(tmp_path, *answers, tools=TOOLS, standard=False, settings={"workspace_commit": "turn"}) as on:
        seen = on.say("shake the tree")  # no repository here
        assert [s.kind for s in seen if isinstance(s, Noted)] == ["commit"]
        assert seen[-1].end == "answered"  # type: ignore[union-attr]


def test_leaving_the_iterator_during_a_tool_stops_it(tmp_path: Path) -> None:
    calls = [call("wait_for_stop"), call("shake", what="tree")]
    with stage(tmp_path, calls, "after", tools=TOOLS, standard=False) as on:
        run = on.agent.events("go")
        for happening in run:
            if isinstance(happening, Output):
                break
        run.close()  # type: ignore[attr-defined]
        told = results(on.thread)
        assert "stopped by the person" in told[0]
        assert "not run" in told[1]
        assert on.end("go on").text == "after"
        valid(on, "openai-chat")


def test_question_interrupted_by_a_crash_is_asked_again(tmp_path: Path) -> None:
    """Killed while the person thought about it: the question has no result and no mark, so the next start asks it."""
    asking = call("ask_followup_question", question="Red or blue?", options=["red", "blue"])
    with stage(tmp_path, asking, "painted", person=Told(answers=["blue"])) as on:
        on.thread.append("user", "paint it")
        loop = on.agent._loop()
        step = loop.asker.step(1, loop.tools)
        while True:
            try:
                next(step)
            except StopIteration:
                break
        assert list(on.agent.resume())[-1].text == "painted"  # type: ignore[union-attr]
        assert on.person.questions == ["Red or blue?"]
        assert "blue" in results(on.thread)[0]
