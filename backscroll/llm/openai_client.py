"""The official SDK of OpenAI, which also serves everybody who imitates its wires.

Owns opening it (lazily: loading it takes most of a second), turning its errors into ours, and what both of its wires share.
The SDK's own retries are off, because every attempt belongs on the ledger. Before: `providers`. After:
`openai_client_chat`, `openai_client_responses`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from backscroll.errors import BackscrollError, CutShort, MissingExtra, Unreachable
from backscroll.llm.client_faults import in_stream, refused, stopped, timed_out
from backscroll.llm.connections import CONNECTING, Call, Connections
from backscroll.llm.providers import Provider
from backscroll.vocab.part import Json

if TYPE_CHECKING:
    from openai import OpenAI


def open_sdk(provider: Provider, key: str, connections: Connections) -> OpenAI:
    """The SDK for a service; its connections are made known to `connections`."""
    try:
        import httpx2
        from openai import DefaultHttpxClient, OpenAI
    except ImportError as error:
        raise MissingExtra(
            "talking to a model needs the package openai", hint="pip install 'backscroll[openai]'"
        ) from error
    waits = httpx2.Timeout(provider.timeout, connect=min(CONNECTING, provider.timeout))
    http = DefaultHttpxClient(timeout=waits, event_hooks={"request": [connections.hook]})
    # A server of one's own often wants no key; the SDK insists on one.
    return OpenAI(
        api_key=key or "none", base_url=provider.address, timeout=waits, max_retries=0, http_client=http
    )


class SdkClient:
    """What clients on both wires have in common: a service, and the SDK opened for it."""

    def __init__(self, provider: Provider, key: str) -> None:
        self._provider = provider
        self._connections = Connections()
        self._sdk = open_sdk(provider, key, self._connections)

    @property
    def provider(self) -> str:
        """Its name in the configuration."""
        return self._provider.name

    def abort(self) -> None:
        """End what is going on, from any thread."""
        self._connections.abort()

    def close(self) -> None:
        """Let go of connections."""
        self._sdk.close()


@contextmanager
def our_errors(provider: Provider, model: str, call: Call, *, streaming: bool = False) -> Generator[None]:
    """Whatever goes wrong inside, in our words; `streaming` once an answer has begun."""
    import httpx2
    import openai

    try:
        yield
    except (openai.OpenAIError, httpx2.HTTPError, httpx2.StreamError, ValueError, OSError) as error:
        if call.aborted:
            raise stopped(provider.name) from error
        raise _in_our_words(error, provider, model, streaming=streaming) from error


def _in_our_words(error: Exception, provider: Provider, model: str, *, streaming: bool) -> BackscrollError:
    import httpx2
    import openai

    if isinstance(error, openai.APITimeoutError | httpx2.TimeoutException):
        return late(error, provider)
    if isinstance(error, openai.APIStatusError):
        body: Json = error.body if error.body is not None else error.response.text
        headers = dict(error.response.headers)
        return refused(error.status_code, body, headers, provider=provider.name, model=model)
    if isinstance(error, openai.APIConnectionError | httpx2.HTTPError | httpx2.StreamError | OSError):
        return cut_short(provider) if streaming else unreachable(provider)
    if isinstance(error, openai.APIError) and not isinstance(error, openai.APIResponseValidationError):
        # Told in the middle of a stream, or an answer that is none.
        body = error.body if error.body is not None else {"message": error.message, "code": error.code}
        return in_stream(body, provider=provider.name, model=model)
    # JSON that does not parse: half a line at the end of a stream, or no such service at all.
    return cut_short(provider) if streaming else nonsense(provider)


def late(error: Exception, provider: Provider) -> BackscrollError:
    """The error for a service that takes too long: to be reached, or to answer."""
    import httpx2

    if isinstance(error, httpx2.ConnectTimeout) or isinstance(error.__cause__, httpx2.ConnectTimeout):
        return unreachable(provider)
    return timed_out(provider.name, provider.timeout)


def unreachable(provider: Provider) -> Unreachable:
    """The error for an address where nobody answers."""
    return Unreachable(
        f"{provider.name} cannot be reached at {provider.address}",
        hint="check base_url of the provider and the network",
    )


def cut_short(provider: Provider) -> CutShort:
    """The error for an answer that broke off."""
    return CutShort(f"the answer of {provider.name} broke off", hint="try again")


def nonsense(provider: Provider) -> CutShort:
    """The error for an answer that is none."""
    return CutShort(
        f"what {provider.name} sent is no answer of a model", hint="check kind and base_url of the provider"
    )


def plain(thing: Any) -> Json:
    """An object of the SDK as the JSON that was sent, fields of others included and absent ones left out."""
    return thing.model_dump(mode="json", exclude_unset=True)


def number(value: Json) -> int:
    """A count in a vendor's usage; missing or odd ones are 0."""
    return int(value) if isinstance(value, int | float) and value > 0 else 0


def mappings(value: Json) -> list[Mapping[str, Json]]:
    """The objects in a list of a vendor; whatever else it holds, or is, falls away."""
    found = cast("list[Json]", value) if isinstance(value, list) else []
    return [cast("Mapping[str, Json]", entry) for entry in found if isinstance(entry, Mapping)]
