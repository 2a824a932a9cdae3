"""Markdown in the terminal: paragraphs that wrap between Chinese characters, plain headings, code in the terminal's own colours.

Owns rendering one block to lines. Text must be safe already (`surfaces/screen/plain`). URLs are written out, never hidden
behind text: the user sees where a link goes. Refuses: cutting a stream into blocks (`markdown_stream`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich import markdown as rich_markdown
from rich.segment import Segment
from rich.syntax import Syntax
from rich.text import Text

from backscroll.surfaces.screen.cells import width, wrap

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.markdown import MarkdownElement

#: A theme of the sixteen colours that the user has chosen for the terminal: readable on dark and on light backgrounds.
_THEME = "ansi_dark"
Lines = list[list[Segment]]


class _Paragraph(rich_markdown.Paragraph):
    """A paragraph that also wraps by the rules of Chinese typesetting."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from wrap_text(self.text, options.max_width)


class _Heading(rich_markdown.Heading):
    """A left-aligned heading, whatever its level."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = self.text.copy()
        text.stylize("bold cyan" if self.tag in {"h1", "h2"} else "bold")
        yield from wrap_text(text, options.max_width)


class _Code(rich_markdown.CodeBlock):
    """Code, indented by two cells, without a background, so that it can be copied."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = max(8, options.max_width - 2)
        code = Syntax(
            str(self.text).rstrip("\n"),
            self.lexer_name,
            theme=_THEME,
            background_color="default",
            word_wrap=True,
            code_width=room,
        )
        for line in console.render_lines(code, options.update(width=room), pad=False):
            yield Segment("  ")
            yield from _trim_line(line)
            yield Segment.line()


class MarkdownStyle(rich_markdown.Markdown):
    """Markdown as we draw it."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **rich_markdown.Markdown.elements,
        "paragraph_open": _Paragraph,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
    }

    def __init__(self, source: str) -> None:
        super().__init__(source, code_theme=_THEME, hyperlinks=False)


def block_lines(console: Console, source: str, room: int) -> Lines:
    """Return a block as lines of segments, without blank lines around it."""
    options = console.options.update(width=max(8, room), height=None)
    lines = [_trim_line(line) for line in console.render_lines(MarkdownStyle(source), options, pad=False)]
    while lines and not _has_text(lines[0]):
        lines.pop(0)
    while lines and not _has_text(lines[-1]):
        lines.pop()
    return lines


def as_texts(lines: Lines) -> list[Text]:
    """Return lines as texts, for the live area or for printing one by one."""
    return [Text.assemble(*((s.text, s.style or "") for s in line if not s.control)) for line in lines]


def wrap_text(text: Text, room: int) -> list[Text]:
    """Return a text in lines that fit, with its styles."""
    out: list[Text] = []
    for line in text.split("\n", allow_blank=True):
        plain = line.plain
        if width(plain) <= room:
            out.append(line)
            continue
        starts: list[int] = []
        end = 0
        for piece in wrap(plain, room):
            body = piece.lstrip(" ") if end else piece
            found = max(end, plain.find(body, end))
            starts.append(found)
            end = found + len(body)
        for part in line.divide(starts[1:]):
            part.rstrip()
            out.append(part)
    return out


def _trim_line(line: list[Segment]) -> list[Segment]:
    """Return a line without trailing spaces, which a narrower window would wrap."""
    out = [s for s in line if not s.control]
    while out and not out[-1].text.strip(" ") and not (out[-1].style and out[-1].style.bgcolor):
        out.pop()
    if out and out[-1].text.endswith(" "):
        out[-1] = Segment(out[-1].text.rstrip(" "), out[-1].style)
    return out


def _has_text(line: list[Segment]) -> bool:
    return any(s.text.strip() for s in line)
