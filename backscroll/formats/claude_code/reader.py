"""Claude Code transcripts (`~/.claude/projects/<project>/<session>.jsonl`, and the `loglines` document of its web sessions).

Owns: the reader, which reads the file twice and never holds it in memory: first `claude_code/tree` links the lines, then
lines become items (`claude_code/line`). The live branch comes first, in file order and with every line that is not a message;
abandoned branches follow, each beginning with its `parent_id`; sidechains are threads of their own. One line is one message
(a reply that Claude Code wrote in pieces stays in pieces). Repairs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from backscroll.errors import FormatError
from backscroll.formats.claude_code.line import VENDOR, items_of
from backscroll.formats.claude_code.tree import Chain, ClaudeCodeOutline, outline
from backscroll.formats.claude_code.writer import write
from backscroll.formats.shape import Format, Source
from backscroll.formats.sources.lines import SourceLines, lines_of
from backscroll.formats.sources.rows import as_object, as_text, parse_row, stem
from backscroll.vocab.foreign import ForeignMessage, ForeignThread, Item, Problem
from backscroll.vocab.part import Json

_KINDS = {"user", "assistant", "system", "progress", "attachment"}
_LONG = re.compile(
    r'"(?:parentUuid|sessionId)"\s*:.*"type"\s*:\s*"|"type"\s*:\s*"\w+".*"(?:parentUuid|sessionId)"\s*:'
)
_LOOKED_AT = 50


def _sniff(source: Source) -> float:
    if source.is_folder:
        return 0.0
    head = source.head()
    if not head.lstrip().startswith("{"):
        return 0.0
    rows = [row for row in map(_row, head.split("\n")[:_LOOKED_AT]) if row is not None]
    best = max(map(_looks, rows), default=0.0)
    if best:
        return best
    if re.match(r'\s*\{[^\[\]{}]*"loglines"\s*:\s*\[', head):
        return 0.9
    return 0.6 if not rows and _LONG.search(head) else 0.0


def _row(line: str) -> dict[str, Json] | None:
    row = parse_row(0, line)
    return None if isinstance(row, Problem) else row


def _looks(row: dict[str, Json]) -> float:
    kind = as_text(row.get("type"))
    if "payload" in row:
        return 0.0  # Codex
    if kind in _KINDS and as_text(row.get("sessionId")) and ("parentUuid" in row or "uuid" in row):
        return 0.97
    marks = {"summary": "leafUuid", "file-history-snapshot": "snapshot", "queue-operation": "operation"}
    if kind in marks and marks[kind] in row:
        return 0.9
    spoken = as_object(row.get("message"))
    return 0.7 if kind in ("user", "assistant") and spoken is not None and "content" in spoken else 0.0


def _read(source: Source) -> Iterable[ForeignThread]:
    if source.is_folder:
        raise FormatError(f"{source.name} is a folder", hint="import its .jsonl files one by one")
    lines = lines_of(source, "loglines")
    plan = outline(lines, source.name)
    if not plan.rows:
        raise FormatError(
            f"{source.name} holds no line of a Claude Code transcript", hint="is it the right format?"
        )
    return _threads(lines, plan, plan.session or stem(source.name))


def _threads(lines: SourceLines, plan: ClaudeCodeOutline, session: str) -> Iterator[ForeignThread]:
    whole = plan.main.key  # not empty where the file is the transcript of a subagent
    facts: dict[str, Json] = {"session": session, "title": plan.title, "version": plan.version}
    facts |= {"sessions": plan.sessions} if len(plan.sessions) > 1 else {}
    facts |= {"dangling": plan.main.dangling} if plan.main.dangling else {}
    facts |= {"branches": True} if plan.abandoned else {}
    facts |= {"document": dict(lines.rest)} if lines.rest else {}
    facts |= {"parent": session, "agent": whole} if whole else {}
    yield ForeignThread(
        VENDOR,
        f"{session}/{whole}" if whole else session,
        _main(lines, plan),
        title=plan.title,
        project=plan.project,
        kind="agent",
        started=plan.main.started,
        metadata={VENDOR: facts},
    )
    for number, chain in enumerate(plan.sidechains):
        if chain is not plan.main:
            yield _sidechain(lines, plan, session, number, chain)


def _sidechain(
    lines: SourceLines, plan: ClaudeCodeOutline, session: str, number: int, chain: Chain
) -> ForeignThread:
    own = {line for line, index in plan.side.items() if index == number}
    facts: dict[str, Json] = {"session": session, "title": chain.words, "version": plan.version}
    facts |= {"parent": session, "agent": chain.key}
    facts |= {"dangling": chain.dangling} if chain.dangling else {}
    return ForeignThread(
        VENDOR,
        f"{session}/{chain.key}",
        (item for n, line in lines if n in own for item in items_of(n, line, plan.again.get(n, 0))),
        title=chain.words,
        project=plan.project,
        kind="agent",
        started=chain.started,
        metadata={VENDOR: facts},
    )


def _main(lines: SourceLines, plan: ClaudeCodeOutline) -> Iterator[Item]:
    if lines.trouble is not None:
        yield lines.trouble
    for number, line in lines:
        if number not in plan.side and number not in plan.abandoned:
            yield from items_of(number, line, plan.again.get(number, 0))
    if not plan.abandoned:
        return
    for number, line in lines:
        if number in plan.abandoned:
            yield from _branching(items_of(number, line, plan.again.get(number, 0)), plan.abandoned[number])


def _branching(items: Iterator[Item], fork: str | None) -> Iterator[Item]:
    """Yield the items of a line; the first message names the point where its branch begins."""
    for item in items:
        if fork is not None and isinstance(item, ForeignMessage):
            yield replace(item, parent_id=fork)
            fork = None
        else:
            yield item


FORMAT = Format("claude-code", "Claude Code transcript", ".jsonl", _sniff, _read, write)
