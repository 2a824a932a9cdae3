"""Texts of a receipt, in both languages."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from backscroll.surfaces import i18n, receipts
from backscroll.vocab.prompt import Level, Section
from tests.house import tree
from tests.surfaces.prompts import MONEY, item, receipt

#: Reasons that are put together where no literal stands beside the name `reason`.
SPOKEN = ["recent", "system", "pinned", "unanswered", "latest", "kept", "gist", "notes", "recall is off"]


@pytest.fixture(autouse=True)
def _language() -> Iterator[None]:
    yield
    i18n.use("en")


def reasons() -> set[str]:
    """Every reason that the rooms below write as a literal."""
    out = set(SPOKEN)
    for path in [*(tree.PACKAGE / "assemble").rglob("*.py"), *(tree.PACKAGE / "engine").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _name(node.func) in {"Block", "replace"}:
                out |= {
                    str(k.value.value)
                    for k in node.keywords
                    if k.arg == "reason" and isinstance(k.value, ast.Constant)
                }
    return out - {"", "pays", "must", "asked"}  # reasons of compactions, which have texts of their own


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


@pytest.mark.parametrize("language", i18n.LANGUAGES)
def test_every_reason_has_a_text(language: i18n.Language) -> None:
    """The engine's code for a reason is never shown as it is."""
    i18n.use(language)
    assert len(reasons()) > 10
    assert [r for r in sorted(reasons()) if i18n.find(f"reasons.{'_'.join(_words(r))}") is None] == []


def _words(reason: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in reason.lower()).split()


@pytest.mark.parametrize("language", i18n.LANGUAGES)
def test_every_section_and_level_has_a_name(language: i18n.Language) -> None:
    i18n.use(language)
    for section in (*Section, "tools", "reserve", receipts.AROUND):
        assert i18n.find(f"sections.{section}")
    for level in Level:
        assert i18n.find(f"levels.{level.name.lower()}")
    for reason in ("must", "pays", "free", "asked"):
        assert i18n.find(f"context.because_{reason}")


def test_reasons_with_a_number_have_plurals() -> None:
    assert receipts.reason_words("1 details recalled") == "1 detail recalled"
    assert receipts.reason_words("3 details recalled") == "3 details recalled"
    i18n.use("zh")
    assert receipts.reason_words("3 details recalled") == "召回了 3 处细节"
    assert receipts.reason_words("3 unheard of") == "3 unheard of"


def test_shares_add_up_to_the_total() -> None:
    """What belongs to no message comes before the reserve for the answer."""
    made = receipt([item(tokens=100)], tokens=140, tools=5)
    assert receipts.shares(made) == {"tools": 5, "recent": 100, "around": 40, "reserve": 250}
    assert sum(receipts.shares(made).values()) == made.total


def test_small_share_is_not_zero() -> None:
    assert receipts.share(1, 100_000) == "<0.1%"
    assert receipts.share(0, 100_000) == "0.0%"
    assert receipts.share(1, 0) == "100.0%"


def test_cold_cache_price_is_given_once() -> None:
    """Two prices only if the cache makes a difference."""
    cold = list(receipts.facts(receipt([item()], money=MONEY)))
    warm = list(receipts.facts(receipt([item()], money=MONEY, cached=10)))
    assert "to send: $0.0050" in cold
    assert "to send: $0.0010 with the cache, $0.0050 without" in warm
    assert not any("to send" in line for line in receipts.facts(receipt([item()])))


def test_rules_are_shown_with_their_text() -> None:
    """Not by id alone; one that is no longer known keeps its id."""
    line = list(receipts.facts(receipt([item()], repairs=("V1", "X9"))))[-1]
    assert line == "repaired for the wire: V1 every call has exactly one result; X9"


def test_compaction_is_shown_with_its_reason() -> None:
    made = receipt([item()], compaction={"reason": "pays", "before": 12_345, "after": 678})
    assert "compaction (it pays off): 12,345 → 678 tokens" in list(receipts.facts(made))


@pytest.mark.parametrize(
    ("nano", "text"), [(0, "$0.0000"), (7_900_000, "$0.0079"), (1_234_567_890_000, "$1,234.57")]
)
def test_dollars_are_formatted(nano: int, text: str) -> None:
    assert receipts.dollars(nano) == text
