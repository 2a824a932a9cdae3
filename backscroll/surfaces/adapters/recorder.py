"""Recording an agent of another framework: its list into a thread, our prompt in its place, its answers with their cost.

Owns what the hooks of all frameworks have in common. An error of ours never breaks the agent's call (it is warned about, once) unless
`strict` is set. Refuses: formats of frameworks (`langchain_messages`, `pydantic_ai_messages`).
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

#: The wires on which a prompt can be requested here; that of the model's own vendor keeps its signatures of reasoning.
Spoken = Literal["openai-chat", "anthropic"]
_BEHIND = 8  # messages that may have followed those of a list that is sent again


def _none() -> Sequence[Mapping[str, Json]]:
    return ()


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A model call that is about to be made."""

    wire: Spoken
    model: str
    provider: str
    messages: Sequence[ForeignMessage]  # its system text first
    tools: Sequence[Mapping[str, Json]] = field(default_factory=_none)
    reserve: int | None = None  # maximum tokens of the answer


@dataclass
class FrameworkRecorder(CaptureGuard):
    """Records what the hooks of a framework receive."""

    thread: Thread
    vendor: str  # the metadata key of its own facts in messages
    budget: int | None = None
    assemble: bool = True
    strict: bool = False
    warned: bool = field(default=False, init=False)

    def begin(self, asking: ModelCall) -> tuple[CapturedRequest | None, list[ForeignMessage] | None]:
        """Take a list in; return also the prompt to send in its place, None if the list is sent as it is."""
        return self._assemble_prompt(asking, self.run_guarded(lambda: self._take_in(asking)))

    def begin_after(self, asking: ModelCall) -> tuple[CapturedRequest | None, list[ForeignMessage] | None]:
        """Do the same for a list that is known to hold only new messages."""
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
        """Take a list in. System texts after the first messages are for one call and not recorded: the framework sends them itself."""
        # If a list only continues, its beginning is unchanged.
        first = [] if only_new else list(takewhile(lambda m: m.role == "system", asking.messages))
        said = [m for m in asking.messages if m.role != "system"]
        new = only_new or self._only_new(said)
        return capture.take_in(self.thread, asking.wire, asking.model, [*first, *said], only_new=new)

    def _only_new(self, messages: Sequence[ForeignMessage]) -> bool:
        """Return True for a list that continues the thread, as programs send it that leave the history to us.

        Such a list has no answer in it, and none of it, by the framework's own ids, was seen before.
        """
        if not messages or any(m.role == "assistant" for m in messages):
            return False
        ids = {name for m in messages if (name := self.id_of(m.content))}
        seen = {self.id_of(m.content) for m in self.thread.recent(len(messages) + _BEHIND)}
        return not ids & seen

    def id_of(self, content: Content) -> str:
        """Return the framework's id of a message; empty if it has none."""
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
        """Record a call that failed."""
        if heard is not None:
            self.run_guarded(lambda: capture.record_failure(self.thread, heard, provider))


def _reply(said: Content, heard: CapturedRequest) -> Reply:
    """Return an answer in the wire's format, with the signatures of its reasoning."""
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
