"""The offline assistant: the client used when no model is configured.

Owns a client that calls no model: it runs explicit commands (as tool calls, so that the same loop asks, runs and records them) and answers
everything else by quoting history. It invents nothing, costs nothing, and gives the same answer to the same history. It says that
it is not a model, in full once per conversation. Refuses: understanding language beyond its short list of commands.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from backscroll.agent.offline.orders import CompanionOrder, asks_for_help, order_of, usages
from backscroll.agent.offline.quotes import OFFLINE, answer, outcome, says, todos_of
from backscroll.engine.core.language import language_of
from backscroll.errors import CutShort
from backscroll.llm.clients.client import CallDelta, Done, Reply, Request, StreamEvent, TextDelta, Usage
from backscroll.vocab.message import Message
from backscroll.vocab.part import Json, ToolCall

if TYPE_CHECKING:
    from backscroll.engine.thread import Thread
    from backscroll.vocab.prompt import Wire

_MODEL = "companion"
_PIECE = re.compile(r"\s*[\u2e80-\u9fff\uff00-\uffef]{1,6}|\s*[^\s\u2e80-\u9fff\uff00-\uffef]+|\s+")
_HAN, _LATIN = re.compile(r"[\u4e00-\u9fff]"), re.compile(r"[A-Za-z]{2,}")
_LOOK_BACK = 200  # messages that are searched for the notice


@dataclass(frozen=True, slots=True)
class _Situation:
    """The state of the thread: the last message, and the tool results since."""

    newest: Message | None  # of the user
    results: tuple[Message, ...]  # after the last reply; empty if the user has spoken since


class Companion:
    """A `Client` of the wire openai-chat that answers from the history of a thread."""

    wire: Wire = "openai-chat"
    provider: str = OFFLINE

    def __init__(self, thread: Thread) -> None:
        self._thread = thread
        self._record_end = threading.Event()

    def complete(self, request: Request) -> Reply:
        """Return the complete answer."""
        return self._reply(request)

    def stream(self, request: Request) -> Iterator[StreamEvent]:
        """Yield the answer in small pieces; the last event is `Done`."""
        self._record_end.clear()
        reply = self._reply(request)
        for piece in _PIECE.findall(reply.text):
            self._check()
            yield TextDelta(piece)
        for index, call in enumerate(reply.tool_calls):
            self._check()
            yield CallDelta(index, call.id, call.name, str(call.arguments))
        self._check()
        yield Done(reply)

    def abort(self) -> None:
        """Stop the current answer."""
        self._record_end.set()

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def _check(self) -> None:
        if self._record_end.is_set():
            raise CutShort("the answer broke off", hint="ask again")

    # -- what to say -----------------------------------------------------------------------------------------

    def _reply(self, request: Request) -> Reply:
        now = self._situation()
        text = "" if now.newest is None else now.newest.text
        language = self._language(text)
        if now.results:
            return _reply_with_text(self._with_notice(outcome(now.results, language), language))
        tools = _names(request)
        if asks_for_help(text):
            lines = [says(language, "understands"), *(f"- `{line}`" for line in usages(language, tools))]
            return _reply_with_text(self._with_notice("\n".join(lines), language))
        order = order_of(text, todos_of(self._thread)) if now.newest is not None else None
        if order is None or (order.tool == "recall" and "recall" not in tools):
            return _reply_with_text(
                self._with_notice(answer(self._thread, now.newest, text, language), language)
            )
        if order.trouble:
            return _reply_with_text(says(language, order.trouble))
        if order.tool not in tools:
            return _reply_with_text(self._with_notice(says(language, "no_tool", tool=order.tool), language))
        return self._reply_with_call(order)

    def _reply_with_call(self, order: CompanionOrder) -> Reply:
        written = json.dumps(order.arguments, ensure_ascii=False)
        # The head grows with every message, so call ids are unique within a thread.
        call = ToolCall(f"offline_{self._thread.head}", order.tool, written)
        raw = {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": written}}
            ],
        }
        return Reply("", _MODEL, "tools", Usage(), (call,), raw=raw)

    def _situation(self) -> _Situation:
        results: list[Message] = []
        for message in self._thread.legible.messages(0, _LOOK_BACK, newest_first=True):
            if message.role == "tool":
                results.append(message)
            elif message.role == "user":
                return _Situation(message, ())
            elif message.role == "assistant":
                break
        return _Situation(None, tuple(reversed(results)))

    def _language(self, text: str) -> str:
        """Return the language of the last message, if that can be determined; else of the conversation."""
        known = language_of(text) or ("zh" if _HAN.search(text) else "")
        if not known and len(_LATIN.findall(text)) > 2 and order_of(text) is None:
            known = "en"
        known = known or self._thread.legible.info.language or self._thread.engine.settings.language
        if not known:
            spoken = (m.text for m in reversed(self._thread.legible.recent(6)) if m.role == "user")
            known = next((found for each in spoken if (found := language_of(each))), "")
        return "zh" if known.startswith("zh") else "en"

    def _with_notice(self, text: str, language: str) -> str:
        earlier = self._thread.legible.messages(0, _LOOK_BACK, newest_first=True)
        told = any(m.text and m.content.metadata.get("provider") == OFFLINE for m in earlier)
        return f"{text}\n\n{says(language, 'no_model_short' if told else 'no_model')}"


def _reply_with_text(text: str) -> Reply:
    return Reply(text, _MODEL, raw={"role": "assistant", "content": text})


def _names(request: Request) -> list[str]:
    """Return the tools that may be called."""
    out: list[str] = []
    for tool in request.tools:
        about: Json = tool.get("function", tool)
        out.append(str(cast("Mapping[str, Json]", about).get("name", "")))
    return out
