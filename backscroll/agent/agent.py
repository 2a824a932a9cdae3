"""The agent: a thread, a model, tools, and a user to ask.

Owns choosing model, tools, rules and folder, the ways to run (iterator, to the end, asynchronous), stop, resume and regenerate.
Refuses: the loop (`agent/loop/loop`).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from backscroll.agent.approval.approval import Rules
from backscroll.agent.defaults import builtin_tools, folder_of, provider_of, workroom_of
from backscroll.agent.events import Began, Finished, Happening, Noted, RunUsage, run_to_end
from backscroll.agent.loop.instructions import system_text
from backscroll.agent.loop.limits import RunLimits, is_open
from backscroll.agent.person import Nobody, Person
from backscroll.agent.stop_switch import Stop
from backscroll.agent.tool import Tool, Tools
from backscroll.agent.toolbox import Toolbox
from backscroll.engine.budget.costs import spending, sum_costs, window_of
from backscroll.engine.calls.instructions import instruct
from backscroll.engine.calls.replies import AGENT, at_work, find_unanswered
from backscroll.engine.core.run_lock import RunLock
from backscroll.engine.core.signatures import door, doors
from backscroll.errors import BackscrollError, Conflict, InvalidInput, StoreError
from backscroll.llm.clients.client import Client
from backscroll.llm.providers import Provider, client_for
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, ContentLike, Message
from backscroll.vocab.part import Json, Text, ToolCall
from backscroll.workspace.edits.journal import recover
from backscroll.workspace.files.files import Files

if TYPE_CHECKING:
    from backscroll.agent.loop.execution import RunContext
    from backscroll.agent.loop.loop import Loop
    from backscroll.agent.mcp.client import McpServers
    from backscroll.engine.thread import Thread
    from backscroll.vocab.prompt import Wire

OFFLINE = "offline"
_WINDOW = 32_000  # default prompt budget in tokens
_BY_PERSON = "The person ran this command:"


@doors
class Agent:
    """An agent that answers in a thread. Use it in a `with` block, or close it."""

    @door
    def __init__(
        self,
        thread: Thread,
        tools: Tools = (),
        *,
        provider: str | Provider | None = None,
        client: Client | None = None,
        model: str = "",
        root: str | Path | None = None,
        person: Person | None = None,
        rules: Rules | None = None,
        standard: bool = True,
        max_steps: int | None = None,
        spend: float | None = None,
        budget: int | None = None,
        system: str | None = None,
    ) -> None:
        settings = thread.engine.settings
        self.thread = thread
        self.root = folder_of(thread, root)
        self.person: Person = person or Nobody()
        self.stopping = Stop()
        self.budget = budget
        self.limits = RunLimits(
            settings.agent_max_steps if max_steps is None else max_steps,
            settings.agent_spend if spend is None else spend,
        )
        self._standard = standard
        self._toolbox: Toolbox | None = None
        self._toolbox_lock = threading.Lock()
        if tools:  # errors in the given tools are raised here; built-in tools load when needed
            self._toolbox = self._make_toolbox(tools)
        self.rules = rules or Rules.load(self.root, settings)
        self.workroom = workroom_of(thread, self.root) if settings.workspace_snapshots else None
        self._system = system
        self._client = client
        self._provider = provider_of(thread, provider) if client is None else None
        self._model = model
        self._given = client is not None
        self._first = True  # no run yet
        self._alone = RunLock(thread.id)
        self._mcp: McpServers | None = None

    def __enter__(self) -> Agent:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _make_toolbox(self, tools: Tools = ()) -> Toolbox:
        return Toolbox([*(builtin_tools(self.root) if self._standard else ()), *tools])

    @property
    def toolbox(self) -> Toolbox:
        """The tools that are offered to the model."""
        with self._toolbox_lock:
            self._toolbox = self._toolbox or self._make_toolbox()
            return self._toolbox

    # -- who answers -----------------------------------------------------------------------------------------

    @property
    def offline(self) -> bool:
        """True if no model is configured: the companion answers from history."""
        return not self._given and self._provider is None

    @property
    def provider(self) -> Provider | None:
        """The configured provider; None for a client that was passed in, and offline."""
        return self._provider

    @property
    def provider_name(self) -> str:
        """The name of the provider in use."""
        if self._client is not None:
            return self._client.provider
        return OFFLINE if self._provider is None else self._provider.name

    @property
    def model(self) -> str:
        """The model in use; empty for the companion."""
        return self._model or ("" if self._provider is None else self._provider.model)

    def use(self, provider: str = "", model: str = "") -> None:
        """Switch to another provider or model."""
        if provider:
            self._provider = provider_of(self.thread, provider)
            self._given, self._model = False, ""
        if model:
            self._model = model
        self._let_go()

    def client(self) -> Client:
        """Return the client of the service, opened when first used."""
        if self._client is None:
            if self._provider is None:
                # start-up: for an agent without a model
                from backscroll.agent.offline.companion import Companion

                self._client = Companion(self.thread)
            else:
                self._client = client_for(self._provider)
        return self._client

    def close(self) -> None:
        """Close connections and release what tools hold."""
        self._let_go()
        self._alone.close()
        if self._mcp is not None:
            self._mcp.close()
        for tool in self._toolbox or ():
            close = getattr(tool, "close", None)
            if callable(close):
                close()

    def _let_go(self) -> None:
        if self._client is not None and not self._given:
            self._client.close()
            self._client = None

    def events(self, content: ContentLike | None = None) -> Iterator[Happening]:
        """Send a message and yield the events of the run. Without content: continue where it stopped."""
        self.stopping.clear()
        with ExitStack() as held:
            try:
                held.enter_context(self._alone)
            except Conflict as error:  # never write into the middle of another process's calls
                yield Began(None, resumed=content is None)
                yield Finished("failed", error=error.message, hint=error.hint, exit_code=error.exit_code)
                return
            yield from self._events(content)

    def _events(self, content: ContentLike | None) -> Iterator[Happening]:
        try:
            notes = self._begin() if self._first else self._add_late_tools()
            loop = self._loop()
        except BackscrollError as error:  # no key, for example: the message is kept anyway
            said = None if isinstance(error, StoreError) else self._append_user_message(content)
            yield Began(said, resumed=content is None)
            yield Finished(
                "failed", error=error.message, hint=error.hint, message=said, exit_code=error.exit_code
            )
            return
        yield from notes
        yield from loop.events(content)

    def _append_user_message(self, content: ContentLike | None) -> Ref | None:
        return None if content is None else self.thread.append("user", content).id

    def run(self, content: ContentLike, on: Callable[[Happening], None] | None = None) -> Finished:
        """Send a message and wait for the end; `on` is called with every event."""
        return run_to_end(self.events(content), on)

    def resume(self) -> Iterator[Happening]:
        """Continue a run that a crash or an interrupt ended."""
        return self.events(None)

    async def stream(self, content: ContentLike | None = None) -> AsyncIterator[Happening]:
        """Yield the events of a run asynchronously; leaving the loop early stops the run."""
        loop = asyncio.get_running_loop()
        heard: asyncio.Queue[Happening | BaseException | None] = asyncio.Queue()

        def tell(what: Happening | BaseException | None) -> None:
            loop.call_soon_threadsafe(heard.put_nowait, what)

        def work() -> None:
            try:
                for happening in self.events(content):
                    tell(happening)
            except BaseException as error:  # noqa: BLE001 - the boundary of a thread: every exception is passed to the waiting caller
                tell(error)
            else:
                tell(None)

        thread = threading.Thread(target=work, name="backscroll-agent", daemon=True)
        thread.start()
        try:
            while (told := await heard.get()) is not None:
                if isinstance(told, BaseException):
                    raise told
                yield told
        finally:
            if thread.is_alive():
                self.stop()
                await asyncio.to_thread(thread.join)

    def regenerate(self) -> Iterator[Happening]:
        """Answer the last user message again. A previous answer of one message stays as an alternative."""
        replies = self._replies()
        if not replies:
            raise InvalidInput("there is no answer to regenerate", hint="send a message first")
        return self._again(replies)

    def _replies(self) -> list[Message]:
        """Return the replies to the last user message."""
        turn = next(iter(self.thread.recent_turns(1)), None)
        return [] if turn is None else [m for m in turn.messages if m.role in ("assistant", "tool")]

    def _again(self, replies: list[Message]) -> Iterator[Happening]:
        old = replies[0] if len(replies) == 1 and replies[0].role == "assistant" else None
        pen = self.thread if old is None else self.thread.as_actor(AGENT)
        pen.delete(*(m.id for m in replies))
        finished: Finished | None = None
        try:
            for happening in self.events(None):
                if isinstance(happening, Finished):
                    finished = happening
                else:
                    yield happening
        finally:
            came = self._replies()
            if not came:  # restore the previous answer, however this ended
                pen.restore(*(m.id for m in replies))
        if old is not None and len(came) == 1 and finished is not None and finished.steps == 1:
            content = came[0].content
            pen.delete(came[0].id)
            pen.restore(old.id)
            self.thread.regenerate(old.id, content)
        if finished is not None:
            yield finished

    def command(self, line: str) -> Iterator[Happening]:
        """Run a command of the user: without approval, recorded, and seen by the model at its next step."""
        # start-up: see `_loop`
        from backscroll.agent.loop.loop import answer_open

        self.stopping.clear()
        with self._alone:
            hands = self._hands(unasked=True)
            yield from answer_open(hands)
            wanted: dict[str, Json] = {"command": line}
            if self.thread.engine.settings.agent_sandbox != "off":
                wanted["outside_sandbox"] = True  # the sandbox confines agents, not the user
            call = ToolCall(f"person_{self.thread.head + 1}", "run_command", wanted)
            content = Content((Text(_BY_PERSON), call), metadata={"act": {"by": "person"}})
            carrier = self.thread.as_actor(AGENT).append("assistant", content).id
            yield from hands.carry_out([call], carrier)

    def rehearse(self) -> None:
        """Build the next prompt and discard it, to warm the caches; writes nothing, safe in another OS thread."""
        wire: Wire = "openai-chat"
        if self._client is not None:
            wire = self._client.wire
        elif self._provider is not None:
            wire = self._provider.wire
        tools = self.toolbox.specs(wire)
        self.thread.prompt(self._budget(), model=self.model, tools=tools, wire=wire, dry_run=True)

    def stop(self) -> None:
        """Stop the run, from any thread or signal handler; everything so far is kept."""
        self.stopping.throw()

    # -- state -----------------------------------------------------------------------------------------------

    @property
    def unfinished(self) -> str:
        """Describe briefly what a crash or an interrupt left open; empty if nothing is."""
        _, calls = find_unanswered(self.thread)
        begun = at_work(self.thread)
        if begun is not None and any(c.id == begun.call_id for c in calls):
            return f"{begun.tool} was at work"
        if calls:
            return ", ".join(dict.fromkeys(c.name for c in calls))
        newest = next(iter(self.thread.messages(0, 1, newest_first=True)), None)
        if newest is None:
            return ""
        return "the answer" if is_open(newest) else ""

    def counted(self) -> RunUsage:
        """Return tokens and cost of the whole thread so far, background work included."""
        total = sum_costs(spending(self.thread.engine, thread=self.thread))
        nano = None if total.calls and total.unpriced == total.calls else total.nano
        return RunUsage(
            total.input, total.cached, total.output, nano, total.calls, total.estimated, total.unanswered
        )

    def _begin(self) -> list[Noted]:
        """Prepare the first run: finish or revert edits that a crash interrupted, and start MCP servers."""
        self._first = False
        notes = [Noted("recovered", line) for line in recover(Files(self.root))]
        done = None if self.workroom is None else self.workroom.recover() or self.workroom.recovered
        if done is not None:
            notes.append(Noted("rewound", f"an interrupted rewind was {done.outcome}"))
        if self._standard:
            # start-up: servers are started by the first run
            from backscroll.agent.mcp.client import connect

            self._mcp = connect(self.root)
            notes += [*self._add_tools(self._mcp.tools), *(Noted("mcp", each) for each in self._mcp.problems)]
        return notes

    def _add_late_tools(self) -> list[Noted]:
        """Add tools of servers that have started since the last run."""
        if self._mcp is None or not self._mcp.starting:
            return []
        tools, problems = self._mcp.gather()
        return [*self._add_tools(tools), *(Noted("mcp", each) for each in problems)]

    def _add_tools(self, tools: Sequence[Tool]) -> list[Noted]:
        """Add tools of servers; one that cannot be added is left out and noted."""
        notes: list[Noted] = []
        for tool in tools:
            try:
                self.toolbox.add(tool)
            except BackscrollError as error:
                notes.append(Noted("mcp", error.message))
        return notes

    def _loop(self) -> Loop:
        # start-up: a chat is ready before its first message is sent
        from backscroll.agent.loop.loop import Loop
        from backscroll.agent.loop.step import ModelCaller

        settings = self.thread.engine.settings
        client = self.client()
        language = self.thread.legible.info.language or settings.language
        told = self._system
        if told is None:
            told = system_text(settings.agent_prompt, language, self.root)
        if told:
            instruct(self.thread, told)
        asker = ModelCaller(
            self.thread,
            client,
            model=self.model,
            stop=self.stopping,
            budget=self._budget(),
            tries=4 if self._provider is None else self._provider.tries,
            offline=self.offline,
            cache_key=self._provider is not None
            and not self._provider.base_url
            and client.wire != "anthropic",
        )
        return Loop(self.thread, asker, self._hands(), self.toolbox.specs(client.wire), self.limits)

    def _budget(self) -> int | None:
        settings = self.thread.engine.settings
        if self.budget or settings.budget:
            return self.budget or settings.budget
        if not self.model:
            return _WINDOW
        window = window_of(self.thread.engine, self.model)
        return None if window.known else max(_WINDOW, window.tokens)

    def _hands(self, *, unasked: bool = False) -> RunContext:
        # start-up: see `_loop`
        from backscroll.agent.loop.execution import RunContext

        settings = self.thread.engine.settings
        return RunContext(
            self.thread,
            self.root,
            self.toolbox,
            self.rules,
            self.person,
            self.stopping,
            self.workroom,
            settings.agent_command_seconds,
            settings.agent_output,
            unasked,
        )
