"""Mentions in a message: `@path`, `@"a path"`, `@path:10-40`, `@folder/`, `@bs:17`, `@turn:3`.

Owns finding them in a text (Chinese has no spaces around them), and what each attaches to the message; the text stays as
typed. What cannot be attached is reported in a line and never stops the message. Refuses: reading outside of what the guard allows
(`workspace/files/files`), marking as data (`attachments`), listing the files (`mention_files`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from backscroll.engine.prompts.expansion import expand
from backscroll.errors import BackscrollError, NotFound
from backscroll.surfaces.chat.completion import Completion, recent_turn_numbers
from backscroll.surfaces.chat.input import attachments as attaching
from backscroll.surfaces.chat.input.mention_files import file_names, folder_listing, found_names
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.i18n.translation import say
from backscroll.surfaces.words.conversation import excerpt
from backscroll.vocab.handle import Handle, thread_of
from backscroll.vocab.message import Content
from backscroll.vocab.part import Media, Part, Text, ToolCall, ToolResult
from backscroll.workspace.files.files import Files

if TYPE_CHECKING:
    from backscroll.engine.thread import Thread
    from backscroll.surfaces.chat.talk import Talk
    from backscroll.vocab.message import Message

__all__ = ["ExpandedMessage", "Mention", "complete", "file_names", "mentions", "with_mentions"]

#: No mention begins inside a word (an e-mail address, a decorator after a dot).
_START = r"(?<![A-Za-z0-9_.@/+\-])@"
_QUOTED = re.compile(_START + r"(?:\"([^\"\n]{1,400})\"|“([^”\n]{1,400})”)(:\d{1,7}(?:-\d{1,7})?)?")
_BARE = re.compile(_START + r"([^\s@\"“”<>|*]{1,400})")
_RANGE = re.compile(r"(.+?):(\d{1,7})(?:-(\d{1,7}))?")
_HANDLE = re.compile(r"bs:[0-9a-f.]*[0-9](?:-[0-9]{1,10})?")
_TURN = re.compile(r"(?:turn|轮)[:：](\d{1,7})")
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_TYPED = re.compile(_START + r"(?:\"([^\"\n]*)|([^\s@\"]*))$")
_LIKE_A_PATH = re.compile(r"[/\\]|\.\w{1,5}$")
_MOST = 40  # mentions per message that are resolved
_QUOTE = 20_000  # characters of earlier messages that are quoted


@dataclass(frozen=True, slots=True)
class Mention:
    """One mention in a text."""

    name: str  # the text after the @, without quotes and lines
    start: int
    end: int
    first: int | None = None  # lines of a file
    last: int | None = None
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class ExpandedMessage:
    """A message with its attachments."""

    content: Content
    notes: tuple[str, ...] = ()  # a line for each thing that is attached or cannot be, in the language in use
    attached: tuple[str, ...] = ()


def mentions(text: str) -> list[Mention]:
    """Return every possible mention in a text, in order; fenced code contains none."""
    code = [found.span() for found in _FENCE.finditer(text)]
    out: list[Mention] = []
    for found in _QUOTED.finditer(text):
        first, last = _lines(found[3])
        out.append(Mention(found[1] or found[2], found.start(), found.end(), first, last, quoted=True))
    taken = [(m.start, m.end) for m in out]
    out += [
        Mention(found[1], found.start(), found.end())
        for found in _BARE.finditer(text)
        if not any(a <= found.start() < b for a, b in taken)
    ]
    kept = [m for m in out if not any(a <= m.start < b for a, b in code)]
    return sorted(kept, key=lambda m: m.start)[:_MOST]


def _lines(text: str | None) -> tuple[int | None, int | None]:
    if not text:
        return None, None
    first, _, last = text.lstrip(":").partition("-")
    return int(first), int(last or first)


def candidates(mention: Mention) -> Iterator[Mention]:
    """Yield the possible readings of a mention, longest first: the text after a path may follow without a space."""
    yield mention
    if mention.quoted:
        return
    whole = mention.name
    ends = [len(whole), *(n for n in range(len(whole) - 1, 0, -1) if _may_end(whole, n))]
    for end in ends:
        name = whole[:end]
        if (lines := _RANGE.fullmatch(name)) and not name.startswith(("bs:", "turn:")):
            first, last = int(lines[2]), int(lines[3] or lines[2])
            yield Mention(lines[1], mention.start, mention.start + 1 + end, first, last)
        if end < len(whole):
            yield Mention(name, mention.start, mention.start + 1 + end)


def _may_end(text: str, place: int) -> bool:
    """Return True if a name may end here: at punctuation, or where Latin letters meet others."""
    before, after = text[place - 1], text[place]
    if not after.isalnum() and after not in "_-./":
        return True
    if after == "." and place == len(text) - 1:
        return True
    return before.isascii() != after.isascii()


# -- attachments -------------------------------------------------------------------------------------------------


def with_mentions(
    text: str, *, root: Path, thread: Thread | None = None, paths: Sequence[str | Path] = ()
) -> ExpandedMessage:
    """Return the message with the content of all that it mentions, and of files that were pasted (`paths`)."""
    gatherer = _Gatherer(root, thread)
    for mention in mentions(text):
        gatherer.take(mention)
    for path in paths:
        gatherer.paste(attaching.own_path(path))
    return ExpandedMessage(
        Content((Text(text), *gatherer.parts)), tuple(gatherer.notes), tuple(gatherer.attached)
    )


class _Gatherer:
    """Collects mentions, each thing once, until the limit is reached."""

    def __init__(self, root: Path, thread: Thread | None) -> None:
        store = "" if thread is None else thread.engine.settings.store
        self.files = Files(root, protected=[store] if store and "://" not in store else [])
        self.thread = thread
        self.parts: list[Part] = []
        self.notes: list[str] = []
        self.attached: list[str] = []
        self.left = attaching.TOGETHER

    def take(self, mention: Mention) -> None:
        """Attach what a mention names; a word that only looks like one is left alone."""
        try:
            if self._quote_messages(mention):
                return
            for meant in candidates(mention):
                if self._file(meant):
                    return
        except BackscrollError as error:
            self.notes.append(t("attach.refused", why=say(error.message)))
            return
        if mention.quoted or _LIKE_A_PATH.search(mention.name):
            self.notes.append(t("attach.not_there", name=mention.name))

    def paste(self, path: Path) -> None:
        """Attach a file that was pasted or dropped."""
        try:
            part, used = attaching.attachment(path, most=self.left)
        except BackscrollError as error:
            self.notes.append(t("attach.refused", why=say(error.message)))
        else:
            self._add(part, used, str(path))

    def _add(self, part: Media, used: int, name: str, lines: int | None = None) -> None:
        if name in self.attached:
            return
        self.left -= used
        self.parts.append(part)
        self.attached.append(name)
        told = t("attach.took", name=name) if lines is None else count("attach.took_lines", lines, name=name)
        self.notes.append(told)

    # -- earlier messages ------------------------------------------------------------------------------------

    def _quote_messages(self, mention: Mention) -> bool:
        """Quote an earlier message or turn; False if the mention is neither."""
        if self.thread is None or mention.quoted:
            return False
        if found := _TURN.match(mention.name):
            messages = self._turn(int(found[1]))
            name, other = f"turn:{int(found[1])}", None
        elif handle := _HANDLE.match(mention.name):
            name = handle[0]
            messages = expand(self.thread, name)
            other = thread_of(name, self.thread.id)
        else:
            return False
        told = "\n\n".join(
            f"{Handle(m.id.seq, m.id.seq, other)} {m.role}: {_words(m.parts)}" for m in messages
        )
        part, used = attaching.text_part("message", name, told, most=min(_QUOTE, self.left))
        self._add(part, used, name)
        return True

    def _turn(self, number: int) -> Sequence[Message]:
        assert self.thread is not None
        if not 1 <= number <= self.thread.info.turns:
            raise NotFound(t("attach.no_turn", n=number))
        return self.thread.turn(number).messages

    # -- files -----------------------------------------------------------------------------------------------

    def _file(self, mention: Mention) -> bool:
        """Attach a file or a folder; False if there is none of this name."""
        path = attaching.own_path(mention.name)
        if mention.name.startswith("~/"):
            mention = replace(mention, name=str(path))
        name = mention.name
        if path.is_absolute() and not _inside(path, self.files.root):
            # The user names it in full: theirs to show, except protected files, wherever they are.
            if not _is_file(path):
                return False
            part, used = attaching.attachment(path, shown=str(path), most=self.left)
            self._add(part, used, str(path))
            return True
        kind = self._kind(name)
        if kind == "folder":
            self._folder(name)
        elif kind:
            self._content(mention)
        return bool(kind)

    def _kind(self, name: str) -> str:
        """Return what kind of file a name is; an impossible path is none."""
        try:
            if not self.files.exists(name):
                return ""
        except NotFound:
            return ""
        kind = self.files.kind(self.files.resolve(name) or ".")
        return kind or ""

    def _folder(self, name: str) -> None:
        shown = name.rstrip("/") + "/"
        body, more = folder_listing(self.files, name)
        body += "\n…" if more else ""
        part, used = attaching.text_part("folder", shown, body or "(empty)", most=self.left)
        self._add(part, used, shown)

    def _content(self, mention: Mention) -> None:
        name = mention.name
        if mention.first is not None and mention.last is not None:
            last = max(mention.first, mention.last)
            read = self.files.read_text(name, max(1, mention.first), last)
            part = attaching.lines_told(read.first, read.last, read.lines)
            shown = f"{name}:{read.first}-{read.last}"
            media, used = attaching.text_part("file", name, read.text, part=part, most=self.left)
            self._add(media, used, shown, max(0, read.last - read.first + 1))
            return
        data = self.files.read_bytes(name)
        media, used = attaching.part_of(data, name, size=len(data), most=self.left)
        text = media.media_type == "text/plain"
        self._add(media, used, name, data.count(b"\n") + (data[-1:] not in (b"", b"\n")) if text else None)


def _inside(path: Path, root: Path) -> bool:
    try:
        return path.resolve().is_relative_to(root)
    except (OSError, ValueError, RuntimeError):  # an invalid path, or one that leads in a circle
        return False


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _words(parts: Sequence[Part]) -> str:
    """Return the text and actions of a message; reasoning and vendor-specific parts are left out."""
    out: list[str] = []
    for part in parts:
        match part:
            case Text():
                out.append(part.text)
            case ToolCall():
                given = part.arguments
                spelled = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
                out.append(f"[{part.name}] {spelled}")
            case ToolResult():
                out.append(_words(part.content))
            case Media():
                out.append(f"[{part.name or part.media_type}]")
            case _:
                continue
    return "\n".join(out)


# -- completion --------------------------------------------------------------------------------------------------


def complete(talk: Talk, text_before_cursor: str) -> list[Completion]:
    """Return files, folders, turns and messages for the mention at the cursor; empty if there is none. Never raises."""
    found = _TYPED.search(text_before_cursor)
    if found is None:
        return []
    typed = found[1] if found[1] is not None else found[2]
    start = found.start() - len(text_before_cursor)
    try:
        if typed.startswith(("turn:", "轮:", "bs:")):
            offers = [(name, name, meta) for name, meta in _earlier(talk, typed)]
        else:
            offers = [(_as_typed(n), n, _kind_word(n)) for n in found_names(talk.root, typed)]
    except (BackscrollError, OSError, ValueError):
        return []
    return [Completion(f"@{text}", display, meta, start) for text, display, meta in offers]


def _as_typed(name: str) -> str:
    return f'"{name}"' if any(c.isspace() for c in name) else name


def _kind_word(name: str) -> str:
    return t("attach.a_folder") if name.endswith("/") else t("attach.a_file")


def _earlier(talk: Talk, typed: str) -> Iterator[tuple[str, str]]:
    if typed.startswith("bs:"):
        for message in reversed(talk.thread.recent(20)):
            name = f"bs:{message.id.seq}"
            if name.startswith(typed):
                yield name, excerpt(message.content, 50)
        return
    for number, begins in recent_turn_numbers(talk):
        if number.startswith(re.split("[:：]", typed)[1]):
            yield f"turn:{number}", begins
