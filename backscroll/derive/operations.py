"""Recent operations: the latest tool calls, as a list for prompts.

Owns: which operations are listed, how the list is written, and the fixed sentence that takes the place of
`{recent_operations}` in a user's own system prompt: the list itself changes at every call and would break the provider's
cache from there on. Refuses: the position of the list; `assemble` decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache

from backscroll.derive.digest import Digest, digests_of
from backscroll.errors import InvalidInput
from backscroll.vocab.message import Message
from backscroll.vocab.thread import Turn
from backscroll.vocab.values.table import read_table

PLACEHOLDER = "{recent_operations}"
ROUNDS = 5
MAX_SUMMARIES = 20


@cache
def _words() -> Mapping[str, Mapping[str, str]]:
    return read_table("backscroll.derive", "operations.toml")


def _translate(language: str, key: str) -> str:
    """Return a phrase in a language, or in English if the table lacks that language."""
    words = _words()
    short = language.lower().replace("_", "-").split("-")[0]
    return words.get(short, words["en"])[key]


def recent_operations(
    turns: Sequence[Turn],
    *,
    rounds: int = ROUNDS,
    max_summaries: int = MAX_SUMMARIES,
    last: int | None = None,
) -> list[Digest]:
    """Return the operations of the last rounds, or with `last` the last so many; at most `max_summaries`, oldest first."""
    for name, number in (("rounds", rounds), ("max_summaries", max_summaries), ("last", last or 0)):
        if number < 0:
            raise InvalidInput(f"cannot list {number} operations ({name})", hint="give a number of 0 or more")
    chosen = turns if last is not None else (turns[-rounds:] if rounds else ())
    limit = max_summaries if last is None else min(last, max_summaries)
    return newest(chosen, limit)


def newest(turns: Iterable[Turn], limit: int) -> list[Digest]:
    """Return the newest operations of some turns, oldest first, without digesting more turns than needed."""
    out: list[Digest] = []
    for turn in reversed(list(turns)):
        if len(out) >= limit:
            break
        out = digests_of(filter_shown(turn.messages), grows=False) + out
    return out[-limit:] if limit else []


def filter_shown(messages: Sequence[Message]) -> list[Message]:
    """Return the messages that prompts may show."""
    return [message for message in messages if not (message.hidden or message.deleted)]


def render_operations(digests: Sequence[Digest], language: str = "en", *, expands: bool = True) -> str:
    """Return the list as it is in a prompt: a header, then one line each; the date where the day changes. Empty: nothing.

    `expands`: the reader has a tool that returns the originals.
    """
    if not digests:
        return ""
    lines = [_translate(language, "header" if expands else "header_alone")]
    day = ""
    for digest in digests:
        today, time = _moment(digest.timestamp)
        stamp = time if today == day or not day else f"{today} {time}".strip()
        day = today or day
        lines.append(f"- {stamp} {digest.line}" if stamp else f"- {digest.line}")
    return "\n".join(lines)


def _moment(timestamp: str) -> tuple[str, str]:
    """Return day and minute of a time as written; empty if it cannot be read."""
    try:
        when = datetime.fromisoformat(timestamp)
    except ValueError:
        return "", ""
    return when.strftime("%Y-%m-%d"), when.strftime("%H:%M")


def pointer(language: str = "en") -> str:
    """Return the fixed sentence that takes the place of the placeholder."""
    return _translate(language, "pointer")


def with_pointer(
    system_text: str,
    placeholder: str = PLACEHOLDER,
    *,
    language: str = "en",
    inline: bool = False,
    operations: Sequence[Digest] = (),
) -> tuple[str, bool]:
    """Return a system prompt with its placeholder filled, and whether it had one.

    By default the filling is a fixed sentence that says where they are; with `inline` it is the list itself.
    """
    if not placeholder or placeholder not in system_text:
        return system_text, False
    filling = (
        render_operations(operations, language) or _translate(language, "none")
        if inline
        else pointer(language)
    )
    return system_text.replace(placeholder, filling), True
