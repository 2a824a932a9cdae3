"""`forget`: erase text permanently, after showing which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backscroll.errors import InvalidInput
from backscroll.surfaces.cli.command import command, flag, messages_argument, thread_argument
from backscroll.surfaces.cli.references import messages_named, thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.words.conversation import excerpt, role_name, title_of
from backscroll.surfaces.words.erasure import SHOWN, account_of_erasure, erasure_shape

if TYPE_CHECKING:
    from backscroll.engine.log.erasure import ForgetReport
    from backscroll.engine.thread import Thread
    from backscroll.surfaces.screen.screen import Screen
    from backscroll.vocab.ids import Ref


@command(
    "forget",
    thread_argument(),
    messages_argument(required=False),
    flag("--all", "whole"),
    flag("--yes", "-y"),
    flag("--keep-shared"),
)
def forget_command(
    session: CliSession, thread: str, messages: tuple[str, ...], whole: bool, yes: bool, keep_shared: bool
) -> None:
    """Erase messages, or a whole thread, permanently."""
    if whole == bool(messages):
        # An empty variable in a script must never turn "this message" into "everything".
        key = "forgetting.both_named" if whole else "forgetting.none_named"
        raise InvalidInput(t(key), hint=t("forgetting.which_hint", thread=one_line(thread)))
    screen = session.screen
    with session.engine() as engine:
        found = thread_named(engine, thread)
        refs = messages_named(engine, found, messages)
        if not yes:
            if not screen.can_ask:
                raise InvalidInput(t("forgetting.not_asked"), hint=t("forgetting.not_asked_hint"))
            _preview(screen, found, refs, _forget_messages(found, refs, keep_shared, dry_run=True))
            if not screen.asks(t("forgetting.sure")):
                screen.line(t("forgetting.kept"))
                return
        done = _forget_messages(found, refs, keep_shared)
    if session.as_json:
        screen.json(erasure_shape(done))
    else:
        account_of_erasure(screen, done)


def _forget_messages(
    found: Thread, refs: list[Ref], keep_shared: bool, *, dry_run: bool = False
) -> ForgetReport:
    """Forget the given messages, or the whole thread; the command made sure that one of them was asked for."""
    if refs:
        return found.forget(*refs, keep_shared=keep_shared, dry_run=dry_run)
    return found.forget_thread(keep_shared=keep_shared, dry_run=dry_run)


def _preview(screen: Screen, found: Thread, refs: list[Ref], would: ForgetReport) -> None:
    """Show what would be erased."""
    info = found.info
    if not refs:
        title = t(
            "forgetting.thread",
            title=one_line(title_of(info)),
            messages=count("words.messages", info.messages),
        )
        screen.line(screen.style(title, "warn"))
        shown = found.recent(3)
    else:
        screen.line(screen.style(count("forgetting.messages", len(refs)), "warn"))
        shown = [found.message(ref) for ref in refs[:SHOWN]]
    for message in shown:
        revisions = len(found.revisions(message.id))
        said = excerpt(message.content, screen.room(34))
        more = "" if revisions < 2 else f"  ({count('words.revisions', revisions)})"
        text = t("words.says", role=role_name(message.role), text=said)
        screen.line(f"  {message.id.short}  {text}{more}")
    if len(refs) > SHOWN:
        screen.line("  " + t("importing.and_more", n=len(refs) - SHOWN))
    screen.line(
        t(
            "forgetting.would",
            revisions=count("words.revisions", would.revisions),
            blobs=count("words.attachments", would.blobs),
            threads=count("words.threads", len(would.threads)),
        )
    )
    if would.shared_with:
        names = ", ".join(ref.short for ref in would.shared_with[:SHOWN])
        screen.line(screen.style(t("forgetting.would_share", names=names), "warn"))
    screen.line(t("forgetting.everywhere"))
