"""`check`: validate a prompt for a wire; `--repair` writes a valid one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from backscroll.surfaces.cli.command import command, option
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import count, t
from backscroll.surfaces.i18n.translation import say
from backscroll.surfaces.screen.cells import wrap
from backscroll.surfaces.screen.plain import one_line, safe

if TYPE_CHECKING:
    from backscroll.engine.exchange.validation import PromptFile, PromptFlaw, RepairAction, ValidityRule
    from backscroll.surfaces.screen.screen import Screen

_SHOWN = 5  # places listed for one rule; --json has them all


@command(
    "check",
    click.Argument(["file"], metavar="FILE"),
    option("--wire", metavar="WIRE"),
    option("--model", metavar="MODEL"),
    option("--repair", metavar="OUT"),
)
def check_command(
    session: CliSession, file: str, wire: str | None, model: str | None, repair: str | None
) -> None:
    """List every rule that a prompt breaks."""
    prompts = _read(file, wire, model)
    found = prompts.flaws()
    mended = _write_repaired(session, prompts, repair) if repair is not None else None
    left = [flaw for flaws in found for flaw in flaws] if mended is None else prompts.unmendable()
    session.exit_code = int(any(flaw.rule.severity == "error" for flaw in left))
    if session.as_json:
        session.screen.json(_shape(prompts, found, mended))
        return
    put = session.screen.remark if repair == "-" else session.screen.line
    for number, (request, flaws) in enumerate(zip(prompts.requests, found, strict=True), 1):
        size = 1 if isinstance(request.messages, str) else len(request.messages)
        head = f"{request.wire}  {count('words.messages', size)}"
        several = len(prompts.requests) > 1
        _say(session.screen, put, f"{t('check.prompt', n=number)}  {head}" if several else head, flaws)
    if mended is not None and repair is not None and repair != "-":
        put(count("check.mended", len(mended), path=one_line(repair)))
    for flaw in left if mended is not None else []:
        put(session.screen.style(f"{t('check.left')}  {flaw.rule.id}  {say(flaw.what)}", "warn"))


def _read(file: str, wire: str | None, model: str | None) -> PromptFile:
    # start-up: loaded when the command runs
    from backscroll.engine.exchange.validation import prompts_of, read_prompts

    if file != "-":
        return read_prompts(file, wire=wire, model=model)
    text = sys.stdin.buffer.read().decode("utf-8-sig", "replace")
    return prompts_of(text, file, wire=wire, model=model)


def _write_repaired(session: CliSession, prompts: PromptFile, target: str) -> list[RepairAction]:
    """Write the repaired prompts to a file; with --json and `-` they are part of the result instead."""
    # start-up: loaded when the command runs
    from backscroll.engine.exchange.validation import write_prompts

    if target != "-":
        return write_prompts(prompts, target)
    text, changes = prompts.render_file()
    if not session.as_json:
        if session.screen.terminal:
            session.screen.raw(safe(text))
        else:
            session.screen.flush()
            sys.stdout.buffer.write(text.encode("utf-8", "replace"))
            sys.stdout.buffer.flush()
    return changes


def _say(screen: Screen, put: Callable[[str], None], head: str, flaws: list[PromptFlaw]) -> None:
    if not flaws:
        put(f"{screen.style(t('check.valid'), 'good')}  {head}")
        return
    put(f"{screen.style(count('check.flaws', len(flaws)), 'bad')}  {head}")
    by_rule: dict[str, list[PromptFlaw]] = {}
    for flaw in flaws:
        by_rule.setdefault(flaw.rule.id, []).append(flaw)
    for found in by_rule.values():
        _say_rule(screen, put, found)


def _say_rule(screen: Screen, put: Callable[[str], None], found: list[PromptFlaw]) -> None:
    rule = found[0].rule
    cost = f"  ({t('check.cost')})" if rule.severity == "cost" else ""
    put(f"  {screen.style(rule.id, 'strong')}  {say(rule.title)}{cost}")
    for line in wrap(say(rule.explanation), screen.room(6)):
        put(screen.style(f"      {line}", "dim"))
    for flaw in found[:_SHOWN]:
        put(f"      {one_line(flaw.where)}  {say(flaw.what)}")
    if len(found) > _SHOWN:
        put(f"      {t('check.more', n=len(found) - _SHOWN)}")
    for line in wrap(f"→ {say(found[0].hint)}", screen.room(6)):
        put(screen.style(f"      {line}", "dim"))


def _shape(prompts: PromptFile, found: list[list[PromptFlaw]], mended: list[RepairAction] | None) -> Any:
    out: dict[str, Any] = {
        "ok": not any(found),
        "prompts": [
            {
                "wire": request.wire,
                "model": request.model,
                "flaws": [
                    {**_rule(flaw.rule), "where": flaw.where, "what": say(flaw.what), "hint": say(flaw.hint)}
                    for flaw in flaws
                ],
            }
            for request, flaws in zip(prompts.requests, found, strict=True)
        ],
    }
    if mended is not None:
        out["changes"] = [
            {"rule": change.rule.id, "where": change.where, "what": say(change.what), "did": say(change.did)}
            for change in mended
        ]
    return out


def _rule(rule: ValidityRule) -> dict[str, str]:
    return {
        "rule": rule.id,
        "title": say(rule.title),
        "severity": rule.severity,
        "explanation": say(rule.explanation),
    }
