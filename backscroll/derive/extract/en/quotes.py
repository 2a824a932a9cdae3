"""Speakers of quotations, and quotation marks around titles.

In a story `"I live in Rome," said Tom` says something about Tom, not about the author. Owns finding quoted speech
and its speaker if that is plain; otherwise the speech is left unread.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from backscroll.derive.extract.en.grammar.words import words

_QUOTED = re.compile(r"[\"“]([^\"“”\n]{1,800})[\"”]")
_NAME = r"((?:[A-Z][\w'’-]{1,30} ){1,3})"
_LAST = r"((?:[A-Z][\w'’-]{1,30} ?){1,3})"
_VERB = r"(?:said|says|asked|asks|replied|replies|whispered|whispers|answered|answers|added|adds|murmured|murmurs|shouted|shouts|exclaimed|exclaims|muttered|mutters|continued|continues|explained|explains|cried|cries|told|called|laughed|sighed|grinned|smiled|nodded|began|declared|announced|admitted|insisted|offered|suggested|warned|promised|snapped|growled|hissed|chuckled)"
#: Searched in a few dozen characters only.
_AFTER = re.compile(
    rf"[\s,—-]*(?:{_VERB} {_LAST}|{_NAME}{_VERB}\b|(?P<she>she|he|they) {_VERB}\b|{_VERB} (?P<her>she|he|they)\b|(?P<i>I {_VERB}\b))"
)
_BEFORE = re.compile(
    rf"(?:^|[.!?*\n]\s*){_NAME}(?:[a-z]+ly )?(?:[a-z]+(?:s|ed|d)|{_VERB})\b[^.!?\n]{{0,80}}[,:.]?\s*$"
)
_NEAR = 120
_TITLE_WORD = re.compile(r"[^\W\d_]+")
_SMALL = frozenset("a an the of in on and or to for with from at by is".split())


@dataclass(frozen=True, slots=True)
class Quotation:
    """A quotation: `text[start:end]`, without the marks."""

    start: int
    end: int
    voice: str = ""  # the speaker; empty: the author of the message
    title: bool = False  # a name, not speech
    unread: bool = False  # speech of an unknown speaker


def find_quotes(text: str, author: str) -> list[Quotation]:
    """Return all quotations of a text, in order. `author`: the name of the writer; empty if there is none."""
    if '"' not in text and "“" not in text:
        return []
    out: list[Quotation] = []
    last = ""
    for found in _QUOTED.finditer(text):
        inner = found[1]
        start, end = found.start(1), found.end(1)
        voice, told = _voice(text, found.start(), found.end())
        bare = inner.rstrip(",.")
        spoken = bare != inner and " " not in bare  # "Whiskey.": said, not named
        if _is_title(bare) and not spoken and (bare == inner or (not voice and not told)):
            out.append(Quotation(start, start + len(bare), title=True))
            continue
        if voice:
            last = voice
        if not voice and told == "same":
            voice = last
        if not voice and not (author and told != "other"):
            out.append(Quotation(start, end, unread=True))
        else:
            out.append(Quotation(start, end, voice))
    return out


def _is_title(inner: str) -> bool:
    if ". " in inner and inner.split(". ", maxsplit=1)[0].lower() not in words("titles", "before"):
        return False  # two sentences
    letters = _TITLE_WORD.findall(inner)
    if not inner[:1].isalnum() or inner == "I" or any(c in "|/\\()[]<>,;" for c in inner):
        return False
    if not letters or len(letters) > 8 or not letters[0][0].isupper() or inner[-1] in ".,!?;:…-":
        return False
    if len(letters) == 1:
        return letters[0].lower() not in words("vocatives", "openers")
    return all(w[0].isupper() or w in _SMALL for w in letters) and "I" not in letters


def _voice(text: str, start: int, end: int) -> tuple[str, str]:
    """Return the speaker's name; "same" for a pronoun that points back, "other" for an unnamed speaker."""
    after = _AFTER.match(text[end : end + _NEAR])
    if after is not None:
        if after["i"]:
            return "", ""
        if after["she"] or after["her"]:
            before = _BEFORE.search(text[max(0, start - _NEAR) : start])
            return (_clean(before[1]), "") if before is not None else ("", "same")
        return _clean(after[1] or after[2] or ""), ""
    before = _BEFORE.search(text[max(0, start - _NEAR) : start])
    if before is not None and _clean(before[1]):
        return _clean(before[1]), ""
    return "", ""


def _clean(name: str) -> str:
    kept = [w for w in name.split() if w.lower() not in words("never_names") and w.lower() not in _NO_VOICE]
    return " ".join(kept)


_NO_VOICE = frozenset(
    "she he they it i we you the a an his her their my then and but so as when this that there".split()
)
