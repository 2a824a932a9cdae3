"""The graph section of a prompt: what is known about what is being talked about, in the volatile tail, anew at every call.

Tells only what the prompt does not show anyway, and only what still stands: a settled turn keeps its facts in the graph when
it is edited, but a prompt does not repeat words that nobody can read in the history any more, nor hidden ones. Waits for
nothing: where many turns are still to be analysed the section is left out. Before: `engine/graphing`, `graph/telling`. After:
`engine/tail`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from backscroll.graph.telling import tell
from backscroll.graph.view import Fact, Neighbourhood, NodeView, Rank
from backscroll.record.history import HIDDEN
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import is_spoken_by_user
from backscroll.vocab.part import Text
from backscroll.vocab.prompt import Block, Level, Section

if TYPE_CHECKING:
    from backscroll.engine.composing import Composer
    from backscroll.engine.lineage import View

LEAST = 40  # tokens below which nothing useful can be said
_BEHIND = 60  # events that may be caught up with while a prompt waits
_SAID = 4000  # characters of the newest words that are looked through for names
_NAMED, _SEEN = 8, 24  # nodes that are asked for, and that stand around them


def graph_block(composer: Composer, room: int, shown: Collection[Ref]) -> Block | None:
    """What a prompt says from the graph, within `room` tokens. `shown` are revisions that it has in full anyway."""
    thread = composer.thread
    if room < LEAST or composer.as_of is not None or thread.engine.settings.extractor == "none":
        return None
    words = _talked_about(composer)
    if not words.strip():
        return None
    from backscroll.engine.graph_holding import graph_of

    graph = graph_of(thread, behind=_BEHIND)
    names = [] if graph is None else graph.mentioned(words)[:_NAMED]
    if graph is None or not names:
        return None
    around = graph.around(names, depth=1, limit=_SEEN)
    standing = thread.reading(lambda view: _standing(view, _sources(around)))
    news = _news(around, frozenset(shown), standing, words)
    if not any(f.rank is not Rank.DEFAULT for f in (*_facts(news), *news.relations)):
        return None
    meter = composer.meter
    language = "zh" if composer.language.startswith("zh") else "en"
    frame = meter.parts((Text(""),))
    told = tell(
        news, composer.ask.tokenizer.count, room - frame, language=language, number=thread.graph.numbers()
    )
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
    """What the user last wrote, and what was answered since."""
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


def _sources(around: Neighbourhood) -> set[Ref]:
    """The revisions on which facts rest."""
    facts = (*_facts(around), *around.relations)
    return {source for fact in facts for source, _ in _quotes(fact)}


def _quotes(fact: Fact) -> Iterable[tuple[Ref, str]]:
    """The sentences on which a fact rests, and the revisions that hold them."""
    for evidence in fact.evidence:
        if evidence.assertion is not None and evidence.assertion.source is not None:
            yield evidence.assertion.source, evidence.assertion.quote


def _standing(view: View, sources: Iterable[Ref]) -> frozenset[Ref]:
    """Those revisions that the history shows now, and prompts may show."""

    def shows(source: Ref) -> bool:
        event = view.reader.event(source)
        entry = None if event is None or event.message is None else view.entry(event.message)
        if entry is None or not entry.live or entry.flags & HIDDEN:
            return False
        return entry.revision == source

    return frozenset(source for source in sources if shows(source))


def _news(
    around: Neighbourhood, shown: frozenset[Ref], standing: frozenset[Ref], words: str
) -> Neighbourhood:
    """What is worth telling: facts that still stand and that the prompt does not show in full, of things it may name."""
    said = [words]

    def worth(fact: Fact) -> bool:
        if fact.rank is not Rank.SAID:
            return True
        alive = [(source, quote) for source, quote in _quotes(fact) if source in standing]
        said.extend(quote for _, quote in alive)
        return bool(alive) and not all(source in shown for source, _ in alive)

    kept = {id(f) for f in (*_facts(around), *around.relations) if worth(f)}
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
    """A name of a node that stands in what is said now, or that a person gave it; empty where there is none."""
    if node.overridden or node.name.casefold() in text:
        return node.name
    return next((a for a in node.aliases if a.casefold() in text), "")
