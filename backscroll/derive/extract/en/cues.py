"""The type of a name by its use: a person who speaks, looks or is addressed; a place people go to, or are in.

Owns the step from the words around a name to a type, and how strongly a single use shows that the word is a name. Words
are data (`extract_en_cues.toml`). Refuses facts.
"""

from __future__ import annotations

from functools import cache

from backscroll.derive.extract.en.grammar.phrases import ParsedSentence
from backscroll.derive.extract.en.grammar.words import common, table, words
from backscroll.derive.extract.tuning import ACTING, INSIDE, OPENING, ORDINARY, USED


@cache
def _cues(kind: str, name: str) -> frozenset[str]:
    return frozenset(str(table("extract_en_cues")[kind][name]).split())


def used_as(line: ParsedSentence, i: int) -> str:
    """Return the type that the words around a name show: person, place, or nothing."""
    if _does(line, i):
        return "person"
    after = line.low(i + 1)
    if after in ("'s", "’s") and line.low(i + 2) in _cues("person", "has"):
        return "person"
    return _somewhere(line, i)


def _does(line: ParsedSentence, i: int) -> bool:
    at = i + 1
    while line.tag(at) == "V" and at < i + 3:
        at += 1
    low = line.low(at)
    if low in _cues("person", "verbs") and line.tag(at) not in "RDK":
        return True
    if low in ("won't", "will", "has", "had", "doesn't", "didn't", "does", "did", "is", "was"):
        return line.low(at + 1) in _cues("person", "verbs") or line.low(at + 2) in _cues("person", "verbs")
    back = line.low(i - 1)
    if back in _cues("person", "towards") or (back == "is" and line.low(i - 2) in ("who", "how")):
        return line.tag(i + 1) != "'"
    if back in ("at", "to") and line.low(i - 2) in _cues("person", "nodding"):
        return True
    if back in (
        "says",
        "said",
        "asks",
        "asked",
        "whispers",
        "mutters",
        "replies",
        "calls",
        "cries",
        "adds",
        "murmurs",
        "answers",
    ):
        return line.tag(i + 1) in '.,V"*RwC' or not line.low(i + 1)
    return False


def _somewhere(line: ParsedSentence, i: int) -> str:
    at = i - 1
    if line.low(at) in ("the", "old"):
        at -= 1
    before, lead = line.low(at), line.low(at - 1)
    if line.tag(i + 1) == "'":
        return ""  # "in Ann's room"
    if before in _cues("place", "before"):
        if lead in (
            "believe",
            "believes",
            "believed",
            "interested",
            "trust",
            "trusts",
            "interest",
            "as",
            "confide",
            "confided",
        ):
            return ""
        return "place"
    if before in _cues("place", "at"):
        if lead in _cues("place", "motion") or (before != "for" and lead in _cues("place", "being")):
            return "place"
        if before in ("to", "from") and lead in ("on", "off", "up", "down", "over", "out"):
            return "place" if line.low(at - 2) in _cues("place", "motion") else ""
    if before == "of" and (lead in _cues("place", "parts") or (lead == "out" and line.low(i - 1) == "the")):
        return "place"
    if before in (
        "cross",
        "crosses",
        "crossed",
        "crossing",
        "reach",
        "reached",
        "enter",
        "entered",
        "leave",
        "leaving",
        "burned",
    ):
        return "place"
    return ""


def leans_to_person(line: ParsedSentence, i: int) -> bool:
    """Return True if a name is more likely a person than a thing: the subject of a verb, or the object of a human action.

    This is weak evidence (a firm is a subject as well), so it yields to any other use."""
    text = line.words[i].text
    if not all(part.isalpha() and part[1:].islower() for part in text.split()):
        return False
    if line.tag(i - 1) in "DS'" or all(part in common() for part in text.lower().split()):
        return False
    at = i + 1
    while line.tag(at) == "V" and at < i + 3:
        at += 1
    if line.tag(at) == "B" or line.low(at) in _cues("person", "helping"):
        return True
    if line.tag(at) == "w" and line.low(at).endswith("ed"):
        return True
    if line.tag(at) == "w" and line.low(at).endswith("s") and line.tag(at + 1) in "DSRP.,V":
        return not line.low(at).endswith("ss")  # "Thokk kicks the door in"
    back, lead = line.low(i - 1), line.low(i - 2)
    if line.tag(i + 1) == "'" and line.low(i - 1) not in _cues("place", "before"):
        return True
    if back in ("is", "was", "did", "does", "are") and lead in ("so", "neither", "nor", "who", "how"):
        return True
    return back == "with" and lead in _cues("person", "beside")


def name_sure(low: str, opening: bool, kind: str, *, acts: bool = False, acronym: bool = False) -> float:
    """Return how likely a capitalised word is a name, from one use of it; `acts`: a verb follows; `acronym`: HP, AC."""
    parts = low.split()
    if all(part in words("titles", "before") for part in parts):
        return ORDINARY  # "Aye, Captain"
    if acronym or (all(part in common() for part in parts) and len(parts) < 3):
        base = ORDINARY if opening else ORDINARY + 0.15
    else:
        base = (OPENING + (ACTING if acts else 0.0)) if opening else INSIDE
    return min(0.95, base + (USED if kind else 0.0))
