"""Every dependency is pinned, and the wheel contains what the package needs."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.house import tree

REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def asked_for() -> set[str]:
    project = tomllib.loads((tree.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [
        *project["build-system"]["requires"],
        *project["project"]["dependencies"],
        *(line for extra in project["project"]["optional-dependencies"].values() for line in extra),
    ]
    names = {normal(match.group()) for line in wanted if (match := REQUIREMENT.match(line))}
    return names - {"backscroll"}


def test_dependencies_are_pinned() -> None:
    lines = (tree.ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert [pin for pin in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", pin)] == []
    pinned = {normal(pin.split("==")[0]) for pin in pins}
    assert asked_for() - pinned == set()
    assert len(pinned) == len(pins)


@pytest.mark.skipif(not tree.tracked(), reason="not a clone: there is no list of tracked files")
def test_wheel_contains_every_file_of_the_package(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    built = subprocess.run(build, cwd=tree.ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    inside = set(zipfile.ZipFile(wheel).namelist())
    ours = {tree.name(path) for path in tree.tracked() if path.is_relative_to(tree.PACKAGE)}
    assert ours - inside == set()
    assert "backscroll/py.typed" in inside
    assert not any(name.startswith(("tests/", "bench/")) for name in inside)


@pytest.mark.parametrize(
    ("target", "extras"),
    [("run", "openai,anthropic"), ("setup", "dev"), ("format", "dev"), ("test", "dev"), ("docs", "dev,docs")],
)
def test_make_target_installs_what_it_needs(target: str, extras: str, tmp_path: Path) -> None:
    """`make run` sets up what the chat needs, and installs nothing in either state."""
    venv = tmp_path / "venv"
    venv.mkdir()
    ask = ["make", "--dry-run", target, f"VENV={venv}"]
    told = subprocess.run(ask, cwd=tree.ROOT, capture_output=True, text=True, check=True).stdout
    found = re.search(r"tools/setup (\S+) (\S+) (\S+)", told)
    assert found is not None, told
    assert (found[1], found[3]) == (str(venv), extras)
    Path(found[2]).touch()
    again = subprocess.run(ask, cwd=tree.ROOT, capture_output=True, text=True, check=True).stdout
    assert "tools/setup" not in again


def test_every_dependency_has_a_lower_bound() -> None:
    """`tools/floors.py` installs the lowest version of each, so each must declare it."""
    project = tomllib.loads((tree.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *(one for extra in extras.values() for one in extra)]
    assert [
        line for line in lines if not re.search(r"(>=|==)\s*\d", line) and "backscroll[" not in line
    ] == []
