"""Statements that settle something: clauses that say it is done or works again, and whether they concern a given to-do or error.

Owns the reading of `settling.toml`, clauses, the verb of a to-do and the comparison. A close names its own message by number:
a nearby statement that names nothing ("written, and committed") settles a request a few messages before, never an older one.
Refuses the list of what is open: `derive/essence/essentials` keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import NamedTuple, cast

from backscroll.derive.essence.clusters import pieces
from backscroll.derive.essence.tuning import COVERED, COVERED_WITH_VERB, ERROR_SHARE
from backscroll.vocab.part import Json
from backscroll.vocab.values.table import read_table

_NAME = 240  # characters of a clause that are kept to recognise its subject

_CLAUSE = re.compile(
    r"[,;:，；：。！!？?\n—–()（）]+|(?<=\w)\.(?=\s|$)|\b(?:and|but|while)\b|但是|不过|而且|并且"
)
_HAN = re.compile(r"[\u2e80-\u9fff]")
_WORD = re.compile(r"[a-z][a-z'-]*")
#: Words that say that something is to be done, but not what.
ANNOUNCED = re.compile(
    r"(?i)\b(?:todo|to-do|still|needs?|ha(?:ve|s)|next|steps?|remain(?:ing)?|don'?t|forget|remember|left|later|up)\b"
    r"|还需要?|还要|还没|下一步|接下来|需要|别忘了|不要忘[记了]|记得|待办|尚未|后续|剩下"
)
_SMALL_VERBS = frozenset(
    "please lets also just then we i you they to be get do make sure and the a an".split()
)
_DONE_ZH = re.compile(
    r"(?:我|我们|都|全部|全|也|就|刚刚?|已经|已|把|它|帮你|给你|现在)*(?P<verb>[\u4e00-\u9fff]{1,2}?)(?:完毕|完|好|掉|上|成|过|出去)?了?"
)
_ANY_VERB_ZH = frozenset({"搞定", "完成", "弄", "做", "处理", "办", "搞", "结束"})


class NearClose(NamedTuple):
    """What a message says is done without naming it, as encoded in the name of a close."""

    seq: int  # of the message
    verb: str  # what was done; empty: whatever was requested
    text: str  # the subject of the surrounding words

    def __str__(self) -> str:
        return f"{self.seq}|{self.verb}|{self.text}"


def near_close(name: str) -> NearClose:
    """Parse what `str` made of a near close."""
    seq, verb, text = name.split("|", 2)
    return NearClose(int(seq), verb, text)


@cache
def _table() -> Mapping[str, Mapping[str, Json]]:
    return read_table("backscroll.derive", "settling.toml")


@cache
def _shapes(section: str) -> re.Pattern[str]:
    return re.compile("|".join(cast("list[str]", _table()[section]["shapes"])))


def _fits(section: str, text: str) -> bool:
    return bool(_shapes(section).search(text))


def normalize_case(text: str) -> str:
    """Normalize case as the table does."""
    return text.lower().replace("’", "'").strip()


def is_courtesy(question: str) -> bool:
    """Return True for a closing question that expects no answer: "Anything else?"."""
    last = normalize_case(question)
    if _fits("courtesy", last):
        return True
    clauses = [c.strip() for c in re.split(r"[,，。.;；!！]\s*", last) if c.strip("?？ ")]
    return len(clauses) > 1 and _fits("courtesy", clauses[-1])


def clauses_of(sentence: str) -> Iterator[str]:
    """Yield the clauses of a sentence, normalized for comparison."""
    for clause in _CLAUSE.split(normalize_case(sentence)):
        said = clause.strip(" \t\"'“”*_`-.")
        if said:
            yield said


def done_clauses(sentence: str) -> Iterator[str]:
    """Yield clauses that say that something is done."""
    for clause in clauses_of(sentence):
        if _fits("done", clause) and not _fits("undone", clause) and not _fits("acknowledged", clause):
            yield clause[:_NAME]


def bare_verb(clause: str) -> str | None:
    """Return the verb of a clause without an object ("sent", "写好了"); empty for "done"; None if it names its object."""
    if _HAN.search(clause):
        found = _DONE_ZH.fullmatch(clause)
        if found is None:
            return None
        return "" if found["verb"] in _ANY_VERB_ZH else found["verb"]
    if _fits("bare", f"{clause} "):
        return ""
    words = [w for w in _WORD.findall(clause) if w not in pronouns()]
    if len(words) == 1:
        return _stem(words[0])
    return None


@cache
def pronouns() -> frozenset[str]:
    """Return pronouns that refer back to what was named, and the words that may surround them."""
    return frozenset(
        "i we it that this them they those these all both everything have has had 've been is are was were now already just too as well "
        "myself yesterday today morning and then for you here".split()
    )


@lru_cache(maxsize=2048)
def _stem(word: str) -> str:
    irregular = cast("Mapping[str, str]", _table()["irregular"])
    if word in irregular:
        word = irregular[word]
    for end in ("ied", "ed", "ing", "es", "s", "e", "d"):
        if word.endswith(end) and len(word) - len(end) >= 2:
            word = word[: -len(end)] + ("y" if end == "ied" else "")
            break
    if len(word) > 2 and word[-1] == word[-2] and word[-1] not in "sl":
        word = word[:-1]
    return word[:4]


class TodoMatter(NamedTuple):
    """The subject of a to-do."""

    text: str
    wanted: frozenset[str]
    verb: str  # English: the stem of its first word
    deferred: bool


@lru_cache(maxsize=1024)
def todo_matter(text: str) -> TodoMatter:
    """Return the subject of a to-do, without the words that mark it as one and without its time."""
    low = normalize_case(text)
    plain = _shapes("around").sub(" ", ANNOUNCED.sub(" ", low))
    words = [w for w in _WORD.findall(plain) if w not in _SMALL_VERBS]
    verb = _stem(words[0]) if words else ""
    return TodoMatter(plain, matter(plain) or matter(low), verb, _fits("deferred", low))


@lru_cache(maxsize=4096)
def matter(text: str) -> frozenset[str]:
    """Return the subject of a text: stems of its words, pairs of its Han characters."""
    found = pieces(ANNOUNCED.sub(" ", normalize_case(text)))
    return frozenset(_stem(p) if p.isascii() and p.isalpha() else p for p in found)


def covers(clause: str, todo: TodoMatter) -> bool:
    """Return True if a clause about something done concerns a to-do."""
    done, wanted = matter(clause), todo.wanted
    if not wanted:
        return False
    share = len(wanted & done) / len(wanted)
    if share >= COVERED and len(wanted) > 1:
        return True
    return (
        share >= COVERED_WITH_VERB and len(wanted & done) > (todo.verb in done) and _same_verb(clause, todo)
    )


def _same_verb(clause: str, todo: TodoMatter) -> bool:
    if todo.verb and any(_stem(w) == todo.verb for w in _WORD.findall(clause)):
        return True
    return any(
        verb in todo.text
        for verb in re.findall(
            r"([\u4e00-\u9fff])(?:完|好|掉|上|成|过|出去)?了|已经?([\u4e00-\u9fff]{1,2})", clause
        )
        for verb in verb
        if verb
    )


def settles_todo(near: NearClose, todo: TodoMatter) -> bool:
    """Return True if a completion that names nothing settles a nearby to-do."""
    if not near.verb:
        return not todo.deferred
    if _HAN.search(near.verb):
        return near.verb in todo.text
    return near.verb == todo.verb


def claimed_well(sentences: list[str]) -> str:
    """Return what a message says works again, in its own words; empty if it says nothing of the kind, or is unsure."""
    told: list[str] = []
    before = ""
    for sentence in sentences:
        low = normalize_case(sentence)
        if _fits("ill", low):
            return ""
        if any(_fits("healthy", clause) for clause in clauses_of(sentence)):
            told += [before, low]
        before = low
    return " ".join(part for part in told if part)[:_NAME]


def settles_error(near: NearClose, error: str) -> bool:
    """Return True if a statement that all is well concerns a nearby error, or nothing else."""
    said, wrong = matter(near.text), matter(error)
    if wrong and len(said & wrong) >= ERROR_SHARE * len(wrong) and said & wrong:
        return True
    return bool(near.text) and all(bare_verb(c) is not None for c in clauses_of(near.text))
