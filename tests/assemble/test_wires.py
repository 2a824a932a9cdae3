"""Blocks as messages of the three wires: spelled right, valid whatever the history, and stable where more is said."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import backscroll
from backscroll import Wire
from backscroll.assemble.validity import check
from backscroll.assemble.validity.binding import Sent
from backscroll.assemble.wires import Breakpoint, render
from backscroll.errors import InvalidInput
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Role
from backscroll.vocab.part import Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from backscroll.vocab.prompt import WIRES, Block, Section
from tests.assemble.prompt_pairs import check_change
from tests.assemble.wire_oracle import judge

CHAT, RESPONSES, ANTHROPIC = WIRES
PNG = b"\x89PNG\r\n\x1a\n"
TRANSCRIPTS = Path(__file__).parents[3] / "shared" / "data" / "transcripts"


def block(role: Role, *parts: Part | str, section: Section | None = None, **more: Any) -> Block:
    made = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    return Block(role, made, section or (Section.SYSTEM if role == "system" else Section.RECENT), **more)


def inserted(words: str) -> Block:
    return block("system", words, section=Section.TASK)


STEP = [
    block("system", "Be brief."),
    block("user", "list 文件"),
    block(
        "assistant",
        Reasoning("hm", "sig"),
        "Looking.",
        ToolCall("c1", "ls", {"p": "."}),
        ToolCall("c2", "cat", '{"f": "a"}'),
    ),
    block("tool", ToolResult("c1", (Text("a.txt"),))),
    block("tool", ToolResult("c2", (Text("words"),), is_error=True)),
]


# -- each wire -------------------------------------------------------------------------------------------------


def test_chat_wire_renders_a_step() -> None:
    """System messages, calls with JSON text, a tool message per result, no thinking."""
    assert render(STEP, CHAT).messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "list 文件"},
        {
            "role": "assistant",
            "content": "Looking.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"p":"."}'}},
                {"id": "c2", "type": "function", "function": {"name": "cat", "arguments": '{"f": "a"}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "a.txt"},
        {"role": "tool", "tool_call_id": "c2", "content": "words"},
    ]


def test_responses_wire_renders_a_step() -> None:
    """Instructions apart, items in the order of the parts, reasoning only where it is sealed and the model the same."""
    sealed = Reasoning("hm", extra={"codex": {"id": "rs_1", "summary": [], "encrypted_content": "x"}})
    blocks = [replace(b, parts=(sealed, *b.parts[1:])) if b.role == "assistant" else b for b in STEP]
    out = render(blocks, RESPONSES, same_model=True)
    assert out.system == "Be brief."
    kinds = [
        "message",
        "reasoning",
        "message",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
    ]
    assert [item["type"] for item in out.messages] == kinds
    assert out.messages[1] == {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
    assert out.messages[2] == {"type": "message", "role": "assistant", "content": "Looking."}
    assert [item["type"] for item in render(blocks, RESPONSES).messages] == [
        kind for kind in kinds if kind != "reasoning"
    ]


def test_anthropic_wire_renders_a_step() -> None:
    """System at the top level, signed thinking first, all results in the next user message, errors flagged."""
    out = render(STEP, ANTHROPIC, same_model=True)
    assert out.system == [{"type": "text", "text": "Be brief."}]
    assert out.messages == [
        {"role": "user", "content": [{"type": "text", "text": "list 文件"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "sig"},
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "c1", "name": "ls", "input": {"p": "."}},
                {"type": "tool_use", "id": "c2", "name": "cat", "input": {"f": "a"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "a.txt"},
                {"type": "tool_result", "tool_use_id": "c2", "content": "words", "is_error": True},
            ],
        },
    ]
    assert "thinking" not in json.dumps(render(STEP, ANTHROPIC).messages)
    assert out.origins == [(1,), (2,), (3, 4)]
    assert out.system_origins == (0,)


def test_same_model_is_decided_per_block() -> None:
    """A callable decides for each block whose thinking may be sent back; another vendor's signature never is."""
    blocks = [
        block("user", "a"),
        block("assistant", Reasoning("one", "s1"), "x", reason="old model"),
        block("user", "b"),
        block("assistant", Reasoning("two", "s2"), "y"),
        block("assistant", Reasoning("three", "s3", {"gemini": {"x": 1}}), "z"),
        block("user", "c"),
    ]
    said = json.dumps(render(blocks, ANTHROPIC, same_model=lambda b: b.reason != "old model").messages)
    assert "two" in said
    assert "one" not in said
    assert "three" not in said


def test_images_and_files_are_rendered_per_wire() -> None:
    """Bytes are fetched by their hash, addresses stay addresses, a text file is read, the rest is named."""
    blobs = {"h1": PNG, "h2": b"%PDF-1", "h3": "第一行".encode()}
    parts = [
        Media("image/png", blob="h1"),
        Media("image/*", url="https://example.org/a.jpg"),
        Media("application/pdf", blob="h2", name="a.pdf"),
        Media("text/plain", blob="h3", name="n.txt"),
        Media("video/mp4", blob="gone", name="v.mp4"),
    ]
    blocks = [block("user", *parts)]
    data = base64.b64encode(PNG).decode()
    chat = render(blocks, CHAT, blobs=blobs.get).messages[0]["content"]
    assert chat[0] == {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
    assert chat[1] == {"type": "image_url", "image_url": {"url": "https://example.org/a.jpg"}}
    assert chat[2]["file"]["filename"] == "a.pdf"
    assert chat[3]["text"].endswith("第一行")
    assert chat[4] == {"type": "text", "text": "[v.mp4 video/mp4]"}
    items = render(blocks, RESPONSES, blobs=blobs.get).messages[0]["content"]
    assert [item["type"] for item in items] == [
        "input_image",
        "input_image",
        "input_file",
        "input_text",
        "input_text",
    ]
    anthropic = render(blocks, ANTHROPIC, blobs=blobs.get).messages[0]["content"]
    assert [item["type"] for item in anthropic] == ["image", "image", "document", "text", "text"]
    assert anthropic[0]["source"] == {"type": "base64", "media_type": "image/png", "data": data}


def test_arguments_that_are_not_objects_are_wrapped() -> None:
    """Arguments that are no JSON object, as some tools have them, are wrapped, on every wire alike."""
    blocks = [
        block("user", "go"),
        block("assistant", ToolCall("c1", "patch", "*** Begin")),
        block("tool", ToolResult("c1", ())),
    ]
    assert (
        render(blocks, CHAT).messages[1]["tool_calls"][0]["function"]["arguments"]
        == '{"arguments":"*** Begin"}'
    )
    assert render(blocks, RESPONSES).messages[1]["arguments"] == '{"arguments":"*** Begin"}'
    assert render(blocks, ANTHROPIC).messages[1]["content"][0]["input"] == {"arguments": "*** Begin"}


def test_system_block_in_the_middle_is_rendered_per_wire() -> None:
    """Chat and Responses have a role for it; on Anthropic's wire it is a marked text, and the top level stays as it was."""
    blocks = [
        block("system", "one"),
        block("user", "a"),
        block("assistant", "b"),
        block("system", "two"),
        block("user", "c"),
    ]
    assert [m["role"] for m in render(blocks, CHAT).messages] == [
        "system",
        "user",
        "assistant",
        "system",
        "user",
    ]
    assert [m["role"] for m in render(blocks, RESPONSES).messages] == [
        "user",
        "assistant",
        "developer",
        "user",
    ]
    out = render(blocks, ANTHROPIC)
    assert out.system == [{"type": "text", "text": "one"}]
    assert out.messages[-1]["content"][0]["text"] == "<system>\ntwo\n</system>"


def test_anthropic_prompt_does_not_end_with_a_reply() -> None:
    """A user message asks to continue, unless the model is known to accept a trailing reply."""
    blocks = [block("user", "a"), block("assistant", "b")]
    assert render(blocks, ANTHROPIC).messages[-1]["role"] == "user"
    assert render(blocks, ANTHROPIC, model="claude-opus-4-7").messages[-1]["role"] == "user"
    assert render(blocks, ANTHROPIC, model="claude-3-5-sonnet").messages[-1]["role"] == "assistant"


def test_calls_become_text_without_tools() -> None:
    """A3: an empty list of tools leaves no tool block; an unknown one leaves them all."""
    assert "tool_use" not in json.dumps(render(STEP, ANTHROPIC, tools=[]).messages)
    assert "tool_use" in json.dumps(render(STEP, ANTHROPIC).messages)


def test_unknown_wire_is_refused() -> None:
    with pytest.raises(InvalidInput, match="unknown wire"):
        render(STEP, "morse")


# -- insertions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", WIRES)
def test_insertions_follow_user_text(wire: Wire) -> None:
    """Each is placed separately after the text it belongs to; earlier blocks stay the same."""
    blocks = [block("user", "a"), block("assistant", "b"), block("user", "c")]
    bare, out = render(blocks, wire), render([*blocks, inserted("task 1"), inserted("task 2")], wire)
    assert out.inserted == (3, 4)
    assert out.settled
    if wire == RESPONSES:
        assert out.messages[:3] == bare.messages
        assert [m["role"] for m in out.messages[3:]] == ["developer", "developer"]
    elif wire == CHAT:
        assert out.messages[:-1] == bare.messages[:-1]
        assert out.messages[-1] == {"role": "user", "content": "c\n\ntask 1\n\ntask 2"}
        assert out.origins[-1] == (2, 3, 4)
    else:
        assert out.messages[:-1] == bare.messages[:-1]
        assert [b["text"] for b in out.messages[-1]["content"]] == ["c", "task 1", "task 2"]


@pytest.mark.parametrize("wire", WIRES)
def test_insertions_follow_tool_results(wire: Wire) -> None:
    """A2: behind the results; where results are messages, it is a message of its own."""
    bare, out = render(STEP, wire), render([*STEP, inserted("ops")], wire)
    if wire == ANTHROPIC:
        assert [b["type"] for b in out.messages[-1]["content"]] == ["tool_result", "tool_result", "text"]
    else:
        assert out.messages[:-1] == bare.messages
        assert out.messages[-1]["role"] == ("developer" if wire == RESPONSES else "user")
    judge(out.messages, wire, out.system)


def test_openai_models_get_developer_insertions() -> None:
    """Others may move a system message to the front, or refuse it: their insertions follow the words of the user."""
    blocks = [block("user", "a"), inserted("task")]
    for model in ("gpt-5.6", "openai/gpt-4.1", "o4-mini", "chatgpt-4o-latest"):
        assert [m["role"] for m in render(blocks, CHAT, model=model).messages] == ["user", "developer"]
    for model in (None, "gpt-oss-20b", "mistral-small", "qwen3", "foo-o3x"):
        assert [m["role"] for m in render(blocks, CHAT, model=model).messages] == ["user"]


# -- cache marks -----------------------------------------------------------------------------------------------


def long_history(turns: int) -> list[Block]:
    out = [block("system", "s"), block("user", "far past", section=Section.SUMMARIES)]
    for n in range(turns):
        section = Section.HISTORY if n < turns // 2 else Section.RECENT
        out += [block("user", f"q{n}", section=section), block("assistant", f"a{n}", section=section)]
    return [*out, block("user", "now"), inserted("t")]


def test_anthropic_gets_at_most_four_cache_marks() -> None:
    """After the system prompt, at section ends, after the newest message and its insertions."""
    out = render(long_history(40), ANTHROPIC)
    assert 2 <= len(out.breakpoints) <= 4
    assert out.breakpoints[0] == Breakpoint("system", 0, 0)
    marked = out.add_cache_marks()
    assert check(marked.messages, ANTHROPIC, system=marked.system) == []
    assert marked.messages[-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in json.dumps(out.messages)


def test_cache_marks_are_at_most_fifteen_blocks_apart() -> None:
    """A11: where no section ends, marks follow each other closely enough for the service to find them."""
    blocks = [b for n in range(40) for b in (block("user", f"q{n}"), block("assistant", f"a{n}"))]
    out = render([*blocks, block("user", "now")], ANTHROPIC)
    places = [point.message for point in out.breakpoints]
    assert places[-1] == 80
    assert all(b - a <= 15 for a, b in pairwise(places))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 15), min_size=1, max_size=12), st.booleans())
def test_the_cache_is_found_again_at_every_call(steps: list[int], summarised: bool) -> None:
    """A11, A12: along an agent's loop, however many calls a step makes, a mark is near the last one of the call before."""
    blocks = [block("system", "s"), block("user", "go", section=Section.SUMMARIES if summarised else None)]
    before: Sent | None = None
    for number, calls in enumerate(steps):
        ids = [f"c{number}_{n}" for n in range(calls)]
        blocks.append(block("assistant", "next", *(ToolCall(id, "ls", {}) for id in ids)))
        blocks.append(block("tool", *(ToolResult(id, (Text("out"),)) for id in ids)))
        blocks += [inserted(f"step {number}")]
        out = render(blocks, ANTHROPIC).add_cache_marks()
        now = Sent(out.messages, ANTHROPIC, out.system)
        assert before is None or check_change(before, now) == []
        before = now


def test_tools_are_cache_marked_without_a_system_prompt() -> None:
    out = render([block("user", "a")], ANTHROPIC, tools=[{"name": "ls"}, {"name": "cat"}]).add_cache_marks()
    assert out.tools == [{"name": "ls"}, {"name": "cat", "cache_control": {"type": "ephemeral"}}]


def test_openai_gets_cache_breakpoints_only_on_request() -> None:
    """C5: on request, from gpt-5.6 on; never on a reply."""
    assert render(long_history(9), CHAT, model="gpt-5.6").breakpoints == ()
    assert render(long_history(9), CHAT, model="gpt-4.1", explicit_cache=True).breakpoints == ()
    out = render(long_history(9), CHAT, model="gpt-5.6", explicit_cache=True)
    assert 1 <= len(out.breakpoints) <= 4
    assert check(out.add_cache_marks().messages, CHAT, model="gpt-5.6") == []
    assert "prompt_cache_breakpoint" in json.dumps(out.add_cache_marks().messages)


def test_cache_key_is_per_thread() -> None:
    """The same for every prompt of a thread, another for another."""
    here, there = Ref("a" * 32, 1), Ref("b" * 32, 1)
    one = render([block("user", "a", sources=(here,))], CHAT).cache_key
    assert one == render([block("user", "b", sources=(here,))], RESPONSES).cache_key
    assert one != render([block("user", "a", sources=(there,))], CHAT).cache_key


# -- any history -----------------------------------------------------------------------------------------------

WORDS = st.sampled_from(["hi", "你好。", "", "  ", "cut \ud83d", "\x00", "a\nb"])
IDS = st.sampled_from(["c1", "c2", "toolu_3", "bad id!", "呼" * 70])
MEDIA = st.sampled_from(
    [Media("image/png", blob="h"), Media("image/*", url="https://x/y"), Media("audio/wav", blob="h"), Media("x", blob="no"),
     Media("image/tiff", blob="h"), Media("text/plain", blob="h"), Media("image/png", url="data:image/png;base64,aGk=")]
)  # fmt: skip
REASONING = st.sampled_from(
    [Reasoning("hm", "sig"), Reasoning("hm"), Reasoning("", "sig"),
     Reasoning("hm", extra={"codex": {"summary": [], "encrypted_content": "x"}}), Reasoning("hm", extra={"codex": {"summary": 3}})]
)  # fmt: skip
OPAQUE = st.sampled_from(
    [Opaque("anthropic", "redacted_thinking", '{"type":"redacted_thinking","data":"x"}'), Opaque("openai", "message", "{}"),
     Opaque("anthropic", "redacted_thinking", "broken"), Opaque("gemini", "thought", "{}")]
)  # fmt: skip
ARGUMENTS = st.sampled_from([{}, {"a": 1}, "{}", "not json", "", None, [1]])
INNER = st.lists(st.builds(Text, WORDS) | MEDIA | OPAQUE, max_size=2).map(tuple)
PARTS: dict[Role, st.SearchStrategy[Any]] = {
    "system": st.builds(Text, WORDS),
    "user": st.builds(Text, WORDS) | MEDIA | OPAQUE,
    "assistant": st.builds(Text, WORDS) | REASONING | OPAQUE | MEDIA | st.builds(
        ToolCall, IDS, st.sampled_from(["ls", "mcp.read", "读"]), ARGUMENTS
    ),
    "tool": st.builds(ToolResult, IDS, INNER, st.booleans()),
}  # fmt: skip


@st.composite
def blocks_drawn(draw: st.DrawFn) -> Block:
    roles: list[Role] = ["system", "user", "user", "assistant", "assistant", "tool", "tool"]
    role = draw(st.sampled_from(roles))
    parts = draw(st.lists(PARTS[role], max_size=3))
    if draw(st.integers(0, 9)) == 0:
        parts = [*parts, draw(PARTS[draw(st.sampled_from(roles))])]
    section = draw(st.sampled_from([Section.SYSTEM, Section.SUMMARIES, Section.HISTORY, Section.RECENT]))
    return Block(role, tuple(parts), section, author=draw(st.sampled_from([None, "Ann", "王 五"])))


HISTORIES = st.lists(blocks_drawn(), max_size=8)
INSERTIONS = st.lists(st.builds(inserted, WORDS), max_size=2)
MODELS = st.sampled_from(
    [None, "gpt-5.6", "claude-opus-4-8", "claude-3-5-sonnet", "mistral-small", "deepseek-v4", "gemini-3"]
)
BLOBS = {"h": PNG}


@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=100, deadline=None)
@given(HISTORIES, INSERTIONS, st.booleans(), MODELS, st.sampled_from([None, [], [{"name": "ls"}]]))
def test_any_history_gives_a_valid_prompt(
    wire: Wire, history: list[Block], after: list[Block], same: bool, model: str | None, tools: Any
) -> None:
    """Parallel calls, lost results, pictures, thinking, nothing at all: no flaw on any wire, with marks and without."""
    out = render([*history, *after], wire, tools=tools, blobs=BLOBS.get, model=model, same_model=same)
    for form in (out, out.add_cache_marks()):
        assert [
            (f.rule.id, f.where) for f in check(form.messages, wire, system=form.system, tools=form.tools)
        ] == []
        judge(form.messages, wire, form.system)
    assert len(out.origins) == len(out.messages)
    assert all(0 <= n < len(history) + len(after) for places in out.origins for n in places)


@pytest.mark.parametrize("wire", [CHAT, RESPONSES])
@settings(max_examples=40, deadline=None)
@given(HISTORIES, INSERTIONS, st.booleans())
def test_the_vendors_own_types_take_it(
    wire: Wire, history: list[Block], after: list[Block], same: bool
) -> None:
    """Every message is one by the types of OpenAI's client, which know nothing of us."""
    adapter = vendor_types(wire)
    for message in render([*history, *after], wire, blobs=BLOBS.get, same_model=same).messages:
        if (
            message.get("type") != "reasoning"
        ):  # may go without the id that the type wants: the service takes it
            adapter.validate_python(message)


@cache
def vendor_types(wire: Wire) -> Any:
    pydantic = pytest.importorskip("pydantic")
    pytest.importorskip("openai")
    from openai.types.chat import ChatCompletionMessageParam
    from openai.types.responses import ResponseInputItemParam

    return pydantic.TypeAdapter(ChatCompletionMessageParam if wire == CHAT else ResponseInputItemParam)


# -- real histories --------------------------------------------------------------------------------------------


@pytest.mark.skipif(not TRANSCRIPTS.is_dir(), reason="the transcripts of other tools are not at hand")
def test_real_histories_are_valid_on_every_wire(tmp_path: Path) -> None:
    """Every imported transcript, with and without thinking, has no flaw."""
    seen = 0
    with backscroll.open(tmp_path / "store.db") as store:
        for path in sorted(
            p
            for p in TRANSCRIPTS.rglob("*")
            if p.suffix in (".json", ".jsonl", ".md") and p.parent != TRANSCRIPTS
        ):
            store.import_path(path)
        for info in store.threads():
            history = store.thread(info.id).messages()
            blocks = [block(m.role, *m.parts, author=m.author, sources=(m.revision,)) for m in history]
            for wire in WIRES:
                for same in (True, False):
                    out = render(blocks, wire, blobs=store.blob, same_model=same)
                    form = out.add_cache_marks()
                    assert check(form.messages, wire, system=form.system) == [], (info.title, wire)
                    judge(out.messages, wire, out.system)
            seen += 1
    assert seen > 10
