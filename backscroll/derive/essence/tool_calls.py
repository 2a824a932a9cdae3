"""Essentials of tool calls: files, ids, to-do lists, and errors until the same tool succeeds at the same target.

Owns what two runs of a command have in common, and how an essential is cut and named.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import cast

from backscroll.derive.digest import Digest
from backscroll.derive.digests.calls import CallDetails, parse_call, scalars
from backscroll.derive.essence.clusters import pieces
from backscroll.derive.essence.cues import box_text, ids_in, mark_sentences, paths_in
from backscroll.derive.essence.essentials import LONGEST_NAME, Close, Essential, EssentialKind, Mark
from backscroll.derive.essence.tuning import CALL_ID_WEIGHT, CALL_PATH_WEIGHTS, LIST_WEIGHT
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import Json, ToolCall
from backscroll.vocab.values.pattern import late

LONGEST = 320  # characters of an essential; longer sentences are cut in the middle
WIDE = 400_000  # characters of one message that are read; the rest of a dump is data
_QUIET = frozenset({"grep", "rg", "egrep", "diff", "test", "cmp", "which", "pgrep"})  # failing means "no"
_SCRIPTS = frozenset(
    {"python", "python3", "node", "bash", "sh", "ruby", "perl", "java", "uv", "npx", "deno", "bun", "php"}
)
_RUN = frozenset({"run", "exec", "x"})
_TITLES = ("content", "step", "title", "description", "text", "task", "name", "subject")
_FINISHED = frozenset(
    ("completed complete done finished cancelled canceled skipped closed 已完成 完成").split()
)
_ID_KEY = late(r"(?:^|_|[a-z])(?:ids?|Ids?|ID|number|email|sha|hash|uuid|code|ticket|order|account)$")


def read_call(message: Message, call: ToolCall) -> Iterator[Mark]:
    """Yield the files, ids and to-dos that a call names."""
    wanted = parse_call(call.name, call.arguments)
    yield from _list(message, wanted)
    weight = CALL_PATH_WEIGHTS.get(wanted.kind)
    if weight is not None:
        source = (
            wanted.target
            if wanted.kind in ("read", "edit", "write")
            else "\n".join(scalars(dict(wanted.arguments)))[:4000]
        )
        found = paths_in(source)
        if wanted.kind in ("read", "edit", "write") and source and not found and " " not in source:
            found = (
                [source] if any(c.isalpha() for c in source) else []
            )  # a name without slash or suffix, or in another script
        for path in [p for p in found if len(p) <= LONGEST_NAME and not p.startswith("/dev/")][:6]:
            yield Essential(EssentialKind.PATH, path, message.revision, message.id, "path", path, weight)
    elif wanted.kind in ("other", "web", "task"):
        for name in list(dict.fromkeys(n for n in _ids(wanted) if len(n) <= LONGEST_NAME))[:12]:
            yield Essential(EssentialKind.ID, name, message.revision, message.id, "id", name, CALL_ID_WEIGHT)


def _ids(wanted: CallDetails) -> Iterator[str]:
    for key, value in wanted.arguments.items():
        for text in scalars(value):
            if len(text) <= 80 and _ID_KEY.search(key) and text.strip() and "\n" not in text:
                yield text.strip()
            elif len(text) <= 400:
                yield from ids_in(text)


def _list(message: Message, wanted: CallDetails) -> Iterator[Mark]:
    """Yield a list of to-dos kept by a tool; the latest one wins."""
    items = next((v for v in wanted.arguments.values() if _is_list(v)), None)
    progress = wanted.arguments.get("task_progress")
    if wanted.kind != "todo" and items is None and not isinstance(progress, str):
        return
    rows: list[tuple[str, bool]] = []
    if items is not None:
        rows = [(_title(row), _is_finished(row)) for row in cast("list[Mapping[str, Json]]", items)]
    else:
        text = progress if isinstance(progress, str) else "\n".join(scalars(dict(wanted.arguments)))
        rows = [
            (box_text(p.text), "ticked" in p.cues)
            for p in mark_sentences(text[:WIDE])
            if p.cues & {"box", "ticked"}
        ]
    if not rows and wanted.kind != "todo":
        return
    if wanted.arguments.get("merge") is not True and (rows or items is not None):
        yield Close("todo/list")
    for what, finished in rows:
        if finished:
            yield Close("todo/list", name_essential(what))
        elif what:
            yield make_essential(EssentialKind.TODO, what, message, "todo/list", LIST_WEIGHT)


def _is_list(value: Json) -> bool:
    if not isinstance(value, list) or not value:
        return False
    rows = cast("list[Json]", value)
    return all(
        isinstance(row, dict) and "status" in row and _title(cast("Mapping[str, Json]", row)) for row in rows
    )


def _title(row: Mapping[str, Json]) -> str:
    return next((str(row[k]).strip() for k in _TITLES if isinstance(row.get(k), str) and row[k].strip()), "")


def _is_finished(row: Mapping[str, Json]) -> bool:
    return str(row.get("status", "")).strip().lower().replace("-", "_") in _FINISHED


def read_outcome(digest: Digest, revision: Ref) -> Iterator[Mark]:
    """Yield the error of a failed call, or the close of one that succeeded."""
    name = f"{digest.tool_name}|{_aim(digest)}"
    failed = digest.is_error or bool(digest.exit_code)
    if not failed:
        yield Close("error/tool", name)
        return
    if digest.kind == "search" or (digest.exit_code == 1 and _program(digest.target) in _QUIET):
        return
    text = (
        f"{digest.tool_name} {digest.target}: {digest.summary}"
        if digest.target
        else f"{digest.tool_name}: {digest.summary}"
    )
    home = digest.result or digest.call
    yield Essential(EssentialKind.ERROR, shorten(text), revision, home, "error/tool", name, 1.0)


def _aim(digest: Digest) -> str:
    """Return the target of a call, so that a later success with the same target is recognised."""
    if digest.kind == "command":
        return command_name(digest.target)
    return digest.target if digest.kind in ("read", "write", "edit", "list", "web") else ""


def _program(command: str) -> str:
    return command_name(command).split(" ")[0]


def command_name(command: str) -> str:
    """Return a command without path, settings and options: what two runs of it have in common."""
    last = re.split(r"&&|;|\|\||\n", command.strip())
    parts = [
        p.strip()
        for p in last
        if p.strip() and not re.match(r"\s*(?:cd|export|source|set|echo)\b", p.strip())
    ]
    words = (parts[0] if parts else command).split("|")[0].split()
    while words and ("=" in words[0] or words[0] in ("sudo", "time", "env", "timeout")) and len(words) > 1:
        words = words[1:]
    if not words:
        return ""
    program = words[0].rsplit("/", 1)[-1]
    rest = words[1:]
    if program in _SCRIPTS and rest[:1] == ["-m"] and len(rest) > 1:
        return rest[1]
    plain = [w for w in rest if not w.startswith("-")]
    if program in _SCRIPTS:
        if plain and plain[0] in _RUN and len(plain) > 1:
            return command_name(" ".join(plain[1:]))
        return f"{program} {plain[0]}" if plain else program
    named = [w for w in plain[:2] if re.fullmatch(r"[a-z][a-z0-9:_-]*", w)]
    if not named or named[0] != (plain[0] if plain else ""):
        return program
    return " ".join([program, *(named if named[0] in _RUN else named[:1])])


def make_essential(
    kind: EssentialKind, text: str, message: Message, group: str, weight: float, *, name: str = ""
) -> Essential:
    """Return an essential of a message, cut to its limit; its name is derived from the text if none is given."""
    return Essential(
        kind, shorten(text), message.revision, message.id, group, name or name_essential(text), weight
    )


def shorten(text: str) -> str:
    """Cut a text in the middle to the limit of an essential."""
    text = text.strip()
    if len(text) <= LONGEST:
        return text
    return text[: LONGEST * 3 // 4].rstrip() + " … " + text[-LONGEST // 4 :].lstrip()


def name_essential(text: str) -> str:
    """Return the name of a to-do (constraint, …) regardless of spelling: a hash of its distinctive words."""
    words = " ".join(sorted(pieces(text))) or text.strip()
    return hashlib.blake2s(words.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
