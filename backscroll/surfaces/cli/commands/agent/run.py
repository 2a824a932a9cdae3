"""`run`: send one message to the agent without a chat, for scripts, other programs and quick questions."""

from __future__ import annotations

import shlex
import signal
import sys
import threading
from _thread import start_new_thread
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, cast

import click

from backscroll.config import CHOICES
from backscroll.errors import InvalidInput, NotFound
from backscroll.regular_files import read_text
from backscroll.surfaces.cli.command import command, flag, option
from backscroll.surfaces.cli.given_words import read_words
from backscroll.surfaces.cli.references import thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import get_language, t

if TYPE_CHECKING:
    from backscroll.agent.agent import Agent
    from backscroll.agent.events import Finished, Happening
    from backscroll.engine.engine import Engine
    from backscroll.engine.thread import Thread
    from backscroll.surfaces.cli.families.run_person import UnattendedPerson

_TITLE = 60  # characters of the first line that become the title of a new thread
_MODES = ("ask", "edits", "all")


@command(
    "run",
    click.Argument(["text"], metavar="[TEXT]", required=False),
    option("--file", metavar="FILE"),
    option("--thread", metavar="THREAD"),
    flag("--continue", "go_on"),
    flag("--resume"),
    option("--user", metavar="NAME"),
    option("--root", metavar="DIR"),
    option("--provider", metavar="NAME"),
    option("--model", metavar="MODEL", default=""),
    option("--approve", type=click.Choice(_MODES), metavar="|".join(_MODES)),
    option("--sandbox", type=click.Choice(CHOICES["agent_sandbox"]), metavar="MODE"),
    option("--allow", metavar="PATTERN", multiple=True),
    option("--deny", metavar="PATTERN", multiple=True),
    flag("--ask"),
    flag("--accept"),
    option("--max-steps", type=click.IntRange(min=1), metavar="N"),
    option("--spend", type=click.FloatRange(min=0), metavar="DOLLARS"),
    option("--budget", type=click.IntRange(min=1), metavar="TOKENS"),
    flag("--quiet", "-q"),
)
def run_command(session: CliSession, **given_options: Any) -> None:
    """Send a message to the agent and print its answer."""
    session.sandbox, session.user = given_options.pop("sandbox"), given_options["user"]
    asked = _RunOptions(**given_options)
    root = _root(asked.root)
    words = None if asked.resume else _words(asked)
    with session.engine(make=True) as engine:
        session.check_sandbox(engine)
        _check(session, engine, asked)
        thread = _thread(engine, asked, root, words)
        with _agent(session, thread, root, asked) as agent:
            session.exit_code = _play(session, agent, words, quiet=asked.quiet)


class _RunOptions:
    """The options as given; conflicting ones are rejected."""

    def __init__(
        self,
        *,
        text: str | None,
        file: str | None,
        thread: str | None,
        go_on: bool,
        resume: bool,
        user: str | None,
        root: str | None,
        provider: str | None,
        model: str,
        approve: str | None,
        allow: tuple[str, ...],
        deny: tuple[str, ...],
        ask: bool,
        accept: bool,
        max_steps: int | None,
        spend: float | None,
        budget: int | None,
        quiet: bool,
    ) -> None:
        self.text, self.file, self.thread = text, file, thread
        self.go_on, self.resume, self.user, self.root = go_on, resume, user, root
        self.provider, self.model = provider, model
        self.approve, self.allow, self.deny = approve, allow, deny
        self.ask, self.accept = ask, accept
        self.max_steps, self.spend, self.budget = max_steps, spend, budget
        self.quiet = quiet
        if sum((text is not None, file is not None, resume)) > 1:
            raise InvalidInput(t("run.one_source"), hint=t("run.one_source_hint"))
        if thread is not None and go_on:
            raise InvalidInput(t("run.one_thread"), hint=t("run.one_thread_hint"))


def _root(named: str | None) -> Path:
    root = Path.cwd() if named is None else Path(named).expanduser()
    if not root.is_dir():
        raise NotFound(t("run.no_folder", path=root), hint=t("run.no_folder_hint"))
    return root.resolve()


def _words(asked: _RunOptions) -> str:
    if asked.file is None:
        words = read_words(asked.text)
    else:
        try:
            words = read_text(Path(asked.file).expanduser(), "utf-8-sig").strip("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(t("run.no_file", path=asked.file, why=error)) from error
    if not words.strip():
        raise InvalidInput(t("words_in.missing"), hint=t("words_in.missing_hint"))
    return words


def _thread(engine: Engine, asked: _RunOptions, root: Path, words: str | None) -> Thread:
    if asked.thread is not None:
        return thread_named(engine, asked.thread, asked.user)
    if asked.go_on or asked.resume:
        return _last_in(engine, root)
    title = next((line.strip() for line in (words or "").splitlines() if line.strip()), "")
    return engine.create(
        title if len(title) <= _TITLE else f"{title[: _TITLE - 1]}…",
        project=str(root),
        kind="agent",
        language=_language(words or ""),
        metadata={"workspace": str(root)},
    )


def _language(words: str) -> str:
    # start-up: loaded when the command runs
    from backscroll.engine.core.language import language_of

    return language_of(words) or get_language()


def _last_in(engine: Engine, root: Path) -> Thread:
    """Return the conversation in this folder that changed last."""
    for info in engine.threads(kind="agent", user=engine.settings.user or None):
        if not info.forgotten and str(root) in (info.metadata.get("workspace"), info.project):
            return engine.thread(info.id)
    raise NotFound(t("run.nothing_here", path=root), hint=t("run.nothing_here_hint"))


def _check(session: CliSession, engine: Engine, asked: _RunOptions) -> None:
    """Check that the user can be asked and that the provider exists, before a conversation is created."""
    # start-up: loaded when the command runs
    from backscroll.llm.providers import choose_provider

    if asked.ask and not session.screen.can_ask:
        raise InvalidInput(t("run.cannot_ask"), hint=t("run.cannot_ask_hint"))
    choose_provider(asked.provider if asked.provider is not None else engine.settings.provider)


def _agent(session: CliSession, thread: Thread, root: Path, asked: _RunOptions) -> Agent:
    # start-up: loaded when the command runs
    from backscroll.agent.agent import Agent
    from backscroll.agent.approval.approval import Rules
    from backscroll.surfaces.cli.families.run_person import AttendedPerson, UnattendedPerson

    settings = thread.engine.settings
    person = (
        AttendedPerson(session.screen, accepts=asked.accept)
        if asked.ask
        else UnattendedPerson(accepts=asked.accept)
    )
    known = thread.info.metadata.get("workspace")
    folder = root if asked.root is not None or not known else Path(str(known))
    return Agent(
        thread,
        provider=asked.provider,
        model=asked.model,
        root=folder,
        person=person,
        rules=Rules(
            asked.approve or settings.agent_approval,
            root=folder,
            allow=asked.allow,
            deny=asked.deny,
            sandboxed_unasked=settings.agent_sandbox_unasked,
        ),
        max_steps=asked.max_steps,
        spend=asked.spend,
        budget=asked.budget,
    )


# -- during the run ----------------------------------------------------------------------------------------------


def _play(session: CliSession, agent: Agent, words: str | None, *, quiet: bool) -> int:
    # start-up: loaded when the command runs
    from backscroll.agent.events import Finished, Noted
    from backscroll.engine.calls.run_end import mark_ended
    from backscroll.surfaces.cli.families.run_output import (
        CollectedOutput,
        JsonOutput,
        TextOutput,
        code_of,
        run_document,
    )

    screen = session.screen
    telling = (
        JsonOutput(screen)
        if session.as_lines
        else CollectedOutput()
        if session.as_json
        else TextOutput(screen, quiet=quiet)
    )
    if session.as_lines:
        screen.json_line(_opening(agent))
    if agent.rules.trouble:
        telling.hear(Noted("permissions", agent.rules.trouble))
    happenings = agent.resume() if words is None else agent.events(words)
    finished: Finished | None = None
    with _stoppable(agent) as heard, closing(cast("Generator[Happening]", happenings)):
        for happening in happenings:
            telling.hear(happening)
            if isinstance(happening, Finished):
                finished = happening
    if finished is None:
        raise KeyboardInterrupt
    if finished.end != "failed" and heard[-1:] in (
        [],
        [signal.SIGINT],
    ):  # otherwise it was cut off, whatever it says
        mark_ended(agent.thread, finished.end)
    if not session.as_json and not quiet:
        _closing_words(session, agent, finished)
    # A program that ends another with a signal expects the usual exit code of that signal.
    code = 128 + heard[-1] if finished.end == "stopped" and heard else code_of(finished)
    if isinstance(telling, CollectedOutput):
        screen.json(run_document(_opening(agent), finished, code, telling.events))
    return code


def _opening(agent: Agent) -> dict[str, Any]:
    return {
        "type": "thread",
        "thread": agent.thread.id,
        "root": str(agent.root),
        "provider": agent.provider_name,
        "model": agent.model,
    }


def _closing_words(session: CliSession, agent: Agent, finished: Finished) -> None:
    counted = finished.counted
    facts = [t("run.thread", id=agent.thread.id[:8]), t("run.steps", n=finished.steps)]
    if counted.input or counted.output:
        facts.append(t("run.tokens", input=counted.input, cached=counted.cached, output=counted.output))
        facts += [f"${counted.nano / 1e9:.4f}"] if counted.nano is not None else []
    session.screen.remark(f"({' · '.join(facts)})", "dim")
    turned_away = cast("UnattendedPerson", agent.person).list_missing_rules()
    if turned_away:
        # A model wrote parts of this, and users will copy it into their shell.
        rules = " ".join(f"--allow {shlex.quote(rule)}" for rule in turned_away)
        session.screen.remark(t("run.not_asked", rules=rules), "warn")


@contextmanager
def _stoppable(agent: Agent) -> Generator[list[int]]:
    """Make Ctrl-C and SIGTERM stop the run in order; a second Ctrl-C does not wait. Yields the signals received."""
    came: list[int] = []
    thrown = False

    def stop(number: int, _frame: FrameType | None) -> None:
        nonlocal thrown
        came.append(number)
        # In a separate thread: stopping takes locks that the interrupted code may hold.
        start_new_thread(agent.stop, ())
        again, thrown = thrown, True
        if number == signal.SIGINT and (again or getattr(agent.person, "asking", False)):
            raise KeyboardInterrupt

    # Only the main thread of a program receives signals.
    heard = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    before = {each: signal.signal(each, stop) for each in heard}
    try:
        yield came
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        sys.stdout.flush()
