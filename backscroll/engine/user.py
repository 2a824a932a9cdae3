"""A user: what is known about one person across all their threads; correct, export and forget it as a whole.

Owns no data: facts come from the user's graph, preferences from memories, and corrections are events of the profile thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from backscroll.derive.extract.ontology import is_relation
from backscroll.engine.core.audience import PROFILE, ScopeThreads
from backscroll.engine.core.signatures import doors
from backscroll.engine.core.thread_scope import ThreadScope
from backscroll.engine.directory import ThreadDirectory
from backscroll.engine.exchange.exports import ExportReport, export
from backscroll.engine.folder.erasure import snapshots_left
from backscroll.engine.knowledge.graph_acts import predicate_meant
from backscroll.engine.knowledge.people.cache import CachedScope, held_scope, person_of
from backscroll.engine.knowledge.people.graph import ScopeGraph
from backscroll.engine.log import erasure as forgetting
from backscroll.engine.log.scrub import scrub
from backscroll.engine.thread import Thread
from backscroll.engine.work.memory.memories import memories, preferences
from backscroll.engine.work.memory.thread_memory import ThreadMemory
from backscroll.errors import InvalidInput, NotFound
from backscroll.graph.claims.predicates import normalize_predicate
from backscroll.graph.view import Contradiction, Fact
from backscroll.record.ports import Reader
from backscroll.tasks.preferences.preferences import Preference
from backscroll.tasks.preferences.profile import is_lasting, said_in, traits_of
from backscroll.vocab.assertion import Override
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json
from backscroll.vocab.thread import ThreadInfo

if TYPE_CHECKING:
    from backscroll.vocab.task import Memory

__all__ = ["FactSource", "Preference", "User", "UserFact"]


@dataclass(frozen=True, slots=True)
class FactSource:
    """The message in which a fact was stated."""

    thread: str
    message: Ref | None  # None: set by a person
    revision: Ref
    quote: str


@dataclass(frozen=True, slots=True)
class UserFact:
    """A current or former fact about a user, with the messages that state it."""

    predicate: str
    value: str
    sources: tuple[FactSource, ...]  # the oldest first
    current: bool = True
    by: str = "said"  # or person: set manually
    sure: float = 1.0


@doors
class User:
    """A user and everything known about them across their threads."""

    def __init__(self, engine: ThreadDirectory, name: str) -> None:
        if not name.strip():
            raise InvalidInput("a user needs a name", hint='such as store.user("ann")')
        self.engine, self.name = engine, name
        self._scope = ScopeThreads.of_user(name)

    # -- threads ---------------------------------------------------------------------------------------------

    def threads(self, *, project: str | None = None, limit: int | None = None) -> Iterator[ThreadInfo]:
        """Yield the user's threads, the most recently changed first."""
        found = self.engine.threads(user=self.name, project=project)
        for number, info in enumerate(info for info in found if info.kind != PROFILE):
            if limit is not None and number >= limit:
                return
            yield info

    def create(
        self,
        title: str = "",
        *,
        project: str = "",
        kind: str = "chat",
        language: str = "",
        tags: Sequence[str] = (),
        metadata: dict[str, Json] | None = None,
    ) -> Thread:
        """Create a thread that belongs to the user."""
        return self.engine.create(
            title,
            project=project,
            user=self.name,
            kind=kind,
            language=language,
            tags=tags,
            metadata=metadata,
        )

    def thread_for(self, key: str, title: str = "", *, project: str = "", kind: str = "chat") -> Thread:
        """Return the user's thread that you call `key`; create it if there is none."""
        return self.engine.thread_for(key, title, project=project, user=self.name, kind=kind)

    # -- facts and memories ----------------------------------------------------------------------------------

    @property
    def graph(self) -> ScopeGraph:
        """The knowledge graph over all of the user's threads, with manual corrections."""
        return ScopeGraph(self.engine, self._scope)

    def facts(self, *, everything: bool = False) -> list[UserFact]:
        """Return the facts about the user, the strongest first, each with its source; `everything` adds transient ones."""
        held = held_scope(self.engine, self._scope)
        person = person_of(held)
        if person is None:
            return []
        lasting = [fact for trait in traits_of(held.graph, person, "en") for fact in trait.facts]
        seen = {id(fact) for fact in lasting}
        every = (*person.attributes, *person.relations)
        more = [f for f in every if id(f) not in seen and (everything or is_lasting(f)) and said_in(f)]
        return self._read_facts(held, [*lasting, *more])

    def history(self, predicate: str = "") -> list[UserFact]:
        """Return every value ever held (of one predicate, such as `lives_in`), the oldest first."""
        held = held_scope(self.engine, self._scope)
        person = person_of(held)
        return (
            []
            if person is None
            else self._read_facts(held, held.graph.history(person.id, normalize_predicate(predicate)))
        )

    def conflicts(self) -> list[Contradiction]:
        """Return contradictory statements about the user, and which of each is in force."""
        held = held_scope(self.engine, self._scope)
        person = person_of(held)
        return [] if person is None else [c for c in held.graph.conflicts() if c.node == person.id]

    def preferences(self) -> list[Preference]:
        """Return the user's preferences with all evidence; superseded and doubtful ones last."""
        home = self._newest()
        return [] if home is None else preferences(home, scope="user")

    def memories(self, text: str = "") -> list[Memory]:
        """Return the memories across all of the user's threads; with `text`, only related ones."""
        home = self._newest()
        return [] if home is None else memories(home, scope="user", text=text)

    def _newest(self) -> ThreadScope | None:
        info = next(iter(self.engine.threads(user=self.name, limit=1)), None)
        return None if info is None else self.engine.thread(info.id)

    def _read_facts(self, held: CachedScope, facts: Sequence[Fact]) -> list[UserFact]:
        def work(reader: Reader) -> list[UserFact]:
            return [_user_fact(reader, held, fact) for fact in facts]

        return self.engine.store.read(work)

    # -- manual corrections -----------------------------------------------------------------------------------

    def correct(self, predicate: str, value: str) -> Override:
        """Override a fact about the user, whatever the messages say: `correct("lives_in", "Porto")`."""
        graph = self._graph_of_somebody()
        if self._is_between_nodes(predicate):
            return graph.set(self._node(), predicate, other=value)
        return graph.set(self._node(), predicate, value)

    def reject(self, predicate: str, value: str | None = None) -> Override:
        """Reject a fact about the user, whatever the messages say; without a value, every value of that predicate."""
        graph = self._graph_of_somebody()
        if value is not None and self._is_between_nodes(predicate):
            return graph.forbid(self._node(), predicate, other=value)
        return graph.forbid(self._node(), predicate, value)

    def remember(self, text: str) -> Memory:
        """Add a fact about the user as a memory."""
        return ThreadMemory(self.graph.thread).add(text)

    def _graph_of_somebody(self) -> ScopeGraph:
        graph = self.graph
        if person_of(held_scope(self.engine, self._scope)) is None:
            graph.add(self.name, "person")  # nothing was stated about them yet
        return graph

    def _node(self) -> str:
        person = person_of(held_scope(self.engine, self._scope))
        assert person is not None
        return person.id

    def _is_between_nodes(self, predicate: str) -> bool:
        return is_relation(predicate_meant(predicate))

    # -- export and erasing ----------------------------------------------------------------------------------

    def export(self, target: str | os.PathLike[str] | None = None, format: str = "native") -> ExportReport:
        """Export all of the user's threads, with manual corrections; `import_path` reads a native file back."""
        names = [info.id for info in self.engine.threads(user=self.name)]
        if not names:
            raise NotFound(
                f"no thread belongs to {self.name!r}", hint="run `backscroll user list` to list users"
            )
        return export(self.engine, names, format, None if target is None else os.fspath(target))

    def forget(self, *, dry_run: bool = False, keep_shared: bool = False) -> forgetting.ForgetReport:
        """Erase all of the user's threads permanently, with everything derived from them or recorded about the user elsewhere."""
        engine, actor = self.engine, self.engine.settings.actor
        names = [info.id for info in engine.threads(user=self.name)]
        if not names:
            raise NotFound(
                f"no thread belongs to {self.name!r}", hint="run `backscroll user list` to list users"
            )
        done: list[forgetting.ForgetReport] = []
        left: dict[str, None] = {}
        for name in names:
            left |= dict.fromkeys(
                engine.store.read(lambda reader, name=name: snapshots_left(reader, name, None))
            )
            done.append(
                forgetting.erase_in(
                    engine.store, engine.means, name, None, actor, keep_shared=keep_shared, dry_run=dry_run
                )
            )
        threads = tuple(dict.fromkeys([*names, *(thread for one in done for thread in one.threads)]))
        whole = replace(
            done[0],
            messages=sum(one.messages for one in done),
            revisions=sum(one.revisions for one in done),
            blobs=sum(one.blobs for one in done),
            beside=sum(one.beside for one in done),
            derived=sum(one.derived for one in done),
            threads=threads,
            shared_with=tuple(dict.fromkeys(ref for one in done for ref in one.shared_with)),
            unreachable=tuple(left),
        )
        if dry_run:
            return whole
        return replace(whole, unreachable=(*scrub(engine, list(threads), actor), *left))


def _user_fact(reader: Reader, held: CachedScope, fact: Fact) -> UserFact:
    value = fact.value
    if fact.object:
        found = held.graph.find(fact.object)
        value = held.graph.node(found).name if found is not None else fact.object
    sources: list[FactSource] = []
    for evidence in fact.evidence:
        if evidence.override is not None and evidence.override.id is not None:
            id = evidence.override.id
            sources.append(FactSource(id.thread, None, id, ""))
        elif evidence.assertion is not None and evidence.assertion.source is not None:
            source = evidence.assertion.source
            event = reader.event(source)
            message = None if event is None else event.message
            sources.append(FactSource(source.thread, message, source, evidence.assertion.quote))
    by = "person" if fact.rank.value == "person" else "said"
    return UserFact(fact.predicate, value, tuple(sources), fact.current, by, fact.sure)
