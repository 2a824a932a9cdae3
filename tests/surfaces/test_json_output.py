"""`--json` prints one JSON document for every command, `--jsonl` one per line; an error is one document on standard error.

Every command is run with both, on a thread with messages, a graph, tasks and memories; lists also where they are empty.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll.surfaces.cli.runner import run
from backscroll.testing import Line, Scenario, ScriptedServer
from tests.surfaces.test_blank_arguments import commands

#: One line for every command, in an order in which each finds what it needs; `{thread}` and the like are filled in.
LINES = """
    chat
    permissions
    permissions allow recall
    threads
    show {thread}
    show {thread} --turns
    search harbour
    recall {thread} where does Ellie live
    log {thread}
    revisions {thread} 1
    edit {thread} 1 Ellie
    diff {thread} 1
    diff {thread} --from 2
    summary {thread}
    operations {thread}
    operations {thread} --recent
    import {file} --dry-run
    import {file}
    import --discover
    import --discover {file}
    export {thread}
    export {thread} -o {folder}/out.jsonl
    export --list-formats
    sync {thread} {list} --dry-run
    new title
    append {thread} user more
    edit {thread} 1 words
    regenerate {thread} 2 other
    choose {thread} 2 1
    insert {thread} user between --after 2
    move {thread} 3 --first
    delete {thread} 1
    restore {thread} .4
    hide {thread} 2
    unhide {thread} 2
    pin {thread} 2
    unpin {thread} 2
    undo {thread}
    redo {thread}
    fork {thread}
    rename {thread} other
    tag {thread} a
    untag {thread} a
    changes {thread}
    changes {thread} --forget-snapshots
    blame a.py --thread {thread}
    rewind {thread} 1 --dry-run
    commit {thread} -m words
    context {thread} --budget 4000
    context {thread} --budget 4000 --diff
    context {thread} --budget 4000 --html {folder}/page.html
    prompt {thread} --budget 4000
    check {list}
    crop {thread} top 1 --yes
    expand {thread} {handle}
    uncrop {thread} {handle}
    compact {thread} --budget 4000
    lore {thread}
    work
    graph flush {thread}
    graph read {thread} --yes
    graph show {thread}
    graph show {thread} Ellie
    graph around {thread} Ellie
    graph why {thread} Ellie
    graph history {thread} Ellie
    graph conflicts {thread}
    graph questions {thread}
    graph turns {thread}
    graph export {thread}
    graph export {thread} --format mermaid
    graph export {thread} -o {folder}/graph.json
    graph set {thread} Ellie mood glad
    graph pin {thread} Ellie mood
    graph forbid {thread} Ellie mood sad
    graph rename {thread} Ellie Ella
    graph add {thread} Tom
    graph merge {thread} Ella Tom
    graph split {thread} Ella 1
    graph delete {thread} Ella
    graph overrides {thread}
    graph lift {thread} {override}
    graph world {thread}
    task start {thread} first --from 2
    task split {thread} 4 third
    task status {thread}
    task attempt {thread} done
    task incomplete {thread} again
    task attempt {thread} done
    task complete {thread}
    task start {thread} second
    task resume {thread} {other_task}
    task list {thread}
    task show {thread}
    task rename {thread} other
    task boundaries {thread}
    task link {thread} {task} {other_task}
    task compare {thread} {task} {other_task}
    task merge {thread} {task} {other_task}
    task cancel {thread} reason
    memory add {thread} Tuesdays
    memory list {thread}
    memory show {thread} {memory}
    memory why {thread} {memory}
    memory relevant {thread} harbour
    memory edit {thread} {memory} Mondays
    memory pin {thread} {memory}
    memory unpin {thread} {memory}
    memory forget {thread} {memory}
    memory restore {thread} {memory}
    memory write {thread}
    user remember ann Tuesdays
    user list
    user show ann
    user history ann
    user correct ann city Oslo
    user reject ann city Rome
    user export ann
    user forget ann --yes
    verify
    backup {folder}/{mode}.db
    forget {thread} 1 --yes
    cost
    learned
    stats
    doctor
    config
    config path
    config set budget 5000
    config unset budget
    config provider
    config key
    models
    models show minilm
    demo
    completion bash
    restore-backup {folder}/{mode}.db --yes
    graph
    task
    memory
    user
"""
#: Commands that end with an error here, and with which: without a model, a terminal or a repository they can do nothing.
REFUSED = {"chat": 2, "graph read": 2, "commit": 4}
#: Speaks a protocol of its own on standard output.
PROTOCOL = {"mcp"}
#: Has a test of its own below.
APART = {"run"}


#: What later lines need of what a command printed.
IDS = {
    "memory add": ("memory", "id"),
    "crop": ("handle", "handle"),
    "graph overrides": ("override", "id"),
}
FAMILIES = {"graph", "task", "memory", "user"}
#: Lists that may be empty, and what they print then.
EMPTY = (
    "show {thread}",
    "show {thread} --turns",
    "changes {thread}",
    "operations {thread}",
    "graph show {thread}",
    "graph conflicts {thread}",
    "graph overrides {thread}",
    "task list {thread}",
    "task boundaries {thread}",
    "memory list {thread}",
    "user list",
    "learned",
    "lore {thread}",
    "threads --tag none",
)


def called(line: str) -> str:
    """The command that a line calls."""
    words = line.split()
    return " ".join(words[: 2 if words[0] in FAMILIES else 1])


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A store with one thread of four messages in a folder, and files to import and to check."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BACKSCROLL_STORE", str(tmp_path / "store.db"))
    messages = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "Good day."}]
    (tmp_path / "list.json").write_text(json.dumps(messages), encoding="utf-8")
    (tmp_path / "chat.json").write_text(json.dumps({"messages": messages}), encoding="utf-8")
    (tmp_path / "a.py").write_text("a = 1\n", encoding="utf-8")
    with backscroll.open(tmp_path / "store.db") as engine:
        thread = engine.create("A tale", kind="agent", metadata={"workspace": str(tmp_path)})
        empty = engine.create("Nothing yet", metadata={"workspace": str(tmp_path)})
        thread.append("user", "Ellie is an elf. Ellie lives in Dunwinham, near the harbour.")
        thread.append("assistant", "Ellie likes the harbour.")
        thread.append("user", "Ellie has a cat called Tom. Tom is grey.")
        thread.append("assistant", "A grey cat.")
    return {
        "thread": thread.id,
        "empty": empty.id,
        "folder": str(tmp_path),
        "file": str(tmp_path / "chat.json"),
        "list": str(tmp_path / "list.json"),
    }


def printed(line: str, option: str, code: int, capsys: pytest.CaptureFixture[str]) -> Any:
    """What a line prints: the document, or with --jsonl the list of documents; of an error, the document on standard error."""
    capsys.readouterr()
    ended = run([*line.split(), option])
    out, err = capsys.readouterr()
    assert ended == code, f"{line}: {ended}\n{out}{err}"
    if code and not out:
        assert json.loads(err)["error"]["message"], line
        return None
    try:
        return json.loads(out) if option == "--json" else [json.loads(row) for row in out.splitlines()]
    except ValueError as error:
        raise AssertionError(f"{line} {option}: {error}\n{out[:500]}") from error


@pytest.mark.parametrize("option", ["--json", "--jsonl"])
def test_every_command_prints_json(
    option: str, names: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """One document with --json, one per line with --jsonl; also if the command is refused."""
    lines = [line.strip() for line in LINES.strip().splitlines()]
    assert {called(line) for line in lines} | PROTOCOL | APART >= {" ".join(words) for words, _ in commands()}
    wrong: list[str] = []
    for line in lines:
        name, typed = called(line), line.format_map(defaultdict(str, names, mode=option.strip("-")))
        try:
            found = printed(typed, option, REFUSED.get(name, 0), capsys)
        except AssertionError as error:
            wrong.append(str(error))
            continue
        made = found[0] if found and isinstance(found, list) else found
        if name == "task start":
            names["other_task"], names["task"] = names.get("task", ""), made["task"]["id"]
        elif name in IDS and found:
            key, field = IDS[name]
            names[key] = str(made[field])
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("line", EMPTY)
def test_empty_list_is_json_too(line: str, names: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """`[]`, not nothing; as a stream it is nothing."""
    typed = line.format(thread=names["empty"])
    assert printed(typed, "--json", 0, capsys) == []
    assert printed(typed, "--jsonl", 0, capsys) == []


@pytest.mark.parametrize("option", ["--json", "--jsonl"])
@pytest.mark.parametrize("words", [words for words, _ in commands() if words[0] != "mcp"], ids=" ".join)
def test_error_is_one_document_on_standard_error(
    words: list[str], option: str, names: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Standard output stays empty."""
    assert names
    assert run([*words, "--no-such-option", option]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert json.loads(err)["error"]["kind"] == "usage"


def test_json_and_jsonl_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    """Wherever they are on the line."""
    assert run(["--jsonl", "threads", "--json"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert json.loads(err)["error"]["message"] == "--json and --jsonl cannot be used together"


def test_run_prints_one_document(
    names: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --json the result with its events, without stream pieces; with --jsonl the stream."""
    with ScriptedServer(Scenario((Line(text="Good day."),), once=False)) as server:
        config = tmp_path / "config.toml"
        config.write_text(
            f'budget = 32000\n[providers.here]\nbase_url = "{server.url}"\nmodel = "m"\n', encoding="utf-8"
        )
        monkeypatch.setenv("BACKSCROLL_CONFIG", str(config))
        found = printed("run hello", "--json", 0, capsys)
        stream = printed("run hello", "--jsonl", 0, capsys)
    assert (found["end"], found["text"], found["exit_code"], found["model"]) == (
        "answered",
        "Good day.",
        0,
        "m",
    )
    kinds = [event["type"] for event in found["events"]]
    assert kinds[0] == "began"
    assert "step" in kinds
    assert not {"said", "thought", "finished"} & set(kinds)
    streamed = [event["type"] for event in stream]
    assert (streamed[0], streamed[-1]) == ("thread", "finished")
    assert "said" in streamed
    assert names["thread"] != found["thread"]
