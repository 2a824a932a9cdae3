"""A model behind a strict service, talked to on and on with thinking, calls and insertions: no request is ever refused.

The service binds every thinking block to the prompt that it was made under. Blocks are only ever added, as the engine adds them, and each prompt is
rendered anew from all of them.
"""

from __future__ import annotations

import json
import pathlib
import random
from typing import Any

from backscroll.assemble.wires import render
from backscroll.assemble.wires.insertion import INSERTION_FORMS, InsertionForm
from backscroll.testing import Line, Scenario, speak_anthropic
from backscroll.testing.decision import ScriptedService
from backscroll.testing.request import ScriptedRequest, read_request
from backscroll.testing.scenario import ScriptedCall
from backscroll.vocab.message import Role
from backscroll.vocab.part import Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from backscroll.vocab.prompt import TAIL, Block, Section
from tests.fuzz.growing import TOOLS

#: Models that bind thinking, and older ones: the service is strict with all of them.
BINDING = ("claude-opus-5-5", "claude-fable-5-2", "claude-opus-4-8", "claude-sonnet-4-5")


def fuzz(seed: int, folder: pathlib.Path) -> None:
    """One conversation."""
    chance = random.Random(seed)
    tools = [] if chance.random() < 0.2 else [TOOLS["anthropic"]]
    told = Conversation(chance, chance.choice(BINDING), tools, chance.choice(INSERTION_FORMS))
    for _ in range(chance.randint(3, 14)):
        told.step()


def said(role: Role, words: str, section: Section = Section.RECENT) -> Block:
    return Block(role, (Text(words),), section)


class Conversation:
    """A model behind a strict service, asked again and again with everything that was said and inserted."""

    def __init__(self, chance: random.Random, model: str, tools: list[Any], manner: InsertionForm) -> None:
        self.chance, self.model, self.tools = chance, model, tools
        self.manner: InsertionForm = manner
        self.late: list[str] = []  # calls that the user did not wait for
        self.blocks: list[Block] = [said("system", "Be brief.", Section.SYSTEM)]
        self.service = ScriptedService(Scenario())
        self.service.answering = self._line

    def _line(self, asked: ScriptedRequest) -> Line:
        many = self.chance.choice((0, 0, 1, 2)) if asked.tools else 0
        calls = tuple(ScriptedCall("ls", {"n": n}) for n in range(many))
        thought = self.chance.choice(("", "I see.", "Let me think. 想一想。"))
        return Line(text=self.chance.choice(("", "Done.")) or f"so {many}", reasoning=thought, calls=calls,
                    redacted=self.chance.random() < 0.2)  # fmt: skip

    def step(self) -> None:
        """Say something where the user is to speak, insert what comes to mind, ask, take the answer and answer its calls.

        Some requests never reach the service, some calls are interrupted, and their results come late.
        """
        chance = self.chance
        if self.blocks[-1].role != "tool":
            self.blocks.append(said("user", f"question {len(self.blocks)}"))
        if self.late and chance.random() < 0.3:
            self._result(self.late.pop())
        for section in chance.sample(sorted(TAIL | {Section.MEMORY}), chance.choice((0, 0, 1, 2))):
            self.blocks.append(said("user", f"{section} {len(self.blocks)}", section))
        if chance.random() < 0.1:
            return
        out = render(self.blocks, "anthropic", tools=self.tools, model=self.model, same_model=True,
                     insertions=self.manner).add_cache_marks()  # fmt: skip
        body = {"model": self.model, "max_tokens": 500, "system": out.system, "messages": out.messages}
        body |= {"tools": out.tools} if out.tools else {}
        decided = self.service.decide(read_request("anthropic", json.loads(json.dumps(body))), {})
        assert decided.said is not None, f"{decided.fault}\n{json.dumps(out.messages, ensure_ascii=False)}"
        answer = [part_of(b) for b in speak_anthropic.whole(decided.said)["content"]]
        self.blocks.append(Block("assistant", tuple(answer), Section.RECENT))
        calls = [part.id for part in answer if isinstance(part, ToolCall)]
        if calls and chance.random() < 0.15:
            self.late.append(calls[0])
            self.blocks.append(said("user", "Stop, something else."))
            return
        for id in calls:
            self._result(id)

    def _result(self, id: str) -> None:
        words = (Text(f"out {len(self.blocks)}"),)
        self.blocks.append(Block("tool", (ToolResult(id, words),), Section.RECENT))


def part_of(data: dict[str, Any]) -> Part:
    match data["type"]:
        case "thinking":
            return Reasoning(data["thinking"], data["signature"])
        case "redacted_thinking":
            return Opaque("anthropic", "redacted_thinking", json.dumps(data))
        case "tool_use":
            return ToolCall(data["id"], data["name"], data["input"])
        case _:
            return Text(data["text"])
