"""Fast typing in a real terminal: what is typed too early decides nothing, what is typed in one burst loses nothing."""

from __future__ import annotations

import signal

from backscroll.testing import Line
from backscroll.testing.scenario import ScriptedCall
from tests.terminal.conftest import READY, Desk
from tests.terminal.terminal import CTRL_C, ENTER


def command(line: str) -> ScriptedCall:
    return ScriptedCall("run_command", {"command": line})


def test_keys_in_one_burst_with_the_message_approve_nothing(desk: Desk) -> None:
    """A return and a y that came with the message are kept for the next one; the question waits for a key of its own."""
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


def test_a_refusal_and_its_reason_in_one_burst(desk: Desk) -> None:
    """The return at its end is not lost."""
    desk.model(Line(calls=(command("touch made"),), times=1), Line(text="Fine."))
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.enter("go on")
    terminal.wait_for("y allow")
    terminal.type("n太危险了, too risky" + ENTER)
    terminal.wait_for("refused: 太危险了, too risky", "Fine.", READY)
    assert "太危险了, too risky" in desk.said()


def test_a_burst_does_not_decide_the_next_call(desk: Desk) -> None:
    """What follows a reason was typed before the second question stood there: it is asked all the same."""
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


def test_who_is_typing_is_told_to_pause_and_can_stop(desk: Desk) -> None:
    """Ctrl-C is heard at once, also while other keys go aside."""
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


def test_a_question_is_not_answered_by_what_was_typed_before(desk: Desk) -> None:
    """An answer of several lines in one burst is taken whole; a line from before the question is not."""
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


def test_a_result_sent_back_in_one_burst(desk: Desk) -> None:
    """Not yet, what is missing, no picture: typed without a look at the screen."""
    done = ScriptedCall("attempt_completion", {"result": "All done."})
    desk.model(Line(calls=(done,), times=1), Line(text="I go on."))
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.enter("do it")
    terminal.wait_for("All done.", "n not yet")
    terminal.type("nthe tests are missing" + ENTER + ENTER)
    terminal.wait_for("I go on.", READY)
    assert "the tests are missing" in desk.said()


def test_a_command_that_asks_is_not_answered_by_what_came_with_it(desk: Desk) -> None:
    """`/crop` and a y in one burst: nothing leaves the prompt before the person has seen what would."""
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


def test_a_stop_that_comes_as_a_signal_reaches_a_question(desk: Desk) -> None:
    """A moment before the question takes the keyboard, Ctrl-C still is a signal; it stops all the same."""
    desk.model(Line(calls=(command("touch made"),), times=1), Line(text="Fine."))
    terminal = desk.chat()
    terminal.wait_for(READY)
    terminal.enter("go on")
    terminal.wait_for("y allow")
    terminal.process.send_signal(signal.SIGINT)
    terminal.wait_for("Stopped.", READY, gone="y allow")
    assert not (desk.folder / "made").exists()
