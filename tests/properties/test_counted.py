"""A prompt is never counted as less than what is sent, whatever its parts, on every wire."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.assemble.wires import RenderedPrompt, anthropic, openai_chat, openai_responses, render
from backscroll.assemble.wires.shape import WireContext
from backscroll.engine.prompts.rendering import count_tokens
from backscroll.formats.sources.media import no_blobs, to_data_url
from backscroll.llm.tokens.overhead import message_tokens
from backscroll.llm.tokens.tokens import Tokenizer, tokenizer_for
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import ROLES, Role
from backscroll.vocab.part import Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from backscroll.vocab.prompt import Block, Section

SPELLERS = {
    "openai-chat": openai_chat.render_block,
    "openai-responses": openai_responses.render_block,
    "anthropic": anthropic.render_block,
}
WIRES = tuple(SPELLERS)
THREAD = "0" * 32
#: Texts that grow where they are put inside JSON, in quotes or behind a label.
GROWING = (
    'x = "a\\b"\n好',
    "'\\n",
    '{"path": 1',
    "\x00\x07\n\t",
    "\ud83d好",
    "[1, 2]",
    "{'a': 'b\\n'}",
    "<tool_result>",
)


def texts() -> st.SearchStrategy[str]:
    """Words of any kind, now and then long, now and then such as grow."""
    grown = st.tuples(st.sampled_from(GROWING), st.integers(1, 60)).map(lambda pair: pair[0] * pair[1])
    return st.one_of(st.text(max_size=40), grown)


def names() -> st.SearchStrategy[str]:
    """Names of calls and tools as other programs make them up."""
    return st.one_of(
        st.sampled_from(("c1", "c2", "Read", "浏览器", "call_" + "a1" * 12)), st.text(min_size=1, max_size=80)
    )


def values() -> st.SearchStrategy[Any]:
    """Arguments: an object, a text that holds one, a text that does not, or anything else that JSON has."""
    plain = st.one_of(st.none(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), texts())
    objects = st.dictionaries(texts(), plain, max_size=3)
    spelled = objects.map(lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    return st.one_of(objects, spelled, texts(), plain, st.lists(plain, max_size=3))


def media() -> st.SearchStrategy[Media]:
    """Attachments by their bytes, in an address or on the web."""
    kinds = st.sampled_from(
        ("text/plain", "application/json", "text", "application/*", "image/png", "image/tiff", "application/x-yaml",
         "application/toml", "audio/ogg", "video/mp4")
    )  # fmt: skip
    data = st.one_of(texts().map(lambda text: text.encode("utf-8", "replace")), st.binary(max_size=60))
    named = st.one_of(st.none(), texts())
    by_bytes = st.builds(lambda kind, data, name: Media(kind, data=data, name=name), kinds, data, named)
    inside = st.builds(
        lambda kind, data, name: Media(kind, url=to_data_url(kind, data), name=name), kinds, data, named
    )
    web = st.builds(
        lambda kind, path, name: Media(kind, url=f"https://example.org/{path}", name=name),
        kinds,
        texts(),
        named,
    )
    return st.one_of(by_bytes, inside, web)


def opaques() -> st.SearchStrategy[Opaque]:
    """What a vendor calls by names of its own."""
    kind = st.one_of(
        st.sampled_from(("message", "output", "web_search_call")), st.text(min_size=1, max_size=60)
    )
    return st.builds(Opaque, st.sampled_from(("openai", "anthropic", "别家")), kind, texts())


def parts(role: str) -> st.SearchStrategy[tuple[Part, ...]]:
    """What messages of a role can hold; nothing keeps other programs from odd mixtures."""
    inner = st.one_of(texts().map(Text), media(), opaques())
    result = st.builds(
        lambda id, content, failed: ToolResult(id, tuple(content), is_error=failed),
        names(), st.lists(inner, max_size=3), st.booleans(),
    )  # fmt: skip
    call = st.builds(ToolCall, names(), names(), values())
    if role == "system":
        return texts().map(lambda text: (Text(text),))
    thought = st.builds(Reasoning, texts(), st.one_of(st.none(), st.text(max_size=40)))
    odd = st.one_of(texts().map(Text), media(), opaques(), call, result, thought)
    return st.lists(result if role == "tool" else odd, min_size=1, max_size=4).map(tuple)


@st.composite
def messages(draw: st.DrawFn) -> list[tuple[Role, tuple[Part, ...]]]:
    """A short conversation in any order."""
    roles = draw(st.lists(st.sampled_from(ROLES), min_size=1, max_size=7))
    return [(role, draw(parts(role))) for role in roles]


def blocks_of(said: Sequence[tuple[Role, tuple[Part, ...]]], wire: str, counter: Tokenizer) -> list[Block]:
    """The messages as a prompt shows them in full, weighed as the engine weighs them."""
    return [
        Block(role, told, Section.HISTORY, sources=(Ref(THREAD, n + 1),), message=Ref(THREAD, n + 1),
              tokens=message_tokens(told, role, counter, wire))
        for n, (role, told) in enumerate(said)
    ]  # fmt: skip


def sent(value: Any, counter: Tokenizer) -> int:
    """Tokens of all that a model reads in what is sent: texts, names, arguments; not ids, and no bytes."""
    if isinstance(value, list):
        return sum(sent(item, counter) for item in value)
    if isinstance(value, str):
        return counter.count(value)
    if not isinstance(value, Mapping):
        return 0
    total = 0
    for key, inner in value.items():
        if key == "input":  # the arguments of a call, as an object
            total += counter.count(json.dumps(inner, ensure_ascii=False, separators=(",", ":")))
        elif key in ("content", "text", "arguments", "output", "name", "thinking", "function", "tool_calls"):
            total += sent(inner, counter)
    return total


def assert_bounded(said: Sequence[tuple[Role, tuple[Part, ...]]], wire: str, tools: bool | None) -> None:
    """What is counted is no less than what is sent."""
    counter = tokenizer_for("")
    blocks = blocks_of(said, wire, counter)
    offered = (
        None if tools is None else [{"name": "Read", "input_schema": {"type": "object"}}] if tools else []
    )
    rendered: RenderedPrompt = render(blocks, wire, tools=offered)
    real = sent(rendered.messages, counter) + sent(rendered.system, counter)
    bound = count_tokens(blocks, rendered)
    assert real <= bound, f"{wire}: {real} tokens are sent, {bound} are counted: {rendered.messages}"


@given(messages(), st.sampled_from(WIRES), st.sampled_from((None, True, False)))
def test_what_is_counted_is_no_less_than_what_is_sent(
    said: list[tuple[Role, tuple[Part, ...]]], wire: str, tools: bool | None
) -> None:
    """Any parts of any message, on every wire, with tools and without."""
    assert_bounded(said, wire, tools)


@given(
    st.sampled_from(ROLES).flatmap(lambda role: st.tuples(st.just(role), parts(role))),
    st.sampled_from(WIRES),
    st.booleans(),
    st.booleans(),
)
def test_no_message_is_spelled_in_more_than_it_is_counted(
    said: tuple[Role, tuple[Part, ...]], wire: str, tools: bool, proven: bool
) -> None:
    """One message by itself, before anything is mended: nothing is put on top of its own count."""
    counter = tokenizer_for("")
    [block] = blocks_of([said], wire, counter)
    real = sent(SPELLERS[wire](block, WireContext(no_blobs, None, proven, tools)), counter)
    assert real <= block.tokens, f"{wire}: {real} tokens are sent, {block.tokens} are counted"


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("tools", [None, True, False])
def test_arguments_that_are_not_json_are_counted_as_sent(wire: str, tools: bool | None) -> None:
    """A text that is not an object is wrapped in one, where its quotes and line breaks take more."""
    call = ToolCall("c1", "Grep", str({"path": "src/a.py", "content": "x = 1\n好" * 400}))
    assert_bounded([("user", (Text("go on"),)), ("assistant", (call,))], wire, tools)


@pytest.mark.parametrize("wire", WIRES)
def test_result_without_its_call_has_a_short_name(wire: str) -> None:
    """An invented id of a hundred letters takes no room from the rest."""
    results = [ToolResult("名字" * 60 + str(n), (Text("ok"),)) for n in range(6)]
    assert_bounded([("user", (Text("go on"),)), *(("tool", (result,)) for result in results)], wire, True)
