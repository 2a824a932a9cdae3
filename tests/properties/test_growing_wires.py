"""Prompts only grow: what was sent on a wire stays as it was sent, whatever comes next."""

from __future__ import annotations

import json
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.assemble.validity.draft import GO_ON, NO_RESULT
from backscroll.assemble.wires import render
from backscroll.assemble.wires.insertion import INSERTION_FORMS
from backscroll.vocab.message import Role
from backscroll.vocab.part import Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from backscroll.vocab.prompt import WIRES, Block, Section, Wire
from tests.fuzz.bound import BINDING, Conversation
from tests.fuzz.growing import MODELS, TOOLS, Story, begins, promise

CHAT, RESPONSES, ANTHROPIC = WIRES


def block(role: Role, *parts: Part | str, section: Section = Section.RECENT) -> Block:
    return Block(role, tuple(Text(part) if isinstance(part, str) else part for part in parts), section)


def call(*ids: str) -> Block:
    return block("assistant", *(ToolCall(id, "ls", {}) for id in ids))


def result(id: str, words: str = "out") -> Block:
    return block("tool", ToolResult(id, (Text(words),)))


@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=150)
@given(st.randoms(use_true_random=False), st.integers(2, 12), st.data())
def test_a_prompt_is_the_beginning_of_the_next(
    wire: Wire, chance: random.Random, count: int, data: st.DataObject
) -> None:
    """Over calls, results, late and lost ones, doubled ids, insertions: valid at every block, and only growing."""
    model = data.draw(st.sampled_from(MODELS[wire]))
    tools = data.draw(st.sampled_from([None, [], [TOOLS[wire]]]))
    proven, manner = data.draw(st.booleans()), data.draw(st.sampled_from(INSERTION_FORMS))
    promise(Story(chance).tell(count), wire, model, tools, proven=proven, insertions=manner)


@settings(max_examples=60)
@given(st.randoms(use_true_random=False), st.data())
def test_a_strict_service_takes_every_prompt(chance: random.Random, data: st.DataObject) -> None:
    """Turns, loops of calls, thinking, insertions in every form: no thinking ever stands behind another prompt."""
    model = data.draw(st.sampled_from(BINDING))
    tools = data.draw(st.sampled_from([[], [TOOLS[ANTHROPIC]]]))
    told = Conversation(chance, model, tools, data.draw(st.sampled_from(INSERTION_FORMS)))
    for _ in range(8):
        told.step()
    assert told.service.flaws == []


@pytest.mark.parametrize("wire", WIRES)
def test_late_result_is_placed_where_it_arrived(wire: Wire) -> None:
    """The user spoke before it came: the placeholder was sent, and stays."""
    blocks = [block("user", "go"), call("c1"), block("user", "stop")]
    one, two = render(blocks, wire), render([*blocks, block("assistant", "ok"), result("c1", "found")], wire)
    assert NO_RESULT in json.dumps(one.messages)
    assert begins(one.messages, two.messages)
    assert "[late result of the call ls c1]" in json.dumps(two.messages[-1])
    assert one.settled
    assert two.settled


@pytest.mark.parametrize("wire", WIRES)
def test_results_of_parallel_calls_are_waited_for(wire: Wire) -> None:
    """No placeholder while a call waits; results in any order, or next to system text, are accepted."""
    blocks = [block("user", "go"), call("c1", "c2"), result("c2", "two")]
    assert not render(blocks, wire).settled
    done = render([*blocks, block("system", "a hook ran"), result("c1", "one")], wire)
    assert done.settled
    text = json.dumps(done.messages)
    assert NO_RESULT not in text
    assert text.index('"two"') < text.index('"one"') < text.index("a hook ran")


@pytest.mark.parametrize("wire", WIRES)
def test_replies_in_pieces_are_joined(wire: Wire) -> None:
    """Some programs record calls and results of one reply as they come."""
    blocks = [
        block("user", "go"),
        call("c1"),
        call("c2"),
        result("c2", "two"),
        call("c3"),
        result("c3", "three"),
    ]
    done = render([*blocks, result("c1", "one")], wire)
    text = json.dumps(done.messages)
    assert NO_RESULT not in text
    assert "result of" not in text
    assert "moved" not in str(done.changes)  # mending finds everything in its place


@pytest.mark.parametrize("wire", WIRES)
def test_insertion_closes_a_step(wire: Wire) -> None:
    """It was sent after a placeholder; a later result cannot change that."""
    blocks = [block("user", "go"), call("c1"), block("user", "task", section=Section.TASK)]
    one, two = render(blocks, wire), render([*blocks, result("c1", "found")], wire)
    assert begins(one.messages, two.messages)
    assert "[late result of the call ls c1]" in json.dumps(two.messages)


@pytest.mark.parametrize("wire", WIRES)
def test_ids_depend_on_earlier_calls_alone(wire: Wire) -> None:
    """Even if a later call has an id that an earlier one was given."""
    odd = "x y" * 30
    blocks = [block("user", "go"), call(odd), result(odd)]
    one = render(blocks, wire)
    made = re.findall("call_[0-9a-f]{24}", json.dumps(one.messages))[0]
    two = render([*blocks, call(made), result(made), call(made), result(made)], wire)
    assert begins(one.messages, two.messages)
    assert len(set(re.findall("call_[0-9a-f]{24}", json.dumps(two.messages)))) == 3


def test_later_blocks_do_not_remove_thinking() -> None:
    """Calls in a prompt without tools, a broken seal: only what follows loses its thinking."""
    begun = [block("user", "a"), block("assistant", Reasoning("hm", "sig"), "b"), block("user", "c")]
    later = [call("c1"), result("c1"), block("assistant", Reasoning("then", "sig"), "d"), block("user", "e")]
    one = render(begun, ANTHROPIC, tools=[], same_model=True)
    two = render([*begun, *later], ANTHROPIC, tools=[], same_model=True)
    assert begins(one.messages, two.messages)
    assert "hm" in json.dumps(two.messages)
    assert "then" not in json.dumps(two.messages)


def test_broken_seal_keeps_earlier_thinking() -> None:
    """In the middle of a loop of calls: what was sent with its thinking keeps it."""
    thinks = block("assistant", Reasoning("hm", "sig"), ToolCall("c1", "ls", {}))
    broken = Opaque("anthropic", "redacted_thinking", '{"type": "redacted_thinking"}')
    begun = [block("user", "a"), thinks, result("c1")]
    later = [block("assistant", broken, ToolCall("c2", "ls", {})), result("c2")]
    one, two = (render(blocks, ANTHROPIC, same_model=True) for blocks in (begun, [*begun, *later]))
    assert begins(one.messages, two.messages)
    assert "hm" in json.dumps(two.messages)
    assert "redacted" not in json.dumps(two.messages)


def test_request_to_continue_stays_unsettled() -> None:
    """It holds the user's place; the caller that sends such a prompt has to record it."""
    out = render([block("user", "a"), block("assistant", "b")], ANTHROPIC)
    assert GO_ON in json.dumps(out.messages)
    assert not out.settled


def test_many_open_steps_are_closed_without_recursion() -> None:
    """Thousands of replies with a lost result each and no user message between them; nothing is lost."""
    blocks = [block("user", "go")]
    for n in range(1500):
        blocks += [call(f"a{n}", f"b{n}"), result(f"b{n}", f"out {n}")]
    out = render(blocks, ANTHROPIC)
    text = json.dumps(out.messages)
    assert text.count(NO_RESULT) == 1500
    assert all(f'"out {n}"' in text for n in (0, 700, 1499))
