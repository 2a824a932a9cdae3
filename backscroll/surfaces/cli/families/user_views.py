"""`user list`, `show`, `history`: reading what is known about users."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from backscroll.surfaces.cli.command import command
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import count, get_language, t
from backscroll.surfaces.screen.cells import wrap
from backscroll.surfaces.screen.plain import one_line, safe
from backscroll.surfaces.screen.table import Column, table
from backscroll.surfaces.words.graph import predicate_words
from backscroll.vocab.handle import Handle

if TYPE_CHECKING:
    from backscroll.engine.user import FactSource, Preference, UserFact
    from backscroll.surfaces.screen.screen import Screen
    from backscroll.vocab.part import Json


def user_argument() -> click.Argument:
    """Return an argument for a user, by the name given to their threads."""
    return click.Argument(["user"], metavar="USER")


@command("user-list")
def list_(session: CliSession) -> None:
    """List users."""
    with session.engine() as engine:
        found: dict[str, int] = {}
        for info in engine.threads():
            if info.user:
                found[info.user] = found.get(info.user, 0) + 1
    rows = sorted(found.items())
    if session.as_json:
        session.screen.json([{"user": name, "threads": n} for name, n in rows])
        return
    if not rows:
        session.screen.line(t("user.nobody"))
        return
    columns = [Column(t("user.name"), style="strong"), Column(t("user.threads"), right=True)]
    session.screen.lines(table(session.screen, columns, [(one_line(name), str(n)) for name, n in rows]))


@command("user-show", user_argument())
def show(session: CliSession, user: str) -> None:
    """Show what is known about a user."""
    with session.engine() as engine:
        somebody = engine.user(user)
        facts, preferences = somebody.facts(), somebody.preferences()
        threads = sum(1 for _ in somebody.threads())
    held = [p for p in preferences if not p.superseded]
    if session.as_json:
        session.screen.json(
            {
                "user": user,
                "threads": threads,
                "facts": [of_fact(fact) for fact in facts],
                "preferences": [_of_preference(p) for p in held],
            }
        )
        return
    screen = session.screen
    screen.line(
        f"{screen.style(one_line(user), 'strong')}  {screen.style(count('words.threads', threads), 'dim')}"
    )
    if not facts and not held:
        screen.line(t("user.nothing"))
        return
    screen.lines(fact_lines(screen, facts))
    for preference in held:
        screen.line(f"  {t('user.prefers', text=one_line(preference.text))}")


@command(
    "user-history",
    user_argument(),
    click.Argument(["predicate"], metavar="[FACT]", required=False, default=""),
)
def history(session: CliSession, user: str, predicate: str) -> None:
    """Show every value that was ever held."""
    with session.engine() as engine:
        facts = engine.user(user).history(predicate)
    if session.as_json:
        session.screen.json([of_fact(fact) for fact in facts])
    elif facts:
        session.screen.lines(fact_lines(session.screen, facts))
    else:
        session.screen.line(t("user.nothing"))


def of_fact(fact: UserFact) -> dict[str, Json]:
    """Return a fact as JSON."""
    return {
        "predicate": fact.predicate,
        "value": fact.value,
        "current": fact.current,
        "by": fact.by,
        "sources": [
            {
                "thread": source.thread,
                "message": None if source.message is None else str(source.message),
                "revision": str(source.revision),
                "quote": source.quote,
            }
            for source in fact.sources
        ],
    }


def _of_preference(preference: Preference) -> dict[str, Json]:
    return {
        "text": preference.text,
        "confidence": preference.confidence,
        "sources": [str(ref) for ref in preference.sources],
    }


def fact_lines(screen: Screen, facts: Sequence[UserFact]) -> Iterator[str]:
    """Yield facts, each with the sentences that support it."""
    for fact in facts:
        label = predicate_words(fact.predicate, get_language())
        text = t("user.fact", label=label, value=one_line(fact.value))
        marks = [t("user.by_person")] if fact.by == "person" else []
        marks += [] if fact.current else [t("user.past")]
        yield f"  {text}" + (screen.style(f"  {' · '.join(marks)}", "dim") if marks else "")
        for source in fact.sources[-2:]:
            yield from _source(screen, source)


def _source(screen: Screen, source: FactSource) -> Iterator[str]:
    ref = source.message or source.revision
    handle = str(Handle(ref.seq, ref.seq, ref.thread))
    for part in wrap(safe(source.quote), screen.room(24)) or [""]:
        yield screen.style(f"      {handle}  {part}".rstrip(), "dim")
