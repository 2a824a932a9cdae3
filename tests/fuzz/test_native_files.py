"""A few fixed mutants of native files, and every field of every kind of line with every bad value; `make fuzz` has fresh ones."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll import Media, Text
from backscroll.record.derived import Lesson, RecipeReply
from tests.fuzz.native_files import AT, BAD, fuzz, lines_of, logs_of, reseal

#: Each damaged the store, raised something raw or silently lost words in the program before; some of each way to change a file.
SEEDS = (0, 5, 8, 13, 16, 22, 30, 42, 65, 132, 340, 349)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the file lies that is mutated."""
    return tmp_path_factory.mktemp("native")


@pytest.mark.parametrize("seed", SEEDS)
def test_mutated_file_is_refused_or_harmless(seed: int, folder: Path) -> None:
    """No raw exception, no damaged store, no silently lost words."""
    fuzz(seed, folder)


# -- one field at a time -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small file with one line of each kind: a thread, a fork, events with and without words, bytes, a reply, a lesson."""
    place = tmp_path_factory.mktemp("small")
    with closing(backscroll.open(place / "small.db", background=False)) as engine:
        engine.create("other").append("user", "words of another")
        thread = engine.create("one", project="p")
        said = thread.append("user", [Text("words"), Media("image/png", data=b"bytes")])
        fork = thread.fork(said.id, title="fork")
        fork.append("user", "in the fork")
        reply = RecipeReply(b"k1", "gist", thread.id, "m", b'{"a":1}', (said.revision,), AT)
        lesson = Lesson(AT, thread.id, "tool:read", 0.5)
        engine.store.write(lambda tx: (tx.keep_reply(reply), tx.learn(lesson)))
        engine.export(None, target=str(place / "small.jsonl"))
    return place / "small.jsonl"


#: What tells the kinds of lines apart; a fork has a parent, and an event may have words.
KINDS = {
    "header": "backscroll",
    "thread": "thread",
    "fork": "parent",
    "event": "event",
    "words": "body",
    "blob": "blob",
    "reply": "reply",
    "lesson": "lesson",
}
#: The most telling of the bad values: one of each type, and of each shape that a field has.
FEW = (None, "", "x", 0, -1, 1.5, True, [], {}, 2**64, "f" * 32, "f" * 64, "f" * 32 + ".1", AT, BAD[-1])


def one_field_changes(lines: list[Any], kind: str) -> Iterator[tuple[str, list[Any]]]:
    """Every field of the first line of a kind, gone or with a bad value."""
    field = KINDS[kind]
    number = next(
        n for n, row in enumerate(lines) if field in row and not (kind == "words" and "reply" in row)
    )
    for name in lines[number]:
        for value in ("gone", *FEW):
            changed = copy.deepcopy(lines)
            if value == "gone":
                del changed[number][name]
            else:
                changed[number][name] = value
            if changed != lines:
                yield f"line {number + 1}: {name} = {str(value)[:40]!r}", changed


@pytest.mark.parametrize("kind", KINDS)
def test_invalid_field_is_refused_with_its_line(small: Path, tmp_path: Path, kind: str) -> None:
    """The store verifies, and the other thread is complete."""
    lines = lines_of(small)
    whole = logs_of(lines)
    bystander = next(row["thread"] for row in reversed(lines) if "thread" in row)
    mutant, copied = tmp_path / "mutant.jsonl", tmp_path / "copy.jsonl"
    for number, (what, changed) in enumerate(one_field_changes(lines, kind)):
        mutant.write_text("\n".join(map(json.dumps, changed)), encoding="utf-8")
        with closing(backscroll.open(tmp_path / f"{number}.db", background=False)) as engine:
            try:
                reports = engine.import_path(mutant, format="native")
            except backscroll.FormatError:
                assert kind == "header", what
                continue
            assert engine.verify().flaws == [], what
            engine.export(None, target=str(copied))
            have = logs_of(lines_of(copied))
        problems = [p for r in reports for p in r.problems]
        lost = [name for name, log in whole.items() if have.get(name) != log]
        assert not lost or any(p.line for p in problems), f"{what}: {lost} silently differ"
        assert bystander not in lost, f"{what}: {problems}"
        for name, log in have.items():
            assert log == whole[name][: len(log)], f"{what}: {name} holds what was never said"


def test_event_without_its_body_is_refused(small: Path, tmp_path: Path) -> None:
    """A body may be missing only after a forget; the line is reported, the others are imported."""
    lines = lines_of(small)
    number = next(n for n, row in enumerate(lines) if row.get("kind") == "appended")
    del lines[number]["body"], lines[number]["salt"]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    with closing(backscroll.open(tmp_path / "a.db", background=False)) as engine:
        reports = engine.import_path(path)
        assert any(p.line == number + 1 and "lacks its words" in p.what for r in reports for p in r.problems)
        assert [info.title for info in engine.threads() if info.messages] == [
            "other"
        ]  # the fork stands on the message
        assert engine.verify().ok


def test_file_cannot_erase_words_by_omission(small: Path, tmp_path: Path) -> None:
    """A copy of a file that lacks words does not take them from a store that has them."""
    lines = lines_of(small)
    number = next(n for n, row in enumerate(lines) if row.get("kind") == "appended")
    del lines[number]["body"], lines[number]["salt"]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    with closing(backscroll.open(tmp_path / "a.db", background=False)) as engine:
        engine.import_path(small)
        engine.import_path(path)
        assert {m.text for i in engine.threads() for m in engine.thread(i.id)} >= {
            "words",
            "words of another",
        }
        assert engine.verify().ok


def test_file_cannot_forget_messages_of_another_thread(small: Path, tmp_path: Path) -> None:
    """A `forgotten` event that names a message of another thread is refused, however well it is sealed."""
    lines = lines_of(small)
    victim = next(row["event"] for row in reversed(lines) if row.get("kind") == "appended")
    last = max(n for n, row in enumerate(lines) if row.get("kind") == "appended" and row["event"] != victim)
    thread, _, seq = lines[last]["event"].rpartition(".")
    hole = {"message": victim, "salt": "", "marks": []}
    forged = {
        **lines[last],
        "event": f"{thread}.{int(seq) + 1}",
        "kind": "forgotten",
        "head": {"messages": [hole]},
        "seal": "",
    }
    del forged["body"], forged["salt"]
    lines.insert(last + 1, forged)
    reseal(lines)
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    with closing(backscroll.open(tmp_path / "a.db", background=False)) as engine:
        engine.import_path(small)
        reports = engine.import_path(path)
        assert any("forgets" in p.what for r in reports for p in r.problems)
        assert "words of another" in {m.text for i in engine.threads() for m in engine.thread(i.id)}
        assert engine.verify().ok
