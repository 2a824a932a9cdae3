"""The scripted model itself: scenarios, cache arithmetic, validity, limits, and nothing left behind."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from backscroll.errors import FormatError, NotFound
from backscroll.testing import Line, Scenario, ScriptedServer, load_scenario, scenario_of
from backscroll.testing.decision import ScriptedService
from backscroll.testing.request import read_request
from backscroll.testing.scenario import Fault, ScriptedCall
from tests import programs
from tests.house import tree
from tests.testing.scripted_talk import KINDS, Kind, ask, client_at


def post(server: ScriptedServer, path: str, body: Any, **headers: str) -> tuple[int, Any, dict[str, str]]:
    """A plain request without any SDK."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(
        f"{server.url}{path}", data, {"content-type": "application/json", **headers}
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.loads(answer.read()), dict(answer.headers)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read()), dict(error.headers)


def chat(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages), **more}


USER = {"role": "user", "content": "hello"}


# -- scenarios ---------------------------------------------------------------------------------------------------


SCENARIO = """
[server]
models = ["m", "n"]
key = "sk-1"
window = 100000

[[line]]
contains = "weather"
tools = true
times = 1
calls = [{ name = "weather", arguments = { city = "上海" } }]

[[line]]
role = "tool"
text = "It is {last}"
fill = true

[[line]]
matches = "^(hi|hello)"
text = "Hello yourself."
reasoning = "A greeting."

[[line]]
model = "n"
fault = { status = 503, message = "resting", retry_after = 2 }
"""


def test_scenario_is_played(tmp_path: Path) -> None:
    """Lines are chosen by what they match, in order, and used up."""
    path = tmp_path / "s.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
    asking = {"role": "user", "content": "the weather?"}
    with ScriptedServer(load_scenario(path)) as server:
        key = {"authorization": "Bearer sk-1"}
        status, first, _ = post(server, "/chat/completions", chat(asking, tools=[tool]), **key)
        assert status == 200
        message = first["choices"][0]["message"]
        (call,) = message["tool_calls"]
        assert json.loads(call["function"]["arguments"]) == {"city": "上海"}
        result = {"role": "tool", "tool_call_id": call["id"], "content": "raining"}
        _, second, _ = post(server, "/chat/completions", chat(asking, message, result, tools=[tool]), **key)
        assert second["choices"][0]["message"]["content"] == "It is raining"
        _, third, _ = post(server, "/chat/completions", chat(USER), **key)
        assert third["choices"][0]["message"]["reasoning_content"] == "A greeting."
        status, told, _ = post(server, "/chat/completions", chat(asking, tools=[tool]), **key)
        assert (status, told["error"]["code"]) == (400, "scenario")
        status, _, headers = post(
            server, "/chat/completions", chat({**USER, "content": "x"}) | {"model": "n"}, **key
        )
        assert (status, headers["retry-after"]) == (503, "2")
        assert post(server, "/chat/completions", chat(USER) | {"model": "z"}, **key)[0] == 404
        assert post(server, "/chat/completions", chat(USER))[0] == 401
        assert len(server.asked) == 7


def test_scenario_may_be_json(tmp_path: Path) -> None:
    """With the same structure."""
    path = tmp_path / "s.json"
    path.write_text('{"line": [{"text": "x", "cut_after": 3}]}', encoding="utf-8")
    assert load_scenario(path) == Scenario(lines=(Line(text="x", cut_after=3),))


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ([], "not a table"),
        ({"lines": []}, "unknown setting 'lines'"),
        ({"line": {}}, "not a list"),
        ({"line": [7]}, "line 1 is not a table"),
        ({"line": [{"txt": ""}]}, "unknown setting 'txt'"),
        ({"line": [{"text": 7}]}, "text cannot be 7"),
        ({"line": [{"times": True}]}, "times cannot be True"),
        ({"line": [{"times": -1}]}, "times cannot be -1"),
        ({"line": [{"delay": float("inf")}]}, "delay cannot be inf"),
        ({"line": [{"matches": "("}]}, "not a regular expression"),
        ({"line": [{"wire": "telegraph"}]}, "wire cannot be 'telegraph'"),
        ({"line": [{"finish": "never"}]}, "finish cannot be"),
        ({"line": [{"chunk": 0}]}, "chunk must be"),
        ({"line": [{"calls": [{}]}]}, "call without a name"),
        ({"line": [{"fault": {"code": 7}}]}, "code cannot be 7"),
        ({"line": [{"usage": 3}]}, "usage cannot be 3"),
        ({"server": {"window": "large"}}, "window cannot be 'large'"),
    ],
)
def test_mistakes_in_a_scenario_are_named(data: Any, told: str) -> None:
    """With the place and the error."""
    with pytest.raises(FormatError, match=told):
        scenario_of(data)


def test_invalid_scenario_files_are_refused(tmp_path: Path) -> None:
    """A missing file, and one that is not TOML."""
    with pytest.raises(NotFound):
        load_scenario(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("[[line", encoding="utf-8")
    with pytest.raises(FormatError):
        load_scenario(tmp_path / "bad.toml")
    (tmp_path / "bin.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(FormatError):
        load_scenario(tmp_path / "bin.toml")


# -- what it refuses ---------------------------------------------------------------------------------------------


CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/chat/completions", chat(USER, {"role": "tool", "tool_call_id": "c9", "content": "x"})),
        ("/chat/completions", chat(USER, {"role": "assistant", "content": None, "tool_calls": [CALL]}, USER)),
        ("/chat/completions", chat()),
        ("/chat/completions", {"model": "m", "messages": "hello"}),
        ("/chat/completions", {"model": "m", "messages": [7]}),
        (
            "/responses",
            {"model": "m", "input": [{"type": "function_call_output", "call_id": "c9", "output": "x"}]},
        ),
        ("/messages", {"model": "m", "messages": [USER]}),
        (
            "/messages",
            {"model": "m", "max_tokens": 9, "messages": [{"role": "assistant", "content": "x"}, USER]},
        ),
        (
            "/messages",
            {
                "model": "m",
                "max_tokens": 9,
                "messages": [
                    {
                        "role": "user",
                        "content": [{"type": "tool_result", "tool_use_id": "t9", "content": "x"}],
                    }
                ],
            },
        ),
        ("/chat/completions", b"{not json"),
        ("/chat/completions", b"[]"),
    ],
)
def test_prompts_that_real_services_refuse_are_refused(path: str, body: Any) -> None:
    """Orphans, unanswered calls, wrong order, no messages, no JSON: 400, in the format of the wire."""
    with ScriptedServer(None, Line(text="x")) as server:
        status, told, _ = post(server, path, body)
    assert status == 400
    assert told["error"]["message"]


def test_validation_can_be_switched_off() -> None:
    """To test what happens to invalid prompts."""
    orphan = chat(USER, {"role": "tool", "tool_call_id": "c9", "content": "x"})
    with ScriptedServer(Scenario((Line(text="x"),), validate=False)) as server:
        assert post(server, "/chat/completions", orphan)[0] == 200


@pytest.mark.parametrize("kind", KINDS)
def test_overflow_uses_the_vendors_words(kind: Kind) -> None:
    """Prompt and requested output count together."""
    from backscroll.errors import ContextOverflow

    with (
        ScriptedServer(Scenario((Line(text="x"),), window=500)) as server,
        client_at(server.url, kind) as client,
    ):
        assert client.complete(ask("short", max_tokens=100)).text == "x"
        with pytest.raises(ContextOverflow):
            client.complete(ask("short", max_tokens=600))
        with pytest.raises(ContextOverflow):
            client.complete(ask("long " * 500, max_tokens=100))


def test_rate_limit_is_enforced() -> None:
    """More requests than allowed in a period get 429 with the remaining time."""
    now = [0.0]
    service = ScriptedService(Scenario((Line(text="x"),), rate=2, period=10.0), clock=lambda: now[0])
    asked = read_request("openai-chat", chat(USER))
    assert [service.decide(asked, {}).fault for _ in range(2)] == [None, None]
    now[0] = 4.0
    fault = service.decide(asked, {}).fault
    assert fault is not None
    assert (fault.status, fault.retry_after) == (429, 6.0)
    now[0] = 10.5
    assert service.decide(asked, {}).fault is None


# -- the cache ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["openai", "openai-responses"])
def test_shared_prefix_is_cached_automatically(kind: Kind) -> None:
    """In steps, from a minimum size, up to the first different byte; per model."""
    scenario = Scenario((Line(text="x"),), cache_least=64, cache_step=32)
    long = "stable words " * 100
    with ScriptedServer(scenario) as server, client_at(server.url, kind) as client:

        def cached(*texts: str, model: str = "m") -> tuple[int, int]:
            messages = [{"role": "user", "content": t} for t in texts]
            usage = client.complete(type(ask())(messages, model=model)).usage
            return usage.cached, usage.input

        assert cached(long, "a")[0] == 0
        hit, whole = cached(long, "b", "c")
        assert hit % 32 == 0
        assert whole - 64 < hit + 40 < whole + 40
        assert cached("changed " + long, "b")[0] == 0
        assert cached(long, "b", model="n")[0] == 0
        assert cached("tiny")[0] == cached("tiny")[0] == 0


def test_marked_prefix_is_cached_and_counted() -> None:
    """As Anthropic does: written up to the mark, read the next time, and the rest is plain input."""
    scenario = Scenario((Line(text="x"),), cache_least=10)
    mark = {"cache_control": {"type": "ephemeral"}}

    def body(*texts: str, marked: int | None) -> dict[str, Any]:
        blocks = [{"type": "text", "text": t, **(mark if n == marked else {})} for n, t in enumerate(texts)]
        return {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": blocks}]}

    with ScriptedServer(scenario) as server:

        def usage(*texts: str, marked: int | None) -> tuple[int, int, int]:
            told = post(server, "/messages", body(*texts, marked=marked))[1]["usage"]
            return told["input_tokens"], told["cache_read_input_tokens"], told["cache_creation_input_tokens"]

        long = "stable " * 50
        plain = usage(long, "a", marked=None)
        assert plain[1:] == (0, 0)
        first = usage(long, "a", marked=0)
        assert first[1] == 0
        assert first[2] > 80
        assert usage(long, "other", marked=0)[1] == first[2]
        grown = usage(long, "a", "b", marked=2)
        assert grown[1] == first[2]
        assert grown[2] > 0
        assert usage("changed " + long, "a", marked=0)[1] == 0
        assert sum(first) == sum(plain)


def test_tokens_can_be_counted_in_advance() -> None:
    """As with Anthropic; this changes no state."""
    with ScriptedServer(None, Line(text="x")) as server:
        status, told, _ = post(server, "/messages/count_tokens", chat(USER))
        assert status == 200
        assert told["input_tokens"] > 0
        assert server.asked == []


# -- life --------------------------------------------------------------------------------------------------------


def test_closed_server_leaves_nothing_behind() -> None:
    """Hanging, slow and idle connections end; so do its threads, and the port is free again."""
    before = set(threading.enumerate())
    with ScriptedServer(None, Line(contains=("hang",), hang=600.0), Line(delay=600.0)) as server:
        ends = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(3)]
        for end, word in zip(ends[:2], ("hang", "slow"), strict=True):
            data = json.dumps(chat({"role": "user", "content": word})).encode()
            end.sendall(
                b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: %d\r\n\r\n%s" % (len(data), data)
            )
        while len(server.asked) < 2:
            time.sleep(0.005)
        port = server.port
    for end in ends:
        end.close()
    assert set(threading.enumerate()) == before
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", port))
    server.stop()


def test_concurrent_requests_are_answered_and_logged() -> None:
    """Requests of several threads are all answered and all remembered."""
    with ScriptedServer(None, Line(text="{last}", fill=True)) as server:
        answers: list[str] = []

        def one(n: int) -> None:
            told = post(server, "/chat/completions", chat({"role": "user", "content": str(n)}))[1]
            answers.append(told["choices"][0]["message"]["content"])

        threads = [threading.Thread(target=one, args=(n,)) for n in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(answers, key=int) == [str(n) for n in range(12)]
        assert len(server.asked) == 12


def test_other_endpoints_are_answered() -> None:
    """The list of models, and 404 for unknown ones."""
    with ScriptedServer(Scenario(models=("a", "b"))) as server:
        with urllib.request.urlopen(f"{server.url}/models", timeout=60) as answer:
            assert [m["id"] for m in json.loads(answer.read())["data"]] == ["a", "b"]
        assert post(server, "/embeddings", {})[0] == 404


def test_same_scenario_gives_the_same_bytes() -> None:
    """No clock and no chance in an answer."""
    line = Line(text="词" * 30, calls=(ScriptedCall("f", {"x": 1}),), reasoning="r")

    def bodies() -> list[Any]:
        with ScriptedServer(Scenario((Line(fault=Fault(500), times=1), line))) as server:
            paths = ("/chat/completions", "/chat/completions", "/responses", "/messages")
            data = [chat(USER), chat(USER), {"model": "m", "input": "x"}, chat(USER, max_tokens=50)]
            return [post(server, path, body)[:2] for path, body in zip(paths, data, strict=True)]

    assert bodies() == bodies()


def test_server_runs_as_a_program(tmp_path: Path) -> None:
    """`python -m backscroll.testing FILE` prints its address, serves, and ends when interrupted."""
    path = tmp_path / "s.toml"
    path.write_text('[[line]]\ntext = "from a program"\n', encoding="utf-8")
    command = [sys.executable, "-m", "backscroll.testing"]
    with programs.start([*command, str(path)], cwd=tree.ROOT, stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            url = program.stdout.readline().strip()
            with client_at(url) as client:
                assert client.complete(ask()).text == "from a program"
        finally:
            program.send_signal(signal.SIGINT)
        assert program.wait(timeout=120) == 0
    for wrong in ([], [str(tmp_path / "none")], [str(path), "port"]):
        done = programs.run([*command, *wrong], cwd=tree.ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert done.stderr
        assert "Traceback" not in done.stderr
