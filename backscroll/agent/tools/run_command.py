"""The tool `run_command`: run a command line in the working folder.

Owns the text of its result, and the sandbox it runs in. Refuses: folders outside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from backscroll.agent.commands.commands import CommandResult, run
from backscroll.agent.commands.environment import key_variables
from backscroll.agent.commands.sandbox import sandbox_for
from backscroll.agent.person import Preview
from backscroll.agent.tool import ToolContext, ToolOutput
from backscroll.agent.toolbox import tool
from backscroll.agent.tools.files.folder import files_of
from backscroll.errors import InvalidInput
from backscroll.vocab.part import Json

if TYPE_CHECKING:
    from backscroll.agent.commands.sandbox import Sandbox

_MORE = 10  # a call may ask for this many times the usual limit


def _seconds(context: ToolContext, wanted: float | None) -> float:
    return context.seconds if not wanted or wanted < 0 else min(float(wanted), context.seconds * _MORE)


def _folder(context: ToolContext, folder: str) -> Path:
    files = files_of(context)
    return files.root if folder in ("", ".") else files.root / files.resolve(folder)


def _sandbox(context: ToolContext) -> Sandbox | None:
    """Return the sandbox of commands, according to the settings; without one, its module is not loaded."""
    settings = context.thread.engine.settings
    if settings.agent_sandbox == "off":
        return None
    return sandbox_for(settings, files_of(context).root)


def _preview(context: ToolContext, arguments: Mapping[str, Json]) -> Preview:
    command = str(arguments["command"])
    if not command.strip():
        raise InvalidInput("the command is empty", hint="say what to run")
    folder = str(arguments.get("folder") or ".")
    place = _folder(context, folder).relative_to(files_of(context).root).as_posix()
    warnings: list[str] = []
    if place != ".":
        warnings.append(f"in the folder {folder}")
    seconds = _seconds(context, arguments.get("seconds"))
    if seconds > context.seconds:
        warnings.append(f"may run for {seconds:g} seconds")
    sandbox = _sandbox(context)
    outside = sandbox is not None and bool(arguments.get("outside_sandbox"))
    if outside:
        warnings.append("outside the sandbox: it may do all that you may")
    elif sandbox is not None and sandbox.folders:
        warnings.append(f"may also write {', '.join(map(str, sandbox.folders))}")
    return Preview(
        f"run: {command}",
        command=command,
        subject=command,
        warnings=tuple(warnings),
        folder="" if place == "." else place,
        sandbox="" if sandbox is None or outside else sandbox.told,
        outside=outside,
    )


@tool(effect="command", preview=_preview, seconds=0)  # it keeps time itself
def run_command(
    context: ToolContext,
    command: str,
    seconds: float | None = None,
    folder: str = ".",
    outside_sandbox: bool = False,
) -> ToolOutput:
    """Run a command line with bash in the working folder and return what it prints, and its exit code.

    For tests, builds, git, and whatever the other tools cannot do. Nothing can be typed into it, and there is no terminal: pass
    flags such as `-y` or `--no-edit`. Processes that it leaves in the background end with it. Keys and tokens of the person are
    not in its environment.

    Args:
        command: The command line.
        seconds: How long it may run, where the usual limit is too short.
        folder: Where to run it, relative to the working folder.
        outside_sandbox: Only after a sandbox refused something that is needed: run it without. The person is asked.
    """
    if not command.strip():
        raise InvalidInput("the command is empty", hint="say what to run")
    kept = context.thread.engine.settings.agent_environment.split()
    sandbox = None if outside_sandbox else _sandbox(context)
    before = {} if sandbox is None else sandbox.traps()
    done = run(
        command,
        _folder(context, folder),
        seconds=_seconds(context, seconds),
        longest=max(1_000, context.longest),
        stop=context.stop,
        show=context.show,
        keep=kept,
        keys=key_variables(),
        sandbox=sandbox,
    )
    return render_result(done, sandbox, () if sandbox is None else sandbox.left_behind(before))


def render_result(
    done: CommandResult, sandbox: Sandbox | None = None, left: Sequence[str] = ()
) -> ToolOutput:
    """Return the result of a command, for the model and for the user; `left` is what it left for git to run."""
    lines = done.output.count("\n") + (1 if done.output and not done.output.endswith("\n") else 0)
    size = f"{lines:,} lines" if lines != 1 else "1 line"
    line = f"{done.ending}, {size}" if done.output else f"{done.ending}, no output"
    facts: dict[str, Json] = {"exit_code": done.code, "seconds": round(done.seconds, 1), "bytes": done.bytes}
    if sandbox is None:
        return ToolOutput(done.told, is_error=not done.ok, line=line, facts=facts)
    facts["sandbox"] = sandbox.short
    if left:
        facts["runs_outside"] = list(left)
        line = f"{line}; git will run what it wrote, outside of the sandbox: {', '.join(left)}"
        return ToolOutput(done.told, is_error=not done.ok, line=line, facts=facts)
    if done.ok or not sandbox.is_refusal(done.output):
        return ToolOutput(done.told, is_error=not done.ok, line=f"{line}, in the sandbox", facts=facts)
    facts["refused_by_sandbox"] = True
    offer = (
        f"[It ran {sandbox.told}. That may be why something was refused. Do it in another way, or, where it is needed, call it "
        "again with outside_sandbox: true, and the person is asked.]"
    )
    return ToolOutput(
        f"{done.told}\n{offer}",
        is_error=True,
        line=f"{line}, in the sandbox, which may have refused it",
        facts=facts,
    )
