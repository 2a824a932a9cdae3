"""The graph section of a prompt: what is known about what is being talked about, in the volatile tail, anew at every call.

Tells only what the prompt does not show anyway: a fact whose sentences all stand there in full is left out. Waits for nothing:
where many turns are still to be analysed the section is left out. Before: `engine/graphing`, `graph/telling`. After:
`engine/tail`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from backscroll.assemble.units import is_spoken_by_user
from backscroll.graph.telling import tell
from backscroll.graph.view import Fact, Neighbourhood, Rank
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Text
from backscroll.vocab.prompt import Block, Level, Section

if TYPE_CHECKING:
    from backscroll.engine.composing import Composer

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
    from backscroll.engine.graphing import graph_of

    graph = graph_of(thread, behind=_BEHIND)
    names = [] if graph is None else graph.mentioned(words)[:_NAMED]
    if graph is None or not names:
        return None
    around = graph.around(names, depth=1, limit=_SEEN)
    news = _news(around, frozenset(shown))
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
    return (fact for node in around.nodes for fact in node.attributes)


def _news(around: Neighbourhood, shown: frozenset[Ref]) -> Neighbourhood:
    """The same without what the prompt shows in full."""

    def told(fact: Fact) -> bool:
        sources = [e.assertion.source for e in fact.evidence if e.assertion is not None]
        return fact.rank is Rank.SAID and bool(sources) and all(s in shown for s in sources)

    nodes = tuple(
        replace(
            node,
            attributes=tuple(f for f in node.attributes if not told(f)),
            relations=tuple(f for f in node.relations if not told(f)),
        )
        for node in around.nodes
    )
    relations = tuple(f for f in around.relations if not told(f))
    return Neighbourhood(nodes, relations, around.left_out)
