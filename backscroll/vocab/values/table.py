"""Read data tables of the package: words, weights and prompts in TOML files.

Nothing is cached here: callers cache what they build from a table.
"""

from __future__ import annotations

from typing import Any


def read_table(package: str, name: str) -> dict[str, Any]:
    """Read the TOML file `name` beside the modules of `package` (`backscroll.graph`)."""
    import tomllib
    from importlib import resources

    return tomllib.loads(resources.files(package).joinpath(name).read_text(encoding="utf-8"))
