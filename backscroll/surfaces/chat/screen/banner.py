"""The first lines of a chat: version, folder, model, how to get help.

Owns those lines. Text in them from elsewhere (titles, folders) is made safe.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.i18n.translation import say
from backscroll.surfaces.screen.cells import cut, width, wrap
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.words.conversation import title_of

if TYPE_CHECKING:
    from backscroll.surfaces.chat.talk import Talk
    from backscroll.vocab.message import Message

_LAST = 2  # messages shown of a resumed thread
_LOOKED = 40  # messages that are searched for them


def header(talk: Talk) -> list[Text]:
    """Return the header, and the last messages of a thread that is older than this chat."""
    agent, info = talk.agent, talk.thread.info
    room = max(20, talk.console.size.width - 1)
    who = t("chat.offline_header") if agent.offline else _who(agent.provider_name, agent.model)
    out = [
        Text.assemble(("Backscroll", "bold"), "  ", (_end_of(_folder(talk.root), max(8, room - 12)), "cyan")),
        Text(cut(who, room), style="yellow" if agent.offline else "green"),
    ]
    if agent.offline:
        out += [Text(line, style="dim") for line in wrap(t("chat.offline_how"), room)]
    out += [Text(line, style="dim") for line in wrap(t("chat.header_help"), room)]
    if agent.rules.trouble:
        out.append(Text(cut(one_line(say(agent.rules.trouble)), room), style="red"))
    if info.messages:
        about = f"{title_of(info)} · {count('words.messages', info.messages)} · {info.id[:8]}"
        out += [Text(""), Text(cut(one_line(about), room), style="bold")]
        for message in _last_words(talk.thread.recent(_LOOKED)):
            words = one_line(message.text[:500])
            out.append(Text(cut(f"  {t(f'roles.{message.role}')}: {words}", room), style="dim"))
    return [*out, Text("")]


def _last_words(messages: Sequence[Message]) -> list[Message]:
    """Return the last messages, without tool results and commands that the user ran."""
    spoken = [m for m in messages if m.role in {"user", "assistant"} and m.text.strip()]
    return [m for m in spoken if "person" not in str(m.content.metadata.get("act"))][-_LAST:]


def _who(provider: str, model: str) -> str:
    return one_line(" · ".join(part for part in (model, provider) if part))


def _folder(root: Path) -> str:
    home = Path.home()
    return one_line(
        f"~/{root.relative_to(home)}" if root.is_relative_to(home) and root != home else str(root)
    )


def _end_of(folder: str, room: int) -> str:
    """Return as much of a path's end as fits."""
    parts = folder.split("/")
    for first in range(len(parts)):
        shown = "/".join(("…", *parts[first:])) if first else folder
        if width(shown) <= room:
            return shown
    return cut(parts[-1], room)
