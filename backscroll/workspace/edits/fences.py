"""Parse whole files in fenced blocks, and the file names that models write around them.

Owns which line names a file and where a fenced block ends. A block is a file only if a name is alone on the line before it,
in its opening line, or in a first line such as `# file: a.py`: a path inside a sentence is not a name. Blocks without a name
are examples.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from backscroll.errors import FormatError
from backscroll.workspace.edits.edit import WholeFile

FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*([^`\n]*)$")
_LABEL = re.compile(
    r"^(?:new |the )?(?:file ?name|file ?path|file|path|文件名|文件路径|文件|路径|新建文件|创建文件|修改文件)\s*[:：]\s*",
    re.IGNORECASE,
)
_LABELLED = re.compile(
    r"^\s*(?:#|//|--|;|%|/\*|<!--)\s*(?:file ?name|file ?path|file|path|文件|路径)\s*[:：]\s*(?P<name>.+?)\s*(?:\*/|-->)?\s*$",
    re.IGNORECASE,
)
_KEYED = re.compile(r"""(?:^|\s)(?:title|file|filename|path)=(?:"([^"]+)"|'([^']+)'|(\S+))""", re.IGNORECASE)
_PLAIN = re.compile(r"^[^\s`'\"<>|]+$")
_BARE = {
    "makefile",
    "dockerfile",
    "license",
    "readme",
    "procfile",
    "gemfile",
    "rakefile",
    "justfile",
    "containerfile",
    "vagrantfile",
    "jenkinsfile",
    "codeowners",
    "changelog",
}
_ENDING = re.compile(r"\.[^\W_][\w-]{0,15}$")


def name_in(line: str, *, info: bool = False) -> str:
    """Return the file name on a line that contains nothing else; `info`: the line is the info string of a block."""
    if info:
        return _name_in_info(line.strip())
    text = line.strip().lstrip("#>").strip()
    text = re.sub(r"^(?:[-*+]|\d+[.)])\s+", "", text)
    text = text.rstrip(":：").strip()
    text = _strip_marks(_LABEL.sub("", _strip_marks(text)).strip())
    # Only a fully quoted name may contain spaces; otherwise a sentence could pass for one.
    quoted = text != line.strip().rstrip(":：").strip() and "`" in line and line.count("`") == 2
    if not text or (not quoted and not _PLAIN.match(text)):
        return ""
    return text if _is_name(text) else ""


def _name_in_info(text: str) -> str:
    if keyed := _KEYED.search(text):
        return next(group for group in keyed.groups() if group)
    language, colon, rest = text.partition(":")
    if colon and rest and " " not in language and _is_name(rest.strip()):
        return rest.strip()
    for word in text.split():
        if _is_name(word) and ("/" in word or _ENDING.search(word)):
            return word
    return ""


def _strip_marks(text: str) -> str:
    while len(text) > 2 and text[0] == text[-1] and text[0] in "`*_\"'":
        text = text[1:-1].strip().rstrip(":：").strip()
    return text


def _is_name(text: str) -> bool:
    if "://" in text or text.endswith(("/", ".", "。")) or "\0" in text:
        return False
    last = text.rsplit("/", 1)[-1]
    if last.lower() in _BARE or (last.startswith(".") and len(last) > 1):
        return True
    return "/" in text or bool(_ENDING.search(last))


def closing(lines: Sequence[str], at: int, *, nests: bool = False) -> int | None:
    """Return the line that closes the block opened at a line. `nests`: blocks with a language inside it are skipped (Markdown)."""
    match = FENCE.match(lines[at])
    assert match is not None
    mark = match.group(1)
    depth = 0
    for n in range(at + 1, len(lines)):
        inner = FENCE.match(lines[n])
        if inner is None or inner.group(1)[0] != mark[0] or len(inner.group(1)) < len(mark):
            continue
        if inner.group(2).strip():
            depth += nests
        elif depth:
            depth -= 1
        else:
            return n
    return None


def read_file(lines: Sequence[str], at: int) -> tuple[WholeFile | None, int]:
    """Return the file in the block that opens at a line, and the line after it; no file if the block has no name."""
    match = FENCE.match(lines[at])
    assert match is not None
    name = _name_in_info(match.group(2).strip()) or (name_in(lines[at - 1]) if at else "")
    if not name and at > 1 and not lines[at - 1].strip():
        name = name_in(lines[at - 2])
    labelled = _LABELLED.match(lines[at + 1]) if at + 1 < len(lines) else None
    skipped = 0
    if not name and labelled and _is_name(_strip_marks(labelled.group("name"))):
        name, skipped = _strip_marks(labelled.group("name")), 1
    end = closing(lines, at, nests=name.lower().endswith((".md", ".markdown", ".mdx", ".rst")))
    if end is None:
        if name:
            raise FormatError(
                f"the block with {name} at line {at + 1} has no end",
                hint="close it with the same marker; it may have been truncated",
                line=at + 1,
            )
        return None, at + 1
    if not name:
        return None, end + 1
    body = lines[at + 1 + skipped : end]
    return WholeFile(name, "".join(f"{line}\n" for line in body)), end + 1
