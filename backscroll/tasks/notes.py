"""Notes: findings of the rules before they become memories, and the few fixed words that they need.

Owns the nouns, the ids of memories and how quotations are cut. The words are data (`memory_words.toml`), in the language of the task.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import cast

from backscroll.derive.digest import Digest
from backscroll.derive.essence.tool_calls import command_name
from backscroll.vocab.ids import Ref
from backscroll.vocab.task import MemoryKind
from backscroll.vocab.values.pattern import late

LONGEST = 280  # characters of a quotation
#: Replaces text about messages that were changed or deleted since.
WITHHELD = "withheld: messages that this speaks of were changed since"
_ID = 5  # bytes of the id of a memory
_CALL = 90  # characters of a call
_SPACE = late(r"\s+")
_ODD = late(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
#: A call that the user refused: that is not a failure of the call.
_DECLINED = late(
    r"(?i)user (?:doesn't|does not|didn't|did not) want to (?:proceed|take)|(?:rejected|denied|declined|cancell?ed|interrupted) by (?:the )?user"
    r"|用户(?:拒绝|取消|中断)"
)
_QUIET = frozenset({"grep", "rg", "egrep", "diff", "test", "cmp", "which", "pgrep", "ls", "find"})


@dataclass(frozen=True, slots=True)
class MemoryNote:
    """A finding worth remembering, and its sources."""

    kind: MemoryKind
    text: str
    messages: tuple[
        Ref, ...
    ]  # the messages (or events of the task) that state it: the id is derived from these
    sources: tuple[Ref, ...]  # their revisions
    at: str = ""
    confidence: float = 0.8
    path: str = ""  # the file that it concerns
    sort: str = ""  # the rule that found it: notes of one rule are counted separately


@dataclass(frozen=True, slots=True)
class FileChangeNote:
    """A change to a file that was logged beside the messages."""

    path: str
    description: str
    source: Ref  # the event
    at: str


def memory_id(kind: str, home: str, sources: Iterable[Ref], number: int = 0) -> str:
    """Return the id of a memory: a hash of its kind, its task, the messages it rests on, and its number among those that share all three."""
    names = ",".join(str(source) for source in sources)
    return hashlib.sha256(f"{kind}\n{home}\n{names}\n{number}".encode()).hexdigest()[: 2 * _ID]


def quote_text(text: str, limit: int = LONGEST) -> str:
    """Return a text on one line, cut in the middle if it is long."""
    line = _SPACE.sub(" ", _ODD.sub("", text)).strip()
    if len(line) <= limit:
        return line
    return f"{line[: limit * 3 // 4].rstrip()} … {line[-limit // 5 :].lstrip()}"


@cache
def _tables() -> Mapping[str, Mapping[str, str]]:
    raw = resources.files("backscroll.tasks").joinpath("memory_words.toml").read_text(encoding="utf-8")
    return cast("Mapping[str, Mapping[str, str]]", tomllib.loads(raw))


def words_of(language: str) -> Mapping[str, str]:
    """Return the fixed words, in a language."""
    return _tables()["zh" if language.startswith("zh") else "en"]


def aim(digest: Digest) -> str:
    """Return the target of a call: a later call with the same target is another try at the same thing."""
    if digest.kind == "command":
        return f"{digest.tool_name}|{command_name(digest.target)}"
    return f"{digest.tool_name}|{digest.target}"


def has_failed(digest: Digest) -> bool:
    """Return True if a call failed; a negative answer of a program or the user does not count."""
    if digest.result is None or not (digest.is_error or digest.exit_code):
        return False
    if digest.kind == "search" or _DECLINED.search(digest.summary):
        return False
    program = command_name(digest.target).split(" ")[0] if digest.kind == "command" else ""
    return not (program in _QUIET and digest.exit_code == 1)


def has_succeeded(digest: Digest) -> bool:
    """Return True if a call has a result and did not fail."""
    return digest.result is not None and not digest.is_error and not digest.exit_code


def describe_call(digest: Digest) -> str:
    """Return a short description of a call: the action and its target."""
    target = digest.target if digest.kind != "command" else digest.target.split("\n")[0]
    return quote_text(f"{digest.tool_name} {target}".strip(), _CALL)
