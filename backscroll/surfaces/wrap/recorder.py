"""The recorder of a wrapped client: requests, answers and failures, each under a guard.

An error of the recording is warned about once and never reaches the program, unless `strict` is set (`surfaces/capture_guard`). Refuses:
what goes into the log (`engine/calls/capture`).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from backscroll.engine.calls import capture
from backscroll.engine.calls.capture import CapturedRequest
from backscroll.surfaces.capture_guard import CaptureGuard
from backscroll.surfaces.wrap.closing import ConnectionShare
from backscroll.vocab.part import Json
from backscroll.vocab.prompt import Wire

if TYPE_CHECKING:
    from backscroll.engine.thread import Thread

Path = tuple[str, ...]
#: Paths to a model that are passed on unrecorded, by their beginning.
_UNHEARD: Mapping[str, frozenset[Path]] = {
    "openai": frozenset(
        {
            ("batches",),
            ("completions",),
            ("realtime",),
            ("live",),
            ("responses", "connect"),
            ("responses", "compact"),
            ("beta", "assistants"),
            ("beta", "threads"),
            ("beta", "agents"),
            ("beta", "realtime"),
        }
    ),
    "anthropic": frozenset(
        {
            ("messages", "batches"),
            ("beta", "messages", "batches"),
            ("beta", "messages", "tool_runner"),
            ("beta", "messages", "thread"),
            ("beta", "agents"),
            ("beta", "sessions"),
        }
    ),
}


@dataclass
class Recorder(CaptureGuard):
    """Records the requests, answers and failures of a wrapped client."""

    thread: Thread
    vendor: str
    provider: str
    holder: ConnectionShare
    assemble: bool = False
    budget: int | None = None
    strict: bool = False
    opened: bool = False  # the store is ours to close when the client is closed
    asynchronous: bool = False
    warned: bool = field(default=False, init=False)
    unheard: set[Path] = field(default_factory=set[Path], init=False)  # warnings given already

    def close(self) -> None:
        """Close the store, if it was opened for this client."""
        if self.opened:
            self.opened = False
            self.thread.engine.close()

    def begin(self, wire: Wire, body: Mapping[str, Json]) -> CapturedRequest | None:
        """Take a request in; None if that failed and the call continues without us."""
        return self.run_guarded(lambda: capture.overhear(self.thread, wire, plain(body)))

    def request(self, wire: Wire, body: dict[str, Json], heard: CapturedRequest) -> dict[str, Json]:
        """Return the request as it is sent."""
        if not self.assemble:
            return body
        given = {**body, **_words(wire, body)}
        found = self.run_guarded(
            lambda: capture.assemble_request(self.thread, wire, given, self.budget, heard)
        )
        return body if found is None else found

    def record_answer(
        self, heard: CapturedRequest | None, response: Mapping[str, Json], interrupted: str = ""
    ) -> None:
        """Record an answer."""
        if heard is not None:
            self.run_guarded(
                lambda: capture.record_answer(
                    self.thread, heard, response, provider=self.provider, interrupted=interrupted
                )
            )

    def record_failure(self, heard: CapturedRequest | None) -> None:
        """Record a call that failed."""
        if heard is not None:
            self.run_guarded(lambda: capture.record_failure(self.thread, heard, self.provider))

    def pass_on(self, path: Path) -> None:
        """Warn, once, that a call goes to a model unrecorded."""
        if path in _UNHEARD[self.vendor] and path not in self.unheard:
            self.unheard.add(path)
            warnings.warn(
                f"backscroll does not record calls through {'.'.join(path)}: they are passed on as they are.",
                RuntimeWarning,
                stacklevel=3,
            )


def _words(wire: Wire, body: Mapping[str, Json]) -> dict[str, Json]:
    """Return the fields of a request that must be JSON for a prompt to be made of it."""
    names = ("tools", "system", "instructions") if wire != "openai-chat" else ("tools",)
    return {name: plain(body[name]) for name in names if body.get(name)}


def plain(thing: Any) -> Json:
    """Convert objects of an SDK to JSON; programs put them into their message lists as they are."""
    if hasattr(thing, "model_dump"):
        return thing.model_dump(mode="json", exclude_unset=True)
    if isinstance(thing, Mapping):
        return {str(k): plain(v) for k, v in cast("Mapping[Any, Any]", thing).items()}
    if isinstance(thing, list | tuple):
        return [plain(v) for v in cast("list[Any]", thing)]
    return thing
