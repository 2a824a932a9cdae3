"""Identifying strings: paths, identifiers, ids, addresses, dates, amounts. These are what gets used again.

Owns: finding them in any text and choosing those that fit into a line. Refuses: their meaning.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from backscroll.derive.digests.output_text import join_items, width
from backscroll.vocab.values.pattern import late

#: ASCII letters only, so that names inside a Chinese sentence end where they should.
_FOUND = late(
    r"""
    (?P<url>https?://[^\s<>"'`)\]}，。；、）】」]{1,200})
  | (?P<email>(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,60}(?:\.[\w-]{1,30}){1,4})
  | (?P<path>(?<![\w@.+/-])(?:~|\.{1,2})?/?(?:[\w@.+-]{1,80}/){1,20}[\w@.+-]{0,80}\w(?::\d{1,6})?)
  | (?P<file>(?<![\w-])[\w-]{1,60}(?:\.[\w-]{1,40}){0,3}\.[a-z][a-z0-9]{0,4}(?::\d{1,6})?\b(?!\())
  | (?P<date>(?<!\d)\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?|\d{4}年\d{1,2}月\d{1,2}日)
  | (?P<amount>[$€£¥￥]\s?\d[\d,]{0,15}(?:\.\d{1,4})?|(?<![\w.])\d[\d,]{0,15}(?:\.\d{1,4})?\s?(?:USD|EUR|CNY|元|万元|美元))
  | (?P<id>\#\d{2,12}\b|(?<![\w-])(?=[A-Za-z_-]{0,60}\d)(?=[\d_-]{0,60}[A-Za-z])[A-Za-z0-9]{1,60}(?:[-_][A-Za-z0-9]{1,40}){0,8}(?:\.\d{1,6}){0,3}\b)
  | (?P<symbol>(?<!\w)(?:[A-Za-z_]\w{0,60}(?:(?:\.|::|->)[A-Za-z_]\w{0,60}){1,6}|[A-Za-z][A-Za-z0-9]{0,60}_\w{1,60}|[a-z]{1,40}(?:[A-Z][a-z0-9]{0,40}){1,10}|(?:[A-Z][a-z0-9]{1,40}){2,10})\b|--[a-z][\w-]{2,40})
  | (?P<quoted>“[^“”\n]{2,30}”|「[^「」\n]{2,30}」|《[^《》\n]{2,30}》|`[^`\n]{3,40}`)
  | (?P<number>(?<![\w.])(?:\d{4,15}|\d{1,15}\.\d{2,6})\b)
    """,
    re.VERBOSE | re.ASCII,
)
#: Candidates for such a string: a run of its characters, or a quotation.
_RUN = late(
    r"https?://[^\s<>\"'`)\]}，。；、）】」]{1,200}|[$€£¥￥]?[A-Za-z0-9_@.#~/:+\->,]{3,300}(?:[元年][0-9月日]{0,8}|万元|美元)?"
    r"|“[^“”\n]{2,30}”|「[^「」\n]{2,30}」|《[^《》\n]{2,30}》|`[^`\n]{3,40}`"
)
_SPECIAL = late(r"[\d_/@\-`“「《.:>]|[a-z][A-Z]|[A-Z][a-z]+[A-Z]")
_WEIGHT = {
    "path": 9, "file": 8, "symbol": 7, "url": 7, "id": 7, "email": 8, "date": 5, "amount": 6, "quoted": 5, "word": 3, "number": 2,
}  # fmt: skip
_LONGEST = 100
_DULL = late(
    r"\d+(?:\.\d+)?(?:ms|s|m|h|d|px|em|kb|mb|gb|k|x|st|nd|rd|th)|0[oxb][0-9a-f]{1,4}|[a-z]\.[a-z]|utf-?8|--git|\w/\w",
    re.IGNORECASE,
)
_MOST = 400


def specific(text: str, *, without: str = "") -> list[tuple[str, float]]:
    """Return identifying strings with their weights, in order, each once, except those in `without`."""
    seen: dict[str, list[float]] = {}
    # Text repeats itself, and most of its words are plain: each candidate is examined once.
    for run, times in Counter(_RUN.findall(text)).items():
        if not _SPECIAL.search(run):
            continue
        for match in _FOUND.finditer(run):
            word, weight = _weigh_match(match)
            if not 3 <= len(word) <= _LONGEST or (without and word in without) or _DULL.fullmatch(word):
                continue
            if word in seen:
                seen[word][1] += times
            elif len(seen) < _MOST:
                seen[word] = [weight, float(times)]
    return [(word, weight + min(2.0, 0.5 * (times - 1))) for word, (weight, times) in seen.items()]


def _weigh_match(match: re.Match[str]) -> tuple[str, float]:
    kind, word = match.lastgroup or "", match[0].rstrip(".,;:-")
    if kind == "quoted":
        return word[1:-1].strip(), _WEIGHT[kind]
    if kind == "path" and word and not _is_path_like(word):
        kind = "word"
    return word, _WEIGHT[kind]


def _is_path_like(path: str) -> bool:
    """Return True for a real path: `and/or` and `crypto/rand` look like paths too."""
    last = path.rsplit("/", 1)[-1]
    return path[0] in "/.~" or path.count("/") > 1 or "." in last or "_" in path


def most_specific(text: str, limit: int, *, without: str = "", head: Iterable[str] = ()) -> str:
    """Return the most informative strings of a text that fit, in their order."""
    taken: list[str] = list(head)
    ranked = sorted(enumerate(specific(text, without=without)), key=lambda row: (-row[1][1], row[0]))
    room = limit - sum(width(word) + 2 for word in taken)
    chosen: list[tuple[int, str]] = []
    for place, (word, _) in ranked:
        cost = width(word) + 2
        if cost > room or any(word in other for _, other in chosen) or any(word in other for other in taken):
            continue
        room -= cost
        chosen.append((place, word))
    return join_items([*taken, *(word for _, word in sorted(chosen))], limit)
