"""A chat in a terminal, in front of a scripted model."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from backscroll.testing import Line, Scenario, ScriptedServer
from tests.house import tree
from tests.terminal.terminal import Terminal

READY = "F2 "  # the task bar stands below the input, and only there


class Desk:
    """A folder to work in, a store, a configured model, and terminals."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        self.home = folder / "home"
        self.home.mkdir(exist_ok=True)
        self.store = folder / "store.db"
        self.config = folder / "config.toml"
        self.server: ScriptedServer | None = None
        self._stack = ExitStack()

    def model(self, *lines: Line, **service: object) -> ScriptedServer:
        """Configure a scripted model with these lines."""
        scenario = Scenario(lines=lines, **service)  # pyright: ignore[reportArgumentType]
        self.server = self._stack.enter_context(ScriptedServer(scenario))
        self.use(self.server.url)
        return self.server

    def use(self, url: str) -> None:
        """Configure the model at an address."""
        self.config.write_text(
            f'[providers.scripted]\nkind = "openai"\nbase_url = "{url}"\nmodel = "gpt-4o-mini"\n'
            "summaries = false\n",
            encoding="utf-8",
        )

    def chat(
        self, *arguments: str, columns: int = 80, lines: int = 30, language: str = "en", **more: str
    ) -> Terminal:
        """The chat in a terminal of its own."""
        command = (sys.executable, "-m", "backscroll", "chat", *arguments)
        return self.program(*command, columns=columns, lines=lines, language=language, **more)

    def program(
        self, *command: str, columns: int = 80, lines: int = 30, language: str = "en", **more: str
    ) -> Terminal:
        """Any program in a terminal, with the settings of this desk."""
        environment = {
            "HOME": str(self.home),
            "PYTHONPATH": str(tree.ROOT),
            "BACKSCROLL_STORE": str(self.store),
            "BACKSCROLL_CONFIG": str(self.config),
            "BACKSCROLL_LANGUAGE": language,
            "BACKSCROLL_ENCODER": "none",
            "BACKSCROLL_UNDERSTANDING": "asked",
            **{k: v for k, v in os.environ.items() if k.startswith(("COVERAGE_", "COV_"))},
            **more,
        }
        terminal = Terminal(command, cwd=self.folder, env=environment, columns=columns, lines=lines)
        return self._stack.enter_context(terminal)

    def said(self, number: int = -1) -> str:
        """All words of a request that the model got."""
        assert self.server is not None
        return self.server.asked[number].everything

    def close(self) -> None:
        """End everything."""
        self._stack.close()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A place to chat."""
    made = Desk(tmp_path)
    yield made
    made.close()
