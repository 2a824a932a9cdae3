"""`context`, `prompt`: the prompt as a picture, as a page, and as it would be sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from backscroll.errors import InvalidInput
from backscroll.surfaces.cli import picture
from backscroll.surfaces.cli.addressing import event_number, thread_named
from backscroll.surfaces.cli.command import command, flag, option, thread_argument
from backscroll.surfaces.cli.session import Session
from backscroll.surfaces.i18n import t

if TYPE_CHECKING:
    from backscroll.engine.prompting import Prompt
    from backscroll.engine.thread import Thread

_WIRES = ("openai-chat", "openai-responses", "anthropic")


def _asked() -> list[click.Parameter]:
    return [
        thread_argument(),
        option("--budget", type=int, metavar="TOKENS"),
        option("--model", metavar="NAME"),
        option("--wire", type=click.Choice(_WIRES), metavar="WIRE"),
        option("--tools", metavar="FILE"),
        option("--reserve", type=int, metavar="TOKENS"),
    ]


def _tools(path: str | None) -> list[Any]:
    """The tools in a file: a list, or a request with one."""
    if path is None:
        return []
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(
            t("context.bad_tools", path=path, error=str(error)), hint=t("context.bad_tools_hint")
        ) from error
    found = data.get("tools") if isinstance(data, dict) else data
    if not isinstance(found, list):
        raise InvalidInput(
            t("context.bad_tools", path=path, error=type(found).__name__), hint=t("context.bad_tools_hint")
        )
    return found


@command(
    "context",
    *_asked(),
    option("--as-of", metavar="EVENT"),
    flag("--diff"),
    flag("--brief"),
    option("--html", metavar="FILE"),
)
def context_command(
    session: Session,
    thread: str,
    as_of: str | None,
    diff: bool,
    brief: bool,
    html: str | None,
    tools: str | None,
    **asked: Any,
) -> None:
    """Show what a prompt would consist of; writes nothing."""
    from backscroll.engine.prompting import compare, prompt, receipts

    screen = session.screen
    with session.engine() as engine:
        found = thread_named(engine, thread)
        before = receipts(found, 1)
        moment = None if as_of is None else event_number(as_of)
        made = prompt(found, tools=_tools(tools), as_of=moment, dry_run=True, **_budgeted(found, asked))
        if html is not None:
            from backscroll.surfaces.pages.context import page

            Path(html).write_text(page(made, found.info.title or found.id[:8]), encoding="utf-8")
            screen.remark(t("context.wrote", path=html), "good")
            return
        if screen.as_json:
            screen.json(made.receipt.to_json())
            return
        _draw(session, made, brief=brief)
        if diff:
            screen.line()
            if before:
                screen.lines(picture.difference(screen, compare(before[0], made.receipt)))
            else:
                screen.remark(t("context.no_previous"), "dim")


def _budgeted(thread: Thread, asked: dict[str, Any]) -> dict[str, Any]:
    """Where neither a budget nor a model is set, a picture is still wanted: in a window of common size."""
    settings = thread.engine.settings
    if asked["budget"] is None and not (asked["model"] or settings.model or settings.budget):
        return {**asked, "budget": 128_000}
    return asked


def _draw(session: Session, made: Prompt, *, brief: bool) -> None:
    screen = session.screen
    screen.lines(picture.summary(screen, made.receipt))
    screen.line()
    screen.lines(picture.facts(screen, made.receipt))
    if not brief:
        screen.line()
        screen.lines(picture.items(screen, made.receipt.items))


@command("prompt", *_asked(), flag("--dry-run"))
def prompt_command(session: Session, thread: str, dry_run: bool, tools: str | None, **asked: Any) -> None:
    """Print the prompt as it would be sent, as JSON; what it did is kept."""
    with session.engine() as engine:
        found = thread_named(engine, thread)
        made = found.prompt(tools=_tools(tools), dry_run=dry_run, **_budgeted(found, asked))
    session.screen.json({**made.request, **({"receipt": made.receipt.to_json()} if session.as_json else {})})
