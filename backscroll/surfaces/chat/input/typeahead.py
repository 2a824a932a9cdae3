"""Keys pressed before a question appeared: kept for the next message, never an answer.

Owns the moment in which a question begins to accept keys. Everything in the keyboard buffer when it is first drawn is put aside. A
user who is in the middle of typing cannot mean the question either: their keys are put aside too until they pause, and the question
says so. Ctrl-C works at any time. Refuses: drawing questions (`questions`), keeping what is put aside (`interrupts`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prompt_toolkit.application import Application
    from prompt_toolkit.key_binding import KeyBindings, KeyPress, KeyPressEvent

#: Seconds without a key after which the user has stopped typing.
PAUSE = 0.6


class TypeaheadGuard:
    """Guards questions; `keep` receives what is put aside, `heard` returns when a key was last pressed without a question."""

    def __init__(
        self,
        keep: Callable[[str], None],
        heard: Callable[[], float] = lambda: 0.0,
        clock: Callable[[], float] = time.monotonic,
        pause: float = PAUSE,
    ) -> None:
        self._keep = keep
        self._heard = heard
        self._clock = clock
        self._pause = pause
        self._last = 0.0  # when a key was last put aside
        self._drawn = True
        self._app: Application[Any] | None = None
        self._away: str | None = None  # the result of a cancelled question
        self.listens = True
        self.stopped = False
        """The person wants to stop: whatever is asked from now on is turned away from."""

    @property
    def typing(self) -> bool:
        """True if the user was just typing: the question waits until they pause."""
        return self._get_remaining_pause() > 0

    def begin(self, app: Application[Any], away: str | None) -> None:
        """Prepare an application: it is first drawn empty, and keys count from the moment in which it asks."""
        from prompt_toolkit.input.typeahead import get_typeahead

        self.listens = self._drawn = False
        self._app, self._away = app, away
        self._aside(get_typeahead(app.input))
        app.after_render += self._stands

    def guard(self, bindings: KeyBindings, away: Callable[[KeyPressEvent], None]) -> None:
        """Put keys aside while a question does not accept them; Ctrl-C cancels."""
        from prompt_toolkit.filters import Condition
        from prompt_toolkit.keys import Keys

        deaf = Condition(lambda: not self.listens)

        def aside(event: KeyPressEvent) -> None:
            self._aside(event.key_sequence)

        def where(event: KeyPressEvent) -> None:
            # The terminal's reply to the cursor position query: it arrives as keyboard input, but is not a key.
            event.app.renderer.report_absolute_cursor_row(int(event.data[2:-1].split(";")[0]))

        bindings.add(Keys.Any, filter=deaf, eager=True)(aside)
        bindings.add(Keys.CPRResponse, filter=deaf, eager=True)(where)
        bindings.add("c-c", filter=deaf, eager=True)(away)

    def stop(self) -> None:
        """Handle Ctrl-C as a signal, just before the question took the keyboard; for a signal handler."""
        self.stopped = True
        app = self._app
        if app is not None and app.is_running and app.loop is not None:
            app.loop.call_soon_threadsafe(self._leave)

    def _leave(self) -> None:
        app = self._app
        if app is not None and app.is_running and not app.is_done:
            app.exit(result=self._away)

    def _stands(self, app: Application[Any]) -> None:
        """Handle the first drawing: everything pressed until now is put aside."""
        if self._drawn:
            return
        self._drawn = True
        if self.stopped:
            self._leave()
            return
        while keys := app.input.read_keys():
            app.key_processor.feed_multiple(keys)
            app.key_processor.process_keys()
        if not self.typing:
            self.listens = True
        elif not app.is_done:
            app.create_background_task(self._settle(app))
        app.invalidate()

    async def _settle(self, app: Application[Any]) -> None:
        """Accept keys after a pause."""
        while (left := self._get_remaining_pause()) > 0:  # noqa: ASYNC110 - waits for nothing to happen
            await asyncio.sleep(left)
        self.listens = True
        app.invalidate()

    def _get_remaining_pause(self) -> float:
        last = max(self._last, self._heard())
        return last + self._pause - self._clock() if last else 0.0

    def _aside(self, keys: Iterable[KeyPress]) -> None:
        text = "".join(key.data for key in keys)
        if text:
            self._last = self._clock()
            self._keep(text)
