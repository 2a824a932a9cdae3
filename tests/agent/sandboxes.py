"""Sandboxes for tests: a working folder, a folder beside it, and something secret; none of them in a temporary folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from backscroll.agent.commands import sandbox as sandboxes
from backscroll.agent.commands.commands import CommandResult, run
from backscroll.agent.commands.sandbox import KernelSupport, Sandbox, holds

ABLE = holds()
needs_landlock = pytest.mark.skipif(ABLE.interface == 0, reason="this kernel has no Landlock")
needs_namespaces = pytest.mark.skipif(not ABLE.namespaces, reason="this system gives us no namespaces")
#: What systems can hold: all that this one can, and no more than Landlock and the filter.
SYSTEMS = [
    pytest.param(ABLE, id="all", marks=needs_landlock),
    pytest.param(replace(ABLE, namespaces=False), id="without-namespaces", marks=needs_landlock),
]
SECRET = "the cave is behind the waterfall"


@dataclass
class Yard:
    """A sandbox around `root`; `other` lies beside it, `secret` is protected."""

    root: Path
    other: Path
    secret: Path
    sandbox: Sandbox

    def run(self, line: str, seconds: float = 60.0) -> CommandResult:
        """A command line in the sandbox."""
        return run(line, self.root, seconds=seconds, sandbox=self.sandbox)

    def others(self) -> dict[str, str]:
        """Everything in the folder beside it."""
        return {
            str(p.relative_to(self.other)): p.read_text() if p.is_file() else ""
            for p in sorted(self.other.rglob("*"))
        }


def yard(tmp_path: Path, mode: str = "workspace", network: str = "allow") -> Yard:
    """Folders as a command finds them."""
    root, other, secret = tmp_path / "work", tmp_path / "other", tmp_path / "secret"
    for each in (root, other, secret):
        each.mkdir()
    (root / "own").write_text("own\n")
    (other / "keep").write_text("kept\n")
    (secret / "store.db").write_text(SECRET)
    made = Sandbox(mode, network, root.resolve(), protected=(secret,))
    return Yard(root.resolve(), other.resolve(), secret.resolve(), made)


def only(monkeypatch: pytest.MonkeyPatch, able: KernelSupport) -> None:
    """From here on the system can hold just this."""
    monkeypatch.setattr(sandboxes, "holds", lambda: able)
