"""The input line: several lines, history, completion, the bars below it.

Owns the input session. It lives as long as the chat; every message is one call. `chat/app` interprets the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.styles import Style

from backscroll.surfaces.chat.completion import Completion as TextCompletion
from backscroll.surfaces.chat.input.clipboard import interpret_paste
from backscroll.surfaces.chat.input.history_file import FolderHistory, history_path
from backscroll.surfaces.chat.input.keys import ScreenAction, bindings
from backscroll.surfaces.chat.input.pastes import Pastes

if TYPE_CHECKING:
    from backscroll.surfaces.chat.talk import Talk

#: No background of its own below the input: bars are dim text, readable on dark and on light terminals.
_STYLE = Style.from_dict(
    {
        "bottom-toolbar": "noreverse fg:ansibrightblack bg:default",
        "bottom-toolbar.text": "noreverse fg:ansibrightblack bg:default",
        "prompt": "bold fg:ansicyan",
    }
)
PROMPT = "› "
#: The completions for the text before the cursor.
CompleteText = Callable[["Talk", str], Iterable[TextCompletion]]


class LineInput:
    """Reads the user's next input."""

    def __init__(
        self,
        talk: Talk,
        bars: Callable[[int], list[str]],
        on_image: Callable[[Path], str],
        pastes: Pastes | None = None,
        complete_slash: CompleteText = lambda _talk, _text: (),
    ) -> None:
        self._talk = talk
        self._pastes = pastes = pastes or Pastes()
        self._bars = bars
        self._on_image = on_image
        self.session: PromptSession[str | ScreenAction] = PromptSession(
            message=[("class:prompt", PROMPT)],
            multiline=True,
            key_bindings=bindings(self._paste, pastes),
            history=FolderHistory(history_path(talk.root), pastes),
            completer=_Completions(talk, complete_slash),
            complete_while_typing=True,
            enable_history_search=False,
            enable_open_in_editor=True,
            tempfile_suffix=".md",
            prompt_continuation=" " * len(PROMPT),
            bottom_toolbar=self._toolbar,
            style=_STYLE,
            reserve_space_for_menu=6,
        )
        self.session.app.ttimeoutlen = 0.1
        self.session.app.timeoutlen = 0.5
        self.session.app.renderer.cpr_not_supported_callback = None  # a slow line is not worth a warning

    def read(self, text: str = "", cursor: int | None = None) -> str | ScreenAction:
        """Return the next message (with marks for long pastes), or a key that needs the screen. Ctrl-C raises `KeyboardInterrupt`, Ctrl-D `EOFError`."""
        self.session.app.erase_when_done = False
        start = Document(text, len(text) if cursor is None else min(cursor, len(text)))
        return self.session.prompt(default=start, handle_sigint=False)

    def _paste(self, data: str, beside: str) -> str:
        found = interpret_paste(data, self._talk.root)
        marks = [self._on_image(path) for path in found.images]
        return self._pastes.fold(found.text, beside) + "".join(f"{mark} " for mark in marks)

    def _toolbar(self) -> StyleAndTextTuples:
        room = max(10, self.session.app.output.get_size().columns - 1)
        return [("", "\n".join(line for line in self._bars(room) if line))]


class _Completions(Completer):
    """Completes slash commands and their arguments, and files after `@`."""

    def __init__(self, talk: Talk, complete_slash: CompleteText) -> None:
        self._talk = talk
        self._complete_slash = complete_slash

    def get_completions(
        self,
        document: Document,
        complete_event: CompleteEvent,  # noqa: ARG002 - their signature
    ) -> Iterable[Completion]:
        """Yield the completions at the cursor."""
        text = document.text_before_cursor
        if text.startswith(("/", "／")):
            found = self._complete_slash(self._talk, text)
        elif "@" in text.rpartition("\n")[2]:
            # start-up: with the first @ that is typed
            from backscroll.surfaces.chat.input import mention

            found = mention.complete(self._talk, text)
        else:
            return
        for each in found:
            yield Completion(
                each.text, start_position=each.start, display=each.display, display_meta=each.meta
            )
