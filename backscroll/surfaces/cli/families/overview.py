"""The output of `backscroll` alone: the newest threads, and the next step."""

from __future__ import annotations

from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.screen.table import Column, table
from backscroll.surfaces.screen.times import format_time
from backscroll.surfaces.words.conversation import title_of

_RECENT = 5


def overview(session: CliSession) -> None:
    """Print a short welcome: the newest threads, or how to begin. Creates no store."""
    screen = session.screen
    if screen.as_json:
        screen.json({"store": session.place, "exists": session.has_store})
        return
    screen.line(screen.style("Backscroll", "strong") + "  " + t("overview.slogan"))
    screen.line()
    if not session.has_store:
        first_steps(session)
        return
    with session.engine() as engine:
        recent = list(engine.threads(limit=_RECENT))
    if not recent:
        first_steps(session)
        return
    screen.line(t("overview.recent"))
    columns = [
        Column("", style="strong"),
        Column("", shrinks=True),
        Column("", right=True),
        Column("", style="dim"),
    ]
    rows = [
        (i.id[:8], title_of(i), count("words.messages", i.messages), format_time(i.updated_at, short=True))
        for i in recent
    ]
    screen.lines(table(screen, columns, rows, indent=2))
    screen.line()
    _commands(session, "overview.next", ("chat", "show last", "search …", "import …", "--help"))
    screen.line()
    screen.line(screen.style(t("overview.store", path=one_line(session.place)), "dim"))


def first_steps(session: CliSession) -> None:
    """Print how to begin with an empty store."""
    session.screen.line(t("overview.empty"))
    session.screen.line()
    _commands(session, "overview.begin", ("chat", "demo", "import --discover", "import …", "new", "--help"))
    session.screen.line()
    session.screen.line(session.screen.style(t("overview.store", path=one_line(session.place)), "dim"))


def _commands(session: CliSession, title: str, names: tuple[str, ...]) -> None:
    screen = session.screen
    screen.line(t(title))
    columns = [Column("", style="strong"), Column("", shrinks=True)]
    texts = {
        name: t("overview.to_" + name.split()[0].lstrip("-") + ("_discover" if "discover" in name else ""))
        for name in names
    }
    screen.lines(table(screen, columns, [(f"backscroll {name}", texts[name]) for name in names], indent=2))
