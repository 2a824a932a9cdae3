"""One-line descriptions of a change, in English or Chinese.

Owns the generated description of a change: files, the functions, classes or headings in them, and numbers of lines.
Deterministic, from the contents alone (`telling.toml`). Does not guess intentions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from backscroll.vocab.change import FileChange
from backscroll.vocab.part import Json
from backscroll.workspace.edits.definitions import Definition, definitions, telling_table
from backscroll.workspace.git.line_history import match_lines, split_lines
from backscroll.workspace.git.modes import is_binary

_FILES = 3  # that are named
_NAMES = 3  # definitions of each sort that are named
_LONGEST_NAME = 60
_MOST_LINES = 3000  # changed lines that are looked up

Read = Callable[[str], bytes | None]


@dataclass(frozen=True, slots=True)
class DefinitionChanges:
    """The definitions that a change touches."""

    new: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()


def describe(changes: Sequence[FileChange], read_before: Read, read_after: Read, language: str = "en") -> str:
    """Describe a change in one line. Contents are read by path: `read_before` gets the old path of a renamed file."""
    words: Json = telling_table()["words"].get(language) or telling_table()["words"]["en"]
    if not changes:
        return str(words["nothing"])
    # The files with the most changes come first; ties go by path.
    ordered = sorted(changes, key=lambda change: -(change.added + change.removed))
    named = ordered if len(ordered) <= _FILES + 1 else ordered[:_FILES]
    pieces = [_one(change, read_before, read_after, words) for change in named]
    rest = len(ordered) - len(named)
    if rest:
        pieces.append(words["more_files"].format(count=rest))
    text = str(words["file_separator"]).join(pieces)
    return text if words[_key(ordered[0])].startswith("{") else text[:1].upper() + text[1:]


def _key(change: FileChange) -> str:
    """Return the key of the phrase for a change."""
    if change.action == "changed" and change.before == change.after and change.executable is not None:
        return "made_executable" if change.executable else "made_plain"
    return change.action


def _one(change: FileChange, read_before: Read, read_after: Read, words: Json) -> str:
    key = _key(change)
    file = words[key].format(path=_printable(change.path), old=_printable(change.old_path))
    if key != change.action:
        return str(file)
    if not change.kept:
        return _join_words(file, words["unkept"], words)
    if change.binary:
        return _join_words(file, words["binary"], words)
    parts = _parts(touched_by(change, read_before, read_after), words) if change.action != "deleted" else ""
    whole = words["detail"].format(file=file, parts=parts) if parts else file
    if change.added or change.removed:
        whole = _join_words(whole, words["lines"].format(added=change.added, removed=change.removed), words)
    return whole


def _join_words(one: str, other: str, words: Json) -> str:
    return f"{one}{words['space']}{other}"


def _parts(touched: DefinitionChanges, words: Json) -> str:
    parts = [
        words[key].format(names=_names(names, words))
        for key, names in (("new", touched.new), ("gone", touched.gone), ("edited", touched.edited))
        if names
    ]
    return str(words["part_separator"]).join(parts)


def _names(names: Sequence[str], words: Json) -> str:
    shown = [_printable(name)[:_LONGEST_NAME] for name in names]
    if len(shown) <= _NAMES + 1:
        return str(words["name_separator"]).join(shown)
    first = str(words["name_separator"]).join(shown[:_NAMES])
    # Chinese counts all of them, English the remaining ones.
    count = len(shown) if words["space"] == "" else len(shown) - _NAMES
    return str(words["more_names"].format(names=first, count=count))


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def touched_by(change: FileChange, read_before: Read, read_after: Read) -> DefinitionChanges:
    """Return the definitions that a change touches, as far as its language is known."""
    old = _text(read_before(change.old_path or change.path)) if change.before else ""
    new = _text(read_after(change.path)) if change.after else ""
    if old is None or new is None:
        return DefinitionChanges()
    there, here = definitions(change.old_path or change.path, old), definitions(change.path, new)
    if not there and not here:
        return DefinitionChanges()
    old_names, new_names = [one.name for one in there], [one.name for one in here]
    came = _outermost([name for name in new_names if name not in set(old_names)])
    went = _outermost([name for name in old_names if name not in set(new_names)])
    if not change.before:
        return DefinitionChanges(new=tuple(came))
    removed, added = _changed_lines(old, new)
    edited = [
        name
        for name in dict.fromkeys([*_owners(here, added), *_owners(there, removed)])
        if name in set(old_names) and name in set(new_names)
    ]
    return DefinitionChanges(tuple(came), tuple(went), tuple(edited))


def _text(data: bytes | None) -> str | None:
    if data is None or is_binary(data):
        return None
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


def _outermost(names: Sequence[str]) -> list[str]:
    """Drop the methods of classes that are listed themselves."""
    known = set(names)
    return [
        name
        for name in dict.fromkeys(names)
        if not any(name[:n] in known for n, char in enumerate(name) if char == ".")
    ]


def _changed_lines(old: str, new: str) -> tuple[list[int], list[int]]:
    before, after = split_lines(old), split_lines(new)
    runs = match_lines(before, after)
    kept_before = {old_at + n for old_at, _, count in runs for n in range(count)}
    kept_after = {new_at + n for _, new_at, count in runs for n in range(count)}
    return (
        [n + 1 for n in range(len(before)) if n not in kept_before and before[n].strip()],
        [n + 1 for n in range(len(after)) if n not in kept_after and after[n].strip()],
    )


def _owners(defined: Sequence[Definition], lines: Sequence[int]) -> list[str]:
    """Return the innermost definition around each of some lines."""
    found: dict[str, None] = {}
    for line in lines[:_MOST_LINES]:
        around = [one for one in defined if one.first <= line <= one.last]
        if around:
            found[min(around, key=lambda one: one.last - one.first).name] = None
    return list(found)
