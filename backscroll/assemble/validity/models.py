"""Model traits by name: what each model family accepts in a prompt.

Owns: parsing vendor and version from names as providers and routers write them. Not here: guessing; an unknown name has no
demands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from backscroll.vocab.values.pattern import late

_CLAUDE_NEW = late(r"claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2}))?(?![\d])")  # claude-opus-4-6-20260101
_CLAUDE_OLD = late(r"claude-(\d{1,2})(?:[-.](\d{1,2}))?(?![\d])")  # claude-3-5-sonnet-20241022
_GPT = late(r"(?:^|[/.:])gpt-(\d+)(?:\.(\d+))?(?![\d])")
_OPENAI = late(r"(?:^|[/.:])(?:(?:gpt|chatgpt|codex)-|o\d(?:$|[-:]))")  # gpt-5.6, o4-mini, openai/o3
_GEMINI = late(r"gemini-(\d+)(?:\.(\d+))?(?![\d])")
_MISTRAL = late(r"(?:^|[/.:])(?:(?:open-)?(?:mi[sx]tral|codestral|devstral|magistral|ministral|pixtral))")
#: The version from which on the models of a family bind thinking to its prefix; an unlisted family binds from
#: the newest of these on.
BINDING: Final[Mapping[str, tuple[int, int]]] = {
    "fable": (5, 1),
    "mythos": (5, 1),
    "opus": (5, 5),
    "sonnet": (5, 5),
    "haiku": (5, 5),
}
_FAMILY = late(r"claude-([a-z]+)-\d")


def _version(found: re.Match[str] | None) -> tuple[int, int] | None:
    return (int(found[1]), int(found[2] or 0)) if found else None


def claude(model: str | None) -> tuple[int, int] | None:
    """Return the version of a Claude model; None for other models, or if the name does not state it."""
    name = (model or "").lower()
    return _version(_CLAUDE_NEW.search(name) or _CLAUDE_OLD.search(name))


def gpt(model: str | None) -> tuple[int, int] | None:
    """Return the version of a GPT model; None for other models."""
    return _version(_GPT.search((model or "").lower()))


def knows_developer(model: str | None) -> bool:
    """Return True for models of OpenAI, which accept developer messages anywhere in a conversation."""
    name = (model or "").lower()
    return "gpt-oss" not in name and bool(_OPENAI.search(name))


def gemini(model: str | None) -> tuple[int, int] | None:
    """Return the version of a Gemini model; None for other models."""
    return _version(_GEMINI.search((model or "").lower()))


def is_mistral(model: str | None) -> bool:
    """Return True for the models of Mistral."""
    return bool(_MISTRAL.search((model or "").lower()))


def is_deepseek(model: str | None) -> bool:
    """Return True for the models of DeepSeek."""
    return "deepseek" in (model or "").lower()


def refuses_prefill(model: str | None) -> bool:
    """Return True for Claude models that do not continue a prefilled reply."""
    version = claude(model)
    return version is not None and version >= (4, 6)


def takes_prefill(model: str | None) -> bool:
    """Return True for Claude models that are known to continue a prefilled reply."""
    version = claude(model)
    return version is not None and version < (4, 6)


def takes_system_messages(model: str | None) -> bool:
    """Return True for Claude models that accept a system message in the middle of a conversation."""
    version = claude(model)
    return version is not None and version >= (4, 8)


def binds_thinking(model: str | None) -> bool:
    """Return True for Claude models whose thinking is invalid after any other prefix."""
    version, family = claude(model), _FAMILY.search((model or "").lower())
    if version is None:
        return False
    return version >= BINDING.get(family[1] if family else "", max(BINDING.values()))
