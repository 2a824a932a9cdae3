"""Keys of lorebooks that are patterns (`/drag(on|ons)/i`), as JavaScript writes them, made safe to run.

A book comes from a stranger, and a pattern can take practically forever. So the ways in which a pattern can branch
are counted before it runs: nested repetitions are refused, the others are bounded so that all of them together stay
below a limit. An invalid pattern comes with the reason. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_SLASHED = re.compile(r"/(.+)/([a-z]*)", re.DOTALL)
_LONGEST = 2000  # characters of a pattern
_WAYS = 4_000  # branches of all parts of a pattern, multiplied
_LEAST = 8  # repetitions that a pattern must be allowed to keep its meaning
_REPEAT = re.compile(r"\{(\d{1,6})(?:(,)(\d{0,6}))?\}")
_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
_OPEN = re.compile(r"\((?:\?(?:[:=!]|<[=!]|P?<\w+>))?")
_NAMED = re.compile(r"\(\?<(?![=!])")
_UNKNOWN = re.compile(r"\\[pP]\{|\\k<")


@dataclass(frozen=True, slots=True)
class KeyPattern:
    """A pattern that is safe to run, or the reason why it is not."""

    pattern: re.Pattern[str] | None
    wrong: str = ""


def parse_slash_pattern(key: str) -> tuple[str, str] | None:
    """Return the pattern and the flags of a key that is written as one."""
    found = _SLASHED.fullmatch(key.strip())
    return (found[1], found[2]) if found else None


@lru_cache(maxsize=4096)
def key_pattern(body: str, flags: str) -> KeyPattern:
    """Return the compiled, bounded pattern."""
    if len(body) > _LONGEST:
        return KeyPattern(None, "the pattern is too long")
    if _UNKNOWN.search(body):
        return KeyPattern(None, "the pattern uses what only JavaScript knows")
    bounded = _bound_repeats(_NAMED.sub("(?P<", body.replace("\\/", "/")))
    if bounded is None:
        return KeyPattern(None, "the pattern could take too long")
    chosen = re.RegexFlag(0)
    for letter in flags:
        chosen |= _FLAGS.get(letter, re.RegexFlag(0))
    try:
        return KeyPattern(re.compile(bounded, chosen))
    except (re.error, OverflowError, RecursionError) as error:
        return KeyPattern(None, f"the pattern cannot be read: {error}")


@dataclass(slots=True)
class _PatternGroup:
    """The state of an open group."""

    choices: int = 1
    repeats: bool = False  # something in it is repeated or optional


def _bound_repeats(body: str) -> str | None:
    """Return the pattern with every open repetition bounded; None if that is not enough."""
    pieces = _pieces(body)
    if pieces is None:
        return None
    ways, opened = 1, 0
    groups, last = [_PatternGroup()], _PatternGroup()
    for kind, text in pieces:
        if kind == "open":
            groups.append(_PatternGroup())
        elif kind == "close":
            if len(groups) == 1:
                return None
            last = groups.pop()
            ways *= last.choices
            groups[-1].repeats = groups[-1].repeats or last.repeats or last.choices > 1
        elif kind == "or":
            groups[-1].choices += 1
        elif kind in ("repeat", "group repeat"):
            if kind == "group repeat" and (last.repeats or last.choices > 1) and text != "?":
                return None  # too many ways to count
            groups[-1].repeats = True
            most = _most(text)
            ways, opened = (ways, opened + 1) if most is None else (ways * max(1, most), opened)
        if ways > _WAYS:
            return None
    if len(groups) != 1:
        return None
    limit = int((_WAYS / ways) ** (1 / opened)) if opened else 0
    if opened and limit < _LEAST:
        return None
    return "".join(_limit_repeat(text, limit) if "repeat" in kind else text for kind, text in pieces)


def _most(repeat: str) -> int | None:
    """Return the maximum count of a repetition; None: unbounded."""
    if repeat[0] == "?":
        return 2
    if repeat[0] in "*+":
        return None
    found = _REPEAT.match(repeat)
    assert found is not None
    if not found[2]:
        return 1
    return None if not found[3] or int(found[3]) > 200 else int(found[3]) - int(found[1]) + 1


def _limit_repeat(repeat: str, limit: int) -> str:
    if _most(repeat) is not None:
        return repeat
    lazy = "?" if repeat[-1] == "?" and repeat != "?" else ""
    found = _REPEAT.match(repeat)
    least = int(found[1]) if found else 1 if repeat[0] == "+" else 0
    return f"{{{least},{max(least, limit)}}}{lazy}"


def _pieces(body: str) -> list[tuple[str, str]] | None:
    """Return the pattern in pieces: brackets, alternatives, repetitions, everything else; None if it is truncated."""
    out: list[tuple[str, str]] = []
    at, before = 0, ""
    while at < len(body):
        sign = body[at]
        kind, end = "other", at + 1
        if sign == "\\":
            end = at + 2
        elif sign == "[":
            end = _class_end(body, at)
        elif sign == "(":
            kind = "open"
            found = _OPEN.match(body, at)
            end = found.end() if found else at + 1
        elif sign == ")":
            kind = "close"
        elif sign == "|":
            kind = "or"
        elif sign in "*+?" or (sign == "{" and _REPEAT.match(body, at)):
            kind = "group repeat" if before == "close" else "repeat"
            found = _REPEAT.match(body, at)
            end = found.end() if found else at + 1
            end += body[end : end + 1] == "?"
        if end > len(body) or (kind == "open" and body[at : at + 2] == "(?" and end == at + 1):
            return None
        out.append((kind, body[at:end]))
        at, before = end, kind
    return out


def _class_end(body: str, at: int) -> int:
    end = at + 1 + (body[at + 1 : at + 2] == "^")
    end += body[end : end + 1] == "]"
    while end < len(body) and body[end] != "]":
        end += 2 if body[end] == "\\" else 1
    return end + 1
