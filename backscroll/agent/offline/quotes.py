"""Answers of the offline assistant: quotes from history.

Owns finding what answers a question (in the thread, then in its project, then by keywords), quoting it with author, time and
handle, and reporting what tools have done. Every sentence about the past is a quote, or says that there is none; the companion's own
answers are never quoted again. Refuses: understanding orders (`agent/offline/orders`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from backscroll.agent.approval.refusals import ACT
from backscroll.agent.offline.orders import TodoLine, asks_for_help, order_of, tables
from backscroll.engine.core.language import language_of, subject_words
from backscroll.errors import BackscrollError
from backscroll.vocab.handle import handle_of
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import Json, Text, ToolCall, ToolResult

if TYPE_CHECKING:
    from backscroll.engine.thread import Thread

#: The companion's author name in the log.
OFFLINE = "offline"
_QUOTES = 5
_LONGEST = 280  # characters of a quote
_BUDGET = 1500  # tokens that are searched
_FLOOR = -3.0  # log odds below which a result is not an answer
_LOOK_BACK = 200  # messages that are searched for talk with the companion
#: Commands whose result is reported in words.
_TELLING = frozenset({"remember", "attempt_completion", "start_new_task", "update_todos"})
_LINES, _CHARACTERS = 24, 2400  # of a tool's output


def says(language: str, what: str, **facts: object) -> str:
    """Return a sentence of the companion."""
    text = cast("str", tables()["says"][language][what])
    return text.format(**facts) if facts else text


@dataclass(frozen=True, slots=True)
class Quote:
    """A quoted message."""

    handle: str
    speaker: str
    at: str
    text: str

    @property
    def line(self) -> str:
        """The quote as it is shown."""
        return f"- {self.handle} {self.speaker}, {self.at[:16].replace('T', ' ')}: “{self.text}”"


# -- finding -----------------------------------------------------------------------------------------------------


def answer(thread: Thread, question: Message | None, text: str, language: str) -> str:
    """Return what is recorded about a question, quoted; or that nothing is."""
    own = _own_talk(thread, question)
    if not text.strip() or not any(c.isalnum() for c in text):
        return says(language, "nothing")
    quotes = _recall_quotes(thread, text, language, own, "thread")
    if quotes:
        return _render_quotes(says(language, "found"), quotes)
    if thread.info.project:
        quotes = _recall_quotes(thread, text, language, own, "project")
        if quotes:
            return _render_quotes(says(language, "found_elsewhere"), quotes)
    quotes = _search_quotes(thread, text, language, own)
    if quotes:
        return _render_quotes(says(language, "found_words"), quotes)
    if question is not None and not text.rstrip().endswith(("?", "？")) and language_of(text):
        return says(language, "kept")  # a statement, as far as can be determined
    anything = any(m.revision not in own and m.role != "system" for m in thread.legible.messages(0, 3))
    return says(language, "nothing" if anything or thread.info.project else "empty")


def _render_quotes(head: str, quotes: Iterable[Quote]) -> str:
    return "\n".join([head, *(quote.line for quote in quotes)])


def _recall_quotes(thread: Thread, text: str, language: str, own: set[Ref], scope: str) -> list[Quote]:
    # start-up: only a question that is looked up needs it
    from backscroll.engine.search.recall import recall

    try:
        found = recall(thread, text, _BUDGET, scope=scope, limit=_QUOTES * 4, exclude=own)
    except BackscrollError:
        return []  # it cannot be searched for, or the store is unavailable: keywords alone may do
    out: list[Quote] = []
    for item in found.items:
        if item.score < _FLOOR and not _shares(text, item.text):
            continue  # among few texts odds mean little: the keywords have to match too
        message = _standing(thread, item.thread, item.message)
        if message is None or message.revision in own or not _is_source(message):
            continue
        out.append(Quote(item.handle, _speaker(message, language), item.at, _shorten_text(item.text)))
        if len(out) == _QUOTES:
            break
    return out


def _search_quotes(thread: Thread, text: str, language: str, own: set[Ref]) -> list[Quote]:
    words = subject_words(text)
    if not words:
        return []
    try:
        # A thread of no project has only itself.
        project = thread.info.project
        found = thread.engine.search(
            " OR ".join(words),
            thread=None if project else thread.id,
            project=project or None,
            limit=_QUOTES * 4,
        )
    except BackscrollError:
        return []
    out: list[Quote] = []
    for hit in found.hits:
        message = _standing(thread, hit.thread, hit.message)
        if message is None or message.revision in own or not _is_source(message):
            continue
        if not _shares(text, _words(message)):
            continue
        handle = handle_of(hit.message, elsewhere=hit.thread != thread.id)
        out.append(Quote(handle, _speaker(message, language), hit.at, _shorten_text(_words(message))))
        if len(out) == _QUOTES:
            break
    return out


def _shares(question: str, text: str) -> bool:
    """Return True if a text contains at least half of a question's keywords."""
    asked = set(subject_words(question))
    return bool(asked) and 2 * len(asked & set(subject_words(text))) >= len(asked)


def _own_talk(thread: Thread, question: Message | None) -> set[Ref]:
    """Return revisions that answer nothing: the question itself, the companion's replies, and the questions and commands it was given.

    What the user told it stays: that is recorded like everything else.
    """
    out = {question.revision} if question is not None else set[Ref]()
    answered = False
    for message in thread.legible.messages(0, _LOOK_BACK, newest_first=True):
        if message.role == "assistant":
            answered = message.content.metadata.get("provider") == OFFLINE
            out |= {message.revision} if answered else set[Ref]()
        elif message.role == "user":
            out |= {message.revision} if answered and _wants_something(message.text) else set[Ref]()
            answered = False
    return out


def _wants_something(text: str) -> bool:
    text = text.strip()
    order = order_of(text)
    return (
        text.endswith(("?", "？"))
        or asks_for_help(text)
        or (order is not None and order.tool not in _TELLING)
    )


def _standing(thread: Thread, where: str, message: Ref) -> Message | None:
    try:
        found = (thread if where == thread.id else thread.engine.thread(where)).legible.message(message)
    except BackscrollError:
        return None  # deleted or forgotten since it was found
    return None if found.deleted or found.hidden else found


def _is_source(message: Message) -> bool:
    """Return False for instructions, for commands, and for the companion's own replies: a quote of a quote is not a source."""
    if message.role == "user":
        order = order_of(message.text)
        return order is None or order.tool in _TELLING
    return message.role != "system" and message.content.metadata.get("provider") != OFFLINE


def _speaker(message: Message, language: str) -> str:
    if message.author:
        return message.author
    return says(language, "you" if message.role == "user" else message.role)


def _words(message: Message) -> str:
    inside = [p for part in message.parts if isinstance(part, ToolResult) for p in part.content]
    return message.text or "\n".join(p.text for p in inside if isinstance(p, Text))


def _shorten_text(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


# -- what tools did ----------------------------------------------------------------------------------------------


def outcome(results: Sequence[Message], language: str) -> str:
    """Return the results of the last reply's calls, each in a line with the beginning of its output."""
    out: list[str] = []
    for message in results:
        facts = cast("Mapping[str, Json]", message.content.metadata.get(ACT) or {})
        parts = [part for part in message.parts if isinstance(part, ToolResult)]
        out += [_outcome(part, facts, message.id, language) for part in parts]
    return "\n\n".join(out)


def _outcome(result: ToolResult, facts: Mapping[str, Json], message: Ref, language: str) -> str:
    tool = result.name or "tool"
    text = "\n".join(part.text for part in result.content if isinstance(part, Text)).strip()
    refused = facts.get("refused")
    if isinstance(refused, str):
        reason = " ".join(refused.split())
        return says(language, "refused" if reason else "refused_plain", tool=tool, reason=reason)
    lines = text.splitlines()
    line = str(facts.get("line") or (lines[0] if lines else ""))
    if result.is_error:
        return says(language, "failed", tool=tool, line=text.removeprefix(f"[{tool}]").strip() or line)
    head = says(language, "done", tool=tool, line=line)
    if len(lines) <= 1 and text in (line, ""):
        return head
    return f"{head}\n{_block(lines, message, language)}"


def _block(lines: Sequence[str], message: Ref, language: str) -> str:
    shown: list[str] = []
    room = _CHARACTERS
    for line in lines[:_LINES]:
        if room <= 0:
            break
        shown.append(line[:room])
        room -= len(line)
    fence = "````" if any(line.lstrip().startswith("```") for line in shown) else "```"
    out = [fence, *shown, fence]
    if len(shown) < len(lines):
        out.append(says(language, "more", n=len(lines) - len(shown), handle=handle_of(message)))
    return "\n".join(out)


# -- to-dos ------------------------------------------------------------------------------------------------------


def todos_of(thread: Thread) -> list[TodoLine]:
    """Return the to-do list as it was last written."""
    for message in thread.legible.messages(0, 400, newest_first=True):
        for part in reversed(message.parts):
            if isinstance(part, ToolCall) and part.name == "update_todos":
                return _todos(part.arguments)
    return []


def _todos(arguments: Json) -> list[TodoLine]:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return []
    told: Json = cast("Mapping[str, Json]", arguments).get("todos") if isinstance(arguments, dict) else None
    out: list[TodoLine] = []
    for entry in cast("list[Json]", told) if isinstance(told, list) else []:
        if isinstance(entry, str):
            out.append(TodoLine(entry))
        elif isinstance(entry, dict):
            known = cast("Mapping[str, Json]", entry)
            out.append(TodoLine(str(known.get("text") or ""), str(known.get("status") or "pending")))
    return [todo for todo in out if todo.text]
