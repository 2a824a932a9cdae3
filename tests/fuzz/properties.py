"""Fuzz the properties of the whole suite: the same tests as ever, with examples that nobody has seen.

`make test` runs them with fixed examples, so that here they need no seeds of their own. The seed is hypothesis's: what fails is
shrunk by it, and the same seed gives the same failure.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

SEEDS: Sequence[int] = ()
ROOT = Path(__file__).resolve().parents[2]
_TOLD = 6000  # characters of what pytest says


def fuzz(seed: int, folder: Path) -> None:
    """Run one file of property tests."""
    chosen = random.Random(seed).choice(files())
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-x", str(chosen), f"--hypothesis-seed={seed}"),
        *("-p", "no:cacheprovider", f"--basetemp={folder / 'pytest'}"),
    ]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "HYPOTHESIS_PROFILE": "fresh"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (
        f"{chosen.relative_to(ROOT)}, exit code {done.returncode}:\n{done.stdout[-_TOLD:]}"
    )


def files() -> list[Path]:
    """Every file with property tests."""
    found = (ROOT / "tests").rglob("test_*.py")
    return sorted(
        path
        for path in found
        if "import hypothesis" in (text := path.read_text("utf-8")) or "from hypothesis" in text
    )
