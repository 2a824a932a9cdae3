"""Search box input, parsed into an expression that both stores understand.

    two words            both, anywhere
    "a phrase"           these words in this order; “…”, 「…」 and 『…』 do as well
    -word  -"a phrase"   not this
    one OR other         either (also 或)
    begin*               words that begin so

Owns the syntax and its translation to FTS5 and tsquery; words come from `recall/text/words`. No input is a syntax error: what
is not an operator is a word, what has no letters is ignored. Not here: only queries that ask for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from backscroll.errors import InvalidInput
from backscroll.recall.text.words import (
    fold_word,
    humps_of,
    index_words,
    is_unspaced,
    normalize_text,
    runs_of,
    stem,
)
from backscroll.vocab.values.pattern import late

#: More distinct terms than this do not improve the result, only slow it down; the rest of a pasted page is ignored.
MOST_TERMS = 200
#: Characters of the input that are read; a quotation has at most 2,000, or an unclosed quote would be followed
#: to the end from every quote.
LONGEST = 20_000

_ITEM = late(
    r"""(?P<minus>[-－](?=[^\s\-－]))?"""
    r"""(?:"(?P<a>[^"]{0,2000})"|“(?P<b>[^”]{0,2000})”|「(?P<c>[^」]{0,2000})」|『(?P<d>[^』]{0,2000})』|(?P<word>[^\s"“「『]+|["“「『]))(?P<star>\*)?"""
)
_EITHER = frozenset({"OR", "或"})
_OPERATORS = _EITHER | {"AND"}
_QUOTES = frozenset('"“「『')

#: Endings that the stemmer removes: a prefix like `runn` must also find `running`, which the index stores as `run`.
_ENDINGS = re.findall(
    r"\w+",
    "s es ed ing ings ly edly ingly ies ied er ers ment ments ness ful less able ible al ally ity ive ively ize ized "
    "izing izer ation ations ational ance ence ant ent ism ist ous ously",
)


@dataclass(frozen=True, slots=True)
class QueryPhrase:
    """Adjacent index words; the last one may be only the beginning of a word."""

    words: tuple[str, ...]
    prefix: bool = False

    def to_fts5(self) -> str:
        """Return an FTS5 string; index words hold neither quotes nor spaces."""
        return f'"{" ".join(self.words)}"' + (" *" if self.prefix else "")

    def to_tsquery(self) -> str:
        """Return lexemes joined by `<->`."""
        return " <-> ".join(f"'{word}'" for word in self.words) + (":*" if self.prefix else "")


@dataclass(frozen=True, slots=True)
class Term:
    """One search term: any of its phrases is enough. `pieces` is what remains of it in a relaxed search."""

    text: str
    phrases: tuple[QueryPhrase, ...]
    pieces: tuple[QueryPhrase, ...]

    def _join_phrases(self, phrases: list[str], either: str) -> str:
        return phrases[0] if len(phrases) == 1 else f"({either.join(phrases)})"

    def to_fts5(self) -> str:
        """Return an FTS5 expression that may occur anywhere."""
        return self._join_phrases([phrase.to_fts5() for phrase in self.phrases], " OR ")

    def to_tsquery(self) -> str:
        """Return a tsquery expression that may occur anywhere."""
        phrases = [phrase.to_tsquery() for phrase in self.phrases]
        return self._join_phrases([f"({p})" if "<->" in p else p for p in phrases], " | ")


@dataclass(frozen=True, slots=True)
class Query:
    """All of `groups`, of each group at least one term, and none of `excluded`."""

    text: str
    groups: tuple[tuple[Term, ...], ...]
    excluded: tuple[Term, ...] = ()

    @property
    def terms(self) -> tuple[Term, ...]:
        """All requested terms, without the excluded ones."""
        return tuple(term for group in self.groups for term in group)

    def to_fts5(self) -> str:
        """Return the value for `WHERE table MATCH ?` on a table with `FTS5_TOKENIZER`."""
        groups = [_either([term.to_fts5() for term in group], " OR ") for group in self.groups]
        wanted = " AND ".join(groups)
        if not self.excluded:
            return wanted
        return f"({wanted}) NOT ({' OR '.join(term.to_fts5() for term in self.excluded)})"

    def to_tsquery(self) -> str:
        """Return the value for `WHERE column @@ %s::tsquery`."""
        groups = [_either([term.to_tsquery() for term in group], " | ") for group in self.groups]
        unwanted = [f"!{term.to_tsquery()}" for term in self.excluded]
        return " & ".join([*groups, *unwanted])

    def relax(self) -> Query:
        """Return the same query with any of the terms instead of all; unquoted stretches of unspaced script are split into their pairs."""
        pieces = dict.fromkeys(piece for term in self.terms for piece in term.pieces)
        group = tuple(Term(" ".join(piece.words), (piece,), (piece,)) for piece in pieces)
        return Query(self.text, (group[:MOST_TERMS],), self.excluded)


def _either(expressions: list[str], operator: str) -> str:
    return expressions[0] if len(expressions) == 1 else f"({operator.join(expressions)})"


@lru_cache(maxsize=1024)
def _inner_stems(beginning: str) -> tuple[str, ...]:
    """Return index words of words that begin so, but whose stem does not: `runn` -> `run`."""
    found: dict[str, None] = {stem(beginning): None}
    for ending in _ENDINGS:
        for cut in range(len(ending) + 1):
            if beginning.endswith(ending[:cut]):
                found[stem(beginning + ending[cut:])] = None
    return tuple(word for word in found if not word.startswith(beginning) and len(word) > 1)


def _words_for(text: str) -> list[str]:
    """Return the adjacent index words to find; if the text ends in unspaced script, without its last character alone: in
    the indexed text the run may go on.
    """
    words = index_words(text).split(" ")
    runs = runs_of(normalize_text(text))
    if len(runs[-1]) > 1 and is_unspaced(runs[-1]):
        words.pop()
    return words


def _phrases_of(text: str, star: bool) -> Iterable[QueryPhrase]:
    runs = runs_of(normalize_text(text))
    last = runs[-1]
    if is_unspaced(last):
        # A pair is a whole index word, a single character only begins one.
        yield QueryPhrase(tuple(_words_for(text)), prefix=len(last) == 1)
        return
    humps = humps_of(last)
    if star:
        before = tuple(index_words(" ".join(runs[:-1])).split())
        beginning = fold_word(last)
        yield QueryPhrase((*before, beginning), prefix=True)
        for word in _inner_stems(beginning):
            yield QueryPhrase((*before, word))
        if len(humps) > 1:  # getUserNa* also finds get_user_name
            yield QueryPhrase(
                (*before, *(stem(fold_word(hump)) for hump in humps[:-1]), fold_word(humps[-1])), prefix=True
            )
        return
    if len(runs) == 1 and len(humps) > 1:  # getUserName also finds get_user_name and getusername
        yield QueryPhrase(tuple(stem(fold_word(hump)) for hump in humps))
    else:
        yield QueryPhrase(tuple(_words_for(text)))
    yield QueryPhrase(tuple(_words_for(text.casefold())))


def _term_of(text: str, *, quoted: bool, star: bool) -> Term | None:
    """Return the term, or None if the text has no letter or digit."""
    runs = runs_of(normalize_text(text))
    if not runs:
        return None
    phrases = tuple(dict.fromkeys(_phrases_of(text, star)))
    if quoted or not any(is_unspaced(run) for run in runs):
        return Term(text, phrases, phrases)
    loose = [
        QueryPhrase((word,), prefix=len(run) == 1 and is_unspaced(run))
        for run in runs
        for word in _words_for(run)
    ]
    return Term(text, phrases, tuple(dict.fromkeys(loose)))


def parse_query(text: str) -> Query:
    """Parse search input; raise an error that says what is missing."""
    items = [found for found in _ITEM.finditer(text[:LONGEST]) if found[0] not in _QUOTES]
    groups: list[dict[Term, None]] = []
    excluded: dict[Term, None] = {}
    wanted: set[Term] = set()
    joining = False
    for place, found in enumerate(items):
        word = found["word"]
        if groups and place + 1 < len(items) and word in _OPERATORS and not found["minus"]:
            joining = word in _EITHER
            continue
        raw = word or found["a"] or found["b"] or found["c"] or found["d"] or ""
        star = bool(found["star"]) or (word is not None and word.endswith("*"))
        term = _term_of(raw, quoted=word is None, star=star)
        if term is not None and found["minus"]:
            excluded[term] = None
        elif term is not None and len(wanted) < MOST_TERMS:
            if joining:
                groups[-1][term] = None
            elif term not in wanted:
                groups.append({term: None})
            wanted.add(term)
        joining = False
    if not groups:
        raise _nothing(text, bool(excluded))
    return Query(text, tuple(map(tuple, groups)), tuple(excluded)[:MOST_TERMS])


def _nothing(text: str, only_exclusions: bool) -> InvalidInput:
    if only_exclusions:
        return InvalidInput(
            "the query contains only exclusions", hint="add a word to search for: deploy -staging", query=text
        )
    return InvalidInput(
        "the query contains no words", hint='type a word, several, or a "phrase" in quotes', query=text
    )
