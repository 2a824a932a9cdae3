"""A tsquery taken apart, for texts that a tsvector cannot hold whole.

A tsvector keeps places up to 16383, 255 of them for a word, and a megabyte in all. For a longer text the index can only say
that it *may* fit (`loosened`); whether it does is looked up in the words themselves (`spelled_out`). So a phrase is found
at the end of a long log as well, and Chinese words, which are phrases of pairs. Knows what `recall/question/query` writes, no more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(r"\s*(?:'((?:[^'\\]|''|\\.)*)'(:\*)?|(<->|[&|!()])|(\S))")

#: A lexeme of texts with so many different words that the tsvector lacks some of them.
OVERFULL = "=over"


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words in a row; the last may be only the beginning of one."""

    words: tuple[str, ...]
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class Either:
    """At least one of these."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Each:
    """Each of these."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Without:
    """Not this."""

    part: Node


Node = Phrase | Either | Each | Without


class _Unknown(Exception):
    """Something that `recall/question/query` does not write."""


def parsed(text: str) -> Node | None:
    """The query as a tree; None where it is written in another way than ours."""
    try:
        reader = _Parser(text)
        node = reader.either()
        return node if reader.done else None
    except _Unknown:
        return None


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens: list[str | Phrase] = []
        for found in _TOKEN.finditer(text.rstrip()):
            if found[4]:
                raise _Unknown(text)
            word = re.sub(r"''|\\(.)", lambda pair: pair[1] or "'", found[1]) if found[1] is not None else ""
            self._tokens.append(Phrase((word,), bool(found[2])) if found[3] is None else found[3])
        self._at = 0

    @property
    def done(self) -> bool:
        return self._at == len(self._tokens)

    def _next(self, *wanted: str) -> bool:
        if not self.done and self._tokens[self._at] in wanted:
            self._at += 1
            return True
        return False

    def either(self) -> Node:
        parts = [self.both()]
        while self._next("|"):
            parts.append(self.both())
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def both(self) -> Node:
        parts = [self.row()]
        while self._next("&"):
            parts.append(self.row())
        return parts[0] if len(parts) == 1 else Each(tuple(parts))

    def row(self) -> Node:
        node = self.one()
        while self._next("<->"):
            follower = self.one()
            if not isinstance(node, Phrase) or not isinstance(follower, Phrase) or node.prefix:
                raise _Unknown
            node = Phrase((*node.words, *follower.words), follower.prefix)
        return node

    def one(self) -> Node:
        if self._next("!"):
            return Without(self.one())
        if self._next("("):
            node = self.either()
            if not self._next(")"):
                raise _Unknown
            return node
        if self.done or not isinstance(token := self._tokens[self._at], Phrase):
            raise _Unknown
        self._at += 1
        return token


def quoted(word: str) -> str:
    """A lexeme as it is written in a tsquery."""
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


def written(phrase: Phrase) -> str:
    """A phrase as a tsquery."""
    return " <-> ".join(map(quoted, phrase.words)) + (":*" if phrase.prefix else "")


def loosened(node: Node) -> str | None:
    """A tsquery that fits whatever the query may fit: all words of its phrases anywhere, nothing excluded.

    None where that would be everything.
    """
    match node:
        case Phrase():
            return " & ".join(map(quoted, node.words)) + (":*" if node.prefix else "")
        case Without():
            return None
        case Each():
            parts = [f"({text})" for part in node.parts if (text := loosened(part)) is not None]
            return " & ".join(parts) or None
        case Either():
            options = [loosened(part) for part in node.parts]
            return None if None in options else " | ".join(f"({text})" for text in options)


def spelled_out(node: Node, column: str) -> tuple[str, list[object]]:
    """The query as a condition on a column of words, each between single spaces, and its values."""
    match node:
        case Phrase():
            sql = f"strpos({column}, %s) > 0"
            return sql, [" " + " ".join(node.words) + ("" if node.prefix else " ")]
        case Without():
            sql, values = spelled_out(node.part, column)
            return f"NOT ({sql})", values
        case Each() | Either():
            found = [spelled_out(part, column) for part in node.parts]
            joined = (" AND " if isinstance(node, Each) else " OR ").join(f"({sql})" for sql, _ in found)
            return joined, [value for _, values in found for value in values]


def asked_for(node: Node) -> list[Phrase]:
    """The phrases of a query, without what it excludes, each once."""
    match node:
        case Phrase():
            return [node]
        case Without():
            return []
        case Each() | Either():
            return list(dict.fromkeys(phrase for part in node.parts for phrase in asked_for(part)))
