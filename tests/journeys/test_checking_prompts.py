"""Journeys of a user whose prompt was refused: the flaws, and a fixed version."""

from __future__ import annotations

import json

from tests.journeys.conftest import Cli

CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
BROKEN = {
    "model": "gpt-5",
    "messages": [
        {"role": "user", "content": "list"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "user", "content": "and?"},
    ],
}


def test_check_names_and_fixes_flaws(cli: Cli) -> None:
    """The rule, the place and the advice are printed; the fixed file passes; no store is created."""
    path = cli.folder / "request.json"
    path.write_text(json.dumps(BROKEN), encoding="utf-8")
    done = cli("check", path)
    assert done.code == 1
    assert "V1" in done.out
    assert "messages[1].tool_calls[0]" in done.out
    assert "openai-chat" in done.out
    mended = cli.ok("check", path, "--repair", "mended.json")
    assert "mended.json" in mended.out
    body = json.loads((cli.folder / "mended.json").read_text(encoding="utf-8"))
    assert [m["role"] for m in body["messages"]] == ["user", "assistant", "tool", "user"]
    assert body["model"] == "gpt-5"
    assert "Valid" in cli.ok("check", "mended.json").out
    assert json.loads(path.read_text(encoding="utf-8")) == BROKEN
    assert not cli.store.exists()


def test_check_serves_programs(cli: Cli) -> None:
    """JSON with everything, prompts from standard input, the fixed prompt on standard output."""
    done = cli("check", "-", "--json", text=json.dumps(BROKEN))
    assert done.code == 1
    flaw = done.json["prompts"][0]["flaws"][0]
    assert (flaw["rule"], flaw["where"], flaw["severity"]) == ("V1", "messages[1].tool_calls[0]", "error")
    assert flaw["explanation"]
    assert flaw["hint"]
    piped = cli.ok("check", "-", "--repair", "-", text=json.dumps(BROKEN))
    assert len(json.loads(piped.out)["messages"]) == 4
    assert "V1" in piped.err
    told = cli.ok("check", "-", "--repair", "-", "--json", text=json.dumps(BROKEN)).json
    assert told["changes"][0]["did"]


def test_check_speaks_chinese(cli: Cli) -> None:
    """Rules, places and advice, without English remains."""
    done = cli("check", "-", "--lang", "zh", text=json.dumps(BROKEN))
    assert "每个调用恰好有一个结果" in done.out
    assert "调用没有结果" in done.out
    assert "call" not in done.out.replace("tool_calls", "")
    assert "有效" in cli.ok("check", "-", "--lang", "zh", text='[{"role": "user", "content": "好"}]').out


def test_check_reads_several_prompts_and_another_wire(cli: Cli) -> None:
    """Each line of a file of requests is checked by itself; the wire can be named."""
    lines = json.dumps(BROKEN) + "\n" + json.dumps({"input": "hi"}) + "\n"
    done = cli("check", "-", "--json", text=lines)
    assert [len(p["flaws"]) for p in done.json["prompts"]] == [1, 0]
    shown = cli("check", "-", text=lines).out
    assert "prompt 1" in shown
    assert "prompt 2" in shown
    named = cli(
        "check", "-", "--wire", "anthropic", "--json", text='[{"role": "assistant", "content": "hi"}]'
    ).json
    assert [flaw["rule"] for flaw in named["prompts"][0]["flaws"]] == ["A4"]


def test_check_refuses_bad_input(cli: Cli) -> None:
    """Files without a prompt, unknown wires, unwritable paths: an error with a hint."""
    assert cli("check", "absent.json").code == 4
    assert cli("check", "-", text="").code == 3
    assert cli("check", "-", text="Dear diary").code == 3
    assert cli("check", "-", "--wire", "telex", text="[]").code == 2
    (cli.folder / "file").write_text("x", encoding="utf-8")
    failed = cli("check", "-", "--repair", "file/out.json", "--json", text=json.dumps(BROKEN))
    assert failed.code == 7
    assert failed.error["hint"]
