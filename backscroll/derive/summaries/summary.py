"""Summaries: text that replaces a span of turns, made from their gists or from the summaries below.

Extractive, like gists: essentials that are still open at the end of the span come first, then the weightiest quotations, one
of each group of similar statements, spread over the span, in the order of time and each with its handle. What
does not fit is counted beside the handle of the whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from backscroll.derive.essence.clusters import clusters
from backscroll.derive.essence.essentials import Essential, EssentialKind, Findings, join
from backscroll.derive.essence.sentences import rough_count
from backscroll.derive.recipe import Count, Recipe
from backscroll.derive.summaries.composition import (
    NAMED,
    clip_text,
    counted_rest,
    distinct,
    flat,
    labels,
    says,
)
from backscroll.derive.summaries.gist import Gist, GistLine, filter_quotable, gist_messages
from backscroll.derive.summaries.spans import cut, rank
from backscroll.derive.summaries.tuning import (
    COMPARED,
    ECHO_BONUS,
    ECHO_MOST,
    ESSENTIALS_SHARE,
    HANDED_ON,
    LIMITS,
    NAMES_SHARE,
    TOP_LIMIT,
)
from backscroll.formats.language import language_of
from backscroll.vocab.handle import handle_of
from backscroll.vocab.message import Message

#: The recipe of rule-made summaries; raise its version whenever the same inputs would give another summary.
RECIPE = Recipe("summary", 3)
_SHORTEST = 24  # characters of a quotation that is cut


@dataclass(frozen=True, slots=True)
class Summary(Gist):
    """The replacement of a span."""

    level: int = 1


def let_go() -> None:
    """Clear the cache of texts."""
    _chosen_lines.cache_clear()


def limit_of(level: int) -> int:
    """Return the maximum number of tokens of a summary of a level."""
    return LIMITS.get(level, TOP_LIMIT)


class _SummaryRoom:
    """Lines chosen so far, and the tokens left."""

    def __init__(self, limit: int, count: Count) -> None:
        self.limit, self.count = limit, count
        self.used = 0

    @property
    def left(self) -> int:
        """Tokens that are left."""
        return max(0, self.limit - self.used)

    def take(self, text: str, upto: float = 1.0) -> bool:
        """Take a text if it fits into a share of the room."""
        cost = self.count(text) + 1
        if self.used + cost > self.limit * upto:
            return False
        self.used += cost
        return True


def summarise(
    children: Sequence[Gist],
    *,
    limit_tokens: int | None = None,
    count: Count = rough_count,
    level: int = 1,
    language: str = "",
) -> Summary:
    """Return one summary of several gists or summaries, in order."""
    limit = limit_of(level) if limit_tokens is None else limit_tokens
    return SummaryDraft(children, count=count, level=level, language=language).within(limit)


class SummaryDraft:
    """A summary whose length is open: a caller that fits it to a budget asks several times."""

    def __init__(
        self, children: Sequence[Gist], *, count: Count = rough_count, level: int = 1, language: str = ""
    ) -> None:
        self.kids = [c for c in children if c.first is not None]
        self.count, self.level = count, level
        self.found = join([c.findings for c in self.kids])
        self.lines = _chosen_lines(tuple(kid.lines for kid in self.kids))
        self.language = language or language_of(
            " ".join(line.text for line, _ in self.lines[:60])
            or " ".join(e.text for e in self.found.open[:40])
        )

    def within(self, limit: int) -> Summary:
        """Return the summary in at most so many tokens."""
        kids, found, lines = self.kids, self.found, self.lines
        if not kids:
            return Summary("", (), level=self.level)
        first, last = kids[0].first, kids[-1].last
        assert first is not None
        text, said, quoted = _render_summary(
            found, lines, limit, self.count, labels(self.language), handle_of(first, last)
        )
        sources = tuple(dict.fromkeys([*(e.source for e in said), *(line.source for line in quoted)]))
        kept = sorted((line for line, _ in lines), key=lambda li: -li.score)[:HANDED_ON]
        carried = sorted(kept, key=lambda li: (li.message.seq, li.message.thread))
        return Summary(
            text, sources, found.open, tuple(carried), found.closes, found.more, first, last,
            sum(c.messages for c in kids), sum(c.turns for c in kids), self.level,
        )  # fmt: skip


@lru_cache(maxsize=64)
def _chosen_lines(quoted: tuple[tuple[GistLine, ...], ...]) -> list[tuple[GistLine, int]]:
    """Return one line of each cluster with its child, in order of time; repeated statements get more weight.

    Cached, because spans are rendered together and one by one.
    """
    pool = [(line, place) for place, lines in enumerate(quoted) for line in lines]
    if len(pool) > COMPARED:
        best = sorted(range(len(pool)), key=lambda i: (-pool[i][0].score, i))[:COMPARED]
        pool = [pool[i] for i in sorted(best)]
    out: list[tuple[int, GistLine, int]] = []
    for group in clusters([line.text for line, _ in pool]):
        chosen = max(group, key=lambda i: (pool[i][0].score, i))
        line, place = pool[chosen]
        more = min(ECHO_MOST, ECHO_BONUS * (len(group) - 1))
        out.append((chosen, _weighing(line, line.score + more), place))
    return [(line, place) for _, line, place in sorted(out, key=lambda row: row[0])]


def _weighing(line: GistLine, score: float) -> GistLine:
    return line if score == line.score else GistLine(
        line.text, line.source, line.message, line.role, line.label, round(score, 3)
    )  # fmt: skip


def _render_summary(
    found: Findings,
    lines: Sequence[tuple[GistLine, int]],
    limit: int,
    count: Count,
    words: Mapping[str, str],
    handle: str,
) -> tuple[str, list[Essential], list[GistLine]]:
    """Return the text, the essentials it states and the lines it quotes."""
    whole = max(0, limit - count(handle) - 2)
    said: list[Essential] = []
    quoted: list[GistLine] = []
    text = ""
    for share in (0.9, 0.78, 0.64, 0.5, 0.36):  # labels cost too, and so does the note on what is missing
        room = _SummaryRoom(int(whole * share), count)
        said = _urgent(found, room, ESSENTIALS_SHARE, words)
        said += _names(found, room, NAMES_SHARE)
        quoted = _select_quotes(lines, said, room, words)
        known = {id(e) for e in said}
        said += [e for e in _urgent(found, room, 1.0, words, known) if id(e) not in known]
        text = "\n".join([*_sections(said, words), *_render_quotes(quoted, words)])
        rest = counted_rest(found, words, told=text)
        text = f"{text}\n{rest} {handle}".strip() if rest else f"{text}\n{handle}".strip()
        if count(text) <= limit:
            return text, said, quoted
    body = clip_text("\n".join([*_sections(said, words), *_render_quotes(quoted, words)]), whole - 12, count)
    text = f"{body}\n{counted_rest(found, words, told=body)} {handle}".strip()
    if count(text) <= limit:
        return text, said, quoted
    return (handle if count(handle) <= limit else ""), [], []


def _order(found: Findings) -> list[Essential]:
    """Order the open essentials other than names: by kind and weight, the newest first among equals."""
    kinds = {kind: number for number, kind in enumerate(EssentialKind)}
    rows = [
        (kinds[e.kind], -e.weight, -place, e) for place, e in enumerate(found.open) if e.kind not in NAMED
    ]
    return [e for *_, e in sorted(rows, key=lambda row: row[:3])]


def _urgent(
    found: Findings, room: _SummaryRoom, share: float, words: Mapping[str, str], known: set[int] | None = None
) -> list[Essential]:
    """Choose urgent essentials, kinds taking turns, so that fifty to-dos leave room for the one decision."""
    queues: dict[EssentialKind, list[Essential]] = {}
    for essential in _order(found):
        if known is None or id(essential) not in known:
            queues.setdefault(essential.kind, []).append(essential)
    out: list[Essential] = []
    while queues:
        for kind in [k for k in EssentialKind if k in queues]:
            essential = queues[kind].pop(0)
            if room.take(_bullet(essential, words), share):
                out.append(essential)
            if not queues[kind]:
                del queues[kind]
    place = {id(e): n for n, e in enumerate(found.open)}
    return sorted(out, key=lambda e: place[id(e)])


def _names(found: Findings, room: _SummaryRoom, share: float) -> list[Essential]:
    names = distinct([e for e in found.open if e.kind in NAMED])
    rows = [(-e.weight, -place, e) for place, e in enumerate(names)]
    chosen = [e for *_, e in sorted(rows, key=lambda row: row[:2]) if room.take(e.text, share)]
    place = {id(e): n for n, e in enumerate(found.open)}
    return sorted(chosen, key=lambda e: place[id(e)])


def _select_quotes(
    lines: Sequence[tuple[GistLine, int]],
    said: Sequence[Essential],
    room: _SummaryRoom,
    words: Mapping[str, str],
) -> list[GistLine]:
    """Choose lines for the remaining room: the best of each child first, then by weight."""
    told = flat("\n".join(e.text for e in said))
    free = [
        (n, line, place)
        for n, (line, place) in enumerate(lines)
        if flat(line.text) not in told and line.score > 0
    ]
    best: dict[int, int] = {}
    for n, line, place in free:
        if place not in best or line.score > lines[best[place]][0].score:
            best[place] = n
    leading = set(best.values())
    ranked = sorted(free, key=lambda row: (row[0] not in leading, -row[1].score, -row[0]))
    chosen = {n for n, line, _ in ranked if room.take(_line(line, words))}
    if not chosen and ranked:  # better the beginning of the heaviest line than none
        line = ranked[0][1]
        text = clip_text(
            flat(line.text), room.left - room.count(_line(replace(line, text=""), words)) - 1, room.count
        )
        return (
            [replace(line, text=text)]
            if len(text) > _SHORTEST and room.take(_line(replace(line, text=text), words))
            else []
        )
    return [line for n, line, _ in free if n in chosen]


def _bullet(essential: Essential, words: Mapping[str, str]) -> str:
    return (
        f"{words[essential.kind.value]}{words['colon']}{flat(essential.text)} {handle_of(essential.message)}"
    )


def _line(line: GistLine, words: Mapping[str, str]) -> str:
    label = line.label or words.get(line.role, line.role)
    return f"- {label}{words['colon']}{flat(line.text)} {handle_of(line.message)}"


def _sections(said: Sequence[Essential], words: Mapping[str, str]) -> Iterator[str]:
    for kind in EssentialKind:
        found = [e for e in said if e.kind is kind]
        if not found:
            continue
        if kind in NAMED:
            yield f"{words[kind.value]}{words['colon']}{words['comma'].join(e.text for e in found)}"
        elif len(found) == 1:
            yield _bullet(found[0], words)
        else:
            yield f"{words[kind.value]}{words['colon']}".rstrip()
            yield from (f"- {flat(e.text)} {handle_of(e.message)}" for e in found)


def _render_quotes(quoted: Sequence[GistLine], words: Mapping[str, str]) -> Iterator[str]:
    """Yield quotations in order; those of one message share a line."""
    at = 0
    while at < len(quoted):
        line, end = quoted[at], at + 1
        texts = [flat(line.text)]
        while end < len(quoted) and quoted[end].message == line.message:
            texts.append(flat(quoted[end].text))
            end += 1
        label = line.label or words.get(line.role, line.role)
        yield f"- {label}{words['colon']}{' … '.join(texts)} {handle_of(line.message)}"
        at = end


def summarise_messages(
    messages: Sequence[Message], *, limit_tokens: int | None = None, count: Count = rough_count
) -> Summary:
    """Return one summary of any stretch of messages, shorter than they are; empty if that is not possible."""
    said = filter_quotable(messages)
    limit = LIMITS[1] if limit_tokens is None else limit_tokens
    gists = [gist_messages(piece, count=count) for piece in cut(said, _opens)]
    made = summarise(gists, limit_tokens=limit, count=count)
    originals = sum(count(m.text) for m in said if m.text) + sum(1 for m in said if not m.text)
    results = sum(len(str(m.parts)) // 4 for m in said if not m.text)
    if not made.text or count(made.text) < originals + results:
        return made
    short = max(0, (originals + results) * 3 // 4)
    return summarise(gists, limit_tokens=short, count=count)


def _opens(message: Message) -> bool:
    return rank(message.role, message.id) >= 0


def told_by(text: str, essentials: Sequence[Essential]) -> list[Essential]:
    """Return the essentials that a text states; used to find what a model left out."""
    known = flat(text)
    return [e for e in essentials if says(known, e)]
