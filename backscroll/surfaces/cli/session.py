"""What a command gets to work with: the options that every command knows, the engine, the screen.

Owns the global options (`--store`, `--actor`, `--lang`, `--json`, `--jsonl`), which may stand before or after the command.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from backscroll.errors import NotFound
from backscroll.surfaces.cli.screen.screen import Screen
from backscroll.surfaces.garbage import resume_collection
from backscroll.surfaces.i18n import t

if TYPE_CHECKING:
    from backscroll.config import Settings
    from backscroll.engine.engine import Engine


@dataclass
class CliSession:
    """One run of the command line."""

    store: str | None = None
    actor: str | None = None
    storage_dir: str | None = None
    sandbox: str | None = None  # of those commands that start an agent
    user: str | None = None  # of those that begin threads
    as_json: bool = False  # --json or --jsonl
    as_lines: bool = False  # --jsonl
    use_pager: bool = True
    exit_code: int = field(default=0, init=False)

    @cached_property
    def screen(self) -> Screen:
        """Where output goes; made when first used, after all options are known."""
        return Screen(as_json=self.as_json, as_lines=self.as_lines)

    @property
    def arguments(self) -> dict[str, str | None]:
        """The settings given on the command line."""
        given = {"store": self.store, "actor": self.actor, "storage_dir": self.storage_dir}
        some = {"agent_sandbox": self.sandbox, "user": self.user}
        return {**given, **{name: value for name, value in some.items() if value is not None}}

    def settings(self) -> Settings:
        """The settings in force."""
        from backscroll.config import load
        from backscroll.surfaces.cli.language import check_language

        settings = load(self.arguments)
        check_language(settings.language)
        return settings

    @property
    def place(self) -> str:
        """Where the store is, or would be: a path, or an address."""
        from backscroll.config import default_store

        where = self.settings().store or str(default_store())
        return where if "://" in where else str(Path(where).expanduser())

    @property
    def has_store(self) -> bool:
        """False where the store is a file that does not exist yet."""
        return "://" in self.place or Path(self.place).exists()

    def engine(self, *, make: bool = False) -> Engine:
        """The store, opened; use it in a `with`. Only commands that bring something in make a new one."""
        import backscroll

        if not make and not self.has_store:
            raise NotFound(t("cli.no_store", path=self.place), hint=t("cli.no_store_hint"))
        engine = backscroll.open(**cast("Any", self.arguments))
        resume_collection()
        return engine
