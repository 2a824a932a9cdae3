"""What the official SDKs of the vendors have in common: they are built alike, on one HTTP library, with errors of the same names.

Owns turning their errors into ours, their objects into the JSON that was sent, and how long they may wait. Not here: wires
(`openai`, `anthropic`), trying again (`retries`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from importlib import import_module
from math import isfinite
from typing import Any, cast

from backscroll.errors import BackscrollError, CutShort, Unreachable
from backscroll.llm.clients.client import Usage
from backscroll.llm.clients.connections import CONNECTING, OpenCall
from backscroll.llm.clients.faults import (
    build_response_error,
    build_stop_error,
    in_stream,
    timed_out,
    without_secrets,
)
from backscroll.llm.clients.server_sent import events_of
from backscroll.llm.provider import Provider
from backscroll.vocab.part import Json

_REFUSED = 400  # a status from here on
#: Tokens of a call that could be true.
_MOST = 10**8
#: What reading something that is shaped otherwise than the wire foresees raises.
_MISSHAPEN = (KeyError, IndexError, TypeError, AttributeError)


def http_of(sdk: Any) -> Any:
    """Return the HTTP library that an SDK is built on: httpx in its older versions, httpx2 in the newer ones."""
    client = cast("type[Any]", sdk.DefaultHttpxClient)
    names = (kind.__module__.partition(".")[0] for kind in client.__mro__)
    return import_module(next(name for name in names if name.startswith("httpx")))


def waits_of(sdk: Any, provider: Provider) -> Any:
    """Return how long a service is waited for: briefly for a connection, as long as was set for an answer."""
    return http_of(sdk).Timeout(provider.timeout, connect=min(CONNECTING, provider.timeout))


@contextmanager
def our_errors(
    sdk: Any, provider: Provider, model: str, call: OpenCall, *, streaming: bool = False
) -> Generator[None]:
    """Turn errors of an SDK into our errors; `sdk` is the module whose errors it raises, `streaming` once an answer has begun."""
    http = http_of(sdk)
    try:
        yield
    except (sdk.APIError, http.HTTPError, http.StreamError, ValueError, OSError, *_MISSHAPEN) as error:
        if call.aborted:
            raise build_stop_error(provider.name) from error
        raise _in_our_words(sdk, error, provider, model, streaming=streaming) from error


def _in_our_words(
    sdk: Any, error: Exception, provider: Provider, model: str, *, streaming: bool
) -> BackscrollError:
    http = http_of(sdk)
    told = cast("Any", error)
    if isinstance(error.__cause__, CutShort):  # our own word, which the SDK took for a broken connection
        return error.__cause__
    if isinstance(error, (sdk.APITimeoutError, http.TimeoutException)):
        return _late(http, error, provider)
    if isinstance(error, sdk.APIStatusError) and told.status_code >= _REFUSED:
        body: Json = told.body if told.body is not None else told.response.text
        headers = dict(told.response.headers)
        return build_response_error(told.status_code, body, headers, provider=provider.name, model=model)
    if isinstance(error, (sdk.APIConnectionError, http.HTTPError, http.StreamError, OSError)):
        return cut_short(provider) if streaming else unreachable(provider)
    if isinstance(error, sdk.APIError) and not isinstance(error, sdk.APIResponseValidationError):
        # Told in the middle of a stream, or an answer that is none.
        code = getattr(error, "code", None)
        body = told.body if told.body is not None else {"message": told.message, "code": code}
        return in_stream(body, provider=provider.name, model=model)
    # JSON that does not parse: half a line at the end of a stream, or no such service at all.
    return cut_short(provider) if streaming else nonsense(provider)


def _late(http: Any, error: Exception, provider: Provider) -> BackscrollError:
    """Return the error for a service that takes too long: to be reached, or to answer."""
    if isinstance(error, http.ConnectTimeout) or isinstance(error.__cause__, http.ConnectTimeout):
        return unreachable(provider)
    return timed_out(provider.name, provider.timeout)


def unreachable(provider: Provider) -> Unreachable:
    """Return the error for an address that does not answer."""
    return Unreachable(
        f"{provider.name} cannot be reached at {without_secrets(provider.address)}",
        hint="check base_url of the provider and the network",
    )


def cut_short(provider: Provider) -> CutShort:
    """Return the error for an answer that broke off."""
    return CutShort(f"the answer of {provider.name} broke off", hint="try again")


def nonsense(provider: Provider) -> CutShort:
    """Return the error for an answer that is none."""
    return CutShort(
        f"what {provider.name} sent is not the answer of a model",
        hint="check kind and base_url of the provider",
    )


def plain(thing: Any) -> Json:
    """Return an object of the SDK as the JSON that was sent, fields of others included and absent ones left out."""
    # Services that imitate others send what the SDK's types do not foresee; that is not a reason to warn people.
    return thing.model_dump(mode="json", exclude_unset=True, warnings=False)


def read_events(stream: Any, watch: Callable[[], None]) -> Generator[dict[str, Json] | None]:
    """Yield the events of a stream as they were sent; None for the word that ends it. Closes the connection on every way out.

    The SDKs would drop what their types do not foresee and events without a name; some services send both. `watch` is called for
    every piece of bytes.
    """
    response = stream.response

    def pieces() -> Iterator[bytes]:
        for piece in response.iter_bytes():
            watch()
            yield piece

    try:
        yield from events_of(pieces())
    finally:
        response.close()


class OddUsage(ValueError):
    """A figure in a usage that cannot be true."""


def number(value: Json) -> int:
    """Return a count in a vendor's usage; a missing one is 0."""
    if value is None:
        return 0
    usable = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    if not usable or not 0 <= value <= _MOST or value != int(value):
        raise OddUsage(repr(value)[:60])
    return int(value)


def details(value: Json) -> Mapping[str, Json]:
    """Return a table inside a vendor's usage; a missing one is empty."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise OddUsage(repr(value)[:60])
    return cast("Mapping[str, Json]", value)


def sound(read: Callable[[Mapping[str, Json]], Usage]) -> Callable[[Json], Usage]:
    """Reading a usage that may be missing or absurd: what cannot be true is as good as not said, and costs no answer."""

    @wraps(read)
    def reading(told: Json) -> Usage:
        if not isinstance(told, Mapping):
            return Usage(known=False, odd="" if told is None else repr(told)[:60])
        try:
            usage = read(cast("Mapping[str, Json]", told))
        except OddUsage as odd:
            return Usage(known=False, odd=str(odd))
        # Parts that are more than the whole are distinguished from it by some.
        output = usage.output if usage.reasoning <= usage.output else usage.output + usage.reasoning
        cached = min(usage.cached, usage.input)
        return replace(usage, cached=cached, written=min(usage.written, usage.input - cached), output=output)

    return reading


def mappings(value: Json) -> list[Mapping[str, Json]]:
    """Return the objects in a list of a vendor; whatever else it holds, or is, falls away."""
    found = cast("list[Json]", value) if isinstance(value, list) else []
    return [cast("Mapping[str, Json]", entry) for entry in found if isinstance(entry, Mapping)]
