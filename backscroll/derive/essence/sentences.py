"""Sentences: where a text can be cut without breaking its meaning, in English, Chinese and mixtures of both.

Owns the cutting: prose into sentences, lists into items, tables into rows, code fences whole. Nothing is lost: what lies
between two pieces is white space. Refuses scoring; `derive/essence/importance` does that.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, NamedTuple, TypeAlias

from backscroll.vocab.values.pattern import late
from backscroll.vocab.values.table import read_table

Shape: TypeAlias = Literal["prose", "item", "heading", "row", "code"]

LONGEST = 1200  # characters; a longer sentence is cut at its pauses
LONGEST_CODE = 8_000  # characters of a code block; a longer one is cut between lines
_SHORT = 24  # maximum characters of an item number
_LONG_LINE = 48  # a line at least this long may have been wrapped by an editor

_FENCE = late(r"[ \t]*(`{3,}|~{3,})")
_ITEM = late(
    r"[ \t]*(?:[-*+•·▪◦]|\d{1,3}[.)、）]|[(（]\d{1,3}[)）]|[一二三四五六七八九十]{1,3}[、.）)])[ \t\u3000]*(?=\S)"
)
_SPACED_ITEM = late(r"[ \t]*(?:[-*+•·▪◦]|\d{1,3}[.)])[ \t\u3000]")
_HEADING = late(r"[ \t]*(?:#{1,6}[ \t]|【[^】\n]{1,40}】[ \t]*$)")
_ROW = late(r"[ \t]*\|")
#: Lines of programs and logs that appear without a fence.
_CODE = late(
    r"[ \t]*+(?:\d{1,6}[ \t]*[:|→][ \t]{2,}\S|\d{1,6}→|at [\w.$<>]+[ (]|File \"[^\"\n]+\", line \d|(?:import|from) [\w.]+(?: import .*)?;?\s*$"
    r"|(?:public|private|protected|static|def|class|return|raise|except|throw|const|let|var|func|fn|elif|catch|finally|try)\b[^.。\n]*[{}:;()=]\s*$"
    r"|[^\n]*[{};]\s*$|[{}()\[\]]+[,;]?\s*$|</?[\w:-]+[^<>\n]*>\s*$|[+-]{3} [ab]/|@@ )"
)
_END = late(
    r"(?P<wide>[。！？｡]+[\"'”’」』）)\]】》]*|…{2,}[\"'”’」』）)]*)"
    r"|(?P<mark>[!?]+[\"'”’)\]]*)"
    r"|(?P<stop>(?<!\.)\.++[\"'”’)\]]*+)(?=\s|$)"  # a run of stops is examined once, not from each stop
    r"|(?P<line>\n)"
)
_BREATH = late(r"[,;，；、：:]\s*|\s+")
_NUMBERED = late(r"[\s*_(#>]*\d{1,3}")
_LAST_WORD = late(r"([^\W\d_](?:[\w.]*))\.$")


class Sentence(NamedTuple):
    """A piece of a text: `text[start:end]`, without white space around it."""

    start: int
    end: int
    text: str
    shape: Shape = "prose"


@cache
def _abbreviations() -> frozenset[str]:
    return frozenset(read_table("backscroll.derive", "cues_en.toml")["abbreviations"])


def rough_count(text: str) -> int:
    """Estimate the tokens of a text for any vocabulary, from its bytes."""
    return len(text.encode("utf-8", "surrogatepass")) * 5 // 18 + 1


def sentences(text: str) -> list[Sentence]:
    """Cut a text into pieces, in order. Every character that is not white space is in exactly one of them."""
    out: list[Sentence] = []
    for start, end, shape in _blocks(text):
        if shape == "prose":
            out += _prose(text, start, end)
        else:
            out += _trim_sentence(text, start, end, shape)
    return out


def _blocks(text: str) -> list[tuple[int, int, Shape]]:
    """Return runs of lines of one shape; runs of prose are cut further."""
    out: list[tuple[int, int, Shape]] = []
    at, size = 0, len(text)
    prose: int | None = None  # where a run of plain lines began
    while at < size:
        line_end = text.find("\n", at)
        after = size if line_end < 0 else line_end + 1
        fence = _FENCE.match(text, at)
        if fence:
            prose = _close(out, prose, at)
            end = _fence_end(text, after, fence[1])
            out.append((at, end, "code"))
            at = end
            continue
        line = text[at:after]
        shape = _shape(line)
        if shape is None:
            if not line.strip():
                prose = _close(out, prose, at)
            elif prose is None:
                if out and out[-1][2] == "item" and out[-1][1] == at and line[:2].isspace():
                    out[-1] = (out[-1][0], after, "item")  # an indented line continues its item
                else:
                    prose = at
        else:
            prose = _close(out, prose, at)
            out.append((at, after, shape))
        at = after
    _close(out, prose, size)
    return out


def _close(out: list[tuple[int, int, Shape]], prose: int | None, at: int) -> None:
    if prose is not None and at > prose:
        out.append((prose, at, "prose"))


def _shape(line: str) -> Shape | None:
    if _HEADING.match(line):
        return "heading"
    if _ROW.match(line):
        return "row"
    if _CODE.match(line):
        return "code"
    if _SPACED_ITEM.match(line) or (
        _ITEM.match(line) and line.lstrip()[0] not in "-*+•·▪◦" and "、" in line[:8]
    ):
        return "item"
    return None


def _fence_end(text: str, at: int, mark: str) -> int:
    """Return the position after the closing fence, or the end of the text."""
    while at < len(text):
        line_end = text.find("\n", at)
        after = len(text) if line_end < 0 else line_end + 1
        line = text[at:after].strip()
        if len(line) >= len(mark) and not line.strip(mark[0]):
            return after
        at = after
    return len(text)


def _prose(text: str, start: int, end: int) -> list[Sentence]:
    out: list[Sentence] = []
    begin = start
    for found in _END.finditer(text, start, end):
        cut = found.end()
        if cut <= begin:
            continue
        if found["line"] is not None:
            if not _line_ends(text, begin, found.start(), end):
                continue
        elif (found["mark"] is not None and not _mark_ends(text, cut, end)) or (
            found["stop"] is not None and not _stop_ends(text, begin, found.start(), cut, end)
        ):
            continue
        out += _trim_sentence(text, begin, cut, "prose")
        begin = cut
    return out + _trim_sentence(text, begin, end, "prose")


def _mark_ends(text: str, cut: int, end: int) -> bool:
    """Yield sentence ends: `!` and `?` before a space or a letter of a script without spaces, not in an address."""
    return cut >= end or text[cut].isspace() or text[cut] > "\u2e7f"


def _stop_ends(text: str, begin: int, dot: int, cut: int, end: int) -> bool:
    rest = cut
    while rest < end and text[rest] in " \t":
        rest += 1
    if rest >= end or text[rest] == "\n":
        return True
    # An item number is not a sentence.
    if text[rest].islower() or (dot - begin <= _SHORT and _NUMBERED.fullmatch(text, begin, dot)):
        return False
    word = _LAST_WORD.search(text, max(begin, dot - 24), dot + 1)
    if word is None:
        return True
    last = word[1].lower()
    return not (last in _abbreviations() or (len(last) == 1 and last != "i"))


def _line_ends(text: str, begin: int, at: int, end: int) -> bool:
    """Return True if a line break ends a sentence: it does, unless an editor seems to have wrapped the line."""
    following = text[at + 1 : min(end, at + 2)]
    return not (
        following.islower()
        and at - text.rfind("\n", begin - 1 if begin else 0, at) > _LONG_LINE
        and text[at - 1] not in ":："
    )


def _trim_sentence(text: str, start: int, end: int, shape: Shape) -> list[Sentence]:
    """Return the piece stripped of white space; several pieces if it is too long."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start == end:
        return []
    most = LONGEST_CODE if shape == "code" else LONGEST
    if end - start <= most:
        return [Sentence(start, end, text[start:end], shape)]
    out: list[Sentence] = []
    while end - start > most:
        cut = start + most
        if shape == "code":
            cut = text.rfind("\n", start + most // 2, cut) + 1 or cut
        else:
            for breath in _BREATH.finditer(text, start + most // 2, cut):
                cut = breath.end()
        out += _trim_sentence(text, start, cut, shape)
        start = cut
    return out + _trim_sentence(text, start, end, shape)
