"""Listening to an agent of another framework: its list into a thread, a prompt of ours in its place, its answers with their price.

Owns what the hooks of all frameworks have in common. A fault of ours never breaks the agent's call (it is warned of, once) unless
`strict` says so. Refuses: shapes of frameworks (`langchain_messages`, `pydantic_ai_messages`). Before: `engine/calls/capture`. After:
`langchain`, `pydantic_ai`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Literal, cast

from backscroll.engine.calls import capture
from backscroll.engine.calls.capture import CapturedRequest
from backscroll.llm.clients.client import Reply
from backscroll.llm.prices.ledger import Tokens
from backscroll.surfaces.capture_guard import CaptureGuard
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.message import Content
from backscroll.vocab.part import Json, Reasoning, Text, ToolCall

if TYPE_CHECKING:
    from backscroll.engine.thread import Thread

#: The wires on which a prompt can be asked for here; that of the model's own vendor keeps its proofs of reasoning.
Spoken = Literal["openai-chat", "anthropic"]
_BEHIND = 8  # messages that may have come after those of a list that is sent once more


def _none() -> Sequence[Mapping[str, Json]]:
    return ()


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A call of a model that is about to be made."""

    wire: Spoken
    model: str
    provider: str
    messages: Sequence[ForeignMessage]  # its system text first
    tools: Sequence[Mapping[str, Json]] = field(default_factory=_none)
    reserve: int | None = None  # tokens that the answer may have


@dataclass
class FrameworkRecorder(CaptureGuard):
    """Where the hooks of a framework write what they hear."""

    thread: Thread
    vendor: str  # under which its own facts stand in the metadata of messages
    budget: int | None = None
    assemble: bool = True
    strict: bool = False
    warned: bool = field(default=False, init=False)

    def begin(self, asking: ModelCall) -> tuple[CapturedRequest | None, list[ForeignMessage] | None]:
        """Take a list in; gives also the prompt to send in its place, None where the list goes out as it is."""
        return self._assemble_prompt(asking, self.run_guarded(lambda: self._take_in(asking)))

    def begin_after(self, asking: ModelCall) -> tuple[CapturedRequest | None, list[ForeignMessage] | None]:
        """The same where the list is known to hold only what is new."""
        return self._assemble_prompt(asking, self.run_guarded(lambda: self._take_in(asking, only_new=True)))

    def _assemble_prompt(
        self, asking: ModelCall, heard: CapturedRequest | None
    ) -> tuple[CapturedRequest | None, list[ForeignMessage] | None]:
        if heard is None or not self.assemble:
            return heard, None
        prompt = self.run_guarded(
            lambda: capture.assembled_messages(
                self.thread,
                asking.wire,
                model=asking.model,
                budget=self.budget,
                tools=asking.tools,
                reserve=asking.reserve,
                heard=heard,
            )
        )
        return heard, prompt

    def _take_in(self, asking: ModelCall, *, only_new: bool = False) -> CapturedRequest:
        """System texts behind the first words are for one call, and nobody said them: the frameworks' hooks send them by themselves."""
        # Where a list only goes on, what stood first in it stands as it did.
        first = [] if only_new else list(takewhile(lambda m: m.role == "system", asking.messages))
        said = [m for m in asking.messages if m.role != "system"]
        new = only_new or self._only_new(said)
        return capture.take_in(self.thread, asking.wire, asking.model, [*first, *said], only_new=new)

    def _only_new(self, messages: Sequence[ForeignMessage]) -> bool:
        """True for a list that goes on where the thread stands, as programs send it that leave remembering to us.

        Such a list has no answer in it, and nothing of it, by the framework's own ids, was seen before.
        """
        if not messages or any(m.role == "assistant" for m in messages):
            return False
        ids = {name for m in messages if (name := self.id_of(m.content))}
        seen = {self.id_of(m.content) for m in self.thread.recent(len(messages) + _BEHIND)}
        return not ids & seen

    def id_of(self, content: Content) -> str:
        """What the framework calls a message; empty where it has no name."""
        facts = cast("Mapping[str, Json]", content.metadata.get(self.vendor) or {})
        return str(facts.get("id") or "")

    def record_answer(
        self, heard: CapturedRequest | None, provider: str, said: Content, usage: Tokens
    ) -> None:
        """Record an answer."""
        if heard is not None:
            reply = _reply(said, heard)
            self.run_guarded(lambda: capture.take_reply(self.thread, heard, reply, usage, provider=provider))

    def record_failure(self, heard: CapturedRequest | None, provider: str) -> None:
        """Record a call that gave no answer."""
        if heard is not None:
            self.run_guarded(lambda: capture.record_failure(self.thread, heard, provider))


def _reply(said: Content, heard: CapturedRequest) -> Reply:
    """An answer as the wire would have it, with the proofs of its reasoning."""
    calls = tuple(p for p in said.parts if isinstance(p, ToolCall))
    thought = "".join(p.text for p in said.parts if isinstance(p, Reasoning))
    raw: Json
    if heard.wire == "anthropic":
        raw = [b for p in said.parts if (b := _block(p)) is not None]
    else:
        raw = {"role": "assistant", "content": said.text or None}
        raw |= {"reasoning_content": thought} if thought else {}
        if calls:
            raw["tool_calls"] = [
                {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
                for c in calls
            ]
    finish = "tools" if calls else "stop"
    return Reply(said.text, heard.model, finish, tool_calls=calls, reasoning=thought, raw=raw)


def _block(part: object) -> dict[str, Json] | None:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Reasoning() if part.signature:
            return {"type": "thinking", "thinking": part.text, "signature": part.signature}
        case ToolCall():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": part.arguments}
        case _:
            return None
