"""`memory add`, `edit`, `pin`, `unpin`, `forget`, `restore`, `write`: changing memories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from backscroll.errors import InvalidInput
from backscroll.surfaces.cli.command import command, flag, option, thread_argument
from backscroll.surfaces.cli.families.memory_views import memory_argument
from backscroll.surfaces.cli.given_words import read_words
from backscroll.surfaces.cli.references import message_named, thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.words.done import report_result
from backscroll.surfaces.words.memory import of_memory, report_memory

if TYPE_CHECKING:
    from collections.abc import Callable

    from backscroll.engine.thread import Thread
    from backscroll.vocab.task import Memory

#: The kinds of memory that a user can add; the rest is made from tasks.
_ADDED = ("fact", "preference", "lesson", "outcome")


def _text() -> click.Argument:
    return click.Argument(["text"], metavar="[TEXT]", required=False)


@command(
    "memory-add",
    thread_argument(),
    _text(),
    option("--kind", type=click.Choice(_ADDED), default="fact", metavar="KIND", show_default=True),
    option("--source", "sources", multiple=True, metavar="MESSAGE"),
)
def add(session: CliSession, thread: str, text: str | None, kind: str, sources: tuple[str, ...]) -> None:
    """Add a memory."""
    # start-up: loaded when the command runs
    from backscroll.engine.work.memory.acts import add as write_down

    words = read_words(text)
    with session.engine() as engine:
        home = thread_named(engine, thread)
        refs = [message_named(engine, home, name) for name in sources]
        made = write_down(home, words, kind=kind, sources=refs)
    report_memory(session.screen, made, t("memory.added", memory=made.id))


@command("memory-edit", thread_argument(), memory_argument(), _text())
def edit(session: CliSession, thread: str, memory: str, text: str | None) -> None:
    """Edit a memory."""
    # start-up: loaded when the command runs
    from backscroll.engine.work.memory.acts import edit as reword

    words = read_words(text)
    _change_memory(session, thread, "memory.edited", lambda home: reword(home, memory, words))


@command("memory-pin", thread_argument(), memory_argument())
def pin(session: CliSession, thread: str, memory: str) -> None:
    """Pin a memory."""
    # start-up: loaded when the command runs
    from backscroll.engine.work.memory.acts import pin as fasten

    _change_memory(session, thread, "memory.now_pinned", lambda home: fasten(home, memory))


@command("memory-unpin", thread_argument(), memory_argument())
def unpin(session: CliSession, thread: str, memory: str) -> None:
    """Unpin a memory."""
    # start-up: loaded when the command runs
    from backscroll.engine.work.memory.acts import unpin as unfasten

    _change_memory(session, thread, "memory.now_unpinned", lambda home: unfasten(home, memory))


@command("memory-restore", thread_argument(), memory_argument())
def restore(session: CliSession, thread: str, memory: str) -> None:
    """Undo the user's changes to a memory."""
    # start-up: loaded when the command runs
    from backscroll.engine.work.memory.acts import bring_back

    _change_memory(session, thread, "memory.restored", lambda home: bring_back(home, memory))


def _change_memory(session: CliSession, thread: str, text: str, work: Callable[[Thread], Memory]) -> None:
    with session.engine() as engine:
        made = work(thread_named(engine, thread))
    report_memory(session.screen, made, t(text, memory=made.id))


@command("memory-forget", thread_argument(), memory_argument(), flag("--erase"), flag("--yes", "-y"))
def forget(session: CliSession, thread: str, memory: str, erase: bool, yes: bool) -> None:
    """Hide a memory from lists and prompts."""
    # start-up: loaded when the command runs
    from backscroll.engine.work.memory.acts import forget as let_go
    from backscroll.engine.work.memory.memories import memory_of

    screen = session.screen
    with session.engine() as engine:
        home = thread_named(engine, thread)
        now = memory_of(home, memory)
        if erase and not yes:
            if not screen.can_ask:
                raise InvalidInput(t("memory.not_asked"), hint=t("memory.not_asked_hint"))
            screen.line(one_line(now.text))
            if not screen.asks(t("memory.sure_to_erase")):
                return
        gone = let_go(home, now.id, erase=erase)
    document = {"memory": now.id, "hidden": True, "erased": gone}
    text = count("memory.erased", gone) if erase else t("memory.hidden", memory=now.id)
    report_result(session.screen, document, text)
    if erase and now.by != "person" and not session.as_json:
        screen.remark(t("memory.rests_on_messages"), "dim")


@command("memory-write", thread_argument(), click.Argument(["task"], metavar="[TASK]", required=False))
def write(session: CliSession, thread: str, task: str | None) -> None:
    """Have a model write the memories of a task."""
    # start-up: loaded when the command runs
    from backscroll.engine.work.memory.memories import memories
    from backscroll.engine.work.memory.plans import write_all

    with session.engine() as engine:
        home = thread_named(engine, thread)
        done = write_all(home, task)
        found = memories(home, scope="thread") if session.as_json else []
    document = {
        "by_model": done.by_model,
        "by_rules": done.by_rules,
        "memories": [of_memory(m) for m in found],
    }
    report_result(session.screen, document, t("memory.written", model=done.by_model, rules=done.by_rules))
