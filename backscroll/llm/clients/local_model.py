"""Run a small local model (SmolLM2 on llama.cpp), for trials without a key or network.

Owns starting its server on the loopback interface, with a key made for this run that no other process has, on one thread, and
ending it with the last client. The files come from `model_files`, the program from the package xllamacpp; both are added by
`backscroll models install smollm2`. Do not rely on its answers: a model of 135 million parameters makes things up.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from backscroll.errors import InvalidInput, MissingExtra, NotFound, StoreError
from backscroll.llm.clients.client import Client, Reply, Request, StreamEvent
from backscroll.llm.clients.openai.chat import ChatClient
from backscroll.llm.encoders.model_files import folder_of, is_installed, known_models, model_named
from backscroll.llm.prices.windows import window_for
from backscroll.llm.provider import Provider
from backscroll.vocab.prompt import Wire

ENGINE = "xllamacpp"
_THREADS = 1  # on cores that others use too, a second one makes it several times slower


def local_models() -> list[str]:
    """Return the names of models that can run here, whether or not they are installed."""
    return [name for name, package in known_models().items() if package.needs == ENGINE]


def engine_installed() -> bool:
    """Return True if the program that runs local models is installed; it is not loaded for that."""
    return find_spec(ENGINE) is not None


@dataclass(slots=True)
class _LocalServer:
    """A running server and the number of its clients."""

    server: Any
    url: str
    key: str
    users: int = 0


_running: dict[str, _LocalServer] = {}
_guard = threading.Lock()


def _take(name: str) -> _LocalServer:
    """Return the server of a model; start it if necessary."""
    with _guard:
        found = _running.get(name)
        if found is None:
            found = _running[name] = _start(name)
        found.users += 1
        return found


def _let_go(name: str, running: _LocalServer) -> None:
    """Release the server; the last client stops it."""
    with _guard:
        running.users -= 1
        if running.users <= 0 and _running.get(name) is running:
            del _running[name]
            running.server = None


def _start(name: str) -> _LocalServer:
    path = _file(name)
    try:
        import xllamacpp
    except ImportError as error:
        raise MissingExtra(
            f"a model in this process needs the package {ENGINE}",
            hint=f"`backscroll models install {name}` adds it, or: pip install {ENGINE}",
        ) from error
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.model_alias = {name}
    params.n_ctx = window_for(name).tokens
    params.n_parallel = 1
    params.cpuparams.n_threads = _THREADS
    params.cpuparams_batch.n_threads = _THREADS
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    # Without keys the server accepts calls from any user of this machine.
    key = secrets.token_urlsafe(24)
    params.api_keys = [key]
    params.ui = False
    params.endpoint_slots = False
    params.verbosity = -1
    try:
        server = xllamacpp.Server(params)
    except (RuntimeError, ValueError, OSError) as error:
        raise StoreError(
            f"the model {name} could not be loaded: {error}",
            hint=f"`backscroll models show {name}` checks its files",
        ) from error
    return _LocalServer(server, f"{server.listening_address}/v1", key)


def _file(name: str) -> Path:
    if name not in local_models():
        raise NotFound(
            f"no model {name!r} can run in this process", hint=f"known: {', '.join(local_models())}"
        )
    if not is_installed(name):
        raise MissingExtra(f"the model {name} is not installed", hint=f"`backscroll models install {name}`")
    return folder_of(name) / model_named(name).files[0].name


class LocalClient:
    """A client of a local model, which the first call loads in a second or two."""

    def __init__(self, provider: Provider) -> None:
        if provider.base_url:
            raise InvalidInput(
                f"the provider {provider.name} runs in this process and has no base_url",
                hint="leave base_url out, or choose another kind",
            )
        _file(provider.model)
        self._provider = provider
        self._guard = threading.Lock()
        self._inner: Client | None = None
        self._running: _LocalServer | None = None

    @property
    def wire(self) -> Wire:
        """Always `openai-chat`."""
        return "openai-chat"

    @property
    def provider(self) -> str:
        """The name of the service in the configuration."""
        return self._provider.name

    def complete(self, request: Request) -> Reply:
        """Send a request and wait for the whole answer."""
        return self._open_client().complete(self._own(request))

    def stream(self, request: Request) -> Iterator[StreamEvent]:
        """Send a request and stream the answer."""
        return self._open_client().stream(self._own(request))

    def abort(self) -> None:
        """Stop the call under way, from any thread."""
        if self._inner is not None:
            self._inner.abort()

    def close(self) -> None:
        """Close connections, and stop the model server if nothing else uses it."""
        with self._guard:
            inner, running = self._inner, self._running
            self._inner = self._running = None
        if inner is not None:
            inner.close()
        if running is not None:
            _let_go(self._provider.model, running)

    def _own(self, request: Request) -> Request:
        """Return the request addressed to the local model."""
        return replace(request, model=self._provider.model)

    def _open_client(self) -> Client:
        with self._guard:
            if self._inner is None:
                self._running = _take(self._provider.model)
                at = replace(self._provider, kind="openai", base_url=self._running.url, key_env="")
                self._inner = ChatClient(at, self._running.key)
            return self._inner
