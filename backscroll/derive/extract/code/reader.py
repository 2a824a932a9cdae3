"""What a turn of a coding session says: files, functions, packages, decisions, errors, commands and how they ended.

Owns putting together what tools did (`extract_code_tools`) and what was said about it (`extract_code_prose`). A turn that has nothing
to do with code gives nothing. Before: `derive/extract/speech` (what was said), `derive/digest` (what tools did). After:
`derive/extract/assertions`.
"""

from __future__ import annotations

from collections.abc import Sequence

from backscroll.derive.digests.asking import kind_of
from backscroll.derive.extract.code.prose import is_about_code, read_prose
from backscroll.derive.extract.code.spelled import unfolded
from backscroll.derive.extract.code.tools import acts_of, paths_of, read_acts
from backscroll.derive.extract.said import Said
from backscroll.derive.extract.speech import speeches
from backscroll.vocab.assertion import Assertion
from backscroll.vocab.message import Message
from backscroll.vocab.part import ToolCall

_CODING = frozenset({"write", "edit", "command"})
_LOOKING = frozenset({"read", "search", "list"})


def read(messages: Sequence[Message], told: Sequence[Said] | None = None) -> list[Assertion]:
    """What these messages (one turn, in order) say; `told` is what was said in them, where somebody knows it already."""
    spoken = speeches(messages) if told is None else told
    acts = acts_of(unfolded([m for m in messages if not m.hidden and not m.deleted]))
    if not any(act.wanted.kind in _CODING | _LOOKING for act in acts) and not is_about_code(spoken):
        return []
    known = [
        path for act in acts if act.wanted.kind in ("read", "write", "edit") for path in paths_of(act.wanted)
    ]
    return [*read_acts(acts), *read_prose(spoken, known)]


def about_code(messages: Sequence[Message], told: Sequence[Said]) -> bool:
    """True for a turn of work, and for one in which people speak of files, code or errors."""
    return at_work(messages) or is_about_code(told)


def at_work(messages: Sequence[Message]) -> bool:
    """True for a turn in which tools worked on files or ran commands: what the assistant says there is about its work."""
    return any(
        isinstance(part, ToolCall) and kind_of(part.name, part.arguments) in _CODING | _LOOKING
        for message in messages
        for part in message.parts
    )
