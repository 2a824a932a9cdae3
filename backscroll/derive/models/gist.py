"""The plan for a gist of a turn written by a model. Same noun as the rule-made one (`derive/summaries/gist`).

Owns what the model sees of a turn: who said what, each with its handle, and what the tools did; long texts are cut in
the middle until everything fits. Hidden and system messages are not shown.
"""

from __future__ import annotations

from collections.abc import Sequence

from backscroll.derive.digest import digests_of
from backscroll.derive.models.request import G, RecipePlan, plan
from backscroll.derive.recipe import Count, Recipe
from backscroll.derive.summaries.composition import clip_text
from backscroll.derive.summaries.gist import Gist, filter_quotable
from backscroll.derive.summaries.tuning import LIMIT
from backscroll.formats.language import language_of
from backscroll.vocab.handle import handle_of
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import Media, Text, ToolResult

#: The name and version under which replies and artefacts are kept; the version goes up when prompts or folding change.
NAME, VERSION = "gist:model", 1
#: Tokens of a turn that a model sees; a gist could not hold more.
INPUT = 12_000
_WIDTHS = (6_000, 2_000, 700, 250)  # characters of one message, until everything fits
_CUT = " […] "


def recipe(model: str) -> Recipe:
    """Return the recipe of gists by a model."""
    return Recipe(NAME, VERSION, {"limit": LIMIT, "input": INPUT}, model)


def plan_gist(
    messages: Sequence[Message],
    stand_in: Gist,
    rule_key: bytes,
    *,
    model: str,
    count: Count,
    limit: int = LIMIT,
    input_tokens: int = INPUT,
) -> RecipePlan[Gist] | None:
    """Return the request for the gist of these messages; None if there is nothing to condense."""
    return planned_messages("gist", recipe(model), messages, stand_in, rule_key, count, limit, input_tokens)


def planned_messages(
    kind: str,
    how: Recipe,
    messages: Sequence[Message],
    stand_in: G,
    rule_key: bytes,
    count: Count,
    limit: int,
    input_tokens: int,
) -> RecipePlan[G] | None:
    """Return the request for a stretch of messages; None if there is nothing to condense."""
    said = filter_quotable(messages)
    given = transcript(said, count, input_tokens)
    if not given or count(given) <= max(limit, count(stand_in.text)):
        return None  # the rules can quote all of it: a model would cost money for nothing
    spoken = language_of(" ".join(m.text[:400] for m in said if m.role != "tool"))
    return plan(
        kind, how, rule_key, stand_in, given, limit=limit, language=spoken, sources=[m.revision for m in said]
    )


def transcript(messages: Sequence[Message], count: Count, room: int) -> str:
    """Return what was said and done, with handles, in at most so many tokens; the very longest turns lose their middle."""
    done: dict[Ref, list[str]] = {}
    for digest in digests_of(messages):
        done.setdefault(digest.call, []).append(f"- {digest.line}")
    told: list[str] = []
    for width in _WIDTHS:
        told = [text for m in messages if (text := _render_message(m, done.get(m.id, []), width))]
        if count("\n\n".join(told)) <= room:
            return "\n\n".join(told)
    low, high = 0, len(told) // 2  # messages that stay at each end
    while low < high:
        middle = (low + high + 1) // 2
        fits = count(_ends(told, middle)) <= room
        low, high = (middle, high) if fits else (low, middle - 1)
    return _ends(told, low) if low else clip_text("\n\n".join(told), room, count)


def _ends(told: Sequence[str], each: int) -> str:
    return "\n\n".join([*told[:each], _CUT.strip(), *told[len(told) - each :]])


def _render_message(message: Message, done: Sequence[str], width: int) -> str:
    """Return one message as the model sees it; `done` describes each of its calls in a line."""
    who = f"{message.role} ({message.author})" if message.author else message.role
    pieces = [_cut(message.text, width)] if message.text.strip() and message.role != "tool" else []
    pieces += [f"[{p.media_type}]" for p in message.parts if isinstance(p, Media)]
    pieces += done
    pieces += [_cut(_result(p), width // 2) for p in message.parts if isinstance(p, ToolResult)]
    body = "\n".join(filter(None, pieces))
    return f"{handle_of(message.id)} {who}:\n{body}" if body else ""


def _result(result: ToolResult) -> str:
    return "\n".join(p.text for p in result.content if isinstance(p, Text))


def _cut(text: str, width: int) -> str:
    """Cut a long text in the middle: beginnings and ends say most."""
    if len(text) <= width:
        return text
    head = width * 3 // 5
    return f"{text[:head].rstrip()}{_CUT}{text[len(text) - (width - head) :].lstrip()}"
