"""Providers as text and as JSON: for `config provider` and `models` alike.

Owns the table, the facts and the document of a provider, and the name of its state. Refuses: keys themselves (only the source
of one is shown), changing anything.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from backscroll.surfaces.i18n import t
from backscroll.surfaces.i18n.translation import say
from backscroll.surfaces.screen.cells import pad_text, width
from backscroll.surfaces.screen.plain import one_line
from backscroll.surfaces.screen.table import Column, table

if TYPE_CHECKING:
    from backscroll.engine.background.overview import ProviderStatus
    from backscroll.llm.providers import Provider
    from backscroll.surfaces.screen.screen import Screen


def service_table(screen: Screen, services: Sequence[ProviderStatus]) -> Iterable[str]:
    """Return the lines of a table of providers."""
    columns = [
        Column(t("columns.provider"), style="strong"),
        Column(t("columns.state")),
        Column(t("columns.model")),
        Column(t("columns.address"), shrinks=True, style="dim"),
    ]
    rows = [
        (s.provider.name, service_state(s), s.provider.model, one_line(s.provider.address)) for s in services
    ]
    return table(screen, columns, rows)


def service_state(service: ProviderStatus) -> str:
    """Return whether it is in use, usable, or lacks its key."""
    if service.key_missing:
        return t("models.no_key")
    return t("models.asked") if service.chosen else t("models.ready")


def service_facts(service: ProviderStatus) -> dict[str, str]:
    """Return the facts about one provider, by name."""
    provider = service.provider
    return {
        t("columns.provider"): provider.name,
        t("columns.state"): say(service.key_missing) or service_state(service),
        t("models.kind"): provider.kind,
        t("columns.address"): provider.address,
        t("columns.model"): provider.model,
        t("models.writer"): provider.writer or t("models.rules"),
        t("configuring.key"): _key_from(provider),
    }


def _key_from(provider: Provider) -> str:
    """Return where the key comes from; never the key."""
    # start-up: loaded when the command runs
    from backscroll.llm.keys import names

    if provider.variable and os.environ.get(provider.variable, "").strip():
        return t("configuring.key_env", variable=provider.variable)
    if provider.name in names():
        return t("configuring.key_ring")
    if provider.variable:
        return t("configuring.key_missing", variable=provider.variable)
    return t("configuring.key_none")


def service_document(service: ProviderStatus) -> dict[str, Any]:
    """Return the same for programs."""
    provider = service.provider
    return {
        "name": provider.name,
        "kind": provider.kind,
        "address": provider.address,
        "model": provider.model,
        "summary_model": provider.writer or None,
        "key_env": provider.variable or None,
        "asked": service.chosen,
        "key": not service.key_missing,
    }


def show_facts(screen: Screen, facts: Mapping[str, str]) -> None:
    """Print names and values, one line each, with the values aligned."""
    room = max(width(key) for key in facts)
    for key, value in facts.items():
        screen.line(f"{screen.style(pad_text(key, room), 'dim')}  {one_line(value)}")
