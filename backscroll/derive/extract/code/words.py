"""The table of the coding rules (`extract_code.toml`), read once, and claims as those rules make them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import cast

from backscroll.vocab.assertion import Assertion, Claim
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json
from backscroll.vocab.values.table import read_table

#: Pattern for names in a decision: one to four words, a path, something in backticks.
_NAME_EN = r"(?:`[^`\n]{1,60}`|\"[^\"\n]{1,60}\"|[\w@./+#-]+(?: [\w@./+#-]+){0,3})"
_NAME_ZH = r"\s?(?:`[^`\n]{1,40}`|「[^」\n]{1,30}」|“[^”\n]{1,30}”|[A-Za-z][\w@./+# -]{0,38}[\w+#]|[\u4e00-\u9fff]{2,10}?)\s?"
_REST_EN = r"(?:[^.;:!?\n]|\.(?=\w)){4,120}"
_REST_ZH = r"[^，。；！？,;!?\n]{3,50}"


@cache
def table() -> Mapping[str, Json]:
    """Return the whole table."""
    return read_table("backscroll.derive", "extract_code.toml")


@cache
def words(section: str, key: str) -> frozenset[str]:
    """Return a set of words."""
    return frozenset(cast("list[str]", table()[section][key]))


@cache
def shape(section: str, key: str) -> re.Pattern[str]:
    """Return one regular expression."""
    return re.compile(cast("str", table()[section][key]))


@cache
def decisions(tongue: str, *, person: bool) -> tuple[re.Pattern[str], ...]:
    """Return the phrasings of decisions in one language; a person's words count where a model's only announce its next step."""
    chinese = tongue == "zh"
    name, rest = (_NAME_ZH, _REST_ZH) if chinese else (_NAME_EN, _REST_EN)
    told = cast("Mapping[str, list[str]]", table()["decisions"])
    rows = [*told[tongue], *(told[f"person_{tongue}"] if person else ())]
    return tuple(
        re.compile(row.replace("NAME", name).replace("REST", rest), 0 if chinese else re.IGNORECASE)
        for row in rows
    )


@cache
def error_names() -> tuple[re.Pattern[str], ...]:
    """Return the patterns for names of errors."""
    return tuple(re.compile(row) for row in cast("list[str]", table()["errors"]["names"]))


@dataclass(frozen=True, slots=True)
class StatementPlace:
    """The place and speaker of a statement."""

    quote: str
    source: Ref
    speaker: str

    def node(self, name: str, kind: str, sure: float = 0.9) -> Assertion:
        """Assert a node."""
        return self._claim(Claim.NODE, name, kind, sure)

    def attribute(self, name: str, kind: str, predicate: str, value: str, sure: float = 0.9) -> Assertion:
        """Assert an attribute."""
        return self._claim(Claim.ATTRIBUTE, name, kind, sure, predicate, value=value)

    def relation(
        self, name: str, kind: str, predicate: str, other: str, other_kind: str, sure: float = 0.9
    ) -> Assertion:
        """Assert a relation."""
        return self._claim(Claim.RELATION, name, kind, sure, predicate, other=other, other_kind=other_kind)

    def end(self, name: str, kind: str, predicate: str, other: str = "", sure: float = 0.9) -> Assertion:
        """Assert that it has ended."""
        return self._claim(Claim.END, name, kind, sure, predicate, other=other)

    def _claim(
        self,
        claim: Claim,
        name: str,
        kind: str,
        sure: float,
        predicate: str = "",
        *,
        value: str = "",
        other: str = "",
        other_kind: str = "",
    ) -> Assertion:
        return Assertion(
            claim,
            name,
            predicate,
            value,
            other,
            type=kind,
            object_type=other_kind,
            quote=self.quote,
            source=self.source,
            speaker=self.speaker,
            sure=sure,
        )
