"""Gists: a few verbatim sentences and digests that replace a step, a turn, or a piece of a long turn.

Owns the nouns (`GistLine`, `Gist`), and the choice of what a gist says. Extractive: every word is quoted, so nothing is
invented; essentials go first, and what does not fit is counted beside the handle. Refuses hidden messages and system messages
(the latter are always shown in full).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from backscroll.derive.digest import Digest, digests_of
from backscroll.derive.digest import let_go as let_go_of_digests
from backscroll.derive.digests.output_text import cut_middle
from backscroll.derive.essence.clusters import likeness, pieces
from backscroll.derive.essence.cues import NUMBER, CueSentence, mark_sentences
from backscroll.derive.essence.cues import let_go as let_go_of_sentences
from backscroll.derive.essence.essentials import Close, Essential, EssentialKind, Findings
from backscroll.derive.essence.importance import weigh_sentence
from backscroll.derive.essence.learning import factor, features_of
from backscroll.derive.essence.reader import findings
from backscroll.derive.essence.sentences import rough_count
from backscroll.derive.recipe import Count, Recipe
from backscroll.derive.summaries.composition import (
    SummaryItem,
    clip_text,
    counted_rest,
    labels,
    list_essentials,
    select_items,
)
from backscroll.derive.summaries.tuning import (
    ACTED_BONUS,
    ACTED_FROM,
    ALIKE,
    CALL_FAILED,
    CALL_LATE,
    CALL_OPEN,
    CALL_WORTH,
    CALL_WORTH_OTHER,
    CODE_TOKENS,
    FACT_WORTH,
    FACT_WORTH_OTHER,
    FIGURES_WORTH,
    FINAL_BONUS,
    LIMIT,
    MOST,
    PINNED_BONUS,
    REPEAT_DISCOUNT,
    REQUEST_BONUS,
    TOKENS_PER_CALL,
    TOKENS_PER_GIST_TOKEN,
)
from backscroll.formats.language import language_of
from backscroll.vocab.handle import handle_of
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.thread import Turn
from backscroll.vocab.values.pattern import late

#: The recipe of rule-made gists; raise its version whenever the same messages would give another gist.
RECIPE = Recipe("gist", 2)
_WIDE = 60_000  # characters of one message that may be quoted
_GREETING = 20  # minimum bytes of a sentence that states a request
_TARGET = 40  # cells for the target of a call, beside its outcome
_SPACE = late(r"\s+")


@dataclass(frozen=True, slots=True)
class GistLine:
    """One quoted sentence and its source."""

    text: str
    source: Ref  # the revision
    message: Ref
    role: str
    label: str  # the speaker: a name, or empty for the plain role
    score: float


def _none() -> Mapping[EssentialKind, int]:
    return {}


@dataclass(frozen=True, slots=True)
class Gist:
    """The replacement of some messages."""

    text: str
    sources: tuple[Ref, ...]  # revisions it rests on
    essentials: tuple[Essential, ...] = ()  # essentials that are open at its end
    lines: tuple[GistLine, ...] = ()  # its quotations, for the summaries above it
    closes: tuple[Close, ...] = ()  # what it settles from before
    more: Mapping[EssentialKind, int] = field(default_factory=_none)  # essentials that were dropped
    first: Ref | None = None
    last: Ref | None = None
    messages: int = 0
    turns: int = 0

    @property
    def findings(self) -> Findings:
        """Its essentials as findings, which can be joined with others."""
        return Findings(self.essentials, self.closes, self.more)

    @property
    def handle(self) -> str:
        """The handle of the originals; empty if there are none."""
        return "" if self.first is None else handle_of(self.first, self.last)


def let_go() -> None:
    """Clear the cache of texts; `forget` calls this."""
    let_go_of_sentences()
    pieces.cache_clear()
    let_go_of_digests()


def filter_quotable(messages: Iterable[Message]) -> list[Message]:
    """Return the messages that may be quoted."""
    return [m for m in messages if not m.hidden and not m.deleted and m.role != "system"]


def input_of(message: Ref, revision: Ref, role: str, digest: str, *, pinned: bool) -> str:
    """Return what a gist depends on in one message, for its key."""
    return f"{message} {revision} {role} {digest} {int(pinned)}"


def inputs_of(messages: Iterable[Message]) -> list[str]:
    """Return what a gist depends on, for its key."""
    return [input_of(m.id, m.revision, m.role, m.digest, pinned=m.pinned) for m in filter_quotable(messages)]


def gist_turn(
    turn: Turn,
    *,
    limit_tokens: int | None = None,
    count: Count = rough_count,
    digests: Sequence[Digest] | None = None,
    operations: bool = False,
) -> Gist:
    """Return the gist of a turn."""
    return gist_messages(
        turn.messages, limit_tokens=limit_tokens, count=count, digests=digests, operations=operations
    )


def gist_messages(
    messages: Sequence[Message],
    *,
    limit_tokens: int | None = None,
    count: Count = rough_count,
    digests: Sequence[Digest] | None = None,
    weights: Mapping[str, float] | None = None,
    named: bool = True,
    operations: bool = False,
) -> Gist:
    """Return the gist of any stretch of messages; `named`: name the speakers. Without a limit, very long stretches get more room.

    With `operations` the outcomes of tool calls are passed on beside quotations, for a summary by itself.
    """
    said = filter_quotable(messages)
    if not said:
        return Gist("", ())
    done = digests_of(said) if digests is None else list(digests)
    if limit_tokens is None:
        size = sum(count(m.text[:_WIDE]) for m in said) // TOKENS_PER_GIST_TOKEN + TOKENS_PER_CALL * len(done)
        limit_tokens = min(MOST, max(LIMIT, size))
    found = findings(said, done)
    lines, items = _sentences(said, found, count, weights)
    tools = _operations(done, found, count)
    words = labels(language_of(" ".join(m.text[:400] for m in said if m.role != "tool")))
    handle = handle_of(said[0].id, said[-1].id)
    rest = _facts(found, items, tools, count)
    room = max(0, limit_tokens - count(handle) - 2)
    text, chosen = "", set[int]()
    for share in (1.0, 0.88, 0.74, 0.6, 0.45):  # labels and gaps cost too; rarely a second try is needed
        chosen = select_items([*items, *tools, *rest], int(room * share))
        text = _render_gist(said, items, tools, rest, chosen, words, named=named)
        left = counted_rest(found, words, told=text)
        if left:
            text = f"{text}\n{left}" if text else left
        if count(text) <= room:
            break
    text = clip_text(text, room, count)
    kept = [lines[i.order] for i in items if i.order in chosen]
    if operations:
        kept = sorted([*kept, *_told_by_tools(said, done, tools)], key=lambda line: line.message.seq)
    quoted = tuple(dict.fromkeys(m.revision for m in said))
    full = f"{text} {handle}" if text and "\n" not in text else f"{text}\n{handle}" if text else handle
    turns = sum(1 for m in said if m.role == "user")
    return Gist(
        full if count(full) <= limit_tokens else (handle if count(handle) <= limit_tokens else ""),
        quoted, found.open, tuple(kept), found.closes, found.more, said[0].id, said[-1].id, len(said), turns,
    )  # fmt: skip


def _sentences(
    said: Sequence[Message], found: Findings, count: Count, weights: Mapping[str, float] | None
) -> tuple[dict[int, GistLine], list[SummaryItem]]:
    """Return every sentence that may be quoted, with its score."""
    urgent: dict[Ref, list[Essential]] = {}
    for essential in found.open:
        if essential.kind not in (EssentialKind.PATH, EssentialKind.ID) and essential.group not in (
            "todo/list",
            "error/tool",
        ):
            urgent.setdefault(essential.message, []).append(essential)
    lines: dict[int, GistLine] = {}
    items: list[SummaryItem] = []
    asked, user_seen = False, False
    final = next((m.id for m in reversed(said) if m.role == "assistant" and m.text.strip()), None)
    for message in said:
        if message.role == "tool" or not message.text.strip():
            continue
        times = _weigh_learned(message, weights)
        found_here = mark_sentences(message.text[:_WIDE])
        for index, piece in enumerate(found_here):
            text = _render_quote(piece, count)
            score = weigh_sentence(
                piece,
                role=message.role,
                first=index == 0,
                last=index == len(found_here) - 1,
                answers=asked and index < 2,
            ).value
            score = score * times if score > 0 else score
            if (
                message.role == "user"
                and not user_seen
                and len(text.encode("utf-8", "surrogatepass")) > _GREETING
                and "filler" not in piece.cues
            ):
                score, user_seen = score + REQUEST_BONUS, True
            score += FINAL_BONUS * (message.id == final) + PINNED_BONUS * message.pinned
            # What is open now may be settled later: the line passes on its weight without that.
            order = len(lines)
            lines[order] = GistLine(
                text, message.revision, message.id, message.role, message.author or "", round(score, 3)
            )
            bound = tuple(
                e for e in urgent.get(message.id, ()) if e.text in piece.text or piece.text in e.text
            )
            if bound:
                score += 3 + max(e.weight for e in bound)
            items.append(
                SummaryItem(
                    order, text, score, count(text), bound, pieces(text) if len(text) > 24 else frozenset()
                )
            )
        asked = message.role == "user" and any("question" in p.cues for p in found_here)
    return lines, _distinct(_discount_repeats(items))


def _discount_repeats(items: list[SummaryItem]) -> list[SummaryItem]:
    """Discount each further essential of one kind."""
    seen: dict[EssentialKind, int] = {}
    out = {i.order: i for i in items}
    for item in sorted((i for i in items if i.bound), key=lambda i: (-i.score, i.order)):
        kind = item.bound[0].kind
        out[item.order] = item._replace(score=item.score - REPEAT_DISCOUNT * seen.get(kind, 0))
        seen[kind] = seen.get(kind, 0) + 1
    return [out[i.order] for i in items]


def _weigh_learned(message: Message, weights: Mapping[str, float] | None) -> float:
    if not weights:
        return 1.0
    return factor(features_of(message), weights)


def _render_quote(piece: CueSentence, count: Count) -> str:
    if piece.sentence.shape != "code":
        return _SPACE.sub(" ", piece.text) if piece.sentence.shape == "prose" else piece.text
    return clip_text(piece.text, CODE_TOKENS, count)


def _distinct(items: list[SummaryItem]) -> list[SummaryItem]:
    """Keep the heaviest of sentences that say the same."""
    if len(items) > 400:
        return items  # a dump; repeated sentences in it lose by their scores
    best = sorted(items, key=lambda i: (-i.score, i.order))
    held: list[SummaryItem] = []
    for item in best:
        if (
            item.bound
            or not item.pieces
            or not any(likeness(item.pieces, h.pieces) >= ALIKE for h in held[:40])
        ):
            held.append(item)
    return sorted(held, key=lambda i: i.order)


def _operations(digests: Sequence[Digest], found: Findings, count: Count) -> list[SummaryItem]:
    failing = {(e.message, e.name) for e in found.open if e.group == "error/tool"}
    homes = {message for message, _ in failing}
    out: list[SummaryItem] = []
    for number, digest in enumerate(digests):
        home = digest.result or digest.call
        failed = digest.is_error or bool(digest.exit_code)
        score = CALL_WORTH.get(digest.kind, CALL_WORTH_OTHER) + CALL_FAILED * failed
        score += CALL_LATE * (number + 1) / len(digests)
        bound = (
            tuple(e for e in found.open if e.group == "error/tool" and e.message == home)
            if home in homes and failed
            else ()
        )
        text = f"- {digest.line}"
        out.append(SummaryItem(1_000_000 + number, text, score + CALL_OPEN * bool(bound), count(text), bound))
    return out


def _told_by_tools(
    said: Sequence[Message], digests: Sequence[Digest], tools: Sequence[SummaryItem]
) -> Iterator[GistLine]:
    """Yield the outcome of each call as a quotation; figures in it add weight."""
    revisions = {m.id: m.revision for m in said}
    for digest, item in zip(digests, tools, strict=True):
        home = digest.result or digest.call
        if home in revisions:
            label = f"{digest.tool_name} {cut_middle(digest.target, _TARGET)}".strip()
            score = item.score + FIGURES_WORTH * bool(NUMBER.search(digest.summary))
            yield GistLine(digest.summary, revisions[home], home, "tool", label, round(score, 3))


def _facts(
    found: Findings, items: Sequence[SummaryItem], tools: Sequence[SummaryItem], count: Count
) -> list[SummaryItem]:
    """Return essentials that no sentence and no operation states: lists of to-dos, paths, ids."""
    spoken = {id(e) for i in (*items, *tools) for e in i.bound}
    out: list[SummaryItem] = []
    for number, essential in enumerate(found.open):
        if id(essential) not in spoken:
            score = FACT_WORTH.get(essential.kind, FACT_WORTH_OTHER) + essential.weight
            if essential.kind is EssentialKind.PATH and essential.weight >= ACTED_FROM:
                score += ACTED_BONUS  # what was changed, or what the user mentions
            out.append(
                SummaryItem(
                    2_000_000 + number, essential.text, score, count(essential.text) + 1, (essential,)
                )
            )
    return out


def _render_gist(
    said: Sequence[Message],
    items: Sequence[SummaryItem],
    tools: Sequence[SummaryItem],
    rest: Sequence[SummaryItem],
    chosen: set[int],
    words: Mapping[str, str],
    *,
    named: bool,
) -> str:
    """Render the text: who said what, what was done, what is open."""
    out: list[str] = []
    order = 0
    by_order = {i.order: i for i in items}
    for message in said:
        if message.role == "tool" or not message.text.strip():
            continue
        size = len(mark_sentences(message.text[:_WIDE]))
        kept = [by_order[n] for n in range(order, order + size) if n in chosen and n in by_order]
        joined = ""
        for item in kept:
            gap = "" if not joined else ("\n" if "\n" in item.text or item.text[:1] in "-*|#" else " ")
            skipped = " …" if joined and item.order - 1 not in chosen else ""
            joined += skipped + gap + item.text
        order += size
        if joined:
            label = message.author or words.get(message.role, message.role)
            out.append(f"{label}{words['colon']}{joined}" if named else joined)
    told = [i for i in tools if i.order in chosen]
    out += [i.text for i in told]
    if len(told) < len(tools) and chosen:
        out.append(words["operations"].format(n=len(tools) - len(told)))
    out += list_essentials(
        [e for i in rest if i.order in chosen for e in i.bound], words, told="\n".join(out)
    )
    return "\n".join(out)
