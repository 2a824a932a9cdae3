"""The report of a forget, as text and as JSON; shared by every command that erases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.i18n.translation import say
from backscroll.surfaces.screen.plain import one_line

if TYPE_CHECKING:
    from backscroll.engine.log.erasure import ForgetReport
    from backscroll.surfaces.screen.screen import Screen
    from backscroll.vocab.part import Json

SHOWN = 10  # names listed


def erasure_shape(done: ForgetReport) -> dict[str, Json]:
    """Return what was erased, with stable keys."""
    return {
        "messages": done.messages,
        "revisions": done.revisions,
        "blobs": done.blobs,
        "beside": done.beside,
        "derived": done.derived,
        "threads": list(done.threads),
        "shared_with": [str(ref) for ref in done.shared_with],
        "unreachable": [say(what) for what in done.unreachable],
    }


def account_of_erasure(screen: Screen, done: ForgetReport) -> None:
    """Print what was erased, and what cannot be reached."""
    screen.line(
        t(
            "forgetting.done",
            messages=count("words.messages", done.messages),
            revisions=count("words.revisions", done.revisions),
            blobs=count("words.attachments", done.blobs),
            threads=count("words.threads", len(done.threads)),
        )
    )
    if done.beside:
        screen.line(count("forgetting.beside", done.beside))
    if done.shared_with:
        names = ", ".join(ref.short for ref in done.shared_with[:SHOWN])
        screen.remark(t("forgetting.shared", names=names), "warn")
    if done.unreachable:
        screen.line(t("forgetting.unreachable"))
        for what in done.unreachable:
            screen.line(f"  {one_line(say(what))}")
