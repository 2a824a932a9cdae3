"""What a command works with: the global options, the engine, the screen.

Owns the global options (`--store`, `--actor`, `--lang`, `--json`, `--jsonl`), which may come before or after the command.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import backscroll
from backscroll.config import default_store, load
from backscroll.errors import NotFound
from backscroll.surfaces.cli.language import check_language
from backscroll.surfaces.garbage import resume_collection
from backscroll.surfaces.i18n import t
from backscroll.surfaces.screen.screen import Screen

if TYPE_CHECKING:
    from backscroll.config import Settings
    from backscroll.engine.engine import Engine


@dataclass
class CliSession:
    """One run of the command line."""

    store: str | None = None
    actor: str | None = None
    storage_dir: str | None = None
    sandbox: str | None = None  # for commands that start an agent
    user: str | None = None  # for commands that create threads
    as_json: bool = False  # --json or --jsonl
    as_lines: bool = False  # --jsonl
    use_pager: bool = True
    exit_code: int = field(default=0, init=False)

    @cached_property
    def screen(self) -> Screen:
        """The output; made when first used, after all options are known."""
        return Screen(as_json=self.as_json, as_lines=self.as_lines)

    @property
    def arguments(self) -> dict[str, str | None]:
        """The settings given on the command line."""
        given = {"store": self.store, "actor": self.actor, "storage_dir": self.storage_dir}
        some = {"agent_sandbox": self.sandbox, "user": self.user}
        return {**given, **{name: value for name, value in some.items() if value is not None}}

    def settings(self) -> Settings:
        """Return the settings in force."""
        settings = load(self.arguments)
        check_language(settings.language)
        return settings

    @property
    def place(self) -> str:
        """The location of the store: a path, or an address."""
        where = self.settings().store or str(default_store())
        return where if "://" in where else str(Path(where).expanduser())

    @property
    def has_store(self) -> bool:
        """False if the store is a file that does not exist yet."""
        return "://" in self.place or Path(self.place).exists()

    def engine(self, *, make: bool = False) -> Engine:
        """Open the store; use it in a `with` block. Only commands that bring something in create a new one."""
        if not make and not self.has_store:
            raise NotFound(t("cli.no_store", path=self.place), hint=t("cli.no_store_hint"))
        engine = backscroll.open(**cast("Any", self.arguments))
        resume_collection()
        return engine

    def check_sandbox(self, engine: Engine) -> None:
        """Raise an error for a sandbox that does not work here, before an agent starts."""
        if engine.settings.agent_sandbox != "off":
            # start-up: most agents have no sandbox
            from backscroll.agent.commands.sandbox import sandbox_for

            sandbox_for(engine.settings, Path.cwd())
