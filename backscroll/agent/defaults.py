"""Defaults of an agent: its folder, provider, tools and workroom if the caller gives none.

Refuses: running anything (`agent/agent`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from backscroll.agent.tool import Tools
from backscroll.errors import InvalidInput
from backscroll.llm.providers import Provider, choose_provider

if TYPE_CHECKING:
    from backscroll.engine.folder.workroom import Workroom
    from backscroll.engine.thread import Thread


def folder_of(thread: Thread, root: str | Path | None) -> Path:
    """Return the folder to work in: the given one, the one of the thread, or the current one."""
    known = thread.info.metadata.get("workspace")
    where = Path(root) if root is not None else Path(str(known)) if known else Path.cwd()
    if not where.is_dir():
        raise InvalidInput(f"not a folder: {where}", hint="name the folder the agent is to work in")
    return where.resolve()


def builtin_tools(root: Path) -> Tools:
    """Return the standard tools, loaded when first needed."""
    # start-up: an agent exists before its tools are needed
    from backscroll.agent.tools import standard_tools

    return standard_tools(root)


def workroom_of(thread: Thread, root: Path) -> Workroom:
    """Return the workroom of a folder, loaded when first needed."""
    # start-up: only for agents that take snapshots
    from backscroll.engine.folder.workroom import Workroom

    return Workroom(thread, root)


def provider_of(thread: Thread, provider: str | Provider | None) -> Provider | None:
    """Return the provider, by name or from the settings; None if none is configured."""
    if isinstance(provider, Provider):
        return provider
    return choose_provider(provider if provider is not None else thread.engine.settings.provider)
