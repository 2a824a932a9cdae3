"""Starting is quick because nothing heavy is loaded before it is needed."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.house import tree

HEAVY = ["psycopg", "rich", "watchfiles", "Stemmer"]
REPORT = f"import json; print('\\n' + json.dumps([name for name in {HEAVY} if name in sys.modules]))"


def heavy_after(statements: str) -> list[str]:
    program = f"import sys\n{statements}\n{REPORT}"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tree.ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_importing_the_package_loads_nothing_heavy() -> None:
    if not (tree.PACKAGE / "__init__.py").exists():
        pytest.skip("there is no backscroll/__init__.py yet")
    assert heavy_after("import backscroll") == []


def test_asking_for_help_loads_nothing_heavy() -> None:
    if not (tree.PACKAGE / "surfaces" / "cli" / "main.py").exists():
        pytest.skip("there is no command line yet")
    ask = """
from backscroll.surfaces.cli.main import main
sys.argv = ["backscroll", "--help"]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
"""
    assert heavy_after(ask) == []
