"""Tables of the documentation against the code that they describe."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import backscroll
from backscroll import errors
from backscroll.config import Settings
from backscroll.formats.detection import formats
from tests.docs.pages import prose
from tests.house import tree

DOCS = tree.ROOT / "docs"


def _rows(page: Path, header: str) -> list[list[str]]:
    """The rows of the table that begins with this header."""
    lines = prose(page).splitlines()
    first = lines.index(header) + 2
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in lines[first : _end(lines, first)]]


def _end(lines: list[str], first: int) -> int:
    return next((n for n in range(first, len(lines)) if not lines[n].startswith("|")), len(lines))


def test_list_of_formats_is_complete() -> None:
    """`docs/formats.md` lists every format with what can be done with it, and has a section for each."""
    page = DOCS / "formats.md"
    listed = {
        re.sub(r"\[`(.*?)`\].*", r"\1", row[0]): (row[2], row[3])
        for row in _rows(page, "| name | | read | written |")
    }
    with_words = {True: "yes", False: "no"}
    there = {
        f.name: (with_words[f.name != "markdown"], with_words[f.write is not None or f.name == "native"])
        for f in formats()
    }
    assert listed == there
    assert set(re.findall(r"(?m)^## ([a-z-]+)$", prose(page))) == set(there)


def test_number_of_formats_is_correct() -> None:
    """The read-me and the reasons count the formats as the program does."""
    read = sum(f.name != "markdown" for f in formats())
    written = sum(f.write is not None or f.name == "native" for f in formats())
    for page in (tree.ROOT / "README.md", DOCS / "comparison.md"):
        assert f"{read} formats are read, {written} written" in prose(page)
    for page in (tree.ROOT / "README.zh-CN.md", DOCS / "comparison.zh-CN.md"):
        assert f"能读 {read} 种格式，能写 {written} 种" in prose(page)
    assert (read, written) == (15, 11), "docs/why.md says fifteen and eleven"
    assert "Fifteen formats are read, eleven are written" in prose(DOCS / "why.md")


def test_table_of_settings_is_complete() -> None:
    """Every setting has a row with its variable."""
    rows = _rows(DOCS / "library.md", "| setting | environment | default |")
    assert [row[0].strip("`") for row in rows] == [field.name for field in fields(Settings)]
    assert [row[1].strip("`") for row in rows] == [f"BACKSCROLL_{f.name.upper()}" for f in fields(Settings)]


def test_exit_codes_are_correct() -> None:
    """The table lists every error with its exit code."""
    rows = _rows(DOCS / "library.md", "| error | when | exit code of the command line |")
    told = {row[0].strip("`"): int(row[2]) for row in rows}
    assert told == {name: getattr(errors, name).exit_code for name in told}
    own = {
        kind.exit_code
        for kind in vars(errors).values()
        if isinstance(kind, type) and "exit_code" in vars(kind)
    }
    assert own - {errors.BackscrollError.exit_code} == set(told.values())


def test_names_in_the_glossary_exist() -> None:
    """Every name of code in the glossary."""
    missing: list[str] = []
    for row in re.findall(r"(?m)^\| [^|]+ \| [^|]+ \| ([^|]+) \|$", prose(DOCS / "glossary.md")):
        for name in re.findall(r"`([A-Za-z_.]+)(?:\(\))?`", row):
            if "/" in name or name.startswith("backscroll."):
                continue
            value: object = backscroll
            for part in name.split("."):
                here = getattr(value, "__dataclass_fields__", {})
                value = here[part] if part in here else getattr(value, part, None)
                if value is None:
                    missing.append(name)
                    break
    assert missing == []


def test_table_of_sync_ambiguities_is_complete() -> None:
    """`docs/sync.md` explains every word by which a sync calls something ambiguous."""
    told = {row[0].strip("`") for row in _rows(DOCS / "sync.md", "| name | question | resolution |")}
    code = "".join(path.read_text(encoding="utf-8") for path in (tree.PACKAGE / "reconcile").rglob("*.py"))
    assert set(re.findall(r"(?i)ambigu(?:ity|ous)\(\s*\"([a-z-]+)\"", code)) == told
