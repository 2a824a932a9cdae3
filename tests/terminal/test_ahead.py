"""Fast typing in a real terminal: keys typed too early decide nothing, and bursts lose nothing."""

from __future__ import annotations

import signal

from backscroll.testing import Line
from backscroll.testing.scenario import ScriptedCall
from tests.terminal.conftest import READY, Desk
from tests.terminal.terminal import CTRL_C, ENTER


def command(line: str) -> ScriptedCall:
    return ScriptedCall("run_command", {"command": line})


def test_keys_sent_with_the_message_approve_nothing(desk: Desk) -> None:
    """An Enter and a y in the same burst go to the next message; the question waits for its own key."""
    desk.model(Line(calls=(command("touch made"),), times=1), Line(text="Fine."))
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.type("go on")
    terminal.wait_for("› go on")
    terminal.type(ENTER + ENTER + "y")
    terminal.wait_for("$ touch made", "y allow")
    assert not (desk.folder / "made").exists()
    terminal.type("n")
    terminal.wait_for("Why not?")
    terminal.type(ENTER)
    terminal.wait_for("Fine.", READY, "› y")
    assert not (desk.folder / "made").exists()


def test_refusal_and_reason_may_come_in_one_burst(desk: Desk) -> None:
    """The Enter at its end is not lost."""
    desk.model(Line(calls=(command("touch made"),), times=1), Line(text="Fine."))
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.enter("go on")
    terminal.wait_for("y allow")
    terminal.type("n太危险了, too risky" + ENTER)
    terminal.wait_for("refused: 太危险了, too risky", "Fine.", READY)
    assert "太危险了, too risky" in desk.said()


def test_burst_does_not_decide_the_next_call(desk: Desk) -> None:
    """Keys after the reason were typed before the second question: it is still asked."""
    desk.model(Line(calls=(command("touch one"), command("touch two")), times=1), Line(text="Fine."))
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.enter("go on")
    terminal.wait_for("(1/2)", "y allow")
    terminal.type("nnot this" + ENTER + "yy" + ENTER)
    terminal.wait_for("refused: not this", "(2/2)", "$ touch two", "y allow")
    assert not (desk.folder / "two").exists()
    terminal.type("n" + ENTER)
    terminal.wait_for("Fine.", READY, "› yy")
    assert not (desk.folder / "two").exists()


def test_typing_user_is_asked_to_pause_and_can_stop(desk: Desk) -> None:
    """Ctrl-C works at once, also while other keys are set aside."""
    desk.model(Line(calls=(command("touch made"),), times=1), Line(text="Fine."))
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.type("go on")
    terminal.wait_for("› go on")
    terminal.type(ENTER + "y")
    terminal.wait_for("$ touch made")
    terminal.type(CTRL_C)
    terminal.wait_for("Stopped.", READY, "› y")
    assert not (desk.folder / "made").exists()


def test_earlier_input_does_not_answer_a_question(desk: Desk) -> None:
    """A multi-line answer in one burst is taken whole; a line typed before the question is not."""
    question = ScriptedCall("ask_followup_question", {"question": "Which colour?"})
    desk.model(Line(calls=(question,), times=1), Line(text="Painted."))
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.type("paint it")
    terminal.wait_for("› paint it")
    terminal.type(ENTER + "green" + ENTER)
    terminal.wait_for("Which colour?", "Your answer")
    terminal.type("deep\x1b\rblue" + ENTER)
    terminal.wait_for("Painted.", READY, "› green")
    assert "deep\\nblue" in repr(desk.said())


def test_result_can_be_sent_back_in_one_burst(desk: Desk) -> None:
    """Not yet, what is missing, no picture: typed without looking at the screen."""
    done = ScriptedCall("attempt_completion", {"result": "All done."})
    desk.model(Line(calls=(done,), times=1), Line(text="I go on."))
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.enter("do it")
    terminal.wait_for("All done.", "n not yet")
    terminal.type("nthe tests are missing" + ENTER + ENTER)
    terminal.wait_for("I go on.", READY)
    assert "the tests are missing" in desk.said()


def test_keys_sent_with_a_command_do_not_confirm_it(desk: Desk) -> None:
    """`/crop` and a y in one burst: nothing is cropped before the user has seen what would be."""
    desk.model(Line(text="To the sea, where the ships are and the wind never stops."))
    terminal = desk.chat()
    terminal.wait_for(READY)
    for words in ("where shall we go this year?", "and where in the winter?"):
        terminal.enter(words)
        terminal.wait_for(words, "never stops.", READY, gone="Ctrl-C to stop")
    terminal.type("/crop top 2")
    terminal.wait_for("› /crop top 2")
    terminal.type(ENTER + "y")
    terminal.wait_for("2 messages from prompts? [")
    terminal.type("n")
    terminal.wait_for("nothing was changed", READY, "› y")


def test_interrupt_signal_reaches_a_question(desk: Desk) -> None:
    """Just before the question takes the keyboard, Ctrl-C is still a signal; it stops all the same."""
    desk.model(Line(calls=(command("touch made"),), times=1), Line(text="Fine."))
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.enter("go on")
    terminal.wait_for("y allow")
    terminal.process.send_signal(signal.SIGINT)
    terminal.wait_for("Stopped.", READY, gone="y allow")
    assert not (desk.folder / "made").exists()
