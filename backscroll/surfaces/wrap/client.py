"""`wrap`: record an existing program with two lines.

    client = backscroll.wrap(OpenAI(), thread=thread)

Owns the proxy around a client of OpenAI's or Anthropic's SDK: it behaves as the client does, and every model call is recorded with
its answer and its cost, streamed ones too; with `assemble`, the program's list is replaced by a prompt within the budget. An error of the
recording never breaks the program's call (it is warned about, once) unless `strict` is set. Refuses: what goes into the log
(`engine/calls/capture`), streams (`surfaces/wrap/streams`), raw responses (`surfaces/wrap/raw_responses`). Batches, live connections and
runners that make calls inside the SDK are passed on unrecorded, which is warned about once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit

from backscroll.engine.calls.capture import CapturedRequest
from backscroll.errors import InvalidInput, NotFound
from backscroll.surfaces.wrap.closing import ConnectionShare, closing, leave
from backscroll.surfaces.wrap.raw_responses import RAW, ResponseBody, ResponseContext
from backscroll.surfaces.wrap.recorder import Path, Recorder, plain
from backscroll.surfaces.wrap.streams import RecordedStream, StreamContext
from backscroll.vocab.prompt import Wire

if TYPE_CHECKING:
    import os

    from backscroll.engine.engine import Engine
    from backscroll.engine.thread import Thread

T = TypeVar("T")
#: The calls that are recorded, by their path on the client of a vendor.
_CALLS: Mapping[str, Mapping[Path, Wire]] = {
    "openai": {
        ("chat", "completions", "create"): "openai-chat",
        ("chat", "completions", "parse"): "openai-chat",
        ("chat", "completions", "stream"): "openai-chat",
        ("responses", "create"): "openai-responses",
        ("responses", "parse"): "openai-responses",
        ("responses", "stream"): "openai-responses",
        ("beta", "chat", "completions", "create"): "openai-chat",
        ("beta", "chat", "completions", "parse"): "openai-chat",
        ("beta", "chat", "completions", "stream"): "openai-chat",
        ("beta", "responses", "create"): "openai-responses",
    },
    "anthropic": {
        ("messages", "create"): "anthropic",
        ("messages", "parse"): "anthropic",
        ("messages", "stream"): "anthropic",
        ("beta", "messages", "create"): "anthropic",
        ("beta", "messages", "parse"): "anthropic",
        ("beta", "messages", "stream"): "anthropic",
    },
}
#: Methods that return another client of the same kind.
_COPIES = ("with_options", "copy", "with_middleware")
_LEFT_OUT = ("NotGiven", "Omit")  # the SDKs' marker of an omitted argument


def wrap(
    client: T,
    thread: Thread | str,
    *,
    store: Engine | str | os.PathLike[str] | None = None,
    user: str | None = None,
    assemble: bool = False,
    budget: int | None = None,
    strict: bool = False,
) -> T:
    """Return a client that records: every call goes into a thread and onto its ledger.

    `thread` is a thread, or the id or title of one in `store` (created if there is none of this title); with `user`, one of this
    user. `store` is an open store, or the location of one. With `assemble` every request gets a prompt of at most `budget` tokens in
    place of the program's own list of messages.

    Closing the wrapper closes a store that was opened for it (not one that you passed in), and the client with the last wrapper
    around it.
    """
    vendor = type(client).__module__.partition(".")[0]
    if isinstance(client, Proxy) or vendor not in _CALLS:
        raise InvalidInput(
            f"cannot wrap a {type(client).__name__}", hint="pass a client of the openai or anthropic package"
        )
    place, opened = _open_thread(thread, store, user)
    later = any(c.__name__.startswith("Async") for c in type(client).__mro__)
    holder = ConnectionShare(client)
    recorder = Recorder(place, vendor, host_of(client), holder, assemble, budget, strict, opened, later)
    return cast("T", Proxy(client, recorder, _CALLS[vendor], ()))


def _open_thread(
    thread: Thread | str, store: Engine | str | os.PathLike[str] | None, user: str | None
) -> tuple[Thread, bool]:
    """Return the thread to record in, and whether a store was opened for it."""
    # start-up: importing `wrap` loads no engine
    from backscroll.engine.engine import Engine
    from backscroll.engine.opening import open as open_store

    if not isinstance(thread, str):
        return _of_user(thread, user), False
    if isinstance(store, Engine):
        return _of_user(_find_or_create(store, thread, user), user), False
    engine = open_store(store)
    try:
        return _of_user(_find_or_create(engine, thread, user), user), True
    except BaseException:
        engine.close()  # the caller gets no wrapper that could close it
        raise


def _of_user(thread: Thread, user: str | None) -> Thread:
    if user is not None and thread.info.user != user:
        raise InvalidInput(
            f"thread {thread.id[:8]} does not belong to {user!r}", hint=f"begin it with create(user={user!r})"
        )
    return thread


def _find_or_create(engine: Engine, name: str, user: str | None) -> Thread:
    for info in engine.threads(user=user):
        if info.title == name and not info.forgotten:
            return engine.thread(info.id)
    try:
        return engine.thread(name, user=user)
    except NotFound:
        return engine.create(name, user=user)


def host_of(client: object) -> str:
    """Return the service's name on the ledger: its vendor if it is the vendor's own host, else the host."""
    address = urlsplit(str(getattr(client, "base_url", "")))
    return (address.hostname or "").removeprefix("api.").removesuffix(".com")


class Proxy:
    """An attribute of the SDK on the path to a recorded call; everything else is passed on."""

    def __init__(
        self, target: object, recorder: Recorder, calls: Mapping[Path, Wire], path: Path, raw: str = ""
    ) -> None:
        self.__dict__.update(_target=target, _recorder=recorder, _calls=calls, _path=path, _raw=raw)

    @property
    def __class__(self) -> type[Any]:  # type: ignore[override]
        """The client's type, for programs that check it."""
        return cast("type[Any]", type(self.__dict__["_target"]))

    def __repr__(self) -> str:
        return f"<wrapped {self.__dict__['_target']!r}>"

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        recorder: Recorder = own["_recorder"]
        value = getattr(own["_target"], name)
        calls: Mapping[Path, Wire] = own["_calls"]
        if name in RAW:  # may be anywhere on the path
            return Proxy(value, recorder, calls, own["_path"], name)
        path: Path = (*own["_path"], name)
        if path in calls:
            made = _RECORDED.get(own["_raw"], _wrap_call)
            return made(value, recorder, calls[path])
        if any(known[: len(path)] == path for known in calls):
            return Proxy(value, recorder, calls, path, own["_raw"])
        if not own["_path"] and name in _COPIES:
            return _wrap_copy(value, recorder, calls)
        if not own["_path"] and name == "close":
            later = recorder.asynchronous
            return closing(own["_target"], value, recorder.holder, recorder.close, later=later)
        if not own["_path"] and name == "is_closed":
            return lambda: (own["_target"] is recorder.holder.client and recorder.holder.closed) or value()
        recorder.pass_on(path)
        return value

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self.__dict__["_target"], name, value)

    def __enter__(self) -> Any:
        self.__dict__["_target"].__enter__()
        return self

    def __exit__(self, *how: object) -> Any:
        return self.__dict__["_target"].__exit__(*how) if self._leave() else None

    def _leave(self) -> bool:
        """Release what this wrapper holds; True if the client itself must be closed."""
        recorder: Recorder = self.__dict__["_recorder"]
        return leave(self.__dict__["_target"], recorder.holder, recorder.close)

    async def __aenter__(self) -> Any:
        await self.__dict__["_target"].__aenter__()
        return self

    async def __aexit__(self, *how: object) -> Any:
        return await self.__dict__["_target"].__aexit__(*how) if self._leave() else None


def _wrap_copy(
    copy: Callable[..., Any], recorder: Recorder, calls: Mapping[Path, Wire]
) -> Callable[..., Any]:
    """Wrap a method that copies the client: the copy records as this client does."""

    def copy_client(*args: Any, **kwargs: Any) -> Proxy:
        return Proxy(copy(*args, **kwargs), recorder, calls, ())

    return copy_client


Begun = tuple["CapturedRequest | None", dict[str, Any]]


def _begin_call(recorder: Recorder, wire: Wire, kwargs: dict[str, Any]) -> Begun:
    """Take a request in, and return what is sent."""
    body = {k: v for k, v in kwargs.items() if type(v).__name__ not in _LEFT_OUT}
    for name in ("messages", "input", "tools"):
        if name in body and not isinstance(body[name], str | list):
            body[name] = list(body[name])  # read once here, and again by the SDK
    heard = recorder.begin(wire, body)
    return heard, body if heard is None else recorder.request(wire, body, heard)


def _wrap_call(call: Callable[..., Any], recorder: Recorder, wire: Wire) -> Callable[..., Any]:
    """Wrap a call so that it is recorded: at once, later (async), or as it streams."""
    if call.__name__ == "stream":

        def open_manager(*args: Any, **kwargs: Any) -> Any:
            heard, body = _begin_call(recorder, wire, kwargs)
            return StreamContext(call(*args, **body), recorder, heard, wire)

        return open_manager
    return _asking(call, recorder, wire, _take_response)


def _recorded_raw(call: Callable[..., Any], recorder: Recorder, wire: Wire) -> Callable[..., Any]:
    """Wrap a call that returns the raw response."""
    return _asking(call, recorder, wire, _listen)


def _recorded_open(call: Callable[..., Any], recorder: Recorder, wire: Wire) -> Callable[..., Any]:
    """Wrap a call that returns a context in which the response is read."""

    def open_response(*args: Any, **kwargs: Any) -> Any:
        heard, body = _begin_call(recorder, wire, kwargs)
        return ResponseContext(call(*args, **body), recorder, heard, wire)

    return open_response


_RECORDED = {RAW[0]: _recorded_raw, RAW[1]: _recorded_open}
Take = Callable[[Any, "Recorder", "CapturedRequest | None", Wire], Any]


def _asking(call: Callable[..., Any], recorder: Recorder, wire: Wire, take: Take) -> Callable[..., Any]:
    def call_recorded(*args: Any, **kwargs: Any) -> Any:
        if recorder.asynchronous:
            return _meanwhile(lambda body: call(*args, **body), kwargs, recorder, wire, take)
        heard, body = _begin_call(recorder, wire, kwargs)
        try:
            response = call(*args, **body)
        except BaseException:
            recorder.record_failure(heard)
            raise
        return take(response, recorder, heard, wire)

    return call_recorded


async def _meanwhile(
    call: Callable[[dict[str, Any]], Awaitable[Any]],
    kwargs: dict[str, Any],
    recorder: Recorder,
    wire: Wire,
    take: Take,
) -> Any:
    """Wrap a call of an asynchronous client, whose program continues while we record and assemble."""
    heard, body = await asyncio.to_thread(_begin_call, recorder, wire, kwargs)
    try:
        response = await call(body)
    except BaseException:
        recorder.record_failure(heard)
        raise
    return await asyncio.to_thread(take, response, recorder, heard, wire)


def _listen(response: Any, recorder: Recorder, heard: CapturedRequest | None, wire: Wire) -> Any:
    """Return a raw response; its content is recorded when the program has read it."""
    return ResponseBody(recorder, heard, wire).listen(response)


def _take_response(response: Any, recorder: Recorder, heard: CapturedRequest | None, wire: Wire) -> Any:
    """Record a complete answer; watch one that streams."""
    if hasattr(response, "model_dump"):
        recorder.record_answer(heard, plain(response))
        return response
    return RecordedStream(response, recorder, heard, wire)
