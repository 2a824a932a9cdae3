"""Old names work for one release, and name their replacement."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll.engine.engine import Engine
from backscroll.surfaces.cli.runner import run
from backscroll.surfaces.mcp.memory_tools import MemoryTools
from backscroll.surfaces.mcp.server import offers


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """A store with one thread and one task."""
    monkeypatch.setenv("BACKSCROLL_STORE", str(tmp_path / "store.db"))
    engine = backscroll.open(tmp_path / "store.db")
    thread = engine.create("A tale")
    thread.append("user", "Ellie is an elf. The harbour is closed.")
    thread.tasks.start("a task")
    return engine


def test_old_python_names_warn(engine: Engine) -> None:
    """With the new name and the line that used the old one; the result is the same."""
    thread = next(engine.thread(info.id) for info in engine.threads())
    with pytest.warns(DeprecationWarning, match=r"thread\.graph\.flush\(\)") as told:
        thread.window.flush()
    assert told[0].filename == __file__
    with pytest.warns(DeprecationWarning, match=r"graph\.current\(\)") as told:
        view = thread.graph.view
    assert told[0].filename == __file__
    assert view.find("Ellie") == thread.graph.current().find("Ellie") is not None
    with pytest.warns(DeprecationWarning, match=r"thread\.summary\(\)"):
        assert thread.context_summary() == thread.summary()
    with pytest.warns(DeprecationWarning, match=r"tasks\.rename\(\)"):
        assert thread.tasks.title("another").title == "another"
    with pytest.warns(DeprecationWarning, match=r"thread\.extend\(\)"):
        assert [m.text for m in thread.append_many([("user", "hello")])] == ["hello"]
    with pytest.warns(DeprecationWarning, match="query=") as told:
        found = engine.search(text="harbour")  # pyright: ignore[reportCallIssue]
    assert told[0].filename == __file__
    assert [hit.message for hit in found.hits] == [hit.message for hit in engine.search("harbour").hits]
    engine.close()


def test_old_mcp_arguments_work(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    """`recall(question)` and `search(words)` answer as `query` does; the server's log says so."""
    known = offers(MemoryTools(engine))
    for tool, old in (("recall", "question"), ("search", "words")):
        assert known[tool].answer({old: "harbour"}) == known[tool].answer({"query": "harbour"})
        assert capsys.readouterr().err == f"warning: argument {old} is deprecated: use query\n"
        schema: Any = known[tool].signature.schema
        assert old not in schema["properties"]
    engine.close()


@pytest.mark.parametrize(
    ("old", "new"), [("tools last", "operations last"), ("task title last other", "task rename last other")]
)
def test_old_commands_warn(old: str, new: str, engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    """The result is the same; the warning goes to standard error, as JSON if the result is JSON."""
    engine.close()
    assert run(new.split()) == 0
    now = capsys.readouterr()
    assert run(old.split()) == 0
    then = capsys.readouterr()
    assert then.out == now.out
    assert now.err == ""
    assert then.err.startswith("warning: `backscroll ")
    assert run([*old.split(), "--json"]) == 0
    then = capsys.readouterr()
    assert json.loads(then.out) is not None
    assert json.loads(then.err)["warning"].startswith("warning: `backscroll ")
