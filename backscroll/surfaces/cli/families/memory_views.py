"""`memory list`, `show`, `why`, `relevant`: reading memories."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from backscroll.surfaces.cli.command import command, flag, limit_option, option, thread_argument
from backscroll.surfaces.cli.references import thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.screen.cells import wrap
from backscroll.surfaces.screen.plain import one_line, safe
from backscroll.surfaces.screen.times import format_time
from backscroll.surfaces.words.conversation import role_name
from backscroll.surfaces.words.memory import listing, of_memory, page_of
from backscroll.vocab.task import MemoryKind

if TYPE_CHECKING:
    from backscroll.engine.work.memory.memories import MemoryExplanation, MemorySource
    from backscroll.surfaces.screen.screen import Screen

_KINDS = [kind.value for kind in MemoryKind]

SCOPES = ("thread", "user", "project", "all")


def memory_argument() -> click.Argument:
    """Return an argument for a memory: its id, or a prefix of it."""
    return click.Argument(["memory"], metavar="MEMORY")


def scope_option() -> click.Option:
    """Return the option for the scope of a search."""
    return option("--scope", type=click.Choice(SCOPES), default="project", metavar="SCOPE", show_default=True)


@command(
    "memory-list",
    thread_argument(),
    click.Argument(["words"], metavar="[WORDS...]", nargs=-1),
    option("--kind", "kinds", multiple=True, type=click.Choice(_KINDS), metavar="KIND"),
    scope_option(),
    flag("--hidden"),
    limit_option(50),
)
def list_(
    session: CliSession,
    thread: str,
    words: tuple[str, ...],
    kinds: tuple[str, ...],
    scope: str,
    hidden: bool,
    limit: int,
) -> None:
    """List memories."""
    # start-up: loaded when the command runs
    from backscroll.engine.work.memory.memories import memories

    with session.engine() as engine:
        found = memories(
            thread_named(engine, thread), kinds=kinds, scope=scope, text=" ".join(words), hidden=hidden
        )
    some = found[:limit] if limit else found
    if session.as_json:
        session.screen.json([of_memory(memory) for memory in some])
        return
    if not some:
        session.screen.line(t("memory.nothing"))
        return
    session.screen.lines(listing(session.screen, some))
    if len(found) > len(some):
        session.screen.remark(count("memory.more", len(found) - len(some)), "dim")


@command("memory-show", thread_argument(), memory_argument(), scope_option())
def show(session: CliSession, thread: str, memory: str, scope: str) -> None:
    """Show one memory in full."""
    # start-up: loaded when the command runs
    from backscroll.engine.work.memory.memories import memory_of

    with session.engine() as engine:
        found = memory_of(thread_named(engine, thread), memory, scope=scope)
    if session.as_json:
        session.screen.json(of_memory(found))
    else:
        session.screen.lines(page_of(session.screen, found))


@command("memory-why", thread_argument(), memory_argument(), scope_option())
def why(session: CliSession, thread: str, memory: str, scope: str) -> None:
    """Show why something is remembered."""
    # start-up: loaded when the command runs
    from backscroll.engine.work.memory.memories import why as reasons

    with session.engine() as engine:
        found = reasons(thread_named(engine, thread), memory, scope=scope)
    if session.as_json:
        session.screen.json(
            {
                **of_memory(found.memory),
                "stated": found.stated,
                "because": [
                    {"handle": s.handle, "revision": str(s.revision), "role": s.role, "at": s.at,
                     "quote": s.quote, "live": s.live}
                    for s in found.sources
                ],
                "acts": [{"event": str(e.id), "act": e.head.get("act"), "by": e.actor, "at": e.at} for e in found.acts],
            }
        )  # fmt: skip
        return
    session.screen.lines(page_of(session.screen, found.memory))
    session.screen.lines(_because(session.screen, found))


def _because(screen: Screen, found: MemoryExplanation) -> Iterator[str]:
    yield ""
    yield t("memory.because")
    for source in found.sources:
        yield from _source(screen, source)
    if found.stated > 1:
        yield screen.style(f"  {t('memory.stated', n=found.stated)}", "dim")
    for event in found.acts:
        act = t(f"memory_acts.{event.head.get('act')}")
        yield screen.style(
            f"  {t('memory.act', who=one_line(event.actor), act=act, at=format_time(event.at))}", "dim"
        )


def _source(screen: Screen, source: MemorySource) -> Iterator[str]:
    who = role_name(source.role) if source.role else t("memory.step")
    facts = f"{who} · {format_time(source.at)}" if source.at else who
    yield f"  {screen.style(source.handle, 'strong')}  {screen.style(facts, 'dim')}"
    quote = safe(source.quote) if source.live else t("memory.gone")
    yield from (f"      {part}" for part in wrap(quote, screen.room(6)) or [""])


@command(
    "memory-relevant",
    thread_argument(),
    click.Argument(["words"], metavar="TASK_OR_WORDS...", nargs=-1, required=True),
    option("--budget", type=click.IntRange(min=1), default=1500, metavar="TOKENS", show_default=True),
    scope_option(),
    flag("--text", "as_text"),
)
def relevant(
    session: CliSession, thread: str, words: tuple[str, ...], budget: int, scope: str, as_text: bool
) -> None:
    """Show memories relevant to a task."""
    # start-up: loaded when the command runs
    from backscroll.engine.work.memory.memories import load_relevant_history

    with session.engine() as engine:
        home = thread_named(engine, thread)
        found = load_relevant_history(home, " ".join(words), budget, scope=scope)
    screen = session.screen
    if session.as_json:
        rows = [{**of_memory(m), "why": why_} for m, why_ in zip(found.memories, found.reasons, strict=True)]
        screen.json({"text": found.text, "memories": rows, "sources": [str(s) for s in found.sources]})
    elif not found.memories:
        screen.line(t("memory.nothing_relevant"))
    elif as_text:
        screen.line(safe(found.text))
    else:
        screen.lines(listing(screen, found.memories))
