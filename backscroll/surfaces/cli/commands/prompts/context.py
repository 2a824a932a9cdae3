"""`context`, `prompt`: the prompt as a picture, as a page, and as it would be sent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from backscroll.errors import InvalidInput, NotFound
from backscroll.regular_files import read_text
from backscroll.surfaces.cli.command import command, flag, option, thread_argument
from backscroll.surfaces.cli.references import event_number, thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import t
from backscroll.surfaces.i18n.translation import say
from backscroll.surfaces.pages.context import page
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.words import picture
from backscroll.surfaces.words.conversation import title_of

if TYPE_CHECKING:
    from backscroll.engine.prompts.builder import Prompt, Receipt
    from backscroll.engine.thread import Thread

_WIRES = ("openai-chat", "openai-responses", "anthropic")


def _build_parameters() -> list[click.Parameter]:
    return [
        thread_argument(),
        option("--budget", type=int, metavar="TOKENS"),
        option("--model", metavar="NAME"),
        option("--wire", type=click.Choice(_WIRES), metavar="WIRE"),
        option("--tools", metavar="FILE"),
        option("--reserve", type=int, metavar="TOKENS"),
    ]


def _tools(path: str | None) -> list[Any]:
    """Read the tools in a file: a list, or a request with one."""
    if path is None:
        return []
    try:
        data = json.loads(read_text(Path(path), "utf-8-sig"))
    except OSError as error:
        raise _no_tools(path, say(error.strerror or str(error))) from error
    except (ValueError, RecursionError) as error:
        raise _no_tools(path, t("context.not_json")) from error
    found = cast("dict[str, Any]", data).get("tools") if isinstance(data, dict) else data
    if not isinstance(found, list):
        raise _no_tools(path, t("context.no_list"))
    return cast("list[Any]", found)


def _no_tools(path: str, why: str) -> InvalidInput:
    return InvalidInput(t("context.bad_tools", path=path, error=why), hint=t("context.bad_tools_hint"))


@command(
    "context",
    *_build_parameters(),
    option("--as-of", metavar="EVENT"),
    flag("--diff"),
    flag("--brief"),
    option("--html", metavar="FILE"),
)
def context_command(
    session: CliSession,
    thread: str,
    as_of: str | None,
    diff: bool,
    brief: bool,
    html: str | None,
    tools: str | None,
    **asked: Any,
) -> None:
    """Show what the next prompt would consist of; writes nothing."""
    # start-up: loaded when the command runs
    from backscroll.engine.prompts.builder import prompt, receipts

    screen = session.screen
    with session.engine() as engine:
        found = thread_named(engine, thread)
        before = receipts(found, 1)
        moment = None if as_of is None else _moment(found, as_of)
        made = prompt(
            found, tools=_tools(tools), as_of=moment, dry_run=True, **_set_default_budget(found, asked)
        )
        if html is not None:
            _write_page(session, found, made, html)
        elif screen.as_json:
            screen.json(_shape(made.receipt, before if diff else None))
        else:
            with screen.page_output() if session.use_pager else nullcontext():
                _draw(session, found, made, brief=brief, now=moment is None)
                if diff:
                    _compare(session, made.receipt, before)


def _moment(found: Thread, text: str) -> int:
    """Return an event number that exists in the thread."""
    number, head = event_number(text), found.head
    if number > head:
        raise NotFound(t("comparing.no_event", number=number), hint=t("comparing.events", n=head))
    return number


def _write_page(session: CliSession, found: Thread, made: Prompt, path: str) -> None:
    # start-up: loaded when the command runs
    from backscroll.engine.exchange.exports import write_file

    write_file(Path(path), [page(made, one_line(title_of(found.info)))])
    text = t("context.wrote", path=path)
    if session.as_json:
        session.screen.json({"path": path, "total": made.receipt.total})
    else:
        session.screen.line(session.screen.style(text, "good"))


def _shape(receipt: Receipt, before: Sequence[Receipt] | None) -> dict[str, Any]:
    """Return the receipt; with --diff also what changed since the previous one (null if there is none)."""
    if before is None:
        return receipt.to_json()
    from dataclasses import asdict

    # start-up: loaded when the command runs
    from backscroll.engine.prompts.builder import compare

    changed = asdict(compare(before[0], receipt)) if before else None
    return {**receipt.to_json(), "difference": changed}


def _set_default_budget(thread: Thread, asked: dict[str, Any]) -> dict[str, Any]:
    """Add a budget to the options if neither a budget nor a model is set: a window of common size."""
    settings = thread.engine.settings
    if asked["budget"] is None and not (asked["model"] or settings.model or settings.budget):
        return {**asked, "budget": 128_000}
    return asked


def _draw(session: CliSession, found: Thread, made: Prompt, *, brief: bool, now: bool) -> None:
    # start-up: loaded when the command runs
    from backscroll.engine.crops.crops import crops

    screen = session.screen
    screen.lines(picture.summary(screen, made.receipt))
    said = list(picture.facts(screen, made.receipt, crops(found) if now else ()))
    if said:
        screen.line()
        screen.lines(said)
    if not brief and made.receipt.items:
        screen.line()
        screen.lines(picture.items(screen, made))


def _compare(session: CliSession, receipt: Receipt, before: Sequence[Receipt]) -> None:
    # start-up: loaded when the command runs
    from backscroll.engine.prompts.builder import compare

    screen = session.screen
    screen.line()
    if before:
        screen.lines(picture.difference(screen, compare(before[0], receipt)))
    else:
        screen.line(screen.style(t("context.no_previous"), "dim"))


@command("prompt", *_build_parameters(), flag("--dry-run"))
def prompt_command(session: CliSession, thread: str, dry_run: bool, tools: str | None, **asked: Any) -> None:
    """Print the prompt as it would be sent, as JSON; its effects are recorded."""
    with session.engine() as engine:
        found = thread_named(engine, thread)
        made = found.prompt(tools=_tools(tools), dry_run=dry_run, **_set_default_budget(found, asked))
    session.screen.json({**made.request, **({"receipt": made.receipt.to_json()} if session.as_json else {})})
