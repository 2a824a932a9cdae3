"""Questions that arrive after a stop are cancelled."""

from __future__ import annotations

from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from backscroll.surfaces.chat.input import questions as asking
from backscroll.surfaces.chat.input.typeahead import TypeaheadGuard


def test_questions_are_cancelled_after_a_stop() -> None:
    """Until the next run begins: then a key is an answer again."""
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        ahead = TypeaheadGuard(lambda text: None)
        ahead.stop()
        assert asking.press("sure?", ["y"], ahead) == ""
        assert asking.ask("why?", ahead=ahead) is None
        assert asking.choose("which?", ["one", "two"], ahead=ahead) is None
        ahead.stopped = False
        keys.send_text("y")
        assert asking.press("sure?", ["y"]) == "y"
