"""Draws the events of a run as they arrive.

Owns the order on the screen: finished blocks of the answer printed permanently, the open one below them, reasoning while it
lasts and then folded, tool calls as lines, the status line at the end. Refuses: the screen
(`live_area`), reading keys, asking the user.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text

from backscroll.agent.events import (
    Asked,
    Began,
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
)
from backscroll.surfaces.chat.screen.markdown_look import as_texts, block_lines
from backscroll.surfaces.chat.screen.markdown_stream import MarkdownBlock, MarkdownStream
from backscroll.surfaces.chat.screen.status import (
    AnswerProgress,
    StatusFigures,
    about_tokens,
    status_line,
    update_after_prompt,
)
from backscroll.surfaces.chat.screen.tool_lines import (
    FoldedLine,
    FoldedLines,
    ToolProgress,
    forming_line,
    running_line,
)
from backscroll.surfaces.i18n import count, find, t
from backscroll.surfaces.i18n.translation import say
from backscroll.surfaces.screen.cells import wrap
from backscroll.surfaces.screen.plain import one_line, safe

if TYPE_CHECKING:
    from backscroll.agent.person import Proposal
    from backscroll.surfaces.chat.screen.live_area import LiveArea

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_THINKING = 3  # lines of reasoning shown while it lasts
_ESTIMATE = 0.5  # seconds between two updates of the cost of an answer in progress
_WIDEST = 110  # cells of running text: longer lines are hard to read
#: The answer so far is void, and comes again from the beginning.
_AGAIN = {"again", "retry", "cut", "overflow"}
_LIMITS = {"limit", "continued", "cut_call", "calls", "repeated"}


class Player:
    """Draws one run."""

    def __init__(
        self,
        region: LiveArea,
        folds: FoldedLines,
        figures: StatusFigures,
        counted: Callable[[StatusFigures], StatusFigures] = lambda figures: figures,
        proposed: Mapping[str, Proposal] | None = None,
        clock: Callable[[], float] = time.monotonic,
        owed: Callable[[int, int, int], int | None] = lambda _sent, _cached, _received: None,
    ) -> None:
        self.region = region
        self.figures = figures
        self.finished: Finished | None = None
        self.stopping = False  # the user wants to stop; it may take a moment
        self._folds = folds
        self._counted = counted
        self._proposed: Mapping[str, Proposal] = (
            {} if proposed is None else proposed
        )  # what the user was asked about, by call id
        self._clock = clock
        self._began = clock()
        self._stream = MarkdownStream()
        self._commit_changes = 0  # lines of the open block that are printed already
        self._relieved = 0  # … the block height, roughly, that is drawn again beyond this
        self._width = 0  # … the width it is drawn at; 0: the current one
        self._last_drawn: tuple[tuple[str, int], list[Text]] = (("", 0), [])
        self._thinking = ""
        self._thought_at = 0.0
        self._forming: dict[int, Forming] = {}
        self._running: dict[str, ToolProgress] = {}
        self._before = ""  # the kind of the last output: text, fold, note
        self._spoke = False
        self._estimate_cost = owed  # the cost of this many tokens (sent, cached, received)
        self._asked_for: Asked | None = None  # the prompt whose answer is in progress
        self._came = 0.0  # its tokens, roughly
        self._estimate_tokens = 0.0  # when the figures were last updated

    # -- events ----------------------------------------------------------------------------------------------

    def play(self, happenings: Iterable[Happening]) -> Finished | None:
        """Draw until the end; return how the run ended, None if it was abandoned."""
        with self.region.drawing(self.lines):
            for happening in happenings:
                with self.region.lock:
                    self.take(happening)
                self.region.touch()
            with self.region.lock:
                self._end_text()  # a run that ends without an end event keeps its text
        return self.finished

    def take(self, happening: Happening) -> None:
        """Draw one event."""
        match happening:
            case Said() | Thought():
                self._handle_text(happening)
            case Forming():
                self._forming[happening.index] = happening
            case Calling() | Output() | Called():
                self._tool(happening)
            case RunStep():
                self._end_text()
                self._forming.clear()
                self._apply_usage()
            case Asked():
                self._handle_asked(happening)
            case Began():
                if happening.resumed:  # the user asked for it, and knows that it continues
                    self.region.print("")
            case Noted():
                self._handle_note(happening)
            case Finished():
                self._finish(happening)

    def _apply_usage(self) -> None:
        """Use the service's figures from here on."""
        self._asked_for, self._came, self._estimate_tokens = None, 0.0, 0.0
        self.figures = replace(self._counted(self.figures), under_way=None)

    def _estimate(self, now: float) -> None:
        """Update the figures with what has arrived so far, at most twice a second."""
        asked_for = self._asked_for
        if asked_for is None or self.figures.offline or now - self._estimate_tokens < _ESTIMATE:
            return
        self._estimate_tokens = now
        output = round(self._came + sum(about_tokens(f.arguments) for f in self._forming.values()))
        tokens = (asked_for.tokens, min(asked_for.expected_cached, asked_for.tokens), output)
        self.figures = replace(self.figures, under_way=AnswerProgress(*tokens, self._estimate_cost(*tokens)))

    def _handle_text(self, happening: Said | Thought) -> None:
        self._came += about_tokens(happening.text)
        if isinstance(happening, Thought):
            self._thought_at = self._thought_at or self._clock()
            self._thinking += happening.text
            return
        self._end_thinking()
        self._spoke = self._spoke or bool(happening.text.strip())
        self._blocks(self._stream.feed(happening.text))
        self._relieve()

    def _tool(self, happening: Calling | Output | Called) -> None:
        running = self._running.get(happening.call_id)
        if isinstance(happening, Output):
            if running is not None:
                running.add(happening.text)
            return
        self._end_text()
        if isinstance(happening, Calling):
            self._forming.clear()
            name, line = one_line(happening.tool), say(happening.line)
            self._running[happening.call_id] = ToolProgress(name, line, happening.arguments, self._clock())
            return
        self._running.pop(happening.call_id, None)
        proposal = self._proposed.get(happening.call_id)
        if running is None and proposal is not None:  # a refused call never began
            running = ToolProgress(proposal.tool, say(proposal.preview.line), proposal.arguments, 0.0)
        self._fold(self._folds.fold_call(happening, running, self._room))

    def _handle_asked(self, happening: Asked) -> None:
        self.figures = replace(update_after_prompt(self.figures, happening), under_way=None)
        self._asked_for, self._came, self._estimate_tokens = happening, 0.0, 0.0
        if happening.compacted:
            why = find(f"context.because_{happening.compacted}") or one_line(say(happening.compacted))
            self._note(t("chat.compacted", why=why))
        if happening.recalled:
            self._note(count("chat.recalled", happening.recalled))

    def _handle_note(self, happening: Noted) -> None:
        kind, text = happening.kind, one_line(say(happening.text))
        if kind in _AGAIN:
            self._stream.drop()
            self._forming.clear()
            self._commit_changes, self._relieved, self._width = 0, 0, 0
            self._came = 0.0
        self._end_text()
        words = find(f"chat.noted_{kind}")
        said = text if words is None else words.format_map({"text": text})
        self._note(said, "yellow" if kind in {*_AGAIN, *_LIMITS} else "dim")

    def _finish(self, done: Finished) -> None:
        self._end_text()
        self._running.clear()
        self._forming.clear()
        self._apply_usage()
        self.finished = done
        if done.end == "answered" and done.text.strip() and not self._spoke:
            stream = MarkdownStream()
            self._blocks([*stream.feed(done.text), *stream.finish()])
        style = {"failed": "red", "completed": "green"}.get(done.end, "yellow")
        if done.end == "failed":
            self._note(t("chat.failed", error=one_line(say(done.error))), style)
            if done.hint:
                self._note(t("cli.hint", hint=one_line(say(done.hint))))
        elif done.end != "answered":
            self._note(t(f"chat.ended_{done.end}"), style)
            if done.end == "limit" and done.error:
                self._note(one_line(say(done.error)))

    # -- permanent output ------------------------------------------------------------------------------------

    @property
    def _room(self) -> int:
        return max(20, self.region.console.size.width - 1)

    def _gap(self, kind: str, *, close: bool = False) -> None:
        if self._before and not close and (kind != self._before or kind == "text"):
            self.region.print("")
        self._before = kind

    def _note(self, text: str, style: str = "dim") -> None:
        self._gap("note")
        first = "" if text.startswith(("✓", "■")) else "· "  # these have a mark of their own
        lines = enumerate(wrap(safe(text), self._room - 2))
        self.region.print(
            *(Text(f"{'  ' if number else first}{line}", style=style) for number, line in lines)
        )

    def _fold(self, fold: FoldedLine) -> None:
        self._gap("fold")
        self.region.print(fold.line)

    def _blocks(self, blocks: Iterable[MarkdownBlock]) -> None:
        for block in blocks:
            lines = self._draw_block(block)
            if not self._commit_changes:
                self._gap("text", close=block.close)
            printed, self._commit_changes = self._commit_changes, 0
            self._relieved, self._width = 0, 0
            self.region.print(*lines[printed:])

    def _draw_block(self, block: MarkdownBlock) -> list[Text]:
        """Return a block as lines; the same block is drawn once, however often the spinner turns."""
        asked = (block.source, self._width or min(self._room, _WIDEST))
        if self._last_drawn[0] != asked:
            self._last_drawn = (asked, as_texts(block_lines(self.region.console, *asked)))
        return self._last_drawn[1]

    def _relieve(self) -> None:
        """Print the upper lines of an open block that is taller than the screen; what follows cannot change them.

        Except for a table: its next row may change every width, so it waits (and the screen shows its end).
        """
        block = self._stream.open
        if block is None or not self.region.live or self._stream.is_table:
            return
        tall = max(4, self.region.room - 4)
        about = block.source.count("\n") + len(block.source) // self._room
        if about < self._relieved + tall:  # drawing a long block for every piece would be slow
            return
        self._relieved = about - tall // 2
        lines = self._draw_block(block)
        if len(lines) - self._commit_changes <= tall or not self._stream.is_single:
            return
        if not self._commit_changes:
            self._gap("text", close=block.close)
            self._width = min(self._room, _WIDEST)
        last = len(lines) - tall // 2
        printed, self._commit_changes = self._commit_changes, last
        self.region.print(*lines[printed:last])

    def _end_text(self) -> None:
        self._end_thinking()
        self._blocks(self._stream.finish())

    def _end_thinking(self) -> None:
        if self._thinking.strip():
            self._fold(self._folds.fold_thought(self._thinking, self._clock() - self._thought_at))
        self._thinking, self._thought_at = "", 0.0

    # -- live lines ------------------------------------------------------------------------------------------

    def lines(self) -> list[Text]:
        """Return the live lines: the open block, reasoning, running calls, and the status line."""
        now = self._clock()
        spinner = _SPINNER[int(now * 10) % len(_SPINNER)]
        out: list[Text] = []
        if self._thinking.strip():
            last = list(wrap(safe(self._thinking[-2000:]).rstrip(), self._room - 2))[-_THINKING:]
            out += [Text(f"  {line}", style="dim italic") for line in last]
        block = self._stream.open
        if block is not None:
            out += self._draw_block(block)[self._commit_changes :]
        for forming in self._forming.values():
            out.append(forming_line(forming.name, forming.arguments, spinner, self._room))
        for running in self._running.values():
            out.append(running_line(running, now - running.began, spinner, self._room))
            out += [Text(f"  │ {line}", style="dim") for line in running.tail()]
        if out:
            out = [Text(""), *out] if self._before and not self._commit_changes else out
            out.append(Text(""))
        return [*out, self._status(spinner, now)]

    def _status(self, spinner: str, now: float) -> Text:
        seconds = int(now - self._began)
        clock = f"{seconds // 60}:{seconds % 60:02d}" if seconds >= 60 else f"{seconds}s"
        key = t("chat.stopping") if self.stopping else t("chat.ctrl_c_stops")
        head = f"{spinner} {clock}"
        tail = f" · {key}" if self._room >= 60 else ""
        self._estimate(now)
        line = status_line(self.figures, self._room - len(head) - 1 - len(tail))
        return Text.assemble((head, "cyan"), (f" {line}{tail}", "dim"))
