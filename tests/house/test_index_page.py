"""The page on the package index, and the single place of the version."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import backscroll
from tests.house import tree

TARGET = re.compile(r"\]\(([^)\s]+)\)")


def test_page_links_work_without_a_clone(tmp_path: Path) -> None:
    """Every link of the built page is absolute and names a file in the repository."""
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    built = subprocess.run(build, cwd=tree.ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        name = next(name for name in opened.namelist() if name.endswith("METADATA"))
        about = Parser().parsestr(opened.read(name).decode("utf-8"))
    urls = dict(str(line).split(", ") for line in about.get_all("Project-URL", []))
    assert {"Repository", "Documentation", "Changelog", "Issues"} <= urls.keys()
    assert about["Version"] == backscroll.__version__
    assert about["Description-Content-Type"] == "text/markdown"
    page = str(about.get_payload())
    targets = [t for t in TARGET.findall(page) if not t.startswith("#")]
    assert [t for t in targets if not t.startswith("https://")] == []
    ours = re.compile(re.escape(urls["Repository"]) + rf"/(?:blob|raw)/v{backscroll.__version__}/([^#]+)")
    inside = [found[1] for t in targets if (found := ours.match(t))]
    assert len(inside) > 10
    assert [path for path in inside if not (tree.ROOT / path).exists()] == []
    shown = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page)
    assert shown
    assert all("/raw/" in picture for picture in shown)


def test_version_is_defined_in_one_place() -> None:
    project = tomllib.loads((tree.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["hatch"]["version"]["path"] == "backscroll/__init__.py"
