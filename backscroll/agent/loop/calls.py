"""Running a tool: every failure becomes a result.

Owns looking the tool up, reading and checking its arguments, time limits, stopping, cleaning the output, and turning every failure
into a result with the tool's name in front (`[run_command] …`). No exception of a tool leaves this module; only `KeyboardInterrupt` does,
which is the user's. Output is kept whole for the record, up to `output.HARDEST`; prompts show less of it by themselves.
Refuses: asking whether a call is allowed (`agent/approval/approval`).
"""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from backscroll.agent.commands.output import HARDEST, one_line, readable, shorten_text
from backscroll.agent.loop.untrusted_text import frame_result
from backscroll.agent.person import Preview, Proposal
from backscroll.agent.stop_switch import RunStopped, Stop
from backscroll.agent.tool import Tool, ToolContext, ToolOutput
from backscroll.agent.toolbox import Toolbox
from backscroll.errors import BackscrollError
from backscroll.logs import logger_of
from backscroll.vocab.part import Json, ToolCall

_LOG = logger_of("act")

_GRACE = 3.0  # seconds that a tool has to end by itself after a stop
_TICK = 0.05
_WORKERS = 8
_LEAST = 1_000  # characters of output that are always kept
_SHOWN = 400_000  # characters shown while a tool runs; everything it returns is in the result
#: Tools with these effects may run concurrently.
_APART = frozenset({"none", "read"})


_NOTHING = Preview("")


def _none() -> Mapping[str, Json]:
    return {}


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call that was checked but not run yet."""

    call: ToolCall
    tool: Tool | None = None
    arguments: Mapping[str, Json] = field(default_factory=_none)
    preview: Preview = _NOTHING
    failure: ToolOutput | None = None  # why it cannot run at all; it needs no approval

    def proposal(self, refused_before: str | None = None) -> Proposal:
        """Return the call as a proposal to the user."""
        effect = "none" if self.tool is None else self.tool.effect
        return Proposal(self.call.id, self.call.name, effect, self.arguments, self.preview, refused_before)


def prepare(toolbox: Toolbox, call: ToolCall, context: ToolContext) -> PreparedCall:
    """Look a call up, check its arguments and preview it; errors are in `failure`."""
    looked = _looked_up(toolbox, call)
    if looked.tool is None or looked.failure is not None:
        return looked
    tool = looked.tool
    try:
        preview = tool.preview(context, looked.arguments)
    except BackscrollError as error:
        return replace(looked, failure=failure(call.name, str(error)))
    except Exception as error:  # noqa: BLE001 - a preview may be third-party code too
        return replace(looked, failure=_report_failure(call.name, error, "its preview failed"))
    return replace(looked, preview=_escape_preview(preview))


def _looked_up(toolbox: Toolbox, call: ToolCall) -> PreparedCall:
    try:
        tool = toolbox.get(call.name)
        return PreparedCall(call, tool, toolbox.check(call.name, call.arguments))
    except BackscrollError as error:
        return PreparedCall(
            call, failure=failure(call.name, str(error)), preview=Preview(readable(call.name))
        )


def _escape_preview(preview: Preview) -> Preview:
    """Return a preview that a terminal can print: nothing in it moves the cursor or hides what the call does."""
    return replace(
        preview,
        line=one_line(_visible(preview.line).strip().replace("\n", " ⏎ "), 400),
        command=_visible(preview.command),
        diff=_visible(preview.diff),
        text=_visible(preview.text),
        warnings=tuple(readable(each) for each in preview.warnings),
    )


def _visible(text: str) -> str:
    """Spell out control characters: the user must see that they are there, not only be safe from them."""
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n")  # line ends of other systems are no trick; alone it would be one
    return "".join(
        c
        if c in "\n\t" or (c.isprintable() and not 0xD800 <= ord(c) <= 0xDFFF) or c in "\u3000\u00a0"
        else _escape_character(c)
        for c in text
    )


def _escape_character(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def call(toolbox: Toolbox, wanted: ToolCall, context: ToolContext) -> ToolOutput:
    """Run an allowed call; always returns a result."""
    return run(_looked_up(toolbox, wanted), context)


def run(prepared: PreparedCall, context: ToolContext) -> ToolOutput:
    """Run a prepared call; always returns a result."""
    if prepared.failure is not None or prepared.tool is None:
        return prepared.failure or failure(prepared.call.name, "it cannot be run")
    tool = prepared.tool
    try:
        if _is_other(prepared, tool, context):
            return failure(
                tool.name, "the files changed since this was put before the person; read them again"
            )
        # The user is asked in the thread that holds the terminal, without a time limit.
        if tool.effect == "ask":
            output = tool.run(context, prepared.arguments)
        else:
            output = _run_watched(tool, prepared.arguments, context)
    except BackscrollError as error:
        return failure(tool.name, str(error))
    except RunStopped:
        return failure(tool.name, "stopped by the person before it was done")
    except _ToolTimeout as late:
        return failure(
            tool.name,
            f"did not finish within {late.seconds:g} seconds and was given up; it may still be at work",
        )
    except SystemExit as error:  # a tool that exits must not end us
        return _report_failure(tool.name, error, "it tried to end the program")
    except Exception as error:  # noqa: BLE001 - the boundary between third-party code and the loop
        return _report_failure(tool.name, error, "it failed")
    _LOG.debug("ran %s in thread %s", tool.name, context.thread.id)
    return _clean(tool, output, context.longest)


def _is_other(prepared: PreparedCall, tool: Tool, context: ToolContext) -> bool:
    """Return True if a call would no longer do what was shown: the user allowed that diff, not another one."""
    if tool.effect != "write" or not prepared.preview.diff:
        return False
    now = _escape_preview(tool.preview(context, prepared.arguments))
    return _lines(now.diff) != _lines(prepared.preview.diff)


def _lines(diff: str) -> list[str]:
    """Return removed and added lines; their place in the file may have shifted by another call of the same reply."""
    return [line for line in diff.split("\n") if line.startswith(("+", "-"))]


def batches(prepared: Sequence[PreparedCall]) -> Iterator[list[int]]:
    """Yield which calls of one reply may run concurrently: read-only ones; all others one by one, in order."""
    together: list[int] = []
    for number, each in enumerate(prepared):
        if each.failure is not None or (each.tool is not None and each.tool.effect in _APART):
            together.append(number)
            continue
        if together:
            yield together
            together = []
        yield [number]
    if together:
        yield together


def call_all(
    toolbox: Toolbox,
    calls: Sequence[ToolCall],
    context: Callable[[ToolCall], ToolContext],
) -> list[ToolOutput]:
    """Run the calls of one reply, all of them allowed; results in the order of the calls."""
    return run_all([_looked_up(toolbox, each) for each in calls], [context(each) for each in calls])


def run_all(prepared: Sequence[PreparedCall], contexts: Sequence[ToolContext]) -> list[ToolOutput]:
    """Return the same for prepared calls."""
    out: dict[int, ToolOutput] = {}
    for batch in batches(prepared):
        if len(batch) == 1:
            out[batch[0]] = run(prepared[batch[0]], contexts[batch[0]])
            continue
        with ThreadPoolExecutor(min(_WORKERS, len(batch)), "tool") as pool:
            waiting = {
                n: pool.submit(contextvars.copy_context().run, run, prepared[n], contexts[n]) for n in batch
            }
            out.update({n: each.result() for n, each in waiting.items()})
    return [out[n] for n in range(len(prepared))]


# -- results -----------------------------------------------------------------------------------------------------


def failure(name: str, words: str) -> ToolOutput:
    """Return an error as a result, with the tool's name in front."""
    told = readable(words).strip() or "it failed"
    return ToolOutput(f"[{readable(name)[:64]}] {told}", is_error=True, line=one_line(told))


def _report_failure(name: str, error: BaseException, what: str) -> ToolOutput:
    _LOG.warning("tool %s broke: %s", name, type(error).__name__)
    words = str(error).strip()
    return failure(name, f"{what}: {type(error).__name__}{f': {words}' if words else ''}"[:4000])


def _clean(tool: Tool, output: object, longest: int) -> ToolOutput:
    """Return a result that can be recorded, shown and sent."""
    if not isinstance(output, ToolOutput):
        return failure(tool.name, f"its `run` gave {type(output).__name__} instead of a ToolOutput")
    # Output that is far too long is cut before it is cleaned: cleaning needs its length in memory once more.
    raw = shorten_text(str(output.text), 2 * HARDEST)
    text = shorten_text(readable(raw), min(HARDEST, max(longest, _LEAST)))
    if output.is_error and not text.startswith(f"[{tool.name}]"):
        text = f"[{tool.name}] {text}"
    if not text.strip() and not output.media:
        text = "(no output)"  # some wires refuse an empty result
    line = one_line(readable(output.line or text))
    if tool.effect != "ask":  # the user's answer is not untrusted data
        text = frame_result(tool.name, text)
    return replace(output, text=text, line=line)


# -- watching ----------------------------------------------------------------------------------------------------


class _ToolTimeout(Exception):
    """Raised if a tool took too long."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class LinkedStop(Stop):
    """A switch that follows another one, or is thrown on its own: for a call that is abandoned while the run continues."""

    def __init__(self, outer: Stop) -> None:
        super().__init__()
        self.outer = outer

    @property
    def thrown(self) -> bool:
        """True once either was thrown."""
        return super().thrown or self.outer.thrown

    def check(self) -> None:
        """Raise `Stopped` if either was thrown."""
        if self.thrown:
            raise RunStopped

    def wait(self, seconds: float) -> bool:
        """Sleep, but no longer than until either is thrown."""
        end = time.monotonic() + seconds
        while not self.thrown:
            rest = end - time.monotonic()
            if rest <= 0:
                return False
            self.outer.wait(min(rest, _TICK))
        return True

    @contextmanager
    def telling(self, work: Callable[[], None]) -> Generator[None]:
        """Call something when either is thrown."""
        with super().telling(work), self.outer.telling(work):
            yield


class _ToolThread(threading.Thread):
    """A running tool. A thread cannot be killed: one that does not react is abandoned, and its output is ignored."""

    def __init__(self, tool: Tool, arguments: Mapping[str, Json], context: ToolContext) -> None:
        super().__init__(name=f"tool {tool.name}", daemon=True)
        self.done = threading.Event()
        self.output: object = None
        self.error: BaseException | None = None
        self._around = contextvars.copy_context()
        self._work = lambda: tool.run(context, arguments)

    def run(self) -> None:
        """Run it, and keep the result."""
        try:
            self.output = self._around.run(self._work)
        except BaseException as error:  # noqa: BLE001 - raised again in the waiting caller
            self.error = error
        finally:
            self.done.set()


def _run_watched(tool: Tool, arguments: Mapping[str, Json], context: ToolContext) -> object:
    """Run a tool in its own thread, so that it can be abandoned if it hangs or the user stops."""
    limit = getattr(tool, "seconds", None)
    seconds = context.seconds if limit is None else float(limit)  # 0: the tool keeps time itself
    stop = LinkedStop(context.stop)
    heard = threading.Event()
    left = _SHOWN

    def show(text: str) -> None:
        nonlocal left
        if heard.is_set() or left <= 0:
            return
        left -= len(text)
        context.show(readable(text) if left > 0 else f"{readable(text[:left] if left else text)}\n[…]\n")

    work = _ToolThread(tool, arguments, replace(context, stop=stop, show=show))
    work.start()
    end = time.monotonic() + seconds if seconds > 0 else None
    try:
        while not work.done.wait(_TICK):
            if context.stop.thrown:
                break
            if end is not None and time.monotonic() > end:
                stop.throw()
                break
    except BaseException:  # the user's Ctrl-C arrives here: the running tool is ended first
        stop.throw()
        work.done.wait(_GRACE)
        heard.set()
        raise
    late = not work.done.is_set() and not context.stop.thrown
    if not work.done.wait(_GRACE if not work.done.is_set() else 0):
        heard.set()
        raise _ToolTimeout(seconds) if late else RunStopped
    heard.set()
    if late and isinstance(work.error, RunStopped):
        raise _ToolTimeout(seconds)
    if work.error is not None:
        raise work.error
    return work.output
