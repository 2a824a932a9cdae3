"""Startup is quick because nothing heavy is loaded before it is needed."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.house import tree

#: What takes long to load: services and their SDKs, arrays, drawing, databases.
MODELS = ["anthropic", "httpx", "mcp", "numpy", "openai", "pydantic"]
HEAVY = [*MODELS, "prompt_toolkit", "psycopg", "rich", "watchfiles", "Stemmer"]
#: What the help page of the whole program does without, because each takes as long as the page itself.
BESIDE_HELP = [
    "ast",
    "bz2",
    "click",
    "dataclasses",
    "inspect",
    "json",
    "shutil",
    "sqlite3",
    "backscroll.config",
    "backscroll.engine",
]

#: What a chat does without until the user has typed the first message; it is loaded meanwhile.
BESIDE_CHAT = [
    "markdown_it",
    "pygments",
    "rich.markdown",
    "backscroll.agent.loop.loop",
    "backscroll.agent.tools",
    "backscroll.assemble.validity",
    "backscroll.surfaces.chat.screen.player",
    "backscroll.surfaces.chat.slash.registry",
    "backscroll.workspace.edits.edits",
]
#: What an MCP client that only lists tools does without.
BESIDE_TOOLS = ["anyio", "asyncio", "mcp_types", "backscroll.engine.search.recall"]


def heavy_after(statements: str, names: list[str] = HEAVY) -> list[str]:
    report = f"import json; print('\\n' + json.dumps(sorted(set({names}) & loaded)))"
    program = f"import sys\n{statements}\nloaded = set(sys.modules)\n{report}"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tree.ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_importing_the_package_loads_nothing_heavy() -> None:
    if not (tree.PACKAGE / "__init__.py").exists():
        pytest.skip("there is no backscroll/__init__.py yet")
    assert heavy_after("import backscroll") == []


def test_help_loads_nothing_heavy() -> None:
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
    assert heavy_after(ask, [*HEAVY, *BESIDE_HELP]) == []


def test_chat_is_ready_before_a_model_is_loaded() -> None:
    """Store, agent and input line are ready; what the first answer needs is not loaded yet."""
    ready = """
import backscroll, backscroll.surfaces.chat.app, backscroll.surfaces.chat.input.line, os, pathlib, tempfile
from backscroll.agent.agent import Agent
folder = pathlib.Path(tempfile.mkdtemp())
(folder / "config.toml").write_text('[providers.here]\\nbase_url = "http://127.0.0.1:9/v1"\\nmodel = "m"\\n')
os.environ["BACKSCROLL_CONFIG"] = str(folder / "config.toml")
with backscroll.open(folder / "store.db") as store:
    agent = Agent(store.create("A chat"), root=folder)
    assert agent.model == "m"
    assert agent.unfinished == ""
    assert agent.counted().calls == 0
"""
    assert heavy_after(ready, [*MODELS, *BESIDE_CHAT]) == []


def test_prompt_without_recall_loads_no_arrays() -> None:
    """No lookup if the text is already shown or does not refer to the past."""
    build = """
import backscroll, pathlib, tempfile
with backscroll.open(pathlib.Path(tempfile.mkdtemp()) / "store.db", background=False) as store:
    thread = store.create("Short")
    thread.append("user", "Hello.")
    thread.append("assistant", "Good day.")
    thread.append("user", "Which colour is the gate?")
    assert thread.prompt(budget=4000).messages
"""
    assert heavy_after(build, MODELS) == []


def test_memory_tools_are_offered_before_a_model_is_loaded() -> None:
    """MCP tools and their schemas need neither a service nor arrays."""
    offered = """
import backscroll, pathlib, tempfile
from backscroll.surfaces.mcp.memory_tools import MemoryTools
from backscroll.surfaces.mcp.server import handshake_for, offers
opening = [
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
    b'"clientInfo":{"name":"client","version":"1"}}}',
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
    b'{"jsonrpc":"2.0","id":2,"method":"tools/list"}',
]
with backscroll.open(pathlib.Path(tempfile.mkdtemp()) / "store.db") as store:
    handshake = handshake_for(offers(MemoryTools(store)))
    answers = [handshake.answer(line) for line in opening]
assert b'"serverInfo"' in answers[0]
assert answers[1] == b""
assert b'"inputSchema"' in answers[2]
"""
    assert heavy_after(offered, [*HEAVY, *BESIDE_TOOLS]) == []


def test_garbage_collection_resumes_once_a_store_is_open() -> None:
    """It is off while the program loads, and no longer."""
    opened = """
import gc, pathlib, tempfile
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.garbage import pause_collection
pause_collection()
assert not gc.isenabled()
with CliSession(store=str(pathlib.Path(tempfile.mkdtemp()) / "store.db")).engine(make=True):
    assert gc.isenabled()
    assert gc.get_freeze_count()
"""
    assert heavy_after(opened, MODELS) == []
