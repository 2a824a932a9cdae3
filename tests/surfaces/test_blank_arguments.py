"""An empty name (an unset variable of a script) never widens what a command destroys or changes.

Every command is run once for every parameter that names something, with that parameter empty or blank and the others right:
it ends with an error and leaves every byte of the log, the lessons and the settings as they were.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import backscroll
from backscroll.engine.inputs.lessons import list_lessons, note
from backscroll.errors import InvalidInput
from backscroll.surfaces import i18n
from backscroll.surfaces.cli.command import GLOBAL, holds_words
from backscroll.surfaces.cli.group import program
from backscroll.surfaces.cli.runner import run

#: What the other required parameters get; what a thread really has, so that only the empty one can be refused.
RIGHT = {
    "message": "1",
    "messages": "1",
    "role": "user",
    "text": "new words",
    "words": "words",
    "tags": "tag",
    "title": "title",
    "which": "0",
    "handle": "bs:2",
    "node": "Ellie",
    "nodes": "Ellie",
    "predicate": "race",
    "name": "name",
    "other": "Tom",
    "turns": "1",
    "number": "1",
    "task": "t1",
    "memory": "abcdef",
    "file": "nothing.json",
    "place": "file.py",
    "shell": "bash",
    "value": "elf",
    "user": "ann",
}
#: Commands that wait for somebody, or serve until they are stopped.
WAITING = {"chat", "mcp", "run", "completion", "demo", "work"}


def commands() -> Iterator[tuple[list[str], click.Command]]:
    """Every command with the words that call it."""
    whole = program()
    ctx = click.Context(whole)
    for name in whole.list_commands(ctx):
        found = whole.get_command(ctx, name)
        assert found is not None
        if isinstance(found, click.Group):
            for member in found.list_commands(ctx):
                inner = found.get_command(ctx, member)
                assert inner is not None
                yield [name, member], inner
        else:
            yield [name], found


def cases() -> Iterator[tuple[str, list[str], str]]:
    """(label, command line with a slot, name of the parameter)."""
    for words, found in commands():
        if words[0] in WAITING:
            continue
        for blank in found.params:
            name = blank.name or ""
            if name in GLOBAL or getattr(blank, "is_flag", False) or holds_words(found.name or "", name):
                continue
            line = [*words, *(["--yes"] if any("--yes" in p.opts for p in found.params) else [])]
            for param in found.params:
                if param is blank:
                    line += ["{blank}"] if isinstance(param, click.Argument) else [param.opts[-1], "{blank}"]
                elif param.required and isinstance(param, click.Argument):
                    line.append("{thread}" if param.name == "thread" else RIGHT[param.name or ""])
                elif isinstance(param, click.Argument) and _stands_before(param, blank, found):
                    line.append("{thread}" if param.name in ("thread", "threads") else _right(param))
            yield " ".join(line), line, name


def _right(param: click.Parameter) -> str:
    if isinstance(param.type, click.Choice):
        return str(param.type.choices[-1])
    return RIGHT.get(param.name or "", "1")


def _stands_before(param: click.Parameter, blank: click.Parameter, found: click.Command) -> bool:
    """An optional argument must be there for the one after it to be reached."""
    return isinstance(blank, click.Argument) and found.params.index(param) < found.params.index(blank)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, str]]:
    """A store with one thread of three messages, a task and a lesson."""
    monkeypatch.chdir(tmp_path)
    store = tmp_path / "store.db"
    monkeypatch.setenv("BACKSCROLL_STORE", str(store))
    with backscroll.open(store) as engine:
        thread = engine.create("A tale", project=str(tmp_path))
        said = [thread.append(("user", "assistant")[n % 2], f"Ellie is an elf number {n}.") for n in range(3)]
        thread.tasks.start("a task")
        note(engine, thread.id, said[-1])
        yield store, thread.id


def state(store: Path) -> tuple[str, int, list[str]]:
    """All that a command could have widened its way into."""
    with backscroll.open(store) as engine:
        text = engine.export(None, "native").text
        assert text is not None
        return (
            text.partition("\n")[2],
            len(list_lessons(engine)),
            sorted(p.name for p in store.parent.rglob("*") if p.is_file()),
        )


CASES = {label: (line, name) for label, line, name in cases()}


@pytest.mark.parametrize("label", CASES)
def test_empty_name_is_an_error_and_changes_nothing(
    label: str, world: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """For every parameter, empty or blank."""
    store, thread = world
    line, _ = CASES[label]
    before = state(store)
    for blank in ("", "  "):
        arguments = [word.format(blank=blank, thread=thread) if "{" in word else word for word in line]
        code = run(arguments)
        assert code != 0, capsys.readouterr().out
        assert state(store) == before
    capsys.readouterr()


@pytest.mark.parametrize("option", ["--store", "--actor"])
def test_empty_global_option_is_an_error(
    option: str, world: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """`--store "$STORE"` with an empty variable must not use the default store."""
    store, thread = world
    before = state(store)
    assert run([option, "", "delete", thread, "1"]) == 2
    assert run(["delete", option, " ", thread, "1"]) == 2
    assert option in capsys.readouterr().err
    assert state(store) == before


@pytest.mark.parametrize("language", ["en", "zh"])
def test_forgetting_a_thread_requires_an_explicit_option(
    language: i18n.Language, world: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The old syntax is refused and names both new ones; with `--all` the thread is forgotten."""
    store, thread = world
    i18n.use(language)
    before = state(store)
    for line in (["forget", thread, "--yes"], ["forget", thread, "1", "--all", "--yes"]):
        assert run(line) == 2
        told = capsys.readouterr().err
        assert f"backscroll forget {thread} --all" in told
        assert f"backscroll forget {thread} MESSAGE" in told
        assert state(store) == before
    assert run(["forget", thread, "--all", "--yes"]) == 0
    with backscroll.open(store) as engine:
        assert engine.thread(thread).info.forgotten
    i18n.use("en")


def test_dropping_or_forbidding_everything_requires_an_explicit_option(
    world: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """`learned $THREAD --reset` and `graph forbid … $VALUE` with an empty variable."""
    store, thread = world
    before = state(store)
    assert run(["learned", "--reset"]) == 2
    assert run(["learned", thread, "--reset", "--all"]) == 2
    assert run(["graph", "forbid", thread, "Ellie", "race"]) == 2
    assert state(store) == before
    assert run(["learned", "--reset", "--all"]) == 0
    assert state(store)[1] == 0
    capsys.readouterr()


def test_library_refuses_empty_arguments(world: tuple[Path, str], tmp_path: Path) -> None:
    """No message, an empty name, an empty value: the log stays as it was."""
    store, name = world
    before = state(store)
    with backscroll.open(store) as engine:
        thread = engine.thread(name)
        tries = [
            thread.forget,
            lambda: thread.forget(""),
            lambda: engine.forget(name, [], actor="user"),
            lambda: engine.forget(name, None, actor="user"),  # type: ignore[arg-type]
            lambda: thread.graph.forbid("Ellie", "race", ""),
            lambda: thread.graph.forbid("Ellie", "race", other=" "),
            lambda: thread.graph.delete(""),
            lambda: thread.graph.drop_world(""),
            lambda: thread.memory.forget(""),
            lambda: thread.memory.forget(" ", erase=True),
            lambda: thread.tasks.cancel("no need", task=""),
            lambda: thread.tasks.complete(" "),
            lambda: thread.delete(""),
            lambda: thread.uncrop(""),
            lambda: engine.thread(""),
            lambda: engine.thread(" "),
        ]
        for number, work in enumerate(tries):
            with pytest.raises(backscroll.BackscrollError):
                pytest.fail(f"number {number} gave {work()!r}")
        assert thread.delete() == 0
        room = thread.workroom(tmp_path)
        for path in ("", ".", str(tmp_path)):
            with pytest.raises(InvalidInput):
                room.forget_file(path)
    assert state(store)[:2] == before[:2]
