"""What a command gets to work with: the options that every command knows, the engine, the screen.

Owns the global options (`--store`, `--actor`, `--lang`, `--json`), which may stand before or after the command.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from backscroll.surfaces.cli.screen import Screen

if TYPE_CHECKING:
    from backscroll.config import Settings
    from backscroll.engine.engine import Engine


@dataclass
class Session:
    """One run of the command line."""

    store: str | None = None
    actor: str | None = None
    storage_dir: str | None = None
    as_json: bool = False
    use_pager: bool = True
    exit_code: int = field(default=0, init=False)

    @cached_property
    def screen(self) -> Screen:
        """Where output goes; made when first used, after all options are known."""
        return Screen(as_json=self.as_json)

    @property
    def arguments(self) -> dict[str, str | None]:
        """The settings given on the command line."""
        return {"store": self.store, "actor": self.actor, "storage_dir": self.storage_dir}

    def settings(self) -> Settings:
        """The settings in force."""
        from backscroll.config import load
        from backscroll.surfaces.cli.language import checked

        settings = load(self.arguments)
        checked(settings.language)
        return settings

    def engine(self) -> Engine:
        """The store, opened; use it in a `with`."""
        import backscroll

        self.settings()
        return backscroll.open(**self.arguments)
