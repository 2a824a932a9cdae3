"""`verify`, `stats`, `doctor`: check the store and the installation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backscroll.errors import InvalidInput, StoreCorrupt
from backscroll.surfaces.cli.command import command, flag, option, thread_argument
from backscroll.surfaces.cli.references import thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.cli.temporary_store import engine_apart
from backscroll.surfaces.i18n import count, find, t
from backscroll.surfaces.i18n.translation import say
from backscroll.surfaces.screen.cells import pad_text, wrap
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.screen.progress import ProgressBar
from backscroll.surfaces.screen.sizes import size
from backscroll.surfaces.screen.table import Column, table

if TYPE_CHECKING:
    from backscroll.engine.doctor import DoctorCheck
    from backscroll.engine.exchange.repair import RepairReport
    from backscroll.engine.log.verification import StoreFlaw, VerificationReport
    from backscroll.surfaces.screen.screen import Screen
    from backscroll.vocab.part import Json

_BYTES = {"bytes", "blob_bytes"}
_OF_A_STORE = {"store", "contents", "disk"}


@command("verify", thread_argument(required=False), flag("--repair"), option("--set-aside", metavar="FILE"))
def verify_command(session: CliSession, thread: str | None, repair: bool, set_aside: str | None) -> None:
    """Check every hash and rebuild everything from the log."""
    if thread is not None and (repair or set_aside is not None):
        raise InvalidInput(t("checking.whole_only"), hint=t("checking.whole_only_hint"))
    if set_aside is not None and not repair:
        with session.engine() as engine:
            _save_aside(session, engine.save_aside(set_aside), set_aside)
        return
    with session.engine() as engine, ProgressBar(wanted=not session.as_json) as bar:
        mended = engine.repair() if repair else []
        saved = None if set_aside is None else engine.save_aside(set_aside)
        wanted = None if thread is None else thread_named(engine, thread).id
        verdict = engine.verify(wanted, lambda done, total: bar(done, total, t("checking.verifying")))
    if not verdict.ok:
        session.exit_code = StoreCorrupt.exit_code
    if session.as_json:
        session.screen.json(
            {
                "ok": verdict.ok,
                "threads": verdict.threads,
                "events": verdict.events,
                **({"repaired": [_mended_shape(m) for m in mended]} if repair else {}),
                "scrub_due": verdict.scrub_due,
                "flaws": [
                    {
                        "thread": f.thread,
                        "event": None if f.event is None else str(f.event),
                        "what": say(f.what),
                    }
                    for f in verdict.flaws
                ],
            }
        )
    else:
        if repair:
            _tell_mended(session.screen, mended)
        if saved is not None and set_aside is not None:
            _save_aside(session, saved, set_aside)
        _verdict(session.screen, verdict)


def _mended_shape(mended: RepairReport) -> dict[str, Json]:
    return {
        "thread": mended.thread,
        "why": say(mended.why),
        "what": say(mended.what),
        "set_aside": mended.aside,
    }


def _tell_mended(screen: Screen, mended: list[RepairReport]) -> None:
    """Report what was wrong with each thread, what was repaired, and what is in quarantine now."""
    if not mended:
        screen.line(t("checking.nothing_to_mend"))
        return
    for each in mended:
        screen.line(f"  {each.thread[:8] or t('checking.whole_store')}  {one_line(say(each.why))}")
        done = t("checking.mended", what=say(each.what), rows=count("checking.rows", each.aside))
        screen.line(f"    {one_line(done)}")
    screen.line(t("checking.aside_hint"))


def _save_aside(session: CliSession, rows: int, path: str) -> None:
    if session.as_json:
        session.screen.json({"file": path, "rows": rows})
    else:
        session.screen.line(t("checking.saved_aside", rows=count("checking.rows", rows), path=one_line(path)))


def _verdict(screen: Screen, verdict: VerificationReport) -> None:
    seen = t(
        "checking.seen",
        threads=count("words.threads", verdict.threads),
        events=count("words.events", verdict.events),
    )
    if verdict.scrub_due:
        screen.line(screen.style(t("checking.scrub_due"), "warn"))
    if verdict.ok:
        screen.line(f"{screen.style(t('checking.sound'), 'good')}  {seen}")
        return
    screen.line(f"{screen.style(count('checking.flaws', len(verdict.flaws)), 'bad')}  {seen}")
    for flaw in verdict.flaws:
        screen.line(f"  {_where(flaw)}  {one_line(say(flaw.what))}")
    screen.line(t("checking.flaws_hint"))


def _where(flaw: StoreFlaw) -> str:
    if flaw.event is not None:
        return flaw.event.short
    return flaw.thread[:8] or t("checking.whole_store")


@command("stats")
def stats_command(session: CliSession) -> None:
    """Show store statistics."""
    with session.engine() as engine:
        numbers = engine.stats()
    if session.as_json:
        session.screen.json(numbers)
        return
    columns = [Column(""), Column("", right=True)]
    rows = [
        (find(f"stats.{name}") or name, size(number) if name in _BYTES else f"{number:,}")
        for name, number in numbers.items()
    ]
    session.screen.lines(table(session.screen, columns, rows))


@command("doctor")
def doctor_command(session: CliSession) -> None:
    """Diagnose the installation."""
    checks = _checks(session)
    if any(check.ok is False for check in checks):
        session.exit_code = 1
    if session.as_json:
        session.screen.json(
            [{"name": c.name, "ok": c.ok, "detail": say(c.detail), "hint": say(c.hint)} for c in checks]
        )
        return
    for check in checks:
        _check(session.screen, check)


def _checks(session: CliSession) -> list[DoctorCheck]:
    """Return the engine's checks; if there is no store yet, none is created."""
    # start-up: loaded when the command runs
    from backscroll.engine.doctor import DoctorCheck

    if session.has_store:
        with session.engine() as engine:
            return [*engine.doctor(), _sandbox(session)]
    with engine_apart() as engine:
        found = engine.doctor()
    absent = DoctorCheck("store", None, t("cli.no_store", path=session.place))
    return [absent, *(check for check in found if check.name not in _OF_A_STORE), _sandbox(session)]


def _sandbox(session: CliSession) -> DoctorCheck:
    """Check which sandbox can be enforced for an agent's commands, and whether it is."""
    # start-up: loaded when the command runs
    from backscroll.agent.commands.sandbox import check_sandbox
    from backscroll.engine.doctor import DoctorCheck

    ok, detail, hint = check_sandbox(session.settings())
    return DoctorCheck("sandbox", ok, detail, hint)


def _check(screen: Screen, check: DoctorCheck) -> None:
    state, style = {
        True: (t("checking.ok"), "good"),
        False: (t("checking.bad"), "bad"),
        None: (t("checking.absent"), "dim"),
    }[check.ok]
    name = find(f"checks.{check.name.replace(' ', '_').lower()}") or check.name
    lines = list(wrap(one_line(say(check.detail)), screen.room(24, 110))) or [""]
    screen.line(f"{screen.style(_pad_text(state, 6), style)}  {_pad_text(name, 14)}  {lines[0]}".rstrip())
    for line in lines[1:]:
        screen.line(" " * 24 + line)
    if check.hint:
        screen.line(screen.style(" " * 24 + one_line(say(check.hint)), "dim"))


def _pad_text(text: str, room: int) -> str:
    return pad_text(text, room)
