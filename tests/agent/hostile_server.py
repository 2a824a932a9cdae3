"""An MCP server for tests that breaks the rules: `hostile_server.py MODE [SEED]`. Standard library alone, so that it starts quickly."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

MODE = sys.argv[1]
GOOD = {"name": "good", "description": "Works.", "inputSchema": {"type": "object", "properties": {}}}


def deep(levels: int) -> Any:
    """A schema nested so deep."""
    inner: Any = {"type": "string"}
    for _ in range(levels):
        inner = {"type": "object", "properties": {"a": inner}}
    return inner


TOOLS: dict[str, list[Any]] = {
    "bad-schema": [
        {"name": "text", "inputSchema": "x"},
        {"name": "none"},
        {"name": 5, "inputSchema": {}},
        "not even an object",
        {"name": "wrong-type", "inputSchema": {"type": "object", "properties": {"a": {"type": "strnig"}}}},
        {"name": "odd-key", "inputSchema": {"type": "object", "properties": {"名字": {"type": "string"}}}},
        {"name": "deep", "inputSchema": deep(300)},
        {
            "name": "huge",
            "inputSchema": {"type": "object", "properties": {"a": {"description": "x" * 100_000}}},
        },
        GOOD,
    ],
    "many": [{**GOOD, "name": f"tool{n}"} for n in range(5000)],
}
RESULTS: dict[str, Any] = {
    "lies-list": ["not an object"],
    "lies-content": {"content": [{"type": "hologram", "data": 5}]},
    "lies-flag": {"content": [{"type": "text", "text": "x"}], "isError": "maybe"},
    "lies-null": None,
    "lies-picture": {"content": [{"type": "image", "data": "%%%", "mimeType": "image/png"}]},
    "control": {"content": [{"type": "text", "text": "\x1b[2J\x1b]0;title\x07half \ud83d"}]},
}


def send(message: Any) -> None:
    os.write(1, json.dumps(message).encode() + b"\n")


def flood() -> None:
    """Print without end, one way or another."""
    piece = b"x" * 65536
    note = json.dumps(
        {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}
    )
    while True:
        if MODE == "flood-line":
            os.write(1, piece)
        elif MODE == "flood-lines":
            os.write(1, b"not json\n" * 1000)
        else:
            os.write(1, (note + "\n").encode() * 100)


def garbled(answer: Any, chance: random.Random) -> Any:
    """An answer with one thing in it changed at random."""
    odd: list[Any] = [
        None,
        True,
        -1,
        1e308,
        "",
        "x",
        [],
        {},
        [None],
        {"a": {}},
        "\ud800",
        "\x1b[31m",
        "x" * 5000,
    ]
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        keys = (
            list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
        )
        for key in keys:
            places.append((value, key))
            walk(value[key])

    walk(answer)
    for _ in range(chance.choice([1, 1, 2, 5])):
        home, key = chance.choice(places)
        if (isinstance(home, dict) and key in home) or (isinstance(home, list) and key < len(home)):
            if chance.random() < 0.2:
                del home[key]
            else:
                home[key] = chance.choice(odd)
    return answer


def answer(asked: dict[str, Any]) -> Any:
    """The result of a request."""
    match asked.get("method"):
        case "initialize":
            wanted = asked["params"]["protocolVersion"]
            about = {"name": "hostile", "version": "1"}
            return {"protocolVersion": wanted, "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            return {"tools": TOOLS.get(MODE, [GOOD])}
        case "tools/call":
            return RESULTS.get(MODE, {"content": [{"type": "text", "text": "fine"}]})
        case _:
            return {}


def misbehave_first() -> None:
    """What is wrong before anything was asked."""
    if MODE in ("hang", "stubborn"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if MODE == "stubborn":  # a child that holds the pipes and does not listen either
        subprocess.Popen([sys.executable, "-c", "import signal, time; signal.signal(15, 1); time.sleep(600)"])
    if MODE == "hang":
        time.sleep(600)
    if MODE == "terminal":
        with contextlib.suppress(OSError), Path("/dev/tty").open("w") as terminal:
            terminal.write("OVER YOUR SCREEN\n")


def misbehave(method: str) -> bool:
    """What is wrong with a request; True where it is not answered at all."""
    if MODE == "noise":
        os.write(1, b"Starting up... \x1b[31m100%\n\xff\xfe\n\n{\n")
    if MODE == "noise-stderr":
        os.write(2, b"warning: " + b"y" * 200_000 + b"\n")
    if method == "tools/list" and MODE.startswith("flood"):
        flood()
    if (method, MODE) in (("tools/list", "die"), ("tools/call", "die-call")):
        os._exit(3)
    return (method, MODE) == ("tools/call", "hang-call")


def main() -> None:
    """Serve until the input ends, as badly as the mode says."""
    chance = random.Random(sys.argv[2]) if len(sys.argv) > 2 else None
    misbehave_first()
    for line in sys.stdin:
        asked = json.loads(line)
        method = str(asked.get("method"))
        if "id" not in asked:
            continue
        if method == "server/discover":
            refusal = {"code": -32601, "message": "Method not found"}
            send({"jsonrpc": "2.0", "id": asked["id"], "error": refusal})
            continue
        if misbehave(method):
            continue
        made = {"jsonrpc": "2.0", "id": asked["id"], "result": answer(asked)}
        if chance is not None and method != "initialize":
            made = garbled(made, chance)
        if MODE == "wrong-id":
            made["id"] = 999_999
        send(made)


main()
