"""List the configured model services, choose one, and create its client.

Owns the tables `[providers.NAME]` of the configuration file. Keys come from the environment, or from the system's keyring where
one was stored under the name of the service (`keys`): a file that holds one is refused, and a service at a custom address
never gets a vendor's key unless `key_env` says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import cast
from urllib.parse import urlsplit

from backscroll.config import config_file, providers_table
from backscroll.errors import InvalidInput, NotFound
from backscroll.llm.clients.client import Client
from backscroll.llm.clients.faults import never_show
from backscroll.llm.clients.kinds import build_client
from backscroll.llm.provider import ALL_KINDS, Provider
from backscroll.vocab.part import Json

_SECRET = {"key", "api_key", "apikey", "token", "secret", "password", "auth"}
NONE = "none"


def providers(table: Mapping[str, Json] | None = None) -> dict[str, Provider]:
    """Return every configured service by name, in the order of the file."""
    found = providers_table() if table is None else table
    return {name: _provider(name, entry) for name, entry in found.items()}


def choose_provider(name: str = "", table: Mapping[str, Json] | None = None) -> Provider | None:
    """Return the service to use: by name, or the first one; None if there is none, or for `none`."""
    if name == NONE:
        return None
    known = providers(table)
    if not name:
        return next(iter(known.values()), None)
    if name not in known:
        raise NotFound(
            f"no provider {name!r} in {config_file()}",
            hint=f"known: {', '.join(known)}" if known else "write a table [providers.NAME] into the file",
        )
    return known[name]


def client_for(provider: Provider, environ: Mapping[str, str] | None = None) -> Client:
    """Return a client for a service; close it after use."""
    key = "" if provider.kind == "local" else provider.key(environ)
    never_show(key)
    return build_client(provider, key)


def _provider(name: str, entry: Json) -> Provider:
    where = f"{config_file()}, [providers.{name}]"
    if not isinstance(entry, Mapping):
        raise InvalidInput(
            f"{where} is not a table", hint="write one table for each service: [providers.NAME]"
        )
    known = {f.name: f for f in fields(Provider) if f.name != "name"}
    given = cast("Mapping[str, Json]", entry)
    for key, value in given.items():
        if key.lower() in _SECRET:
            raise InvalidInput(
                f"{where}: keys do not belong into the file",
                hint="put the key into an environment variable and name that in key_env",
            )
        if key not in known:
            raise InvalidInput(f"{where}: unknown setting {key!r}", hint=f"known: {', '.join(known)}")
        _check(where, key, value)
    kind = given.get("kind", "openai")
    if kind not in ALL_KINDS:
        raise InvalidInput(f"{where}: unknown kind {kind!r}", hint=f"use one of {', '.join(ALL_KINDS)}")
    if not given.get("model"):
        raise InvalidInput(f"{where}: model is missing", hint='name the model that answers: model = "…"')
    rest = {k: v for k, v in given.items() if k not in ("kind", "timeout", "structured", "summaries")}
    return Provider(
        name=name,
        kind=kind,
        # A local model is too small to write anything that is kept, unless the caller requests it.
        summaries=bool(given.get("summaries", kind != "local")),
        timeout=float(given.get("timeout", 120.0)),
        # Vendors support a schema; unknown for their imitators.
        structured=bool(given.get("structured", not given.get("base_url") and kind != "local")),
        **rest,
    )


def _check(where: str, key: str, value: Json) -> None:
    """Check the type and range of a value."""
    wanted = cast("type[Json]", type(getattr(Provider(""), key)))
    number = isinstance(value, int | float) and not isinstance(value, bool)
    right = (
        number
        if wanted is float
        else isinstance(value, wanted) and (wanted is bool) == isinstance(value, bool)
    )
    if not right:
        kinds = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}
        raise InvalidInput(f"{where}: {key} is not {kinds[wanted]}: {value!r}")
    if number and not 0 < value < float("inf"):
        raise InvalidInput(f"{where}: {key} must be more than 0: {value!r}")
    if key == "base_url" and value:
        parts = urlsplit(str(value))
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise InvalidInput(
                f"{where}: not an address: {value!r}", hint="addresses begin with http:// or https://"
            )
        if parts.username or parts.password:
            raise InvalidInput(
                f"{where}: keys do not belong into the file",
                hint="put the key into an environment variable and name that in key_env",
            )
