"""The output of `run`: the answer on standard output, everything else on standard error; or JSON.

Owns what goes where. In a terminal the answer appears as it arrives; a pipe gets only the answer that ended the run, so that
it contains nothing but the result. Refuses: drawing Markdown (`surfaces/chat`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from backscroll.agent.events import (
    Called,
    Calling,
    Finished,
    Forming,
    Happening,
    Noted,
    Output,
    RunStep,
    Said,
    Thought,
    to_json,
)
from backscroll.surfaces.i18n import find, t
from backscroll.surfaces.i18n.translation import say
from backscroll.surfaces.screen.plain import one_line, safe
from backscroll.surfaces.screen.screen import Screen
from backscroll.vocab.part import Json

#: Exit codes by the end of a run: 0 is an answer, a failure has the code of its error.
CODES = {
    "answered": 0,
    "completed": 0,
    "incomplete": 20,
    "asked": 21,
    "limit": 22,
    "silent": 23,
    "cut": 24,
    "repeated": 25,
    "stopped": 130,
}
_FAILED = 12


def code_of(finished: Finished) -> int:
    """Return the exit code of a run."""
    return CODES.get(finished.end, finished.exit_code or _FAILED)


class RunOutput(Protocol):
    """Receives the events of a run."""

    def hear(self, happening: Happening) -> None:
        """Handle an event."""
        ...


class JsonOutput:
    """For --jsonl: one JSON document per event, printed at once."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def hear(self, happening: Happening) -> None:
        """Print it."""
        self._screen.json_line(to_json(happening))


#: Pieces of what a later event contains whole: only a stream needs them.
_PIECES = (Thought, Said, Forming, Output)


class CollectedOutput:
    """For --json: the events of the run, collected for the single document at its end."""

    def __init__(self) -> None:
        self.events: list[dict[str, Json]] = []

    def hear(self, happening: Happening) -> None:
        """Collect an event, except pieces and the end, which is the result itself."""
        if not isinstance(happening, (*_PIECES, Finished)):
            self.events.append(to_json(happening))


def run_document(
    opening: dict[str, Any], finished: Finished, code: int, events: Sequence[dict[str, Json]]
) -> dict[str, Any]:
    """Return what `run --json` prints: where the run took place, how it ended, its answer, and its events."""
    result = {"text": "", "steps": 0, **to_json(finished), "exit_code": code}
    return {key: value for key, value in {**opening, **result}.items() if key != "type"} | {
        "events": [*events]
    }


class TextOutput:
    """For the user: the answer, and beside it what was done for it."""

    def __init__(self, screen: Screen, *, quiet: bool = False) -> None:
        self._screen = screen
        self._quiet = quiet
        self._answer = ""  # of the current step
        self._shown = ""  # the last one printed whole on standard output
        self._begun = ""  # of an answer that continues in the next step
        self._printing = ""  # the call whose output is shown

    def hear(self, happening: Happening) -> None:
        """Print an event, or keep it until it is clear where it belongs."""
        match happening:
            case Said():
                self._print_text(happening.text)
            case RunStep():
                self._step(happening)
            case Calling():
                self._beside(f"· {happening.tool}: {_doing(happening)}")
            case Output():
                pass  # its end is reported with the outcome
            case Called():
                self._print_call(happening)
            case Noted():
                self._print_note(happening)
            case Finished():
                self._print_end(happening)
            case _:
                pass

    def _print_text(self, text: str) -> None:
        self._answer += text
        if self._screen.terminal:
            self._screen.raw(safe(text))
            self._screen.flush()

    def _step(self, step: RunStep) -> None:
        text, self._answer = self._begun + (step.text or self._answer), ""
        self._begun = ""
        if self._screen.terminal:
            if text:
                self._screen.line()
                self._shown = text
        elif step.calls:
            if text.strip():
                self._beside(safe(text.strip()))
        elif step.cut:
            self._begun = text  # a pipe gets one answer, not its parts
        elif text:
            self._whole(text)

    def _whole(self, text: str) -> None:
        self._screen.line(text)
        self._screen.flush()
        self._shown = text

    def _print_call(self, called: Called) -> None:
        if called.refused is not None:
            self._beside(
                t("run.refused", tool=called.tool, reason=one_line(say(called.refused)) or "–"), "warn"
            )
        elif called.is_error:
            self._beside(f"  ✗ {one_line(say(called.line))}", "bad")
        else:
            self._beside(f"  ✓ {one_line(say(called.line))}", "dim")

    def _print_note(self, noted: Noted) -> None:
        if noted.kind == "again" and self._answer:
            self._answer = ""
            if self._screen.terminal:
                self._screen.line()
        label = find(f"run_notes.{noted.kind}")
        text = one_line(say(noted.text))
        self._beside(f"· {label.format(text=text) if label else text}", "dim")

    def _print_end(self, finished: Finished) -> None:
        if self._answer and self._screen.terminal:
            self._screen.line()  # a note on a cut answer does not go in the middle of a line
        if self._begun:
            self._whole(self._begun)
        if (
            finished.text
            and finished.end in ("completed", "incomplete", "asked")
            and finished.text != self._shown
        ):
            self._screen.line(safe(finished.text) if self._screen.terminal else finished.text)
        if finished.end == "failed":
            self._screen.remark(t("cli.error", message=one_line(say(finished.error))), "bad")
            if finished.hint:
                self._screen.remark(t("cli.hint", hint=one_line(say(finished.hint))))
        elif finished.end != "answered":
            self._beside(t(f"run_ends.{finished.end}"), "" if finished.end == "completed" else "warn")

    def _beside(self, text: str, style: str = "") -> None:
        if not self._quiet:
            self._screen.remark(text, style)


def _doing(calling: Calling) -> str:
    """Return what a call does, without the word that the tool's name already says."""
    words = one_line(say(calling.line))
    head, colon, rest = words.partition(": ")
    return rest if colon and head in calling.tool.split("_") else words
