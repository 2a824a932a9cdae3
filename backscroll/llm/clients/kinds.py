"""Build the client for each kind of service, and preload its SDK.

Loading an SDK takes one to two seconds, which go unnoticed while the user types. Owns which client serves which kind. Finding
keys: `llm/providers`. Opens no connection.
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
    """Load the modules that a service needs; sends nothing. A local model is not loaded: it takes memory."""
    if provider.kind == "local":
        return
    build_client(provider, _NO_KEY).close()
    for name in _RESOURCES[provider.kind]:
        # The SDKs load parts of themselves on first use; another version may have them elsewhere and loads them later.
        with suppress(ImportError):
            import_module(name)
