"""Parse unified diffs as programs and models write them.

Owns git's headers (new, deleted, renamed and copied files, modes, quoted names), hunks whose counts are wrong or missing, and
lines that lost the leading space. Line numbers are only hints: a hunk is placed by its content (`workspace/edits/match`).
Rejects binary patches.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from backscroll.errors import FormatError
from backscroll.workspace.edits.edit import Hunk, Patch

_HEAD = re.compile(r"^@@+(?: -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))?)?(?: @@+)?(.*)$")
_GIT = re.compile(r"^diff --git (.+)$")
_ESCAPES = {"n": 10, "t": 9, "r": 13, "a": 7, "b": 8, "f": 12, "v": 11, '"': 34, "\\": 92}
_MARKER = "\\ No newline"


def begins(lines: Sequence[str], at: int) -> bool:
    """Return True if a diff begins."""
    line = lines[at]
    if _GIT.match(line):
        return True
    return line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")


@dataclass(slots=True)
class _Header:
    """The header of one file's diff."""

    old: str = ""  # as written, with its prefix; /dev/null if there is none
    new: str = ""
    renamed: tuple[str, str] = ("", "")
    copied: bool = False
    created: bool = False
    deleted: bool = False
    executable: bool | None = None
    git: tuple[str, str] = ("", "")
    hunks: list[Hunk] = field(default_factory=list[Hunk])

    def patch(self, line: int) -> Patch:
        """Return the patch with this header."""
        old, new = _strip_prefixes(self.old or self.git[0], self.new or self.git[1])
        if any(self.renamed):
            old, new = self.renamed
        created = self.created or old == "/dev/null"
        deleted = self.deleted or new == "/dev/null"
        if created and deleted:
            raise FormatError(
                f"the diff at line {line} names no file", hint="--- and +++ name the file", line=line
            )
        path = new if created else old
        if not path:
            raise FormatError(
                f"the diff at line {line} names no file", hint="--- and +++ name the file", line=line
            )
        to = "" if created or deleted or new == old else new
        return Patch(path, tuple(self.hunks), to, created, deleted, self.copied, self.executable)


def read_diff(lines: Sequence[str], at: int, known: str = "") -> tuple[Patch, int]:
    """Return the diff of one file that begins at a line, and the line after it. `known`: the file, if no header names it."""
    begin, head = at, _Header()
    if lines[at].startswith("@@"):
        head.old = head.new = known
    while at < len(lines) and not lines[at].startswith("@@"):
        if at > begin and (_GIT.match(lines[at]) or (head.new and begins(lines, at))):
            break
        if not _header_line(lines[at], head, at):
            break
        at += 1
    while at < len(lines) and lines[at].startswith("@@"):
        hunk, at = _hunk(lines, at)
        if hunk.old != hunk.new or hunk.old_ends != hunk.new_ends:
            head.hunks.append(hunk)
        while at < len(lines) and not lines[at].strip() and _more(lines, at):
            at += 1  # an empty line between two hunks
    return head.patch(begin + 1), at


def _more(lines: Sequence[str], at: int) -> bool:
    following = next((line for line in lines[at:] if line.strip()), "")
    return following.startswith("@@")


def _header_line(line: str, head: _Header, at: int) -> bool:
    """Parse one header line; False if it is not one."""
    if match := _GIT.match(line):
        head.git = _git_names(match.group(1))
    elif line.startswith("--- "):
        head.old = _name(line[4:])
    elif line.startswith("+++ "):
        head.new = _name(line[4:])
    elif line.startswith(("rename from ", "copy from ")):
        head.renamed = (_name(line.split(" from ", 1)[1]), head.renamed[1])
        head.copied = line.startswith("copy")
    elif line.startswith(("rename to ", "copy to ")):
        head.renamed = (head.renamed[0], _name(line.split(" to ", 1)[1]))
    elif line.startswith("new file mode "):
        head.created, head.executable = True, line.rstrip().endswith("755")
    elif line.startswith("deleted file mode "):
        head.deleted = True
    elif line.startswith("new mode "):
        head.executable = line.rstrip().endswith("755")
    elif line.startswith(("GIT binary patch", "Binary files ")):
        raise FormatError(
            f"the diff at line {at + 1} is of a binary file", hint="only text can be patched", line=at + 1
        )
    else:
        return line.startswith(("index ", "old mode ", "similarity index ", "dissimilarity index "))
    return True


def _hunk(lines: Sequence[str], at: int) -> tuple[Hunk, int]:
    """Parse one hunk, by its counts or, if they are wrong, by the marks of its lines."""
    match = _HEAD.match(lines[at])
    assert match is not None
    first, many_old, _, many_new, near = match.groups()
    left = [_count(first, many_old), _count(first, many_new)]
    old, new = list[str](), list[str]()
    ends = [True, True]
    at += 1
    while at < len(lines):
        line = lines[at]
        if line.startswith(_MARKER) or line.strip() == "\\ No newline at end of file":
            _no_newline(lines[at - 1], ends)
            at += 1
            continue
        if _stops(lines, at, left):
            break
        mark, text = _split_sign(line)
        if mark in " -":
            old.append(text)
            left[0] -= 1
        if mark in " +":
            new.append(text)
            left[1] -= 1
        at += 1
    if left != [0, 0]:
        # The counts are wrong, so empty lines at the end belong to the text around the diff.
        while old and new and not lines[at - 1] and not old[-1] and not new[-1]:
            old.pop()
            new.pop()
            at -= 1
    start = int(first) if first else 0
    return Hunk(tuple(old), tuple(new), start, bool(first), ends[0], ends[1], near.strip()), at


def _count(first: str | None, many: str | None) -> int:
    return 0 if first is None else 1 if many is None else int(many)


def _stops(lines: Sequence[str], at: int, left: list[int]) -> bool:
    line = lines[at]
    wanted = left[0] > 0 or left[1] > 0
    if (_HEAD.match(line) and line.startswith("@@")) or _GIT.match(line):
        return True
    if line.startswith("--- ") and begins(lines, at):
        # A removed line that begins with two dashes looks the same: then lines are still due, and no hunk follows.
        return not wanted or any(later.startswith("@@") for later in lines[at + 2 : at + 3])
    if not line:
        # Editors and models strip the space of an empty context line.
        return not wanted and not _goes_on(lines, at)
    if line.rstrip() == "--" and not wanted:
        return True  # the signature under a diff that was sent by mail
    if line[0] in " +-":
        return False
    # A line of context may have lost its space; a sentence below the diff comes after an empty line.
    return line.startswith(("```", "~~~", "*** ")) or not (left[0] > 0 and left[1] > 0) or not lines[at - 1]


def _goes_on(lines: Sequence[str], at: int) -> bool:
    """Return True if marked lines follow an empty one, so that it is in the middle of the hunk."""
    following = next((line for line in lines[at:] if line), "")
    return following[:1] in ("+", "-", " ") and not following.startswith(("- ", "--- ", "+++ "))


def _split_sign(line: str) -> tuple[str, str]:
    if not line:
        return " ", ""
    return (line[0], line[1:]) if line[0] in " +-" else (" ", line)


def _no_newline(line: str, ends: list[bool]) -> None:
    if line.startswith("-") or not line.startswith("+"):
        ends[0] = False
    if line.startswith("+") or not line.startswith("-"):
        ends[1] = False


def _name(text: str) -> str:
    """Return the file name of a header, which may be quoted or followed by a tab and a time."""
    text = text.rstrip("\r")
    if text.startswith('"'):
        return _unquote_name(text)[0]
    return text.split("\t")[0].rstrip()


def _unquote_name(text: str) -> tuple[str, str]:
    """Unquote a name in git's quotes (bytes as octal escapes); return it and the text after it."""
    out, at = bytearray(), 1
    while at < len(text) and text[at] != '"':
        if text[at] != "\\":
            out += text[at].encode("utf-8", "surrogateescape")
            at += 1
        elif (octal := text[at + 1 : at + 4]).isdigit() and len(octal) == 3:
            out.append(int(octal, 8) & 255)
            at += 4
        else:
            out.append(_ESCAPES.get(text[at + 1 : at + 2], 63))
            at += 2
    return out.decode("utf-8", "surrogateescape"), text[at + 1 :]


def _git_names(text: str) -> tuple[str, str]:
    if text.startswith('"'):
        first, rest = _unquote_name(text)
        return first, _name(rest.strip())
    if " b/" in text and text.startswith("a/"):
        # Unquoted names may hold spaces: the two are the same except for the letter, or else a rename is named below.
        half = len(text) // 2
        if text[:half].removeprefix("a/") == text[half + 1 :].removeprefix("b/"):
            return text[:half], text[half + 1 :]
        first, _, second = text.partition(" b/")
        return first, f"b/{second}"
    first, _, second = text.partition(" ")
    return first, second


def _strip_prefixes(old: str, new: str) -> tuple[str, str]:
    """Strip git's `a/` and `b/` prefixes if both sides have theirs."""
    pairs = (("a/", "b/"), ("i/", "w/"), ("c/", "i/"), ("c/", "w/"), ("o/", "w/"))
    for left, right in pairs:
        if (old.startswith(left) or old == "/dev/null") and (new.startswith(right) or new == "/dev/null"):
            cut_old = old if old == "/dev/null" else old[2:]
            return cut_old, new if new == "/dev/null" else new[2:]
    return old, new
