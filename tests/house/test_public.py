"""What programs may import: flat paths, the types of arguments, and how little an import costs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import types
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

import backscroll
from backscroll.config import CHOICES, TABLES, Settings
from backscroll.options import OpenOptions
from backscroll.vocab.message import ROLES
from backscroll.vocab.prompt import WIRES
from tests.house import tree

PATHS = {
    "langchain": ("backscroll.surfaces.adapters.langchain", "BackscrollMiddleware"),
    "openai_agents": ("backscroll.surfaces.adapters.openai_agents", "BackscrollSession"),
    "pydantic_ai": ("backscroll.surfaces.adapters.pydantic_ai", "BackscrollMemory"),
    "tool": ("backscroll.agent.toolbox", "Toolbox"),
}
#: A program with mistakes; every line that ends in `# wrong` has to be refused by the type checker, and no other.
MISTAKEN = """\
import backscroll
from backscroll import Prompt, Receipt, Role, tool
from backscroll.tool import ToolContext

with backscroll.open("notes.db", actor="ann", budget=8000, wire="anthropic") as store:
    thread = store.create("Tides")
    role: Role = "assistant"
    thread.append("user", "Hello")
    thread.append(role, [{"type": "text", "text": "Hello"}])
    thread.append("usr", "Hello")  # wrong
    thread.insert("bot", "Hello")  # wrong
    prompt: Prompt = thread.prompt(8000, wire="openai-chat")
    receipt: Receipt = prompt.receipt
    thread.prompt(8000, wire="openai")  # wrong
    thread.recall("tides", scope="project")
    thread.recall("tides", scope="everywhere")  # wrong
    thread.memory.list(scope="world")  # wrong
backscroll.check([], "claude")  # wrong
backscroll.open("notes.db", budgte=8000)  # wrong
backscroll.open("notes.db", agent_approval="never")  # wrong
backscroll.open("notes.db", budget="large")  # wrong


@tool
def tide(harbour: str, context: ToolContext) -> str:
    return harbour
"""


@pytest.mark.parametrize("path", PATHS)
def test_flat_paths_give_the_same_objects_as_the_old_ones(path: str) -> None:
    old, name = PATHS[path]
    program = f"""
import sys, importlib, backscroll
assert "backscroll.{path}" not in sys.modules
flat = backscroll.{path}
assert importlib.import_module("backscroll.{path}") is flat
assert flat.{name} is importlib.import_module({old!r}).{name}
assert all(hasattr(flat, public) for public in flat.__all__)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tree.ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_tool_decorator_works_under_every_path() -> None:
    from backscroll import tool
    from backscroll.tool import tool as same

    def tide(harbour: str) -> str:
        """Look up the tide.

        harbour: its name
        """
        return harbour

    made = [decorate(tide) for decorate in (tool, same, backscroll.tool)]
    assert [one.name for one in made] == ["tide"] * 3
    assert backscroll.tool(effect="read")(tide).effect == "read"


def test_importing_the_package_imports_only_the_package() -> None:
    """Names load on first use: `import backscroll` loads the package itself and nothing else of ours."""
    program = "import sys, backscroll; print([n for n in sys.modules if n.startswith('backscroll.')])"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tree.ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def _without_none(hint: Any) -> Any:
    assert get_origin(hint) is types.UnionType or type(None) in get_args(hint), hint
    kinds = [kind for kind in get_args(hint) if kind is not type(None)]
    return Literal[tuple(kinds)] if all(isinstance(k, str) for k in kinds) else kinds[0]


def test_open_options_match_the_settings() -> None:
    typed = {name: _without_none(hint) for name, hint in get_type_hints(OpenOptions).items()}
    known = {field.name: type(field.default) for field in fields(Settings) if field.name != "store"}
    assert typed.keys() == known.keys() | set(TABLES)
    choices = {**CHOICES, "wire": WIRES, "recall_scope": get_args(backscroll.Scope)}
    for name, kind in known.items():
        if name in choices:
            assert get_args(typed[name]) == choices[name], name
        else:
            assert typed[name] is kind, name
    assert all(get_origin(typed[table]) is Mapping for table in TABLES)
    assert get_args(backscroll.Role) == ROLES


@pytest.mark.skipif(shutil.which("node") is None, reason="pyright needs Node")
def test_type_checker_reports_wrong_arguments(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(MISTAKEN, encoding="utf-8")
    (tmp_path / "pyrightconfig.json").write_text(
        json.dumps({"extraPaths": [str(tree.ROOT)], "pythonVersion": "3.11", "include": ["program.py"]}),
        encoding="utf-8",
    )
    checked = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "-p", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    said = json.loads(checked.stdout)["generalDiagnostics"]
    found = sorted({one["range"]["start"]["line"] + 1 for one in said if one["severity"] == "error"})
    wanted = [n for n, line in enumerate(MISTAKEN.splitlines(), 1) if line.endswith("# wrong")]
    assert found == wanted, said
