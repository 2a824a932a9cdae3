"""Tool calls as one line each, and their details when unfolded.

Owns how calls, results and reasoning are folded, their numbers, and unfolding them. A fold is kept as long as the program runs;
its content is in the log anyway. Everything is made safe for a terminal. Refuses: when to draw (`player`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.text import Text

from backscroll.surfaces.chat.screen.diffs import diff_lines
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.i18n.translation import say
from backscroll.surfaces.screen.cells import cut, width
from backscroll.surfaces.screen.plain import one_line, safe

if TYPE_CHECKING:
    from rich.console import RenderableType

    from backscroll.agent.events import Called, Calling
    from backscroll.vocab.part import Json

#: How many folds are kept: older ones are in the log (`backscroll show`, `/expand`).
_KEPT = 500
_MEMORY = 20_000_000  # characters, all folds together
#: Lines of a running command's output that are shown while it runs.
TAIL = 5
_OWN = 60  # output lines of a command that the user ran
_LONGEST = 200_000  # characters of one output when unfolded


@dataclass(frozen=True, slots=True)
class FoldedLine:
    """Something shown as one line."""

    number: int
    line: Text
    title: str
    details: tuple[tuple[str, str], ...] = ()  # label and text
    diff: str = ""

    @property
    def size(self) -> int:
        """The characters it holds."""
        return len(self.diff) + sum(len(words) for _, words in self.details)


@dataclass(slots=True)
class ToolProgress:
    """A running tool."""

    name: str
    line: str
    arguments: Mapping[str, Json]
    began: float
    output: list[str] = field(default_factory=list[str])

    def add(self, text: str) -> None:
        """Add output; only its end is kept for display."""
        whole = (self.output.pop() if self.output else "") + text
        self.output.extend(whole.replace("\r\n", "\n").split("\n"))
        del self.output[: -4 * TAIL]

    def tail(self) -> list[str]:
        """Return the last lines; of a line that was overwritten (progress bars), its current text."""
        lines = [line.rstrip("\r").rpartition("\r")[2] for line in self.output]
        return [safe(line) for line in lines if line.strip()][-TAIL:]


class FoldedLines:
    """The folds so far, by number."""

    def __init__(self) -> None:
        self._folds: list[FoldedLine] = []
        self._size = 0
        self._next = 1

    def __len__(self) -> int:
        return len(self._folds)

    def get(self, number: int | None = None) -> FoldedLine | None:
        """Return a fold by its number, or the last one."""
        if number is None:
            return self._folds[-1] if self._folds else None
        return next((f for f in self._folds if f.number == number), None)

    def _keep(self, fold: FoldedLine) -> FoldedLine:
        self._folds.append(fold)
        self._size += fold.size
        self._next += 1
        while len(self._folds) > _KEPT or (self._size > _MEMORY and len(self._folds) > 1):
            self._size -= self._folds.pop(0).size
        return fold

    def fold_thought(self, text: str, seconds: float) -> FoldedLine:
        """Fold reasoning that has ended."""
        what = count("chat.thought", max(1, round(seconds)))
        line = Text.assemble((f"◇ {what}", "dim italic"), (f"  [{self._next}]", "dim"))
        return self._keep(FoldedLine(self._next, line, what, (("", text),)))

    def fold_call(self, done: Called, began: Calling | ToolProgress | None, room: int) -> FoldedLine:
        """Fold a call that has finished, or was refused."""
        begun = began.line if began is not None else ""
        arguments: Mapping[str, Json] = began.arguments if began is not None else {}
        line = call_line(done, begun, self._next, room)
        details = [(t("chat.arguments"), _arguments(arguments))] if arguments else []
        details.append((t("chat.result"), done.text))
        diff = done.change.diff if done.change is not None else ""
        return self._keep(
            FoldedLine(
                self._next, line, f"{done.tool} {_about(begun, done.tool)}".strip(), tuple(details), diff
            )
        )


def call_line(done: Called, begun: str, number: int, room: int) -> Text:
    """Return `● run_command git status  ✓ 3 lines  [2]`, in the available width."""
    if done.refused is not None:
        reason = one_line(done.refused)
        mark, style = "✗", "yellow"
        outcome = t("chat.refused_with", reason=reason) if reason else t("chat.refused")
    else:
        mark, style = ("✗", "red") if done.is_error else ("✓", "green")
        outcome = one_line(say(done.line)) or count("chat.lines", len(done.text.splitlines()))
    tail = f"  [{number}]"
    free = max(12, room - len(tail) - len(done.tool) - 8)
    about = _about(begun, done.tool)
    if len(about) > 2 and about in outcome:
        about = ""  # `✓ changed a.py (+4 −1)` says it all
    about = cut(about, max(6, free // 2)) if about else ""
    outcome = cut(outcome, max(6, free - width(about)))
    return Text.assemble(
        ("● ", style),
        (done.tool, "bold"),
        f" {about}" if about else "",
        "  ",
        (f"{mark} {outcome}", style),
        (tail, "dim"),
    )


def running_line(running: ToolProgress, seconds: float, spinner: str, room: int) -> Text:
    """Return the same for a running call."""
    about = cut(_about(running.line, running.name), max(6, room - len(running.name) - 12))
    return Text.assemble(
        (f"{spinner} ", "cyan"),
        (running.name, "bold"),
        f" {about}" if about else "",
        (f"  {seconds:.0f}s", "dim"),
    )


def forming_line(name: str, arguments: str, spinner: str, room: int) -> Text:
    """Return the line of a call that is still being written."""
    about = cut(one_line(arguments[:400]), max(6, room - len(name) - 6))
    return Text.assemble((f"{spinner} ", "cyan"), (one_line(name), "bold"), (f" {about}", "dim"))


def render_unfolded(fold: FoldedLine) -> Sequence[RenderableType]:
    """Return the full content of a fold."""
    out: list[Text] = [Text.assemble((f"[{fold.number}] ", "dim"), (one_line(fold.title), "bold"))]
    for what, words in fold.details:
        if what:
            out.append(Text(what, style="dim"))
        shown = safe(words[:_LONGEST]).rstrip("\n")
        out += [Text(f"  {line}") for line in shown.split("\n")]
        if len(words) > _LONGEST:
            out.append(Text(t("chat.too_long", n=len(words) - _LONGEST), style="dim"))
    if fold.diff:
        out.append(Text(t("chat.diff"), style="dim"))
        out += diff_lines(fold.diff, None)
    return out


def render_output(fold: FoldedLine) -> Sequence[Text]:
    """Return the output of a command that the user ran, to see it; of a long one, the end."""
    lines = safe(fold.details[-1][1]).rstrip("\n").split("\n") if fold.details else []
    if lines and lines[-1].startswith("exit code "):
        del lines[-1]  # the folded line shows it
    above = max(0, len(lines) - _OWN)
    out = [Text(t("chat.lines_above", n=above, fold=fold.number), style="dim")] if above else []
    return [*out, *(Text(f"  {line}") for line in lines[above:])]


def _about(line: str, tool: str) -> str:
    """Return what a call does, without the tool's name, which is shown already."""
    words = one_line(line)
    if words == tool:
        return ""
    head, colon, rest = words.partition(": ")
    if colon and (head == tool or head in tool.split("_")):
        return rest
    if words.startswith(f"{tool}(") and words.endswith(")"):
        return words[len(tool) + 1 : -1]
    return words.removeprefix(f"{tool} ")


def _arguments(arguments: Mapping[str, Json]) -> str:
    out: list[str] = []
    for name, value in arguments.items():
        words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        out.append(f"{name}: {words}" if "\n" not in words else f"{name}:\n{words}")
    return "\n".join(out)
