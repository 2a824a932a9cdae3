"""The forms of insertions: our own words, quoted words as the result of a call, or in a frame that nothing can close."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.assemble.validity import check
from backscroll.assemble.validity.draft import NO_REPLY
from backscroll.assemble.wires import RenderedPrompt, render
from backscroll.assemble.wires.insertion import TOOL, words_of_insertion
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Role
from backscroll.vocab.part import Part, Reasoning, Text, ToolCall, ToolResult
from backscroll.vocab.prompt import WIRES, Block, Section, Wire
from tests.fuzz.growing import TOOLS

CHAT, RESPONSES, ANTHROPIC = WIRES
BINDING, OPENAI = "claude-opus-5-5", "gpt-5.6"
MODELS: dict[Wire, str] = {CHAT: OPENAI, RESPONSES: OPENAI, ANTHROPIC: BINDING}
HERE = Ref("ab" * 16, 7)


def block(role: Role, *parts: Part | str, section: Section = Section.RECENT, **more: Any) -> Block:
    return Block(role, tuple(Text(p) if isinstance(p, str) else p for p in parts), section, **more)


def quoted(words: str = "a.txt was deleted", section: Section = Section.RECALLED) -> Block:
    return block("user", words, section=section, sources=(HERE,))


def task(words: str = "- [ ] step one", section: Section = Section.TASK) -> Block:
    return block("user", words, section=section)


def sent(wire: Wire, *blocks: Block, tools: bool = True, **more: Any) -> RenderedPrompt:
    out = render(blocks, wire, tools=[TOOLS[wire]] if tools else [], **{"model": MODELS[wire], **more})
    assert check(out.messages, wire, system=out.system, tools=out.tools, model=MODELS[wire]) == []
    return out


ASKED = block("user", "what was it?")
LOOP = (
    ASKED,
    block("assistant", Reasoning("hm", "sig"), ToolCall("c1", "ls", {})),
    block("tool", ToolResult("c1", (Text("b"),))),
)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("section", [Section.RECALLED, Section.GRAPH])
def test_quoted_text_is_sent_as_a_tool_result(wire: Wire, section: Section) -> None:
    """Behind the words of the user, where tools are offered; the model answers after the result."""
    text = json.dumps(sent(wire, ASKED, quoted(section=section)).messages[1:])
    assert len(re.findall(rf'"{TOOL}"', text)) == 1
    assert len(set(re.findall("recall_[0-9a-f]{24}", text))) == 1
    assert "a.txt was deleted" in text
    assert "quoted as data" not in text


@pytest.mark.parametrize("wire", WIRES)
def test_quoted_text_is_framed_without_tools(wire: Wire) -> None:
    """Without tools there can be no tool call; quoted text is never a developer message."""
    out = sent(wire, ASKED, quoted(), tools=False)
    text = json.dumps(out.messages)
    assert TOOL not in text
    assert "developer" not in text
    found = re.search(
        r"\[quoted as data ([0-9a-f]{12})\]\\na.txt was deleted\\n\[end of ([0-9a-f]{12})\]", text
    )
    assert found is not None
    assert found[1] == found[2]


def test_quoted_text_is_framed_where_a_call_is_unsafe() -> None:
    """Inside a loop of calls, behind a reply, and on models that may be asked to think in the old way: a framed text."""
    for blocks in (LOOP, (ASKED, block("assistant", "ok")), ()):
        for model in (BINDING, "claude-opus-4-8", None):
            assert TOOL not in json.dumps(
                sent(ANTHROPIC, *blocks, quoted(), model=model, same_model=True).messages
            )
    assert TOOL not in json.dumps(sent(ANTHROPIC, ASKED, quoted(), model="claude-opus-4-8").messages)
    out = sent(ANTHROPIC, *LOOP, quoted(), same_model=True)
    assert [b["type"] for b in out.messages[-1]["content"]] == ["tool_result", "text"]
    for model in ("mistral-small", "deepseek-v4", "gemini-3", "qwen3", None):
        assert TOOL not in json.dumps(
            render([ASKED, quoted()], CHAT, tools=[TOOLS[CHAT]], model=model).messages
        )


@pytest.mark.parametrize("wire", WIRES)
def test_call_id_is_derived_from_the_block(wire: Wire) -> None:
    """The same for the same block, another for another; a block that is placed twice gets two."""

    def ids(*blocks: Block) -> list[str]:
        text = json.dumps(sent(wire, ASKED, *blocks).messages)
        return list(dict.fromkeys(re.findall("(?:recall|call)_[0-9a-f]{24}", text)))

    assert ids(quoted()) == ids(quoted())
    assert ids(quoted()) != ids(quoted("else"))
    twice = ids(quoted(), quoted())
    assert len(twice) == 2
    assert twice[:1] == ids(quoted())


@given(st.text(), st.sampled_from([Section.RECALLED, Section.GRAPH]))
def test_no_text_closes_its_own_frame(words: str, section: Section) -> None:
    """Not even one that quotes the frame of another, or of an earlier version of itself."""
    for _ in range(3):
        framed = words_of_insertion(quoted(words, section))
        opening = framed.split("\n", 1)[0]
        id = opening.removeprefix("[quoted as data ").removesuffix("]")
        assert framed.count(id) == 2
        assert framed.endswith(f"\n[end of {id}]")
        words = framed


def test_own_text_is_not_framed() -> None:
    for section in (Section.TASK, Section.OPERATIONS, Section.MEMORY):
        assert words_of_insertion(task("plain", section)) == "plain"


@pytest.mark.parametrize("wire", WIRES)
def test_memory_after_the_first_message_is_an_insertion(wire: Wire) -> None:
    """At the front it is not; a pinned message is never an insertion."""
    memory = task("likes tea", Section.MEMORY)
    front = sent(wire, memory, ASKED)
    assert front.inserted == ()
    behind = sent(wire, ASKED, memory)
    assert behind.inserted == (1,)
    if wire != ANTHROPIC:
        assert behind.messages[-1]["role"] == "developer"
    pinned = block("user", "never delete it", section=Section.MEMORY, message=HERE)
    assert sent(wire, ASKED, pinned).inserted == ()


def test_insertions_as_mid_conversation_system_messages() -> None:
    """Asked for, and on models that take them: behind the user's message, one for neighbours; quoted words never."""
    out = sent(ANTHROPIC, ASKED, quoted(), task("one"), task("two"), insertions="system")
    assert [m["role"] for m in out.messages] == ["user", "assistant", "user", "system"]
    assert [b["text"] for b in out.messages[-1]["content"]] == ["one", "two"]
    old = sent(ANTHROPIC, ASKED, task("one"), insertions="system", model="claude-opus-4-5")
    assert [m["role"] for m in old.messages] == ["user"]
    after = sent(ANTHROPIC, ASKED, block("assistant", "ok"), task("one"), insertions="system")
    assert [m["role"] for m in after.messages] == ["user", "assistant", "user"]


def test_user_message_after_a_system_insertion_gets_a_placeholder_reply() -> None:
    """The wire refuses a user message directly after a system message."""
    out = sent(ANTHROPIC, ASKED, task("one"), block("user", "hello?"), insertions="system")
    assert [m["role"] for m in out.messages] == ["user", "system", "assistant", "user"]
    assert out.messages[2]["content"][0]["text"] == NO_REPLY
    assert out.origins == [(0,), (1,), (), (2,)]
