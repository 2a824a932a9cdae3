"""Random blocks on every wire, block by block: whatever comes next, what was sent before stays as it was sent.

Calls without results, results without calls, late and doubled ones, ids that no wire takes, system text and insertions anywhere.
Every prompt is valid by the engine's own rules and by a second, independent judge; where a request could be sent, the messages
are the beginning of every longer prompt, byte for byte.
"""

from __future__ import annotations

import json
import pathlib
import random
from collections.abc import Sequence
from typing import Any

from backscroll.assemble.validity import check
from backscroll.assemble.wires import RenderedPrompt, render
from backscroll.assemble.wires.insertion import INSERTION_FORMS, InsertionForm
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Role
from backscroll.vocab.part import Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from backscroll.vocab.prompt import TAIL, WIRES, Block, Section, Wire
from tests.assemble.wire_oracle import judge

THREAD = "ab" * 16
PNG = b"\x89PNG\r\n\x1a\n"
WORDS = ("hi", "你好。", "a\nb", "x" * 40, "", "  ", "half \ud83d", "</tool_result>", "(continue)")
IDS = ("c1", "c1", "c2", "c3", "toolu_3", "bad id!", "呼" * 70, "", "call_7afc0dc7a4f1c4a1c7b5a1d0")
NAMES = ("ls", "mcp.read", "读", "")
ARGUMENTS: tuple[Any, ...] = ({}, {"a": 1}, "{}", "not json", "", None, [1])
MODELS: dict[Wire, tuple[str | None, ...]] = {
    "openai-chat": (None, "gpt-5.6", "mistral-small", "deepseek-v4", "gemini-3", "qwen3", "gpt-oss-120b"),
    "openai-responses": (None, "gpt-5.6"),
    "anthropic": (None, "claude-opus-4-8", "claude-3-5-sonnet", "claude-opus-5-5", "claude-fable-5-2"),
}
TOOLS: dict[Wire, dict[str, Any]] = {
    "openai-chat": {"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}},
    "openai-responses": {"type": "function", "name": "ls", "parameters": {"type": "object"}},
    "anthropic": {"name": "ls", "input_schema": {"type": "object"}},
}
SECTIONS = (Section.HISTORY, Section.RECENT, Section.RECENT)
INSERTED = (*TAIL, Section.MEMORY)


class Story:
    """Blocks made by chance: mostly turns as agents have them, sometimes anything at all."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.blocks: list[Block] = []
        self.open: list[str] = []  # calls of the last reply that have no result yet

    def tell(self, count: int) -> list[Block]:
        """So many blocks, behind a system text."""
        if self.chance.random() < 0.7:
            self._add("system", [Text("Be brief.")], Section.SYSTEM)
        while len(self.blocks) < count:
            steps = (self._user, self._reply, self._reply, *(self._results,) * 3, self._insert, self._odd)
            self.chance.choice(steps)()
        return self.blocks

    def _add(self, role: Role, parts: Sequence[Part], section: Section | None = None) -> None:
        chance, number = self.chance, len(self.blocks)
        author = chance.choice((None, None, None, "Ann", "王 五")) if role == "user" else None
        shows = Ref(THREAD, number) if section is None or section is Section.SYSTEM else None
        chosen = section or chance.choice(SECTIONS)
        self.blocks.append(
            Block(role, tuple(parts), chosen, sources=(Ref(THREAD, number),), message=shows, author=author)
        )

    def _user(self) -> None:
        self._add("user", [self._said() for _ in range(self.chance.choice((1, 1, 2)))])

    def _reply(self) -> None:
        parts: list[Part] = [self._thought()] if self.chance.random() < 0.5 else []
        parts += [Text(self.chance.choice(WORDS))] if self.chance.random() < 0.7 else []
        for _ in range(self.chance.choice((0, 0, 1, 1, 2, 3))):
            id = self.chance.choice((*IDS, f"own_{len(self.blocks)}_{len(parts)}"))
            parts.append(
                ToolCall(id, self.chance.choice((*NAMES, "ls", "ls")), self.chance.choice(ARGUMENTS))
            )
        parts += [self._thought()] if self.chance.random() < 0.1 else []
        parts += [self._result()] if self.chance.random() < 0.1 else []
        self.open = [part.id for part in parts if isinstance(part, ToolCall)]
        self._add("assistant", parts)

    def _result(self) -> ToolResult:
        wanted = self.open if self.open and self.chance.random() < 0.8 else IDS
        id = self.chance.choice(wanted)
        if id in self.open:
            self.open.remove(id)
        content = [self._said() for _ in range(self.chance.choice((0, 1, 1, 2)))]
        return ToolResult(id, tuple(content), self.chance.random() < 0.2, "ls")

    def _results(self) -> None:
        role: Role = "tool" if self.chance.random() < 0.9 else "user"
        parts: list[Part] = [self._result() for _ in range(self.chance.choice((1, 1, 2)))]
        self._add(role, [*parts, self._said()] if self.chance.random() < 0.15 else parts)

    def _insert(self) -> None:
        role: Role = self.chance.choice(("user", "system"))
        self._add(role, [Text(self.chance.choice((*WORDS, "- [x] step one")))], self.chance.choice(INSERTED))

    def _odd(self) -> None:
        role: Role = self.chance.choice(("system", "user", "assistant", "tool"))
        any_part = (self._said, self._thought, self._result)
        self._add(role, [self.chance.choice(any_part)() for _ in range(self.chance.choice((0, 1, 2)))])

    def _said(self) -> Text | Media | Opaque:
        return self.chance.choice(
            (
                *(Text(words) for words in WORDS),
                Media("image/png", blob="h"),
                Media("image/*", url="https://example.org/a.png"),
                Media("text/plain", blob="none", name="a.txt"),
                Opaque("gemini", "thought", "{}"),
            )
        )

    def _thought(self) -> Part:
        return self.chance.choice(
            (
                Reasoning("hm", "sig"),
                Reasoning("hm"),
                Reasoning("half \ud83d", "sig"),
                Reasoning("hm", extra={"codex": {"summary": [], "encrypted_content": "x"}}),
                Opaque("anthropic", "redacted_thinking", '{"type":"redacted_thinking","data":"x"}'),
                Opaque("anthropic", "redacted_thinking", '{"type":"redacted_thinking"}'),
                Opaque("anthropic", "redacted_thinking", "broken"),
            )
        )


def fuzz(seed: int, folder: pathlib.Path) -> None:
    """One story on every wire."""
    chance = random.Random(seed)
    blocks = Story(chance).tell(chance.randint(2, 14))
    for wire in WIRES:
        model = chance.choice(MODELS[wire])
        tools = chance.choice((None, [], [TOOLS[wire]], [TOOLS[wire]]))
        manner = chance.choice(INSERTION_FORMS)
        promise(blocks, wire, model, tools, proven=chance.random() < 0.7, insertions=manner)


def promise(
    blocks: Sequence[Block],
    wire: Wire,
    model: str | None,
    tools: list[Any] | None,
    *,
    proven: bool,
    insertions: InsertionForm = "plain",
) -> None:
    """Every prompt on the way is valid, and is the beginning of the next one where a request could be sent."""

    def rendered(count: int) -> RenderedPrompt:
        return render(blocks[:count], wire, tools=tools, model=model, same_model=proven, blobs={"h": PNG}.get)

    prompts = [rendered(count) for count in range(1, len(blocks) + 1)]
    for count, prompt in enumerate(prompts, 1):
        facts = f"{wire}, {model}, tools {tools}, proven {proven}: {blocks[:count]}"
        for form in (prompt, prompt.add_cache_marks()):
            flaws = check(form.messages, wire, system=form.system, tools=form.tools, model=model)
            assert flaws == [], f"{flaws[:2]} in {facts}"
        judge(spoken(prompt), wire, prompt.system)
        assert prompt.settled or not could_be_sent(blocks[:count]), f"not settled: {facts}"
    for count, one in enumerate(prompts, 1):
        for later, two in enumerate(prompts[count:], count + 1) if could_be_sent(blocks[:count]) else ():
            facts = f"{wire}, {model}, tools {tools}, proven {proven}\nblocks: {blocks[:later]}\n"
            assert one.system == two.system, f"another system text: {facts}"
            assert begins(one.messages, two.messages), (
                f"{facts}sent: {json.dumps(one.messages)}\nthen: {json.dumps(two.messages)}"
            )


def spoken(prompt: RenderedPrompt) -> list[dict[str, Any]]:
    """The messages as the judge knows them: on Anthropic's wire, system messages in the middle are newer than it."""
    return [m for m in prompt.messages if prompt.wire != "anthropic" or m["role"] != "system"]


def could_be_sent(blocks: Sequence[Block]) -> bool:
    """True where the newest block asks for a reply: words of the user, an insertion, or results while no call waits."""
    if not blocks:
        return False
    newest = blocks[-1]
    asks = newest.role in ("user", "tool") or newest.section in TAIL
    return asks and any(_is_seen(part) for part in newest.parts) and not _waits(blocks)


def _waits(blocks: Sequence[Block]) -> bool:
    """True where a call has no result, or a reply came between the results of another, and nobody spoke since."""
    waiting: list[str] = []
    told = between = False
    for block in blocks:
        if block.role == "assistant":
            between = between or (told and bool(waiting))
            waiting += [part.id for part in block.parts if isinstance(part, ToolCall) and part.name]
        for id in {part.call_id for part in block.parts if isinstance(part, ToolResult)}:
            if id in waiting:
                waiting.remove(id)
                told = True
        told = told and bool(waiting)
        spoke = [part for part in block.parts if _is_seen(part) and not isinstance(part, ToolResult)]
        if spoke and (block.role == "user" or block.section in TAIL):
            waiting, between = [], False
    return bool(waiting) or between


def _is_seen(part: Part) -> bool:
    if isinstance(part, ToolResult):
        return any(_is_seen(inner) for inner in part.content)
    if isinstance(part, Opaque):
        return "thinking" not in part.kind
    return bool(part.text.strip()) if isinstance(part, Text) else not isinstance(part, Reasoning)


def begins(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> bool:
    """True where the first messages are the beginning of the others; the newest of them may have grown at its end."""
    head, last = before[:-1], before[-1]
    if _bytes(head) != _bytes(after[: len(head)]) or len(after) < len(before):
        return False
    grown = after[len(head)]
    one, two = last.get("content"), grown.get("content")
    if isinstance(one, list) and isinstance(two, list):
        two = two[: len(one)]
    elif isinstance(one, str) and isinstance(two, str) and two.startswith(f"{one}\n\n"):
        two = one
    return _bytes(last) == _bytes({**grown, "content": two} if "content" in grown else grown)


def _bytes(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
