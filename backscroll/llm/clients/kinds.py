"""The client for each kind of service, and loading its SDK before anything is asked of it.

Loading an SDK takes most of a second, or two; a person who is still typing does not notice. Owns which client speaks for which
kind. Not here: looking for keys (`llm/providers`), and every connection.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module

from backscroll.llm.clients.client import Client
from backscroll.llm.provider import Provider

_NO_KEY = "none"
#: What each wire uses of its SDK.
_RESOURCES = {
    "openai": (
        "openai.resources.chat.chat",
        "openai.resources.chat.completions.completions",
    ),
    "openai-responses": ("openai.resources.responses.responses",),
    "anthropic": ("anthropic.resources.messages.messages",),
}


def build_client(provider: Provider, key: str) -> Client:
    """Return the client for a service; its SDK is loaded here."""
    match provider.kind:
        case "local":
            # start-up: only the wire that is spoken is loaded
            from backscroll.llm.clients.local_model import LocalClient

            return LocalClient(provider)
        case "anthropic":
            # start-up: as above
            from backscroll.llm.clients.anthropic import AnthropicClient

            return AnthropicClient(provider, key)
        case "openai-responses":
            # start-up: as above
            from backscroll.llm.clients.openai.responses import ResponsesClient

            return ResponsesClient(provider, key)
        case _:
            # start-up: as above
            from backscroll.llm.clients.openai.chat import ChatClient

            return ChatClient(provider, key)


def preload(provider: Provider) -> None:
    """Load what talking to a service needs; nothing is sent. A model in this process is left alone: it takes memory."""
    if provider.kind == "local":
        return
    build_client(provider, _NO_KEY).close()
    for name in _RESOURCES[provider.kind]:
        # The SDKs load halves of themselves when first used; another version may keep them elsewhere, and loads them later then.
        with suppress(ImportError):
            import_module(name)
