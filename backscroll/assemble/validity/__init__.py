"""Prompt validation: check a prompt against the rules of its wire, and repair it.

Owns: `check`, which names every rule that a prompt breaks, and `repair`, which fixes them: deterministic, idempotent, without a
clock, and valid parts stay byte for byte. Both are one walk, so they can never disagree. Not here: building prompts;
`assemble/wires` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from backscroll.assemble.validity.anthropic import rules as anthropic
from backscroll.assemble.validity.clean import clean_json
from backscroll.assemble.validity.draft import DraftMessage, PromptDraft
from backscroll.assemble.validity.openai import chat, responses
from backscroll.assemble.validity.rules import PromptFlaw, RepairAction, ValidityRule, rules
from backscroll.errors import InvalidInput
from backscroll.vocab.part import Json
from backscroll.vocab.prompt import Wire, checked_wire

__all__ = ["PromptFlaw", "RepairAction", "RepairResult", "ValidityRule", "check", "repair", "rules"]

_MENDERS: Final[Mapping[Wire, tuple[str, Callable[[PromptDraft], None]]]] = {
    "openai-chat": ("messages", chat.mend),
    "openai-responses": ("input", responses.mend),
    "anthropic": ("messages", anthropic.mend),
}
_LOOKS: Final = 12  # one repair may expose another problem; three passes have always been enough


@dataclass(frozen=True, slots=True)
class RepairResult:
    """A valid prompt, and the repairs that were made.

    `origins` names for each message the places in the given list that it came from; it is empty for what was added.
    """

    messages: list[dict[str, Json]]
    system: Json
    changes: list[RepairAction]
    origins: list[tuple[int, ...]]
    tools: Sequence[Json] | None = None
    options: Mapping[str, Json] = field(default_factory=dict[str, Json])


def check(
    messages: Iterable[Json] | str,
    wire: Wire = "openai-chat",
    *,
    system: Json = None,
    tools: Sequence[Json] | None = None,
    model: str | None = None,
    options: Mapping[str, Json] | None = None,
    same_model: bool = True,
) -> list[PromptFlaw]:
    """Return every rule that the prompt breaks, in reading order; an empty list if it is valid.

    `system` is Anthropic's system prompt or the instructions of a Responses request; `tools=None` means that they are not given
    here, an empty list that none are sent; `options` are the other fields of the request (`store`, `thinking`, …).
    `same_model=False`: another model made the replies, so signatures and sealed reasoning are invalid.
    """
    draft = _open_draft(messages, checked_wire(wire), system, tools, model, options, same_model)
    _MENDERS[checked_wire(wire)][1](draft)
    return [*(PromptFlaw(c.rule, c.where, c.what, c.rule.hint) for c in draft.changes), *draft.remarks]


def repair(
    messages: Iterable[Json] | str,
    wire: Wire = "openai-chat",
    *,
    system: Json = None,
    tools: Sequence[Json] | None = None,
    model: str | None = None,
    options: Mapping[str, Json] | None = None,
    same_model: bool = True,
) -> RepairResult:
    """Return the prompt with all rules satisfied; valid messages are unchanged byte for byte."""
    draft = _open_draft(messages, checked_wire(wire), system, tools, model, options, same_model)
    mend = _MENDERS[checked_wire(wire)][1]
    for _ in range(_LOOKS):
        before = len(draft.changes)
        mend(draft)
        if len(draft.changes) == before:
            break
        draft.remarks.clear()
    done = [entry.message for entry in draft.entries]
    origins = [entry.origins for entry in draft.entries]
    return RepairResult(done, draft.system, draft.changes, origins, draft.tools, draft.options)


def _open_draft(
    messages: Iterable[Json] | str,
    wire: Wire,
    system: Json,
    tools: Sequence[Json] | None,
    model: str | None,
    options: Mapping[str, Json] | None,
    same_model: bool,
) -> PromptDraft:
    if isinstance(messages, Mapping | bytes):
        raise InvalidInput("the messages have to be a list", hint="pass the list under `messages` or `input`")
    given = [messages] if isinstance(messages, str) else list(messages)
    draft = PromptDraft(_MENDERS[wire][0], model=model, options=options or {}, same_model=same_model)
    for number, message in enumerate(given):
        clean = clean_json(message)
        entry = DraftMessage(clean, (number,))
        if clean is not message:
            draft.note(
                "V4", draft.at(entry), "characters or numbers that JSON cannot carry", "they were removed"
            )
        draft.entries.append(entry)
    draft.system = clean_json(system)
    if draft.system is not system:
        draft.note("V4", "system", "characters or numbers that JSON cannot carry", "they were removed")
    if isinstance(messages, str) and wire != "openai-responses":
        draft.note(
            "S1", draft.list_name, "a text where a list of messages belongs", "it became the user's message"
        )
        draft.entries = [
            DraftMessage({"role": "user", "content": entry.message}, (0,)) for entry in draft.entries
        ]
    elif isinstance(messages, str):
        draft.entries = [
            DraftMessage({"role": "user", "content": entry.message}, (0,))
            for entry in draft.entries
            if entry.message
        ]
    draft.tools = None if tools is None else clean_json(list(tools))
    return draft
