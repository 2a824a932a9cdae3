"""Requests to a model about a task, and the parsing of its answers: memories, plans, follow-up questions.

Owns the plans (`derive/models/request` calls them so): the data inside a frame, the texts of the prompts (`prompts/*.toml`), the
rule-made text that is used until the answer is valid; and parsing the answer, line by line, each with the handles of its
sources. A line whose handles are invalid is left out: an unsupported statement is not remembered. Not here: calling a
model.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple, cast

from backscroll.derive.flat import flat
from backscroll.derive.models.request import PROSE, SCHEMA, RecipePlan, RecipeRequest, frame_name
from backscroll.derive.recipe import Count, Recipe
from backscroll.derive.summaries.gist import Gist, filter_quotable, gist_messages
from backscroll.tasks.memory.tuning import EACH, INPUT, SLACK
from backscroll.vocab.handle import IN_TEXT, handle_of, parse_handle
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.values.pattern import late

VERSION = 1
MEMORY, PLAN, QUESTIONS = "task-memory:model", "task-plan:model", "task-questions:model"
_PROMPTS: Mapping[str, str] = {MEMORY: "memory", PLAN: "plan", QUESTIONS: "questions"}
_BULLET = late(r"^\s*(?:[-*•]|\d{1,2}[.)、])\s*")
_LABEL = late(r"^\**\s*([A-Za-z\u4e00-\u9fff]{2,12})\s*\**\s*[:：]\s*\**\s*")


class AnswerLine(NamedTuple):
    """One line of an answer: its label, its text, the messages it names."""

    label: str
    text: str
    messages: tuple[Ref, ...]


def recipe(name: str, model: str) -> Recipe:
    """Return the recipe of a kind of text by a model."""
    return Recipe(name, VERSION, {"input": INPUT}, model)


def prompt_text(name: str, language: str, part: str, **facts: object) -> str:
    """Return a text of `prompts/` with its placeholders filled."""
    table = _prompts(name)
    return table["zh" if language.startswith("zh") else "en"][part].format(**facts)


@cache
def _prompts(name: str) -> Mapping[str, Mapping[str, str]]:
    raw = resources.files("backscroll.tasks").joinpath(f"prompts/{name}.toml").read_text(encoding="utf-8")
    return cast("Mapping[str, Mapping[str, str]]", tomllib.loads(raw))


def plan_request(
    name: str,
    rule_key: bytes,
    stand_in: str,
    given: str,
    *,
    model: str,
    language: str,
    limit: int,
    sources: Sequence[Ref],
) -> RecipePlan[Gist]:
    """Return the request: `stand_in` is what the rules made of the same, `given` everything that the model sees."""
    how = recipe(name, model)
    frame = frame_name(f"{given}\n{stand_in}")
    words = max(80, int(limit * PROSE))
    kind = _PROMPTS[name]
    system = prompt_text(kind, language, "system", frame=frame, limit=words)
    body = f"<{frame}>\n{given}\n</{frame}>\n\n{prompt_text(kind, language, 'user')}"
    return RecipePlan(
        recipe=how,
        rule_key=rule_key,
        earlier=(),
        key=how.key([rule_key.hex()]),
        ask=RecipeRequest(system, ({"role": "user", "content": body},), words * 2 + SLACK, SCHEMA),
        stand_in=Gist(stand_in, tuple(sources)),
        sources=tuple(dict.fromkeys(sources)),
        limit=limit,
        given=given,
        frame=frame,
        language="zh" if language.startswith("zh") else "en",
    )


def render_messages(messages: Sequence[Message], count: Count) -> str:
    """Return messages as a model sees them, each with its handle; if they are too many, the older ones as gists."""
    said = filter_quotable(messages)
    lines = [f"{handle_of(m.id)} {m.author or m.role}: {_short(flat(m))}" for m in said]
    sizes = [count(line) for line in lines]
    room, first = INPUT, len(lines)
    while first and sizes[first - 1] <= room:
        first -= 1
        room -= sizes[first]
    if not first:
        return "\n".join(lines)
    far = gist_messages(said[:first], limit_tokens=max(200, INPUT // 8), count=count).text
    while first < len(lines) and count(far) + sum(sizes[first:]) > INPUT:
        first += 1
    return "\n".join([far, *lines[first:]])


def _short(text: str) -> str:
    if len(text) <= EACH:
        return text
    return f"{text[: EACH * 2 // 3]} … {text[-EACH // 3 :]}"


def lines_of(text: str, known: Mapping[int, Ref]) -> Iterator[AnswerLine]:
    """Yield the lines of an answer. `known` are the messages that it may name, by the numbers of their handles."""
    for raw in text.splitlines():
        line = _BULLET.sub("", raw).strip()
        if not line:
            continue
        named: dict[Ref, None] = {}
        for mark in IN_TEXT.findall(line):
            handle = parse_handle(mark)
            span = range(handle.first, min(handle.last, handle.first + 64) + 1)
            named.update(dict.fromkeys(known[n] for n in span if n in known))
        bare = IN_TEXT.sub("", line).strip(" \t　.。;；,，") if IN_TEXT.search(line) else line
        label = _LABEL.match(bare)
        words = bare[label.end() :].strip() if label else bare
        if any(c.isalnum() for c in words):
            yield AnswerLine(label[1].lower() if label else "", words, tuple(named))
