"""Services with models: which there are, which one is asked, and the client for it.

Owns the tables `[providers.NAME]` of the configuration file. Keys come from the environment, or from the system's keyring where
one was stored under the name of the service (`keys`): a file that holds one is refused, and a service at an address of the user's
own never gets the key of a vendor unless `key_env` says so.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Literal, TypeAlias, cast, get_args
from urllib.parse import urlsplit

from backscroll.config import config_file, providers_table
from backscroll.errors import InvalidInput, KeyRefused, NotFound
from backscroll.llm.clients.client import Client
from backscroll.llm.clients.faults import never_show
from backscroll.llm.keys import stored_key
from backscroll.vocab.part import Json
from backscroll.vocab.prompt import Wire

Kind: TypeAlias = Literal["openai", "openai-responses", "anthropic", "local"]
#: Wires of services at some address.
KINDS: tuple[Kind, ...] = ("openai", "openai-responses", "anthropic")
#: … and the model that runs in this process.
ALL_KINDS: tuple[Kind, ...] = get_args(Kind)
WIRE_OF: Mapping[Kind, Wire] = {
    "openai": "openai-chat",
    "openai-responses": "openai-responses",
    "anthropic": "anthropic",
    "local": "openai-chat",
}
_HOME: Mapping[Kind, str] = {
    "openai": "https://api.openai.com/v1",
    "openai-responses": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "local": "here",  # no address at all: it runs in this process
}
_KEY: Mapping[Kind, str] = {
    "openai": "OPENAI_API_KEY",
    "openai-responses": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "local": "",
}
_SECRET = {"key", "api_key", "apikey", "token", "secret", "password", "auth"}
NONE = "none"


@dataclass(frozen=True, slots=True)
class Provider:
    """One service as it was configured."""

    name: str
    kind: Kind = "openai"
    base_url: str = ""  # empty: the vendor's own
    model: str = ""  # who answers
    summary_model: str = ""  # who writes gists and summaries; empty: the same
    summaries: bool = True  # False: gists and summaries stay rule-based
    key_env: str = ""  # the environment variable that holds the key
    timeout: float = 120.0  # seconds without an answer
    tries: int = 4  # for one call, the first one included
    structured: bool = False  # the service honours a JSON schema for the answer

    @property
    def address(self) -> str:
        """Where it is."""
        return self.base_url or _HOME[self.kind]

    @property
    def wire(self) -> Wire:
        """The shape in which it wants its messages."""
        return WIRE_OF[self.kind]

    @property
    def writer(self) -> str:
        """The model that writes gists and summaries; empty if rules do."""
        return (self.summary_model or self.model) if self.summaries else ""

    @property
    def reader(self) -> str:
        """The model that reads turns for the graph; empty if rules do: a tiny one in this process would make things up."""
        return self.writer or ("" if self.kind == "local" else self.model)

    @property
    def variable(self) -> str:
        """The environment variable in which its key is looked for; empty if it wants none."""
        return self.key_env or ("" if self.base_url else _KEY[self.kind])

    def key(self, environ: Mapping[str, str] | None = None, stored: Callable[[str], str] = stored_key) -> str:
        """Return the key from the environment, else from the system's keyring; empty if none is wanted."""
        variable = self.variable
        found = (os.environ if environ is None else environ).get(variable, "").strip() if variable else ""
        found = found or stored(self.name)
        if not found and variable:
            raise KeyRefused(
                f"there is no key for {self.name}: the variable {variable} is not set",
                hint=f"set {variable} in the environment, or store the key: backscroll config key set {self.name}",
            )
        return found


def providers(table: Mapping[str, Json] | None = None) -> dict[str, Provider]:
    """Return every configured service by name, in the order of the file."""
    found = providers_table() if table is None else table
    return {name: _provider(name, entry) for name, entry in found.items()}


def choose_provider(name: str = "", table: Mapping[str, Json] | None = None) -> Provider | None:
    """Return the service that is asked: by its name, or the first one; None if there is none, or `none` is wanted."""
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
    if provider.kind == "local":
        from backscroll.llm.encoders.local_model import LocalClient

        return LocalClient(provider)
    key = provider.key(environ)
    never_show(key)
    if provider.kind == "anthropic":
        from backscroll.llm.clients.anthropic import AnthropicClient

        return AnthropicClient(provider, key)
    if provider.kind == "openai-responses":
        from backscroll.llm.clients.openai.responses import ResponsesClient

        return ResponsesClient(provider, key)
    from backscroll.llm.clients.openai.chat import ChatClient

    return ChatClient(provider, key)


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
        # What runs in this process is too small to write anything that is kept, unless the caller wants it to.
        summaries=bool(given.get("summaries", kind != "local")),
        timeout=float(given.get("timeout", 120.0)),
        # Vendors honour a schema; unknown for their imitators.
        structured=bool(given.get("structured", not given.get("base_url") and kind != "local")),
        **rest,
    )


def _check(where: str, key: str, value: Json) -> None:
    """The type of a value, and what it may be."""
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
