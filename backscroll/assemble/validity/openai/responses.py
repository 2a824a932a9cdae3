"""The rules of the OpenAI Responses wire: every call has its output, reasoning precedes the item it led to.

Owns: pairing, reasoning, ids, requirements of the request's options. Not here: the form of single items.
"""

from __future__ import annotations

from collections.abc import Mapping

from backscroll.assemble.validity.draft import (
    NO_RESULT,
    OPENING,
    DraftMessage,
    PromptDraft,
    orphan_text,
    words_of,
)
from backscroll.assemble.validity.foreign import native
from backscroll.assemble.validity.names import RESPONSES_ID, Ids
from backscroll.assemble.validity.openai.responses_shape import (
    CALLS,
    OUTPUTS,
    call_id,
    is_made,
    kind_of,
    shape_entry,
)
from backscroll.formats.sources.json_text import dumps
from backscroll.formats.sources.rows import as_array, as_object, as_text, without
from backscroll.vocab.part import Json

_PLAIN = ("function_call", "custom_tool_call")  # kinds for which a missing output can be stated


def mend(draft: PromptDraft) -> None:
    """Check and repair the whole prompt in one pass."""
    _system(draft)
    _options(draft)
    native(draft, "openai-responses")
    draft.entries = _shape_entries(draft)
    draft.entries = _pair_results(draft)
    draft.entries = _proven(draft)
    draft.entries = _drop_stray_reasoning(draft)
    if not draft.entries and not _kept_by_service(draft):
        draft.note("S1", draft.list_name, "a prompt without any message", "the user opens it")
        draft.entries = [DraftMessage({"role": "user", "content": OPENING}, ())]


def _system(draft: PromptDraft) -> None:
    if draft.system is None or isinstance(draft.system, str):
        return
    draft.note("S2", "instructions", "instructions that are not text", "they became text")
    items = as_array(draft.system)
    objects = [as_object(item) for item in items or []]
    words = [
        words_of(o.get("text")) if o is not None else words_of(i)
        for o, i in zip(objects, items or [], strict=True)
    ]
    draft.system = (
        "\n\n".join(w for w in words if w) if items is not None else words_of(draft.system)
    ) or None


def _options(draft: PromptDraft) -> None:
    given = draft.options
    if given.get("previous_response_id") is None:
        return
    if given.get("conversation") is not None:
        draft.note(
            "R6", "conversation", "a conversation beside a previous response", "the conversation was left out"
        )
        draft.options = without(given, "conversation")
    if draft.system is None:
        draft.note(
            "R6",
            "instructions",
            "instructions are not taken over from the previous response, and there are none here",
        )


def _kept_by_service(draft: PromptDraft) -> bool:
    """Return True if the service adds earlier messages (or a stored prompt), so that calls may be there."""
    names = ("previous_response_id", "conversation", "prompt")
    return any(draft.options.get(key) is not None for key in names)


def _shape_entries(draft: PromptDraft) -> list[DraftMessage]:
    out: list[DraftMessage] = []
    for entry in draft.entries:
        done = shape_entry(draft, entry)
        if done is None:
            continue
        if done.message is None:  # an unfinished item: the reasoning that led to it is dropped as well
            while out and kind_of(out[-1].message) == "reasoning":
                draft.note(
                    "R2", draft.at(out[-1]), "reasoning without the item that it led to", "it was removed"
                )
                out.pop()
            continue
        out.append(done)
    return out


# -- calls and outputs -----------------------------------------------------------------------------------------


def _answers(entries: list[DraftMessage]) -> dict[int, int]:
    """Return which output answers which call: the first later one with its id and of its kind."""
    waiting: dict[tuple[str, str], list[int]] = {}
    out: dict[int, int] = {}
    for n, entry in enumerate(entries):
        kind = kind_of(entry.message)
        if kind in CALLS:
            waiting.setdefault((CALLS[kind], call_id(entry.message)), []).append(n)
        elif kind in OUTPUTS:
            calls = waiting.get((kind, call_id(entry.message)))
            if calls:
                out[calls.pop(0)] = n
    return out


def _pair_results(draft: PromptDraft) -> list[DraftMessage]:
    entries = draft.entries
    answers = _answers(entries)
    claimed = {output: call for call, output in answers.items()}
    ids = Ids(RESPONSES_ID, (call_id(e.message) for e in entries if kind_of(e.message) in CALLS))
    names: dict[int, str] = {}
    out: list[DraftMessage] = []
    owed: list[DraftMessage] = []  # missing outputs, to follow the calls of one reply
    for n, entry in enumerate(entries):
        kind = kind_of(entry.message)
        if kind in CALLS:
            done, missing = _repair_call_id(draft, n, kind, ids, names, answered=n in answers)
            out.append(done)
            owed += missing
            continue
        if not (kind == "reasoning" and n + 1 < len(entries) and kind_of(entries[n + 1].message) in CALLS):
            out += owed
            owed = []
        if kind not in OUTPUTS:
            out.append(entry)
        elif n in claimed:
            new = names[claimed[n]]
            out.append(
                entry
                if new == call_id(entry.message)
                else DraftMessage({**entry.message, "call_id": new}, entry.origins)
            )
        elif _kept_by_service(draft):
            out.append(entry)
        else:
            out += _orphan(draft, entry)
    return [*out, *owed]


def _repair_call_id(
    draft: PromptDraft, n: int, kind: str, ids: Ids, names: dict[int, str], *, answered: bool
) -> tuple[DraftMessage, list[DraftMessage]]:
    entry = draft.entries[n]
    old = call_id(entry.message)
    new = names[n] = ids.next(old)
    if new != old:
        rule, what = (
            ("V1", "an id that an earlier call has")
            if RESPONSES_ID.fullmatch(old)
            else ("S3", "an id that is too long")
        )
        draft.note(rule, draft.at(entry), what, "call and result got another one")
        entry = DraftMessage({**entry.message, "call_id": new}, entry.origins)
    if answered:
        return entry, []
    if kind not in _PLAIN:
        draft.note("R1", draft.at(entry), "a call without an output", "the call became text")
        words = f"[{kind} {dumps(without(entry.message, 'type', 'id', 'call_id', 'status'))}: {NO_RESULT}]"
        return DraftMessage({"role": "assistant", "content": words}, entry.origins), []
    draft.note("R1", draft.at(entry), "a call without an output", "an output says that none was recorded")
    return entry, [DraftMessage({"type": CALLS[kind], "call_id": new, "output": NO_RESULT}, ())]


def _orphan(draft: PromptDraft, entry: DraftMessage) -> list[DraftMessage]:
    item = entry.message
    id, output = call_id(item), item.get("output")
    if id in draft.aborted:
        draft.note("V6", draft.at(entry), "a result of a reply that was removed", "it was removed")
        return []
    parts = [part for part in map(as_object, as_array(output) or []) if part is not None]
    words = (
        "\n".join(words_of(part.get("text")) or dumps(part) for part in parts) if parts else words_of(output)
    )
    if not words:
        draft.note("V1", draft.at(entry), "an empty result whose call is not before it", "it was removed")
        return []
    draft.note("V1", draft.at(entry), "a result whose call is not before it", "its words became the user's")
    return [DraftMessage({"role": "user", "content": orphan_text(id, words)}, entry.origins)]


# -- reasoning -------------------------------------------------------------------------------------------------


def _proven(draft: PromptDraft) -> list[DraftMessage]:
    """Drop reasoning that the service cannot decrypt; the item after it becomes one of the sender's."""
    out: list[DraftMessage] = []
    orphaned = False
    stateless = draft.options.get("store") is False
    for entry in draft.entries:
        kind = kind_of(entry.message)
        if kind == "item_reference" and stateless:
            draft.note(
                "R5",
                draft.at(entry),
                "a reference to an item that the service does not keep",
                "it was removed",
            )
            continue
        rule, what = _unproven(draft, entry.message, stateless) if kind == "reasoning" else ("", "")
        if rule:
            draft.note(rule, draft.at(entry), what, "it was removed")
            orphaned = True
            continue
        led = orphaned and is_made(entry.message) and "id" in entry.message and kind != "reasoning"
        orphaned = orphaned and kind == "reasoning"
        out.append(DraftMessage(without(entry.message, "id"), entry.origins) if led else entry)
    return out


def _unproven(draft: PromptDraft, item: Mapping[str, Json], stateless: bool) -> tuple[str, str]:
    sealed = bool(as_text(item.get("encrypted_content")))
    if not draft.same_model:
        return "V7", "reasoning of another model"
    if stateless and not sealed:
        return "R5", "reasoning that the service does not keep and that is not sealed"
    if not sealed and not as_text(item.get("id")):
        return "R5", "reasoning that is neither sealed nor kept by the service"
    return "", ""


def _drop_stray_reasoning(draft: PromptDraft) -> list[DraftMessage]:
    """Drop reasoning that does not directly precede the item it led to."""
    out: list[DraftMessage] = []
    for entry in reversed(draft.entries):
        after = out[-1].message if out else None
        if kind_of(entry.message) == "reasoning" and (after is None or not is_made(after)):
            draft.note("R2", draft.at(entry), "reasoning without the item that it led to", "it was removed")
            continue
        out.append(entry)
    return out[::-1]
