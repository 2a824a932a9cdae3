"""Preloading what the first answer of a process needs, while the user types.

Owns an OS thread that loads the SDK of the service, scans the folder, rehearses the next prompt (tokenizer, prices, the reading
of a long thread) and loads what recall needs. Nothing waits for it or depends on it: what is not loaded yet is loaded
on first use, and what fails here fails there again, where it can be reported. Refuses: writing anything, asking the user.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING

from backscroll.llm.clients.kinds import preload

if TYPE_CHECKING:
    from backscroll.agent.agent import Agent


class AgentWarmup:
    """Prepares an agent, once, in a thread of its own."""

    def __init__(self, agent: Agent, also: Callable[[], object] | None = None) -> None:
        self._agent = agent
        self._also = also  # what a surface needs as well, for example to draw the answer
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.trouble: list[str] = []  # what could not be loaded

    def start(self) -> None:
        """Start; does nothing on a second call, or if there is nothing to preload."""
        if self._thread is None and not self._stop.is_set() and self._agent.thread.engine.settings.background:
            self._thread = threading.Thread(target=self.run, name="backscroll-warming", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Finish the current step, and start no other."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def wait(self) -> None:
        """Wait until everything is loaded; for measurements and tests."""
        if self._thread is not None:
            self._thread.join()

    def run(self) -> None:
        """Load everything, in the calling thread."""
        for step in self._steps():
            if self._stop.is_set():
                return
            try:
                step()
            except Exception as error:  # noqa: BLE001 - outermost boundary of a thread: the error occurs again on first use
                self.trouble.append(f"{type(error).__name__}: {error}")

    def _steps(self) -> Iterator[Callable[[], object]]:
        """Yield the steps, in the order in which a first answer needs them."""
        provider = self._agent.provider
        yield lambda: import_module("backscroll.agent.loop.loop")
        yield self._look
        if provider is not None:
            yield lambda: preload(provider)
        if self._also is not None:
            yield self._also
        yield self._agent.rehearse
        yield self._recall

    def _look(self) -> None:
        """Scan the folder once: the first snapshot reads every file, the next ones only what changed.

        Nothing is recorded: the run decides whose change it is.
        """
        workroom = self._agent.workroom
        if workroom is not None:
            with workroom.alone():
                workroom.keeper.take()

    def _recall(self) -> None:
        # start-up: a chat is ready before it
        from backscroll.engine.search.recall import preload as make_ready
        from backscroll.llm.encoders.encoder import encoder_of

        thread = self._agent.thread
        encoder = encoder_of(thread.engine.settings.encoder)
        if encoder is not None:
            encoder.encode(["?"] if not self._chinese() else ["?", "记忆"])
        make_ready(thread)

    def _chinese(self) -> bool:
        """Return True if Chinese is expected, for which a dictionary is loaded."""
        thread = self._agent.thread
        named = thread.legible.info.language or thread.engine.settings.language
        return named.lower().startswith("zh")
