"""The chat in a terminal: input becomes a message, a slash command or a shell command; run events are drawn.

Owns the `Talk` of this terminal and its loop. Inline, never full-screen: the whole conversation stays in the scrollback.
`startup` chooses the thread, `screen` draws, `person` asks, `slash` runs commands. Refuses: the work of the agent (`agent`), and
every decision on what is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from backscroll.agent.warmup import AgentWarmup
from backscroll.engine.budget.costs import expected_cost
from backscroll.engine.calls.replies import AGENT
from backscroll.engine.calls.run_end import how_ended, mark_ended
from backscroll.errors import BackscrollError
from backscroll.surfaces.chat.input import message as composing
from backscroll.surfaces.chat.input import questions as asking
from backscroll.surfaces.chat.input.clipboard import clipboard_image
from backscroll.surfaces.chat.input.interrupts import Interrupts, ending_orderly, quiet_terminal
from backscroll.surfaces.chat.input.keys import ScreenAction
from backscroll.surfaces.chat.input.line import LineInput
from backscroll.surfaces.chat.input.pastes import Pastes
from backscroll.surfaces.chat.person import TerminalPerson
from backscroll.surfaces.chat.screen import banner, taskbar
from backscroll.surfaces.chat.screen.first_minute import FirstMinute
from backscroll.surfaces.chat.screen.live_area import LiveArea
from backscroll.surfaces.chat.screen.status import StatusFigures, status_line, update_totals
from backscroll.surfaces.chat.screen.tool_lines import FoldedLines, render_output, render_unfolded
from backscroll.surfaces.chat.slash.replies import trouble
from backscroll.surfaces.chat.startup import title_from, verdict_given
from backscroll.surfaces.chat.suspension import suspendable
from backscroll.surfaces.i18n import find, t
from backscroll.surfaces.i18n.translation import say
from backscroll.surfaces.screen.cells import wrap
from backscroll.surfaces.screen.plain import one_line, safe

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from backscroll.agent.agent import Agent
    from backscroll.agent.events import Finished, Happening
    from backscroll.engine.engine import Engine
    from backscroll.engine.thread import Thread
    from backscroll.surfaces.chat.completion import Completion
    from backscroll.surfaces.chat.input.typeahead import TypeaheadGuard
    from backscroll.surfaces.chat.screen.player import Player
    from backscroll.surfaces.chat.talk import Talk
    from backscroll.vocab.message import ContentLike
    from backscroll.vocab.task import Task

#: Makes the agent of a thread; the user it asks is this terminal's.
MakeAgent = Callable[["Thread", TerminalPerson], "Agent"]


class Chat:
    """One chat in one terminal."""

    def __init__(
        self,
        engine: Engine,
        thread: Thread,
        make_agent: MakeAgent,
        console: Console,
        *,
        first_minute: FirstMinute | None = None,
    ) -> None:
        self._engine = engine
        self._console = console
        self._make_agent = make_agent
        self._region = LiveArea(console)
        self._folds = FoldedLines()
        self._interrupts = Interrupts(self._unfold_running)
        self._person = TerminalPerson(self)
        self._hints = first_minute or FirstMinute(new=False)
        self._attachments = composing.Attachments()
        self._pastes = Pastes()
        self._player: Player | None = None
        self._figures = StatusFigures()
        self._task: Task | None = None
        self._get_remaining_pause = False
        self._primed = False  # another Ctrl-C leaves
        self._thread = thread
        self._agent = make_agent(thread, self._person)
        self._input: LineInput | None = None
        self._warming: AgentWarmup | None = None
        self._refresh()

    # -- Talk ------------------------------------------------------------------------------------------------

    @property
    def engine(self) -> Engine:
        """The store."""
        return self._engine

    @property
    def thread(self) -> Thread:
        """The current thread."""
        return self._thread

    @property
    def agent(self) -> Agent:
        """The agent of this chat."""
        return self._agent

    @property
    def root(self) -> Path:
        """The folder that the agent works in."""
        return self._agent.root

    @property
    def console(self) -> Console:
        """The console for output."""
        return self._console

    @property
    def width(self) -> int:
        """The width of a line in cells."""
        return self._console.size.width

    def show(self, *what: RenderableType) -> None:
        """Print something between turns; text is made safe, renderables are printed as they are."""
        self._region.print(*(self._wrap_text(each) if isinstance(each, str) else each for each in what))

    def _wrap_text(self, words: str, style: str = "") -> Text:
        """Return our own text in lines that fit, broken between Chinese characters too."""
        return Text("\n".join(wrap(safe(words), max(20, self.width - 1))), style=style)

    def ask(self, question: str, *, initial: str = "", lines: bool = False) -> str | None:
        """Ask the user for a line (or, with `lines`, several); None if they cancel."""
        with self.asking(bell=False):
            return asking.ask(question, initial=initial, lines=lines)

    def choose(self, title: str, options: Sequence[str], *, initial: int = 0) -> int | None:
        """Let the user choose one option, by arrow keys or number; typing narrows a long list. None if they cancel."""
        with self.asking(bell=False):
            # A menu that the user opened: they may type ahead if they know it. Important choices are confirmed.
            return asking.choose(title, options, initial=initial, filtering=len(options) > 9)

    def confirm(self, question: str, *, usual: bool = False) -> bool:
        """Ask yes or no; Enter means the default, cancelling means no."""
        with self.asking(bell=False):
            words = f"{question} {t('chat.yes_usual') if usual else t('chat.no_usual')} "
            key = asking.press(words, ["y", "n", "\r"], self.ahead)
        yes = key == "y" or (key == "\r" and usual)
        self.show(Text(f"{safe(question)} {t('chat.yes') if yes else t('chat.no')}", style="dim"))
        return yes

    def play(self, happenings: Iterable[Happening]) -> Finished | None:
        """Draw the events of a run as they arrive, until it is finished or stopped."""
        # start-up: it draws Markdown, which is loaded while the user types
        from backscroll.surfaces.chat.screen.player import Player

        player = Player(
            self._region,
            self._folds,
            self._figures,
            self._update_figures,
            self._person.proposed,
            owed=self._estimate_cost,
        )
        self._player = player
        self._record_end("")

        def stopping() -> None:
            player.stopping = True

        try:
            with self._interrupts.watching(self._agent.stop, stopping):
                player.play(happenings)
        except BackscrollError as error:
            self._trouble(error)
        except KeyboardInterrupt:
            self.show(Text(t("chat.ended_stopped"), style="yellow"))
            self._interrupts.count = max(1, self._interrupts.count)
            self._record_end("stopped")
        finally:
            self._player = None
            self._figures = replace(player.figures, under_way=None)
            self._refresh()
        if player.finished is not None and player.finished.end != "failed":
            self._record_end(player.finished.end)
        self._primed = self._interrupts.count > 0
        if self._interrupts.count > 1:
            self._get_remaining_pause = True
        return player.finished

    def _record_end(self, how: str) -> None:
        """Record how a run ended, for the next start; a run without a record was cut off."""
        try:
            mark_ended(self._thread, how)
        except BackscrollError as error:
            self._trouble(error)

    def say(self, text: str) -> Finished | None:
        """Send a message as if the user had typed it."""
        try:
            content = composing.message(self, text, self._attachments, self._pastes)
        except BackscrollError as error:
            self._trouble(error)
            return None
        return self._say(content, text)

    def _say(self, content: ContentLike, text: str) -> Finished | None:
        if not self._thread.info.title:
            # Not as the user: their `/undo` is for their own changes.
            self._thread.as_actor(AGENT).rename(title_from(self._pastes.whole(text)))
        try:
            happenings = self._agent.events(content)
        except BackscrollError as error:
            self._trouble(error)
            return None
        self.show("")
        done = self.play(happenings)
        self.show("")
        return done

    def switch(self, thread: Thread, *, answer: bool = False) -> None:
        """Switch to another conversation; with `answer`, its last message is answered at once."""
        agent = self._make_agent(thread, self._person)
        self._cool()
        self._agent.close()
        self._thread, self._agent, self._input = thread, agent, None
        self._figures = StatusFigures()
        self._refresh()
        self.show(*banner.header(self))
        if answer:
            self.play(agent.events(None))
        else:
            self._offer_to_go_on()

    def leave(self) -> None:
        """End the program after this command."""
        self._get_remaining_pause = True

    def unfold(self, number: int | None = None) -> None:
        """Show a folded line in full, by its number or the last one."""
        fold = self._folds.get(number)
        if fold is None:
            self.show(
                Text(t("chat.no_fold") if number is None else t("chat.no_such_fold", n=number), style="dim")
            )
            return
        self.show(*render_unfolded(fold))

    # -- questions -------------------------------------------------------------------------------------------

    @property
    def ahead(self) -> TypeaheadGuard:
        """Keeps keys pressed before a question appeared for the next message."""
        return self._interrupts.ahead

    @contextmanager
    def asking(self, *, bell: bool = True) -> Generator[None]:
        """Prepare the terminal for a question: live lines removed, earlier keys put aside."""
        with self._region.pause_drawing(), self._interrupts.pause_listening():
            if bell and self._console.is_terminal:
                self._console.file.write("\a")
                self._console.file.flush()
            yield

    # -- the loop --------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run the chat until the user leaves."""
        with suspendable(self._region), quiet_terminal(), ending_orderly():
            self._run()

    def _run(self) -> None:
        self.show(*banner.header(self))
        self.show(*(self._wrap_text(w, "cyan") for w in self._hints.welcome(offline=self._agent.offline)))
        try:
            self._offer_to_go_on()
            text, cursor = "", None
            while not self._get_remaining_pause:
                try:
                    # Nobody types so many lines while the agent works: long input was pasted.
                    text += self._pastes.fold(self._interrupts.take_typed_text(), text)
                    typed = self._read(text, cursor)
                except KeyboardInterrupt:
                    text, cursor = "", None
                    if self._primed:
                        break
                    self._primed = True
                    continue
                except EOFError:
                    break
                self._primed = False
                text, cursor = "", None
                if isinstance(typed, ScreenAction):
                    text, cursor = self._aside(typed)
                else:
                    self._take(typed)
        finally:
            self._attachments.clean()
            self._cool()
            self._agent.close()
        self.show(self._wrap_text(t("chat.goodbye", thread=self._thread.id[:8]), "dim"))

    def _take(self, typed: str) -> None:
        try:
            self.take(typed)
        except KeyboardInterrupt:  # of something other than a run: a search, a long listing
            self.show(Text(t("cli.interrupted"), style="yellow"))
            self._primed = True

    def take(self, typed: str) -> None:
        """Handle input: a slash command, a shell command, or a message."""
        # start-up: with the first line that is sent
        from backscroll.surfaces.chat.slash import registry

        words = typed.strip()
        if not words:
            return
        if registry.is_slash(words):
            registry.run(self, self._pastes.whole(words))
            self._refresh()
            return
        if words[0] in "!！" and words[1:].strip():
            before = self._folds.get()
            self.play(self._agent.command(self._pastes.whole(words[1:].strip())))
            fold = self._folds.get()
            if fold is not None and fold is not before:
                self.show(*render_output(fold))
            return
        done = self.say(typed.strip("\n"))
        hint = self._hints.after_turn() if done is not None and done.end != "failed" else ""
        if hint:
            self.show(self._wrap_text(hint, "cyan"), "")

    def _read(self, text: str, cursor: int | None) -> str | ScreenAction:
        if self._input is None:
            self._input = LineInput(self, self._bars, self._attachments.add, self._pastes, _complete_slash)
            self._warm(self._input)
        return self._input.read(text, cursor)

    def _warm(self, line: LineInput) -> None:
        """Load what the first answer needs once the prompt is shown; earlier, the user would have to wait for it."""
        warming = self._warming = AgentWarmup(self._agent, also=_load_player)

        def stands(_: object) -> None:
            warming.start()

        line.session.app.after_render += stands

    def _cool(self) -> None:
        if self._warming is not None:
            self._warming.close()
            self._warming = None

    def _aside(self, key: ScreenAction) -> tuple[str, int]:
        """Handle a key that needs the screen; return the text to continue with."""
        text, cursor = key.text, key.cursor
        try:
            match key.act:
                case "unfold":
                    self.unfold()
                case "clipboard":
                    mark = f"{self._attachments.add(clipboard_image(), own=True)} "
                    text, cursor = text[:cursor] + mark + text[cursor:], cursor + len(mark)
                case "task_start":
                    taskbar.start_task(self)
                case "task_complete":
                    taskbar.complete_task(self)
                case "task_incomplete":
                    taskbar.return_task(self)
        except BackscrollError as error:
            self._trouble(error)
        self._refresh()
        return text, cursor

    def _offer_to_go_on(self) -> None:
        """Offer to continue an interrupted run; for one that the user ended on purpose, only say how to continue."""
        left = self._agent.unfinished
        if not left:
            return
        what, how = one_line(say(left)), how_ended(self._thread)
        if how or verdict_given(self._thread):
            words = find(f"chat.left_{how}")
            if words is not None:
                self.show(self._wrap_text(words.format_map({"what": what}), "dim"), "")
        elif self.confirm(t("chat.unfinished", what=what), usual=True):
            self.play(self._agent.resume())

    # -- figures ---------------------------------------------------------------------------------------------

    def _update_figures(self, figures: StatusFigures) -> StatusFigures:
        worker = self._engine.at_work
        figures = update_totals(figures, self._agent.counted())
        return replace(figures, works=0 if worker is None else worker.busy)

    def _estimate_cost(self, sent: int, cached: int, received: int) -> int | None:
        """Return the estimated cost of an answer in progress, in US dollars × 10⁹; None if the price is unknown."""
        agent = self._agent
        tokens = {"input": sent, "cached": cached, "output": received}
        cost = expected_cost(self._engine, agent.model, provider=agent.provider_name, **tokens)
        return None if cost is None else round(cost * 1e9)

    def _refresh(self) -> None:
        """Update what may have changed between turns."""
        agent = self._agent
        self._figures = self._update_figures(
            replace(self._figures, offline=agent.offline, provider=agent.provider_name, model=agent.model)
        )
        self._task = self._thread.tasks.current()

    def _bars(self, room: int) -> list[str]:
        """Return the two lines below the input."""
        line = status_line(self._figures, room)
        if self._primed:
            line = t("chat.once_more")
        return [taskbar.task_line(self._task, room), line]

    def _unfold_running(self) -> None:
        """Handle Ctrl-O while an agent works."""
        with self._region.lock:
            self.unfold()

    def _trouble(self, error: Exception) -> None:
        trouble(self, error)


def _complete_slash(talk: Talk, text: str) -> list[Completion]:
    # start-up: with the first / that is typed
    from backscroll.surfaces.chat.slash import registry

    return registry.complete(talk, text)


def _load_player() -> None:
    import_module("backscroll.surfaces.chat.screen.player")
