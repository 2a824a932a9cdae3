"""Preloading what the first answer of a process needs, while the user types.

Owns an OS thread that loads the SDK of the service, looks at the folder, rehearses the next prompt (tokenizer, prices, the reading
of a long thread) and loads what recall needs. Nothing waits for it and nothing depends on it: what is not loaded yet is loaded
where it is first used, and what fails here fails there again, where it can be determined. Refuses: writing anything, asking anybody.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from backscroll.llm.clients.kinds import preload

if TYPE_CHECKING:
    from backscroll.agent.agent import Agent


class AgentWarmup:
    """Makes an agent ready, once, in a thread of its own."""

    def __init__(self, agent: Agent, also: Callable[[], object] | None = None) -> None:
        self._agent = agent
        self._also = also  # what a surface needs besides, to draw the answer, say
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.trouble: list[str] = []  # what could not be loaded

    def start(self) -> None:
        """Begin; a second call does nothing, and neither does one where nothing is to be made ahead of time."""
        if self._thread is None and not self._stop.is_set() and self._agent.thread.engine.settings.background:
            self._thread = threading.Thread(target=self.run, name="backscroll-warming", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Finish the step at hand, and begin no other."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def wait(self) -> None:
        """Until everything is loaded; for measurements and tests."""
        if self._thread is not None:
            self._thread.join()

    def run(self) -> None:
        """Load everything, here and now."""
        for step in self._steps():
            if self._stop.is_set():
                return
            try:
                step()
            except Exception as error:  # noqa: BLE001 - outermost boundary of a thread: whoever needs it hears of it again
                self.trouble.append(f"{type(error).__name__}: {error}")

    def _steps(self) -> Iterator[Callable[[], object]]:
        """In the order in which a first answer needs them."""
        provider = self._agent.provider
        yield self._load_loop
        yield self._look
        if provider is not None:
            yield lambda: preload(provider)
        if self._also is not None:
            yield self._also
        yield self._agent.rehearse
        yield self._recall

    def _load_loop(self) -> None:
        # start-up: a chat stands before it
        import backscroll.agent.loop.loop  # noqa: F401

    def _look(self) -> None:
        """Read the folder once: the first snapshot reads every file, the next ones only what changed.

        Nothing is noted down: the run decides whose change it is.
        """
        workroom = self._agent.workroom
        if workroom is not None:
            with workroom.alone():
                workroom.keeper.take()

    def _recall(self) -> None:
        # start-up: a chat stands before it
        from backscroll.engine.search.recall import preload as make_ready
        from backscroll.llm.encoders.encoder import encoder_of

        thread = self._agent.thread
        encoder = encoder_of(thread.engine.settings.encoder)
        if encoder is not None:
            encoder.encode(["?"] if not self._chinese() else ["?", "记忆"])
        make_ready(thread)

    def _chinese(self) -> bool:
        """Return True if Chinese is to be expected, for which a dictionary is read."""
        thread = self._agent.thread
        named = thread.legible.info.language or thread.engine.settings.language
        return named.lower().startswith("zh")
