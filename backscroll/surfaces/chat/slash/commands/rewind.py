"""`/rewind`: back to before a turn, files and conversation together or one of them, with a preview and a confirmation.

`engine/folder/rewind` does it and can revert it (`/rewind redo`). If no folder is watched, only the conversation goes back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from backscroll.engine.folder.rewind import rewind_words
from backscroll.errors import NotFound
from backscroll.surfaces.chat.completion import recent_turn_numbers
from backscroll.surfaces.chat.screen.diffs import diff_lines
from backscroll.surfaces.chat.slash.arguments import turn_meant
from backscroll.surfaces.chat.slash.replies import line, remark, report_done, warning
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.screen.cells import cut
from backscroll.surfaces.screen.plain import one_line

if TYPE_CHECKING:
    from backscroll.engine.folder.rewind import RewindReport
    from backscroll.engine.folder.workroom import What, Workroom
    from backscroll.surfaces.chat.talk import Talk
    from backscroll.vocab.change import CodeChange, FileChange

_TURNS = 30  # turns of the picker
_CHANGES = 300  # newest changes that are searched for what each turn did
_FILES = 20  # files of a preview
_WHATS: tuple[What, ...] = ("both", "files", "conversation")
_REDO = ("redo", "重做")
Files: TypeAlias = "Sequence[FileChange]"


def rewind_slash(talk: Talk, rest: str) -> None:
    """Pick a turn (or use the given one), pick what goes back, show a preview, ask."""
    room = talk.agent.workroom
    if rest in _REDO:
        _redo(talk, room)
        return
    turn = turn_meant(talk.thread, rest, "rewind") if rest else _pick_turn(talk, room)
    if turn is None:
        return
    if room is None:
        _words_alone(talk, turn)
        return
    chosen = talk.choose(t("slash.rewind_what", n=turn), [t(f"slash_rewind.{what}") for what in _WHATS])
    if chosen is None:
        remark(talk, t("slash.nothing_done"))
        return
    what = _WHATS[chosen]
    if what != "conversation":
        room.look()  # manual changes not recorded yet belong in the preview
    plan = room.rewind(turn, what, dry_run=True)
    if not plan.files and not plan.messages:
        remark(talk, t("slash.rewind_nothing"))
        return
    preview(talk, plan)
    if not _confirm_rewind(talk, plan):
        remark(talk, t("slash.nothing_done"))
        return
    _report_rewind(talk, room.rewind(turn, what, force=bool(plan.foreign)))


def _confirm_rewind(talk: Talk, plan: RewindReport) -> bool:
    if not plan.foreign:
        return talk.confirm(t("slash.rewind_sure_redo" if plan.redone else "slash.rewind_sure"), usual=True)
    for path in plan.foreign[:_FILES]:
        warning(talk, t("slash.rewind_foreign", path=one_line(path)))
    return talk.confirm(count("slash.rewind_over", len(plan.foreign)), usual=False)


def _report_rewind(talk: Talk, made: RewindReport) -> None:
    facts = {
        "files": count("slash.files", len(made.files)),
        "messages": count("words.messages", len(made.messages)),
    }
    if made.redone:
        report_done(talk, t("slash.rewind_redone", **facts))
    else:
        report_done(talk, t("slash.rewound", n=made.turn, **facts))
        asked = next((m.text for m in made.messages if m.role == "user"), "")
        if asked:
            remark(talk, t("slash.rewind_asked", text=one_line(asked[:400])))


def _redo(talk: Talk, room: Workroom | None) -> None:
    if room is None:
        raise NotFound(t("slash.no_workroom"), hint=t("slash.no_workroom_undo"))
    room.look()
    plan = room.redo(dry_run=True)
    preview(talk, plan)
    if _confirm_rewind(talk, plan):
        _report_rewind(talk, room.redo(force=bool(plan.foreign)))
    else:
        remark(talk, t("slash.nothing_done"))


def _words_alone(talk: Talk, turn: int) -> None:
    """Rewind without a watched folder: remove the messages, in one stroke that `/undo` reverts."""
    remark(talk, t("slash.no_workroom"))
    thread = talk.thread
    opening = thread.turn(turn).messages[0].id
    going = len(thread) - thread.place(opening)
    if not talk.confirm(count("slash.rewind_words", going), usual=True):
        remark(talk, t("slash.nothing_done"))
        return
    gone = rewind_words(thread, turn)
    report_done(talk, t("slash.rewound_words", n=turn, messages=count("words.messages", gone)))


# -- showing -----------------------------------------------------------------------------------------------------


def preview(talk: Talk, plan: RewindReport) -> None:
    """Show what would happen to files and conversation."""
    for file in plan.files[:_FILES]:
        line(talk, f"  {file_line(file)}")
    if len(plan.files) > _FILES:
        remark(talk, "  " + count("slash.files_more", len(plan.files) - _FILES))
    if plan.diff:
        talk.show(*diff_lines(plan.diff))
    for path in plan.lost:
        warning(talk, t("slash.rewind_lost", path=one_line(path)))
    if plan.messages:
        key = "slash.rewind_back" if plan.redone else "slash.rewind_leave"
        line(talk, count(key, len(plan.messages)))


def file_line(file: FileChange) -> str:
    """Return what would happen to a file, in a line."""
    name = one_line(f"{file.old_path} → {file.path}" if file.old_path else file.path)
    size = t("slash.binary") if file.binary else f"+{file.added} −{file.removed}"
    return f"{t(f'slash_action.{file.action}')} {name} ({size})"


def _pick_turn(talk: Talk, room: Workroom | None) -> int | None:
    """Let the user pick one of the last turns, newest first, each with what it changed."""
    turns = [turn for turn in reversed(talk.thread.recent_turns(_TURNS)) if turn.sequence]
    if not turns:
        remark(talk, t("slash.no_turns"))
        return None
    made = _by_turn(room.changes(limit=_CHANGES)) if room is not None else {}
    width = max(30, talk.console.width - 8)
    options: list[str] = []
    for turn in turns:
        files = made.get(turn.sequence, set())
        told = f" · {count('slash.files', len(files))}" if files else ""
        asked = cut(one_line(turn.user_input[:300]), max(12, width - 30))
        number = t("slash.blame_turn", n=turn.sequence)
        options.append(cut(f"{number} · {asked}{told}", width))
    chosen = talk.choose(t("slash.rewind_which"), options)
    return None if chosen is None else turns[chosen].sequence


def _by_turn(changes: Sequence[CodeChange]) -> dict[int, set[str]]:
    out: dict[int, set[str]] = {}
    for change in changes:
        if change.turn is not None:
            out.setdefault(change.turn, set()).update(file.path for file in change.files)
    return out


def rewind_offer(talk: Talk, before: list[str], _current: str) -> Iterable[tuple[str, str]]:
    """Offer the last turns, and reverting a rewind."""
    return [] if before else [*recent_turn_numbers(talk), ("redo", t("slash.offer_rewind_redo"))]
