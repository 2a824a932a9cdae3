"""Messages written as in a play ("Vera: I live in Boston."): each line is attributed to the speaker named before it.

Owns which labels are names of speakers: two lines of a message have them, they are not ordinary words ("Note:", "时间："), and
what follows is speech (it has an "I", a "you", a question). Refuses reading the speech.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from backscroll.derive.extract.utterance import Utterance

_LABEL = re.compile(
    r"^[ \t]*(?:\*\*)?(?P<who>[A-Z][\w'’-]{1,20}(?: [A-Z][\w'’-]{0,20}){0,2}|[\u4e00-\u9fff·]{2,6})(?:\*\*)?"
    r"(?:：|:(?=\*\* )|:(?= ))(?:\*\*)?[ \t]*(?=[^\s\d“\"「{\[])",
    re.MULTILINE,
)
_SPOKEN = re.compile(r"\b(?:I|I'm|you|me|my|your|we)\b|[我你您咱]|[?!？！]")
_FEWEST = 2  # lines


def lines_apart(said: Sequence[Utterance]) -> list[Utterance]:
    """Return messages, splitting those without an author that are written as in a play."""
    out: list[Utterance] = []
    for one in said:
        cuts = [] if one.speaker else _labels(one.text)
        out += _cut(one, cuts) if cuts else [one]
    return out


def _labels(text: str) -> list[re.Match[str]]:
    if ":" not in text and "：" not in text:
        return []
    found = [m for m in _LABEL.finditer(text) if not _is_word(m["who"])]
    spoken = sum(1 for m in found if _SPOKEN.search(text, m.end(), _line_end(text, m.end())))
    return found if len(found) >= _FEWEST and spoken * 2 >= len(found) else []


def _is_word(label: str) -> bool:
    """Return True for an ordinary word before a colon."""
    if label.isascii():
        # start-up: only a message with labels needs the words of its language
        from backscroll.derive.extract.en.grammar.words import common, words

        parts = label.lower().split()
        return all(part in common() or part in words("never_names") for part in parts)
    # start-up: as above
    from backscroll.derive.extract.zh.naming.shapes import like_a_name

    return not like_a_name(label)


def _cut(one: Utterance, labels: Sequence[re.Match[str]]) -> Iterator[Utterance]:
    at = 0
    for m in labels:
        if one.text[at : m.start()].strip():
            yield replace(one, text=one.text[at : m.start()])
        at = _line_end(one.text, m.end())
        yield replace(one, text=one.text[m.end() : at], speaker=m["who"], addressee="")
    if one.text[at:].strip():
        yield replace(one, text=one.text[at:])


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end
