"""The account of a conversation for the user: topic and status; what is decided, required, open and broken.

Owns the choice and the layout; every sentence is quoted, with its handle. Sections share the room in turns, so that none
crowds out the others, and what is left out is counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from backscroll.derive.essence.essentials import Essential, EssentialKind, join
from backscroll.derive.recipe import Count
from backscroll.derive.summaries.composition import clip_text, distinct, flat, labels
from backscroll.derive.summaries.gist import Gist, GistLine, filter_quotable, gist_messages
from backscroll.derive.summaries.tuning import ENTRY_TOKENS, LATELY, REPLY_TOKENS, STATE_FROM, STATE_SENTENCES
from backscroll.vocab.handle import handle_of
from backscroll.vocab.message import Message


@dataclass(slots=True)
class _SummarySection:
    title: str
    entries: list[str]
    taken: int = 0
    more: int = 0  # known in total, but not among the entries
    kept: list[str] = field(default_factory=list[str])


def account(
    *,
    title: str,
    turns: int,
    messages: int,
    gists: Sequence[Gist],
    last: Sequence[Message],
    budget: int,
    count: Count,
    language: str,
    behind: int = 0,
) -> str:
    """Return the account, at most `budget` tokens long; `last` is the end of the history, from its last user message on.

    `behind`: the number of newest events that no gist covers yet; the account states it.
    """
    words = labels(language)
    told = [g for g in gists if g.first is not None]
    exchange = _exchange(last, words, count)
    if not told and not exchange:
        return clip_text(words["empty"], budget, count)
    found = join([g.findings for g in told])
    size = words["size"].format(turns=turns, messages=messages)
    head = f"{flat(title)} ({size})" if title.strip() else size
    if behind:
        head += "\n" + words["behind"].format(n=behind)
    by_kind = {kind: [e for e in found.open if e.kind is kind] for kind in EssentialKind}
    sections = [
        _SummarySection(words["about"], _about(told, words)),
        _SummarySection(words["stands"], _stands(told, exchange, words)),
        *(_SummarySection(words[k.value], _entries(by_kind[k]), more=found.more.get(k, 0)) for k in _SPOKEN),
        _SummarySection(
            words["files"],
            _names(by_kind[EssentialKind.PATH], words),
            more=found.more.get(EssentialKind.PATH, 0),
        ),
        _SummarySection(
            words["id"], _names(by_kind[EssentialKind.ID], words), more=found.more.get(EssentialKind.ID, 0)
        ),
        _SummarySection(words["last"], exchange),
    ]
    _fill(sections, max(0, budget - count(head) - 2), count)
    text = "\n\n".join([head, *(body for s in sections if (body := _laid_out(s, words)))])
    return clip_text(text, budget, count)


_SPOKEN = (
    EssentialKind.TODO,
    EssentialKind.ERROR,
    EssentialKind.DECISION,
    EssentialKind.CONSTRAINT,
    EssentialKind.QUESTION,
)


def _fill(sections: Sequence[_SummarySection], room: int, count: Count) -> None:
    """Fill the sections in turns; the last exchange and its topic go first."""
    order = [sections[0], sections[-1], *sections[1:-1]]
    waiting = [s for s in order if s.entries]
    while waiting:
        for section in list(waiting):
            entry = clip_text(
                section.entries[section.taken],
                REPLY_TOKENS if section is sections[-1] else ENTRY_TOKENS,
                count,
            )
            cost = count(entry) + 2 + (0 if section.kept else count(section.title) + 8)
            if cost > room:
                waiting.remove(section)
                continue
            room -= cost
            section.kept.append(entry)
            section.taken += 1
            if section.taken == len(section.entries):
                waiting.remove(section)


def _laid_out(section: _SummarySection, words: Mapping[str, str]) -> str:
    left = len(section.entries) - section.taken + section.more
    if not section.kept and not left:
        return ""
    rest = [f"- (+{left})"] if left else []
    return "\n".join([f"{section.title}{words['colon']}".rstrip(), *(f"- {e}" for e in section.kept), *rest])


def _about(told: Sequence[Gist], words: Mapping[str, str]) -> list[str]:
    """Return the user's first request, and the heaviest sentence since."""
    lines = [line for g in told for line in g.lines if line.role == "user"]
    if not lines:
        return []
    first = lines[0]
    heavy = sorted(lines[1:], key=lambda line: -line.score)[:2]
    later = [line for line in lines[1:] if line in heavy and flat(line.text) != flat(first.text)]
    return [_render_line(line, words) for line in (first, *later)]


def _stands(told: Sequence[Gist], exchange: Sequence[str], words: Mapping[str, str]) -> list[str]:
    """Return the heaviest recent statements, newest last, without the last exchange."""
    known = flat("\n".join(exchange))
    lately = [
        line
        for g in told[-LATELY:]
        for line in g.lines
        if flat(line.text) not in known and line.score > STATE_FROM
    ]
    lately = [line for line in lately if line.role == "assistant"] or lately
    best = sorted(range(len(lately)), key=lambda n: (-lately[n].score - n / max(1, len(lately)), n))[
        :STATE_SENTENCES
    ]
    return [_render_line(lately[n], words) for n in sorted(best)]


def _render_line(line: GistLine, words: Mapping[str, str]) -> str:
    label = line.label or words.get(line.role, line.role)
    return f"{label}{words['colon']}{flat(line.text)} {handle_of(line.message)}"


def _entries(essentials: Sequence[Essential]) -> list[str]:
    """Order entries by weight, newest first among equals."""
    rows = sorted(enumerate(essentials), key=lambda row: (-row[1].weight, -row[0]))
    return [f"{flat(e.text)} {handle_of(e.message)}" for _, e in rows]


def _names(essentials: Sequence[Essential], words: Mapping[str, str]) -> list[str]:
    """Return names, several on a line."""
    rows = sorted(enumerate(distinct(essentials)), key=lambda row: (-row[1].weight, -row[0]))
    texts = [e.text for _, e in rows]
    return [words["comma"].join(texts[n : n + 4]) for n in range(0, len(texts), 4)]


def _exchange(last: Sequence[Message], words: Mapping[str, str], count: Count) -> list[str]:
    """Return the last user message and the end of the answer."""
    said = filter_quotable(last)
    asked = next((m for m in reversed(said) if m.role == "user"), None)
    answer = next((m for m in reversed(said) if m.role == "assistant" and m.text.strip()), None)
    out: list[str] = []
    for message in (asked, answer):
        if message is not None and message.text.strip():
            text = gist_messages([message], limit_tokens=REPLY_TOKENS, count=count, named=False).text
            label = message.author or words.get(message.role, message.role)
            out.append(f"{label}{words['colon']}{flat(text)}")
    return out
