"""Read world descriptions in prose: Markdown (one entry per section) and plain text (one per paragraph).

Owns the boundaries and titles of entries. Every word of the text is in exactly one entry. Does not interpret the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from backscroll.formats.lorebooks.rule import LoreEntry
from backscroll.formats.sources.rows import short_title

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_FRONT = re.compile(r"---[ \t]*\n(?:[^\n]*\n){0,60}?---[ \t]*$", re.MULTILINE)  # facts about the file
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_BULLET = re.compile(
    r"[-*+•][ \t]+(?:\*\*|__)([^*_\n]{1,60}?)[:：]?(?:\*\*|__)[ \t]*(?:[:：—–-]+[ \t]*)?(.*)$"
)
_LINK = re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)")
_MARKS = re.compile(r"[*_`~]{1,3}(?=\S)|(?<=\S)[*_`~]{1,3}|<[^<>\n]{1,80}>")
_NUMBER = re.compile(r"(?:\d{1,3}(?:\.\d{1,3})*[.)、]?|[一二三四五六七八九十]{1,3}[、.])[ \t]+(?=\S)")
_MARKDOWN = re.compile(r"^ {0,3}#{1,6}[ \t]+\S", re.MULTILINE)
_BREAK = re.compile(r"\n[ \t]*\n+")
_WPP = re.compile(r"\[?\s*[A-Za-z一-鿿]{1,24}\s*\(\s*[\"“]([^\"”\n]{1,80})[\"”]\s*\)\s*[{｛]")
_OWNED = re.compile(
    r"\s*\[([^\[\]:：\n]{1,40}?)(?:'s|’s|的)\s*[^\[\]:：\n]{1,30}[:：]"
)  # [Ellie's persona: …]
_BOXED = re.compile(r"\s*[【\[「《]([^】\]」》\n]{1,40})[】\]」》][ \t]*[:：]?")
_LED = re.compile(r"\s*([^\s:：—–][^:：\n—–]{0,39}?)\s*(?:[:：]|[—–]{1,2}|\s-\s)\s*\S")
_NAMED = re.compile(
    r"^[ \t]*(?:full )?name[ \t]*[:：]\s*([^\n]{1,60})|^[ \t]*(?:姓名|名字|名称|角色名?)[ \t]*[:：][ \t]*([^\n]{1,40})",
    re.IGNORECASE | re.MULTILINE,
)
_SUBJECT = re.compile(
    r"\s*(?:The\s+)?([A-Z][\w'’.-]*(?:\s+(?:of|the|de|von|van|al|[A-Z][\w'’.-]*)){0,5})(?:,[^,\n]{1,60},)?\s+(?:is|are|was|were|has|have|lives?|belongs?)\b"
)
_ZH_SUBJECT = re.compile(r"\s*([一-鿿·]{2,8}?)(?:们)?(?<![不并也都曾])(?:是|住在|位于|生活在|来自|属于)")
_FIRST_WORDS = 2000  # characters a name may consist of
_PRONOUNS = {"It", "He", "She", "They", "There", "This", "That", "These", "Those", "We", "You", "I"}
_ZH_PRONOUNS = ("这", "那", "她", "他", "它", "我", "你")


@dataclass(slots=True)
class _BookSection:
    level: int
    name: str
    path: tuple[str, ...]
    lines: list[str] = field(default_factory=list[str])
    children: int = 0


def looks_like_markdown(text: str, name: str) -> bool:
    """Return True for Markdown file names and for texts with headings."""
    return name.lower().endswith((".md", ".markdown", ".mdx")) or _MARKDOWN.search(text) is not None


def from_markdown(text: str, source: str) -> list[LoreEntry]:
    """Return sections as entries; a section that lists bold names with descriptions gives one entry for each name."""
    sections = list(_sections(text.replace("\r\n", "\n").replace("\r", "\n")))
    tops = sum(1 for section in sections if section.level == 1)
    out: list[LoreEntry] = []
    for section in sections:
        body = "\n".join(section.lines).strip("\n")
        if not body.strip() and (section.children or not section.level):
            continue
        whole = not section.level or (section.level == 1 and tops == 1)  # it is about everything
        name = section.name or source or short_title(body)
        comment = " > ".join((*section.path, name)) if section.path else ""
        filed = section.path[-1] if section.path else ""
        if (listed := _parse_bold_list(section.lines)) and section.level:
            out += [LoreEntry(n, (n,), text=t, comment=name, source=source, category=name) for n, t in listed]
        else:
            keys = (name,) if section.level else ()
            out.append(
                LoreEntry(
                    name, keys, text=body, comment=comment, constant=whole, source=source, category=filed
                )
            )
    return out


def _sections(text: str) -> Iterator[_BookSection]:
    here = _BookSection(0, "", ())
    above: list[_BookSection] = []
    fence = ""
    front = len(found[0].split("\n")) if (found := _FRONT.match(text)) else 0
    for number, line in enumerate(text.split("\n")):
        if number < front:
            here.lines.append(line)
            continue
        if mark := _FENCE.match(line):
            if not fence:
                fence = mark[1]
            elif mark[1][0] == fence[0] and len(mark[1]) >= len(fence) and not line.strip().strip(fence[0]):
                fence = ""
        level, name = (0, "") if fence else _heading(line, here)
        if not level:
            here.lines.append(line)
            continue
        if not line.lstrip().startswith("#"):
            here.lines.pop()  # the line above was the heading
        yield here
        while above and above[-1].level >= level:
            above.pop()
        for section in above:
            section.children += 1
        here = _BookSection(level, name, tuple(section.name for section in above if section.name))
        above.append(here)
    yield here


def _heading(line: str, here: _BookSection) -> tuple[int, str]:
    if found := _HEADING.match(line):
        return len(found[1]), _clean(found[2] or "")
    before = here.lines[-1] if here.lines else ""
    if (
        (under := _UNDERLINE.match(line))
        and before.strip()
        and not before.startswith(("-", "*", "|", "    ", ">"))
    ):
        alone = len(here.lines) == 1 or not here.lines[-2].strip()
        if alone and len(before) <= 120 and len(under[1]) >= 3:
            return (1 if under[1][0] == "=" else 2), _clean(before)
    return 0, ""


def _clean(heading: str) -> str:
    text = _MARKS.sub("", _LINK.sub(r"\1", heading)).strip()
    return _NUMBER.sub("", text, count=1).strip(" :：#") or heading.strip()


def _parse_bold_list(lines: list[str]) -> list[tuple[str, str]]:
    """Return (name, text) pairs of a list of bold names, if the section has nothing else."""
    out: list[tuple[str, list[str]]] = []
    for line in lines:
        if found := _BULLET.match(line):
            out.append((found[1].strip(), [found[2]]))
        elif line.strip() and out and line.startswith((" ", "\t")):
            out[-1][1].append(line.strip())
        elif line.strip():
            return []
    return [(name, "\n".join(words).strip()) for name, words in out]


def from_plain(text: str, source: str) -> list[LoreEntry]:
    """Return paragraphs as entries."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    pieces = [piece.strip("\n") for piece in _BREAK.split(text) if piece.strip()]
    out: list[LoreEntry] = []
    for piece in _join_pieces(pieces):
        name = name_of(piece)
        label = name or (source if len(pieces) == 1 and source else short_title(piece))
        out.append(LoreEntry(label, (name,) if name else (), text=piece, source=source, constant=not name))
    return out


def _join_pieces(pieces: list[str]) -> Iterator[str]:
    """Yield paragraphs: W++ and similar blocks may contain empty lines; a title alone is joined to the text after it."""
    held = ""
    for piece in pieces:
        held = f"{held}\n\n{piece}" if held else piece
        open_braces = held.count("{") + held.count("｛") - held.count("}") - held.count("｝")
        alone = "\n" not in held and len(held) <= 60 and held.rstrip().endswith((":", "："))
        if (open_braces > 0 and len(held) < 20_000) or alone:
            continue
        yield held
        held = ""
    if held:
        yield held


def name_of(text: str) -> str:
    """Return the topic of a paragraph from its first words; empty if unclear."""
    text = text[:_FIRST_WORDS]
    for pattern in (_WPP, _OWNED, _BOXED):
        if found := pattern.match(text):
            return found[1].strip()
    if named := _NAMED.search(text):
        return (named[1] or named[2]).strip()
    first, _, more = text.partition("\n")
    if more.strip() and len(first) <= 40 and not re.search(r"[.。!！?？,，;；]\s*$", first):
        title = first.strip().rstrip(":：").strip()
        if title and not re.search(r"[:：]", title):
            return _clean(title)
    lines = [line for line in text.split("\n") if line.strip()]
    table = len(lines) > 1 and all(_LED.match(line) for line in lines[:3])  # labels of fields, not a name
    if not table and (led := _LED.match(text)) and len(led[1].split()) <= 5 and not _is_sentence(led[1]):
        return _clean(led[1])
    if (found := _SUBJECT.match(text)) and found[1].split()[0] not in _PRONOUNS:
        return found[1].strip()
    if (found := _ZH_SUBJECT.match(text)) and not found[1].startswith(_ZH_PRONOUNS):
        return found[1]
    return ""


def _is_sentence(words: str) -> bool:
    return (
        bool(re.search(r"[.。!！?？,，;；]", words))
        or re.search(r"\b(?:is|are|was|were)\b", words) is not None
    )
