"""Journeys with `run`: one message to the agent in a process of its own, against a scripted model over real HTTP."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll.engine.calls.run_end import how_ended
from backscroll.testing import Line, Scenario, ScriptedServer
from backscroll.testing.scenario import Fault, ScriptedCall
from tests import programs
from tests.journeys.conftest import Cli, Done

PATIENCE = 120.0


class Model:
    """A scripted model that the command line is configured to ask, and a folder to work in."""

    def __init__(self, cli: Cli, stack: ExitStack) -> None:
        self.cli = cli
        self.stack = stack
        self.root = cli.folder / "work"
        self.root.mkdir()
        self.server: ScriptedServer | None = None

    def plays(self, *lines: Line, **more: Any) -> ScriptedServer:
        """Serve these lines, in order."""
        if self.server is not None:
            self.server.stop()
        self.server = ScriptedServer(Scenario(lines, once=True, **more))
        self.stack.enter_context(self.server)
        config = self.cli.folder / "config.toml"
        table = f'budget = 32000\n[providers.here]\nbase_url = "{self.server.url}"\nmodel = "m"\ntries = 1\n'
        config.write_text(table, encoding="utf-8")
        self.cli.environment["BACKSCROLL_CONFIG"] = str(config)
        return self.server

    def run(self, *arguments: str | Path, text: str = "", **environment: str) -> Done:
        """`backscroll run …` in the folder."""
        done = self.cli("run", "--root", self.root, *arguments, text=text, **environment)
        assert "Traceback" not in done.err, done.err
        return done

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """The same, left running."""
        return programs.start(
            self.cli.command("run", "--root", self.root, *arguments),
            env=self.cli.environment,
            cwd=self.cli.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def said_to_it(self, request: int = -1) -> str:
        """All words of one request."""
        assert self.server is not None
        return "\n".join(words for _, words in self.server.asked[request].said)

    def thread(self) -> list[tuple[str, str]]:
        """Role and words of the conversation that changed last."""
        with backscroll.open(self.cli.environment["BACKSCROLL_STORE"], background=False) as store:
            found = store.thread(next(iter(store.threads())).id)
            return [(m.role, m.text) for m in found]

    def ended(self) -> str:
        """What the next chat will know of how the run in that conversation ended."""
        with backscroll.open(self.cli.environment["BACKSCROLL_STORE"], background=False) as store:
            return how_ended(store.thread(next(iter(store.threads())).id))


@pytest.fixture
def model(cli: Cli) -> Any:
    with ExitStack() as stack:
        yield Model(cli, stack)


def call(name: str, **arguments: Any) -> Line:
    return Line(calls=(ScriptedCall(name, arguments),))


def wait_for(what: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.02)


# -- what is printed ---------------------------------------------------------------------------------------------


def test_answer_alone_goes_to_standard_output(model: Model) -> None:
    """Progress and cost go to standard error."""
    (model.root / "a.txt").write_text("tide\n", encoding="utf-8")
    model.plays(
        Line(text="Let me look.", calls=(ScriptedCall("read_file", {"path": "a.txt"}),)),
        Line(text="It says tide. 就这些。"),
    )
    done = model.run("what is in a.txt?")
    assert done.code == 0
    assert done.out == "It says tide. 就这些。\n"
    assert "Let me look." in done.err
    assert "read_file" in done.err
    assert "steps: 2" in done.err


def test_new_thread_belongs_to_the_folder(model: Model) -> None:
    """So that `--continue` finds it; its title is the first message."""
    model.plays(Line(text="one"), Line(text="two", anywhere=("first words", "one")))
    model.run("first words\nand more")
    assert model.run("--continue", "go on").out == "two\n"
    threads = model.cli.ok("threads", "--json").json
    assert len(threads) == 1
    assert threads[0]["title"] == "first words"
    assert threads[0]["project"] == str(model.root)
    named = model.run("--thread", threads[0]["id"][:8], "once more")
    assert "no line of the scenario fits" in named.err, "the script has no more lines"


def test_json_streams_every_event(model: Model) -> None:
    """One document per line, the thread first, `finished` last; the figures are those the server reported."""
    model.plays(
        Line(
            text="I write.",
            calls=(ScriptedCall("write_file", {"path": "b.txt", "content": "x\n"}),),
            usage={"input": 900, "output": 40},
        ),
        Line(text="Written.", usage={"input": 1000, "output": 5}),
    )
    done = model.run("--jsonl", "--approve", "edits", "write b")
    assert done.code == 0
    lines = done.lines
    kinds = [line["type"] for line in lines]
    assert kinds[0] == "thread"
    assert kinds[1] == "began"
    assert kinds[-1] == "finished"
    assert {"asked", "said", "step", "calling", "called"} <= set(kinds)
    assert "".join(line["text"] for line in lines if line["type"] == "said") == "I write.Written."
    assert lines[-1]["end"] == "answered"
    assert lines[-1]["text"] == "Written."
    assert (lines[-1]["counted"]["input"], lines[-1]["counted"]["output"]) == (1900, 45)
    assert (model.root / "b.txt").read_text(encoding="utf-8") == "x\n"


def test_message_comes_from_standard_input_or_a_file(model: Model) -> None:
    model.plays(
        Line(text="a", contains=("from a pipe",)),
        Line(text="b", contains=("从文件",)),
        Line(text="c", contains=("bare",)),
    )
    (model.cli.folder / "words.md").write_text("从文件来\n", encoding="utf-8")
    assert model.run("-", text="from a pipe\n").out == "a\n"
    assert model.run("--file", "words.md").out == "b\n"
    assert model.run(text="bare\n").out == "c\n"


# -- approval ----------------------------------------------------------------------------------------------------


def test_calls_that_need_approval_are_refused_without_a_person(model: Model) -> None:
    """The model gets the reason, the files stay unchanged, and the output says how to allow it."""
    model.plays(
        call("write_file", path="b.txt", content="x"),
        call("run_command", command="git init -q"),
        Line(text="So be it."),
    )
    done = model.run("do it")
    assert (done.code, done.out) == (0, "So be it.\n")
    assert list(model.root.iterdir()) == []
    assert "[write_file]" in model.said_to_it()
    assert "nobody is there" in model.said_to_it()
    assert "--allow 'run_command(git init -q)'" in done.err


def test_flags_allow_and_deny(model: Model) -> None:
    """Patterns cover what they say and nothing more; deny wins over allow."""
    model.plays(
        call("run_command", command="echo fine > out.txt"),
        call("run_command", command="echo fine"),
        call("run_command", command="echo fine && touch gone"),
        call("write_file", path="docs/a.md", content="x"),
        call("write_file", path="docs/b.sql", content="x"),
        Line(text="done"),
    )
    allowed = (
        "--allow",
        "run_command(echo *)",
        "--allow",
        "write_file(docs/**)",
        "--deny",
        "write_file(*.sql)",
    )
    done = model.run("--jsonl", *allowed, "go")
    called = [line for line in done.lines if line["type"] == "called"]
    assert ["refused" in line for line in called] == [True, False, True, False, True]
    assert sorted(p.relative_to(model.root).as_posix() for p in model.root.rglob("*") if p.is_file()) == [
        "docs/a.md"
    ]
    assert "write_file(*.sql)" in called[-1]["refused"]


def test_approve_all_allows_everything(model: Model) -> None:
    model.plays(call("run_command", command="echo 好 > out.txt"), Line(text="done"))
    assert model.run("--approve", "all", "go").code == 0
    assert (model.root / "out.txt").read_text(encoding="utf-8") == "好\n"


def test_saved_rules_apply_and_a_broken_file_allows_nothing(model: Model) -> None:
    """If the file cannot be read, even `--approve all` is refused, with the reason."""
    model.plays(
        call("run_command", command="echo one"),
        Line(text="a"),
        call("run_command", command="echo one"),
        Line(text="b"),
    )
    model.cli.ok("permissions", "allow", "run_command(echo *)", "--project", model.root)
    assert [
        line["is_error"]
        for line in model.run("--jsonl", "go").lines
        if line["type"] == "called" and "is_error" in line
    ] == []
    kept = Path(model.cli.ok("permissions", "--json").json["file"])
    kept.write_text(kept.read_text(encoding="utf-8") + '"x" = "perhaps"\n', encoding="utf-8")
    done = model.run("--approve", "all", "go")
    assert "line 6" in done.err
    assert "refused" in done.err
    assert "第 6 行" in model.run("--lang", "zh", "--approve", "all", "go").err


def test_approval_is_asked_at_a_terminal(model: Model) -> None:
    """With the exact command; a refusal asks for the reason, which the next request contains."""
    model.plays(
        call("run_command", command="touch one"),
        call("run_command", command="rm -rf two"),
        Line(text="understood"),
    )
    out, err = talk_at_a_terminal(
        model, "run", "--root", str(model.root), "--ask", "go", answers=["y", "n", "两个都要留着"]
    )
    assert "$ rm -rf two" in err
    assert "understood" in out
    assert "两个都要留着" in model.said_to_it()


@pytest.mark.parametrize(
    ("language", "through", "protected"),
    [("en", "any/folder", "Approval is required every time."), ("zh", "any/folder", "每次都会询问。")],
)
def test_wider_rule_can_be_chosen_at_a_plain_terminal(
    model: Model, language: str, through: str, protected: str
) -> None:
    """It shows what would be allowed; protected files can be allowed only once."""
    (model.root / ".env").write_text("TOKEN=hunter2\n", encoding="utf-8")
    model.plays(
        call("run_command", command="touch one"),
        call("run_command", command="touch two"),
        call("run_command", command="cat .env"),
        call("run_command", command="cat .env"),
        Line(text="understood"),
    )
    out, err = talk_at_a_terminal(
        model,
        *("--lang", language, "run", "--root", str(model.root), "--ask", "go"),
        answers=["w", "1 s", "s", "y", "n", "nein"],
    )
    assert through in err
    assert " ".join(err.split()).count(protected) == 2  # a narrow terminal wraps it
    assert "understood" in out
    assert (model.root / "two").exists()
    assert "nein" in model.said_to_it()


#: How a question ends, in both languages.
_QUESTIONS = (b"):", "）：".encode(), b"(sent to the model)", "会读到）".encode(), b"]")


def talk_at_a_terminal(model: Model, *arguments: str, answers: list[str]) -> tuple[str, str]:
    """Run with a terminal for input and questions, and type an answer whenever one is wanted."""
    ours, theirs = pty.openpty()
    process = programs.start(
        model.cli.command(*arguments),
        env=model.cli.environment,
        cwd=model.cli.folder,
        stdin=theirs,
        stderr=theirs,
        stdout=subprocess.PIPE,
    )
    os.close(theirs)
    heard = b""
    left = list(answers)
    try:
        while True:
            waits = not select.select([ours], [], [], PATIENCE)[0]
            assert not waits, (
                f"it waits for an answer to what is not known as a question: {heard.decode(errors='replace')}"
            )
            try:
                piece = os.read(ours, 4096)
            except OSError:
                break  # the other end is closed: the program has ended
            if not piece:
                break
            heard += piece
            if left and heard.rstrip(b" ").endswith(_QUESTIONS):
                os.write(ours, left.pop(0).encode() + b"\n")
                heard += b"\n"
        assert process.stdout is not None
        out = process.stdout.read().decode()
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
        os.close(ours)
    return out, heard.decode(errors="replace")


def test_asking_needs_a_terminal(model: Model) -> None:
    model.plays()
    done = model.run("--ask", "go")
    assert done.code == 2
    assert "terminal" in done.err


# -- how it ends -------------------------------------------------------------------------------------------------


def test_unaccepted_result_is_incomplete(model: Model) -> None:
    """The attempt stays open; `--accept` accepts one unseen."""
    model.plays(
        call("attempt_completion", result="All green."), call("attempt_completion", result="Still green.")
    )
    done = model.run("make it green")
    assert (done.code, done.out) == (20, "All green.\n")
    done = model.run("--continue", "--accept", "yes, finish it")
    assert (done.code, done.out) == (0, "Still green.\n")
    assert "Completed" in done.err


def test_open_question_has_its_own_exit_code(model: Model) -> None:
    """The question is printed, and the next message answers it."""
    model.plays(
        call("ask_followup_question", question="Which harbour?", options=["Brest", "圣马洛"]),
        Line(text="Brest it is.", anywhere=("Which harbour?",)),
    )
    done = model.run("set the harbour")
    assert done.code == 21
    assert "Which harbour?" in done.out
    assert model.run("--continue", "Brest").out == "Brest it is.\n"


def test_empty_answer_has_its_own_exit_code(model: Model) -> None:
    """Asked once more, then reported to people and programs; nothing is printed as an answer."""
    nothing = Line(text="", times=2)
    model.plays(nothing, nothing, Line(text="Here I am.", times=1))
    done = model.run("hello")
    assert (done.code, done.out.strip()) == (23, "")
    assert "retrying" in done.err
    assert "empty reply" in done.err
    last = json.loads(model.run("--resume", "--jsonl").out.splitlines()[-1])
    assert (last["type"], last["end"], last["counted"]["unanswered"]) == ("finished", "silent", 0)
    assert model.run("--resume").out == "Here I am.\n"


LONG = " ".join(f"word{n}" for n in range(900))


def test_answer_cut_at_the_output_limit_is_joined(model: Model) -> None:
    """Reported on standard error, joined on standard output; programs see the cut."""
    model.plays(Line(text=LONG, times=1), Line(text=" the end.", times=1), max_output=400)
    done = model.run("tell")
    assert done.code == 0
    assert done.out.startswith("word0 word1")
    assert done.out.endswith(" the end.\n")
    assert done.out.count("\n") == 1
    assert "output limit reached (400 tokens); continuing" in done.err


@pytest.mark.parametrize(
    ("language", "told"),
    [("en", "Stopped: the reply hit the model's output limit"), ("zh", "输出上限处停下")],
)
def test_output_limit_has_its_own_exit_code(model: Model, language: str, told: str) -> None:
    model.plays(*[Line(text=LONG)] * 12, max_output=100)
    done = model.run("--lang", language, "tell")
    assert done.code == 24
    assert done.out.startswith("word0 word1")
    assert told in done.err
    lines = [json.loads(line) for line in model.run("--resume", "--jsonl").out.splitlines()]
    assert lines[-1]["end"] == "cut"
    assert [line["cut"] for line in lines if line["type"] == "step"] == [True] * 5
    assert [line["kind"] for line in lines if line["type"] == "noted"].count("continued") == 4


@pytest.mark.parametrize(
    ("language", "told"), [("en", "same call with the same result"), ("zh", "同样的调用")]
)
def test_repeated_calls_have_their_own_exit_code(model: Model, language: str, told: str) -> None:
    model.plays(*[call("list_files")] * 9)
    done = model.run("--lang", language, "look around")
    assert (done.code, model.ended()) == (25, "repeated")
    assert told in done.err


def test_limit_stops_a_run_and_resume_continues_it(model: Model) -> None:
    model.plays(call("list_files"), call("list_files"), Line(text="seen"))
    done = model.run("--max-steps", "2", "look around")
    assert (done.code, done.out) == (22, "")
    assert model.ended() == "limit"
    done = model.run("--resume")
    assert (done.code, done.out) == (0, "seen\n")
    assert model.ended() == "answered"
    assert [role for role, _ in model.thread() if role == "user"] == ["user"]


@pytest.mark.parametrize(("language", "told"), [("en", "error:"), ("zh", "错误")])
def test_failure_has_the_exit_code_of_its_error(model: Model, language: str, told: str) -> None:
    """The text so far is saved; the last line of the JSON has the error."""
    model.plays(
        Line(fault=Fault(401, "bad key", "invalid_api_key")),
        Line(fault=Fault(401, "bad key", "invalid_api_key")),
    )
    done = model.run("--lang", language, "hello")
    assert (done.code, done.out) == (12, "")
    assert told in done.err
    assert ("user", "hello") in model.thread()
    last = model.run("--jsonl", "hello").lines[-1]
    assert (last["end"], last["exit_code"]) == ("failed", 12)
    assert last["error"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_during_an_answer_keeps_the_text(model: Model, number: signal.Signals) -> None:
    """It ends cleanly, at once, with its own exit code; the next run continues."""
    begun, never = model.cli.folder / "begun", model.cli.folder / "never"
    model.plays(
        Line(
            text="The tide comes in twice a day, and",
            chunk=4,
            wait_for_file=str(never),
            wait_after=4,
            touch=str(begun),
        ),
        Line(text="twice it goes out."),
    )
    process = model.start("tell me of the tide")
    try:
        wait_for(begun.exists)
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 128 + number
    assert b"Traceback" not in err
    # Who presses Ctrl-C means it; a polite end from outside (a machine that goes down) is offered to be gone on with.
    assert model.ended() == ("stopped" if number == signal.SIGINT else "")
    assert model.run("--resume").out == "twice it goes out.\n"


def test_interrupt_during_a_command_ends_it(model: Model) -> None:
    """With every process it started; the thread has a result for the call."""
    model.plays(call("run_command", command="echo $$ > pid; sleep 300"), Line(text="stopped, then"))
    process = model.start("--approve", "all", "wait")
    try:
        wait_for(lambda: (model.root / "pid").exists() and (model.root / "pid").read_text().strip() != "")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    pid = int((model.root / "pid").read_text())
    wait_for(lambda: not Path(f"/proc/{pid}").exists())
    assert model.run("--resume").out == "stopped, then\n"


def test_closed_pipe_ends_a_run_quietly(model: Model) -> None:
    """The text so far is kept, and the thread is consistent."""
    never = model.cli.folder / "never"
    begun = model.cli.folder / "begun"
    model.plays(
        Line(text="word " * 400, chunk=5, wait_for_file=str(never), wait_after=3, touch=str(begun)),
        Line(text="and on"),
    )
    process = model.start("--jsonl", "talk")
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        wait_for(begun.exists)
        process.stdout.close()
        never.touch()
        err = process.stderr.read()
        assert process.wait(PATIENCE) == 141
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
    assert b"Traceback" not in err
    assert model.run("--continue", "go on").out == "and on\n"


# -- without a model ---------------------------------------------------------------------------------------------


def test_offline_run_quotes_the_history(cli: Cli) -> None:
    """Without provider, key and network, in both languages, with a hint on adding a model."""
    cli.ok("run", "The spare key is under the blue flower pot.")
    done = cli.ok("run", "--continue", "where is the spare key?")
    assert "blue flower pot" in done.out
    assert "[bs:" in done.out
    told = cli.ok("run", "备用钥匙在蓝色花盆下面。")
    assert "没有配置模型" in told.out
    assert "蓝色花盆" in cli.ok("run", "--continue", "备用钥匙在哪里？").out


def test_offline_run_executes_explicit_commands(cli: Cli) -> None:
    done = cli.ok("run", "--allow", "run_command(echo *)", "run echo from-the-shell")
    assert "from-the-shell" in done.out


# -- wrong use ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--resume", "words"), 2),
        (("words", "--file", "x"), 2),
        (("--thread", "last", "--continue", "words"), 2),
        (("--continue", "words"), 4),
        (("--resume",), 4),
        (("--root", "nowhere", "words"), 4),
        (("--file", "nowhere"), 2),
        (("--approve", "maybe", "words"), 2),
        (("--allow", "git *", "words"), 2),
        (("--provider", "nobody", "words"), 4),
        (("   ",), 2),
    ],
)
def test_invalid_usage_is_refused_with_a_hint(cli: Cli, arguments: tuple[str, ...], code: int) -> None:
    done = cli("run", *arguments)
    assert done.code == code, done.err
    assert "Traceback" not in done.err
    assert done.out == ""
    assert len(done.err.splitlines()) >= 1


def test_empty_standard_input_is_refused(cli: Cli) -> None:
    done = cli("run", text="")
    assert done.code == 2
    assert json.loads(cli("run", "--json", text="").err)["error"]["message"]


def test_failed_start_leaves_no_thread(cli: Cli) -> None:
    """A missing service or person is reported before a thread is created."""
    assert cli("run", "hello", "--provider", "nobody").code == 4
    assert cli("run", "hello", "--ask").code == 2
    assert cli.ok("threads", "--json").json == []
