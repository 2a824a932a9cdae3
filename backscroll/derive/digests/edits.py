"""Digests of writes, edits and plans: lines added and removed, names touched, to-dos and their state.

Owns: arguments of writing tools in every shape (old and new text, lists of edits, patches, whole contents). Refuses: results
that are errors; `derive/digests/trouble` reads those.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import cast

from backscroll.derive.digests.calls import CallDetails, arguments_of
from backscroll.derive.digests.output_text import cut, join_items, one_line, plain, width
from backscroll.derive.digests.results import ResultDetails
from backscroll.derive.digests.salient import most_specific
from backscroll.derive.digests.source import definitions, headings
from backscroll.vocab.part import Json

_OLD = ("old_string", "old_str", "oldText", "old_text", "search", "old")
_NEW = tuple(
    "new_string new_str newText new_text replace new code_edit replacement_text new_source insert_text".split()
)
_WHOLE = ("content", "contents", "file_text", "text", "data", "body")
_PATCHES = ("patch", "diff", "input")
_COMPARED = 4_000  # lines up to which old and new are compared line by line
_PAIRS = 40_000  # pairs of equal lines up to which their order is compared; with more it can take seconds
_MARKS = re.compile(r"(?m)^(?:<{5,} ?SEARCH|={5,}|>{5,} ?REPLACE)[^\n]*$")
_FILED = re.compile(r"^(?:\+\+\+ (?:b/)?(\S+)|\*\*\* (?:Add|Update|Delete) File: (.+))")
_HUNKED = re.compile(r"^@@", re.MULTILINE)
_DONE = frozenset({"completed", "done", "complete", "已完成", "完成", "cancelled", "canceled"})
_NOW = frozenset({"in_progress", "in-progress", "active", "doing", "进行中"})


def change_outcome(asked: CallDetails, told: ResultDetails, limit: int) -> str:
    """Return a write or an edit on one line."""
    added, removed = count_changed_lines(asked)
    text = "\n".join(new for _, new in changes(asked))
    head = f"+{added} -{removed} lines" if removed else f"+{added} lines" if added else ""
    names = (definitions(plain(text)) or headings(plain(text)))[:12]
    line = head
    if names:
        line = f"{head}: {join_items(names, limit - width(head) - 2)}" if head else join_items(names, limit)
    if not line:
        return cut(one_line(told.said[0]), limit) if told.said else "done"
    room = limit - width(line) - 2
    terms = most_specific(plain(text), room, without=f"{asked.target}\n{line}") if room > 24 else ""
    return f"{line}; {terms}" if terms else line


def count_changed_lines(asked: CallDetails) -> tuple[int, int]:
    """Return the number of lines that a call adds and removes."""
    added = removed = 0
    for old, new in changes(asked):
        a, b = old.splitlines(), new.splitlines()
        if not a or len(a) + len(b) > _COMPARED:
            added, removed = added + len(b), removed + len(a)
            continue
        same = _same(a, b)
        added, removed = added + len(b) - same, removed + len(a) - same
    return added, removed


def _same(old: list[str], new: list[str]) -> int:
    """Return how many lines stay. Where the same few lines repeat, their order is compared only at both ends."""
    ends = 0
    if _pairs(old, new) > _PAIRS:
        most = min(len(old), len(new))
        first = next((n for n in range(most) if old[n] != new[n]), most)
        last = next((n for n in range(most - first) if old[-1 - n] != new[-1 - n]), most - first)
        ends, old, new = first + last, old[first : len(old) - last], new[first : len(new) - last]
    if _pairs(old, new) > _PAIRS:
        return ends + (Counter(old) & Counter(new)).total()
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return ends + sum(block.size for block in blocks)


def _pairs(old: list[str], new: list[str]) -> int:
    """Return the number of pairs of equal lines: the least work that comparing the two in order takes."""
    after = Counter(new)
    return sum(times * after[line] for line, times in Counter(old).items())


def changes(asked: CallDetails) -> Iterator[tuple[str, str]]:
    """Yield the old and new text of every change that a call requests."""
    given = asked.arguments
    if asked.raw:
        yield from _parse_patch(asked.raw)
        return
    edits = given.get("edits") or given.get("replacements") or given.get("changes")
    if isinstance(edits, list):
        for edit in cast("list[Json]", edits):
            inner, _ = arguments_of(edit)
            yield from _iter_replacements(inner)
        return
    yield from _iter_replacements(given)


def _iter_replacements(given: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    old, new = _first(given, _OLD), _first(given, _NEW)
    if old is not None or new is not None:
        yield old or "", new or ""
        return
    for key in _PATCHES:
        value = given.get(key)
        if isinstance(value, str) and (
            "\n@@" in value or "*** " in value or "<<<<<" in value or value.startswith(("---", "@@"))
        ):
            yield from _parse_patch(value)
            return
    whole = _first(given, _WHOLE)
    if whole is not None:
        yield "", whole


def _first(given: Mapping[str, Json], keys: tuple[str, ...]) -> str | None:
    return next((cast("str", given[key]) for key in keys if isinstance(given.get(key), str)), None)


def _parse_patch(text: str) -> Iterator[tuple[str, str]]:
    """Yield the removed and the added lines of a patch."""
    pieces = _MARKS.split(text) if "SEARCH" in text else []
    if len(pieces) > 3:  # before, old, new, between, old, new, …
        for at in range(1, len(pieces) - 1, 3):
            yield pieces[at].strip("\n"), pieces[at + 1].strip("\n")
        return
    lines = text.split("\n")
    old = [line[1:] for line in lines if line.startswith("-") and not line.startswith("---")]
    new = [line[1:] for line in lines if line.startswith("+") and not line.startswith("+++")]
    if old or new:
        yield "\n".join(old), "\n".join(new)


def diff_outcome(text: str, limit: int, known: str) -> str | None:
    """Return a diff on one line: files with lines added and removed, then the names touched; None if the text is not a diff."""
    if not _HUNKED.search(text):
        return None
    files: dict[str, list[int]] = {}
    current: list[int] | None = None
    touched: list[str] = []
    for line in text.split("\n"):
        if found := _FILED.match(line):
            current = files.setdefault(found[1] or found[2], [0, 0])
        elif current is not None and line[:1] in ("+", "-") and line[:3] not in ("+++", "---"):
            current[line[0] == "-"] += 1
            touched.append(line[1:])
    if not files:
        return None
    shown = [f"{path} +{added} -{removed}" for path, (added, removed) in files.items()]
    head = f"{len(files)} files: " if len(files) > 1 else ""
    line = head + join_items(shown, limit * 2 // 3 - len(head))
    words = "\n".join(touched)
    room = limit - width(line) - 2
    names = join_items(definitions(words), room) if room > 16 else ""
    line = f"{line}; {names}" if names else line
    room = limit - width(line) - 2
    terms = most_specific(words, room, without=f"{known}\n{line}") if room > 16 else ""
    return f"{line}; {terms}" if terms else line


def plan_outcome(asked: CallDetails, told: ResultDetails, limit: int) -> str:
    """Return a list of to-dos on one line: how many are done, which one is in progress, which are open."""
    rows = list(_todos(asked.arguments)) or list(_find_checkboxes(asked, told))
    if not rows:
        return cut(one_line(told.said[0]), limit) if told.said else "done"
    done = sum(state in _DONE for state, _ in rows)
    now = [text for state, text in rows if state in _NOW]
    later = [text for state, text in rows if state not in _NOW and state not in _DONE]
    head = f"{done}/{len(rows)} done"
    line = f"{head}; now: {cut(now[0], limit // 2)}" if now else head
    room = limit - width(line) - 8
    return f"{line}; open: {join_items(later, room, ' | ')}" if later and room > 20 else line


def _todos(given: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    for key in ("todos", "plan", "todoList", "todo_list", "items", "tasks"):
        rows = given.get(key)
        for row in cast("list[Json]", rows) if isinstance(rows, list) else []:
            if isinstance(row, dict):
                held = cast("dict[str, Json]", row)
                text = next(
                    (
                        held[k]
                        for k in ("content", "step", "title", "text", "description", "subject")
                        if held.get(k)
                    ),
                    "",
                )
                if text:
                    yield (
                        str(held.get("status") or held.get("state") or "").lower(),
                        one_line(plain(str(text))),
                    )
            elif isinstance(row, str):
                yield "", one_line(plain(row))


def _find_checkboxes(asked: CallDetails, told: ResultDetails) -> Iterator[tuple[str, str]]:
    """Yield Markdown check boxes, in the call or in the result."""
    texts = [v for v in asked.arguments.values() if isinstance(v, str)]
    for mark, text in re.findall(
        r"^\s*[-*\d.]*\s*\[([ xX~/-])\]\s*(.+)$", "\n".join([*texts, asked.raw, told.text]), re.MULTILINE
    ):
        yield ("done" if mark in "xX" else "in_progress" if mark in "-~/" else ""), one_line(plain(text))
