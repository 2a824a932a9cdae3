"""Measure what the user of the agent waits for, in processor time: startup, the first answer, snapshots, very long results.

    python -m bench.agent [start first long snapshots huge] [--files 5000] [--messages 10000]

Processor time of the process and its children, because other work on the machine does not change it. Cold measurements run in
a process of their own.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import backscroll
from backscroll.agent.agent import Agent
from backscroll.agent.warmup import AgentWarmup
from backscroll.engine.folder.workroom import Workroom
from backscroll.engine.tree.tree import catch_up
from backscroll.llm.provider import Kind, Provider
from backscroll.testing import Line, Scenario, ScriptedServer
from backscroll.vocab.change import Cause
from backscroll.vocab.message import Content
from backscroll.vocab.part import Text, ToolCall, ToolResult
from bench.prompts import filled

Row = tuple[str, str]
_CHANGES = 100


def _spent() -> float:
    took = os.times()
    return took.user + took.system + took.children_user + took.children_system


def _ms(work: Callable[[], Any]) -> str:
    began = _spent()
    work()
    return f"{(_spent() - began) * 1000:,.0f} ms"


def _process(folder: Path, *words: str) -> str:
    """Return the processor time of a process in an empty folder."""
    (folder / "empty").mkdir(exist_ok=True)
    run = [sys.executable, *words]
    return _ms(
        lambda: subprocess.run(run, cwd=folder / "empty", check=True, capture_output=True, timeout=600)
    )


# -- what is measured --------------------------------------------------------------------------------------------


def start(folder: Path, _options: Namespace) -> Iterator[Row]:
    """Measure whole processes."""
    store = ["-m", "backscroll", "--store", str(folder / "start.db")]
    yield "`backscroll --help`", _process(folder, "-m", "backscroll", "--help")
    yield (
        "`backscroll run` offline, with its answer",
        _process(folder, *store, "run", "What did we say about cheese?"),
    )
    chat = "import backscroll.surfaces.chat.app, backscroll.agent.agent, backscroll.agent.tools"
    yield "what a chat loads before its prompt stands", _process(folder, "-c", chat)


def first(folder: Path, _options: Namespace) -> Iterator[Row]:
    """Measure the first answers of a process, cold and after the loading that happens while the user types."""
    for kind in ("offline", "openai", "anthropic"):
        with ScriptedServer(Scenario(lines=(Line(text="Nothing."),))) as server:
            for warm in ("", "warm"):
                store = str(folder / f"first-{kind}{warm}.db")
                words = [sys.executable, "-m", "bench.agent", "--one", kind, server.url, store, warm]
                done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=600)
                name = f"first answer, {kind}" + (", after warming" if warm else "")
                yield name, done.stdout.strip().splitlines()[-1]


def one_answer(kind: str, url: str, store: str, warm: str) -> None:
    """Print the times of the first and second answer; runs in a process of its own."""
    where = url.removesuffix("/v1") if kind == "anthropic" else url
    provider = (
        None
        if kind == "offline"
        else Provider("here", kind=cast("Kind", kind), base_url=where, model="gpt-5", tries=1)
    )
    root = Path(store).with_suffix("")
    root.mkdir()
    with (
        backscroll.open(store, background=False) as engine,
        Agent(engine.create("t"), provider=provider, root=root) as agent,
    ):
        if warm:
            AgentWarmup(agent).run()
        took = [_ms(lambda words=words: agent.run(words)) for words in ("What of the cheese?", "And bread?")]
    print(f"{took[0]} (the next one {took[1]})")


def long(folder: Path, options: Namespace) -> Iterator[Row]:
    """Measure the first prompt of a process in a long thread."""
    store = folder / "long.db"
    with backscroll.open(store, background=False) as engine:
        thread = filled(engine, options.messages).id
        catch_up(engine, thread)
    code = (
        "import sys, backscroll; from bench.agent import _ms\n"
        "with backscroll.open(sys.argv[1], background=False) as engine:\n"
        "    t = engine.thread(sys.argv[2])\n"
        "    took = [_ms(lambda: t.prompt(32_000, model='gpt-5')) for _ in range(2)]\n"
        "print(f'{took[0]} (the next one {took[1]})')"
    )
    words = [sys.executable, "-c", code, str(store), thread]
    done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=600)
    yield f"first prompt of a process, {options.messages:,} messages", done.stdout.strip()


def snapshots(folder: Path, options: Namespace) -> Iterator[Row]:
    """Measure scanning a folder, and blame."""
    root, files = folder / "repository", options.files
    for n in range(files):
        path = root / f"package{n // 100}" / f"module{n % 100}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"def f{n}():\n    return {n}\n" * 40, encoding="utf-8")
    with backscroll.open(folder / "snapshots.db", background=False) as engine:
        room = Workroom(engine.create("t"), root, home=folder / "shadow")
        yield f"first look, {files:,} files", _ms(room.look)
        time.sleep(3)  # recently written files are read again
        room.look()
        yield "look, nothing changed", _ms(room.look)
        target = root / "package2" / "module2.py"

        def change() -> None:
            for n in range(_CHANGES):
                before = room.look()
                lines = target.read_text(encoding="utf-8").splitlines(keepends=True)
                lines[n % len(lines)] = f"changed {n}\n"
                target.write_text("".join(lines), encoding="utf-8")
                room.looked(before, Cause("turn"))

        yield f"{_CHANGES} changes, each with two looks", _ms(change)
        yield f"blame after {_CHANGES} changes", _ms(lambda: room.blame("package2/module2.py"))
        yield "changes", _ms(room.changes)


def huge(folder: Path, _options: Namespace) -> Iterator[Row]:
    """Measure a tool result of 16 MB."""
    chance = random.Random(2)
    lines = [
        f"{n:07d} worker-{n % 13} handled item {chance.randrange(10**9)} in {n % 97} ms path /var/log/app{n % 31}.log\n"
        for n in range(220_000)
    ]
    result = ToolResult("c1", (Text("".join(lines)),))
    with backscroll.open(folder / "huge.db", background=False) as engine:
        thread = engine.create("t", kind="agent")
        thread.append("user", "look at the log")
        thread.prompt(32_000, model="gpt-5")
        thread.append("assistant", Content((ToolCall("c1", "run_command", {"command": "cat log"}),)))
        yield "append a result of 16 MB", _ms(lambda: thread.append("tool", Content((result,))))
        for name in ("the next prompt", "the one after it", "the third"):
            yield f"… {name}", _ms(lambda: thread.prompt(32_000, model="gpt-5"))
            thread.append("assistant", "it is long")
            thread.append("user", "and now?")


ALL = {"start": start, "first": first, "long": long, "snapshots": snapshots, "huge": huge}


def main() -> None:
    """Measure what is named, or everything, and print one table."""
    if sys.argv[1:2] == ["--one"]:
        one_answer(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(prog="python -m bench.agent", description=__doc__)
    parser.add_argument("only", nargs="*", choices=[*ALL, []])
    parser.add_argument("--files", type=int, default=5_000)
    parser.add_argument("--messages", type=int, default=10_000)
    options = parser.parse_args()
    print("| what | processor time |\n| --- | ---: |")
    with tempfile.TemporaryDirectory(prefix="backscroll-agent-") as folder:
        os.environ["XDG_DATA_HOME"] = os.environ["XDG_CONFIG_HOME"] = (
            folder  # not the user's store and settings
        )
        for name in options.only or ALL:
            for what, took in ALL[name](Path(folder), options):
                print(f"| {what} | {took} |", flush=True)


if __name__ == "__main__":
    main()
