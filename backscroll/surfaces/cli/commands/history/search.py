"""`search`: find words in all live messages, in any language."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from backscroll.engine.search.words import MARKS
from backscroll.errors import NotFound
from backscroll.surfaces.cli.command import command, limit_option, option
from backscroll.surfaces.cli.references import thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.screen.cells import cut, width, wrap
from backscroll.surfaces.screen.plain import one_line, safe
from backscroll.surfaces.screen.times import format_time, parse_time
from backscroll.surfaces.words.conversation import role_name
from backscroll.vocab.message import ROLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from backscroll.engine.engine import Engine
    from backscroll.engine.search.words import SearchHit, SearchResult
    from backscroll.surfaces.screen.screen import Screen
    from backscroll.vocab.part import Json

_ALL = 100_000
_START, _END = MARKS


@command(
    "search",
    click.Argument(["words"], metavar="QUERY...", nargs=-1, required=True),
    option("--thread", metavar="THREAD"),
    option("--project", metavar="NAME"),
    option("--user", metavar="NAME"),
    option("--kind", metavar="KIND"),
    option("--role", type=click.Choice(ROLES), multiple=True),
    option("--since", metavar="TIME"),
    option("--until", metavar="TIME"),
    option("--tool", metavar="NAME"),
    limit_option(20),
)
def search_command(
    session: CliSession,
    words: tuple[str, ...],
    thread: str | None,
    project: str | None,
    user: str | None,
    kind: str | None,
    role: tuple[str, ...],
    since: str | None,
    until: str | None,
    tool: str | None,
    limit: int,
) -> None:
    """Search messages."""
    query = " ".join(words)
    with session.engine() as engine:
        found = engine.search(
            query,
            thread=None if thread is None else thread_named(engine, thread).id,
            project=project,
            user=user,
            kind=kind,
            roles=role,
            since=parse_time(since),
            until=parse_time(until, end=True),
            tool=tool,
            limit=limit or _ALL,
        )
        numbers = [_number(engine, hit) for hit in found.hits]
    if session.as_json:
        hits = [_shape(hit, number) for hit, number in zip(found.hits, numbers, strict=True)]
        session.screen.json({"query": query, "relaxed": found.relaxed, "hits": hits})
    else:
        _print(session.screen, found, numbers, query, full=len(found.hits) == limit)


def _number(engine: Engine, hit: SearchHit) -> int | None:
    """Return the number of a hit in its thread; None if it is gone since."""
    try:
        return engine.thread(hit.thread).place(hit.message) + 1
    except NotFound:
        return None


def _shape(hit: SearchHit, number: int | None) -> dict[str, Json]:
    return {
        "thread": hit.thread,
        "title": hit.title,
        "project": hit.project,
        "number": number,
        "message": str(hit.message),
        "revision": str(hit.revision),
        "role": hit.role,
        "author": hit.author,
        "at": hit.at,
        "score": round(hit.score, 4),
        "snippet": hit.snippet.replace(_START, "").replace(_END, ""),
        "matches": _matches(hit.snippet),
    }


def _matches(snippet: str) -> list[list[int]]:
    """Return the positions of matches in the snippet without marks: pairs of start and end, counted in characters."""
    out: list[list[int]] = []
    place = start = 0
    for character in snippet:
        if character == _START:
            start = place
        elif character == _END:
            out.append([start, place])
        else:
            place += 1
    return out


def _print(screen: Screen, found: SearchResult, numbers: list[int | None], query: str, *, full: bool) -> None:
    if not found.hits:
        screen.line(t("search.nothing", query=one_line(query)))
        return
    if found.relaxed:
        screen.remark(t("search.relaxed"), "warn")
    for index, (hit, number) in enumerate(zip(found.hits, numbers, strict=True)):
        if index:
            screen.line()
        screen.lines(_lines(screen, hit, number))
    held = len(found.hits)
    screen.remark("\n" + (count("search.best", held) if full else count("search.found", held)), "dim")


def _lines(screen: Screen, hit: SearchHit, number: int | None) -> Iterator[str]:
    place = hit.message.short + (f"  #{number}" if number else "")
    if hit.message.thread != hit.thread:  # a fork shows text of its parent
        place = f"{hit.thread[:8]}  {place}"
    facts = [role_name(hit.role), one_line(hit.author or ""), format_time(hit.at)]
    middle = " · ".join(fact for fact in facts if fact)
    room = max(12, screen.width - width(place) - width(middle) - 4)
    title = cut(one_line(hit.title or t("words.untitled")), room)
    yield f"{screen.style(place, 'strong')}  {middle}  {screen.style(title, 'dim')}"
    marked = " ".join(hit.snippet.split()).removeprefix(f"{hit.author or ''} ")
    if not screen.coloured:
        marked = marked.replace(_START, "[").replace(_END, "]")
    lit = False
    for line in wrap(marked, screen.room(4)):
        text, lit = _colour_matches(screen, line, lit)
        yield f"    {text}"


def _colour_matches(screen: Screen, line: str, lit: bool) -> tuple[str, bool]:
    """Return a line with its matches in colour; a match may continue from the line before."""
    out: list[str] = []
    piece = ""
    for character in line:
        if character in MARKS:
            out.append(screen.style(safe(piece), "match") if lit else safe(piece))
            piece, lit = "", character == _START
        else:
            piece += character
    out.append(screen.style(safe(piece), "match") if lit else safe(piece))
    return "".join(out), lit
