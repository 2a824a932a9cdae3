"""Scripted services and clients for tests: real HTTP on the loopback interface, the real SDK."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from backscroll.llm.clients.client import Client, Done, Reply, Request
from backscroll.llm.provider import KINDS, Kind, Provider
from backscroll.llm.providers import client_for
from backscroll.testing import Line, Scenario, ScriptedServer

__all__ = ["KINDS", "Kind", "Line", "Scenario", "ScriptedServer"]

KEY = "sk-a-planted-secret-0001"


def provider_at(url: str, kind: Kind = "openai", **more: Any) -> Provider:
    """A provider for a scripted server."""
    settings = {"model": "m", "key_env": "PLANTED", "timeout": 10.0, **more}
    return Provider("here", kind, url, **settings)


@contextmanager
def client_at(url: str, kind: Kind = "openai", key: str = KEY, **more: Any) -> Iterator[Client]:
    """A client that is closed afterwards."""
    client = client_for(provider_at(url, kind, **more), {"PLANTED": key})
    try:
        yield client
    finally:
        client.close()


def ask(text: str = "hello", **more: Any) -> Request:
    """A plain question, right on every wire."""
    return Request([{"role": "user", "content": text}], **more)


def streamed(client: Client, request: Request) -> tuple[list[Any], Reply]:
    """The events of a stream without the last one, and the whole answer."""
    *events, last = client.stream(request)
    assert isinstance(last, Done)
    return events, last.reply


#: A tool as each kind of service wants it declared.
TOOLS: dict[str, dict[str, Any]] = {
    "openai": {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}},
    "openai-responses": {"type": "function", "name": "read", "parameters": {"type": "object"}},
    "anthropic": {"name": "read", "input_schema": {"type": "object"}},
}
