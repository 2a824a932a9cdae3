"""Loading the SDK of a service before anything is asked of it.

Loading takes most of a second, or two; a person who is still typing does not notice. Owns which SDK that is, and the wire that
the service speaks. Not here: keys (none is looked for) and every connection.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from backscroll.vocab.prompt import Wire

if TYPE_CHECKING:
    from backscroll.llm.providers import Provider

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


def wire_of(provider: Provider) -> Wire:
    """Return the wire that a service speaks."""
    match provider.kind:
        case "anthropic":
            return "anthropic"
        case "openai-responses":
            return "openai-responses"
        case _:
            return "openai-chat"


def preload(provider: Provider) -> None:
    """Load what talking to a service needs; nothing is sent. A model in this process is left alone: it takes memory."""
    match provider.kind:
        case "local":
            return
        case "anthropic":
            from backscroll.llm.clients.anthropic import AnthropicClient

            AnthropicClient(provider, _NO_KEY).close()
        case "openai-responses":
            from backscroll.llm.clients.openai.responses import ResponsesClient

            ResponsesClient(provider, _NO_KEY).close()
        case _:
            from backscroll.llm.clients.openai.chat import ChatClient

            ChatClient(provider, _NO_KEY).close()
    _load_resources(provider.kind)


def _load_resources(kind: str) -> None:
    """The SDKs load halves of themselves when first used; another version may keep them elsewhere, and loads them later then."""
    for name in _RESOURCES.get(kind, _RESOURCES["openai"]):
        with suppress(ImportError):
            import_module(name)
