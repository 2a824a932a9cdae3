"""Digests of searches and listings: the number of entries, and the first ones in full, because paths must be exact.

Owns: `path:line:text` in all its spellings, lists of paths, `ls -l`. Refuses: JSON.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from backscroll.derive.digests.logs import is_stamped
from backscroll.derive.digests.output_text import cut, join_items, one_line, width
from backscroll.derive.digests.results import ResultDetails
from backscroll.derive.digests.salient import most_specific
from backscroll.vocab.values.pattern import late

_MATCH = late(
    r"^(?P<path>(?:[A-Za-z]:)?[^\s:][^:\n]{0,200}?\.?\w)[:\-](?P<line>\d+)[:\-](?:\d+:)?\s*(?P<text>.*)$"
)
_LINED = late(r"^\s*(?:Line |L|行 ?|第 ?)?(\d+)(?:行)?\s*[:：|│-]\s*(.+)$")
_PATH = late(
    r"^(?:[-*•│├└─|\s]*)(?P<path>(?:~|\.{1,2})?/?[\w@.+()\[\] -]*(?:/[\w@.+()\[\] -]*)+|[\w@+-][\w@.+-]*\.\w{1,8}|[\w@.+-]+/)(?:\s*\([^()]*\))?:?$"
)
_TRAILER = late(r"\s*\(\d[^()]*\)\s*$")
_LONG = late(r"^[-dlcbps][rwxsStT-]{9}[.+@]?\s+\d+\s+\S+\s+\S+\s+[\d.,]+\w?\s+\w+\s+\d+\s+[\d:]+\s+(.+)$")
_COUNTED = late(
    r"(?i)^(?:found|showing)?\s*(\d+)\s+(?:total\s+)?(?:matches|match|files?|results?|references?|occurrences?|lines?)\b.*$|^(?:共|找到|共找到)\s*(\d+)\s*(?:个|条|处)?.*$"
)
_NOTHING = late(
    r"(?i)^(?:no (?:matches|files|results|matching)|nothing found|0 (?:matches|results)|found 0\b|没有找到|未找到|无结果|没有匹配)"
)


def listing_outcome(told: ResultDetails, limit: int, known: str) -> str | None:
    """Return matches or names on one line; None if the result is not a listing."""
    lines = told.said
    if not lines:
        return None
    if _NOTHING.match(lines[0]):
        return cut(one_line(lines[0]), limit)
    stated = next((one_line(line).rstrip(":：") for line in lines[:2] if _COUNTED.match(line)), "")
    body = [line for line in lines if line != "…" and not _COUNTED.match(line)]
    matches = [found for line in body if (found := _match_search_line(line))]
    if matches and len(matches) * 2 >= len(body):
        return _matches(matches, stated, told, limit, known)
    named = [found[1] for line in body if (found := _LONG.match(line))]
    if named and len(named) * 3 >= len(body) * 2:
        return _names([name for name in named if name not in (".", "..")], stated, told, limit, "entries")
    paths = [_TRAILER.sub("", found["path"]).strip() for line in body if (found := _PATH.match(line))]
    if paths and len(paths) * 3 >= len(body) * 2:
        return _names(paths, stated, told, limit, "paths")
    if paths and stated:
        return _render_matches(body, stated, limit)
    return None


def _matches(
    matches: Sequence[re.Match[str]], stated: str, told: ResultDetails, limit: int, known: str
) -> str:
    """Return `path:line text` for the first match in each file; other files by name."""
    files: dict[str, list[re.Match[str]]] = {}
    for match in matches:
        files.setdefault(match["path"], []).append(match)
    total = max(told.lines, len(matches)) if told.lines > 4 * len(matches) else len(matches)
    head = stated or f"{total} matches" + (f" in {len(files)} files" if len(files) > 1 else "")
    room = limit - width(head) - 2
    shown: list[str] = []
    for path, found in files.items():
        numbers = ",".join(match["line"] for match in found[:4])
        shown.append(f"{path}:{numbers}")
    listed = join_items(shown, room)
    line = f"{head}: {listed}"
    room = limit - width(line) - 2
    if room < 16:
        return line
    texts = "\n".join(match["text"] for match in matches)
    lead = one_line(matches[0]["text"])
    if width(lead) <= room and lead:
        return f"{line}; {lead}"
    terms = most_specific(texts, room, without=f"{known}\n{line}")
    return f"{line}; {terms}" if terms else line


def _names(names: Sequence[str], stated: str, told: ResultDetails, limit: int, what: str) -> str:
    kept = list(dict.fromkeys(names))
    count = max(len(kept), told.lines if told.lines > 2 * len(kept) else 0)
    head = stated or (f"{count} {what}" if count > 1 else "")
    room = limit - width(head) - 2
    listed = join_items(kept, room, total=count)
    return f"{head}: {listed}" if head else listed


def _render_matches(body: Sequence[str], stated: str, limit: int) -> str:
    """Render matches grouped by file: `path` on one line, `Line 3: …` under it."""
    shown: list[str] = []
    for line in body:
        if found := _PATH.match(line):
            shown.append(found["path"].strip())
        elif shown and (lined := _LINED.match(line) or re.match(r"^Line (\d+)", line)):
            shown[-1] += (":" if ":" not in shown[-1][-8:] else ",") + lined[1]
    return f"{stated.rstrip(':')}: {join_items(shown, limit - width(stated) - 2)}"


def _match_search_line(line: str) -> re.Match[str] | None:
    """Parse a line of search output; a timestamp (`2026-03-01`) is not a path with a line number."""
    return None if is_stamped(line) else _MATCH.match(line)


def matches_most(told: ResultDetails) -> bool:
    """Return True if most lines are search matches: their words are what was searched for, not errors."""
    lines = told.said[:60]
    return sum(bool(_match_search_line(line)) for line in lines) * 2 >= len(lines)


def is_listing(told: ResultDetails) -> bool:
    """Return True if most lines are search matches or paths."""
    lines = told.said[:60]
    fits = sum(bool(_match_search_line(line) or _LONG.match(line) or _PATH.match(line)) for line in lines)
    return len(lines) > 1 and fits * 3 >= len(lines) * 2
