"""`recall`: find what answers a question, with the best value for the tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from backscroll.errors import InvalidInput
from backscroll.surfaces.cli.command import command, flag, limit_option, option
from backscroll.surfaces.cli.references import thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.i18n.translation import say
from backscroll.surfaces.screen.cells import wrap
from backscroll.surfaces.screen.plain import one_line, safe
from backscroll.surfaces.screen.times import format_time
from backscroll.surfaces.words.conversation import role_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from backscroll.engine.search.recall import RecallItem, RecallResult
    from backscroll.surfaces.screen.screen import Screen
    from backscroll.vocab.part import Json


@command(
    "recall",
    click.Argument(["words"], metavar="[THREAD] QUERY...", nargs=-1, required=True),
    option("--project", metavar="NAME"),
    option("--user", metavar="NAME"),
    flag("--all", "everywhere"),
    option("--budget", metavar="TOKENS", type=int, default=2000),
    flag("--text", "as_text"),
    limit_option(0),
)
def recall_command(
    session: CliSession,
    words: tuple[str, ...],
    project: str | None,
    user: str | None,
    everywhere: bool,
    budget: int,
    as_text: bool,
    limit: int,
) -> None:
    """Recall what answers a question."""
    # start-up: loaded when the command runs
    from backscroll.engine.search.recall import recall_across

    if [everywhere, project is not None, user is not None].count(True) > 1:
        raise InvalidInput("give one of --project, --user and --all")
    most = limit or None
    with session.engine() as engine:
        if everywhere or project is not None or user is not None:
            question = " ".join(words)
            found = recall_across(engine, question, budget, project=project, user=user, limit=most)
        else:
            if len(words) < 2:
                raise InvalidInput(
                    "name the thread, then the question",
                    hint="backscroll recall last QUESTION, or --all QUESTION",
                )
            thread = thread_named(engine, words[0])
            found = thread.recall(" ".join(words[1:]), budget, limit=most)
    if session.as_json:
        session.screen.json(_shape(found))
    elif as_text:
        session.screen.line(safe(found.text))
    else:
        _print(session.screen, found)


def _shape(found: RecallResult) -> dict[str, Json]:
    return {
        "query": found.query,
        "tokens": found.tokens,
        "exact": found.exact,
        "looked_at": found.looked_at,
        "text": found.text,
        "items": [
            {
                "thread": item.thread,
                "message": str(item.message),
                "revision": str(item.revision),
                "handle": item.handle,
                "role": item.role,
                "speaker": item.speaker,
                "at": item.at,
                "text": item.text,
                "whole": item.whole,
                "score": item.score,
                "why": item.why,
                "tokens": item.tokens,
            }
            for item in found.items
        ],
    }


def _print(screen: Screen, found: RecallResult) -> None:
    if not found.items:
        screen.line(t("recall.nothing", query=one_line(found.query)))
        return
    for number, item in enumerate(found.items):
        if number:
            screen.line()
        screen.lines(_lines(screen, item))
    screen.remark("\n" + count("recall.found", len(found.items), tokens=found.tokens), "dim")
    if not found.exact:
        screen.remark(t("recall.not_all"), "dim")


def _lines(screen: Screen, item: RecallItem) -> Iterator[str]:
    who = one_line(item.speaker) if item.speaker != item.role else role_name(item.role)
    why = ", ".join(say(reason) for reason in item.why.split(", "))
    facts = f"{who} · {format_time(item.at)} · {why}"
    yield f"{screen.style(item.handle, 'strong')}  {screen.style(facts, 'dim')}"
    for line in item.text.splitlines() or [""]:
        for row in wrap(safe(line), screen.room(4)) or [""]:
            yield f"    {row}"
