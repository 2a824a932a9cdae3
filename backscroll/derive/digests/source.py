"""Digests of files that were read: the number of lines, and the names defined or the headings.

Owns: gutters of line numbers, definitions of the common programming languages, headings of documents. Refuses: JSON, which
`derive/digests/fields` reads.
"""

from __future__ import annotations

import re

from backscroll.derive.digests.output_text import cut, join_items, one_line, width
from backscroll.derive.digests.results import ResultDetails
from backscroll.derive.digests.salient import most_specific
from backscroll.vocab.values.pattern import late

_GUTTER = late(r"^[ \t]*(\d{1,7})(?:→|\t|:(?!\d)|\|| \|)[ ]?", re.MULTILINE)
_DEFINED = late(
    r"""^(?P<indent>[ \t]*)
    (?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub(?:\(\w+\))?|unsafe|const|inline|virtual|override|open|data|sealed|extern)\s+)*
    (?:
        (?:def|class|func|fn|function|interface|struct|enum|trait|type|impl|module|namespace|object|record|protocol|macro_rules!|sub|procedure|contract)\s*\*?\s+
        (?:\([^)\n]{1,60}\)\s*)?(?P<name>[A-Za-z_$][\w$]{0,80})
      | (?:const|let|var|val)\s+(?P<bound>[A-Za-z_$][\w$]{0,80})\s*(?::[^=\n]{1,60})?=\s*(?:async\s*)?(?:function\b|\([^)\n]*\)\s*(?::[^=\n]{1,40})?=>|\w+\s*=>)
      | (?:[\w<>\[\],.?&*:]{1,80}[ \t]+){1,3}(?P<method>[A-Za-z_]\w{0,80})\s*\([^;{}\n]{0,200}\)\s*(?:const\s*)?(?:throws\s+[\w.,\s]+)?\{
      | (?P<constant>[A-Z][A-Z0-9_]{3,})\s*(?::\s*[\w\[\], |]+)?\s*=\s
    )""",
    re.MULTILINE | re.VERBOSE,
)
_NOT_NAMES = frozenset(
    "if for while switch catch return else new throw sizeof using elif with and or not in is func function fn lambda match def class do try loop until unless when".split()
)
_HEADING = late(
    r"^[ \t]{0,3}(?:#{1,4}\s+(.{2,80}?)\s*#*|(第[一二三四五六七八九十百\d]+[章节篇条].{0,40}))$", re.MULTILINE
)
_IMPORT = late(
    r"^[ \t]*(?:(?:import|from|use|using|package|require|include|#include|export \* from)\b.*|(?:[\w.]+ )?\"[\w@./-]+\"|import\s*\(|\))[ \t]*;?$",
    re.MULTILINE,
)
_CODED = late(r"[;{}()=\\]|^\S+$|^(?:import|from|def|class|func)\b")
_SHELL_COMMENT = late(r"^#!")


def read_outcome(told: ResultDetails, limit: int, known: str) -> str:
    """Return a file on one line: how much of it was read, and what it defines."""
    text, first, last = without_gutter(told.text)
    count = f"{told.lines} lines" if last == 0 or last < first else f"lines {first}-{last}"
    if first == 1 and last:
        count = f"{last} lines"
    head = count if told.lines > 1 else ""
    names = definitions(text) or headings(text)
    return fill_line(head, names, text, limit, known)


def fill_line(head: str, names: list[str], text: str, limit: int, known: str) -> str:
    """Return a head, names, and in the remaining room the most specific strings of the text."""
    room = limit - width(head) - 2
    listed = join_items(names, room) if names else ""
    line = ": ".join(piece for piece in (head, listed) if piece)
    room = limit - width(line) - 2
    if not names:
        first = cut(lead(text), max(30, room // 2) if head else room)
        line = ": ".join(piece for piece in (head, first) if piece)
        room = limit - width(line) - 2
    if room < 16:
        return line
    # The uses of an import show what is imported.
    terms = most_specific(_IMPORT.sub("", text), room, without=f"{known}\n{line}")
    line = f"{line}; {terms}" if terms else line
    room = limit - width(line) - 2
    sentence = prose(text) if names and room > 30 else ""
    return f"{line}; {cut(sentence, room)}" if sentence and sentence not in line else line


def prose(text: str) -> str:
    """Return the first sentence of a document's running text; empty if it has none."""
    for line in text.split("\n")[:200]:
        said = one_line(line)
        if width(said) > 24 and said[0] not in "#|-*>`<{" and not _CODED.search(said):
            return said
    return ""


def lead(text: str) -> str:
    """Return the first line that is not empty."""
    lines = [line for line in text.split("\n")[:2000] if line.strip()]
    telling = next((line for line in lines if re.search(r"\w{2}", line)), lines[0] if lines else "")
    return one_line(telling.lstrip("#>*-/ \t") or telling)


def without_gutter(text: str) -> tuple[str, int, int]:
    """Return a text without the line numbers in front, and the first and last of them (0, 0 if there are none)."""
    found = _GUTTER.findall(text)
    lines = text.count("\n") + 1
    if len(found) < 2 or len(found) * 10 < lines * 7:
        return text, 0, 0
    return _GUTTER.sub("", text), int(found[0]), int(found[-1])


def is_numbered(text: str) -> bool:
    """Return True if a text has line numbers in front, as tools print files."""
    return without_gutter(text)[2] > 0


def definitions(text: str) -> list[str]:
    """Return the names that a text defines: outer ones first, then nested ones, each once."""
    rows: list[tuple[int, str]] = []
    for found in _DEFINED.finditer(text):
        name = found["name"] or found["bound"] or found["method"] or found["constant"]
        if name and len(name) > 1 and name not in _NOT_NAMES:
            rows.append((len(found["indent"].expandtabs(4)), name))
    if not rows:
        return []
    outer = min(indent for indent, _ in rows)
    ranked = [n for i, n in rows if i == outer] + [n for i, n in rows if i > outer and not n.startswith("__")]
    return list(dict.fromkeys(ranked))


def headings(text: str) -> list[str]:
    """Return the headings of a document."""
    if _SHELL_COMMENT.match(text):
        return []  # `#` begins a comment there
    found = [one_line(a or b) for a, b in _HEADING.findall(text)]
    return list(dict.fromkeys(found)) if len(found) > 1 else []


def looks_like_code(text: str) -> bool:
    """Return True if a text defines several things, as source code does."""
    return len(definitions(text[:12_000])) >= 3
