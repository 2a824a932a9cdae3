"""Paths of the settings, the store and the permissions on this system.

Separate from `config`, which declares every setting and takes too long to load for a help page.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

#: File name extensions of YAML.
YAML = (".yaml", ".yml")


def config_file() -> Path:
    """Return the path of the configuration file, whether or not it exists."""
    named = os.environ.get("BACKSCROLL_CONFIG")
    if named:
        return Path(named).expanduser()
    usual = _folder("XDG_CONFIG_HOME", ".config") / "config.toml"
    if not usual.exists():
        for suffix in YAML:
            if (other := usual.with_suffix(suffix)).exists():
                return other
    return usual


def default_store() -> Path:
    """Return the path of the store that is used by default."""
    return _folder("XDG_DATA_HOME", ".local/share") / "backscroll.db"


def permissions_file() -> Path:
    """Return the path of the agent's permissions: always here, even if the settings are elsewhere, so that no agent can reach it."""
    return _folder("XDG_CONFIG_HOME", ".config") / "permissions.toml"


def _folder(variable: str, usual: str) -> Path:
    """Return our folder in the system's usual place."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "backscroll"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "backscroll"
    named = os.environ.get(variable, "")
    return (Path(named) if Path(named).is_absolute() else Path.home() / usual) / "backscroll"
