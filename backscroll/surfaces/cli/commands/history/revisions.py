"""`revisions`, `diff`: earlier contents of a message, and changes between two moments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from backscroll.errors import InvalidInput, NotFound
from backscroll.surfaces.cli.command import command, flag, message_argument, option, thread_argument
from backscroll.surfaces.cli.references import event_number, message_named, ref_named, thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import t
from backscroll.surfaces.screen.cells import cut
from backscroll.surfaces.screen.plain import one_line, safe
from backscroll.surfaces.screen.times import format_time
from backscroll.surfaces.words import shapes
from backscroll.surfaces.words.conversation import body_lines, role_name

if TYPE_CHECKING:
    from backscroll.engine.engine import Engine
    from backscroll.engine.log.differences import Difference
    from backscroll.engine.thread import Thread
    from backscroll.surfaces.screen.screen import Screen
    from backscroll.vocab.ids import Ref
    from backscroll.vocab.message import Message, Revision


@command("revisions", thread_argument(), message_argument(), flag("--full"))
def revisions_command(session: CliSession, thread: str, message: str, full: bool) -> None:
    """List every revision of a message."""
    screen = session.screen
    with session.engine() as engine:
        found = thread_named(engine, thread)
        ref = message_named(engine, found, message)
        now = found.message(ref)
        revisions = found.revisions(ref)
    if session.as_json:
        screen.json([shapes.of_revision(r, r.id == now.revision) for r in revisions])
        return
    title = t("comparing.revisions_of", id=ref.short, role=role_name(now.role))
    screen.line(screen.style(title, "strong"))
    for revision in revisions:
        screen.line()
        screen.lines(_revision_lines(screen, revision, now, full=full))


def _revision_lines(screen: Screen, revision: Revision, now: Message, *, full: bool) -> Iterator[str]:
    words = [revision.id.short, format_time(revision.at), one_line(revision.actor)]
    if now.alternatives > 1:
        words.insert(1, t("flags.alternative", this=revision.alternative + 1, all=now.alternatives))
    live = screen.style(t("comparing.live"), "good") if revision.id == now.revision else ""
    yield f"{screen.style(' · '.join(words), 'dim')}  {live}".rstrip()
    if revision.content is None:
        yield f"    {t('words.forgotten')}"
    else:
        yield from body_lines(screen, revision.content, full=full)


@command(
    "diff",
    thread_argument(),
    message_argument(required=False),
    click.Argument(["old"], metavar="[OLD]", required=False),
    click.Argument(["new"], metavar="[NEW]", required=False),
    option("--from", "from_", metavar="EVENT"),
    option("--to", metavar="EVENT"),
)
def diff_command(
    session: CliSession,
    thread: str,
    message: str | None,
    old: str | None,
    new: str | None,
    from_: str | None,
    to: str | None,
) -> None:
    """Show what changed."""
    moments = from_ is not None or to is not None
    if moments is (message is not None):
        raise InvalidInput(t("comparing.what"), hint=t("comparing.what_hint"))
    with session.engine() as engine:
        found = thread_named(engine, thread)
        if message is None:
            _diff_moments(session, found, from_, to)
        else:
            _diff_revisions(session, engine, found, message, old, new)


def _diff_revisions(
    session: CliSession, engine: Engine, found: Thread, message: str, old: str | None, new: str | None
) -> None:
    # start-up: loaded when the command runs
    from backscroll.engine.log.differences import diff_revisions

    ref = message_named(engine, found, message)
    revisions = found.revisions(ref)
    live = found.message(ref).revision
    after = (
        _find_revision(engine, found, revisions, new) if new else next(r for r in revisions if r.id == live)
    )
    before = _find_revision(engine, found, revisions, old) if old else _one_before(revisions, after.id)
    text = diff_revisions(before, after)
    if session.as_json:
        session.screen.json({"message": str(ref), "old": str(before.id), "new": str(after.id), "diff": text})
    else:
        session.screen.lines(_colour_diff(session.screen, text) if text else [t("comparing.same")])


def _one_before(revisions: list[Revision], live: Ref) -> Revision:
    """Return the revision written before the live one; if that is the first, the newest other one."""
    index = [r.id for r in revisions].index(live)
    if len(revisions) < 2:
        raise NotFound(t("comparing.only_one"), hint=t("comparing.only_one_hint"))
    return revisions[index - 1]


def _find_revision(engine: Engine, found: Thread, revisions: list[Revision], name: str) -> Revision:
    """Find a revision by its place in `revisions` (counted from 1) or by its id."""
    if name.isdecimal() and name.isascii():
        place = int(name)
        if not 1 <= place <= len(revisions):
            raise NotFound(t("comparing.no_revision", name=name), hint=t("comparing.count", n=len(revisions)))
        return revisions[place - 1]
    wanted = ref_named(engine, found, name)
    for revision in revisions:
        if revision.id == wanted:
            return revision
    raise NotFound(t("comparing.no_revision", name=name), hint=t("comparing.count", n=len(revisions)))


def _diff_moments(session: CliSession, found: Thread, from_: str | None, to: str | None) -> None:
    # start-up: loaded when the command runs
    from backscroll.engine.log.differences import diff_moments

    head = found.head
    first = 0 if from_ is None else event_number(from_)
    second = head if to is None else event_number(to)
    for number in (first, second):
        if number > head:
            raise NotFound(t("comparing.no_event", number=number), hint=t("comparing.events", n=head))
    differences = diff_moments(found, first, second)
    if session.as_json:
        session.screen.json(
            {
                "thread": found.id,
                "from": first,
                "to": second,
                "differences": [
                    {
                        "kind": d.kind,
                        "message": str(d.message),
                        "role": d.role,
                        "before": d.before,
                        "after": d.after,
                    }
                    for d in differences
                ],
            }
        )
        return
    screen = session.screen
    screen.line(screen.style(t("comparing.moments", first=first, second=second), "strong"))
    if not differences:
        screen.line(t("comparing.same"))
    for difference in differences:
        screen.line()
        screen.lines(_difference_lines(screen, difference))


def _difference_lines(screen: Screen, difference: Difference) -> Iterator[str]:
    # start-up: loaded when the command runs
    from backscroll.engine.log.differences import diff_texts

    kind = difference.kind
    style = {"added": "added", "removed": "removed"}.get(kind, "warn")
    head = f"{t(f'differences.{kind}')}  {role_name(difference.role)}  {difference.message.short}"
    yield screen.style(head, style)
    room = screen.room(4)
    before, after = difference.before or "", difference.after or ""
    if kind == "changed":
        # The two file name lines of a diff have no meaning here.
        body = diff_texts(before, after).split("\n")[2:]
        yield from (f"    {line}" for line in _colour_diff(screen, "\n".join(body), headers=0))
    elif kind == "flagged":
        yield f"    {_flags(before)} → {_flags(after)}"
    else:
        yield f"    {cut(one_line(after or before), room)}"


def _flags(text: str) -> str:
    names = {"hidden": t("flags.hidden"), "pinned": t("flags.pinned"), "-": t("flags.none")}
    return ", ".join(names.get(name, name) for name in text.split(", "))


def _colour_diff(screen: Screen, text: str, headers: int = 2) -> Iterator[str]:
    for index, line in enumerate(text.split("\n")):
        style = {"+": "added", "-": "removed", "@": "dim"}.get(line[:1], "")
        if index < headers:
            style = "strong"
        yield screen.style(safe(line), style) if style else safe(line)
