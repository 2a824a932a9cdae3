"""The profile section of a prompt: what the user's, or the project's, other conversations contribute.

Lasting facts about the user and their preferences come first, those nearest to the question first if not all fit; then what
is known about the people and things the question names. Nothing that the prompt shows anyway, nothing twice. Each text
names the revisions it rests on: when one is deleted, edited or forgotten in its own thread, the next prompt here leaves the
text out. Waits for nothing: unanalysed messages are read up to a fixed amount.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backscroll.engine.core.audience import scopes_of
from backscroll.engine.core.lineage import reach
from backscroll.engine.knowledge.people.cache import CachedScope, person_of
from backscroll.engine.work.memory.memories import encode_with
from backscroll.engine.work.memory.memory_block import in_telling_order
from backscroll.graph.view import Fact
from backscroll.tasks.memory.words import line_of, told_as
from backscroll.tasks.preferences import profile
from backscroll.tasks.preferences.profile import (
    ProfileLine,
    around,
    choose_traits,
    quotes_of,
    said_in,
    traits_of,
    within,
)
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import Text
from backscroll.vocab.prompt import Block, Level, Section
from backscroll.vocab.task import MemoryKind

if TYPE_CHECKING:
    from backscroll.engine.prompts.composition.composer import Composer

LEAST = 30  # tokens below which nothing useful fits
_SAID = 4_000  # characters of the newest messages that are searched for names
_TRAITS = 24  # maximum number of facts about the user
_PREFERENCES = 8


@dataclass(frozen=True, slots=True)
class _ProfileFacts:
    """The facts that may be included, in order."""

    traits: Sequence[ProfileLine]
    tells: dict[str, str]  # line: the memory it contains


def profile_block(
    composer: Composer,
    room: int,
    question: Message | None,
    shown: Collection[Ref],
    told: Collection[str],
) -> Block | None:
    """Return the profile section within `room` tokens; `told` are lines that the prompt has anyway."""
    scopes = scopes_of(composer.about)
    if not scopes or room < LEAST or composer.as_of is not None:
        return None
    words = "" if question is None else question.text[:_SAID]
    # What a project's thread said itself, or shares as a fork, is in its own graph; a user's profile includes it.
    past = {} if composer.about.user else _past(composer)

    def hides(fact: Fact) -> bool:
        said = said_in(fact)
        return not said.isdisjoint(shown) or _is_own(said, past)

    known = _collect_facts(composer, words, hides)
    news = [
        trait
        for trait in known.traits
        if trait.line not in told
        and trait.everywhere.isdisjoint(shown)
        and not _is_own(trait.everywhere, past)
    ]
    if not news:
        return None
    title = profile.words(composer.frames)[scopes[0].kind]
    count = composer.ask.tokenizer.count
    frame = composer.meter.parts((Text(title),))
    fitting = within(news, room - frame, count)
    if not fitting:
        return None
    kept = {trait.line for trait in fitting}
    text = "\n".join([title, *dict.fromkeys(trait.line for trait in known.traits if trait.line in kept)])
    parts = (Text(text),)
    return Block(
        "user",
        parts,
        Section.PROFILE,
        Level.GIST,
        tuple(dict.fromkeys(source for trait in fitting for source in trait.sources)),
        reason=f"known from other conversations of the {scopes[0].kind}",
        tokens=composer.meter.parts(parts),
        tells=tuple(dict.fromkeys(known.tells[line] for line in kept if line in known.tells)),
    )


def _past(composer: Composer) -> dict[str, int]:
    """Return the thread and its ancestors, each with the last event that it shares."""
    state = composer.state
    if state.parent is None:
        return {state.id: state.head}
    return dict(composer.thread.store.read(lambda reader: reach(reader, state)))


def _is_own(sources: Collection[Ref], past: dict[str, int]) -> bool:
    return any(ref.seq <= past.get(ref.thread, 0) for ref in sources)


def _collect_facts(composer: Composer, words: str, hides: Callable[[Fact], bool]) -> _ProfileFacts:
    """Return facts about the user, their preferences, then facts about what the text names."""
    thread, language = composer.thread, composer.frames
    helds = composer.memory.scopes()
    own = traits_told(helds[0], language)
    if len(own) > _TRAITS:
        own = choose_traits(own, words, _TRAITS, encode_with(thread.engine))
    said, tells = _collect_preferences(composer)
    others: list[ProfileLine] = []
    for held in helds:
        person = person_of(held) if held is helds[0] else None
        others += around(held.graph, person, words, language, held.claims, hides)
    # A preference quoted in the user's own words is not repeated.
    quoted = "\n".join(trait.line for trait in said).casefold()
    own = [trait for trait in own if not all(quote in quoted for quote in quotes_of(trait))]
    return _ProfileFacts([*own, *said, *others], tells)


def traits_told(held: CachedScope, language: str) -> list[ProfileLine]:
    """Return the lasting facts about the user of a scope."""
    person = person_of(held)
    return [] if person is None else traits_of(held.graph, person, language)


def _collect_preferences(composer: Composer) -> tuple[list[ProfileLine], dict[str, str]]:
    """Return the user's preferences and manual memories from the other conversations."""
    thread, past = composer.thread, _past(composer)
    out: list[ProfileLine] = []
    tells: dict[str, str] = {}
    found = composer.memory.read_memories()
    for memory in in_telling_order(found):
        if (
            memory.kind in (MemoryKind.PREFERENCE, MemoryKind.FACT)
            and not _is_own(memory.sources, past)
            and memory.thread != thread.id
        ):
            line = line_of(memory, thread.id, composer.frames)
            # A text that a user wrote is erased with that event, whatever else it rests on.
            acts = found.acts.get(memory.id, ()) if memory.by == "person" else ()
            # If something was stated often, the newest statement is quoted.
            said = memory.sources[-1:] if memory.kind is MemoryKind.PREFERENCE else memory.sources
            sources = (*said, *(act.id for act in acts if act.body is not None))
            out.append(ProfileLine(line, "", (), sources, frozenset(memory.sources)))
            tells[line] = told_as(memory)
    return out[:_PREFERENCES], tells
