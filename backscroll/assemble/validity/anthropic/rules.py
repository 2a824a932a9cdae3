"""The rules of the Anthropic wire: turns alternate, results come first in the very next message, thinking is whole or absent.

Owns: order, pairing, thinking, system messages, cache marks. Not here: the shape of single messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from backscroll.assemble.validity.anthropic.betas import mend_betas
from backscroll.assemble.validity.anthropic.blocks import blocks_of, in_marks, in_words, of_kind, result_words
from backscroll.assemble.validity.anthropic.marks import mend_marks
from backscroll.assemble.validity.anthropic.shape import THOUGHTS, shape_entry, shaped_system
from backscroll.assemble.validity.draft import (
    GO_ON,
    NO_RESULT,
    OPENING,
    DraftMessage,
    PromptDraft,
    orphan_text,
)
from backscroll.assemble.validity.foreign import native
from backscroll.assemble.validity.models import refuses_prefill, takes_system_messages
from backscroll.assemble.validity.names import PLAIN_ID, Ids
from backscroll.formats.sources.rows import as_array, as_object, as_text, without
from backscroll.vocab.part import Json

_TOOLS: Final = ("tool_use", "tool_result")


def mend(draft: PromptDraft) -> None:
    """Check and repair the whole prompt in one pass."""
    shaped_system(draft)
    native(draft, "anthropic")
    draft.entries = [done for entry in draft.entries if (done := shape_entry(draft, entry)) is not None]
    mend_betas(draft)
    draft.entries = _system_messages(draft)
    draft.entries = _alternating(draft)
    draft.entries = _pair_results(draft)
    draft.entries = _alternating(draft)
    if draft.tools is not None and not draft.tools:
        draft.entries = [_without_tools(draft, entry) for entry in draft.entries]
    _thinking(draft)
    _ends(draft)
    mend_marks(draft)


def _replace_content(entry: DraftMessage, content: Json) -> DraftMessage:
    return DraftMessage({**entry.message, "content": content}, entry.origins)


# -- calls as words --------------------------------------------------------------------------------------------


def _without_tools(draft: PromptDraft, entry: DraftMessage) -> DraftMessage:
    """Render calls and results as text if no tools are sent."""
    blocks = as_array(entry.message["content"])
    if blocks is None or not any(of_kind(block, *_TOOLS) for block in blocks):
        return entry
    draft.note("A3", draft.at(entry), "calls or results in a prompt that sends no tools", "they became text")
    return _replace_content(entry, [told for block in blocks for told in in_words(block)])


# -- system messages -------------------------------------------------------------------------------------------


def _system_messages(draft: PromptDraft) -> list[DraftMessage]:
    """Move leading system messages into the system prompt; later ones stay only if the model accepts them."""
    out: list[DraftMessage] = []
    entries = draft.entries
    for n, entry in enumerate(entries):
        if entry.message["role"] != "system":
            out.append(entry)
            continue
        if not out:
            draft.note(
                "A9",
                draft.at(entry),
                "a system message at the beginning",
                "it became part of the system prompt",
            )
            told = [b for b in blocks_of(entry.message["content"]) if of_kind(b, "text")]
            draft.system = [*blocks_of(draft.system), *told] or None
            continue
        after = entries[n + 1].message["role"] if n + 1 < len(entries) else "assistant"
        plain = all(of_kind(block, "text") for block in blocks_of(entry.message["content"]))
        placed = out[-1].message["role"] == "user" and after == "assistant" and plain
        if placed and takes_system_messages(draft.model):
            out.append(entry)
            continue
        draft.note(
            "A9",
            draft.at(entry),
            "a system message that the model does not take here",
            "it became a marked text of the user",
        )
        out.append(
            DraftMessage(
                {"role": "user", "content": [_mark_text(b) for b in blocks_of(entry.message["content"])]},
                entry.origins,
            )
        )
    return out


def _mark_text(block: Json) -> Json:
    data = as_object(block) or {}
    return {**data, "text": in_marks(data["text"])} if data.get("type") == "text" else block


# -- turns -----------------------------------------------------------------------------------------------------


def _alternating(draft: PromptDraft) -> list[DraftMessage]:
    out: list[DraftMessage] = []
    for entry in draft.entries:
        before = out[-1] if out else None
        if before is not None and before.message["role"] == entry.message["role"] != "system":
            draft.note("A4", draft.at(entry), "two messages in a row by the same side", "they became one")
            both = [*blocks_of(before.message["content"]), *blocks_of(entry.message["content"])]
            out[-1] = DraftMessage({**before.message, "content": both}, before.origins + entry.origins)
        else:
            out.append(entry)
    return out


def _ends(draft: PromptDraft) -> None:
    entries = draft.entries
    if not entries or entries[0].message["role"] != "user":
        where = draft.at(entries[0]) if entries else draft.list_name
        draft.note("A4", where, "the user does not have the first word", "a short opening was put before it")
        entries.insert(0, DraftMessage({"role": "user", "content": [{"type": "text", "text": OPENING}]}, ()))
    last = entries[-1]
    if last.message["role"] != "assistant":
        return
    if refuses_prefill(draft.model):
        draft.note(
            "A8",
            draft.at(last),
            "the reply has the last word, which this model refuses",
            "the user asks to go on",
        )
        entries.append(DraftMessage({"role": "user", "content": [{"type": "text", "text": GO_ON}]}, ()))
        return
    content = last.message["content"]
    blocks = blocks_of(content)
    final = as_object(blocks[-1]) or {}
    text = as_text(final.get("text"))
    if final.get("type") == "text" and text != text.rstrip():
        draft.note(
            "A8",
            draft.at(last),
            "a reply to be gone on with ends in white space",
            "the white space was removed",
        )
        whole = text.rstrip()
        entries[-1] = _replace_content(
            last, whole if isinstance(content, str) else [*blocks[:-1], {**final, "text": whole}]
        )


# -- calls and results -----------------------------------------------------------------------------------------


def _blocks_of_kind(entry: DraftMessage, kind: str) -> list[tuple[int, Mapping[str, Json]]]:
    blocks = as_array(entry.message["content"]) or []
    return [(m, block) for m, block in enumerate(blocks) if of_kind(block, kind)]


def _answers(entries: list[DraftMessage]) -> dict[tuple[int, int], tuple[int, int]]:
    """Return which result block answers which call block: first those of the next message, then any later ones."""
    results = [
        (n, m, as_text(b["tool_use_id"]))
        for n, e in enumerate(entries)
        for m, b in _blocks_of_kind(e, "tool_result")
    ]
    calls = [
        (n, m, as_text(b["id"])) for n, e in enumerate(entries) for m, b in _blocks_of_kind(e, "tool_use")
    ]
    by_id: dict[str, list[tuple[int, int]]] = {}
    for n, m, id in results:
        by_id.setdefault(id, []).append((n, m))
    out: dict[tuple[int, int], tuple[int, int]] = {}
    for near in (True, False):
        for n, m, id in calls:
            waiting = by_id.get(id, [])
            found = next((p for p in waiting if (p[0] == n + 1 if near else p[0] > n)), None)
            if (n, m) not in out and found is not None:
                out[n, m] = found
                waiting.remove(found)
    return out


def _pair_results(draft: PromptDraft) -> list[DraftMessage]:
    entries = draft.entries
    answers = _answers(entries)
    claimed = set(answers.values())
    ids = Ids(PLAIN_ID, (as_text(b["id"]) for e in entries for _, b in _blocks_of_kind(e, "tool_use")))
    out: list[DraftMessage] = []
    owed: list[Json] = []  # results with which the next message has to begin
    for n, entry in enumerate(entries):
        if entry.message["role"] == "assistant":
            done, owed = _repair_call_ids(draft, n, ids, answers)
            out.append(done)
        elif owed and entry.message["role"] != "user":
            out += [DraftMessage({"role": "user", "content": owed}, ()), entry]
            owed = []
        else:
            content = _order_results(draft, n, owed, claimed)
            owed = []
            if content:
                out.append(entry if content is entry.message["content"] else _replace_content(entry, content))
    if owed:
        out.append(DraftMessage({"role": "user", "content": owed}, ()))
    return out


def _repair_call_ids(
    draft: PromptDraft, n: int, ids: Ids, answers: Mapping[tuple[int, int], tuple[int, int]]
) -> tuple[DraftMessage, list[Json]]:
    """Return a reply with valid ids, and the results that must follow it."""
    entry = draft.entries[n]
    blocks = list(as_array(entry.message["content"]) or [])
    found: list[tuple[tuple[int, int], Json]] = []
    missing: list[Json] = []
    changed = False
    for m, call in _blocks_of_kind(entry, "tool_use"):
        old, where = as_text(call["id"]), draft.at(entry, f".content[{m}]")
        new = ids.next(old)
        if new != old:
            allowed = PLAIN_ID.fullmatch(old) is not None
            rule, what = (
                ("V1", "an id that an earlier call has")
                if allowed
                else ("A6", "an id that the wire does not allow")
            )
            draft.note(rule, where, what, "call and result got another one")
            blocks[m], changed = {**call, "id": new}, True
        place = answers.get((n, m))
        if place is None:
            draft.note("V1", where, "a call without a result", "a result says that none was recorded")
            missing.append(
                {"type": "tool_result", "tool_use_id": new, "content": NO_RESULT, "is_error": True}
            )
            continue
        if place[0] != n + 1:
            draft.note(
                "A1",
                draft.at(draft.entries[place[0]], f".content[{place[1]}]"),
                "a result that is not in the message after its call",
                "it was moved there",
            )
        result = (as_array(draft.entries[place[0]].message["content"]) or [])[place[1]]
        found.append((place, result if new == old else {**result, "tool_use_id": new}))
    found.sort(key=lambda pair: pair[0])
    return (_replace_content(entry, blocks) if changed else entry), [
        *(result for _, result in found),
        *missing,
    ]


def _order_results(draft: PromptDraft, n: int, owed: list[Json], claimed: set[tuple[int, int]]) -> Json:
    """Return the content of a user message: the required results, then its other blocks; unchanged if already in this order."""
    entry = draft.entries[n]
    content = entry.message["content"]
    blocks = as_array(content)
    rest: list[Json] = []
    for m, block in enumerate(blocks or blocks_of(content)):
        if (n, m) in claimed and of_kind(block, "tool_result"):
            continue
        rest += _orphan(draft, entry, m, block) if of_kind(block, "tool_result") else [block]
    out = [*owed, *rest]
    if blocks is None:
        return out if owed else content
    if len(out) == len(blocks) and all(a is b for a, b in zip(out, blocks, strict=True)):
        return content
    first = [of_kind(block, "tool_result") for block in blocks]
    if owed and first != sorted(first, reverse=True):
        draft.note(
            "A2", draft.at(entry), "results that do not come first in their message", "they come first now"
        )
    return out


def _orphan(draft: PromptDraft, entry: DraftMessage, m: int, block: Mapping[str, Json]) -> list[Json]:
    id, where = as_text(block.get("tool_use_id")), draft.at(entry, f".content[{m}]")
    words = result_words(block.get("content"))
    if id in draft.aborted:
        draft.note("V6", where, "a result of a reply that was removed", "it was removed")
        return []
    if not words.strip():
        draft.note("A1", where, "an empty result whose call is not before it", "it was removed")
        return []
    draft.note("A1", where, "a result whose call is not before it", "it became text")
    return [{"type": "text", "text": orphan_text(id, words)}]


# -- thinking --------------------------------------------------------------------------------------------------


def _thinking(draft: PromptDraft) -> None:
    """Drop thinking that cannot be verified: in the running loop all of it, before that block by block."""
    if not draft.same_model:
        _drop_thoughts(draft, range(len(draft.entries)), "V7", "thinking of another model")
        return
    start = _loop_start(draft.entries)
    broken = [
        n
        for n in range(len(draft.entries))
        if any(_unproven(b) for b in blocks_of(draft.entries[n].message["content"]))
    ]
    if any(n >= start for n in broken):
        _drop_thoughts(
            draft,
            range(start, len(draft.entries)),
            "A7",
            "thinking in a running loop that cannot be sent back as it was",
        )
    for n in broken:
        if n < start:
            _drop_thoughts(
                draft, range(n, n + 1), "A7", "thinking that cannot be sent back as it was", only_broken=True
            )
    for n, entry in enumerate(draft.entries):
        blocks = as_array(entry.message["content"]) or []
        end = len(blocks)
        while end and of_kind(blocks[end - 1], *THOUGHTS):
            end -= 1
        if end < len(blocks):
            draft.note("A7", draft.at(entry), "a reply that ends with thinking", "that thinking was removed")
            draft.entries[n] = _replace_content(entry, blocks[:end])
    _drop_empty(draft)
    _begun_without(draft)


def _begun_without(draft: PromptDraft) -> None:
    """Turn thinking off in a loop of calls that began without it."""
    asked = as_object(draft.options.get("thinking")) or {}
    running = len(draft.entries) > 1 and bool(_blocks_of_kind(draft.entries[-1], "tool_result"))
    if asked.get("type") != "enabled" or not running:
        return
    reply = blocks_of(draft.entries[-2].message["content"])
    if any(of_kind(block, "tool_use") for block in reply) and not of_kind(reply[0], *THOUGHTS):
        draft.note(
            "A7",
            "thinking",
            "thinking is asked for in a loop that was begun without it",
            "it is not asked for in this call",
        )
        draft.options = without(draft.options, "thinking")


def _loop_start(entries: list[DraftMessage]) -> int:
    """Return where the running loop begins: at the last user message without a result; text beside results continues it."""
    for n in range(len(entries) - 1, -1, -1):
        if entries[n].message["role"] == "user" and not _blocks_of_kind(entries[n], "tool_result"):
            return n
    return 0


def _unproven(block: Json) -> bool:
    data = as_object(block) or {}
    if data.get("type") == "thinking":
        return not (isinstance(data.get("thinking"), str) and as_text(data.get("signature")))
    return data.get("type") == "redacted_thinking" and not as_text(data.get("data"))


def _drop_thoughts(
    draft: PromptDraft, among: range, rule: str, what: str, *, only_broken: bool = False
) -> None:
    for n in among:
        entry = draft.entries[n]
        blocks = as_array(entry.message["content"]) or []
        kept = [b for b in blocks if not of_kind(b, *THOUGHTS) or (only_broken and not _unproven(b))]
        if len(kept) < len(blocks):
            draft.note(rule, draft.at(entry), what, "it was removed")
            draft.entries[n] = _replace_content(entry, kept)
    _drop_empty(draft)


def _drop_empty(draft: PromptDraft) -> None:
    """Drop replies that consisted of thinking alone; the messages around them are joined in the next pass."""
    draft.entries = [entry for entry in draft.entries if entry.message["content"]]
