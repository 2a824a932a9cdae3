"""What no file of the repository may contain, and what it must contain."""

from __future__ import annotations

import os
import re

import pytest

from tests.house import tree

# Put together from pieces, so that this file does not contain what it forbids.
FORBIDDEN = {
    "the address of a package index": [
        "pypi" + r"\.org",
        "python" + "hosted",
        "npm" + r"js\.(?:org|com)",
        "npm" + "mirror",
        r"deb\." + r"debian\.org",
        "index" + "-url",
        "extra" + "-index",
    ],
    "a path of somebody's machine": [
        r"(?<![\w.])/(?:" + "|".join(["wo" + "rk", "fa" + "rm", "ro" + "ot"]) + ")/"
    ],
}

pytestmark = pytest.mark.skipif(not tree.tracked(), reason="not a clone: there is no list of tracked files")


@pytest.mark.parametrize(("what", "patterns"), FORBIDDEN.items(), ids=list(FORBIDDEN))
def test_repository_contains_nothing_of_one_machine(what: str, patterns: list[str]) -> None:
    pattern = re.compile("|".join(patterns), re.IGNORECASE)
    found: list[str] = []
    for path in tree.tracked():
        if path.suffix.lower() in tree.BINARY:
            continue
        text = path.read_bytes().decode("utf-8", errors="replace")
        found += [
            f"{tree.name(path)}:{text.count(chr(10), 0, match.start()) + 1}: {match.group()}"
            for match in pattern.finditer(text)
        ]
    assert found == [], what


def test_agents_map_is_short() -> None:
    assert len((tree.ROOT / "AGENTS.md").read_text(encoding="utf-8").splitlines()) < 60


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_readme_is_short(name: str) -> None:
    """Everything that does not fit is a page in docs/."""
    page = tree.ROOT / name
    assert page.stat().st_size < 8_000
    tables = re.findall(r"(?m)^\|(?! ---)", page.read_text(encoding="utf-8"))
    assert len(tables) <= 9, "a comparison of at most eight rows"


def test_ci_runs_make_test_and_nothing_else() -> None:
    script = tree.ROOT / ".ci" / "run"
    commands = [line for line in script.read_text().splitlines() if line and not line.startswith("#")]
    assert os.access(script, os.X_OK)
    assert commands[-1].endswith("exec make test")
    assert all(line.startswith(("set ", "cd ", "echo ")) for line in commands[:-1])
