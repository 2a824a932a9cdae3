"""Short questions at the bottom of the terminal: one key, one line, one of a few options.

Owns asking and nothing else: every question removes its lines when it is answered, so that only
what the caller prints remains on the screen. Escape and Ctrl-C cancel. Refuses: what the answers mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from backscroll.surfaces.i18n import t
from backscroll.surfaces.screen.cells import cut, wrap
from backscroll.surfaces.screen.plain import one_line, safe

if TYPE_CHECKING:
    from prompt_toolkit.application import Application
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    from backscroll.surfaces.chat.input.typeahead import TypeaheadGuard

#: Keys as typed with an input method: the full-width letter, or the word itself.
SAME_KEY: Mapping[str, str] = {"是": "y", "否": "n", "？": "?"}
_ROWS = 12  # entries of a list that are shown at once
_PREVIEW = 6


def press(words: str, keys: Sequence[str], ahead: TypeaheadGuard | None = None) -> str:
    """Return one of these keys; empty if the user cancelled. With `ahead`, keys pressed before the question appeared do not count."""
    bindings = _bindings()

    def any_key(event: KeyPressEvent) -> None:
        typed = plain_key(event.data)
        if typed in keys:
            event.app.exit(result=typed)

    from prompt_toolkit.keys import Keys

    bindings.add(Keys.Any)(any_key)
    if "\r" in keys:
        bindings.add("enter")(_exit_with("\r"))
    _turning_away(bindings, "")
    return _run(lambda: [("bold", "\n".join(wrap(safe(words), _room())))], bindings, ahead, "") or ""


def _room() -> int:
    """Return the cells of a line of the current question."""
    from prompt_toolkit.application import get_app

    return max(20, get_app().output.get_size().columns - 1)


def plain_key(typed: str) -> str:
    """Return a key without regard to case, width or input method."""
    if len(typed) == 1 and 0xFF01 <= ord(typed) <= 0xFF5E:
        typed = chr(ord(typed) - 0xFEE0)
    return SAME_KEY.get(typed, typed).lower() if len(typed) == 1 else typed


def ask(
    question: str, *, initial: str = "", lines: bool = False, ahead: TypeaheadGuard | None = None
) -> str | None:
    """Ask for a line, or several; None if the user cancelled. Typed-ahead text goes in, unless `ahead` keeps it."""
    from prompt_toolkit import PromptSession

    bindings = _bindings()
    _turning_away(bindings, None)
    bindings.add("c-d")(_leave_empty)
    bindings.add("enter")(_send)
    if lines:
        bindings.add("escape", "enter")(_newline)
        bindings.add("c-j")(_newline)
    if ahead is not None:
        ahead.guard(bindings, _exit_with(None))
    message: StyleAndTextTuples = [("bold", safe(question)), ("", "\n" if lines else " ")]
    session: PromptSession[str | None] = PromptSession(
        message=lambda: _waiting(ahead) or message,
        multiline=lines,
        key_bindings=bindings,
        bottom_toolbar=t("chat.ask_lines_help") if lines else None,
        prompt_continuation="",
        erase_when_done=True,
    )
    session.app.ttimeoutlen = 0.1
    session.app.timeoutlen = 0.5
    session.app.renderer.cpr_not_supported_callback = None  # a slow line is not worth a warning
    if ahead is not None:
        ahead.begin(session.app, None)
    return session.prompt(default=initial, handle_sigint=False)


def choose(
    title: str,
    options: Sequence[str],
    *,
    initial: int = 0,
    preview: Callable[[int], str] | None = None,
    filtering: bool = False,
    ahead: TypeaheadGuard | None = None,
) -> int | None:
    """Let the user choose by arrow keys or number; with `filtering`, typing narrows the list. None: cancelled."""
    if not options:
        return None
    chooser = ChoiceList(title, options, initial, preview, filtering=filtering)
    return _run(chooser.fragments, chooser.bindings(), ahead, None)


class ChoiceList:
    """A list in which one entry is selected."""

    def __init__(
        self,
        title: str,
        options: Sequence[str],
        initial: int = 0,
        preview: Callable[[int], str] | None = None,
        *,
        filtering: bool = False,
    ) -> None:
        self.title = title
        self.options = [one_line(option) for option in options]
        self.preview = preview
        self.filtering = filtering
        self.take_typed_text = ""
        self.mark = min(max(0, initial), len(options) - 1)  # index among the entries shown

    @property
    def shown(self) -> list[int]:
        """The options that match the filter: every word of it, in any order."""
        words = self.take_typed_text.casefold().split()
        return [n for n, o in enumerate(self.options) if all(w in o.casefold() for w in words)]

    @property
    def chosen(self) -> int | None:
        """The selected option."""
        shown = self.shown
        return shown[min(self.mark, len(shown) - 1)] if shown else None

    def move(self, by: int) -> None:
        """Move the selection; the ends wrap around."""
        size = len(self.shown)
        self.mark = (min(self.mark, size - 1) + by) % size if size else 0

    def _moving(self, by: int) -> Callable[[KeyPressEvent], None]:
        def move_selection(_event: KeyPressEvent) -> None:
            self.move(by)

        return move_selection

    def type(self, text: str) -> int | None:
        """Handle a key other than an arrow: a number chooses at once, letters narrow the list."""
        if self.filtering:
            self.take_typed_text, self.mark = self.take_typed_text + text, 0
            return None
        number = plain_key(text)
        if number.isdecimal() and number.isascii() and 1 <= int(number) <= len(self.options):
            return int(number) - 1
        return None

    def bindings(self) -> KeyBindings:
        """Return the key bindings."""
        from prompt_toolkit.keys import Keys

        bindings = _bindings()
        steps = {"up": -1, "c-p": -1, "down": 1, "c-n": 1, "pageup": -_ROWS, "pagedown": _ROWS, "tab": 1}
        for key, by in steps.items():
            bindings.add(key)(self._moving(by))

        def enter(event: KeyPressEvent) -> None:
            if self.chosen is not None:
                event.app.exit(result=self.chosen)

        def letter(event: KeyPressEvent) -> None:
            found = self.type(event.data) if event.data.isprintable() else None
            if found is not None:
                event.app.exit(result=found)

        def back(_event: KeyPressEvent) -> None:
            self.take_typed_text, self.mark = self.take_typed_text[:-1], 0

        bindings.add("enter")(enter)
        bindings.add("backspace")(back)
        bindings.add(Keys.Any)(letter)
        _turning_away(bindings, None)
        return bindings

    def fragments(self) -> StyleAndTextTuples:
        """Return what is drawn: title, the entries around the selection, a preview."""
        from prompt_toolkit.application import get_app

        size = get_app().output.get_size()
        room, rows = _room(), max(3, min(_ROWS, size.rows - _PREVIEW - 4))
        out: StyleAndTextTuples = [("bold", cut(safe(self.title), room))]
        if self.filtering:
            out.append(("", f"  {cut(safe(self.take_typed_text), room // 2)}▏"))
        shown, chosen = self.shown, self.chosen
        place = shown.index(chosen) if chosen is not None else 0
        first = max(0, min(place - rows // 2, len(shown) - rows))
        for index in shown[first : first + rows]:
            marked = index == chosen
            number = "" if self.filtering else f"{index + 1}. "
            text = cut(f"{'❯' if marked else ' '} {number}{self.options[index]}", room)
            out += [("", "\n"), ("bold fg:ansicyan" if marked else "", text)]
        if not shown:
            out += [("", "\n"), ("fg:ansibrightblack", f"  {t('chat.nothing_fits')}")]
        if len(shown) > rows:
            out += [("", "\n"), ("fg:ansibrightblack", f"  {place + 1}/{len(shown)}")]
        if self.preview is not None and chosen is not None:
            for line in list(wrap(safe(self.preview(chosen)), room - 4))[:_PREVIEW]:
                out += [("", "\n"), ("fg:ansibrightblack", f"  │ {line}")]
        help_line = t("chat.choose_filter_help") if self.filtering else t("chat.choose_help")
        out += [("", "\n"), ("fg:ansibrightblack", cut(help_line, room))]
        return out


# -- the small applications --------------------------------------------------------------------------------------


def _bindings() -> KeyBindings:
    from prompt_toolkit.key_binding import KeyBindings

    bindings = KeyBindings()
    bindings.add("c-z")(_suspend)
    return bindings


def _suspend(event: KeyPressEvent) -> None:
    """Suspend to the shell on Ctrl-Z; the question is shown again after `fg`."""
    event.app.suspend_to_background(suspend_group=False)


def _turning_away(bindings: KeyBindings, result: str | None) -> None:
    bindings.add("c-c")(_exit_with(result))
    bindings.add("escape")(_exit_with(result))


def _exit_with(result: str | None) -> Callable[[KeyPressEvent], None]:
    def leave(event: KeyPressEvent) -> None:
        event.app.exit(result=result)

    return leave


def _send(event: KeyPressEvent) -> None:
    event.current_buffer.validate_and_handle()


def _newline(event: KeyPressEvent) -> None:
    event.current_buffer.insert_text("\n")


def _leave_empty(event: KeyPressEvent) -> None:
    """Cancel on Ctrl-D in an empty line; in a line it deletes, as everywhere."""
    if event.current_buffer.text:
        event.current_buffer.delete()
    else:
        event.app.exit(result=None)


def _waiting(ahead: TypeaheadGuard | None) -> StyleAndTextTuples:
    """Return what is shown while a question does not accept keys yet; empty once it does."""
    if ahead is None or ahead.listens:
        return []
    if not ahead.typing:
        return [("", "…")]
    return [("fg:ansiyellow", "\n".join(wrap(t("chat.typing_kept"), _room())))]


def _run(
    fragments: Callable[[], StyleAndTextTuples],
    bindings: KeyBindings,
    ahead: TypeaheadGuard | None,
    away: str | None,
) -> Any:
    from prompt_toolkit.application import Application
    from prompt_toolkit.layout import FormattedTextControl, Layout, Window

    if ahead is not None:
        ahead.guard(bindings, _exit_with(away))
    control = FormattedTextControl(lambda: _waiting(ahead) or fragments(), focusable=True, show_cursor=False)
    window = Window(control, dont_extend_height=True, wrap_lines=True, always_hide_cursor=True)
    app: Application[Any] = Application(
        Layout(window), key_bindings=bindings, erase_when_done=True, full_screen=False
    )
    # Escape is a key of its own here: Escape followed by another key means two keys.
    app.ttimeoutlen = app.timeoutlen = 0.1
    app.renderer.cpr_not_supported_callback = None
    if ahead is not None:
        ahead.begin(app, away)
    return app.run(handle_sigint=False)
