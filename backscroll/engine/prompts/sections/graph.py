"""The graph section of a prompt: what is known about the current subject.

Contains only what the prompt does not show anyway, and only what is still true: a settled turn keeps its facts in the graph
when it is edited, but a prompt does not repeat text that is no longer in the history, nor hidden text. Waits for nothing:
if many turns are still to be analysed, the section is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from backscroll.engine.knowledge.graph_holder import NAMED, SEEN, at_hand
from backscroll.graph.reading.words import tell
from backscroll.graph.view import Fact, Neighbourhood, NodeView, Rank
from backscroll.record.history import HIDDEN
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import is_spoken_by_user
from backscroll.vocab.part import Text
from backscroll.vocab.prompt import Block, Level, Section

if TYPE_CHECKING:
    from backscroll.engine.core.lineage import View
    from backscroll.engine.prompts.composition.composer import Composer

LEAST = 40  # tokens below which nothing useful fits
_BEHIND = 60  # events that may be analysed while a prompt waits
_SAID = 4000  # characters of the newest messages that are searched for names
_LOOKED = 64  # sentences that are looked up for a fact, the newest ones


def graph_block(composer: Composer, room: int, shown: Collection[Ref]) -> Block | None:
    """Return the graph section within `room` tokens. `shown` are revisions that the prompt has in full anyway."""
    thread = composer.thread
    if room < LEAST or composer.as_of is not None or thread.engine.settings.extractor == "none":
        return None
    words = _talked_about(composer)
    if not words.strip():
        return None

    with at_hand(thread, _BEHIND) as held:
        names = [] if held is None else held.graph.find_mentioned_nodes(words)[:NAMED]
        if held is None or not names:
            return None
        around = held.graph.around(names, depth=1, limit=SEEN)
        news = thread.reading(lambda view: _news(around, _ReadableSources(composer, view, shown), words))
        if not any(f.rank is not Rank.DEFAULT for f in (*_facts(news), *news.relations)):
            return None
        meter = composer.meter
        language = "zh" if composer.frames.startswith("zh") else "en"
        frame = meter.parts((Text(""),))
        told = tell(news, composer.ask.tokenizer.count, room - frame, language=language, number=held.number)
    parts = (Text(told.text),)
    tokens = meter.parts(parts)
    if not told.facts or tokens > room:
        return None
    return Block(
        "user",
        parts,
        Section.GRAPH,
        Level.GIST,
        told.sources,
        reason="known about what is being talked about",
        tokens=tokens,
    )


def _talked_about(composer: Composer) -> str:
    """Return the user's last message, and the answers since."""
    out: list[str] = []
    for message in reversed(composer.sheet.window):
        if message.role in ("user", "assistant") and message.text:
            out.append(message.text[:_SAID])
        if is_spoken_by_user(message):
            break
    else:
        if composer.sheet.asked is not None:
            out.append(composer.sheet.asked.text[:_SAID])
    return "\n".join(out)


def _facts(around: Neighbourhood) -> Iterable[Fact]:
    return (fact for node in around.nodes for fact in (*node.attributes, *node.relations))


def _quotes(fact: Fact) -> Iterable[tuple[Ref, str]]:
    """Yield the sentences that support a fact, the newest first, with the revisions that contain them."""
    for evidence in reversed(fact.evidence):
        if evidence.assertion is not None and evidence.assertion.source is not None:
            yield evidence.assertion.source, evidence.assertion.quote


class _ReadableSources:
    """Which sources of facts are still readable: in the history, in the prompt."""

    def __init__(self, composer: Composer, view: View, shown: Collection[Ref]) -> None:
        self._view = view
        self._shown = frozenset(shown)
        # Only a rare event can change what is in a history: between two, each revision is looked up once.
        shelf = composer.thread.engine.memo.shelf("standing", 50)
        key = (composer.thread.id, composer.sheet.standing.rare)
        self._known: dict[Ref, bool] = shelf.setdefault(key, {})

    def in_history(self, source: Ref) -> bool:
        """Return True if the history currently shows a revision, and prompts may show it."""
        found = self._known.get(source)
        if found is None:
            found = self._known[source] = source in self._shown or self._stands(source)
        return found

    def _stands(self, source: Ref) -> bool:
        event = self._view.reader.event(source)
        entry = None if event is None or event.message is None else self._view.entry(event.message)
        if entry is None or not entry.live or entry.flags & HIDDEN:
            return False
        return entry.revision == source

    def quotes(self, fact: Fact) -> tuple[list[str], bool]:
        """Return a few valid supporting sentences of a fact, the newest ones, and whether the prompt shows them all."""
        found: list[str] = []
        for source, quote in islice(_quotes(fact), _LOOKED):
            if not self.in_history(source):
                continue
            found.append(quote)
            if source not in self._shown:
                return found, False
        return found, True


def _news(around: Neighbourhood, seen: _ReadableSources, words: str) -> Neighbourhood:
    """Return what is worth including: valid facts that the prompt does not show in full, about things it may name."""
    said = [words]
    kept: set[int] = set()
    for fact in (*_facts(around), *around.relations):
        if fact.rank is not Rank.SAID:
            kept.add(id(fact))
            continue
        quotes, shown = seen.quotes(fact)
        said += quotes
        if quotes and not shown:
            kept.add(id(fact))
    text = "\n".join(said).casefold()
    nodes = [
        replace(
            node,
            name=name,
            aliases=tuple(a for a in node.aliases if a.casefold() in text),
            attributes=tuple(f for f in node.attributes if id(f) in kept),
            relations=tuple(f for f in node.relations if id(f) in kept),
        )
        for node in around.nodes
        if (name := _name(node, text))
    ]
    named = {node.id for node in nodes}

    def tells(fact: Fact) -> bool:
        return fact.node in named and (not fact.object or fact.object in named)

    nodes = [replace(node, relations=tuple(f for f in node.relations if tells(f))) for node in nodes]
    relations = tuple(f for f in around.relations if id(f) in kept and tells(f))
    return Neighbourhood(tuple(nodes), relations, around.left_out)


def _name(node: NodeView, text: str) -> str:
    """Return a name of a node that occurs in the text, or that the user gave it; empty if there is none."""
    if node.overridden or node.name.casefold() in text:
        return node.name
    return next((a for a in node.aliases if a.casefold() in text), "")
