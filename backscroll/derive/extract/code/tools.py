"""Assertions from tool calls: files read and changed, packages, commands with their outcomes, errors that appeared and were fixed.

Owns reading calls and their outcomes, never the words of a result: a tool's output may hold anything. Of a failed command
only the name of the error, its message and its location are taken; an error is open until the same command succeeds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from backscroll.derive.digest import Digest, digests_of
from backscroll.derive.digests.calls import CallDetails, parse_call, plain_name, scalars
from backscroll.derive.digests.console import totals_line
from backscroll.derive.digests.cues import table as tools
from backscroll.derive.digests.results import ResultDetails, parse_result
from backscroll.derive.digests.trouble import has_error_line
from backscroll.derive.essence.tool_calls import command_name
from backscroll.derive.extract.code.errors import ErrorMention, trouble_in
from backscroll.derive.extract.code.shell import files_of, is_telling, packages_of, pieces
from backscroll.derive.extract.code.source import defined_by, packages_in
from backscroll.derive.extract.code.words import StatementPlace, shape, words
from backscroll.derive.extract.tuning import FILE_READ
from backscroll.vocab.assertion import Assertion
from backscroll.vocab.message import Message
from backscroll.vocab.part import Json, ToolCall, ToolResult

_PATCHED = re.compile(r"^\*\*\* (?P<verb>Add|Update|Delete) File: (?P<path>.+)$", re.MULTILINE)
_MOVED = re.compile(r"^\*\*\* Move to: (?P<path>.+)$", re.MULTILINE)
_VERBS = {"Add": "created", "Update": "edited", "Delete": "deleted"}
_DEFINED = 6  # names taken from one file
_BROUGHT = 8  # packages taken from one file
_LONGEST = 260  # characters of a path or a command
_NEW_TEXT = tuple(
    "content contents file_text new_string new_str code_edit replacement_text text new_source".split()
)
_LAST = 15  # lines in which a program reports why it ended
_COUNTED = re.compile(r"\b(?:0|no) (?:\w+ )?(?:errors?|failures?|failed|issues?|problems?)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """One call with its outcome."""

    call: ToolCall
    wanted: CallDetails
    digest: Digest
    message: Message
    answer: Message | None
    result: ResultDetails | None

    @property
    def failed(self) -> bool:
        """True if the call failed."""
        return self.digest.is_error or bool(self.digest.exit_code)

    def spot(self, quote: str) -> StatementPlace:
        """Return the location of a statement in the call."""
        return StatementPlace(
            quote, self.message.revision, (self.message.author or "").strip() or self.message.role
        )

    def told_at(self, quote: str) -> StatementPlace:
        """Return the location of a statement in the answer."""
        home = self.answer or self.message
        return StatementPlace(quote, home.revision, self.digest.tool_name)


@dataclass(slots=True)
class _OpenError:
    """An error that is still open."""

    trouble: ErrorMention
    changed: list[str] = field(default_factory=list[str])  # files changed since


def acts_of(messages: Sequence[Message]) -> list[CallOutcome]:
    """Return the calls of a turn in order, each with its result."""
    homes = {m.id: m for m in messages}
    results: dict[tuple[object, str], ToolResult] = {}
    calls: dict[tuple[object, str], ToolCall] = {}
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolResult):
                results.setdefault((message.id, part.call_id), part)
            elif isinstance(part, ToolCall):
                calls.setdefault((message.id, part.id), part)
    out: list[CallOutcome] = []
    for digest in digests_of(messages):
        call = calls.get((digest.call, digest.call_id))
        if call is None:
            continue  # a result without a call
        answer = None if digest.result is None else homes.get(digest.result)
        result = None if answer is None else results.get((answer.id, digest.call_id))
        wanted = parse_call(call.name, call.arguments)
        heard = None if result is None else parse_result(result)
        out.append(CallOutcome(call, wanted, digest, homes[digest.call], answer, heard))
    return out


def read_acts(acts: Sequence[CallOutcome]) -> Iterator[Assertion]:
    """Yield the assertions that the calls of a turn support, in order."""
    waiting: dict[str, _OpenError] = {}  # errors by the command that reported them
    for act in acts:
        kind = "edit" if _patch(act) else act.wanted.kind  # Codex passes patches through its shell
        if kind in ("write", "edit") and not act.failed:
            for claim in _read_changed_files(act):
                yield claim
                if claim.predicate == "changed":
                    for one in waiting.values():
                        one.changed.append(claim.object)
        elif kind == "read" and not act.failed:
            for path in paths_of(act.wanted)[:3]:
                yield act.spot(path).node(path, "file", FILE_READ)
        elif kind == "command":
            yield from _command(act, waiting)


def paths_of(wanted: CallDetails) -> list[str]:
    """Return the files that a call names in its arguments, each once, in full."""
    out: list[str] = []
    for key in cast("list[str]", tools("tools")["arguments"]["path"]):
        value = wanted.arguments.get(key)
        items = cast("list[Json]", value) if isinstance(value, list) else [value]
        for item in items:
            inner: Json = cast("Mapping[str, Json]", item).get("path") if isinstance(item, Mapping) else item
            if isinstance(inner, str) and _is_path(inner):
                out.append(inner.strip())
        if out:
            break
    return list(dict.fromkeys(out))


def _is_path(text: str) -> bool:
    """Return True for a one-line path that is not temporary."""
    fits = 0 < len(text.strip()) <= _LONGEST and "\n" not in text and any(c.isalnum() for c in text)
    return fits and not shape("changes", "temporary").search(text.strip())


# -- files -------------------------------------------------------------------------------------------------------


def _read_changed_files(act: CallOutcome) -> Iterator[Assertion]:
    """Yield files that a call wrote, edited, moved or deleted, and what the new code defines and imports."""
    patch = _patch(act)
    rows = list(_PATCHED.finditer(patch)) if patch else []
    for n, row in enumerate(rows):
        stop = rows[n + 1].start() if n + 1 < len(rows) else len(patch)
        body = patch[row.end() : stop]
        path = row["path"].strip()
        moved = _MOVED.search(body)
        yield from _file(act, path, _VERBS[row["verb"]], moved["path"].strip() if moved else "")
        added = "\n".join(line[1:] for line in body.split("\n") if line.startswith("+"))
        yield from _code(act, path, added)
    if rows:
        return
    how = _how(act)
    paths = paths_of(act.wanted)
    if how == "moved" and len(paths) == 1:
        target = act.wanted.arguments.get("destination") or act.wanted.arguments.get("new_path")
        yield from _file(act, paths[0], how, target if isinstance(target, str) else "")
        return
    for path in paths[:8]:
        yield from _file(act, path, how)
        for text in _new_texts(act.wanted.arguments):
            yield from _code(act, path, text)


def _patch(act: CallOutcome) -> str:
    """Return the patch in a call; empty if there is none."""
    texts = [act.wanted.raw, *scalars(dict(act.wanted.arguments))]
    return next((text for text in texts if "*** " in text and _PATCHED.search(text)), "")


def _how(act: CallOutcome) -> str:
    """Return what a call did to a file."""
    verb = next(
        (act.wanted.arguments[k] for k in ("command", "action", "operation") if k in act.wanted.arguments), ""
    )
    parts = {*plain_name(act.call.name).split("_"), verb if isinstance(verb, str) else ""}
    for how in ("deleted", "moved", "created"):
        if parts & words("changes", how):
            return how
    if act.wanted.kind == "write":
        new = act.result is not None and shape("changes", "new").search(act.result.text[:400])
        return "created" if new else "written"
    return "edited"


def _file(act: CallOutcome, path: str, how: str, target: str = "") -> Iterator[Assertion]:
    spot = act.spot(path)
    yield spot.relation(spot.speaker, "", "changed", path, "file", 0.95)
    yield spot.attribute(path, "file", "status", how, 0.95)
    if how == "moved" and target:
        yield act.spot(target).relation(target, "file", "replaces", path, "file", 0.95)


def _new_texts(arguments: Mapping[str, Json]) -> Iterator[str]:
    for key in _NEW_TEXT:
        value = arguments.get(key)
        if isinstance(value, str):
            yield value
    edits = arguments.get("edits")
    if isinstance(edits, list):
        for edit in cast("list[Json]", edits)[:20]:
            if isinstance(edit, Mapping):
                yield from _new_texts(cast("Mapping[str, Json]", edit))


def _code(act: CallOutcome, path: str, code: str) -> Iterator[Assertion]:
    for made in defined_by(path, code)[:_DEFINED]:
        spot = act.spot(made.line)
        yield spot.relation(made.name, "function", "defined_in", path, "file", 0.9)
        if made.kind == "class":
            yield spot.attribute(made.name, "function", "kind", "class", 0.9)
    for number, (name, line) in enumerate(packages_in(path, code)):
        if number == _BROUGHT:
            break
        yield act.spot(line).relation(path, "file", "depends_on", name, "package", 0.85)


# -- commands ----------------------------------------------------------------------------------------------------


def _command(act: CallOutcome, waiting: dict[str, _OpenError]) -> Iterator[Assertion]:
    command = _line(act)
    if not command:
        return
    if not act.failed:
        yield from _shell(act, command)
    names = _list_programs(command)
    if not names or act.result is None:
        return
    name = names[-1]  # of several consecutive commands, only the last one's outcome is known
    trouble = _trouble(act, name)
    failed = act.failed or trouble is not None or _gave_up(act)
    if not (is_telling(name) or name in waiting or trouble is not None):
        return
    spot = act.spot(command[:_LONGEST])
    yield spot.attribute(name, "command", "outcome", _outcome(act, failed=failed), 0.95)
    if failed:
        yield from _failure(act, name, trouble, waiting)
        return
    for one in names:
        if is_telling(one) or one in waiting:
            yield from _success(one, spot, waiting)


def _gave_up(act: CallOutcome) -> bool:
    """Return True if the exit status is unknown and the last lines report a failure."""
    if act.result is None or act.digest.exit_code is not None:
        return False
    last = act.result.said[-_LAST:]
    told = [line for line in last if not _COUNTED.search(line)]
    return has_error_line(act.result) or bool(shape("commands", "gave_up").search("\n".join(told)))


def _list_programs(command: str) -> list[str]:
    """Return the programs run, in order, under names that two runs share; only the telling ones if there are any."""
    out: list[str] = []
    for said in pieces(command):
        name = command_name(" ".join(said))
        program = name.split(" ", maxsplit=1)[0]
        if name:
            out.append(program if program in words("commands", "whole") else name)
    telling = [name for name in out if is_telling(name)]
    return list(dict.fromkeys(telling)) or out[:1]


def _trouble(act: CallOutcome, name: str) -> ErrorMention | None:
    """Return the error that a program reported: if it failed, or if its exit is unknown and its last lines show one."""
    program = name.split(" ", maxsplit=1)[0]
    if act.result is None or not (is_telling(name) or program in words("commands", "scripts")):
        return None
    if act.failed:
        return trouble_in(act.result.text)
    if act.digest.exit_code == 0:
        return None
    trouble = trouble_in("\n".join(act.result.said[-_LAST:]))
    return trouble if trouble is not None and trouble.message else None


def _line(act: CallOutcome) -> str:
    """Return the command line as written in the call."""
    for key in cast("list[str]", tools("tools")["arguments"]["command"]):
        value = act.wanted.arguments.get(key)
        if isinstance(value, list):
            texts = [v for v in cast("list[Json]", value) if isinstance(v, str)]
            return (
                texts[-1].strip() if len(texts) > 2 and texts[1].startswith("-") else " ".join(texts).strip()
            )
        if isinstance(value, str) and value.strip():
            return value.strip()
    return act.wanted.raw.strip()


def _shell(act: CallOutcome, command: str) -> Iterator[Assertion]:
    unsure = act.digest.exit_code is None and act.result is not None
    refused = unsure and shape("commands", "refused").search(act.result.text[-4_000:] if act.result else "")
    for package in () if refused else packages_of(command):
        spot = act.spot(package.name)
        status = "removed" if package.removed else "installed"
        yield spot.attribute(package.name, "package", "status", status, 0.95)
        if package.version and not package.removed:
            yield spot.attribute(package.name, "package", "version", package.version, 0.95)
    for how, path, target in files_of(command):
        if not _is_path(path):
            continue
        yield from _file(act, path, how, target)


def _outcome(act: CallOutcome, *, failed: bool) -> str:
    heard = act.result
    totals = totals_line(heard)[:120] if heard is not None else ""
    if totals and shape("commands", "totals").search(totals):
        return totals
    code = act.digest.exit_code
    return "succeeded" if not failed else f"failed (exit {code})" if code else "failed"


def _failure(
    act: CallOutcome, name: str, trouble: ErrorMention | None, waiting: dict[str, _OpenError]
) -> Iterator[Assertion]:
    if trouble is None:
        return
    spot = act.told_at(trouble.line)
    before = waiting.get(name)
    if before is not None and before.trouble.name != trouble.name:
        yield from _close_error(before, spot)
    yield spot.attribute(trouble.name, "error", "status", "open", 0.9)
    if trouble.message:
        yield spot.attribute(trouble.name, "error", "message", trouble.message, 0.9)
    yield spot.relation(name, "command", "has_error", trouble.name, "error", 0.9)
    if trouble.place:
        yield spot.relation(trouble.name, "error", "occurs_in", trouble.place, "file", 0.85)
    waiting[name] = _OpenError(trouble)


def _success(name: str, spot: StatementPlace, waiting: dict[str, _OpenError]) -> Iterator[Assertion]:
    before = waiting.pop(name, None)
    if before is not None:
        yield from _close_error(before, spot)
    # Errors of earlier turns are fixed too; the fold determines which.
    yield spot.end(name, "command", "has_error", "", 0.9)


def _close_error(before: _OpenError, spot: StatementPlace) -> Iterator[Assertion]:
    trouble = before.trouble
    yield spot.attribute(trouble.name, "error", "status", "fixed", 0.85)
    if trouble.place:
        yield spot.end(trouble.name, "error", "occurs_in", trouble.place, 0.85)
    if before.changed:
        yield spot.relation(trouble.name, "error", "fixed_by", before.changed[-1], "file", 0.6)
