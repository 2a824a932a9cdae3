"""The page about the command line agrees with the program."""

from __future__ import annotations

import subprocess
import sys

from backscroll.surfaces.cli.catalogue import MODULES
from tests.house import tree

PAGE = tree.ROOT / "docs" / "cli.md"


def test_page_is_up_to_date() -> None:
    """docs/generate_cli.py writes it."""
    check = [sys.executable, str(tree.ROOT / "docs" / "generate_cli.py"), "--check"]
    done = subprocess.run(
        check, cwd=tree.ROOT, env={"PYTHONPATH": str(tree.ROOT)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_page_has_every_command() -> None:
    """Nothing that can be called is missing."""
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in MODULES if f"\n### {name}\n" not in text] == []
