"""What every prompt promises, judged from outside: by the checker, by a second one, and by the model of what is live."""

from __future__ import annotations

import json
from typing import Any

import backscroll
from backscroll import Media, Wire
from backscroll.engine.budget.counts import kept_bytes
from backscroll.engine.knowledge.lore.books import TELLS, entry_id
from backscroll.errors import BudgetTooSmall
from backscroll.llm.tokens.overhead import message_tokens
from backscroll.llm.tokens.tokens import tokenizer_for
from backscroll.vocab.prompt import Section
from tests.assemble import wire_oracle
from tests.fuzz.talk import Line, Talk

WIRES: tuple[Wire, ...] = ("openai-chat", "openai-responses", "anthropic")
BUDGETS = (500, 900, 2000, 4000, 8000, 16_000, 32_000, 100_000, 400_000)
_SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


def tools_for(wire: Wire) -> list[dict[str, Any]]:
    """Two tools, as a wire wants them."""
    out: list[dict[str, Any]] = []
    for name in ("Read", "Bash"):
        if wire == "anthropic":
            out.append({"name": name, "input_schema": _SCHEMA})
        elif wire == "openai-chat":
            out.append({"type": "function", "function": {"name": name, "parameters": _SCHEMA}})
        else:
            out.append({"type": "function", "name": name, "parameters": _SCHEMA})
    return out


def asked(thread: backscroll.Thread, budget: int, wire: Wire, tools: bool = False) -> Any:
    """A prompt that leaves nothing behind; None where the budget is refused."""
    try:
        return thread.prompt(
            budget, wire=wire, reserve=0, tools=tools_for(wire) if tools else (), dry_run=True
        )
    except BudgetTooSmall:
        return None


def spelled(made: Any) -> str:
    """A prompt as it is sent."""
    return json.dumps(made.request, ensure_ascii=False)


def assert_valid(made: Any) -> None:
    """No service refuses it."""
    flaws = backscroll.check(made.messages, made.wire, system=made.system, tools=list(made.tools))
    assert not flaws, f"{made.wire}: not valid by our own rules: {flaws[:3]}"
    spelled(made).encode("utf-8")
    wire_oracle.judge(made.messages, made.wire, made.system)
    if made.wire == "openai-responses":
        assert made.messages, "openai-responses: an empty input"
    if made.wire == "anthropic" and not made.tools:
        kinds = {
            block["type"]
            for message in made.messages
            if isinstance(message["content"], list)
            for block in message["content"]
        }
        assert not kinds & {"tool_use", "tool_result"}, "anthropic: tool blocks in a request without tools"


def assert_fits(made: Any) -> None:
    """It is within the budget, by its own account and by a second count of its texts."""
    receipt = made.receipt
    assert receipt.total <= receipt.budget, f"{receipt.total} tokens in a budget of {receipt.budget}"
    tokens = _text_tokens(made.messages) + _text_tokens(made.system)
    assert tokens <= receipt.budget, f"{tokens} tokens of text in a budget of {receipt.budget}"


def assert_weighed(talk: Talk, made: Any) -> None:
    """No block weighs less than what it consists of. (Of a picture whose bytes were forgotten, nothing but its name is sent.)"""
    bytes_of = kept_bytes(talk.engine)
    for block in made.blocks:
        if any(isinstance(part, Media) and bytes_of(part) is None for part in block.parts):
            continue
        told = message_tokens(
            block.parts, block.role, tokenizer_for(""), made.wire, author=block.author, bytes_of=bytes_of
        )
        assert told <= block.tokens, (
            f"{block.message}, {block.reason}: {told} tokens, taken for {block.tokens}"
        )


def _text_tokens(value: Any) -> int:
    if isinstance(value, dict):
        texts = ("content", "text", "arguments", "input", "output")
        return sum(_text_tokens(v) for k, v in value.items() if k in texts)
    if isinstance(value, list):
        return sum(_text_tokens(v) for v in value)
    return tokenizer_for("").count(value) if isinstance(value, str) else 0


def required(talk: Talk, name: str) -> list[tuple[str, Line]]:
    """What has to be in every prompt of a thread, and why."""
    cropped = talk.cropped(name)
    shown = [line for line in talk.lines[name] if line.visible and line.id not in cropped]
    users = [n for n, line in enumerate(shown) if line.role == "user"]
    out = [("a system message", line) for line in shown if line.role == "system"]
    out += [("a pinned message", line) for line in shown if line.pinned]
    if users:
        out.append(("the latest user message", shown[users[-1]]))
    newest = shown[users[-1] + 1 :] if users else shown
    told = {call for line in newest for call in line.answers}
    out += [("a waiting call", line) for line in newest[-1:] if any(call not in told for call in line.calls)]
    return out


def assert_holds(talk: Talk, name: str, made: Any) -> None:
    """What is protected is in it, and what is live is shown, summed up or counted as left out."""
    said = spelled(made)
    for why, line in required(talk, name):
        assert line.word in said, (
            f"{why} ({line.id}, {line.word}) is not in a prompt of {made.receipt.budget}"
        )
    receipt = made.receipt
    live = {line.id for line in talk.live(name)}
    assert receipt.messages == len(live), f"{receipt.messages} messages counted, {len(live)} are live"
    shown = {str(block.message) for block in made.blocks if block.message is not None} & live
    counted = len(shown) + receipt.left_out
    assert counted == len(live), f"{len(shown)} shown and {receipt.left_out} left out of {len(live)}"
    if not receipt.left_out:
        hidden = [line for line in talk.live(name) if line.hidden]
        assert not hidden, "a hidden message is counted as shown"


def assert_lore(talk: Talk, name: str, made: Any) -> None:
    """Every entry of a lorebook in it stands there once, is in force, is not switched off, and the receipt says what woke it."""
    shown = [block for block in made.blocks if block.section is Section.LORE]
    entries = [e for e in talk.thread(name).graph.world() if e.rule is not None and e.enabled]
    told = [t for block in shown for t in block.tells]
    assert len(told) == len(set(told)), f"an entry stands twice in the prompt: {told}"
    assert set(told) <= {f"{TELLS}{entry_id(e)}" for e in entries}, "an entry that is not in force is shown"
    for block in shown:
        if block.reason == "cut":  # shortened as the last resort, which the receipt says too
            assert made.receipt.cut
            continue
        assert block.reason.startswith("lorebook entry «"), block.reason
        assert not (block.reason.endswith(": always") and block.sources), block.reason


def assert_whole(talk: Talk, name: str, made: Any) -> None:
    """Where nothing was ever condensed or cropped, and all of it fits many times over, every word is there."""
    kinds = {event.kind.value for event in talk.thread(name).events()}
    receipt = made.receipt
    size = sum(
        line.size for line in talk.lines[name] if line.visible
    )  # a token has about a character or more
    if kinds & {"compacted", "cropped"} or receipt.compaction or size * 2 > receipt.budget:
        return
    said = spelled(made)
    missing = [line for line in talk.lines[name] if line.visible and line.word and line.word not in said]
    assert not missing, f"{missing[:3]} not in a prompt of {receipt.budget} tokens, for {size} characters"


def assert_keeps(talk: Talk, name: str, budget: int, wire: Wire, *, tools: bool = False) -> bool:
    """One prompt and all it promises; False where the budget is refused."""
    thread = talk.thread(name)
    made = asked(thread, budget, wire, tools)
    if made is None:
        return False
    try:
        assert_valid(made)
        assert_fits(made)
        assert_weighed(talk, made)
        assert_holds(talk, name, made)
        assert_whole(talk, name, made)
        again = asked(thread, budget, wire, tools)
        assert again is not None
        assert spelled(again) == spelled(made), "the same prompt, asked for again, has other bytes"
    except AssertionError as error:
        error.add_note(f"prompt of {name[:8]}: budget {budget}, {wire}{', with tools' if tools else ''}")
        raise
    return True


def assert_monotone(talk: Talk, name: str, wire: Wire) -> None:
    """Where a budget works, every larger one does; and the one that a refusal names works."""
    worked = 0
    for budget in BUDGETS:
        done = assert_keeps(talk, name, budget, wire)
        assert done or not worked, f"{wire}: a budget of {worked} works, one of {budget} is refused"
        worked = worked or (budget if done else 0)
        if not done:
            least = _minimum(talk.thread(name), budget, wire)
            assert asked(talk.thread(name), least, wire), f"{wire}: {least} is named as enough, and refused"


def _minimum(thread: backscroll.Thread, budget: int, wire: Wire) -> int:
    try:
        thread.prompt(budget, wire=wire, reserve=0, dry_run=True)
    except BudgetTooSmall as refused:
        return refused.minimum
    return budget
