"""Codex rollouts (`~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`), the older bare lines, and the oldest JSON documents.

Owns: the reader. Items that a model sees are messages (`codex/item`); everything else (session_meta, turn_context, event_msg,
which repeats messages for display, compacted, ...) is kept verbatim as an aside. Turns that were rolled back stay in place,
hidden, because the rollback line counts them. Rollbacks are not replayed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from backscroll.errors import FormatError
from backscroll.formats.codex.item import (
    VENDOR,
    CodexMessage,
    is_item,
    is_machine,
    opens_turn,
    put_back,
    said_in,
    taken_out,
)
from backscroll.formats.codex.writer import write
from backscroll.formats.losses import quiet
from backscroll.formats.shape import Format, Source
from backscroll.formats.sources.json_text import dumps
from backscroll.formats.sources.lines import SourceLines, lines_of
from backscroll.formats.sources.media import no_blobs
from backscroll.formats.sources.rows import (
    UNKNOWN,
    as_array,
    as_object,
    as_text,
    keep_line,
    parse_row,
    same,
    short_title,
    stem,
    time_of,
)
from backscroll.vocab.foreign import Aside, ForeignMessage, ForeignThread, Item, Problem
from backscroll.vocab.message import Content
from backscroll.vocab.part import Json, Text

_ENVELOPES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state")
_SESSION = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_CWD = re.compile(r"<cwd>(.*?)</cwd>|Current working directory: (.+)")
_REQUEST = "## My request for Codex:"
_LOOKED_AT = 30


# -- recognising -----------------------------------------------------------------------------------------------


def _sniff(source: Source) -> float:
    if source.is_folder:
        return 0.0
    head = source.head()
    if not head.lstrip().startswith("{"):
        return 0.0
    parsed = (parse_row(0, line) for line in head.split("\n")[:_LOOKED_AT])
    rows = [row for row in parsed if not isinstance(row, Problem)]
    best = max(map(_looks, rows), default=0.0)
    if best:
        return best
    if re.match(r'\s*\{\s*"session"\s*:\s*\{', head) and '"items"' in head:
        return 0.8
    first = head.lstrip().split("\n", 1)[0]
    enveloped = '"payload"' in first and re.search(r'"type"\s*:\s*"(?:session_meta|response_item)"', first)
    return 0.8 if enveloped else 0.0  # a first line longer than the head: base instructions can be


def _looks(row: Mapping[str, Json]) -> float:
    kind = row.get("type")
    if as_object(row.get("payload")) is not None:
        return 0.97 if kind in _ENVELOPES else 0.0
    if row.get("record_type") == "state":
        return 0.9
    items = [as_object(item) or {} for item in as_array(row.get("content")) or []]
    if kind == "message" and any(item.get("type") in ("input_text", "output_text") for item in items):
        return 0.8
    if kind in ("function_call", "function_call_output", "local_shell_call", "reasoning") and is_item(row):
        return 0.8
    return 0.7 if kind is None and {"id", "timestamp", "instructions"} <= set(row) else 0.0


# -- reading ---------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _CodexOutline:
    """The findings of one pass over the file."""

    session: str = ""
    title: str = ""
    project: str = ""
    started: str | None = None
    forked_from: str | None = None
    parent: str = ""
    bare: bool = True
    rows: int = 0
    turns: list[int] = field(default_factory=list[int])  # lines of the requests that still count
    gone: list[tuple[int, int]] = field(
        default_factory=list[tuple[int, int]]
    )  # first line, line after the last

    def is_gone(self, number: int) -> bool:
        """Return True for lines that were rolled back."""
        return any(first <= number < end for first, end in self.gone)


def _read(source: Source) -> Iterable[ForeignThread]:
    if source.is_folder:
        raise FormatError(f"{source.name} is a folder", hint="import its .jsonl files one by one")
    lines = lines_of(source, "items")
    plan = _CodexOutline()
    header = as_object((lines.rest or {}).get("session"))
    if header is not None:
        _note_session(plan, header)
    for number, line in lines:
        row = parse_row(number, line)
        if not isinstance(row, Problem):
            _note(plan, number, row)
    if not plan.rows and header is None:
        raise FormatError(f"{source.name} holds no line of a Codex rollout", hint="is it the right format?")
    return [_thread(source, lines, plan, header)]


def _thread(
    source: Source, lines: SourceLines, plan: _CodexOutline, header: dict[str, Json] | None
) -> ForeignThread:
    named = _SESSION.search(source.name)
    session = plan.session or (named[0] if named else stem(source.name))
    facts: dict[str, Json] = {"session": session, "title": plan.title, "bare": plan.bare}
    facts |= {"parent": plan.parent} if plan.parent else {}
    return ForeignThread(
        VENDOR,
        session,
        _items(lines, plan, header),
        title=plan.title,
        project=plan.project,
        kind="agent",
        started=plan.started,
        metadata={VENDOR: facts},
        forked_from=plan.forked_from,
    )


def _payload(row: dict[str, Json]) -> dict[str, Json] | None:
    """Return the item on a line, in an envelope or bare; None for every other line."""
    if "payload" not in row:
        return row if is_item(row) else None
    payload = as_object(row["payload"])
    return (
        payload if row.get("type") == "response_item" and payload is not None and is_item(payload) else None
    )


def _note(plan: _CodexOutline, number: int, row: dict[str, Json]) -> None:
    kind, inner = row.get("type"), as_object(row.get("payload"))
    plan.rows += isinstance(kind, str) or _is_header(row)
    plan.bare = plan.bare and inner is None
    item = _payload(row)
    said = said_in(item) if item is not None else None
    if said is not None:
        _note_words(plan, number, said)
    elif inner is None:
        if _is_header(row):
            _note_session(plan, row)
    elif kind == "session_meta":
        _note_session(plan, inner)
    elif kind == "turn_context":
        plan.project = plan.project or as_text(inner.get("cwd"))
    elif kind == "event_msg" and inner.get("type") == "thread_rolled_back":
        turns = inner.get("num_turns")
        if isinstance(turns, int) and turns > 0 and plan.turns:
            first = plan.turns[max(len(plan.turns) - turns, 0)]
            plan.gone.append((first, number))
            plan.turns = [line for line in plan.turns if line < first]


def _is_header(row: Mapping[str, Json]) -> bool:
    """Return True for the header of a bare rollout: its first line has no type."""
    return "type" not in row and isinstance(row.get("id"), str) and "timestamp" in row


def _note_session(plan: _CodexOutline, meta: Mapping[str, Json]) -> None:
    """Note the session header. A fork repeats its parent's header after its own: the first one counts."""
    if plan.session:
        return
    plan.session = as_text(meta.get("id"))
    plan.project = as_text(meta.get("cwd"))
    plan.started = time_of(meta.get("timestamp"))
    plan.forked_from = as_text(meta.get("forked_from_id")) or None
    spawned = as_object(
        (as_object((as_object(meta.get("source")) or {}).get("subagent")) or {}).get("thread_spawn")
    )
    plan.parent = as_text((spawned or {}).get("parent_thread_id")) or as_text(meta.get("parent_thread_id"))


def _note_words(plan: _CodexOutline, number: int, said: CodexMessage) -> None:
    text = "\n".join(part.text for part in said.parts if isinstance(part, Text))
    if opens_turn(said):
        plan.turns.append(number)
        plan.title = plan.title or short_title(text.rpartition(_REQUEST)[2])
    elif not plan.project and said.role == "user":
        found = _CWD.search(text)
        plan.project = (found[1] or found[2] or "").strip() if found else ""


def _items(lines: SourceLines, plan: _CodexOutline, header: dict[str, Json] | None) -> Iterator[Item]:
    if lines.trouble is not None:
        yield lines.trouble
    if header is not None:
        yield Aside("session_meta", dumps(header), time_of(header.get("timestamp")))
    named: set[str] = set()
    for number, line in lines:
        row = parse_row(number, line)
        if isinstance(row, Problem):
            yield row
            yield keep_line(line, number)
            continue
        item = _payload(row)
        message = _message(number, row, item, plan, named) if item is not None else None
        if message is not None:
            yield message
            continue
        if item is not None:
            yield Problem(f"an item of the type {item['type']} that cannot be read", number)
        kind = as_text(row.get("type")) or (
            "session_meta" if _is_header(row) else as_text(row.get("record_type"))
        )
        if not kind:
            yield Problem("a line without a type", number)
        yield Aside(kind or UNKNOWN, line, time_of(row.get("timestamp")), line=number)


def _message(
    number: int, row: dict[str, Json], item: dict[str, Json], plan: _CodexOutline, named: set[str]
) -> ForeignMessage | None:
    said = said_in(item)
    if said is None or not same(put_back(taken_out(item), said.parts, no_blobs, quiet), item):
        return None
    line = taken_out(item) if row is item else {**row, "payload": taken_out(item)}
    facts: dict[str, Json] = {"line": line}
    gone = plan.is_gone(number)
    facts |= {"rolled_back": True} if gone else {}
    content = Content(said.parts, said.author, {VENDOR: facts})
    when = time_of(row.get("timestamp")) or time_of(item.get("timestamp"))
    # Ids are often missing, and repeat in forks; the place in an append-only file is always there.
    given = as_text(item.get("id")) or f"line {number}"
    name = f"{given}@{number}" if given in named else given
    named.add(given)
    return ForeignMessage(
        said.role, content, when, name, hidden=gone or is_machine(said.role, content.text), line=number
    )


FORMAT = Format("codex", "Codex rollout", ".jsonl", _sniff, _read, write)
