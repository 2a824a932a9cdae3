"""A scripted model in a process of its own, as users start it: `python -m backscroll.testing`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import programs
from tests.house import tree


@dataclass(frozen=True)
class Scripted:
    """A server that runs."""

    url: str
    log: Path

    def seen(self) -> list[Any]:
        """What was logged so far: requests, and how they ended."""
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]


@contextmanager
def scripted(folder: Path, lines: Sequence[Mapping[str, Any]], **server: Any) -> Generator[Scripted]:
    """Serve these lines until the block ends."""
    scenario, log = folder / "scenario.json", folder / "requests.jsonl"
    scenario.write_text(json.dumps({"server": server, "line": list(lines)}), encoding="utf-8")
    log.touch()
    command = [sys.executable, "-m", "backscroll.testing", str(scenario), "--log", str(log)]
    environment = os.environ | {"PYTHONPATH": str(tree.ROOT)}
    with programs.start(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            assert url.startswith("http://127.0.0.1:"), "the server did not start"
            yield Scripted(url, log)
        finally:
            process.kill()
