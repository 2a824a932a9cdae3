"""`permissions`: what an agent may do without asking, must not do, or must ask about."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import click

from backscroll.config import permissions_file
from backscroll.errors import InvalidInput
from backscroll.surfaces.cli.command import command, flag, option
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import t
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.screen.table import Column, table
from backscroll.surfaces.words.done import report_result

_ACTIONS = ("list", "allow", "deny", "ask", "remove")


@command(
    "permissions",
    click.Argument(
        ["action"], metavar="[list|allow|deny|ask|remove]", type=click.Choice(_ACTIONS), default="list"
    ),
    click.Argument(["pattern"], metavar="[PATTERN]", required=False),
    option("--project", metavar="DIR"),
    flag("--all", "everything"),
)
def permissions_command(
    session: CliSession, action: str, pattern: str | None, project: str | None, everything: bool
) -> None:
    """List the rules, add one, or remove one."""
    if (pattern is None) != (action == "list") or (everything and action != "list"):
        raise InvalidInput(t("permissions.wrong_use"), hint=t("permissions.wrong_use_hint"))
    root = None if project is None else Path(project).expanduser().resolve()
    if action == "list":
        _list(session, root or Path.cwd().resolve(), everything=everything)
    elif action == "remove":
        _remove(session, pattern or "", root)
    else:
        _add(session, action, pattern or "", root)


def _list(session: CliSession, root: Path, *, everything: bool) -> None:
    # start-up: loaded when the command runs
    from backscroll.agent.approval.offers import is_broad
    from backscroll.agent.approval.permissions import ALWAYS, read_tables
    from backscroll.agent.approval.rules import Verdict, rule_of

    rows: list[tuple[str, str, str]] = []
    for where, entries in read_tables().items():
        here = where == ALWAYS or Path(where) == root or Path(where) in root.parents
        if everything or here:
            rows += [(rule, verdict, where) for rule, verdict in entries.items()]
    broad = {rule for rule, verdict, _ in rows if is_broad(rule_of(rule, cast("Verdict", verdict)))}
    if session.as_json:
        found = [
            {"rule": rule, "verdict": verdict, "where": where, "broad": verdict == "allow" and rule in broad}
            for rule, verdict, where in rows
        ]
        mode = session.settings().agent_approval
        session.screen.json({"file": str(permissions_file()), "approval": mode, "rules": found})
        return
    screen = session.screen
    if rows:
        columns = [
            Column(t("permissions.rule"), style="strong"),
            Column(t("permissions.verdict")),
            Column(t("permissions.where"), shrinks=True, style="dim"),
        ]
        shown = [
            (
                one_line(rule),
                t(
                    "permissions.then_broad"
                    if verdict == "allow" and rule in broad
                    else f"permissions.then_{verdict}"
                ),
                t("permissions.always") if where == ALWAYS else one_line(where),
            )
            for rule, verdict, where in rows
        ]
        screen.lines(table(screen, columns, shown))
    else:
        screen.line(t("permissions.none"))
    if broad:
        screen.remark(t("permissions.broad"), "warn")
    mode = session.settings().agent_approval
    screen.remark(t("permissions.mode", mode=mode, meaning=t(f"permissions.mode_{mode}")), "dim")
    screen.remark(t("permissions.file", path=one_line(str(permissions_file()))), "dim")


def _add(session: CliSession, verdict: str, pattern: str, root: Path | None) -> None:
    # start-up: loaded when the command runs
    from backscroll.agent.approval.permissions import add, table_for
    from backscroll.agent.approval.rules import Verdict, rule_of

    rule = rule_of(pattern, cast("Verdict", verdict))
    fresh = add(rule, root)
    document = {"rule": rule.text, "verdict": verdict, "where": table_for(root), "added": fresh}
    word = "permissions.added" if fresh else "permissions.known"
    report_result(
        session.screen,
        document,
        t(word, rule=one_line(rule.text), verdict=t(f"permissions.then_{verdict}"), where=_where(root)),
    )


def _remove(session: CliSession, pattern: str, root: Path | None) -> None:
    # start-up: loaded when the command runs
    from backscroll.agent.approval.permissions import remove, table_for

    remove(pattern, root)
    document = {"rule": pattern, "where": table_for(root), "removed": True}
    report_result(
        session.screen, document, t("permissions.removed", rule=one_line(pattern), where=_where(root))
    )


def _where(root: Path | None) -> str:
    return t("permissions.always") if root is None else one_line(str(root))
