"""Turn a service's error responses into errors that tell the user what to do.

Owns parsing status, headers and error bodies of OpenAI, Anthropic and services that imitate them. Messages never contain
keys: vendors quote parts of a wrong key, so their text is not passed on for 401.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import cast

from backscroll.errors import (
    BackscrollError,
    ContextOverflow,
    CutShort,
    InvalidInput,
    KeyRefused,
    ModelBusy,
    ModelError,
    ModelUnknown,
)
from backscroll.llm.clients.fault_words import means, output_limit_in, window_in
from backscroll.vocab.part import Json
from backscroll.vocab.values.pattern import late

_LOOKS_LIKE_A_KEY = late(r"\b(?:sk|key|pk)-[A-Za-z0-9_\-*.]{6,}")
_PASSWORD = late(r"(?<=://)[^/@\s]*@")
_LONGEST = 300
_SHORTEST = 6  # characters of a key; shorter ones ("none") occur in ordinary text
#: The keys that clients of this process use; masked in everything that a service quotes.
_KEYS: set[str] = set()


def never_show(key: str) -> None:
    """Mask this key in every error from now on."""
    if len(key) >= _SHORTEST:
        _KEYS.add(key)


def without_secrets(words: str) -> str:
    """Return foreign text without our keys, anything like a key, and passwords in URLs."""
    for key in sorted(_KEYS, key=len, reverse=True):
        words = words.replace(key, "…")
    return _PASSWORD.sub("", _LOOKS_LIKE_A_KEY.sub("…", words))


def build_response_error(
    status: int,
    body: Json,
    headers: Mapping[str, str],
    *,
    provider: str,
    model: str,
    now: datetime | None = None,
) -> BackscrollError:
    """Return the error for a response that is not an answer."""
    code, said = _read_error_body(body)
    after = retry_after(headers, now)
    words_tell = status == 403 and _by_words(status, code, said, provider=provider, model=model) is not None
    if status == 401 or (status == 403 and not words_tell):
        return KeyRefused(
            f"{provider} does not accept the key ({status})",
            hint="check the environment variable that key_env names",
            status=status,
        )
    most = output_limit_in(said) if status in (400, 422) else None
    if most is not None:
        return InvalidInput(
            f"{provider} refuses the request ({status}): {said}",
            hint=f"answers of {model} may have {most} tokens: put max_output = {most} into your table of prices",
            status=status,
            output_limit=most,
        )
    by_words = _by_words(status, code, said, provider=provider, model=model)
    if by_words is not None:
        return by_words
    if status in (408, 409, 425, 429) or status >= 500:
        return ModelBusy(
            f"{provider} could not answer ({status}): {said}",
            hint="try again later",
            status=status,
            retry_after=after,
        )
    return InvalidInput(f"{provider} refuses the request ({status}): {said}", status=status)


def _by_words(status: int, code: str, said: str, *, provider: str, model: str) -> ModelError | None:
    """Return the permanent error that a service's code or message indicates; None if unclear."""
    if status == 402 or (status in (400, 403, 429) and means("no_credit", code, said)):
        return ModelError(
            f"the account at {provider} has no credit left: {said}",
            hint="add credit there, or choose another provider",
            status=status,
        )
    # Local servers also return 500 for it.
    if status in (400, 413, 422, 500) and means("overflow", code, said):
        return ContextOverflow(
            f"the prompt is too long for {model}: {said}",
            hint="give a smaller budget, or a larger model",
            status=status,
            window=window_in(said),
        )
    if status == 404 or (status in (400, 403, 422) and means("unknown_model", code, said)):
        return ModelUnknown(
            f"{provider} knows no model {model!r}, or nothing is at this address: {said}",
            hint="check model and base_url of the provider",
            status=status,
        )
    if status in (400, 403, 422, 451) and means("filtered", code, said):
        return ModelError(
            f"a filter of {provider} refuses this conversation: {said}",
            hint="say it in other words, or choose another provider",
            status=status,
            filtered=True,
        )
    return None


def in_stream(body: Json, *, provider: str, model: str) -> BackscrollError:
    """Return the error for a failure in the middle of a stream, after the status was sent."""
    code, said = _read_error_body(body)
    if code.isdecimal() and 400 <= int(code) < 600:  # OpenRouter and others repeat a status
        return build_response_error(int(code), body, {}, provider=provider, model=model)
    by_words = _by_words(400, code, said, provider=provider, model=model)
    if by_words is not None:
        return by_words
    if code in {"invalid_request_error", "invalid_prompt"}:
        return InvalidInput(f"{provider} refuses the request ({400}): {said}")
    return ModelBusy(f"{provider} broke off: {said}", hint="try again later")


def timed_out(provider: str, seconds: float) -> ModelError:
    """Return the error for an answer that did not come."""
    return ModelBusy(
        f"{provider} did not answer within {seconds:g} seconds",
        hint="try again later, or raise timeout of the provider",
        late=True,  # the request was sent: the service may have processed it
    )


def build_stop_error(provider: str) -> ModelError:
    """Return the error for an answer that the caller stopped waiting for; the request is not repeated."""
    return CutShort(
        f"the answer of {provider} was stopped", hint="ask again to get a whole one", aborted=True
    )


def gave_up(provider: str, why: str) -> ModelError:
    """Return the error for an answer that the service did not finish."""
    told = without_secrets(why)
    return ModelBusy(f"{provider} gave up in the middle of the answer: {told}", hint="try again later")


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds that the service asks to wait; a date is relative to `now`."""
    exact = headers.get("retry-after-ms", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", exact):
        return float(exact) / 1000
    text = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    if not text:
        return None
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    zoned = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return max(0.0, (zoned - (now or datetime.now(UTC))).total_seconds())


def _read_error_body(body: Json) -> tuple[str, str]:
    """Return code and message of an error body of any shape; at most a few lines, keys masked."""
    code, words = "", ""
    if isinstance(body, Mapping):
        inner = cast("Mapping[str, Json]", body)
        error: Json = inner.get("error", inner)
        if isinstance(error, Mapping):
            told = cast("Mapping[str, Json]", error)
            code = str(told.get("code") or told.get("type") or "")
            words = str(told.get("message") or told.get("detail") or "")
        else:
            words = str(error)
    elif isinstance(body, str):
        words = body
    words = without_secrets(" ".join(words.split()))
    return code, (words[:_LONGEST] + "…" if len(words) > _LONGEST else words) or code or "no reason given"
