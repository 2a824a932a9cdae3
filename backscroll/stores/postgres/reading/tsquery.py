"""Parse a tsquery, to match texts that a tsvector cannot hold completely.

A tsvector keeps positions up to 16383, 255 of them per word, and a megabyte in all. For a longer text the index can only find
candidates (`loosen_query`), which are then checked against the words themselves (`spelled_out`). So a phrase is found at the
end of a long log too, and so are Chinese words, which are phrases of pairs. Parses only the syntax that
`recall/question/query` writes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(r"\s*(?:'((?:[^'\\]|''|\\.)*)'(:\*)?|(<->|[&|!()])|(\S))")

#: Lexeme that marks texts with too many different words for the tsvector.
OVERFULL = "=over"


@dataclass(frozen=True, slots=True)
class TsPhrase:
    """Consecutive words; the last may be a prefix."""

    words: tuple[str, ...]
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class TsOr:
    """At least one of these."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class TsAnd:
    """Each of these."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class TsNot:
    """Not this."""

    part: Node


Node = TsPhrase | TsOr | TsAnd | TsNot


class _UnknownSyntax(Exception):
    """Syntax that `recall/question/query` does not write."""


def parse_query(text: str) -> Node | None:
    """Return the query as a tree; None if its syntax is not ours."""
    try:
        reader = _Parser(text)
        node = reader.either()
        return node if reader.done else None
    except _UnknownSyntax:
        return None


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens: list[str | TsPhrase] = []
        for found in _TOKEN.finditer(text.rstrip()):
            if found[4]:
                raise _UnknownSyntax(text)
            word = re.sub(r"''|\\(.)", lambda pair: pair[1] or "'", found[1]) if found[1] is not None else ""
            self._tokens.append(TsPhrase((word,), bool(found[2])) if found[3] is None else found[3])
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
        return parts[0] if len(parts) == 1 else TsOr(tuple(parts))

    def both(self) -> Node:
        parts = [self.row()]
        while self._next("&"):
            parts.append(self.row())
        return parts[0] if len(parts) == 1 else TsAnd(tuple(parts))

    def row(self) -> Node:
        node = self.one()
        while self._next("<->"):
            follower = self.one()
            if not isinstance(node, TsPhrase) or not isinstance(follower, TsPhrase) or node.prefix:
                raise _UnknownSyntax
            node = TsPhrase((*node.words, *follower.words), follower.prefix)
        return node

    def one(self) -> Node:
        if self._next("!"):
            return TsNot(self.one())
        if self._next("("):
            node = self.either()
            if not self._next(")"):
                raise _UnknownSyntax
            return node
        if self.done or not isinstance(token := self._tokens[self._at], TsPhrase):
            raise _UnknownSyntax
        self._at += 1
        return token


def quote_lexeme(word: str) -> str:
    """Quote a lexeme for a tsquery."""
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


def render_phrase(phrase: TsPhrase) -> str:
    """Return a phrase as a tsquery."""
    return " <-> ".join(map(quote_lexeme, phrase.words)) + (":*" if phrase.prefix else "")


def loosen_query(node: Node) -> str | None:
    """Return a tsquery that matches every possible match: all words of its phrases anywhere, nothing excluded.

    None if that would be everything.
    """
    match node:
        case TsPhrase():
            return " & ".join(map(quote_lexeme, node.words)) + (":*" if node.prefix else "")
        case TsNot():
            return None
        case TsAnd():
            parts = [f"({text})" for part in node.parts if (text := loosen_query(part)) is not None]
            return " & ".join(parts) or None
        case TsOr():
            options = [loosen_query(part) for part in node.parts]
            return None if None in options else " | ".join(f"({text})" for text in options)


def spelled_out(node: Node, column: str) -> tuple[str, list[object]]:
    """Return the query as an SQL condition on a column of space-separated words, and its values."""
    match node:
        case TsPhrase():
            sql = f"strpos({column}, %s) > 0"
            return sql, [" " + " ".join(node.words) + ("" if node.prefix else " ")]
        case TsNot():
            sql, values = spelled_out(node.part, column)
            return f"NOT ({sql})", values
        case TsAnd() | TsOr():
            found = [spelled_out(part, column) for part in node.parts]
            joined = (" AND " if isinstance(node, TsAnd) else " OR ").join(f"({sql})" for sql, _ in found)
            return joined, [value for _, values in found for value in values]


def asked_for(node: Node) -> list[TsPhrase]:
    """Return the distinct phrases of a query, without excluded ones."""
    match node:
        case TsPhrase():
            return [node]
        case TsNot():
            return []
        case TsAnd() | TsOr():
            return list(dict.fromkeys(phrase for part in node.parts for phrase in asked_for(part)))
