"""Cues: the subject of a sentence (a decision, a constraint, an error …), by phrases and patterns.

Owns the reading of the cue tables (`cues_en.toml`, `cues_zh.toml`) and the patterns that need no table: paths, ids, addresses,
numbers, names in code. Both languages are searched in every text, because people mix them. Refuses weights: those are in
`derive/essence/importance`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import NamedTuple, TypeAlias

from backscroll.derive.essence.sentences import Sentence, sentences
from backscroll.vocab.part import Json
from backscroll.vocab.values.pattern import late
from backscroll.vocab.values.table import read_table

#: Kinds of cues, in order of precedence where two begin at the same place.
KINDS = (
    "done", "todo", "constraint", "decision", "success", "error", "finding", "correction", "reason", "preference", "need",
    "contrast",     "filler",
)  # fmt: skip

_HAN = late(r"[\u2e80-\u9fff\uf900-\ufaff]")
URL = late(r"https?://[^\s<>\"'`，。；、）)\]】》]+")
_EXT = (
    "py|pyi|js|mjs|cjs|ts|tsx|jsx|java|go|rs|c|cc|cpp|cxx|h|hpp|cs|md|mdx|rst|toml|json|jsonl|ya?ml|txt|sh|bash|sql|html?|css|"
    "scss|csv|tsv|ipynb|rb|php|kt|kts|swift|vue|svelte|xml|ini|cfg|conf|lock|log|db|sqlite|proto|scala|lua|pl|r|tex|docx?|"
    "xlsx?|pptx?|pdf|png|jpe?g|gif|svg|gradle|properties|env|patch|diff|zip|tar|gz|pony|dart|ex|exs|clj|hs|ml|zig"
)
PATH = late(
    r"(?<![\w/.:@<-])(?:"
    r"(?:~|\.{1,2}|[A-Za-z]:)?[\\/](?:[A-Za-z0-9_.@+~-]+[\\/])*[A-Za-z0-9_.@+~-]*[A-Za-z0-9_]"
    rf"|(?:[A-Za-z0-9_.@+-]+/)+[A-Za-z0-9_@+-]+\.(?:{_EXT})"
    r"|(?:[A-Za-z0-9_.@+-]+/){2,}[A-Za-z0-9_.@+-]*[A-Za-z0-9_]"
    rf"|[A-Za-z0-9_@+-][A-Za-z0-9_.@+-]*\.(?:{_EXT})"
    r")(?![A-Za-z0-9_/])"
)
_NO_PATH = late(r"[\d/.\\-]+|[/\\][\w-]+|[nN]/[aA]|[a-z]+/[a-z]+/[a-z]+")
_LETTERS = late(r"[a-z]{3}|[A-Za-z0-9_]\.[a-z]{1,5}$|[A-Z]{4}")
# At most 64 characters before an @: without that bound a long run of Chinese would be scanned at every sign.
ID = late(
    r"(?<![A-Za-z0-9_./-])(?:"
    r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
    r"|[\w.+-]{1,64}@[A-Za-z0-9-]+\.[A-Za-z0-9.-]*[A-Za-z]"
    r"|#[A-Za-z]?\d{1,12}"
    r"|(?=[0-9a-f]{0,39}[a-f])(?=[0-9a-f]{0,39}\d)[0-9a-f]{7,40}"
    r"|[A-Z][A-Z0-9]{1,9}-\d{1,9}"
    r"|[a-z]+(?:_[a-z0-9]+)*_\d{2,}"
    r"|(?=[A-Z0-9]{0,11}[A-Z])(?=[A-Z0-9]{0,11}\d)[A-Z0-9]{5,12}"
    r"|\d{6,20}"
    r")(?![A-Za-z0-9_-])"
)
NUMBER = late(r"\d")
CODE = late(r"`[^`\n]{1,120}`|\b[A-Za-z]+_[A-Za-z0-9_]+\b|\b[a-z]+[A-Z][A-Za-z0-9]+\b|\b\w+\(\)")
_QUESTION = late(r"[?？]\s*[\"'”’」』）)]*\s*$")
_QUESTION_ZH = late(
    r"(?:吗|呢|什么|怎么|为什么|如何|哪里|哪个|哪些|是否|能不能|可不可以|多少|几点)[^。！]{0,40}$"
)
_BEHIND = late(r"^\(\?<![^)]*\)")
_EITHER = late(r"\(\?:([^()]*)\)(\?)?")
_LONG = 8_000  # characters from which a text is long
_RAISED = late(r"\b[A-Z]\w*(?:Error|Exception)\b")
_BOX = late(r"^\s*+(?:(?:[-*+]|\d++[.)])\s*+)?\[(?P<tick>[ xX✓✔√~/-])\]\s*(?P<what>.+)", re.DOTALL)


class CueSentence(NamedTuple):
    """A sentence with its kinds of cues."""

    sentence: Sentence
    cues: frozenset[str]  # kinds of `KINDS`, and question, box, ticked

    @property
    def text(self) -> str:
        """The words as written."""
        return self.sentence.text


class CuePhrases(NamedTuple):
    """The phrases of one kind with the same beginning."""

    kind: str
    clause: bool  # only where a clause begins
    pattern: re.Pattern[str]


Alike: TypeAlias = tuple[re.Pattern[str], tuple[CuePhrases, ...]]  # one pattern for all of them, then each


class Beginnings(dict[str, "Alike | None"]):
    """Phrases by their beginnings; compiled when a text first contains one: there are hundreds, and a text has few."""

    def __init__(self, spelled: Mapping[str, Mapping[tuple[str, bool], list[str]]], after: str) -> None:
        super().__init__()
        self.spelled, self._after = spelled, after

    def __missing__(self, key: str) -> Alike | None:
        kinds = self.spelled.get(key)
        if kinds is None:
            return None  # not cached: texts begin in unlimited ways
        each = tuple(
            CuePhrases(kind, clause, re.compile(f"(?:{'|'.join(list_)}){self._after}"))
            for (kind, clause), list_ in kinds.items()
        )
        either = re.compile(f"(?:{'|'.join(p for list_ in kinds.values() for p in list_)}){self._after}")
        self[key] = either, each
        return either, each


class CueTable(NamedTuple):
    """The phrases of one language, indexed by their beginnings: most words of a text match none of them."""

    start: re.Pattern[str]
    width: int  # how many characters of a beginning are compared
    phrases: Beginnings
    lead_in: tuple[str, ...]


@cache
def table_of(language: str) -> CueTable:
    """Return the table of `en` or `zh`."""
    return _table(f"cues_{language}.toml", spaced=language == "en")


def _beginnings(phrase: str, width: int) -> list[str]:
    """Return the first letters of a phrase; several if it may begin with several words."""
    rest = _BEHIND.sub("", phrase)
    either = _EITHER.match(rest)
    if either is None:
        return [rest[:width]]
    tail = rest[either.end() :]
    heads = [word + tail for word in either[1].split("|")] + ([tail] if either[2] else [])
    return sorted({head[:width] for head in heads})


def _table(name: str, *, spaced: bool) -> CueTable:
    data: Mapping[str, Json] = read_table("backscroll.derive", name)
    width = 2 if spaced else 1
    alike: dict[str, dict[tuple[str, bool], list[str]]] = {}
    for kind in KINDS:
        for clause in (False, True):
            for phrase in data[kind]["clause" if clause else "anywhere"]:
                spelled = phrase.lower() if spaced else phrase
                for key in _beginnings(spelled, width):
                    alike.setdefault(key, {}).setdefault((kind, clause), []).append(spelled)
    after = r"(?![a-z0-9_]|\.[a-z0-9])" if spaced else ""
    phrases = Beginnings(alike, after)
    firsts = "".join(sorted({re.escape(key[0]) for key in alike}))
    start = re.compile(rf"(?<![a-z0-9_'])[{firsts}]" if spaced else f"[{firsts}]")
    return CueTable(start, width, phrases, tuple(data["lead_in"]))


def lower_aligned(text: str) -> str:
    """Return a text in lower case, character by character, so that offsets stay valid; all apostrophes become one kind."""
    low = text.lower()
    if len(low) != len(text):  # a few letters have lower cases of two characters
        low = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    return low.replace("’", "'")


_OPENING = frozenset(".!?;:,，。！？；：、\n\r\t(（\"'“‘*>-—–…[【]】)）•`")


def _begins_clause(low: str, at: int, table: CueTable, *, led: bool = False) -> bool:
    """Return True after punctuation, at the beginning of a line, and after a lead-in word (`please`)."""
    before = at
    while before and low[before - 1] in " \u3000":
        before -= 1
    if not before or low[before - 1] in _OPENING:
        return True
    if led:
        return False
    for word in table.lead_in:
        if low.endswith(word, 0, before):
            return _begins_clause(low, before - len(word), table, led=True)
    return False


def hits(text: str) -> Iterator[tuple[int, str]]:
    """Yield the position and kind of every cue."""
    low = lower_aligned(text)
    for table in map(table_of, ("en", "zh") if _HAN.search(text) else ("en",)):
        width, phrases = table.width, table.phrases
        for found in table.start.finditer(low):
            at = found.start()
            alike = phrases[low[at : at + width]]
            if alike is None or not alike[0].match(low, at):
                continue
            for kind, clause, pattern in alike[1]:
                if pattern.match(low, at) and (not clause or _begins_clause(low, at, table)):
                    yield at, kind


def mark_sentences(text: str) -> tuple[CueSentence, ...]:
    """Return the sentences of a text, each with its cues. Code is skipped: its words are not decisions.

    Cached, because several readers ask in turn; only a few long texts, which would otherwise hold megabytes.
    """
    return marked_long(text) if len(text) > _LONG else marked_short(text)


def let_go() -> None:
    """Clear the caches of texts."""
    marked_short.cache_clear()
    marked_long.cache_clear()


def _read(text: str) -> tuple[CueSentence, ...]:
    pieces = sentences(text)
    if not pieces:
        return ()
    found: list[set[str]] = [set() for _ in pieces]
    starts = [p.start for p in pieces]
    for at, kind in hits(text):
        index = bisect_right(starts, at) - 1
        if index >= 0 and at < pieces[index].end and pieces[index].shape != "code":
            found[index].add(kind)
    out: list[CueSentence] = []
    for piece, cues in zip(pieces, found, strict=True):
        out.append(CueSentence(piece, frozenset(cues if piece.shape == "code" else cues | _shapes(piece))))
    return tuple(out)


marked_short = lru_cache(maxsize=128)(_read)
marked_long = lru_cache(maxsize=8)(_read)


def _shapes(piece: Sentence) -> set[str]:
    out: set[str] = set()
    if _QUESTION.search(piece.text) or (piece.text[-1] not in "。！.!" and _QUESTION_ZH.search(piece.text)):
        out.add("question")
    if _RAISED.search(piece.text):
        out.add("error")
    box = _BOX.match(piece.text)
    if box:
        out.add("box" if box["tick"] in " ~/-" else "ticked")
    return out


def box_text(text: str) -> str:
    """Return the text after a check box."""
    box = _BOX.match(text)
    return box["what"].strip() if box else text.strip()


def paths_in(text: str) -> list[str]:
    """Return the file paths in a text, in order, each once; lookalikes (`and/or`, dates, fractions) are left out."""
    plain = URL.sub(" ", text) if "://" in text else text
    found = (m[0] for m in PATH.finditer(plain)) if ("/" in plain or "." in plain or "\\" in plain) else ()
    return list(dict.fromkeys(p for p in found if not _NO_PATH.fullmatch(p) and _LETTERS.search(p)))


def ids_in(text: str) -> list[str]:
    """Return the ids in a text (tickets, hashes, orders, email addresses, long numbers), in order, each once."""
    plain = URL.sub(" ", text) if "://" in text else text
    return list(dict.fromkeys(m[0] for m in ID.finditer(plain)))
