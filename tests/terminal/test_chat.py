"""Journeys through the chat, in a real terminal, against a scripted model."""

from __future__ import annotations

from pathlib import Path

from backscroll.testing import Line
from backscroll.testing.scenario import ScriptedCall
from tests.terminal.conftest import READY, Desk
from tests.terminal.terminal import CTRL_C, CTRL_D, CTRL_O, DOWN, ENTER, ESCAPE, F2, F3, F4

STREAMED = """# Tides

High water is at **06:12**.

- one
- two

```python
print("hello")
```

The end."""


def command(line: str) -> ScriptedCall:
    return ScriptedCall("run_command", {"command": line})


def test_answer_is_drawn_as_markdown_and_counted(desk: Desk) -> None:
    """Thinking is folded, and the status line shows what the service reported."""
    usage = {"input": 2000, "cached": 1500, "output": 100}
    desk.model(Line(text=STREAMED, reasoning="Let me see.\nYes.", chunk=3, usage=usage))
    terminal = desk.chat()
    terminal.wait_for("Backscroll", "gpt-4o-mini · scripted", READY)
    terminal.enter("When is high water?")
    shown = terminal.wait_for("The end.", READY, gone="Ctrl-C to stop")
    assert "High water is at 06:12." in shown
    assert " • one\n • two" in shown
    assert "thought for" in shown
    assert "**" not in shown
    assert "```" not in shown
    assert "↑2.0k ↓100" in shown
    assert "75% cached" in shown
    terminal.type(CTRL_O)
    terminal.wait_for("Let me see.")


def test_figures_are_updated_during_an_answer(desk: Desk, tmp_path: Path) -> None:
    """A marked estimate during the stream; the reported figures after it."""
    go = tmp_path / "go"
    usage = {"input": 2000, "cached": 1500, "output": 100}
    desk.model(Line(text="many words " * 40, wait_for_file=str(go), wait_after=30, usage=usage))
    terminal = desk.chat(columns=100)
    terminal.wait_for(READY)
    terminal.enter("hello")
    terminal.wait_for("many words", "~↑", "~↓8", "~$0.0", "Ctrl-C to stop")
    go.touch()
    shown = terminal.wait_for("↑2.0k ↓100 · 75% cached", READY, gone="Ctrl-C to stop")
    assert "~" not in shown.splitlines()[-1]


def test_approved_command_runs(desk: Desk) -> None:
    """It is shown exactly, the bell rings, and nothing runs before the key."""
    desk.model(
        Line(text="I look.", calls=(command("echo one > made.txt; cat made.txt"),), times=1),
        Line(text="It worked."),
    )
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.enter("please look")
    terminal.wait_for("$ echo one > made.txt; cat made.txt", "y allow")
    assert terminal.bells == 1
    assert not (desk.folder / "made.txt").exists()
    terminal.type("y")
    shown = terminal.wait_for("It worked.", READY)
    assert "✓ run_command: allowed" in shown
    assert "● run_command" in shown
    assert (desk.folder / "made.txt").read_text() == "one\n"


def test_refusal_reason_reaches_the_model(desk: Desk) -> None:
    """Two calls of one reply: one refused, one allowed; the next request has the reason."""
    desk.model(
        Line(text="Two things.", calls=(command("echo first > a"), command("echo second > b")), times=1),
        Line(text="Understood."),
    )
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.enter("do both")
    terminal.wait_for("2 calls need approval", "(1/2)", "y allow")
    terminal.type("n")
    terminal.wait_for("Why not?")
    terminal.type("keep a as it is" + ENTER)
    terminal.wait_for("refused: keep a as it is", "(2/2)", "y allow")
    terminal.type("y")
    terminal.wait_for("Understood.", READY)
    assert not (desk.folder / "a").exists()
    assert (desk.folder / "b").exists()
    assert "keep a as it is" in desk.said()


def test_repeated_proposal_is_marked_as_refused_before(desk: Desk) -> None:
    desk.model(
        Line(calls=(command("rm -r build"),), times=1),
        Line(calls=(command("rm -r build"),), times=1),
        Line(text="I give up."),
    )
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.enter("clean")
    terminal.wait_for("y allow")
    terminal.type("n")
    terminal.wait_for("Why not?")
    terminal.type("never delete" + ENTER)
    terminal.wait_for("you refused this before: never delete", "y allow")
    terminal.type("n")
    terminal.wait_for("Why not?")
    terminal.type(ENTER)
    terminal.wait_for("I give up.", READY)


def test_edited_pattern_applies_to_the_session(desk: Desk) -> None:
    """Matching calls are not asked about again; others are."""
    desk.model(
        Line(calls=(command("touch one"),), times=1),
        Line(calls=(command("touch two"),), times=1),
        Line(calls=(command("mkdir three"),), times=1),
        Line(text="Enough."),
    )
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.enter("go")
    terminal.wait_for("$ touch one", "y allow")
    terminal.type("w")
    terminal.wait_for("1. touch *", "3. custom pattern")
    terminal.type("3")
    terminal.wait_for("Allow calls that match")
    terminal.type("\x15touch t*" + ENTER)
    terminal.wait_for("Allow “touch t*”", "2. for this session")
    terminal.type("2")
    shown = terminal.wait_for("$ mkdir three", "y allow")
    assert "$ touch two" not in shown
    assert "allowed for this session: touch t*" in shown
    terminal.type("n")
    terminal.wait_for("Why not?")
    terminal.type(ENTER)
    terminal.wait_for("Enough.", READY)


def test_keys_pressed_before_a_question_decide_nothing(desk: Desk, tmp_path: Path) -> None:
    """What is typed while the model works goes into the next message, not into an approval."""
    go, paused = tmp_path / "go", tmp_path / "paused"
    desk.model(
        Line(
            text="Wait.",
            calls=(command("touch made"),),
            times=1,
            wait_for_file=str(go),
            wait_after=1,
            touch=str(paused),
        ),
        Line(text="Fine."),
    )
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.enter("go on")
    terminal.wait_for("Ctrl-C to stop")
    wait_until(paused.exists)
    terminal.type("yyy")
    go.touch()
    terminal.wait_for("$ touch made", "y allow")
    assert not (desk.folder / "made").exists()
    terminal.type("n")
    terminal.wait_for("Why not?")
    terminal.type(ENTER)
    terminal.wait_for("Fine.", READY, "› yyy")
    assert not (desk.folder / "made").exists()


def test_question_with_options_takes_a_choice_or_text(desk: Desk) -> None:
    """An option by arrow keys; another time a typed answer."""
    question = ScriptedCall(
        "ask_followup_question", {"question": "Which colour?", "options": ["red", "blue"]}
    )
    desk.model(Line(calls=(question,), times=2), Line(text="Thank you."))
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.enter("paint it")
    terminal.wait_for("Which colour?", "1. red", "3. other …")
    terminal.type(DOWN + ENTER)
    terminal.wait_for("› blue", "1. red")
    terminal.type("3")
    terminal.wait_for("Your answer (Enter to send")
    terminal.type("green, please" + ENTER)
    terminal.wait_for("› green, please", "Thank you.", READY)
    assert "blue" in desk.said(1)
    assert "green, please" in desk.said(2)


def test_result_is_sent_back_and_then_accepted(desk: Desk) -> None:
    """The model gets the feedback; the second attempt is accepted and ends the run."""
    desk.model(
        Line(calls=(ScriptedCall("attempt_completion", {"result": "First **try**."}),), times=1),
        Line(calls=(ScriptedCall("attempt_completion", {"result": "Second try."}),), times=1),
    )
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.enter("do the work")
    terminal.wait_for("First try.", "Is it done?")
    terminal.type("n")
    terminal.wait_for("What is missing?")
    terminal.type("tests are missing" + ENTER)
    terminal.wait_for("Attach an image")
    terminal.type(ENTER)
    terminal.wait_for("not yet: tests are missing", "Second try.", "Is it done?")
    assert "tests are missing" in desk.said()
    terminal.type(ENTER)  # a stray return accepts nothing
    terminal.type("y")
    terminal.wait_for("accepted", "Task completed.", READY)


def test_run_is_stopped_during_a_stream_and_continued(desk: Desk, tmp_path: Path) -> None:
    """Ctrl-C keeps the text, the chat goes on, and the model sees what it had said."""
    desk.model(
        Line(
            text="These words came. Those did not.",
            chunk=17,
            times=1,
            wait_for_file=str(tmp_path / "never"),
            wait_after=2,
        ),
        Line(text="Here is the rest."),
    )
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.enter("tell me")
    terminal.wait_for("These words came.", "Ctrl-C to stop")
    terminal.type(CTRL_C)
    shown = terminal.wait_for("Stopped.", READY)
    assert "These words came." in shown
    terminal.enter("go on")
    terminal.wait_for("Here is the rest.", READY)
    assert "These words came." in desk.said()


def test_ctrl_c_twice_and_ctrl_d_quit(desk: Desk) -> None:
    desk.model(Line(text="Hello."))
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.type("half a line")
    terminal.wait_for("half a line")
    terminal.type(CTRL_C)
    terminal.wait_for(READY, gone="half a line")
    terminal.type(CTRL_C)
    terminal.wait_for("again to quit")
    terminal.type(CTRL_C)
    assert terminal.wait_for_end() == 0
    other = desk.chat()
    other.wait_for(READY)
    other.type(CTRL_D)
    assert other.wait_for_end() == 0
    assert "Everything is saved" in other.everything()


def test_function_keys_change_the_task(desk: Desk) -> None:
    """F2, F3 and F4 start a task, complete it and send it back; the typed text stays."""
    desk.model(Line(text="Hello."))
    terminal = desk.chat()
    terminal.wait_for("no task")
    terminal.type("not sent yet")
    terminal.wait_for("› not sent yet")
    terminal.type(F2)
    terminal.wait_for("Title of the new task")
    terminal.type("Paint the fence" + ENTER)
    terminal.wait_for("▶ Paint the fence", "› not sent yet")
    terminal.type(F4)
    terminal.wait_for("What is missing?")
    terminal.type("the back side" + ENTER)
    terminal.wait_for("↺ Not done yet: Paint the fence", READY)
    terminal.type(F3)
    terminal.wait_for("✓ Completed: Paint the fence", READY)


def test_alt_keys_reach_the_task_bar(desk: Desk) -> None:
    """The same by Alt-n, as a terminal sends it; Escape cancels."""
    desk.model(Line(text="Hello."))
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.type("\x1bn")
    terminal.wait_for("Title of the new task")
    terminal.type(ESCAPE)
    terminal.wait_for("no task", READY, gone="Title of the new task")
    terminal.type("\x1bc")
    shown = terminal.wait_for("No current task", READY)
    terminal.type("\x1bi")
    wait_until(lambda: terminal.screen().count("No current task") > shown.count("No current task"))


def test_messages_may_have_several_lines(desk: Desk) -> None:
    """Alt-Enter, Ctrl-J and a backslash make lines; pasted lines stay together; Enter sends them all."""
    desk.model(Line(text="Read."))
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.type("one\x1b\rtwo\nthree\\\r")
    terminal.wait_for("one", "two", "three", gone="three\\")
    terminal.paste("four\r\nfive")
    terminal.wait_for("five")
    terminal.type(ENTER)
    terminal.wait_for("Read.", READY)
    assert "one\ntwo\nthree\nfour\nfive" in desk.said()


def test_chat_works_in_chinese(desk: Desk) -> None:
    """Wide characters keep their columns, keys of an input method are understood."""
    desk.model(
        Line(text="我看一下。", calls=(command("echo 中文 > 文件.txt"),), times=1),
        Line(text="**好了**，全部完成。"),
    )
    terminal = desk.chat(language="zh")
    terminal.wait_for("没有任务")
    terminal.enter("请写一个文件")
    terminal.wait_for("run_command 想运行命令", "$ echo 中文 > 文件.txt", "y 允许")
    terminal.type("是")
    terminal.wait_for("好了，全部完成。", "没有任务")
    assert (desk.folder / "文件.txt").read_text(encoding="utf-8") == "中文\n"


def test_narrow_terminals_are_supported(desk: Desk) -> None:
    """At 60 and at 40 columns nothing wraps wrongly, and the important figures are there."""
    desk.model(Line(text="A sentence that is rather longer than the terminal is wide, so that it wraps."))
    for columns in (60, 40):
        terminal = desk.chat(columns=columns)
        terminal.wait_for("F2")
        terminal.enter("hello")
        shown = terminal.wait_for("so that it wraps.", "F2", "$0.")
        assert "%" in shown.splitlines()[-1]


def test_resizing_during_a_stream_leaves_no_remains(desk: Desk, tmp_path: Path) -> None:
    """Of the status line, when the window becomes narrower."""
    go, paused = tmp_path / "go", tmp_path / "paused"
    text = "First paragraph.\n\nSecond paragraph with a few more words.\n\nThird."
    desk.model(Line(text=text, chunk=30, wait_for_file=str(go), wait_after=2, touch=str(paused)))
    terminal = desk.chat(columns=90)
    terminal.wait_for(READY)
    terminal.enter("hello")
    wait_until(paused.exists)
    terminal.wait_for("First paragraph.", "Ctrl-C to stop")
    terminal.resize(60, 30)
    go.touch()
    terminal.wait_for("Third.", READY)
    assert terminal.everything().count("Ctrl-C to stop") == 0


def test_answer_cannot_control_the_terminal(desk: Desk) -> None:
    """Escape sequences in answers and command output are shown or dropped, never executed."""
    evil = "\x1b]0;owned\x07\x1b[2J"
    desk.model(
        Line(
            text=f"Look: {evil} here.",
            calls=(command("printf '\\033[2Jgone' > gone.txt; cat gone.txt"),),
            times=1,
        ),
        Line(text="Survived."),
    )
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.enter("hello")
    terminal.wait_for("␛[2J here.", "y allow")
    terminal.type("y")
    terminal.wait_for("Survived.", READY)
    terminal.type(CTRL_O)
    terminal.wait_for("result", "gone", READY)
    assert b"owned\x07" not in terminal.raw
    assert b"\x1b[2J" not in terminal.raw


def test_shell_command_of_the_user_runs(desk: Desk) -> None:
    """`!command` needs no approval, its output is one line, and the model sees it with the next message."""
    desk.model(Line(text="I saw it."))
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.enter("!echo by hand")
    terminal.wait_for("● run_command", READY)
    terminal.enter("what did I do?")
    terminal.wait_for("I saw it.", READY)
    assert "by hand" in desk.said()


def test_newest_thread_can_be_continued(desk: Desk) -> None:
    """--continue takes the newest of this folder; --pick offers a list that narrows."""
    desk.model(Line(text="The answer was 42."))
    first = desk.chat()
    first.wait_for(READY)
    first.enter("remember the number")
    first.wait_for("The answer was 42.", READY)
    first.type(CTRL_D)
    first.wait_for_end()
    second = desk.chat("--continue")
    second.wait_for("remember the number", "The answer was 42.", READY)
    second.type(CTRL_D)
    second.wait_for_end()
    third = desk.chat("--pick")
    third.wait_for("Conversations", "remember the number")
    third.type("zzz")
    third.wait_for("no matches")
    third.type("\x7f\x7f\x7fnumber" + ENTER)
    third.wait_for("The answer was 42.", READY)


def test_crashed_run_is_offered(desk: Desk, tmp_path: Path) -> None:
    """Killed during an answer; the next start says so and continues it."""
    desk.model(
        Line(text="Some words. More.", chunk=6, times=1, wait_for_file=str(tmp_path / "never"), wait_after=3),
        Line(text="Finished after all."),
    )
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.enter("tell me")
    terminal.wait_for("Some words.", "Ctrl-C to stop")
    terminal.kill()
    again = desk.chat("--continue")
    again.wait_for("did not finish")
    again.type("y")
    again.wait_for("Finished after all.", READY)


def test_companion_answers_without_a_model(desk: Desk) -> None:
    desk.config.write_text("", encoding="utf-8")
    terminal = desk.chat()
    terminal.wait_for("offline: no model is configured", "Welcome.", READY)
    terminal.enter("hello there")
    terminal.wait_for("Hint: /context", READY)


def test_service_error_is_shown_and_the_chat_goes_on(desk: Desk) -> None:
    from backscroll.testing.scenario import Fault

    desk.model(Line(fault=Fault(401, "wrong key"), times=1), Line(text="Better now."))
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.enter("hello")
    terminal.wait_for("error: ", READY)
    terminal.enter("once more")
    terminal.wait_for("Better now.", READY)


def test_overload_and_cut_stream_are_retried(desk: Desk) -> None:
    """This is reported, and half an answer does not stay as if it were one."""
    from backscroll.testing.scenario import Fault

    desk.model(
        Line(fault=Fault(429, "slow down", retry_after=0.1), times=1),
        Line(text="Half of the answer came.", chunk=6, cut_after=4, times=1),
        Line(text="The whole answer."),
    )
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.enter("hello")
    shown = terminal.wait_for("The whole answer.", READY)
    assert shown.count("Half of") == 0
    assert shown.count("retrying") == 2


def wait_until(there: object, patience: float = 30.0) -> None:
    """Wait for something that no screen shows."""
    import time

    assert callable(there)
    end = time.monotonic() + patience
    while not there():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)
