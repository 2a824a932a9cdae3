"""The draft of one file while edits are planned.

Owns the replaced spans (each found in the current file, none overlapping), the resulting text with the file's line ends and
encoding, and the notes about it.
"""

from __future__ import annotations

import tomllib
from bisect import bisect_left
from dataclasses import dataclass, field
from difflib import unified_diff
from functools import lru_cache
from importlib.resources import files as data_files
from typing import Literal, TypeAlias

from backscroll.errors import Conflict, InvalidInput, NotFound
from backscroll.vocab.change import Action
from backscroll.workspace.edits.edit import Patch, TextReplacement, WholeFile
from backscroll.workspace.edits.match import Document, EditMatch, find_hunk, find_replace
from backscroll.workspace.edits.syntax import flaw
from backscroll.workspace.files.encoding import DecodedText, decode_text, encode_text, with_newlines
from backscroll.workspace.files.files import FileContent
from backscroll.workspace.files.guard import escape_path

#: The reaction to an edit that breaks the syntax of a file. For a file that was broken before, only a warning.
Syntax: TypeAlias = Literal["refuse", "warn"]


@dataclass(frozen=True, slots=True)
class FileEdit:
    """One file before and after its edits. `None` for content: the file does not exist."""

    path: str
    action: Action
    before: bytes | None
    after: bytes | None
    diff: str
    added: int = 0  # lines
    removed: int = 0
    mode: int | None = None  # permission bits, if they change or the file is new
    mode_before: int | None = None
    old_path: str = ""  # for a renamed file: the source, which is listed as deleted
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class FileDraft:
    """A file with its planned edits; nothing is written."""

    path: str
    there: FileContent | None
    found: list[tuple[EditMatch, int]] = field(
        default_factory=list[tuple[EditMatch, int]]
    )  # with the number of the edit
    whole: str | None = None
    gone: bool = False
    source: FileDraft | None = None  # the source of the content
    went_to: FileDraft | None = None  # the destination of the content
    executable: bool | None = None
    notes: list[str] = field(default_factory=list[str])
    broken: bool = False  # one of its edits cannot be applied
    _text: DecodedText | None = None
    _document: Document | None = None

    def replace(self, edit: TextReplacement, number: int) -> None:
        """Replace a text."""
        self._alone()
        if self.there is None and not edit.old.strip():
            self.whole = edit.new  # a block with an empty search text creates a new file
            return
        if self.there is not None and not self.there.data and not edit.old.strip():
            self.whole = edit.new
            return
        try:
            for found in find_replace(self._doc(), edit):
                self._put(found, number)
        except InvalidInput as error:
            if self.found and edit.old and edit.old in self._result(self._doc().text):
                error.hint = "it exists only after an earlier edit: merge the two edits"
            raise

    def write(self, edit: WholeFile) -> None:
        """Write the whole file."""
        if edit.new and self.there is not None:
            raise Conflict(f"{escape_path(self.path)} already exists", hint="edit it instead of creating it")
        if self.whole is not None or self.found or self.gone:
            raise InvalidInput(
                "the file is both written as a whole and edited", hint="do only one of the two"
            )
        self.whole, self.executable = edit.text, edit.executable

    def delete(self) -> None:
        """Delete the file."""
        self._alone()
        self._must_be_there()
        if self.found:
            raise InvalidInput("the file is both deleted and edited", hint="do only one of the two")
        self.gone = True

    def patch(self, edit: Patch, number: int) -> None:
        """Apply the hunks of a diff."""
        if edit.created:
            if self.there is not None:
                raise Conflict(
                    f"{escape_path(self.path)} already exists", hint="edit it instead of creating it"
                )
            self._alone()
            self.whole = _lines_of(edit)
            self.executable = edit.executable
            return
        self._must_be_there()
        self._alone()
        if edit.executable is not None and not edit.to:
            self.executable = edit.executable
        after, shift = 0, 0
        for hunk in edit.hunks:
            found, line = find_hunk(self._doc(), hunk, after, shift)
            if hunk.numbered and hunk.old and line != hunk.start - 1 + shift:
                self.notes.append(f"a hunk for line {hunk.start} belongs to line {line + 1}")
                shift = line - (hunk.start - 1)
            after = line + len(hunk.old)
            self._put(found, number)
        if edit.deleted:
            if edit.hunks and self._result(self._doc().text).strip():
                raise InvalidInput(
                    "the diff deletes the file, but the file contains more than the diff",
                    hint="read it again",
                )
            self.found.clear()
            self.gone = True

    def come_from(self, source: FileDraft, edit: Patch) -> None:
        """Take the content of a file that is renamed or copied to this path."""
        if self.there is not None or self.whole is not None:
            raise Conflict(f"{escape_path(self.path)} already exists", hint="choose another name")
        assert source.there is not None
        self.source = source
        self.executable = edit.executable
        source._move_edits(self, keeps=edit.copied)

    def _move_edits(self, to: FileDraft, *, keeps: bool) -> None:
        """Move the edits along with the content."""
        to.whole = self._restore_line_ends() if self.found else None
        to._text = self._text
        to.notes += self.notes
        self.found.clear()
        self.notes.clear()
        self.gone = not keeps
        self.went_to = None if keeps else to

    def finish_draft(self, largest: int, syntax: Syntax) -> FileEdit | None:
        """Return the file as it would be; None if nothing changes."""
        self._no_overlap()
        before = self.there.data if self.there else None
        after = self._after()
        if after is not None and len(after) > largest:
            raise InvalidInput(
                f"the file would have {len(after)} bytes, at most {largest}", hint="make it smaller"
            )
        mode_before = self.there.mode if self.there else None
        mode = self._mode(mode_before)
        if after == before and (mode is None or mode == mode_before):
            return None
        renamed = self.source is not None and self.source.gone
        origin = self.source.there if self.source else self.there
        old, new = _text_of(origin.data if origin else None), _text_of(after)
        if new is not None:
            self._check_left_out(old or "", new)
            self._check_syntax(old, new, syntax)
        diff, added, removed = self._diff(before, after, old, new)
        action: Action = (
            "deleted" if after is None else "renamed" if renamed else "added" if before is None else "changed"
        )
        return FileEdit(
            self.path,
            action,
            before,
            after,
            diff,
            added,
            removed,
            mode,
            mode_before,
            self.source.path if self.source and renamed else "",
            tuple(self.notes),
        )

    def _diff(
        self, before: bytes | None, after: bytes | None, old: str | None, new: str | None
    ) -> tuple[str, int, int]:
        """Return the preview; a moved file is shown at its destination, as renamed."""
        if self.went_to is not None:
            return "", 0, 0
        if self.source is not None and self.source.gone:
            head = f"rename from {escape_path(self.source.path)}\nrename to {escape_path(self.path)}\n"
            if old == new:
                return head, 0, 0
            diff, added, removed = _diff(self.source.path, self.path, old, new)
            return head + diff, added, removed
        is_text = (before is None or old is not None) and (after is None or new is not None)
        if not is_text:
            left, right = (
                escape_path(self.path) if data is not None else "/dev/null" for data in (before, after)
            )
            return f"Binary files {left} and {right} differ\n", 0, 0
        return _diff(
            self.path if before is not None else "", self.path if after is not None else "", old, new
        )

    def _after(self) -> bytes | None:
        if self.gone:
            return None
        if self.source is not None and self.whole is None:
            assert self.source.there is not None
            return self.source.there.data
        if self.whole is not None:
            like = self._like()
            plain = self.whole.removeprefix("\ufeff") if like and like.bom else self.whole
            return encode_text(
                with_newlines(plain, like.newline) if like and "\r" not in plain else plain, like
            )
        if self.found:
            return encode_text(self._restore_line_ends(), self._text)
        return self.there.data if self.there else None

    def _like(self) -> DecodedText | None:
        """Return the text whose encoding and line ends a new text adopts."""
        if self._text is None and self.there is not None:
            self._text = decode_text(self.there.data)
        return self._text

    def _mode(self, before: int | None) -> int | None:
        """Return the permission bits to set, from a diff or a moved file."""
        bits = before
        if self.source is not None and self.source.there is not None:
            bits = self.source.there.mode
        if self.executable is None:
            return bits if bits != before else None
        bits = 0o644 if bits is None else bits
        return bits | (bits & 0o444) >> 2 if self.executable else bits & ~0o111

    def _alone(self) -> None:
        if self.whole is not None or self.gone or self.source is not None:
            raise InvalidInput(
                "the file is both written as a whole and edited", hint="do only one of the two"
            )

    def _must_be_there(self) -> None:
        if self.there is None:
            raise NotFound(
                f"no such file: {escape_path(self.path)}", hint="look with list_files", path=self.path
            )

    def _doc(self) -> Document:
        if self._document is None:
            self._must_be_there()
            assert self.there is not None
            self._text = decode_text(self.there.data)
            if self._text is None:
                raise InvalidInput(
                    f"{escape_path(self.path)} is not text ({len(self.there.data)} bytes)",
                    hint="only text can be edited",
                )
            self._document = Document(self._text.text)
        return self._document

    def _put(self, found: EditMatch, number: int) -> None:
        if found.note:
            self.notes.append(f"line {self._doc().line_of(found.start)}: {found.note}")
        self.found.append((found, number))

    def _no_overlap(self) -> None:
        self.found.sort(key=lambda pair: (pair[0].start, pair[0].end))
        for (one, first), (two, second) in zip(self.found, self.found[1:], strict=False):
            if two.start < one.end or (two.start, two.end) == (one.start, one.end):
                line = self._doc().line_of(two.start)
                raise InvalidInput(
                    f"edits {min(first, second)} and {max(first, second)} overlap at line {line}",
                    hint="make one edit of the two",
                )

    def _result(self, text: str) -> str:
        out, at = list[str](), 0
        for found, _ in sorted(self.found, key=lambda pair: pair[0].start):
            out += (text[at : found.start], found.text)
            at = found.end
        return "".join([*out, text[at:]])

    def _restore_line_ends(self) -> str:
        """Return the new text with the file's line ends: unchanged lines keep theirs, new ones adopt those around them."""
        assert self._text is not None
        raw, plain = self._text.raw, self._doc().text
        self._no_overlap()
        if len(raw) == len(plain):
            newline = self._text.newline
            return self._result(raw) if newline != "\r" else with_newlines(self._result(plain), "\r")
        # One character of the plain text may be two in the file: count those dropped before.
        pairs = _pairs(raw)
        out, at = list[str](), 0
        for found, _ in self.found:
            start = found.start + bisect_left(pairs, found.start)
            end = found.end + bisect_left(pairs, found.end)
            out += (raw[at:start], found.text.replace("\n", _newline_at(plain, pairs, found.start)))
            at = end
        return "".join([*out, raw[at:]])

    def _check_left_out(self, old: str, new: str) -> None:
        """Reject `… rest of the code …`: written literally, it would delete the rest."""
        stood = {line.strip() for line in old.split("\n")}
        for number, line in enumerate(new.split("\n"), 1):
            if line.strip() not in stood and _leaves_out(line):
                raise InvalidInput(
                    f"line {number} elides code instead of writing it: {line.strip()}",
                    hint="write everything, or replace only the lines that change",
                )

    def _check_syntax(self, old: str | None, new: str, syntax: Syntax) -> None:
        wrong = flaw(self.path, new)
        if not wrong:
            return
        if syntax == "refuse" and not (old is not None and flaw(self.path, old)):
            raise InvalidInput(
                f"the file would no longer parse: {wrong}", hint="fix the edit; nothing was written"
            )
        self.notes.append(f"the file does not parse: {wrong}")


def _pairs(raw: str) -> list[int]:
    """Return the positions in the plain text of newlines that are two characters in the file."""
    found, at = list[int](), raw.find("\r\n")
    while at >= 0:
        found.append(at - len(found))
        at = raw.find("\r\n", at + 2)
    return found


def _newline_at(plain: str, pairs: list[int], at: int) -> str:
    """Return the line end of the line at a character; for the last line, of the line before."""
    end = plain.find("\n", at)
    end = plain.rfind("\n") if end < 0 else end
    n = bisect_left(pairs, end)
    return "\r\n" if pairs[n : n + 1] == [end] else "\n"


def _lines_of(edit: Patch) -> str:
    lines = [line for hunk in edit.hunks for line in hunk.new]
    ends = all(hunk.new_ends for hunk in edit.hunks)
    text = "".join(f"{line}\n" for line in lines)
    return text if ends else text.removesuffix("\n")


def _text_of(data: bytes | None) -> str | None:
    text = decode_text(data) if data is not None else None
    return text.text if text else None


def _diff(left: str, right: str, old: str | None, new: str | None) -> tuple[str, int, int]:
    """Return the unified diff and line counts between two texts; None: the file does not exist."""
    names = [
        f"{letter}/{escape_path(path)}" if path else "/dev/null"
        for letter, path in (("a", left), ("b", right))
    ]
    body, added, removed = list[str](), 0, 0
    for n, line in enumerate(unified_diff(_cut(old or ""), _cut(new or ""), names[0], names[1])):
        if n > 1:
            added += line.startswith("+")
            removed += line.startswith("-")
        body.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    if not body:
        body = [f"--- {names[0]}\n", f"+++ {names[1]}\n"]  # an empty file, line ends, permissions
    return "".join(body), added, removed


def _cut(text: str) -> list[str]:
    lines = text.split("\n")
    return [*(f"{line}\n" for line in lines[:-1]), *([lines[-1]] if lines[-1] else [])]


@lru_cache(maxsize=1)
def _omissions() -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    text = data_files("backscroll.workspace").joinpath("edits.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    return tuple(data["marks"]), tuple(data["dots"]), tuple(data["words"])


def _leaves_out(line: str) -> bool:
    marks, dots, words = _omissions()
    text = line.strip().lower()
    if not text.startswith(marks) or len(text) > 120 or not any(dot in text for dot in dots):
        return False
    return any(word in text for word in words)
