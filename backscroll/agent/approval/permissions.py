"""Permanent rules: `permissions.toml` in the user's configuration folder.

A table for each folder, and one (`always`) for all; one rule per line, so that it can be read and edited by hand:

    [always]
    "run_command(git status *)" = "allow"

    ["/home/ada/engine"]
    "write_file(docs/**)" = "allow"

Owns the file: an entry that cannot be understood is an error with its line; changes keep comments and are atomic. It is never in a
folder that an agent works in, since writing it would allow everything. Refuses: deciding (`agent/approval/approval`).
"""

from __future__ import annotations

import json
import os
import tempfile
import tomllib
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from backscroll.agent.approval.rules import VERDICTS, Rule, Verdict, rule_of
from backscroll.config import permissions_file
from backscroll.errors import InvalidInput, NotFound, StoreError
from backscroll.regular_files import read_text
from backscroll.vocab.part import Json

ALWAYS = "always"
#: Rules by table, then by their written form.
Tables = dict[str, dict[str, str]]
_HEAD = (
    "# What an agent may do without asking, must not do, or has to ask about: allow, deny, ask.\n"
    "# `backscroll permissions` lists and changes it. [always] holds everywhere, a folder in that folder.\n"
)


def table_for(root: Path | None) -> str:
    """Return the table of a folder, or of everything."""
    return ALWAYS if root is None else str(root)


def rules_in_force(root: Path | None, path: Path | None = None) -> list[Rule]:
    """Return the rules for everything and, if a folder is given, those for it and its parent folders."""
    out: list[Rule] = []
    for table, entries in read_tables(path).items():
        if table == ALWAYS:
            source = ALWAYS
        elif root is not None and (root == Path(table) or Path(table) in root.parents):
            source = "project"
        else:
            continue
        out += [rule_of(text, cast("Verdict", verdict), source) for text, verdict in entries.items()]
    return out


def read_tables(path: Path | None = None) -> Tables:
    """Return everything in the file; empty if there is no file."""
    return _tables_in(_text(path or permissions_file()), path or permissions_file())


def add(rule: Rule, root: Path | None, path: Path | None = None) -> bool:
    """Write a rule for a folder or for everything; False if it already exists. A different verdict is replaced."""
    table = table_for(root)
    rule_of(rule.text, rule.verdict)

    def change(text: str, tables: Tables) -> str | None:
        if tables.get(table, {}).get(rule.text) == rule.verdict:
            return None
        if rule.text in tables.get(table, {}):
            text = _without(text, table, rule.text)
        return _with(text, table, rule)

    return _change_file(change, path or permissions_file())


def remove(text: str, root: Path | None, path: Path | None = None) -> None:
    """Remove a rule; raise an error if it does not exist."""
    table, wanted = table_for(root), text.strip()

    def change(content: str, tables: Tables) -> str:
        if wanted not in tables.get(table, {}):
            raise NotFound(
                f"there is no rule {wanted!r} for {table}",
                hint="`backscroll permissions list --all` shows them",
            )
        return _without(content, table, wanted)

    _change_file(change, path or permissions_file())


# -- reading -----------------------------------------------------------------------------------------------------


def _text(path: Path) -> str:
    if str(path) == os.devnull:  # a user who wants no permissions file sets this as its path
        return ""
    try:
        return read_text(path)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise _build_error(path, str(error)) from error


def _build_error(path: Path, why: str) -> InvalidInput:
    return InvalidInput(
        f"the permissions in {path} cannot be used: {why}",
        hint="fix or remove the file; until then everything requires approval",
    )


def _tables_in(text: str, path: Path) -> Tables:
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise _build_error(path, str(error)) from error
    for table, entries in data.items():
        if table != ALWAYS and not Path(table).is_absolute():
            raise _build_error(
                path, f"line {_line_of(text, table)}: {table!r} is neither always nor a whole path"
            )
        if not isinstance(entries, dict):
            raise _build_error(path, f"line {_line_of(text, table)}: {table!r} is not a table")
        _check(text, cast("Mapping[str, Json]", entries), path)
    return cast("Tables", data)


def _check(text: str, entries: Mapping[str, Json], path: Path) -> None:
    for written, verdict in entries.items():
        line = _line_of(text, written)
        if verdict not in VERDICTS:
            raise _build_error(path, f"line {line}: {verdict!r} is none of allow, deny, ask")
        try:
            rule_of(written, verdict)
        except InvalidInput as error:
            raise _build_error(path, f"line {line}: {error.message}") from error


def _lines(text: str) -> list[str]:
    """Return lines as TOML defines them: other line-ending characters may occur inside a pattern."""
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def _line_of(text: str, written: str) -> int:
    """Return the line that contains an entry, however it is quoted; 1 if that cannot be determined."""
    for number, line in enumerate(_lines(text), 1):
        if written in line or _quote_toml(written) in line:
            return number
    return 1


# -- writing -----------------------------------------------------------------------------------------------------


def _quote_toml(text: str) -> str:
    """Return a TOML string; JSON's escapes are TOML's, except for the delete character and lone surrogates."""
    return json.dumps(text.encode("utf-8", "replace").decode(), ensure_ascii=False).replace("\x7f", "\\u007f")


def _header(table: str) -> str:
    return f"[{table}]" if table == ALWAYS else f"[{_quote_toml(table)}]"


def _table_at(lines: list[str], table: str) -> tuple[int, int] | None:
    """Return the line range of a table, from its header to the next one."""
    start = next((n for n, line in enumerate(lines) if _is_head(line, table)), None)
    if start is None:
        return None
    after = (n for n in range(start + 1, len(lines)) if lines[n].lstrip().startswith("["))
    return start + 1, next(after, len(lines))


def _is_head(line: str, table: str) -> bool:
    if not line.lstrip().startswith("["):
        return False
    try:
        return list(tomllib.loads(line)) == [table]
    except ValueError:
        return False


def _with(text: str, table: str, rule: Rule) -> str:
    lines = _lines(text or _HEAD)
    added = f"{_quote_toml(rule.text)} = {_quote_toml(rule.verdict)}"
    place = _table_at(lines, table)
    if place is None:
        lines += ["", _header(table), added]
    else:
        end = place[1]
        while end > place[0] and not lines[end - 1].strip():
            end -= 1
        lines.insert(end, added)
    return "\n".join(lines) + "\n"


def _without(text: str, table: str, written: str) -> str:
    lines = _lines(text)
    place = _table_at(lines, table)
    for number in range(*(place or (0, 0))):
        try:
            entry = tomllib.loads(lines[number])
        except ValueError:
            continue
        if list(entry) == [written]:
            del lines[number]
            break
    return "\n".join(lines) + "\n"


def _change_file(change: Callable[[str, Tables], str | None], path: Path) -> bool:
    """Read, change and write in one step. A file that cannot be read is not overwritten."""
    with _alone(path.parent):
        text = _text(path)
        before = _tables_in(text, path)
        after = change(text, before)
        if after is None:
            return False
        if _tables_in(after, path) == before:
            raise InvalidInput(
                f"the permissions in {path} cannot be edited automatically",
                hint="edit the line manually, or write one rule per line",
            )
        _write(path, after)
        return True


def _write(path: Path, text: str) -> None:
    place = path.resolve()  # a symlink to a file kept elsewhere stays a symlink
    try:
        handle, name = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(place)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"cannot write the permissions {path}: {error.strerror or error}",
        hint="check the folder and its permissions",
    )


@contextmanager
def _alone(folder: Path) -> Generator[None]:
    """Lock the file against other processes, where the system supports it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from error
    try:
        from fcntl import LOCK_EX, flock
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        flock(handle, LOCK_EX)
        yield
    finally:
        os.close(handle)
