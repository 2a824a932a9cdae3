"""Tables beside the code: words, weights and prompts in TOML files of the package.

Refuses to remember them: the caller caches what it makes of a table.
"""

from __future__ import annotations

from typing import Any


def read_table(package: str, name: str) -> dict[str, Any]:
    """Read the TOML file `name` beside the modules of `package` (`backscroll.graph`)."""
    import tomllib
    from importlib import resources

    return tomllib.loads(resources.files(package).joinpath(name).read_text(encoding="utf-8"))
