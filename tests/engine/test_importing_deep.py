"""A line nested absurdly deep is a problem with its number; everything else in the file is imported."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, note, settings
from hypothesis import strategies as st

import backscroll
from backscroll.engine.engine import Engine
from backscroll.errors import FormatError
from backscroll.vocab.part import Text, ToolCall, ToolResult

#: Formats with one record per line, and formats that are one document.
LINES = ("claude-code", "codex", "sillytavern")
DOCUMENTS = ("openai", "anthropic", "openai-responses")
DEPTHS = (150, 185, 195, 199, 200, 201, 210, 239, 241, 300, 900, 5000, 100_000)
HOLE = "a hole for something deep"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with backscroll.open(tmp_path_factory.mktemp("deep") / "store.db", background=False) as opened:
        yield opened


def exported(engine: Engine, format: str) -> str:
    """A conversation in the shape of another tool, one word of its own in every message."""
    thread = engine.create("deep")
    for n in range(6):
        thread.append("user", f"question{n}q")
        thread.append(
            "assistant", [Text(f"answer{n}q"), ToolCall(f"c{n}", "Read", {"path": f"argument{n}q"})]
        )
        thread.append("tool", [ToolResult(f"c{n}", (Text(f"result{n}q"),), name="Read")])
    return engine.export([thread.id], format).text or ""


def nested(depth: int, objects: bool) -> str:
    return '{"a":' * depth + "1" + "}" * depth if objects else "[" * depth + "]" * depth


def objects_in(value: Any) -> list[dict[str, Any]]:
    """Every object inside a value, itself included."""
    if isinstance(value, dict):
        return [value, *(found for inner in value.values() for found in objects_in(inner))]
    return [found for inner in value for found in objects_in(inner)] if isinstance(value, list) else []


def deepened(value: Any, chance: random.Random, deep: str, *, instead: bool) -> str:
    """The JSON of a value with something deep put into it, under a new name or (`instead`) in the place of something."""
    held = chance.choice(objects_in(value))
    name = chance.choice([*held, "extra_field"] if instead else ["extra_field"])
    held[name] = HOLE
    return json.dumps(value, ensure_ascii=False).replace(json.dumps(HOLE), deep)


def imported(engine: Engine, path: Path, format: str | None) -> tuple[str, list[Any]]:
    """All words that came in, and what was said to be wrong."""
    reports = engine.import_path(path, format=format, again=True)
    words = [
        json.dumps([str(p) for p in m.parts])
        for r in reports
        if r.thread is not None
        for m in engine.thread(r.thread).messages()
    ]
    return "\n".join(words), [problem for r in reports for problem in r.problems]


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    format=st.sampled_from(LINES),
    place=st.integers(1, 11),
    depth=st.sampled_from(DEPTHS),
    objects=st.booleans(),
    seed=st.integers(0, 10_000),
)
@example("claude-code", 3, 201, True, 0)
@example("codex", 4, 900, False, 1)
def test_one_deep_line_stops_nothing(
    engine: Engine, tmp_path: Path, format: str, place: int, depth: int, objects: bool, seed: int
) -> None:
    """Whatever field of whatever line it is in: all words of the other lines are imported, and a line that is not is named."""
    lines = exported(engine, format).splitlines()
    at = min(place, len(lines) - 1)
    original = json.loads(lines[at])
    marks = {f"{kind}{n}q" for n in range(6) for kind in ("question", "answer", "argument", "result")}
    own = {mark for mark in marks if mark in lines[at]}
    lines[at] = deepened(original, random.Random(seed), nested(depth, objects), instead=True)
    path = tmp_path / f"{format}-{place}-{depth}-{objects}-{seed}.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    words, problems = imported(engine, path, format)
    assert {mark for mark in marks - own if mark not in words} == set()
    if depth > 300:
        assert at + 1 in {problem.line for problem in problems}


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    format=st.sampled_from(DOCUMENTS),
    depth=st.sampled_from(DEPTHS),
    objects=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_a_deep_document_is_read_or_refused_clearly(
    engine: Engine, tmp_path: Path, format: str, depth: int, objects: bool, seed: int
) -> None:
    """One document is either read, with what could not be kept named, or refused as a whole by an error of ours."""
    value = json.loads(exported(engine, format))
    path = tmp_path / f"{format}-{depth}-{objects}-{seed}.json"
    text = deepened(value, random.Random(seed), nested(depth, objects), instead=False)
    path.write_text(text, encoding="utf-8")
    try:
        words, problems = imported(engine, path, format)
    except FormatError as refused:
        note(f"refused: {refused}")
        return
    missing = {mark for n in range(6) if (mark := f"question{n}q") in text and mark not in words}
    assert not missing or problems
