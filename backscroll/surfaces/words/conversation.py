"""Messages as text: a header with number, role, author, time and flags; the text; tools folded to a line.

All text goes through `plain`, so nothing in a conversation reaches the terminal as a control sequence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING

from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.screen.cells import cut, width, wrap
from backscroll.surfaces.screen.plain import one_line, safe
from backscroll.surfaces.screen.screen import Screen
from backscroll.surfaces.screen.times import format_time
from backscroll.surfaces.words.parts import fold_part, unfold_part
from backscroll.surfaces.words.shapes import is_edited
from backscroll.vocab.part import Text, ToolCall

if TYPE_CHECKING:
    from backscroll.vocab.message import Content, Message
    from backscroll.vocab.thread import ThreadInfo

_INDENT = "    "


def heading(screen: Screen, info: ThreadInfo) -> Iterator[str]:
    """Yield the first lines about a thread."""
    yield screen.style(one_line(title_of(info)), "strong")
    facts = [
        info.id[:8],
        project_name(info.project),
        *([t("words.of_user", user=one_line(info.user))] if info.user else []),
        kind_name(info.kind),
        count("words.messages", info.messages),
        count("words.turns", info.turns),
        format_time(info.updated_at),
        *(f"#{one_line(tag)}" for tag in info.tags),
    ]
    yield from _flowing(screen, [fact for fact in facts if fact])
    if info.parent is not None:
        yield screen.style(t("show.forked_from", parent=info.parent[:8]), "dim")


def title_of(info: ThreadInfo) -> str:
    """Return the title, or a placeholder if there is none."""
    if info.forgotten:
        return t("words.forgotten_thread")
    return info.title or t("words.untitled")


def project_name(project: str) -> str:
    """Return the display name of a project: of a folder, its last component."""
    return one_line(PurePath(project).name if project.startswith(("/", "~")) else project)


def kind_name(kind: str) -> str:
    """Return the display name of a thread's kind; unknown kinds as they are."""
    names = {"chat": t("words.chat"), "agent": t("words.agent"), "roleplay": t("words.roleplay")}
    return names.get(kind, one_line(kind))


def role_name(role: str) -> str:
    """Return the display name of a role."""
    return t(f"roles.{role}")


class ConversationPrinter:
    """Prints messages one after another, and remembers which tool was called under which id."""

    def __init__(self, screen: Screen, *, full: bool = False) -> None:
        self._screen = screen
        self._full = full
        self._calls: dict[str, str] = {}

    def message(self, message: Message, number: int | None) -> Iterator[str]:
        """Yield the lines of one message: header, then body."""
        yield _header(self._screen, message, number)
        self._calls.update({p.id: p.name for p in message.parts if isinstance(p, ToolCall)})
        yield from body_lines(self._screen, message.content, full=self._full, calls=self._calls)


def _header(screen: Screen, message: Message, number: int | None) -> str:
    name = "  – " if number is None else f"#{number:<3}"
    who = role_name(message.role)
    quiet = [one_line(message.author or ""), format_time(message.at), *flags(message), message.id.short]
    who = screen.style(who, message.role)
    return f"{screen.style(name, 'strong')} {who}{_quietly(screen, quiet)}"


def _quietly(screen: Screen, words: list[str]) -> str:
    text = " · ".join(word for word in words if word)
    return screen.style(f"  {text}", "dim") if text else ""


def flags(message: Message) -> list[str]:
    """Return the flags of a message, in words."""
    out: list[str] = []
    if message.deleted:
        out.append(t("flags.deleted"))
    if is_edited(message):
        out.append(t("flags.edited"))
    if message.alternatives > 1:
        out.append(t("flags.alternative", this=message.alternative + 1, all=message.alternatives))
    if message.hidden:
        out.append(t("flags.hidden"))
    if message.pinned:
        out.append(t("flags.pinned"))
    return out


def body_lines(
    screen: Screen, content: Content, *, full: bool = False, calls: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Yield the parts of a content, indented and wrapped for the screen."""
    room = screen.room(len(_INDENT))
    said = False
    for part in content.parts:
        if isinstance(part, Text):
            for line in wrap(safe(part.text).strip("\n"), room):
                yield f"{_INDENT}{line}".rstrip()
            said = True
        elif full:
            for line in unfold_part(part, calls):
                yield from (screen.style(f"{_INDENT}{piece}".rstrip(), "dim") for piece in wrap(line, room))
            said = True
        elif line := fold_part(part, room, calls):
            yield screen.style(f"{_INDENT}{line}", "dim")
            said = True
    if not said:
        yield screen.style(f"{_INDENT}{t('words.empty')}", "dim")


def excerpt(content: Content, room: int) -> str:
    """Return a content on one line."""
    text = one_line(content.text)
    if not text:
        text = " · ".join(filter(None, (fold_part(part, room) for part in content.parts))) or t("words.empty")
    return cut(text, room)


def _flowing(screen: Screen, facts: list[str]) -> Iterator[str]:
    """Yield facts with dots between them, on as many lines as needed."""
    line = ""
    for fact in facts:
        if line and width(line) + width(fact) + 3 > screen.width:
            yield screen.style(line, "dim")
            line = ""
        line = f"{line} · {fact}" if line else fact
    yield screen.style(line, "dim")
