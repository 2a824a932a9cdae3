"""The person at the terminal, with a pipe as keyboard."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput
from rich.console import Console

from backscroll.agent.approval.offers import wider
from backscroll.agent.person import Decision, Judgement, Preview, Proposal
from backscroll.surfaces import i18n
from backscroll.surfaces.chat.input import questions as asking
from backscroll.surfaces.chat.input.questions import ChoiceList, plain_key
from backscroll.surfaces.chat.input.typeahead import TypeaheadGuard
from backscroll.surfaces.chat.person import TerminalPerson, proposal_lines
from tests.surfaces.chat.drawn import printed, recorder

Keyboard = Callable[[str], None]
DIFF = "".join(f"+line {n}\n" for n in range(50))


@pytest.fixture(autouse=True)
def _english() -> Iterator[None]:
    yield
    i18n.use("en")


@pytest.fixture
def keyboard() -> Iterator[Keyboard]:
    """Press these keys; they wait in the pipe until somebody asks."""
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        yield _typing(pipe)


def _typing(pipe: PipeInput) -> Keyboard:
    return pipe.send_text


class Wall:
    """Where questions are shown."""

    ahead: TypeaheadGuard | None = None

    def __init__(self) -> None:
        self.console: Console = recorder()
        self.asked = 0

    @contextmanager
    def asking(self) -> Generator[None]:
        self.asked += 1
        yield

    def show(self, *what: Any) -> None:
        for each in what:
            self.console.print(each)

    @property
    def width(self) -> int:
        return 80

    @property
    def text(self) -> str:
        return printed(self.console)


def proposal(command: str = "git status", **more: Any) -> Proposal:
    preview = Preview(f"run: {command}", command=command, subject=command, **more.pop("preview", {}))
    return Proposal(
        more.pop("call_id", "c1"), "run_command", "command", {"command": command}, preview, **more
    )


def decided(keys: str, keyboard: Keyboard, *proposals: Proposal) -> tuple[Sequence[Decision], str]:
    wall = Wall()
    keyboard(keys)
    out = TerminalPerson(wall).approve(proposals or [proposal()])
    assert wall.asked == 1, "one bell for all calls of a reply"
    return out, wall.text


def test_call_is_allowed_by_a_key(keyboard: Keyboard) -> None:
    decisions, shown = decided("y", keyboard)
    assert decisions == [Decision(True)]
    assert "run_command wants to run a command" in shown
    assert "$ git status" in shown


def test_other_keys_decide_nothing(keyboard: Keyboard) -> None:
    """Neither Enter nor an unassigned letter."""
    assert decided("\rqzY", keyboard)[0] == [Decision(True)]


def test_call_is_refused_with_or_without_a_reason(keyboard: Keyboard) -> None:
    decisions, shown = decided("n too risky \r", keyboard)
    assert decisions == [Decision(False, "too risky")]
    assert "refused: too risky" in shown
    assert decided("n\r", keyboard)[0] == [Decision(False, "")]


def test_chinese_keys_and_reasons_are_understood(keyboard: Keyboard) -> None:
    i18n.use("zh")
    assert decided("否不要删除\r", keyboard)[0] == [Decision(False, "不要删除")]
    assert decided("ｙ", keyboard)[0] == [Decision(True)]


def test_call_is_allowed_for_the_session_with_the_suggested_pattern(keyboard: Keyboard) -> None:
    decisions, shown = decided("s", keyboard)
    assert decisions[0].span == "session"
    assert decisions[0].pattern.startswith("git status")
    assert "allowed for this session" in shown


@pytest.mark.parametrize(
    ("key", "span"), [("1", "once"), ("2", "session"), ("3", "project"), ("4", "always")]
)
def test_call_is_allowed_for_longer(key: str, span: str, keyboard: Keyboard) -> None:
    decisions, _ = decided(f"a{key}", keyboard)
    assert decisions[0].span == span
    assert bool(decisions[0].pattern) == (span != "once")


def test_pattern_can_be_edited(keyboard: Keyboard) -> None:
    own = str(len(wider(proposal())) + 1)
    decisions, shown = decided(f"w{own}\x15git *\r3", keyboard)
    assert decisions == [Decision(True, span="project", pattern="git *")]
    assert "“git *” would allow" in shown


def test_long_diff_can_be_shown_whole(keyboard: Keyboard) -> None:
    """First its beginning, then all of it; the key is offered only if there is more."""
    long = proposal(preview={"diff": DIFF})
    _, shown = decided("dy", keyboard, long)
    assert "20 more lines" in shown
    assert "+line 49" in shown
    _, brief = decided("y", keyboard, long)
    assert "+line 49" not in brief


def test_several_calls_are_decided_one_by_one(keyboard: Keyboard) -> None:
    first, second = proposal("echo 1"), proposal("echo 2", call_id="c2")
    decisions, shown = decided("nwhy\ry", keyboard, first, second)
    assert decisions == [Decision(False, "why"), Decision(True)]
    assert "2 calls need approval" in shown
    assert "(2/2)" in shown


def test_several_calls_can_be_decided_at_once(keyboard: Keyboard) -> None:
    calls = [proposal(f"echo {n}", call_id=f"c{n}") for n in range(3)]
    assert decided("+", keyboard, *calls)[0] == [Decision(True)] * 3
    assert decided("y-no\r", keyboard, *calls)[0] == [Decision(True), *[Decision(False, "no")] * 2]


@pytest.mark.parametrize(
    "last",
    [
        proposal("ls " + "a" * 100 + "; rm -r x", call_id="c2"),
        proposal("ls\nrm -r x", call_id="c2"),
        proposal("x", call_id="c2", preview={"diff": "-rm -r x"}),
    ],
)
def test_nothing_is_allowed_unseen(keyboard: Keyboard, last: Proposal) -> None:
    """What a line of the list could not show is shown before all are allowed, and confirmed."""
    calls = [proposal("echo 1", call_id="c1"), last]
    decisions, shown = decided("+y", keyboard, *calls)
    assert decisions == [Decision(True)] * 2
    assert "rm -r x" in shown.replace("\n", "")
    assert decided("+nyn\r", keyboard, *calls)[0] == [Decision(True), Decision(False)]


def test_session_rule_is_shown_before_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """`s` allows more than the current call: the question shows the pattern."""
    asked: list[str] = []

    def press(words: str, keys: Sequence[str], _ahead: TypeaheadGuard | None = None) -> str:
        asked.append(words)
        return "s"

    monkeypatch.setattr(asking, "press", press)
    decision = TerminalPerson(Wall()).approve([proposal("git status -s")])[0]
    assert decision.pattern == "git status -s"
    assert "s and a allow: git status -s" in asked[0]


def test_wider_rule_is_shown_with_what_it_allows(keyboard: Keyboard) -> None:
    """Chosen from a list, then its duration; going back leads to the question."""
    line = proposal("terraform apply")
    decisions, shown = decided("w12", keyboard, line)
    assert decisions == [Decision(True, span="session", pattern="terraform apply *")]
    assert "terraform apply -auto-approve" in shown
    assert "Approval is still required for protected files" in shown
    decisions, shown = decided("w2\x03y", keyboard, line)
    assert decisions == [Decision(True)]
    assert "cd any/folder && terraform apply" in shown


@pytest.mark.parametrize(
    ("language", "told"), [("en", "it holds keys"), ("zh", "含有密钥或密码。每次都会询问")]
)
def test_protected_path_is_decided_once(keyboard: Keyboard, language: str, told: str) -> None:
    """Neither for the session nor for longer, and no wider; the question says why."""
    i18n.use(language)  # type: ignore[arg-type]
    line = proposal("cat .env", protected=".env: it holds keys or passwords", narrow="")
    decisions, shown = decided("sawy", keyboard, line)
    assert decisions == [Decision(True)]
    assert told in shown


def test_escape_stops_the_run(keyboard: Keyboard) -> None:
    """From the question itself; from the question for a reason it goes back first."""
    keyboard("\x03")
    with pytest.raises(KeyboardInterrupt):
        TerminalPerson(Wall()).approve([proposal()])
    assert decided("n\x03y", keyboard)[0] == [Decision(True)]
    assert decided("a\x03y", keyboard)[0] == [Decision(True)]


def test_warnings_come_last() -> None:
    """A warning and an earlier refusal are not scrolled away by a long command."""
    risky = proposal("rm -r x\nls", preview={"warnings": ("deletes files",)}, refused_before="keep it")
    lines = [line.plain for line in proposal_lines(risky, 1, 1, 80)]
    assert lines == [
        "▲ run_command wants to run a command",
        "  $ rm -r x",
        "    ls",
        "  ! deletes files",
        "  ⟲ you refused this before: keep it",
    ]


def test_details_are_shown_once_and_fit() -> None:
    """A text already in the line is not repeated; a long one is indented below."""
    kept = Preview("remember (fact): tea", text="tea")
    long = Preview("crop 2 messages", text="[bs:4] user: " + "granite " * 8 + "\n[bs:5] user: 好")
    once, wrapped = (
        [line.plain for line in proposal_lines(Proposal("c", "remember", "memory", {}, p), 1, 1, 50)]
        for p in (kept, long)
    )
    assert once[1:] == ["  remember (fact): tea"]
    assert wrapped[2].startswith("  [bs:4] user: granite")
    assert wrapped[3].startswith("    granite")
    assert wrapped[-1] == "  [bs:5] user: 好"


def test_command_is_shown_with_its_control_characters() -> None:
    lines = "\n".join(line.plain for line in proposal_lines(proposal("echo \u202eabc\x1b[2J"), 1, 1, 80))
    assert "<U+202E>abc␛[2J" in lines


def judged(keys: str, keyboard: Keyboard) -> tuple[Judgement, str]:
    wall = Wall()
    keyboard(keys)
    return TerminalPerson(wall).judge("It **works**.", "make run"), wall.text


def test_result_can_be_accepted(keyboard: Keyboard) -> None:
    judgement, shown = judged("\ry", keyboard)
    assert judgement == Judgement(True)
    assert "It works." in shown
    assert "make run" in shown


def test_result_can_be_sent_back_with_a_picture(keyboard: Keyboard, tmp_path: Path) -> None:
    picture = tmp_path / "shot.png"
    picture.write_bytes(b"\x89PNG")
    judgement, shown = judged(f"nthe button\n is gone\r/no/such.png\r{picture}\r\r", keyboard)
    assert judgement == Judgement(False, "the button\n is gone", (str(picture),))
    assert "no such file: /no/such.png" in shown


def test_result_can_be_left_open(keyboard: Keyboard) -> None:
    assert judged("l", keyboard)[0] == Judgement(None)


@pytest.mark.parametrize(
    ("keys", "given"),
    [("1", "red"), ("\x1b[B\r", "blue"), ("3mauve\r", "mauve"), ("\x03", None), ("3\r", None)],
)
def test_a_question_with_options(keys: str, given: str | None, keyboard: Keyboard) -> None:
    keyboard(keys)
    assert TerminalPerson(Wall()).answer("Which?", ["red", "blue"]) == given


def test_question_without_options_takes_text(keyboard: Keyboard) -> None:
    keyboard("just words\r")
    assert TerminalPerson(Wall()).answer("What?") == "just words"


# -- asking ------------------------------------------------------------------------------------------------------


def test_line_can_start_with_a_text(keyboard: Keyboard) -> None:
    keyboard(" more\r")
    assert asking.ask("Title?", initial="some") == "some more"
    keyboard("\x04")
    assert asking.ask("Title?") is None


def test_typing_narrows_a_list() -> None:
    """Every word counts, in any order; the cursor stays within the visible entries."""
    chooser = ChoiceList("Threads", ["red fish", "blue fish", "red bird"], filtering=True)
    chooser.type("fish")
    assert chooser.shown == [0, 1]
    chooser.move(-1)
    assert chooser.chosen == 1
    chooser.type(" red")
    assert chooser.chosen == 0
    chooser.type("zzz")
    assert chooser.chosen is None


def test_empty_list_asks_nothing() -> None:
    assert asking.choose("Which?", []) is None


@pytest.mark.parametrize(
    ("typed", "key"), [("Y", "y"), ("ｙ", "y"), ("是", "y"), ("否", "n"), ("１", "1"), ("x", "x")]
)
def test_keys_work_with_any_input_method(typed: str, key: str) -> None:
    assert plain_key(typed) == key
