"""Syntax checks of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from backscroll.workspace.edits.syntax import flaw


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "def f(:\n    pass\n"),
        ("a.py", "x = 1\n  y = 2\n"),
        ("a.py", "\0"),
        ("a.pyi", "class X\n"),
        ("a.json", '{"a": 1,}'),
        ("a.jsonl", '{"a": 1}\n{"b": \n'),
        ("a.toml", "a = \n"),
        ("a.yaml", "a: [1, 2\nb: 3\n"),
        ("a.yml", "a: b: c\n"),
        ("a.yml", "a: \x00\n"),
        ("a.xml", "<a><b></a>"),
        ("图.svg", "<svg>"),
        ("UPPER.JSON", "{"),
    ],
)
def test_syntax_errors_are_named(path: str, text: str) -> None:
    """With the language, on one line."""
    said = flaw(path, text)
    assert said.split(",")[0].split(":")[0] in ("Python", "JSON", "TOML", "YAML", "XML"), said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "print('你好')\n"),
        ("a.py", "x = '\\d'\n"),  # an odd escape only warns
        ("a.py", ""),
        ("a.json", "[1, 2]"),
        ("tsconfig.json", "{ // with comments\n}"),
        (".vscode/settings.json", "{ /* too */ }"),
        ("a.toml", "a = 1\n"),
        ("a.yaml", "a: 1\n---\nb: !custom {c: 2}\n"),
        ("chart/templates/a.yaml", "{{- if .Values.x }}\na: 1\n{{- end }}\n"),
        ("a.xml", "<?xml version='1.0'?><a>文</a>"),
        ("a.html", "<p>unclosed"),
        ("a.txt", "def f(:"),
        ("Makefile", "\t\t{"),
        ("a.js", "function ("),
    ],
)
def test_valid_and_unknown_files_have_no_errors(path: str, text: str) -> None:
    """Also languages that we cannot parse."""
    assert flaw(path, text) == ""


def test_hostile_texts_are_parsed_in_time() -> None:
    """Deep nesting and exploding entities are not followed."""
    assert flaw("a.json", "[" * 100_000) == "it is nested too deeply"
    assert flaw("a.py", "(" * 100_000)
    laughs = "<!DOCTYPE a [<!ENTITY a 'aaaa'>" + "".join(
        f"<!ENTITY {chr(98 + n)} '{f'&{chr(97 + n)};' * 10}'>" for n in range(20)
    )
    assert flaw("a.xml", f"{laughs}]><a>&u;</a>") == ""
    assert flaw("a.py", "x" * 3_000_000) == ""


def test_parsing_runs_nothing(tmp_path: Path) -> None:
    """Python is parsed, not compiled or imported; YAML tags create no objects."""
    assert flaw("a.py", f"open({str(tmp_path / 'owned')!r}, 'w')\n") == ""
    assert flaw("a.yaml", f"!!python/object/apply:os.mkdir ['{tmp_path / 'owned'}']\n") == ""
    assert list(tmp_path.iterdir()) == []
