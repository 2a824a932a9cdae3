"""`/help`, `/unfold`, `/lang`, `/clear`, `/quit`: the terminal itself."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

from backscroll.errors import InvalidInput, NotFound
from backscroll.surfaces import i18n
from backscroll.surfaces.chat.slash.arguments import first_word, no_words, whole_number, wrong_use
from backscroll.surfaces.chat.slash.catalogue import SLASHES, SlashCommand
from backscroll.surfaces.chat.slash.registry import find, near
from backscroll.surfaces.chat.slash.replies import line, remark, report_done
from backscroll.surfaces.i18n import t

if TYPE_CHECKING:
    from backscroll.surfaces.chat.talk import Talk


def help_slash(talk: Talk, rest: str) -> None:
    """Show all commands, or the details of one."""
    name, _ = first_word(rest)
    if not name:
        _all(talk)
        return
    slash = find(name)
    if slash is None:
        meant = ", ".join(f"/{n}" for n in near(name.lstrip("/")))
        hint = t("slash.meant", names=meant) if meant else t("slash.see_help")
        raise NotFound(t("slash.unknown", name=name.lstrip("/")), hint=hint)
    _one(talk, slash)


def _all(talk: Talk) -> None:
    from rich.table import Table
    from rich.text import Text

    for family, members in groupby(SLASHES, key=lambda s: s.family):
        rows = Table.grid(padding=(0, 2))
        rows.add_column(no_wrap=True)
        rows.add_column()
        for slash in members:
            name = Text(f"  /{slash.name}", style="cyan")
            rows.add_row(name, Text(slash.help))
        talk.show(Text(t(f"slash_family.{family}"), style="bold"), rows)
    remark(talk, t("slash.help_more"))


def _one(talk: Talk, slash: SlashCommand) -> None:
    line(talk, slash.call, "bold cyan")
    line(talk, f"  {slash.help}")
    more = i18n.find(f"slash_more.{slash.name}")
    if more:
        for text in more.strip().splitlines():
            line(talk, f"  {text}")
    if slash.aliases:
        remark(talk, "  " + t("slash.aliases", names=" ".join(f"/{a}" for a in slash.aliases)))


def help_offer(_talk: Talk, before: list[str], _current: str) -> Iterable[tuple[str, str]]:
    """Offer the names of all commands."""
    return [] if before else [(slash.name, slash.help) for slash in SLASHES]


def unfold_slash(talk: Talk, rest: str) -> None:
    """Show a folded tool call in full."""
    unfold = getattr(talk, "unfold", None)
    if not callable(unfold):
        raise NotFound(t("slash.no_unfold"), hint=t("slash.no_unfold_hint"))
    unfold(whole_number(rest, "unfold") if rest else None)


def lang_slash(talk: Talk, rest: str) -> None:
    """Switch to another language."""
    if not rest:
        remark(talk, t("slash.lang_is", name=i18n.get_language(), names=", ".join(i18n.LANGUAGES)))
        return
    language = i18n.find_language(rest)
    if language is None:
        raise InvalidInput(
            t("cli.unknown_language", name=rest),
            hint=t("cli.known_languages", names=", ".join(i18n.LANGUAGES)),
        )
    i18n.use(language)
    report_done(talk, t("slash.lang_now"))


def lang_offer(_talk: Talk, before: list[str], _current: str) -> Iterable[tuple[str, str]]:
    """Offer the languages."""
    return [] if before else [("en", "English"), ("zh", "简体中文")]


def clear_slash(talk: Talk, rest: str) -> None:
    """Clear the screen; the conversation stays."""
    no_words(rest, "clear")
    talk.console.clear()
    remark(talk, t("slash.cleared"))


def quit_slash(talk: Talk, rest: str) -> None:
    """Leave the chat."""
    if rest:
        raise wrong_use("quit")
    talk.leave()
