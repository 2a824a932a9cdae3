"""Beta fields of the Anthropic wire, and the betas they require.

Owns: `thinking.block_binding` and `clear_at`. If a request does not list its betas (`options["betas"]`), nothing is known and
nothing is refused.
"""

from __future__ import annotations

from typing import Final

from backscroll.assemble.validity.draft import DraftMessage, PromptDraft
from backscroll.formats.sources.rows import as_array, as_object, without
from backscroll.vocab.part import Json

#: How a service treats thinking after a changed prefix.
BLOCK_BINDING: Final = "thinking-binding-controls-2026-08-01"
#: System messages that the service clears later.
CLEAR_AT: Final = "mid-conversation-system-clear-at-2026-08-21"
#: The only point at which a system message can be cleared.
NEXT_USER: Final = "next_user_message"
_BEHAVIOURS: Final = ("error", "drop_block")


def mend_betas(draft: PromptDraft) -> None:
    """Remove fields whose beta the request lacks, and values that they do not accept."""
    known = as_array(draft.options.get("betas"))
    thinking = as_object(draft.options.get("thinking"))
    if thinking is not None and "block_binding" in thinking:
        wrong = _wrong_binding(thinking["block_binding"], known)
        if wrong:
            draft.note("A17", "thinking.block_binding", wrong, "it was left out")
            draft.options = {**draft.options, "thinking": without(thinking, "block_binding")}
    for n, entry in enumerate(draft.entries):
        message = as_object(entry.message) or {}
        if message.get("role") != "system" or "clear_at" not in message:
            continue
        if message["clear_at"] != NEXT_USER:
            wrong = "a moment that the service does not know"
        elif known is not None and CLEAR_AT not in known:
            wrong = f"a field that needs the beta {CLEAR_AT}"
        else:
            continue
        draft.note("A17", draft.at(entry, ".clear_at"), wrong, "it was left out")
        draft.entries[n] = DraftMessage(without(message, "clear_at"), entry.origins)


def _wrong_binding(value: Json, known: list[Json] | None) -> str:
    if known is not None and BLOCK_BINDING not in known:
        return f"a field that needs the beta {BLOCK_BINDING}"
    behaviour = (as_object(value) or {}).get("prefix_mismatch_behavior")
    return "" if behaviour in _BEHAVIOURS else "a behaviour that the service does not know"
