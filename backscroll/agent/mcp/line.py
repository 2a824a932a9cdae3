"""The connection to one MCP server, held open by its own thread.

Owns starting and ending it, the event loop (the protocol is asynchronous, tools are not), time limits, stopping, noticing that the
server is gone and restarting it once. What a program prints to standard error is kept and quoted if it fails. Refuses:
what tools look like (`agent/mcp/client`). A question of the server goes to the caller that waits for its answer (while the user
thinks, no time runs out); a server that requests a model of ours gets none.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import queue
import threading
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from backscroll.agent.commands.output import readable
from backscroll.agent.mcp.address import open_address
from backscroll.agent.mcp.pipe import ServerOutput, open_pipe
from backscroll.agent.mcp.questions import DECLINED, Ask, ServerAnswer, ServerQuestion
from backscroll.agent.mcp.servers import McpServer, check_installed
from backscroll.agent.stop_switch import RunStopped, Stop
from backscroll.errors import BackscrollError

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import (
        CallToolResult,
        ElicitResult,
        ErrorData,
        ReadResourceResult,
        Resource,
        ResourceTemplate,
    )
    from mcp_types import Tool as Offered

T = TypeVar("T")
_TICK = 0.05
_PAGES = 20  # of the list of tools
_QUOTED = 600  # characters of what a program said before it failed
_QUESTIONS = 10  # questions that a server may ask during one call; more are declined
_ENTRIES = 2_000  # tools or resources read from one server
_DAY = 86_400.0  # seconds: the package keeps no time, we do


class _CallTimeout(Exception):
    """Raised if a call took too long; never leaves this module."""


class ServerGone(BackscrollError):
    """Raised if an MCP server is unavailable or has ended."""


class McpConnection:
    """A connection to a server; safe to use from any thread."""

    def __init__(self, server: McpServer, root: Path) -> None:
        self.server = server
        self.root = root
        self._lock = threading.Lock()
        self._client: Client | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing: asyncio.Event | None = None
        self._task: asyncio.Task[Any] | None = None
        self._thread: threading.Thread | None = None
        self._questions: queue.SimpleQueue[tuple[ServerQuestion, asyncio.Future[ServerAnswer]]] = (
            queue.SimpleQueue()
        )
        self._counting = threading.Lock()
        self._askers = 0  # callers that wait for an answer of the server and can ask the user meanwhile
        self._asking = 0  # questions that are shown to the user now
        self._closed = threading.Event()
        self._asked_now = 0  # questions of the server since the last call began
        self.output = ServerOutput()

    # -- opening and closing ---------------------------------------------------------------------------------

    def open(self) -> None:
        """Start the server, or connect to it; does nothing if it is open."""
        with self._lock:
            if self._client is None:
                self._start()

    def _start(self) -> None:
        check_installed()
        ready: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._hold_open(ready)), name=f"mcp {self.server.name}", daemon=True
        )
        self._thread.start()
        left = self.server.seconds
        while True:
            try:
                return ready.result(_TICK)
            except concurrent.futures.TimeoutError as error:
                left -= _TICK
                if self._closed.is_set():
                    words = "was closed before it answered"
                elif left <= 0:
                    words = f"did not answer within {self.server.seconds:g} seconds"
                else:
                    continue
                self._end()
                raise self._build_gone_error(words) from error

    async def _hold_open(self, ready: concurrent.futures.Future[None]) -> None:
        """Open the connection and hold it until it is closed; opening and closing must happen in one task."""
        self._loop, self._closing = asyncio.get_running_loop(), asyncio.Event()
        self._task = asyncio.current_task()
        try:
            async with AsyncExitStack() as stack:
                self._client = await stack.enter_async_context(self._create_client())
                ready.set_result(None)
                await self._closing.wait()
        except BaseException as error:  # noqa: BLE001 - errors of a server or its program end here
            if not ready.done():
                ready.set_exception(self._build_gone_error(f"cannot be used: {_words(error)}"))
        finally:
            self._client = None

    def _create_client(self) -> Client:
        from mcp import Client

        server = self.server
        way = open_address(server, self.output) if server.url else open_pipe(server, self.root, self.output)
        return Client(way, elicitation_callback=self._handle_elicitation)

    async def _handle_elicitation(self, context: Any, params: Any) -> ElicitResult | ErrorData:  # noqa: ARG002 - theirs
        """Hand a question of the server to the waiting caller; decline it if no call waits."""
        from mcp_types import ElicitResult

        answered = DECLINED
        self._asked_now += 1
        if self._askers and self._asked_now <= _QUESTIONS:
            rules: Any = getattr(params, "requested_schema", None) or {}
            wanted = ServerQuestion(
                self.server.name, params.message, dict(rules), str(getattr(params, "url", "") or "")
            )
            waiting: asyncio.Future[ServerAnswer] = asyncio.get_running_loop().create_future()
            self._asking += 1
            try:
                self._questions.put((wanted, waiting))
                answered = await waiting
            finally:
                self._asking -= 1
        content: Any = None if answered.content is None else dict(answered.content)
        return ElicitResult(action=answered.action, content=content)

    def close(self) -> None:
        """End the server and the thread."""
        self._closed.set()  # a caller that is starting it stops waiting
        with self._lock:
            self._end()

    def _end(self) -> None:
        loop, task, thread = self._loop, self._task, self._thread
        if loop is not None and self._closing is not None and task is not None and thread is not None:
            if thread.is_alive() and not loop.is_closed():
                # A server that never answered is still being opened: it does not wait for a close.
                with suppress(RuntimeError):  # it closed at this very moment
                    loop.call_soon_threadsafe(task.cancel if self._client is None else self._closing.set)
            thread.join(10)
        self._client = self._loop = None

    def _build_gone_error(self, words: str) -> ServerGone:
        """Return the error for a server that cannot be reached; a limit that it exceeded is the reason, whatever the symptom here."""
        broken = self.output.broken
        said = f"was disconnected: {broken}" if broken else words
        return ServerGone(f"the MCP server {self.server.name} {said}", hint=self._hint())

    def _hint(self) -> str:
        """Return the last output of the program, if there is any."""
        if self.output.broken:
            return "look at what it prints to standard output"
        said = readable(self.output.text[-_QUOTED:]).strip()
        return f"it said: {said}" if said else "look at its table [mcp.NAME] in the configuration file"

    # -- requests --------------------------------------------------------------------------------------------

    def fetch_tools(self) -> list[Offered]:
        """Return the tools of the server, sorted by name."""
        self.open()
        found = self._wait(self._fetch_tool_pages(), self.server.seconds, None)
        return sorted(found, key=lambda each: each.name)

    async def _fetch_tool_pages(self) -> list[Offered]:
        out: list[Offered] = []
        cursor: str | None = None
        for _ in range(_PAGES):
            page = await self._speaking().list_tools(cursor=cursor)
            out += page.tools
            cursor = page.next_cursor
            if not cursor or len(out) >= _ENTRIES:
                break
        return out[:_ENTRIES]

    def call(
        self,
        name: str,
        arguments: dict[str, Any],
        stop: Stop,
        *,
        again: bool = False,
        seconds: float = 0.0,
        ask: Ask | None = None,
    ) -> CallToolResult:
        """Call a tool. A server that is gone is restarted once; with `again`, the call is then repeated too.

        `ask` puts the server's questions to the user meanwhile; without it they are declined.
        """
        limit = seconds or self.server.seconds
        return self._ask_server(
            lambda: self._call_tool(name, arguments, limit), limit + 5, stop, ask, again=again
        )

    def _ask_server(
        self,
        work: Callable[[], Coroutine[Any, Any, T]],
        limit: float,
        stop: Stop,
        ask: Ask | None,
        *,
        again: bool,
    ) -> T:
        self.open()
        try:
            return self._wait(work(), limit, stop, ask)
        except ServerGone:
            with self._lock:
                self._end()
                self._start()
            if not again:  # it may be half done: only read-only calls are repeated
                raise
            return self._wait(work(), limit, stop, ask)

    async def _call_tool(self, name: str, arguments: dict[str, Any], seconds: float) -> CallToolResult:
        called = self._speaking().call_tool(name, arguments, read_timeout_seconds=_DAY)
        return await self._run_timed(called, seconds)

    async def _run_timed(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        """Limit the time in which the server works; while it waits for the user, none passes."""
        task = asyncio.ensure_future(work)
        left = seconds
        try:
            while True:
                before = asyncio.get_running_loop().time()
                done, _ = await asyncio.wait({task}, timeout=max(0.0, min(left, 10 * _TICK)))
                if done:
                    return task.result()
                if not self._asking:
                    left -= asyncio.get_running_loop().time() - before
                if left <= 0:
                    raise _CallTimeout
        finally:
            task.cancel()

    # -- resources -------------------------------------------------------------------------------------------

    def resources(self) -> tuple[list[Resource], list[ResourceTemplate]]:
        """Return the server's resources, sorted by address, and its address patterns."""
        self.open()
        return self._wait(self._resources(), self.server.seconds, None)

    async def _resources(self) -> tuple[list[Resource], list[ResourceTemplate]]:
        client = self._speaking()
        found: list[Resource] = []
        patterns: list[ResourceTemplate] = []
        if client.server_capabilities.resources is None:
            return found, patterns
        cursor: str | None = None
        for _ in range(_PAGES):
            page = await client.list_resources(cursor=cursor)
            found += page.resources
            cursor = page.next_cursor
            if not cursor or len(found) >= _ENTRIES:
                break
        patterns += (await client.list_resource_templates()).resource_templates
        found, patterns = found[:_ENTRIES], patterns[:_ENTRIES]
        return sorted(found, key=lambda r: str(r.uri)), sorted(patterns, key=lambda p: p.uri_template)

    def read(self, uri: str, stop: Stop, ask: Ask | None = None) -> ReadResourceResult:
        """Read one of them."""
        limit = self.server.seconds
        return self._ask_server(
            lambda: self._run_timed(self._speaking().read_resource(uri), limit),
            limit + 5,
            stop,
            ask,
            again=True,
        )

    def _speaking(self) -> Client:
        if self._client is None:
            raise self._build_gone_error("is not running any more")
        return self._client

    def _wait(
        self, work: Coroutine[Any, Any, T], seconds: float, stop: Stop | None, ask: Ask | None = None
    ) -> T:
        """Run something in the connection's event loop and wait for it, no longer than allowed."""
        if ask is None:
            return self._wait_for_result(work, seconds, stop, None)
        with self._counting:
            self._askers += 1
            self._asked_now = 0
        try:
            return self._wait_for_result(work, seconds, stop, ask)
        finally:
            with self._counting:
                self._askers -= 1
                left = self._askers
            while not left and self._put(lambda _: DECLINED):
                pass  # questions that came too late are declined

    def _put(self, ask: Ask) -> bool:
        """Put the server's questions to the user here, in the thread that waits for its answer; False if there are none."""
        try:
            wanted, waiting = self._questions.get_nowait()
        except queue.Empty:
            return False
        answered = DECLINED
        try:
            answered = ask(wanted)
        finally:
            with suppress(RuntimeError):  # the connection was closed meanwhile
                waiting.get_loop().call_soon_threadsafe(_settle, waiting, answered)
        return True

    def _wait_for_result(
        self, work: Coroutine[Any, Any, T], seconds: float, stop: Stop | None, ask: Ask | None
    ) -> T:
        loop = self._loop
        if loop is None or loop.is_closed():
            work.close()
            raise self._build_gone_error("is not running any more")
        waiting = asyncio.run_coroutine_threadsafe(work, loop)
        rest = seconds
        while True:
            try:
                return waiting.result(_TICK)
            except concurrent.futures.TimeoutError as error:
                if waiting.done() and not waiting.cancelled() and waiting.exception() is not None:
                    raise self._fault(error, seconds - 5) from error  # its own timeout, not the end of a tick
                if ask is not None:
                    self._put(ask)
                rest -= 0.0 if self._asking else _TICK
                if stop is not None and stop.thrown:
                    waiting.cancel()
                    raise RunStopped from None
                gone = self._thread is None or not self._thread.is_alive()
                if rest <= 0 or gone:
                    waiting.cancel()
                    words = "ended" if gone else f"did not answer within {seconds:g} seconds"
                    raise self._build_gone_error(words) from None
            except BackscrollError:
                raise
            except Exception as error:
                raise self._fault(error, seconds - 5) from error

    def _fault(self, error: Exception, seconds: float) -> BackscrollError:
        """Convert whatever ended a call to an error of ours: no answer of a server may end the caller."""
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT

        name = self.server.name
        code = error.code if isinstance(error, MCPError) else None
        if code == CONNECTION_CLOSED or isinstance(error, concurrent.futures.CancelledError):
            return self._build_gone_error("ended")
        if code == REQUEST_TIMEOUT or isinstance(error, _CallTimeout):
            return BackscrollError(f"the MCP server {name} did not answer within {seconds:g} seconds")
        if isinstance(error, MCPError):
            return BackscrollError(f"the MCP server {name} says: {error.message}")
        return BackscrollError(f"the MCP server {name} sent an invalid answer: {_words(error)[:_QUOTED]}")


def _settle(waiting: asyncio.Future[ServerAnswer], answered: ServerAnswer) -> None:
    if not waiting.done():  # the server may have given up
        waiting.set_result(answered)


def _words(error: BaseException) -> str:
    """Return the error message inside any number of wrappers."""
    inner: BaseException = error
    while isinstance(inner, BaseExceptionGroup):
        inner = cast("BaseExceptionGroup[BaseException]", inner).exceptions[0]
    return f"{type(inner).__name__}: {inner}" if str(inner) else type(inner).__name__
