"""Open OpenAI's official SDK, also for services that imitate its wires.

Opened lazily: loading takes most of a second. Owns what both of its wires share. The SDK's own retries are off, because every
attempt goes on the ledger.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from backscroll.errors import MissingExtra
from backscroll.llm.clients.connections import Connections, OpenCall
from backscroll.llm.clients.sdk import our_errors, waits_of
from backscroll.llm.clients.stream_bounds import bounded_body
from backscroll.llm.provider import Provider

if TYPE_CHECKING:
    from openai import OpenAI


def open_sdk(provider: Provider, key: str, connections: Connections) -> OpenAI:
    """Return the SDK for a service; its connections are tracked in `connections`."""
    try:
        import openai
    except ImportError as error:
        raise MissingExtra(
            "calling this model needs the package openai", hint="pip install 'backscroll[openai]'"
        ) from error
    waits = waits_of(openai, provider)
    hooks = {"request": [connections.hook], "response": [bounded_body]}
    http = openai.DefaultHttpxClient(timeout=waits, event_hooks=hooks)
    # The user's own server often needs no key; the SDK requires one.
    return openai.OpenAI(
        api_key=key or "none", base_url=provider.address, timeout=waits, max_retries=0, http_client=http
    )


class SdkClient:
    """Shared by the clients of both wires: a service, and the SDK opened for it."""

    def __init__(self, provider: Provider, key: str) -> None:
        self._provider = provider
        self._connections = Connections()
        self._sdk = open_sdk(provider, key, self._connections)

    @property
    def provider(self) -> str:
        """The name of the service in the configuration."""
        return self._provider.name

    def abort(self) -> None:
        """Stop the call under way, from any thread."""
        self._connections.abort()

    def close(self) -> None:
        """Close connections."""
        self._sdk.close()

    @contextmanager
    def _faults(self, model: str, call: OpenCall, *, streaming: bool = False) -> Generator[None]:
        """Turn errors of the SDK into our errors."""
        import openai

        with our_errors(openai, self._provider, model, call, streaming=streaming):
            yield
