"""A whole agent's run on every store: tools, approval, changes, interrupt, a kill, resume, rewind, and the ledger of all of it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import backscroll
from backscroll.agent.agent import Agent
from backscroll.agent.events import Finished, Happening, Said
from backscroll.agent.person import Decision, Proposal
from backscroll.engine.budget.costs import spending
from backscroll.llm.providers import Provider
from backscroll.testing import Line, Scenario, ScriptedServer
from backscroll.testing.scenario import ScriptedCall
from tests import programs
from tests.agent.scripted_agent import Told

ROOT = Path(backscroll.__file__).parents[1]
LONG = 300  # seconds; only a hanging program is waited for so long
REASON = "not on a Sunday 周日不行"


def call(name: str, **arguments: str) -> ScriptedCall:
    """A call that the model makes."""
    return ScriptedCall(name, arguments)


def decided(proposal: Proposal) -> Decision:
    """Files may be written, commands not."""
    return Decision(True) if proposal.tool != "run_command" else Decision(False, REASON)


def ended(happenings: list[Happening]) -> Finished:
    """How a run ended."""
    last = happenings[-1]
    assert isinstance(last, Finished)
    return last


def played(tmp_path: Path) -> tuple[Line, ...]:
    """What the model says, in order."""
    never, sign = str(tmp_path / "never"), str(tmp_path / "sign")
    both = (call("write_file", path="a.txt", content="one\n"), call("run_command", command="rm -rf ."))
    return (
        Line(text="I write, and I tidy up.", calls=both, times=1),
        Line(text="Written, not tidied.", times=1),
        Line(calls=(call("start_new_task", title="The second part"),), times=1),
        Line(calls=(call("write_file", path="a.txt", content="two\n"),), times=1),
        Line(text="word " * 60, chunk=5, times=1),
        Line(text="never heard", wait_for_file=never, touch=sign, times=1),
        Line(text="Now it is done.", times=1),
    )


def killed_in_mid_answer(sign: Path, *words: str) -> None:
    """Go on in a process of its own, and kill that while the model answers."""
    command = [sys.executable, "-m", "tests.crash.asking", *words]
    program = programs.start(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    late = time.monotonic() + LONG
    while not sign.exists():
        assert program.poll() is None, program.communicate()
        assert time.monotonic() < late
        time.sleep(0.02)
    program.kill()
    program.communicate()


def test_agent_run_across_restarts(
    store: backscroll.Engine,
    store_url: str,
    reopen: Callable[[], backscroll.Engine],
    tmp_path: Path,
) -> None:
    root = tmp_path / "work"
    root.mkdir()
    with ScriptedServer(Scenario(lines=played(tmp_path))) as server:
        provider = Provider("here", kind="openai", base_url=server.url, model="gpt-4o", tries=3)
        thread = store.create("work", metadata={"workspace": str(root)})
        with Agent(thread, provider=provider, root=root, person=Told(decided), budget=30_000) as agent:
            # Tools and approval: one is allowed, the other refused, and the model hears why.
            first = ended(list(agent.events("write a.txt and tidy up")))
            assert (first.end, first.text) == ("answered", "Written, not tidied.")
            assert REASON in str(server.asked[-1])
            assert (root / "a.txt").read_text() == "one\n"
            stood = [(t.title, t.state) for t in thread.tasks.list()]
            # A task begins and a file changes; the person stops in mid-answer.
            for happening in agent.events("now the second part"):
                if isinstance(happening, Said):
                    agent.stop()
            assert thread.recent(1)[0].content.metadata["act"]["interrupted"] == "stopped"
            assert [t.title for t in thread.tasks.list()][-1] == "The second part"
            tasks = [(t.title, t.state) for t in thread.tasks.list()]
            room = agent.workroom
            assert room is not None
            assert [c.turn for c in room.changes()] == [2, 1]
            # Another process goes on, and is killed while the model answers.
            killed_in_mid_answer(tmp_path / "sign", store_url, thread.id, str(root), server.url)
            assert spending(store, thread=thread)[0].unanswered == 1
            # Resume, where it stopped.
            last = ended(list(agent.resume()))
            assert (last.end, last.text) == ("answered", "Now it is done.")
            (total,) = spending(store, thread=thread)
            assert (total.calls, total.unanswered, total.estimated) == (len(server.asked), 1, 2) == (7, 1, 2)
            assert server.flaws == []
            words = [m.text for m in thread.messages()]
            # Back to before the second turn, files, words and tasks; and forward again.
            assert [line.turn for line in room.blame("a.txt")] == [2]
            room.rewind(2)
            assert (root / "a.txt").read_text() == "one\n"
            assert thread.info.turns == 1
            assert [(t.title, t.state) for t in thread.tasks.list()] == stood
            room.redo()
            assert (root / "a.txt").read_text() == "two\n"
            assert [m.text for m in thread.messages()] == words
            assert [(t.title, t.state) for t in thread.tasks.list()] == tasks
    store.close()
    again = reopen().thread(thread.id)
    assert [m.text for m in again.messages()] == words
    assert spending(again.engine, thread=again)[0].calls == 7
