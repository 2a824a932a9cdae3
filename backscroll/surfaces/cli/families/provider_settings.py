"""`config provider`: add, show, test and remove providers.

Owns the questions and the lines. Refuses: the file itself (`llm/provider_file`), keys (`key_settings`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from backscroll.errors import InvalidInput, NotFound
from backscroll.llm.keys import names
from backscroll.surfaces.cli.families.settings_file import change_setting
from backscroll.surfaces.cli.session import CliSession
from backscroll.surfaces.i18n import t
from backscroll.surfaces.i18n.translation import say
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.words.done import report_result
from backscroll.surfaces.words.services import service_document, service_facts, service_table, show_facts

_ACTIONS = ("list", "add", "show", "remove", "use", "test")
#: Flags, and the provider settings they set, in the order in which they are written.
_SETTINGS = ("kind", "base_url", "model", "key_env")


def provider_action(session: CliSession, action: str, name: str | None, given: Mapping[str, str]) -> None:
    """Run one of the actions on providers; without a name, show or test the one in use."""
    if name is None and action in ("show", "test"):
        name = _asked_now(session)
    if action not in _ACTIONS or (name is None) != (action == "list"):
        if action == "add" and name is None and session.screen.can_ask:
            _add(session, "", given)
            return
        raise InvalidInput(t("configuring.provider_use"), hint=t("configuring.provider_use_hint"))
    match action:
        case "list":
            _list(session)
        case "add":
            _add(session, name or "", given)
        case "show":
            _show(session, name or "")
        case "remove":
            _remove(session, name or "")
        case "use":
            _use(session, name or "")
        case _:
            _test(session, name or "")


def _asked_now(session: CliSession) -> str | None:
    # start-up: loaded when the command runs
    from backscroll.engine.background.overview import services

    return next((s.provider.name for s in services(session.settings()) if s.chosen), None)


# -- looking -------------------------------------------------------------------------------------------------------


def _list(session: CliSession) -> None:
    # start-up: loaded when the command runs
    from backscroll.engine.background.overview import services
    from backscroll.llm.provider_file import presets

    found = services(session.settings())
    if session.as_json:
        session.screen.json({"providers": [service_document(s) for s in found], "presets": list(presets())})
        return
    screen = session.screen
    if found:
        screen.lines(service_table(screen, found))
    else:
        screen.line(t("configuring.no_providers"))
    screen.remark(t("configuring.presets", names=", ".join(presets())))


def _show(session: CliSession, name: str) -> None:
    # start-up: loaded when the command runs
    from backscroll.engine.background.overview import service_named

    service = service_named(name, session.settings())
    if session.as_json:
        session.screen.json(service_document(service))
        return
    show_facts(session.screen, service_facts(service))


# -- changing ------------------------------------------------------------------------------------------------------


def _add(session: CliSession, name: str, given: Mapping[str, str]) -> None:
    # start-up: loaded when the command runs
    from backscroll.engine.background.overview import services
    from backscroll.llm.provider_file import add_provider

    asked = given if given or not session.screen.can_ask else None
    if asked is None:
        name, entry = _questions(session, name)
    else:
        entry = _entry(name, given)
    path = add_provider(name, entry)
    document = {"name": name, "file": str(path), **entry}
    report_result(
        session.screen, document, t("configuring.provider_added", name=name, path=one_line(str(path)))
    )
    if session.as_json:
        return
    others = [s.provider.name for s in services(session.settings()) if s.chosen]
    if others != [name]:
        now = others[0] if others else session.settings().provider
        session.screen.remark(t("configuring.provider_use_it", name=name, now=now))
    _about_key(session, name)


def _about_key(session: CliSession, name: str) -> None:
    """Report what is still missing: a key, or the files of a local model."""
    # start-up: loaded when the command runs
    from backscroll.engine.background.overview import service_named
    from backscroll.llm.encoders.model_files import is_installed, known_models

    service = service_named(name, session.settings())
    provider = service.provider
    if provider.kind == "local":
        if provider.model in known_models() and not is_installed(provider.model):
            session.screen.remark(t("configuring.model_wanted", model=provider.model))
    elif service.key_missing:
        session.screen.remark(t("configuring.key_wanted", name=name, variable=provider.variable))


def _entry(name: str, given: Mapping[str, str]) -> dict[str, Any]:
    """Return the entry to write: the preset of this name, with the given values on top."""
    # start-up: loaded when the command runs
    from backscroll.llm.provider_file import presets

    preset = given.get("preset") or (name if name in presets() else "")
    if preset and preset not in presets():
        raise NotFound(
            t("configuring.no_preset", name=preset), hint=t("configuring.presets", names=", ".join(presets()))
        )
    about = {**presets().get(preset, {}), **given}
    entry = {key: about[key] for key in _SETTINGS if about.get(key)}
    if not entry.get("model"):
        raise InvalidInput(t("configuring.no_model"), hint=t("configuring.no_model_hint", name=name))
    return entry


def _questions(session: CliSession, name: str) -> tuple[str, dict[str, Any]]:
    """Ask for what flags do not set; Enter accepts the value in brackets."""
    # start-up: loaded when the command runs
    from backscroll.llm.provider import ALL_KINDS
    from backscroll.llm.provider_file import presets

    screen = session.screen
    if name not in presets():
        screen.remark(t("configuring.presets", names=", ".join(presets())))
        preset = _ask(t("configuring.ask_preset"), "")
        if preset and preset not in presets():
            raise NotFound(
                t("configuring.no_preset", name=preset),
                hint=t("configuring.presets", names=", ".join(presets())),
            )
    else:
        preset = name
    known = presets().get(preset, {})
    name = name or _ask(t("configuring.ask_name"), preset)
    kind = known.get("kind") or _ask(t("configuring.ask_kind"), "openai", lambda word: word in ALL_KINDS)
    about: dict[str, str] = {"kind": kind}
    if kind != "local":
        about["base_url"] = _ask(
            t("configuring.ask_address" if known.get("base_url") else "configuring.ask_address_or_none"),
            known.get("base_url", ""),
            _is_address,
        )
    about["model"] = _ask(t("configuring.ask_model"), known.get("model", ""))
    if kind != "local":
        # The meaning of Enter is explained only if no value is in brackets.
        about["key_env"] = _ask(
            t("configuring.ask_key_env" if known.get("key_env") else "configuring.ask_key_env_or_none"),
            known.get("key_env", ""),
        )
    entry: dict[str, Any] = {key: about[key] for key in _SETTINGS if about.get(key)}
    if not entry.get("model"):
        raise InvalidInput(t("configuring.no_model"), hint=t("configuring.no_model_hint", name=name))
    return name, entry


def _ask(question: str, usual: str, fits: Callable[[str], bool] = bool) -> str:
    """Ask for a line; an invalid one is asked for again at once."""
    while True:
        sys.stdout.flush()
        sys.stderr.write(f"{question} [{usual}]: " if usual else f"{question}: ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line.endswith("\n"):
            raise KeyboardInterrupt  # the input was closed
        answer = line.strip()
        if not answer or fits(answer):
            return answer or usual
        if fits is _is_address:
            sys.stderr.write(f"  {say('addresses begin with http:// or https://')}\n")


def _is_address(text: str) -> bool:
    return text.startswith(("http://", "https://"))


def _remove(session: CliSession, name: str) -> None:
    # start-up: loaded when the command runs
    from backscroll.llm.provider_file import remove_provider

    path = remove_provider(name)
    report_result(
        session.screen,
        {"name": name, "file": str(path)},
        t("configuring.provider_removed", name=name, path=one_line(str(path))),
    )
    if name in names() and not session.as_json:
        session.screen.remark(t("configuring.key_stays", name=name))
    if session.settings().provider == name and not session.as_json:
        session.screen.remark(t("configuring.still_named", name=name))


def _use(session: CliSession, name: str) -> None:
    # start-up: loaded when the command runs
    from backscroll.llm.providers import choose_provider

    choose_provider(name)  # the error lists the known ones
    change_setting(session, "provider", name)


# -- trying --------------------------------------------------------------------------------------------------------


def _test(session: CliSession, name: str) -> None:
    """Request one word; an error of key, model or address is reported as in real use."""
    # start-up: loaded when the command runs
    from backscroll.llm.clients.client import Request
    from backscroll.llm.providers import choose_provider, client_for

    provider = choose_provider(name)
    if provider is None:
        raise NotFound(t("configuring.no_providers"))
    client = client_for(provider)
    try:
        # Reasoning models need some room for it.
        reply = client.complete(
            Request([{"role": "user", "content": "Answer with the one word: ready"}], max_tokens=4096)
        )
    finally:
        client.close()
    words = one_line(reply.text)[:80]
    usage = reply.usage
    document = {
        "name": name,
        "model": reply.model,
        "text": reply.text,
        "input": usage.input if usage.known else None,
        "output": usage.output if usage.known else None,
    }
    report_result(
        session.screen,
        document,
        t("configuring.provider_answers", name=name, model=one_line(reply.model), words=words or "–"),
    )
