"""Verify that the oldest versions allowed by pyproject.toml work.

    python tools/floors.py                      every row
    python tools/floors.py sdks --try openai=1.40.0

Each row is a throwaway environment with the lowest version of every package that the row asks for, and the tests that use them.
`--try` sets another version, to look for a lower floor. Needs a package index, so it is not part of `make test`.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
TESTERS = ("pytest", "hypothesis", "pytest-xdist")
_FLOOR = re.compile(r"([A-Za-z0-9._-]+)(?:\[[a-z,]+\])?\s*(?:>=|==)\s*([^,;\s]+)")


class Row(NamedTuple):
    """What is installed, and what has to pass with it."""

    extras: tuple[str, ...]
    tests: tuple[str, ...]


SDKS = ("test_wrapping.py", "test_wrapping_raw.py", "test_wrapping_closing.py")
ROWS: Mapping[str, Row] = {
    "bare": Row((), ("tests/recall", "tests/vocab", "tests/llm/test_tokens.py", "tests/llm/test_encoder.py")),
    "sdks": Row(
        ("openai", "anthropic"), (*(f"tests/surfaces/{name}" for name in SDKS), "tests/llm/test_client.py")
    ),
    "agents": Row(("agents",), ("tests/surfaces/adapters/test_openai_agents.py",)),
    "langchain": Row(("langchain",), ("tests/surfaces/adapters/test_langchain.py",)),
    "pydantic-ai": Row(("pydantic-ai",), ("tests/surfaces/adapters/test_pydantic_ai.py",)),
    "mcp": Row(("mcp",), ("tests/surfaces/mcp",)),
}


def floors_of(lines: Sequence[str]) -> dict[str, str]:
    """The lowest version of each package, by name."""
    return {found[1].lower(): found[2] for line in lines if (found := _FLOOR.match(line))}


def wanted(project: Mapping[str, Any], row: Row, tried: Mapping[str, str]) -> list[str]:
    """What to install for a row, as pip takes it."""
    lines: list[str] = [*project["dependencies"]]
    for extra in row.extras:
        lines += project["optional-dependencies"][extra]
    floors = floors_of(lines)
    pinned = floors | {name: version for name, version in tried.items() if name in floors}
    return [f"{name}=={version}" for name, version in sorted(pinned.items())]


def run(name: str, row: Row, packages: Sequence[str]) -> bool:
    """Install and test; True where the tests passed."""
    with tempfile.TemporaryDirectory(prefix="floors-") as folder:
        place = Path(folder) / "venv"
        venv.create(place, with_pip=True)
        python = str(place / ("Scripts" if sys.platform == "win32" else "bin") / "python")
        uv = shutil.which("uv")
        pip = [uv, "pip", "install", "--python", python] if uv else [python, "-m", "pip", "install"]
        installed = subprocess.run([*pip, "--quiet", *packages, *TESTERS], cwd=folder, check=False)
        if installed.returncode:
            return False
        tests = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "default", *row.tests]
        print(f"floors: {name}: {' '.join(packages)}", flush=True)
        return subprocess.run([python, *tests], cwd=ROOT, check=False).returncode == 0


def main() -> int:
    """Run the rows that were asked for; 1 where one of them failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", nargs="*", default=list(ROWS), choices=[*ROWS, []], metavar="ROW")
    parser.add_argument("--try", dest="tried", action="append", default=[], metavar="NAME=VERSION")
    asked = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    tried = dict(one.split("=", 1) for one in asked.tried)
    passed = {name: run(name, ROWS[name], wanted(project, ROWS[name], tried)) for name in asked.rows}
    for name, well in passed.items():
        print(f"floors: {name}: {'works' if well else 'FAILED'}")
    return 0 if all(passed.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
