"""The rules of the OpenAI Chat wire: every call has its result right after it, every result has a call.

Owns: pairing of calls and results, cache points, and the requirements of other vendors' models on this wire. Not here: the form of
single messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from backscroll.assemble.validity.draft import (
    NO_RESULT,
    OPENING,
    DraftMessage,
    PromptDraft,
    orphan_text,
    words_of,
)
from backscroll.assemble.validity.foreign import native
from backscroll.assemble.validity.models import gemini, gpt, is_deepseek, is_mistral
from backscroll.assemble.validity.names import CHAT_ID, MISTRAL_ID, Ids
from backscroll.assemble.validity.openai.chat_shape import shape_entry
from backscroll.formats.sources.rows import as_array, as_object, as_text, without
from backscroll.vocab.part import Json

_POINT: Final = "prompt_cache_breakpoint"
_MATCHED: Final = 80  # the service reads this many cache points, from the end
_SIGNATURE: Final = "skip_thought_signature_validator"  # the vendor's recommended placeholder


def mend(draft: PromptDraft) -> None:
    """Check and repair the whole prompt in one pass."""
    native(draft, "openai-chat")
    draft.entries = [done for entry in draft.entries if (done := shape_entry(draft, entry)) is not None]
    draft.entries = _join_replies(draft)
    draft.entries = _pair_results(draft)
    _vendors(draft)
    _cache_points(draft)
    if not draft.entries:
        draft.note("S1", draft.list_name, "a prompt without any message", "the user opens it")
        draft.entries = [DraftMessage({"role": "user", "content": OPENING}, ())]


def calls_of(entry: DraftMessage) -> list[Json]:
    """Return the calls of a reply."""
    return as_array(entry.message.get("tool_calls")) or [] if entry.message["role"] == "assistant" else []


def _function_of(entry: DraftMessage) -> str:
    """Return the function that a reply calls in the legacy form; empty if it calls none."""
    if entry.message["role"] != "assistant" or calls_of(entry):
        return ""
    return as_text((as_object(entry.message.get("function_call")) or {}).get("name"))


# -- replies in pieces -----------------------------------------------------------------------------------------


def _join_replies(draft: PromptDraft) -> list[DraftMessage]:
    """Join the calls of neighbouring replies without a result between them: they belong to one reply."""
    out: list[DraftMessage] = []
    for entry in draft.entries:
        before = out[-1] if out else None
        if before is not None and calls_of(before) and entry.message["role"] == "assistant":
            draft.note(
                "C2", draft.at(entry), "a reply between calls and their results", "the two replies became one"
            )
            out[-1] = DraftMessage(_both(before.message, entry.message), before.origins + entry.origins)
        else:
            out.append(entry)
    return out


def _both(one: Mapping[str, Json], other: Mapping[str, Json]) -> dict[str, Json]:
    out = {**without(other, "content", "tool_calls"), **one}
    calls = [*(as_array(one.get("tool_calls")) or []), *(as_array(other.get("tool_calls")) or [])]
    first, second = one.get("content"), other.get("content")
    if first and second:
        plain = isinstance(first, str) and isinstance(second, str)
        out["content"] = f"{first}\n\n{second}" if plain else [*_as_parts(first), *_as_parts(second)]
    elif second:
        out["content"] = second
    return {**out, "tool_calls": calls}


def _as_parts(content: Json) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else as_array(content) or []


# -- calls and results -----------------------------------------------------------------------------------------


def _answers(entries: list[DraftMessage]) -> dict[tuple[int, int], int]:
    """Return which result answers which call: first those right after the reply, then any later ones."""
    out: dict[tuple[int, int], int] = {}
    claimed: set[int] = set()
    results = {n for n, entry in enumerate(entries) if entry.message["role"] == "tool"}

    def claim(place: int, number: int, id: str, among: range) -> None:
        for n in among:
            if n in results and n not in claimed and entries[n].message.get("tool_call_id") == id:
                claimed.add(n)
                out[place, number] = n
                return

    asked = [
        (place, number, as_text(call["id"]))
        for place, entry in enumerate(entries)
        for number, call in enumerate(calls_of(entry))
    ]
    for place, number, id in asked:
        end = place + 1
        while end in results:
            end += 1
        claim(place, number, id, range(place + 1, end))
    late = {as_text(entries[n].message.get("tool_call_id")) for n in results - claimed}
    for place, number, id in asked:
        if (place, number) not in out and id in late:
            claim(place, number, id, range(place + 1, len(entries)))
    return out


def _pair_results(draft: PromptDraft) -> list[DraftMessage]:
    entries = draft.entries
    answers = _answers(entries)
    claimed = set(answers.values())
    allowed = MISTRAL_ID if is_mistral(draft.model) else CHAT_ID
    ids = Ids(allowed, (as_text(call["id"]) for entry in entries for call in calls_of(entry)))
    out: list[DraftMessage] = []
    for place, entry in enumerate(entries):
        if calls_of(entry):
            out += _step(draft, place, ids, answers)
        elif entry.message["role"] == "tool":
            if place not in claimed:
                out += _orphan(draft, entry, as_text(entry.message.get("tool_call_id")))
        elif entry.message["role"] == "function":
            called = _function_of(out[-1]) if out else ""
            right = bool(called) and called == entry.message.get("name")
            out += [entry] if right else _orphan(draft, entry, as_text(entry.message.get("name")))
        else:
            out.append(entry)
    return _functions_answered(draft, out)


def _step(
    draft: PromptDraft, place: int, ids: Ids, answers: Mapping[tuple[int, int], int]
) -> list[DraftMessage]:
    """Return a reply with exactly the results of its calls."""
    entry = draft.entries[place]
    calls = calls_of(entry)
    renamed: list[Json] = []
    results: list[tuple[int, DraftMessage]] = []
    missing: list[DraftMessage] = []
    for number, call in enumerate(calls):
        old = as_text(call["id"])
        new = ids.next(old)
        if new != old:
            _say_renamed(draft, draft.at(entry, f".tool_calls[{number}]"), old)
        renamed.append(call if new == old else {**call, "id": new})
        n = answers.get((place, number))
        if n is None:
            draft.note(
                "V1",
                draft.at(entry, f".tool_calls[{number}]"),
                "a call without a result",
                "a result says that none was recorded",
            )
            missing.append(DraftMessage({"role": "tool", "tool_call_id": new, "content": NO_RESULT}, ()))
        else:
            given = draft.entries[n]
            if new != old:
                given = DraftMessage({**given.message, "tool_call_id": new}, given.origins)
            results.append((n, given))
    results.sort(key=lambda found: found[0])
    for (n, found), wanted in zip(results, range(place + 1, place + 1 + len(results)), strict=True):
        if n != wanted:
            draft.note(
                "C2", draft.at(found), "a result that does not follow its call at once", "it was moved there"
            )
    if any(a is not b for a, b in zip(renamed, calls, strict=True)):
        entry = DraftMessage({**entry.message, "tool_calls": renamed}, entry.origins)
    return [entry, *(found for _, found in results), *missing]


def _say_renamed(draft: PromptDraft, where: str, old: str) -> None:
    if is_mistral(draft.model) and not MISTRAL_ID.fullmatch(old):
        draft.note("O2", where, "an id that Mistral does not allow", "call and result got another one")
    elif not CHAT_ID.fullmatch(old):
        draft.note("S3", where, "an id that is too long", "call and result got another one")
    else:
        draft.note("V1", where, "an id that an earlier call has", "call and result got another one")


def _orphan(draft: PromptDraft, entry: DraftMessage, id: str) -> list[DraftMessage]:
    content = entry.message.get("content")
    parts = [part for part in map(as_object, as_array(content) or []) if part is not None]
    words = content if isinstance(content, str) else "\n".join(words_of(part.get("text")) for part in parts)
    if id in draft.aborted:
        draft.note("V6", draft.at(entry), "a result of a reply that was removed", "it was removed")
        return []
    if not words:
        draft.note("C1", draft.at(entry), "an empty result whose call is not before it", "it was removed")
        return []
    draft.note("C1", draft.at(entry), "a result whose call is not before it", "its words became the user's")
    return [DraftMessage({"role": "user", "content": orphan_text(id, words)}, entry.origins)]


def _functions_answered(draft: PromptDraft, entries: list[DraftMessage]) -> list[DraftMessage]:
    out: list[DraftMessage] = []
    for number, entry in enumerate(entries):
        out.append(entry)
        called = _function_of(entry)
        after: Json = entries[number + 1].message if number + 1 < len(entries) else {}
        if called and after.get("role") != "function":
            draft.note(
                "V1",
                draft.at(entry, ".function_call"),
                "a call without a result",
                "a result says that none was recorded",
            )
            out.append(DraftMessage({"role": "function", "name": called, "content": NO_RESULT}, ()))
    return out


# -- requirements of other vendors' models ---------------------------------------------------------------------


def _vendors(draft: PromptDraft) -> None:
    if is_mistral(draft.model):
        draft.entries = _no_user_after_tool(draft)
    if is_deepseek(draft.model):
        draft.entries = [_with_reasoning(draft, entry) for entry in draft.entries]
    version = gemini(draft.model)
    if version is not None and version >= (3, 0):
        draft.entries = _sign_first_calls(draft)


def _no_user_after_tool(draft: PromptDraft) -> list[DraftMessage]:
    out: list[DraftMessage] = []
    for entry in draft.entries:
        if out and out[-1].message["role"] == "tool" and entry.message["role"] == "user":
            draft.note(
                "O3",
                draft.at(entry),
                "a user message right after a result",
                "a short reply was put between them",
            )
            out.append(DraftMessage({"role": "assistant", "content": "Done."}, ()))
        out.append(entry)
    return out


def _with_reasoning(draft: PromptDraft, entry: DraftMessage) -> DraftMessage:
    message = entry.message
    if message["role"] != "assistant" or isinstance(message.get("reasoning_content"), str):
        return entry
    draft.note("O4", draft.at(entry), "a reply without a field for its reasoning", "it got an empty one")
    return DraftMessage({**message, "reasoning_content": ""}, entry.origins)


def _sign_first_calls(draft: PromptDraft) -> list[DraftMessage]:
    """Add a signature to the first call of each reply."""
    out: list[DraftMessage] = []
    for entry in draft.entries:
        calls = calls_of(entry)
        first = as_object(calls[0]) if calls else None
        extra = as_object(first.get("extra_content")) if first else None
        google = as_object((extra or {}).get("google")) or {}
        if first is not None and not as_text(google.get("thought_signature")):
            draft.note(
                "O1",
                draft.at(entry, ".tool_calls[0]"),
                "a first call without a signature",
                "it got the one for calls from elsewhere",
            )
            signed = {**(extra or {}), "google": {**google, "thought_signature": _SIGNATURE}}
            message = {**entry.message, "tool_calls": [{**first, "extra_content": signed}, *calls[1:]]}
            out.append(DraftMessage(message, entry.origins))
        else:
            out.append(entry)
    return out


# -- cache points ----------------------------------------------------------------------------------------------


def _cache_points(draft: PromptDraft) -> None:
    version = gpt(draft.model)
    too_old = version is not None and version < (5, 6)
    marked = [
        (n, m)
        for n, entry in enumerate(draft.entries)
        for m, part in enumerate(as_array(entry.message.get("content")) or [])
        if _POINT in (as_object(part) or {})
    ]
    allowed = [place for place in marked if draft.entries[place[0]].message["role"] != "assistant"]
    kept = set(() if too_old else allowed[-_MATCHED:])
    for n, m in marked:
        if (n, m) in kept:
            continue
        entry = draft.entries[n]
        draft.note(
            "C5",
            draft.at(entry, f".content[{m}]"),
            "a cache point that this model does not take here",
            "it was removed",
        )
        content = list(as_array(entry.message["content"]) or [])
        content[m] = without(content[m], _POINT)
        draft.entries[n] = DraftMessage({**entry.message, "content": content}, entry.origins)
