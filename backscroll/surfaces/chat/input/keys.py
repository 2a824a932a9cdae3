"""Key bindings of the input line, in one table.

Owns which key does what during input; the guide (`docs/chat.md`) lists the same. Keys that need the whole screen (start
a task, unfold a line) end the input for a moment and keep its text. Refuses: running those actions (`app`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from prompt_toolkit.document import Document

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    from backscroll.surfaces.chat.input.pastes import Pastes

Act: TypeAlias = Literal["task_start", "task_complete", "task_incomplete", "unfold", "clipboard"]

#: Keys that end the input for a moment: the action, and its keys as prompt_toolkit names them.
ACTS: tuple[tuple[Act, tuple[tuple[str, ...], ...]], ...] = (
    ("task_start", (("f2",), ("escape", "n"))),
    ("task_complete", (("f3",), ("escape", "c"))),
    ("task_incomplete", (("f4",), ("escape", "i"))),
    ("unfold", (("c-o",),)),
    ("clipboard", (("c-v",),)),
)


@dataclass(frozen=True, slots=True)
class ScreenAction:
    """A key that needs the screen, and the current text."""

    act: Act
    text: str
    cursor: int


def bindings(paste: Callable[[str, str], str], pastes: Pastes) -> KeyBindings:
    """Return the key bindings. `paste` converts a paste to text, given what the line holds; `pastes` knows the marks of long ones."""
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.keys import Keys

    keys = KeyBindings()
    for act, sequences in ACTS:
        for sequence in sequences:
            keys.add(*sequence)(_leaving(act))
    keys.add("enter")(_enter)
    keys.add("escape", "enter")(_newline)
    keys.add("c-j")(_newline)
    keys.add("c-c")(_interrupt)
    keys.add("c-d")(_end)
    keys.add("c-z")(_suspend)

    def put(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text(paste(event.data, event.current_buffer.text))

    keys.add(Keys.BracketedPaste)(put)
    _marks(keys, pastes)
    return keys


def _marks(keys: KeyBindings, pastes: Pastes) -> None:
    """Delete the mark of a long paste as one; Ctrl-O replaces it with its text, and the editor gets the whole text."""
    from prompt_toolkit.application import get_app
    from prompt_toolkit.filters import Condition

    def at(more: int = 0) -> tuple[int, int] | None:
        buffer = get_app().current_buffer
        return pastes.mark_at(buffer.text, buffer.cursor_position + more)

    def delete(event: KeyPressEvent, found: tuple[int, int] | None) -> None:
        if found is not None:
            buffer, (first, last) = event.current_buffer, found
            buffer.document = Document(buffer.text[:first] + buffer.text[last:], first)

    def back(event: KeyPressEvent) -> None:
        delete(event, at())

    def forward(event: KeyPressEvent) -> None:
        delete(event, at(1))

    def unfold(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        before = pastes.whole(buffer.text[: buffer.cursor_position])
        buffer.document = Document(pastes.whole(buffer.text), len(before))

    def editor(event: KeyPressEvent) -> None:
        buffer, before = event.current_buffer, event.current_buffer.text
        buffer.document = Document(pastes.whole(before))

        def refold_pastes(_task: object) -> None:
            text = pastes.fold_again(buffer.text, before)
            buffer.document = Document(text, len(text))

        buffer.open_in_editor().add_done_callback(refold_pastes)

    behind, before = Condition(lambda: at() is not None), Condition(lambda: at(1) is not None)
    held = Condition(lambda: bool(pastes.marks(get_app().current_buffer.text)))
    for sequence in (("backspace",), ("c-w",), ("escape", "backspace")):
        keys.add(*sequence, filter=behind)(back)
    keys.add("delete", filter=before)(forward)
    keys.add("c-o", filter=held)(unfold)
    keys.add("c-x", "c-e", filter=held)(editor)


def _leaving(act: Act) -> Callable[[KeyPressEvent], None]:
    def leave(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        event.app.erase_when_done = True
        event.app.exit(result=ScreenAction(act, buffer.text, buffer.cursor_position))

    return leave


def _enter(event: KeyPressEvent) -> None:
    """Send; after a backslash, insert a new line instead. A selected completion is accepted first."""
    buffer = event.current_buffer
    state = buffer.complete_state
    if state is not None and state.current_completion is not None:
        buffer.complete_state = None
        # If there was nothing to choose from, Tab has completed it; a folder may be entered next.
        if len(state.completions) > 1 or buffer.document.text_before_cursor.endswith("/"):
            return
    if buffer.document.text_before_cursor.endswith("\\"):
        buffer.delete_before_cursor(1)
        buffer.insert_text("\n")
        return
    if buffer.text.strip():
        buffer.validate_and_handle()


def _newline(event: KeyPressEvent) -> None:
    event.current_buffer.insert_text("\n")


def _interrupt(event: KeyPressEvent) -> None:
    """Clear the line on Ctrl-C; on an empty one, pass it to the chat."""
    if event.current_buffer.text:
        event.current_buffer.reset()
    else:
        event.app.erase_when_done = True
        event.app.exit(exception=KeyboardInterrupt)


def _suspend(event: KeyPressEvent) -> None:
    """Suspend to the shell; this program alone, for the reason given in `suspension`."""
    event.app.suspend_to_background(suspend_group=False)


def _end(event: KeyPressEvent) -> None:
    buffer = event.current_buffer
    if buffer.text:
        buffer.delete()
    else:
        event.app.exit(exception=EOFError)
