"""Retries: what is retried, and how long to wait."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import (
    ContextOverflow,
    CutShort,
    KeyRefused,
    ModelBusy,
    ModelError,
    ModelUnknown,
    Unreachable,
)
from backscroll.llm.clients.faults import build_response_error, in_stream, retry_after
from backscroll.llm.clients.retries import Patience, with_retries

NOW = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)


class Flaky:
    """Fails with these errors, then succeeds."""

    def __init__(self, *errors: ModelError) -> None:
        self.errors = list(errors)
        self.slept: list[float] = []

    def __call__(self) -> str:
        if self.errors:
            raise self.errors.pop(0)
        return "fine"

    def patience(self, **more: float) -> Patience:
        return Patience(sleep=self.slept.append, chance=lambda: 1.0, **more)  # type: ignore[arg-type]


def test_delays_grow_and_are_bounded() -> None:
    """Half a second, one, two …, up to the maximum."""
    flaky = Flaky(*(ModelBusy("x") for _ in range(7)))
    assert with_retries(flaky, flaky.patience(tries=8, most=4.0)) == "fine"
    assert flaky.slept == [0.5, 1.0, 2.0, 4.0, 4.0, 4.0, 4.0]


def test_requested_delay_is_respected() -> None:
    """Also zero; one that is too long is not waited for."""
    flaky = Flaky(ModelBusy("x", retry_after=3), ModelBusy("x", retry_after=0))
    assert with_retries(flaky, flaky.patience()) == "fine"
    assert flaky.slept == [3.0, 0.0]
    later = Flaky(ModelBusy("x", retry_after=500))
    with pytest.raises(ModelBusy):
        with_retries(later, later.patience())
    assert later.slept == []


@pytest.mark.parametrize("kind", [KeyRefused, ModelUnknown, ContextOverflow, ModelError])
def test_permanent_failure_is_not_retried(kind: type[ModelError]) -> None:
    """A wrong key stays wrong."""
    flaky = Flaky(kind("x"))
    with pytest.raises(kind):
        with_retries(flaky, flaky.patience())
    assert flaky.slept == []


@pytest.mark.parametrize("kind", [ModelBusy, Unreachable, CutShort])
def test_every_failure_is_reported(kind: type[ModelError]) -> None:
    """Also the last one, which is raised."""
    flaky, heard = Flaky(*(kind("x") for _ in range(9))), list[int]()
    with pytest.raises(kind):
        with_retries(flaky, flaky.patience(tries=3), lambda _error, attempt: heard.append(attempt))
    assert heard == [1, 2, 3]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Sun, 15 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sun, 15 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
    ],
)
def test_retry_headers_are_read(headers: dict[str, str], seconds: float | None) -> None:
    """Seconds, milliseconds or a date; nonsense is ignored."""
    assert retry_after(headers, NOW) == seconds


@given(
    st.integers(400, 599),
    st.recursive(
        st.none() | st.text() | st.integers(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    ),
)
def test_any_refusal_becomes_an_error(status: int, body: object) -> None:
    """Whatever a service sends: an error with words, never a crash."""
    assert build_response_error(status, body, {}, provider="p", model="m").message
    assert in_stream(body, provider="p", model="m").message


def test_keys_in_error_texts_are_masked() -> None:
    """Services repeat parts of a wrong key; we do not."""
    error = build_response_error(
        500, {"error": {"message": "bad sk-abc123def456 here"}}, {}, provider="p", model="m"
    )
    assert "abc123" not in str(error)


@pytest.mark.parametrize(
    "said",
    [
        "This model's maximum context length is 8192 tokens.",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "input length and max_tokens exceed context limit: context window is 200000",
        "请求超过模型上下文长度",
    ],
)
def test_overflows_are_recognised_by_their_text(said: str) -> None:
    """For vendors without an error code."""
    assert isinstance(
        build_response_error(400, {"error": {"message": said}}, {}, provider="p", model="m"), ContextOverflow
    )
