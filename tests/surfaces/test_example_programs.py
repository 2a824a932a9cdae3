"""The programs in `examples/` run, each against its scripted model over HTTP; those of other frameworks beside their adapters' tests."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from backscroll.errors import MissingExtra
from backscroll.testing import ScriptedServer
from tests.house import tree

EXAMPLES = tree.ROOT / "examples"
#: Where each example is run.
RUN_IN = {
    "wrapped_clients.py": "tests/surfaces/test_example_programs.py",
    "own_agent.py": "tests/surfaces/test_example_programs.py",
    "openai_agents_session.py": "tests/surfaces/adapters/test_openai_agents.py",
    "langchain_agent.py": "tests/surfaces/adapters/test_langchain.py",
    "pydantic_ai_agent.py": "tests/surfaces/adapters/test_pydantic_ai.py",
}


def loaded(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name.removesuffix(".py"), EXAMPLES / name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_is_run_by_a_test() -> None:
    assert sorted(path.name for path in EXAMPLES.glob("*.py")) == sorted(RUN_IN)
    for name, where in RUN_IN.items():
        assert name.removesuffix(".py") in (tree.ROOT / where).read_text(encoding="utf-8")


def test_three_wrapped_programs_share_a_memory(tmp_path: Path) -> None:
    """Each knows what was said to the ones before, though it sends only its own messages."""
    example = loaded("wrapped_clients.py")
    with ScriptedServer(example.SCRIPT) as server:
        assert example.main(server.url, tmp_path) == [
            "The oak.",
            "A thousand years.",
            "It was the oak.",
            "6 messages",
        ]


def test_agent_runs_custom_tools(tmp_path: Path) -> None:
    """A decorated function and a class, once in a run and once in an asynchronous stream."""
    example = loaded("own_agent.py")
    with ScriptedServer(example.SCRIPT) as server:
        assert example.main(server.url, tmp_path) == [
            "2.1 metres.",
            'ships: ["Oslo 1", "Oslo 2"]',
            "Two.",
            "answered after 2 steps",
            "4 calls",
        ]


@pytest.mark.parametrize(
    ("adapter", "module", "extra"),
    [
        ("openai_agents", "agents.memory.session_settings", "agents"),
        ("langchain_messages", "langchain_core.messages", "langchain"),
        ("pydantic_ai_messages", "pydantic_ai.messages", "pydantic-ai"),
    ],
)
def test_adapter_without_its_framework_names_the_extra(
    adapter: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module.partition(".")[0], None)  # as if it were not installed
    monkeypatch.setitem(sys.modules, module, None)
    path = tree.PACKAGE / "surfaces" / "adapters" / f"{adapter}.py"
    spec = importlib.util.spec_from_file_location(f"without_{adapter}", path)
    assert spec is not None
    assert spec.loader is not None
    with pytest.raises(MissingExtra) as caught:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    assert caught.value.hint == f"pip install 'backscroll[{extra}]'"
