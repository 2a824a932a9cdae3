"""A terminal session as one animated SVG: the frames lie side by side on a strip that moves behind a window.

Owns cells as data, the colours, and the file: self-contained, no script, no font of its own. Rows that look alike are drawn once
and used again, so that a session of many frames stays small. Every run of characters has its length written down: whatever font a
reader has, columns stay columns, in Chinese too. Where nothing moves (a printer, `prefers-reduced-motion`), the last frame stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from xml.sax.saxutils import escape, quoteattr

from pyte.screens import Screen

#: Text, foreground, background, bold, italic, underlined.
Cell: TypeAlias = tuple[str, str, str, bool, bool, bool]
Row: TypeAlias = tuple[Cell, ...]

_WIDE, _HIGH, _SIZE = 8.4, 18.0, 14  # a cell, and the letters in it
_MARGIN, _BAR = 14.0, 34.0
_GAP = (
    4 * _WIDE
)  # between two frames of the strip: letters overhang their cells, and the neighbour's must not be seen
_FASTEST = 0.08  # seconds; frames that follow faster are left out
_INK, _PAPER, _FRAME = "#d5d9e2", "#171a21", "#2a2f3a"
_CURSOR = "cursor"
_COLOURS = {
    _CURSOR: "#aeb5c4",
    "black": "#2b303b",
    "red": "#e06c75",
    "green": "#98c379",
    "brown": "#e5c07b",
    "yellow": "#e5c07b",
    "blue": "#61afef",
    "magenta": "#c678dd",
    "cyan": "#56b6c2",
    "white": "#c8ccd4",
    "brightblack": "#7d8596",
    "brightred": "#f07c85",
    "brightgreen": "#a8d389",
    "brightbrown": "#f5d08b",
    "brightyellow": "#f5d08b",
    "brightblue": "#71bfff",
    "brightmagenta": "#d688ed",
    "brightcyan": "#66c6d2",
    "brightwhite": "#ffffff",
}
_FONTS = (
    "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Noto Sans Mono CJK SC',"
    "'PingFang SC','Microsoft YaHei',monospace"
)


@dataclass(frozen=True, slots=True)
class Frame:
    """What the screen shows from a time on."""

    at: float
    cells: tuple[Row, ...]


def cells_of(screen: Screen) -> tuple[Row, ...]:
    """The visible cells of a screen; the second cell of a wide character is empty."""
    rows: list[Row] = []
    for y in range(screen.lines):
        line = screen.buffer[y]
        row: list[Cell] = []
        for x in range(screen.columns):
            char = line[x]
            front, back = (char.bg, char.fg) if char.reverse else (char.fg, char.bg)
            if char.reverse:
                front = "black" if front == "default" else front
                back = "white" if back == "default" else back
            row.append((char.data, front, back, char.bold, char.italics, char.underscore))
        rows.append(tuple(row))
    if not screen.cursor.hidden and screen.cursor.x < screen.columns:
        _put_cursor(rows, screen.cursor.x, screen.cursor.y)
    return tuple(rows)


def _put_cursor(rows: list[Row], x: int, y: int) -> None:
    """The cell under the cursor, turned over."""
    row = list(rows[y])
    if row[x][0] == "" and x > 0:
        x -= 1  # the second half of a wide character
    row[x] = (row[x][0], "black", _CURSOR, False, False, False)
    if x + 1 < len(row) and row[x + 1][0] == "":
        row[x + 1] = ("", *row[x][1:])
    rows[y] = tuple(row)


def animated(frames: Sequence[Frame], seconds: float, columns: int, lines: int, *, title: str) -> str:
    """The whole file."""
    shown = list(_thinned(frames))
    rows: dict[str, str] = {}  # a row as it is drawn -> its id
    strip: list[str] = []
    for place, frame in enumerate(shown):
        used: list[str] = []
        for y, row in enumerate(frame.cells):
            drawn = _row(row)
            if drawn:
                name = rows.setdefault(drawn, f"r{len(rows)}")
                used.append(f'<use href="#{name}" y="{y * _HIGH:g}"/>')
        strip.append(f'<g transform="translate({place * (columns * _WIDE + _GAP):g})">{"".join(used)}</g>')
    width, height = columns * _WIDE, lines * _HIGH
    definitions = "".join(f'<g id="{name}">{drawn}</g>' for drawn, name in rows.items())
    outer = (width + 2 * _MARGIN, height + _BAR + _MARGIN)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {outer[0]:g} {outer[1]:g}" '
        f'width="{outer[0]:g}" height="{outer[1]:g}" font-family={quoteattr(_FONTS)} font-size="{_SIZE}">\n'
        f"<title>{escape(title)}</title>\n<style>{_style(shown, seconds, width)}</style>\n"
        f"<defs>{definitions}</defs>\n"
        f'<rect width="100%" height="100%" rx="8" fill="{_PAPER}" stroke="{_FRAME}"/>\n{_lights(outer[0], title)}\n'
        f'<svg x="{_MARGIN:g}" y="{_BAR:g}" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}"><g class="strip">\n'
        + "\n".join(strip)
        + "\n</g></svg>\n</svg>\n"
    )


def _thinned(frames: Sequence[Frame]) -> Iterator[Frame]:
    """Frames that stand long enough to be seen, and the last one."""
    for frame, following in zip(frames, [*frames[1:], None], strict=True):
        if following is None or following.at - frame.at >= _FASTEST:
            yield frame


def _style(shown: Sequence[Frame], seconds: float, width: float) -> str:
    steps = [
        f"{0 if n == 0 else 100 * frame.at / seconds:.3f}%{{transform:translateX({-n * (width + _GAP):g}px)}}"
        for n, frame in enumerate(shown)
    ]
    last = f"translateX({-(len(shown) - 1) * (width + _GAP):g}px)"
    return (
        "text{white-space:pre}.b{font-weight:700}.i{font-style:italic}.u{text-decoration:underline}"
        f".strip{{transform:{last};animation:play {seconds:.2f}s step-end infinite}}"
        f"@keyframes play{{{''.join(steps)}}}"
        "@media(prefers-reduced-motion:reduce){.strip{animation:none}}"
    )


def _lights(width: float, title: str) -> str:
    dots = "".join(
        f'<circle cx="{20 + 18 * n}" cy="17" r="5.5" fill="{colour}"/>'
        for n, colour in enumerate(("#e06c75", "#e5c07b", "#98c379"))
    )
    return (
        f"{dots}"
        f'<text x="{width / 2:g}" y="21" text-anchor="middle" font-size="12" fill="#7d8596">{escape(title)}</text>'
    )


def _row(row: Row) -> str:
    """One row: backgrounds first, then runs of letters that look alike."""
    backs, texts = list[str](), list[str]()
    for first, cells in _runs(row):
        _, front, back, bold, italic, under = cells[0]
        wide = len(cells) * _WIDE
        text = "".join(cell[0] for cell in cells)
        if back != "default":
            backs.append(
                f'<rect x="{first * _WIDE:g}" width="{wide:g}" height="{_HIGH:g}" fill="{_colour(back, _PAPER)}"/>'
            )
        if not text.strip():
            continue
        kinds = "".join(name for name, on in (("b", bold), ("i", italic), ("u", under)) if on)
        look = f' class="{" ".join(kinds)}"' if kinds else ""
        texts.append(
            f'<text x="{first * _WIDE:g}" y="13.5" textLength="{wide:g}" lengthAdjust="spacingAndGlyphs" '
            f'fill="{_colour(front, _INK)}"{look}>{escape(text)}</text>'
        )
    return "".join(backs) + "".join(texts)


def _runs(row: Row) -> Iterator[tuple[int, list[Cell]]]:
    """Neighbours with one look; wide and narrow characters apart, so that each keeps its columns."""
    run: list[Cell] = []
    first, narrow = 0, True
    for x, cell in enumerate(row):
        wide = cell[0] == "" or (x + 1 < len(row) and row[x + 1][0] == "")
        if run and (cell[1:] != run[0][1:] or wide is narrow):
            yield from _split(first, run)
            run = []
        if not run:
            first, narrow = x, not wide
        run.append(cell)
    yield from _split(first, run)


def _split(first: int, run: list[Cell]) -> Iterator[tuple[int, list[Cell]]]:
    """Without blanks at the ends where they would not be seen; long gaps inside divide a run."""
    if run[0][2] != "default" or run[0][5]:
        yield first, run
        return
    text = "".join(cell[0] or "\0" for cell in run)
    start = 0
    for piece in text.split("  "):
        cut = piece.lstrip(" ")
        begin = start + len(piece) - len(cut)
        kept = cut.rstrip(" ")
        if kept:
            yield first + begin, run[begin : begin + len(kept)]
        start += len(piece) + 2


def _colour(name: str, usual: str) -> str:
    if name == "default":
        return usual
    if name in _COLOURS:
        return _COLOURS[name]
    return f"#{name}" if len(name) == 6 else usual
