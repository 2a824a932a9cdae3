"""Build the tree of a Claude Code transcript in one pass, without keeping text.

Lines point to their parents by uuid, progress and system lines included, and a reply with parallel calls looks like a fork
although it is none: its lines share `message.id`, and each result is attached to its own call. Owns: the live branch (the one
that holds the last message of the file), abandoned ones, sidechains (subagents), and the titles of threads. Contents are not
read.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from backscroll.formats.claude_code.line import content_of, is_prompt, words_of
from backscroll.formats.sources.lines import SourceLines
from backscroll.formats.sources.rows import as_array, as_object, as_text, parse_row, short_title, time_of
from backscroll.vocab.foreign import Problem
from backscroll.vocab.part import Json

_MESSAGE, _ATTACHED, _SIDE, _LIVE = 1, 2, 4, 8
_NONE = -1


@dataclass(slots=True)
class Chain:
    """The outline of the main conversation or one sidechain."""

    key: str = ""  # agent id or uuid of the first line; empty for the main conversation
    words: str = ""
    started: str | None = None
    messages: int = 0
    dangling: list[str] = field(default_factory=list[str])  # parents that no earlier line of the chain has


@dataclass(slots=True)
class ClaudeCodeOutline:
    """The outline that the reader needs before it starts."""

    session: str = ""
    sessions: list[str] = field(default_factory=list[str])
    title: str = ""
    project: str = ""
    version: str = ""
    rows: int = 0  # lines with a type
    main: Chain = field(default_factory=Chain)
    sidechains: list[Chain] = field(default_factory=list[Chain])
    side: dict[int, int] = field(default_factory=dict[int, int])  # line -> its sidechain
    abandoned: dict[int, str | None] = field(
        default_factory=dict[int, "str | None"]
    )  # line -> where it forks off
    again: dict[int, int] = field(default_factory=dict[int, int])  # line -> earlier lines with its uuid


def outline(lines: SourceLines, name: str) -> ClaudeCodeOutline:
    """Read the file once and return its outline."""
    survey = _RecordTable()
    for number, line in lines:
        row = parse_row(number, line)
        if not isinstance(row, Problem):
            survey.add(number, row)
    return survey.finish(name)


class _RecordTable:
    """One record per line that has a uuid or is a message, in arrays: a few dozen bytes a line besides its uuid."""

    def __init__(self) -> None:
        self.out = ClaudeCodeOutline()
        self.index: dict[str, int] = {}  # uuid -> record
        self.uuids: list[str] = []
        self.numbers = array("Q")
        self.parents = array("q")
        self.before = array("q")  # the message of the main conversation before this record
        self.flags = bytearray()
        self.replies = array("q")
        self.chains = array("q")
        self._reply_ids: dict[str, int] = {}
        self._chain_ids: dict[str, int] = {}
        self._pending: list[tuple[int, str]] = []  # records whose parent has not been seen yet
        self._sessions: Counter[str] = Counter()
        self._titles: dict[str, str] = {}
        self._summaries: list[tuple[str, str]] = []
        self._copies: Counter[str] = Counter()
        self._last = _NONE

    def add(self, number: int, row: Mapping[str, Json]) -> None:
        """Take one line into account."""
        self.out.rows += isinstance(row.get("type"), str)
        self._note_about(row)
        uuid, content = as_text(row.get("uuid")), content_of(row)
        if not uuid and content is None:
            return
        record = len(self.uuids)
        parent = as_text(row.get("parentUuid")) or as_text(row.get("logicalParentUuid"))
        above = self.index.get(parent, _NONE)
        if parent and above == _NONE:
            self._pending.append((record, parent))
        self._name(number, uuid, record)
        self.numbers.append(number)
        self.parents.append(above)
        side = row.get("isSidechain") is True
        flags = (_SIDE if side else 0) | (0 if content is None else _MESSAGE)
        if content is not None and _is_attached(row, content):
            flags |= _ATTACHED
        self.flags.append(flags)
        reply = (
            as_text((as_object(row.get("message")) or {}).get("id")) if row.get("type") == "assistant" else ""
        )
        self.replies.append(self._reply_ids.setdefault(reply, len(self._reply_ids)) if reply else _NONE)
        chain = self._chain(row, uuid, above) if side else _NONE
        self.chains.append(chain)
        self.before.append(self._last)
        if content is not None:
            self._note_message(self.out.sidechains[chain] if side else self.out.main, row, content)
            if not side:
                self._last = record
        if side:
            self.out.side[number] = chain

    def _name(self, number: int, uuid: str, record: int) -> None:
        self.uuids.append(uuid)
        if uuid in self.index:
            self._copies[uuid] += 1
            self.out.again[number] = self._copies[uuid]
        elif uuid:
            self.index[uuid] = record

    def _chain(self, row: Mapping[str, Json], uuid: str, above: int) -> int:
        key = as_text(row.get("agentId"))
        if not key and above != _NONE and self.flags[above] & _SIDE:
            return self.chains[above]
        key = key or uuid or "sidechain"
        if key not in self._chain_ids:
            self._chain_ids[key] = len(self.out.sidechains)
            self.out.sidechains.append(Chain(key))
        return self._chain_ids[key]

    def _note_about(self, row: Mapping[str, Json]) -> None:
        session = as_text(row.get("sessionId")) or as_text(row.get("session_id"))
        if session:
            self._sessions[session] += 1
        self.out.project = self.out.project or as_text(row.get("cwd"))
        self.out.version = self.out.version or as_text(row.get("version"))
        for kind, key in (("custom-title", "customTitle"), ("ai-title", "aiTitle")):
            if row.get("type") == kind and as_text(row.get(key)):
                self._titles[kind] = row[key]
        if row.get("type") == "summary" and as_text(row.get("summary")):
            self._summaries.append((row["summary"], as_text(row.get("leafUuid"))))

    def _note_message(self, chain: Chain, row: Mapping[str, Json], content: Json) -> None:
        chain.messages += 1
        chain.started = chain.started or time_of(row.get("timestamp"))
        if not chain.words and is_prompt(row, content):
            chain.words = short_title(words_of(content))

    # -- after the last line -----------------------------------------------------------------------------------

    def finish(self, name: str) -> ClaudeCodeOutline:
        """Resolve what could only be resolved at the end."""
        for record, parent in self._pending:
            self.parents[record] = self.index.get(parent, _NONE)
        if not self.out.main.messages and self.out.sidechains:
            self._promote()
        self._mark_live()
        self._find_abandoned()
        self._find_dangling()
        out = self.out
        out.sessions = list(self._sessions)
        common = self._sessions.most_common(1)
        out.session = next((s for s in self._sessions if s in name), common[0][0] if common else "")
        # Older versions put summaries of other sessions into a file: those whose leaf is not here name something else.
        summaries = [text for text, leaf in self._summaries if leaf in self.index]
        titles = [self._titles.get("custom-title", ""), self._titles.get("ai-title", ""), *summaries[-1:]]
        out.title = next((short_title(title) for title in titles if title.strip()), out.main.words)
        return out

    def _promote(self) -> None:
        """Treat the sidechain of a subagent's transcript as the conversation."""
        self.out.main = self.out.sidechains[0]
        self.out.side = {number: chain for number, chain in self.out.side.items() if chain != 0}
        self._last = _NONE
        for record, chain in enumerate(self.chains):
            if chain == 0:
                self.flags[record] &= ~_SIDE
            self.before[record] = self._last
            if self._is_main(record):
                self._last = record

    def _is_main(self, record: int) -> bool:
        return self.flags[record] & (_MESSAGE | _SIDE) == _MESSAGE

    def _message_above(self, record: int) -> int:
        """Return the message that a record follows; where the links are missing, the one before it in the file."""
        seen: set[int] = set()
        here = record
        while True:
            above = self.parents[here]
            if above == _NONE or above in seen or self.flags[above] & _SIDE:
                return self.before[here]
            if self.flags[above] & _MESSAGE:
                return above
            seen.add(above)
            here = above

    def _mark_live(self) -> None:
        record = self._last
        while record != _NONE and not self.flags[record] & _LIVE:
            self.flags[record] |= _LIVE
            record = self._message_above(record)
        replies = {self.replies[r] for r in range(len(self.flags)) if self.flags[r] & _LIVE} - {_NONE}
        for r in range(len(self.flags)):
            if not self._is_main(r) or self.flags[r] & _LIVE:
                continue
            above = self._message_above(r) if self.flags[r] & _ATTACHED else _NONE
            if self.replies[r] in replies or (above != _NONE and self.flags[above] & _LIVE):
                self.flags[r] |= _LIVE

    def _find_abandoned(self) -> None:
        previous = _NONE
        for r in range(len(self.flags)):
            if not self._is_main(r) or self.flags[r] & _LIVE:
                continue
            above = self._message_above(r)
            follows = previous != _NONE and above == previous
            self.out.abandoned[self.numbers[r]] = (
                None if follows or above == _NONE else self._source_id(above)
            )
            previous = r

    def _source_id(self, record: int) -> str | None:
        again = self.out.again.get(self.numbers[record], 0)
        name = self.uuids[record]
        return f"{name}#{again + 1}" if name and again else name or None

    def _find_dangling(self) -> None:
        """Find parents that do not precede their children in this file."""
        late = {(self._chain_of(record), parent) for record, parent in self._pending}
        for record, above in enumerate(self.parents):
            if above == _NONE:
                continue
            aside_of_abandoned = (
                not self.flags[record] & _MESSAGE and self.numbers[above] in self.out.abandoned
            )
            if self._chain_of(above) != self._chain_of(record) or aside_of_abandoned:
                late.add((self._chain_of(record), self.uuids[above]))
        for chain, parent in sorted(late):
            (self.out.main if chain == _NONE else self.out.sidechains[chain]).dangling.append(parent)

    def _chain_of(self, record: int) -> int:
        return self.chains[record] if self.flags[record] & _SIDE else _NONE


def _is_attached(row: Mapping[str, Json], content: Json) -> bool:
    """Return True for records attached to one call of a reply with several: results, and text injected by a tool."""
    if row.get("type") != "user":
        return False
    blocks = as_array(content) or []
    results = any((as_object(block) or {}).get("type") == "tool_result" for block in blocks)
    return results or (row.get("isMeta") is True and bool(as_text(row.get("sourceToolUseID"))))
