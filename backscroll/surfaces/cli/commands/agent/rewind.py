"""`rewind`: restore files and conversation to before a turn, after a preview; and revert that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from backscroll.errors import InvalidInput
from backscroll.surfaces.cli.command import command, flag
from backscroll.surfaces.cli.commands.agent.folder_threads import room_of, thread_here
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.words import workroom as told

if TYPE_CHECKING:
    from backscroll.engine.folder.rewind import RewindReport
    from backscroll.engine.folder.workroom import What, Workroom


_LAST = -1  # the last turn, resolved when the thread is known


@command(
    "rewind",
    click.Argument(["words"], metavar="[THREAD] TURN", nargs=-1, required=False),
    flag("--files"),
    flag("--conversation"),
    flag("--redo"),
    flag("--dry-run"),
    flag("--force"),
    flag("--yes", "-y"),
)
def rewind_command(
    session: CliSession,
    words: tuple[str, ...],
    files: bool,
    conversation: bool,
    redo: bool,
    dry_run: bool,
    force: bool,
    yes: bool,
) -> None:
    """Rewind to before a turn."""
    thread, turn = _read(words, redo=redo)
    if redo and (files or conversation):
        raise InvalidInput(t("workroom.redo_whole"), hint=t("workroom.redo_whole_hint"))
    what: What = (
        "files" if files and not conversation else "conversation" if conversation and not files else "both"
    )
    screen = session.screen
    with session.engine() as engine:
        room = room_of(screen, thread_here(engine, thread))
        if turn == _LAST:
            turn = room.thread.info.turns

        def go(*, dry: bool) -> RewindReport:
            if turn is None:
                return room.redo(force=force, dry_run=dry)
            return room.rewind(turn, what, force=force, dry_run=dry)

        plan = go(dry=True)
        if not session.as_json and (dry_run or not yes):
            screen.lines(told.preview_lines(screen, plan))
        if not dry_run and (plan.files or plan.messages):
            if not yes and not _confirm_rewind(session, room, plan, force=force):
                screen.line(t("workroom.not_rewound"))
                return
            plan = go(dry=False)
    if session.as_json:
        screen.json(told.rewound_json(plan))
    elif plan.done:
        key = "workroom.redone" if plan.redone else "workroom.rewound"
        screen.line(
            t(
                key,
                turn=plan.turn,
                files=count("workroom.n_files", len(plan.files)),
                messages=count("words.messages", len(plan.messages)),
            )
        )


def _read(words: tuple[str, ...], *, redo: bool) -> tuple[str | None, int | None]:
    """Return the thread, if one is given, and the turn."""
    if redo:
        if len(words) > 1:
            raise InvalidInput(t("workroom.redo_words"), hint=t("workroom.rewind_hint"))
        return (words[0] if words else None), None
    *named, turn = words or ("",)
    if len(named) < 2 and turn in ("last", t("slash.last")):
        return (named[0] if named else None), _LAST
    if len(named) > 1 or not (turn.isdecimal() and turn.isascii()):
        raise InvalidInput(t("workroom.which_turn"), hint=t("workroom.rewind_hint"))
    return (named[0] if named else None), int(turn)


def _confirm_rewind(session: CliSession, room: Workroom, plan: RewindReport, *, force: bool) -> bool:
    """Ask if a user is present; a rewind that would be refused anyway is not asked about."""
    del room
    if plan.foreign and not force:
        return True  # the refusal itself says what is in the way
    if not session.screen.can_ask:
        raise InvalidInput(t("workroom.not_asked"), hint=t("workroom.not_asked_hint"))
    return session.screen.asks(t("workroom.sure_redo" if plan.redone else "workroom.sure", turn=plan.turn))
