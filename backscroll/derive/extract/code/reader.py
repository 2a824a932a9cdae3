"""Assertions of a coding turn: files, functions, packages, decisions, errors, commands and their outcomes.

Owns combining what tools did (`derive/extract/code/tools`) with what was said (`derive/extract/code/prose`). A turn that has
nothing to do with code yields nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from backscroll.derive.digests.calls import kind_of
from backscroll.derive.extract.code.prose import is_about_code, read_prose
from backscroll.derive.extract.code.text_calls import unfold_calls
from backscroll.derive.extract.code.tools import acts_of, paths_of, read_acts
from backscroll.derive.extract.speech import speeches
from backscroll.derive.extract.utterance import Utterance
from backscroll.vocab.assertion import Assertion
from backscroll.vocab.message import Message
from backscroll.vocab.part import ToolCall

_CODING = frozenset({"write", "edit", "command"})
_LOOKING = frozenset({"read", "search", "list"})


def read(messages: Sequence[Message], told: Sequence[Utterance] | None = None) -> list[Assertion]:
    """Return what these messages (one turn, in order) say; `told` is their speech, if already extracted."""
    spoken = speeches(messages) if told is None else told
    acts = acts_of(unfold_calls([m for m in messages if not m.hidden and not m.deleted]))
    if not any(act.wanted.kind in _CODING | _LOOKING for act in acts) and not is_about_code(spoken):
        return []
    known = [
        path for act in acts if act.wanted.kind in ("read", "write", "edit") for path in paths_of(act.wanted)
    ]
    return [*read_acts(acts), *read_prose(spoken, known)]


def about_code(messages: Sequence[Message], told: Sequence[Utterance]) -> bool:
    """Return True for a coding turn, or one in which people mention files, code or errors."""
    return at_work(messages) or is_about_code(told)


def at_work(messages: Sequence[Message]) -> bool:
    """Return True for a turn in which tools changed files or ran commands: there the assistant speaks about its work."""
    return any(
        isinstance(part, ToolCall) and kind_of(part.name, part.arguments) in _CODING | _LOOKING
        for message in messages
        for part in message.parts
    )
