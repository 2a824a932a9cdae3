"""Every public call, with arguments of the wrong type and of an odd shape: an error of ours with a hint, and nothing written."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll.agent.agent import Agent
from backscroll.engine.core import signatures
from backscroll.engine.core.history import History
from backscroll.engine.core.thread_scope import EngineScope, ThreadScope
from backscroll.engine.directory import ThreadDirectory
from backscroll.engine.engine import Engine
from backscroll.engine.folder.folder_scope import FolderScope
from backscroll.engine.folder.workroom import Workroom
from backscroll.engine.knowledge.graph import ThreadGraph
from backscroll.engine.knowledge.turn_states import ThreadWindow
from backscroll.engine.thread import Thread
from backscroll.engine.thread_knowledge import ThreadKnowledge
from backscroll.engine.work.memory.thread_memory import ThreadMemory
from backscroll.engine.work.tasks import Tasks
from backscroll.errors import BackscrollError, InvalidInput
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Text, ToolCall, ToolResult

#: Old names are called here too; that they warn is tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore:.* is deprecated:DeprecationWarning")

HELD = (
    Engine,
    ThreadDirectory,
    EngineScope,
    Thread,
    ThreadScope,
    History,
    ThreadKnowledge,
    Tasks,
    ThreadGraph,
    ThreadMemory,
    ThreadWindow,
    Workroom,
    Agent,
)
#: Values of every type, and odd ones of the right type.
ODD: tuple[Any, ...] = (
    None, True, -1, 10**30, 1.5, "", "\ud83d", "a\0b", b"x", [5], {"a": 1}, object(),
)  # fmt: skip
#: Calls that end or take over the engine, wait for something outside, or hand out the parts that it is made of.
LEFT_OUT = {
    "Engine.close", "Engine.watch", "Engine.worker", "Engine.discover", "Engine.doctor", "EngineScope.begin", "EngineScope.begin_once",
    "EngineScope.notify_change", "EngineScope.on_change", "EngineScope.on_close", "EngineScope.worker", "ThreadScope.stroke", "History.reading",
    "Agent.close",
}  # fmt: skip
#: Arguments that make a call sensible, so that only the odd one is odd.
FITTING: dict[str, Any] = {
    "role": "user", "content": "hello", "text": "words", "name": "Ellie", "title": "A title", "budget": 8000,
    "direction": "top", "amount": 2, "handle": "[bs:2]", "question": "harbour", "query": "harbour", "line": "true",
    "description": "changed", "file_path": "a.py", "result": "done", "feedback": "no", "node": "Ellie", "predicate": "lives in",
    "turn": 1, "turns": [1], "event": 1, "which": 0, "n": 2, "paths": [], "path": "missing.jsonl", "target": "out.db",
    "tokenizer": "x", "revisions": [], "counts": {}, "data": b"x", "digest": "0" * 64, "format": "native", "threads": None,
    "actor": "somebody", "seqs": [1], "messages": [],
}  # fmt: skip


def calls() -> Iterator[tuple[type, str]]:
    for owner in HELD:
        for name, work in vars(owner).items():
            if (
                not name.startswith("_")
                and inspect.isfunction(work)
                and f"{owner.__name__}.{name}" not in LEFT_OUT
            ):
                yield owner, name


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with backscroll.open(tmp_path_factory.mktemp("doors") / "store.db", background=False) as opened:
        yield opened


@pytest.fixture(scope="module")
def thread(store: Engine) -> Thread:
    made = store.create("doors")
    made.append("system", "Be brief.")
    for n in range(3):
        made.append("user", f"Ellie lives in harbour {n}.")
        made.append("assistant", [Text("I look."), ToolCall(f"c{n}", "Read", {"path": "a.py"})])
        made.append("tool", [ToolResult(f"c{n}", (Text("x = 1"),), name="Read")])
    made.append("user", "Go on.")
    return made


def held(owner: type, store: Engine, thread: Thread, folder: Path) -> Any:
    """An instance of each class that users hold."""
    known: dict[type, Callable[[], Any]] = {
        Engine: lambda: store,
        ThreadDirectory: lambda: store,
        EngineScope: lambda: store,
        Thread: lambda: thread,
        ThreadKnowledge: lambda: thread,
        ThreadScope: lambda: thread,
        History: lambda: thread.at(thread.head),
        Tasks: lambda: thread.tasks,
        ThreadGraph: lambda: thread.graph,
        ThreadMemory: lambda: thread.memory,
        ThreadWindow: lambda: thread.window,
        Workroom: lambda: thread.workroom(folder),
        FolderScope: lambda: thread.workroom(folder),
        Agent: lambda: Agent(thread, root=folder),
    }
    return known[owner]()


def fitting(name: str, parameter: inspect.Parameter, thread: Thread) -> Any:
    text = str(parameter.annotation)
    if name == "thread":
        return thread.id
    if name in FITTING:
        return FITTING[name]
    if "Ref" in text:
        return next((m.id for m in thread), Ref(thread.id, 1))
    return "x" if "str" in text else 1 if "int" in text else None


def spent(result: Any) -> None:
    """Read a little of what is only read when asked for."""
    if inspect.isgenerator(result):
        for _ in zip(range(3), result, strict=False):
            continue
        result.close()


def written(store: Engine) -> dict[str, int]:
    """How much of everything that is logged there is; what is derived may be made by looking."""
    logged = ("threads", "events", "messages", "revisions", "blobs", "charges")
    return {name: count for name, count in store.stats().items() if name in logged}


@pytest.mark.parametrize(
    ("owner", "name"), list(calls()), ids=lambda value: getattr(value, "__name__", value)
)
def test_invalid_arguments_of_public_methods_raise_clear_errors(
    owner: type, name: str, store: Engine, thread: Thread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any value in any argument either works or raises our own error and writes nothing."""
    monkeypatch.chdir(tmp_path)
    parameters = list(inspect.signature(getattr(owner, name)).parameters.values())[1:]
    needed = [
        p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    for parameter in parameters:
        if parameter.kind is parameter.VAR_KEYWORD or "Callable" in str(parameter.annotation):
            continue
        mine = thread.fork()  # what works changes a copy
        target = held(owner, store, mine, tmp_path)
        for value in ODD if str(parameter.annotation) != "bool" else ODD[-1:]:
            named = {p.name: fitting(p.name, p, mine) for p in needed if p is not parameter}
            args: tuple[Any, ...] = ()
            if parameter.kind is parameter.VAR_POSITIONAL:
                args, named = (*named.values(), value), {}
            else:
                named[parameter.name] = value
            before = written(store)
            try:
                spent(getattr(target, name)(*args, **named))
            except BackscrollError as error:
                assert error.message, (owner, name, parameter.name, value)  # noqa: PT017 - what is raised is the point
                assert written(store) == before, (owner, name, parameter.name, value)
            except Exception as error:
                raise AssertionError(
                    f"{owner.__name__}.{name}({parameter.name}={value!r}): {error!r}"
                ) from error
        if isinstance(target, Agent):
            target.close()


@pytest.mark.parametrize("value", [5, None, 1.5, b"x", ["x"], object()])
def test_invalid_id_error_names_argument_and_type(store: Engine, thread: Thread, value: Any) -> None:
    """The error names the method, and the hint says what the argument takes."""
    with pytest.raises(InvalidInput, match=r"Engine\.thread: name cannot be") as caught:
        store.thread(value)
    assert caught.value.hint == "name takes str"
    with pytest.raises(InvalidInput):
        thread.expand(value)


@pytest.mark.parametrize(
    "tools", [[{}], [{"type": "function"}], [{"name": ""}], [{"name": 5}], [{"name": "x", "y": {1}}], "x", {}]
)
def test_tools_without_a_name_are_refused(thread: Thread, tools: Any) -> None:
    for wire in ("openai-chat", "openai-responses", "anthropic"):
        with pytest.raises(InvalidInput, match="tool") as caught:
            thread.prompt(8000, tools=tools, wire=wire, dry_run=True)
        assert caught.value.hint


@pytest.mark.filterwarnings("ignore:backscroll.llm.scripted is deprecated")
def test_every_type_in_a_public_signature_is_known() -> None:
    """Argument checks know every class and alias used in public signatures."""
    named: set[str] = set()
    for owner, name in calls():
        for parameter in inspect.signature(getattr(owner, name)).parameters.values():
            if parameter.annotation is not parameter.empty:
                for node in ast.walk(ast.parse(parameter.annotation, mode="eval")):
                    named |= {node.id} if isinstance(node, ast.Name) else set()
                    named |= {node.attr} if isinstance(node, ast.Attribute) else set()
    classes: set[str] = set()
    for module in pkgutil.walk_packages(backscroll.__path__, "backscroll."):
        if module.name.startswith(
            ("backscroll.vocab", "backscroll.engine", "backscroll.record", "backscroll.llm.clients.client")
        ):
            found = vars(importlib.import_module(module.name)).values()
            classes |= {value.__name__ for value in found if inspect.isclass(value)}
    plain = set(signatures._PLAIN) | signatures._LISTS | signatures.OPEN | signatures.SHAPES
    modules = {"os", "threading", "tasking_verdict"}
    assert named - plain - classes - modules == set()
