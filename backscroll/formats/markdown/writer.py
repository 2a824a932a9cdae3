"""Write a conversation as a Markdown page to read, print or commit with the code. Write only.

Owns: the look of the page in English and Chinese. Turns keep their numbers; calls, results, thinking, earlier versions and
vendors' parts are folded; Markdown in messages is rendered but contained: open fences are closed, and the few HTML tags that
would swallow the rest of the page are escaped. It cannot be read back.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from backscroll.errors import FormatError
from backscroll.formats.markdown.words import PageTexts, words_for
from backscroll.formats.readable import label_of
from backscroll.formats.shape import Blobs, Format, FormatOutput, Source
from backscroll.formats.sources.json_text import NotJson, dumps, printable, try_parse
from backscroll.formats.sources.rows import as_object
from backscroll.vocab.foreign import Aside, ForeignCodeChange, ForeignMessage, ForeignThread, Problem
from backscroll.vocab.message import Content
from backscroll.vocab.part import Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
#: Code in the middle of a line, which stays as it is; or the beginning of a tag that would swallow what follows.
_SWALLOWS = re.compile(
    r"(?P<code>(?<!`)(`+)(?!`).+?(?<!`)\2(?!`))|"
    r"<(?=/?(?:details|summary|script|style|pre|textarea|title|xmp|iframe|template|svg|math|plaintext)\b|!--|!\[CDATA\[|\?)",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^( {0,3})(#{1,6}(?=\s|$)|=+\s*$|-+\s*$)")
_TICKS = re.compile(r"`+")


def write(thread: ForeignThread, blobs: Blobs) -> FormatOutput:
    """Return the page, in the thread's own language."""
    return write_markdown(thread, blobs)


def write_markdown(
    thread: ForeignThread,
    blobs: Blobs,
    *,
    language: str | None = None,
    media_link: Callable[[Media], str | None] | None = None,
) -> FormatOutput:
    """Return the page. `language`: of the labels (`en`, `zh`; the thread's own where not given). `media_link`: gives the address
    under which the caller has put the bytes of an attachment, for links to pictures that are not on the web."""
    del blobs  # bytes do not belong in a page: callers store them and pass `media_link`
    problems: list[Problem] = []
    words = words_for(language or thread.language)
    return FormatOutput(map(printable, _Page(words, problems, media_link).of(thread)), problems)


@dataclass(slots=True)
class _Page:
    """One page being written."""

    words: PageTexts
    problems: list[Problem]
    media_link: Callable[[Media], str | None] | None
    turn: int = 0
    spoken: int = 0  # messages so far
    changes: int = 0

    def of(self, thread: ForeignThread) -> Iterator[str]:
        yield f"# {_one_line(thread.title) or self.words.untitled}\n\n"
        yield from self._facts(thread)
        left_out: Counter[str] = Counter()
        for item in thread.items:
            if isinstance(item, ForeignMessage):
                yield from self._message(item)
            elif isinstance(item, ForeignCodeChange):
                yield self._change(item)
            elif isinstance(item, Aside):
                left_out[item.kind] += 1
            else:
                self.problems.append(item)
        for kind, count in left_out.items():
            self.problems.append(
                Problem(f"{count} record(s) of the kind {kind!r} are not for readers and were left out")
            )
        yield f"---\n\n{self.words.total(self.spoken, self.turn, self.changes)}\n"

    def _facts(self, thread: ForeignThread) -> Iterator[str]:
        facts = [
            (self.words.project, thread.project),
            (self.words.kind, self.words.kinds.get(thread.kind, thread.kind)),
            (self.words.language, self.words.languages.get(thread.language, thread.language)),
            (self.words.started, _time(thread.started)),
            (
                self.words.source,
                f"{thread.format} · {thread.source_id}" if thread.source_id else thread.format,
            ),
            (self.words.forked_from, thread.forked_from or ""),
        ]
        known = [(name, value) for name, value in facts if value]
        if known:
            yield "| | |\n| --- | --- |\n"
            yield "".join(f"| {name} | {_cell(value)} |\n" for name, value in known) + "\n"

    def _message(self, message: ForeignMessage) -> Iterator[str]:
        self.spoken += 1
        if message.role == "user":
            self.turn += 1
            yield f"## {self.words.turn(self.turn)}\n\n"
        elif self.spoken == 1:
            yield f"## {self.words.opening}\n\n"
        yield self._byline(message) + "\n\n"
        yield from self._parts(message.content.parts, typed=message.role in ("user", "system"))
        others = [(i, c) for i, c in enumerate(message.alternatives) if i != message.chosen]
        if others:
            body = "".join(self._version(i, content, message) for i, content in others)
            yield _render_details(self.words.others(len(others)), body)

    def _byline(self, message: ForeignMessage) -> str:
        who = f"**{self.words.roles[message.role]}**"
        if message.content.author:
            who += f" · {_inline(message.content.author)}"
        marks = [
            _time(message.at),
            self.words.version(message.chosen + 1, len(message.alternatives))
            if len(message.alternatives) > 1
            else "",
            f"📌 {self.words.pinned}" if message.pinned else "",
            f"🙈 {self.words.hidden}" if message.hidden else "",
        ]
        return " · ".join([who, *(mark for mark in marks if mark)])

    def _version(self, index: int, content: Content, message: ForeignMessage) -> str:
        times = message.alternative_times
        at = _time(times[index]) if index < len(times) else ""
        head = " · ".join(
            mark for mark in (self.words.version(index + 1, len(message.alternatives)), at) if mark
        )
        return f"**{head}**\n\n" + "".join(self._parts(content.parts))

    def _parts(self, parts: Iterable[Part], *, typed: bool = False) -> Iterator[str]:
        for part in parts:
            if isinstance(part, Text):
                yield contain_markdown(part.text, typed=typed) + "\n\n" if part.text.strip() else ""
            else:
                yield self._part(part)

    def _part(self, part: Part) -> str:
        match part:
            case Text():
                return contain_markdown(part.text) + "\n\n"
            case Reasoning():
                return (
                    _render_details(f"💭 {self.words.thinking}", contain_markdown(part.text) + "\n\n")
                    if part.text
                    else ""
                )
            case ToolCall():
                return _render_details(
                    f"🔧 {_inline_html(part.name)}{_brief(part)}", _fence_code(*_arguments(part))
                )
            case ToolResult():
                return self._result(part)
            case Media():
                return self._media(part) + "\n\n"
            case Opaque():
                title = f"{_inline_html(part.vendor)} · {_inline_html(part.kind)}"
                return _render_details(f"📦 {title}", _fence_code(part.raw, "json"))

    def _result(self, part: ToolResult) -> str:
        name = _inline_html(part.name or part.call_id)
        mark, label = ("⚠️", self.words.failed) if part.is_error else ("↩️", self.words.result)
        text = "\n".join(inner.text for inner in part.content if isinstance(inner, Text))
        body = _fence_code(text, "") if text else ""
        body += "".join(self._part(inner) for inner in part.content if not isinstance(inner, Text))
        size = f" · {self.words.lines(text.count(chr(10)) + 1)}" if text else ""
        return _render_details(f"{mark} {label} · {name}{size}", body or f"{self.words.nothing}\n\n")

    def _media(self, part: Media) -> str:
        address = part.url if part.url and not part.url.startswith("data:") else None
        if address is None and self.media_link:
            address = self.media_link(part)
        if address is None:
            self.problems.append(
                Problem(f"an attachment ({label_of(part)}) has no address: only its name is on the page")
            )
            return f"🖼️ {_inline(label_of(part))}"
        name = _inline(part.name or part.media_type)
        link = f"[{name}](<{re.sub(r'[<>]', _percent, _one_line(address))}>)"
        return f"!{link}" if part.media_type.startswith("image/") else f"📎 {link}"

    def _change(self, change: ForeignCodeChange) -> str:
        self.changes += 1
        facts = [f"✏️ **{self.words.change}**"]
        if change.file_path:
            facts.append(_code(change.file_path))
        if change.description:
            facts.append(_inline(_one_line(change.description)))
        if change.at:
            facts.append(_time(change.at))
        return "> " + " · ".join(facts) + "\n\n"


def contain_markdown(text: str, *, typed: bool = False) -> str:
    """Contain a message's Markdown so that it cannot affect the rest of the page: close open fences, escape swallowing tags.

    `typed`: text typed by the user, whose line breaks, dashes and `#` are meant literally.
    """
    out: list[str] = []
    fence = ""
    for line in text.strip("\n").split("\n"):
        mark = _FENCE.match(line)
        if fence:
            out.append(line)
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
        elif mark and not (mark[1][0] == "`" and "`" in mark[2]):
            fence = mark[1]
            out.append(line)
        else:
            safe = _SWALLOWS.sub(lambda found: found["code"] or "&lt;", line)
            out.append(_as_typed(safe) if typed else safe)
    if fence:
        out.append(fence)
    return "\n".join(out)


def _as_typed(line: str) -> str:
    if not line.strip():
        return line
    return _HEADING.sub(r"\1\\\2", line).rstrip() + "  "


def _fence_code(text: str, info: str) -> str:
    """Return a block of code with a fence longer than any inside."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{info}\n{text}\n{fence}\n\n"


def _arguments(call: ToolCall) -> tuple[str, str]:
    """Return arguments for display: indented JSON, other text unchanged."""
    if not isinstance(call.arguments, str):
        return dumps(call.arguments, 2), "json"
    value = try_parse(call.arguments)
    return (call.arguments, "") if isinstance(value, NotJson) else (dumps(value, 2), "json")


def _brief(call: ToolCall) -> str:
    """Return the one argument by which a reader recognises a call."""
    value = try_parse(call.arguments) if isinstance(call.arguments, str) else call.arguments
    first = next((v for v in (as_object(value) or {}).values() if isinstance(v, str) and v.strip()), "")
    line = _one_line(first)
    return f" · <code>{_inline_html(line if len(line) <= 60 else line[:59] + '…')}</code>" if line else ""


def _render_details(title: str, body: str) -> str:
    return f"<details>\n<summary>{title}</summary>\n\n{body}</details>\n\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _inline(text: str) -> str:
    """Return inline text with markup escaped."""
    return re.sub(r"([\\`*_\[\]<>#|~])", r"\\\1", _one_line(text))


def _inline_html(text: str) -> str:
    return _one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _code(text: str) -> str:
    """Return a code span for any text."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{_one_line(text)}{pad}{ticks}"


def _cell(text: str) -> str:
    return _inline(text)


def _percent(found: re.Match[str]) -> str:
    return f"%{ord(found[0]):02X}"


def _time(at: str | None) -> str:
    """Return a time for display: to the second, with the zone unless it is UTC."""
    if not at:
        return ""
    try:
        found = datetime.fromisoformat(at)
    except ValueError:
        return _inline(at)
    zone = found.strftime("%z")
    return f"{found:%Y-%m-%d %H:%M:%S}" + ("" if zone in ("", "+0000") else f" {zone[:3]}:{zone[3:]}")


def _sniff(_: Source) -> float:
    return 0.0


def _read(source: Source) -> Iterable[ForeignThread]:
    raise FormatError(
        f"{source.name}: Markdown pages are written, not read", hint="export as native to import again"
    )


FORMAT = Format("markdown", "Markdown page", ".md", _sniff, _read, write)
