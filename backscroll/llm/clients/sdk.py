"""Shared handling of the vendors' official SDKs, which use one HTTP library and the same error names.

Owns turning their errors into ours, their objects into the JSON that was sent, and timeouts. Elsewhere: wires (`openai`,
`anthropic`), `retries`.
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
#: The largest plausible token count of a call.
_MOST = 10**8
#: Errors raised by parsing unexpected shapes.
_MISSHAPEN = (KeyError, IndexError, TypeError, AttributeError)


def http_of(sdk: Any) -> Any:
    """Return the HTTP library that an SDK is built on: httpx in its older versions, httpx2 in the newer ones."""
    client = cast("type[Any]", sdk.DefaultHttpxClient)
    names = (kind.__module__.partition(".")[0] for kind in client.__mro__)
    return import_module(next(name for name in names if name.startswith("httpx")))


def waits_of(sdk: Any, provider: Provider) -> Any:
    """Return the timeouts of a service: short for connecting, as configured for an answer."""
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
    if isinstance(error.__cause__, CutShort):  # our own error, which the SDK took for a broken connection
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
        # Sent in the middle of a stream, or a response that is not an answer.
        code = getattr(error, "code", None)
        body = told.body if told.body is not None else {"message": told.message, "code": code}
        return in_stream(body, provider=provider.name, model=model)
    # Invalid JSON: half a line at the end of a stream, or not such a service at all.
    return cut_short(provider) if streaming else nonsense(provider)


def _late(http: Any, error: Exception, provider: Provider) -> BackscrollError:
    """Return the error for a timeout, of the connection or of the answer."""
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
    """Return the error for a truncated answer."""
    return CutShort(f"the answer of {provider.name} broke off", hint="try again")


def nonsense(provider: Provider) -> CutShort:
    """Return the error for an unintelligible answer."""
    return CutShort(
        f"what {provider.name} sent is not the answer of a model",
        hint="check kind and base_url of the provider",
    )


def plain(thing: Any) -> Json:
    """Return an object of the SDK as the JSON that was sent: unknown fields included, absent ones omitted."""
    # Imitators send fields that the SDK's types lack; do not warn users about that.
    return thing.model_dump(mode="json", exclude_unset=True, warnings=False)


def read_events(stream: Any, watch: Callable[[], None]) -> Generator[dict[str, Json] | None]:
    """Yield the events of a stream as they were sent; None for its end marker. Closes the connection on every exit.

    The SDKs would drop unknown fields and events without a name; some services send both. `watch` is called for every chunk
    of bytes.
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
    """An impossible figure in a usage."""


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
    """Wrap a reader of usages: missing or impossible figures count as unreported and never cost an answer."""

    @wraps(read)
    def reading(told: Json) -> Usage:
        if not isinstance(told, Mapping):
            return Usage(known=False, odd="" if told is None else repr(told)[:60])
        try:
            usage = read(cast("Mapping[str, Json]", told))
        except OddUsage as odd:
            return Usage(known=False, odd=str(odd))
        # Some services do not include the parts in the whole.
        output = usage.output if usage.reasoning <= usage.output else usage.output + usage.reasoning
        cached = min(usage.cached, usage.input)
        return replace(usage, cached=cached, written=min(usage.written, usage.input - cached), output=output)

    return reading


def mappings(value: Json) -> list[Mapping[str, Json]]:
    """Return the objects in a vendor's list; anything else is dropped."""
    found = cast("list[Json]", value) if isinstance(value, list) else []
    return [cast("Mapping[str, Json]", entry) for entry in found if isinstance(entry, Mapping)]
