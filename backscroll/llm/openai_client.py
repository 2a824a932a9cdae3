"""The official SDK of OpenAI, which also serves everybody who imitates its wires.

Owns opening it (lazily: loading it takes most of a second), turning its errors into ours, and what both of its wires share.
The SDK's own retries are off, because every attempt belongs on the ledger. Before: `providers`. After:
`openai_client_chat`, `openai_client_responses`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from backscroll.errors import CutShort, MissingExtra, Unreachable
from backscroll.llm.client_faults import in_stream, refused, timed_out
from backscroll.llm.providers import Provider
from backscroll.vocab.part import Json

if TYPE_CHECKING:
    from openai import OpenAI


def open_sdk(provider: Provider, key: str) -> OpenAI:
    """The SDK for a service."""
    try:
        from openai import OpenAI
    except ImportError as error:
        raise MissingExtra(
            "talking to a model needs the package openai", hint="pip install 'backscroll[openai]'"
        ) from error
    # A server of one's own often wants no key; the SDK insists on one.
    return OpenAI(api_key=key or "none", base_url=provider.address, timeout=provider.timeout, max_retries=0)


class SdkClient:
    """What clients on both wires have in common: a service, and the SDK opened for it."""

    def __init__(self, provider: Provider, key: str) -> None:
        self._provider = provider
        self._sdk = open_sdk(provider, key)

    @property
    def provider(self) -> str:
        """Its name in the configuration."""
        return self._provider.name

    def close(self) -> None:
        """Let go of connections."""
        self._sdk.close()


@contextmanager
def our_errors(provider: Provider, model: str, *, streaming: bool = False) -> Generator[None]:
    """Whatever goes wrong inside, in our words; `streaming` once an answer has begun."""
    import httpx2
    import openai

    try:
        yield
    except openai.APITimeoutError as error:
        raise timed_out(provider.name, provider.timeout) from error
    except openai.APIConnectionError as error:
        raise (cut_short(provider) if streaming else unreachable(provider)) from error
    except openai.APIStatusError as error:
        body: Json = error.body if error.body is not None else error.response.text
        headers = dict(error.response.headers)
        raise refused(error.status_code, body, headers, provider=provider.name, model=model) from error
    except openai.APIError as error:
        # Told in the middle of a stream, or an answer that is none.
        body = error.body if error.body is not None else {"message": error.message, "code": error.code}
        raise in_stream(body, provider=provider.name, model=model) from error
    except httpx2.TimeoutException as error:
        raise timed_out(provider.name, provider.timeout) from error
    except httpx2.HTTPError as error:
        raise (cut_short(provider) if streaming else unreachable(provider)) from error
    except ValueError as error:
        # JSON that does not parse: half a line at the end of a stream, or no such service at all.
        raise (cut_short(provider) if streaming else _nonsense(provider)) from error


def unreachable(provider: Provider) -> Unreachable:
    """The error for an address where nobody answers."""
    return Unreachable(
        f"{provider.name} cannot be reached at {provider.address}",
        hint="check base_url of the provider and the network",
    )


def cut_short(provider: Provider) -> CutShort:
    """The error for an answer that broke off."""
    return CutShort(f"the answer of {provider.name} broke off", hint="try again")


def _nonsense(provider: Provider) -> CutShort:
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
