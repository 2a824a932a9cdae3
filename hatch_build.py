"""The page of the package index: the README, with links that work there.

On the index there are no files beside the README. Links into the repository become addresses of this version in it, pictures
addresses of their bytes; the README itself keeps links that work in a clone.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

#: `[text](target)` or `![text](target)`, where the target is a file of the repository.
_LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?!https?://|#|mailto:)(?P<target>[^)\s]+)\)")


def absolute(text: str, repository: str, version: str) -> str:
    """The text with every link into the repository as an address of this version."""

    def linked(found: re.Match[str]) -> str:
        kind = "raw" if found["picture"] else "blob"
        return f"{found['picture']}[{found['text']}]({repository}/{kind}/v{version}/{found['target']})"

    return _LINK.sub(linked, text)


class IndexPage(MetadataHookInterface):
    """Sets the field `readme` of the project."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling with the other fields, the version included."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        made = absolute(text, metadata["urls"]["Repository"], metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": made}
