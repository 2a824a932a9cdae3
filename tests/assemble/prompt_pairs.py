"""Rules that two prompts keep between them: before and after a crop, one call and the next, a prompt and its fork.

Checks for tests: what only a comparison shows, and sums (windows, the service's own compaction, usage figures).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from backscroll.assemble.validity.binding import Sent
from backscroll.assemble.validity.rules import PromptFlaw, rules
from backscroll.formats.sources.json_text import dumps
from backscroll.formats.sources.rows import as_array, as_object, as_text
from backscroll.vocab.part import Json
from backscroll.vocab.prompt import Wire

_LOOKBACK: Final = 20  # so many blocks before a mark the service looks for what it has cached
_THOUGHTS: Final = ("thinking", "redacted_thinking")


class _PairFlaws(list[PromptFlaw]):
    """Flaws so far."""

    def note(self, rule: str, where: str, what: str) -> None:
        """Add a flaw."""
        named = rules()[rule]
        self.append(PromptFlaw(named, where, what, named.hint))


class _ReplyCalls(NamedTuple):
    """The calls of one reply."""

    place: int
    calls: tuple[str, ...]


# -- before and after a crop -----------------------------------------------------------------------------------


def check_crop(before: Sent, after: Sent, *, sizes: tuple[int, int] | None = None) -> list[PromptFlaw]:
    """Return what a crop broke: `sizes` are the tokens before and after, where they are known."""
    found = _PairFlaws()
    _survivors(found, before, after)
    _pairs(found, before, after)
    _thoughts(found, before, after)
    if before.wire == "openai-responses":
        _order(found, before, after)
        _compactions(found, before, after)
    if sizes is not None and sizes[1] >= sizes[0]:
        found.note("V10", "", "the prompt is not smaller than before")
    return found


def _survivors(found: _PairFlaws, before: Sent, after: Sent) -> None:
    kept = {dumps(message) for message in after.messages}
    for n, message in enumerate(before.messages):
        if message.get("role") in ("system", "developer") and dumps(message) not in kept:
            found.note("V8", f"[{n}]", "a system message is gone")
    if before.system is not None and before.system != after.system:
        found.note("V8", "system", "the system text is gone, or another one")
    latest = next(
        (n for n in range(len(before.messages) - 1, -1, -1) if _list_user_blocks(before.messages[n])), None
    )
    if latest is not None:
        words = _list_user_blocks(before.messages[latest])
        if not any(_contains(_list_user_blocks(message), words) for message in after.messages):
            found.note("V8", f"[{latest}]", "the latest message of the user is gone")


def _list_user_blocks(message: Mapping[str, Json]) -> list[str]:
    """Return what the user said in a message, block by block; nothing for results and for other roles."""
    if message.get("role") != "user":
        return []
    content = message.get("content")
    blocks: list[Json] = (
        [{"type": "text", "text": content}] if isinstance(content, str) else as_array(content) or []
    )
    return [dumps(block) for block in blocks if (as_object(block) or {}).get("type") != "tool_result"]


def _contains(said: list[str], words: list[str]) -> bool:
    return any(said[n : n + len(words)] == words for n in range(len(said) - len(words) + 1))


def _calls(message: Mapping[str, Json]) -> Iterator[str]:
    for call in as_array(message.get("tool_calls")) or []:
        yield as_text((as_object(call) or {}).get("id"))
    if as_text(message.get("type")).endswith("_call") and "call_id" in message:
        yield as_text(message["call_id"])
    for block in as_array(message.get("content")) or []:
        data = as_object(block) or {}
        if data.get("type") == "tool_use":
            yield as_text(data.get("id"))


def _results(message: Mapping[str, Json]) -> Iterator[str]:
    if message.get("role") == "tool":
        yield as_text(message.get("tool_call_id"))
    if as_text(message.get("type")).endswith("_call_output"):
        yield as_text(message.get("call_id"))
    for block in as_array(message.get("content")) or []:
        data = as_object(block) or {}
        if data.get("type") == "tool_result":
            yield as_text(data.get("tool_use_id"))


def _steps(sent: Sent) -> list[_ReplyCalls]:
    """Return the calls of each reply; on the Responses wire neighbouring calls are those of one reply."""
    out: list[_ReplyCalls] = []
    before = -2
    for n, message in enumerate(sent.messages):
        calls = tuple(_calls(message))
        if not calls:
            continue
        if sent.wire == "openai-responses" and n == before + 1 and out:
            out[-1] = _ReplyCalls(out[-1].place, out[-1].calls + calls)
        else:
            out.append(_ReplyCalls(n, calls))
        before = n
    return out


def _pairs(found: _PairFlaws, before: Sent, after: Sent) -> None:
    asked = {id for message in after.messages for id in _calls(message)}
    told = {id for message in after.messages for id in _results(message)}
    answered = {id for message in before.messages for id in _results(message)}
    for step in _steps(before):
        kept = [id for id in step.calls if id in asked]
        if kept and len(kept) < len(step.calls):
            found.note("V2", f"[{step.place}]", "some calls of a reply are gone, others are not")
        for id in step.calls:
            if id in answered and (id in asked) != (id in told):
                found.note("V3", f"[{step.place}]", "a call and its result were parted")


def _thoughts(found: _PairFlaws, before: Sent, after: Sent) -> None:
    """Thinking of the running loop: all of it as it was, or none."""
    start = max((n for n, message in enumerate(before.messages) if _list_user_blocks(message)), default=-1)
    loop = [dumps(block) for message in before.messages[start + 1 :] for block in _thinking(message)]
    there = {dumps(block) for message in after.messages for block in _thinking(message)}
    kept = [block for block in loop if block in there]
    if kept and len(kept) < len(loop):
        found.note("V3", f"[{start + 1}]", "a part of the thinking of the running loop is gone")
    last = max((n for n, message in enumerate(after.messages) if _list_user_blocks(message)), default=-1)
    left = [dumps(block) for message in after.messages[last + 1 :] for block in _thinking(message)]
    if any(block not in loop for block in left) and loop:
        found.note("A7", "", "thinking of the running loop is not as it was")


def _thinking(message: Mapping[str, Json]) -> Iterator[Json]:
    for block in as_array(message.get("content")) or []:
        if (as_object(block) or {}).get("type") in _THOUGHTS:
            yield block


def _order(found: _PairFlaws, before: Sent, after: Sent) -> None:
    places = {dumps(item): n for n, item in enumerate(before.messages)}
    known = [places[text] for item in after.messages if (text := dumps(item)) in places]
    if known != sorted(known):
        found.note("R3", "", "items stand in another order than they came in")


def _compactions(found: _PairFlaws, before: Sent, after: Sent) -> None:
    newest = max(
        (n for n, item in enumerate(before.messages) if item.get("type") == "compaction"), default=None
    )
    if newest is None:
        return
    kept = {dumps(item) for item in after.messages}
    for n in range(newest, len(before.messages)):
        if dumps(before.messages[n]) not in kept:
            found.note("R7", f"[{n}]", "the newest compaction, or something behind it, is gone")


# -- one call and the next -------------------------------------------------------------------------------------


def check_change(before: Sent, after: Sent) -> list[PromptFlaw]:
    """Return what throws away the provider's cache between two calls."""
    found = _PairFlaws()
    if before.wire != "anthropic":
        if list(before.tools) != list(after.tools):
            found.note("C4", "tools", "the tools are not those of the call before")
        return found
    if list(before.tools) != list(after.tools) or before.model != after.model:
        found.note("A12", "tools", "tools or model changed: nothing of the cache is left")
    elif _strip_cache_marks(before.system) != _strip_cache_marks(after.system):
        found.note("A12", "system", "the system text changed: only the tools are still cached")
    elif any(before.options.get(key) != after.options.get(key) for key in ("thinking", "tool_choice")):
        found.note("A12", "", "thinking or the choice of tools changed: the messages are not cached any more")
    _distance(found, before, after)
    return found


def _strip_cache_marks(value: Json) -> Json:
    """Return a value without its cache marks, which may move."""
    items, data = as_array(value), as_object(value)
    if items is not None:
        return [_strip_cache_marks(item) for item in items]
    if data is not None:
        return {key: _strip_cache_marks(inner) for key, inner in data.items() if key != "cache_control"}
    return value


def _marks(sent: Sent) -> tuple[list[int], int]:
    """Return the places of the marks in the messages, counted in blocks, and how many blocks there are."""
    marks: list[int] = []
    count = 0
    for message in sent.messages:
        for block in as_array(message.get("content")) or [{}]:
            if (as_object(block) or {}).get("cache_control"):
                marks.append(count)
            count += 1
    return marks, count


def _distance(found: _PairFlaws, before: Sent, after: Sent) -> None:
    (old, _), (new, _) = _marks(before), _marks(after)
    if old and new and not any(0 <= mark - old[-1] <= _LOOKBACK for mark in new):
        found.note("A11", "messages", "no cache mark is near enough to the last one of the call before")


def check_fork(main: Sent, fork: Sent) -> list[PromptFlaw]:
    """Return whether a request for a summary reads the cache of the conversation that it is about."""
    found = _PairFlaws()
    same = _strip_cache_marks(main.system) == _strip_cache_marks(fork.system) and list(main.tools) == list(
        fork.tools
    )
    if not same or main.model != fork.model:
        found.note("A13", "", "system, tools or model are not those of the conversation")
    return found


# -- sums ------------------------------------------------------------------------------------------------------


def check_budget(
    window: int,
    *,
    messages: int,
    system: int = 0,
    tools: int = 0,
    reserve: int = 0,
    truncation: str | None = None,
) -> list[PromptFlaw]:
    """Return whether everything together fits the window. `truncation` is the option of a Responses request."""
    found = _PairFlaws()
    total = messages + system + tools + reserve
    if total > window and truncation != "auto":
        found.note("V9", "", f"{total} tokens with everything, {window} is what the window holds")
        if truncation is not None:
            found.note("R8", "truncation", "the service will refuse this instead of cutting it")
    return found


def check_compacted(items: Sequence[Mapping[str, Json]]) -> list[PromptFlaw]:
    """Return whether a list is what the service's own compaction gives back."""
    found = _PairFlaws()
    kinds = [as_text(item.get("type")) or "message" for item in items]
    if kinds.count("compaction") != 1 or kinds[-1:] != ["compaction"]:
        found.note("R9", "", "there is not exactly one compaction at the end")
    for n, item in enumerate(items):
        if kinds[n] == "message" and item.get("role") != "user":
            found.note("R9", f"[{n}]", "something beside user messages stands before the compaction")
    return found


def prompt_size(usage: Mapping[str, Json], wire: Wire) -> int:
    """Return how many tokens a prompt had by what the service reports: rule A15."""
    if wire == "anthropic":
        keys = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        return sum(_number(usage.get(key)) for key in keys)
    return _number(usage.get("prompt_tokens" if wire == "openai-chat" else "input_tokens"))


def _number(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
