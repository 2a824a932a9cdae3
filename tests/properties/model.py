"""What a store of conversations should do, in plain dictionaries: the model that the state machine compares with.

Positions are fractions, a fork is a copy, undo is two stacks for each actor, a moment is a copy kept aside. Nothing here
knows of byte strings, entries, spans or shared pasts. An operation that makes no sense raises the error that the engine
should raise, before anything is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from backscroll.errors import BackscrollError, Conflict, Forgotten, NotFound
from backscroll.vocab.ids import Ref


@dataclass(frozen=True)
class Entry:
    """One message as it stands in one thread."""

    position: Fraction
    role: str
    revision: Ref
    alternative: int = 0
    alternatives: int = 1
    hidden: bool = False
    pinned: bool = False
    deleted: bool = False
    forgotten: bool = False

    @property
    def live(self) -> bool:
        return not self.deleted and not self.forgotten


SETTABLE = ("position", "revision", "alternative", "hidden", "pinned", "deleted")


@dataclass
class Stroke:
    """What one operation changed: the fields of messages, and of the thread, before and after."""

    messages: dict[Ref, dict[str, tuple[Any, Any]]] = field(default_factory=dict)
    about: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    void: bool = False  # the words about the thread that it changed were forgotten


@dataclass
class Stacks:
    done: list[Stroke] = field(default_factory=list)
    undone: list[Stroke] = field(default_factory=list)


@dataclass
class Thread:
    """One conversation."""

    id: str
    root: str
    head: int
    about: dict[str, Any]
    entries: dict[Ref, Entry] = field(default_factory=dict)
    parent: Thread | None = None
    fork_seq: int = 0
    fork_position: Fraction | None = None
    moments: dict[int, dict[Ref, Entry]] = field(default_factory=dict)
    log: list[tuple[int, str, str]] = field(default_factory=list)
    stacks: dict[str, Stacks] = field(default_factory=dict)
    alternatives: dict[Ref, list[tuple[Ref, int]]] = field(default_factory=dict)
    names: set[tuple[str, str]] = field(default_factory=set)  # every title and tag that its log tells

    def bears(self) -> set[tuple[str, str]]:
        """The titles and tags that it has now."""
        titles = {("title", self.about["title"])} if self.about["title"] else set()
        return titles | {("tag", tag) for tag in self.about["tags"]}

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """How a failing example names a thread: by the beginning of its id, not by all that it holds."""
        printer.text(f"<{self.id[:8]}>")

    def stroke(self, actor: str) -> Stacks:
        return self.stacks.setdefault(actor, Stacks())

    def in_order(self, entries: dict[Ref, Entry] | None = None) -> list[Ref]:
        found = self.entries if entries is None else entries
        return sorted(found, key=lambda ref: found[ref].position)

    def moment(self, event: int) -> dict[Ref, Entry]:
        """All entries as of an event, from before the fork as well."""
        if self.parent is not None and event <= self.fork_seq:
            shared = self.parent.moment(event)
            limit = self.fork_position
            return {r: e for r, e in shared.items() if limit is None or e.position <= limit}
        return self.moments[min(event, self.head)]


class Model:
    """All conversations of one store."""

    def __init__(self) -> None:
        self.threads: dict[str, Thread] = {}
        self.words: dict[Ref, str] = {}  # of every revision
        self.forgotten: set[Ref] = set()  # revisions

    # -- what there is ---------------------------------------------------------------------------------------

    def family(self, thread: Thread) -> list[Thread]:
        return [t for t in self.threads.values() if t.root == thread.root]

    def live(self, thread: Thread, entries: dict[Ref, Entry] | None = None) -> list[tuple[Ref, Entry, str]]:
        found = thread.entries if entries is None else entries
        return [
            (ref, found[ref], self.words[found[ref].revision])
            for ref in thread.in_order(found)
            if found[ref].live and found[ref].revision not in self.forgotten
        ]

    def standing(self, thread: Thread, message: Ref, *, deleted: bool = False) -> Entry:
        entry = thread.entries.get(message)
        if entry is None:
            raise NotFound("no such message")
        if entry.forgotten:
            raise Forgotten("forgotten")
        if entry.deleted and not deleted:
            raise Conflict("deleted")
        return entry

    # -- the log ---------------------------------------------------------------------------------------------

    def _event(self, thread: Thread, kind: str, actor: str) -> Ref:
        thread.head += 1
        thread.log.append((thread.head, kind, actor))
        return Ref(thread.id, thread.head)

    def _keep(self, thread: Thread) -> None:
        thread.moments[thread.head] = dict(thread.entries)

    def create(self, name: str, actor: str, about: dict[str, Any]) -> Thread:
        thread = self.threads[name] = Thread(name, name, 0, about)
        thread.names = thread.bears()
        self._event(thread, "created", actor)
        self._keep(thread)
        return thread

    def fork(self, name: str, parent: Thread, at: Ref | None, actor: str, title: str | None) -> Thread:
        limit = None if at is None else parent.entries[at].position
        about = {**parent.about, **({} if title is None else {"title": title})}
        entries = {r: e for r, e in parent.entries.items() if limit is None or e.position <= limit}
        thread = Thread(name, parent.root, parent.head, about, entries, parent, parent.head, limit)
        thread.alternatives = {r: list(a) for r, a in parent.alternatives.items()}
        self.threads[name] = thread
        thread.names = thread.bears()
        self._event(thread, "forked", actor)
        self._keep(thread)
        return thread

    def check_fork(self, parent: Thread, at: Ref) -> None:
        entry = parent.entries.get(at)
        if entry is None or not entry.live:
            raise NotFound("not standing")

    # -- speaking --------------------------------------------------------------------------------------------

    def append(self, thread: Thread, actor: str, role: str, text: str, hidden: bool, pinned: bool) -> Ref:
        ref = self._event(thread, "appended", actor)
        self.words[ref] = text
        thread.entries[ref] = Entry(Fraction(ref.seq), role, ref, hidden=hidden, pinned=pinned)
        thread.alternatives[ref] = [(ref, 0)]
        self._keep(thread)
        return ref

    def _between(self, thread: Thread, after: Ref | None, seq: int) -> Fraction:
        if after is not None and after not in thread.entries:
            raise NotFound("no such message")
        low = Fraction(0) if after is None else thread.entries[after].position
        higher = [e.position for e in thread.entries.values() if e.position > low]
        return (low + min(higher)) / 2 if higher else Fraction(seq)

    def insert(self, thread: Thread, actor: str, role: str, text: str, after: Ref | None) -> Ref:
        position = self._between(thread, after, thread.head + 1)
        ref = self._event(thread, "inserted", actor)
        self.words[ref] = text
        thread.entries[ref] = Entry(position, role, ref)
        thread.alternatives[ref] = [(ref, 0)]
        self._push(thread, actor, Stroke({ref: {"deleted": (True, False)}}))
        self._keep(thread)
        return ref

    def one_before(self, thread: Thread, before: Ref) -> Ref | None:
        if before not in thread.entries:
            raise NotFound("no such message")
        order = thread.in_order()
        place = order.index(before)
        return order[place - 1] if place else None

    def _change(
        self, thread: Thread, actor: str, kind: str, changes: dict[Ref, dict[str, Any]], *, alone: bool = True
    ) -> Stroke:
        """Set fields of messages, one event for each; gives what undo needs."""
        stroke = Stroke()
        for ref, fields in changes.items():
            self._event(thread, kind, actor)
            stroke.messages[ref] = self._set(thread, ref, fields)
            self._keep(thread)
        if alone:
            self._push(thread, actor, stroke)
        return stroke

    def _set(self, thread: Thread, ref: Ref, fields: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
        before = thread.entries[ref]
        thread.entries[ref] = replace(before, **fields)
        return {
            name: (getattr(before, name), value)
            for name, value in fields.items()
            if name in SETTABLE and getattr(before, name) != value
        }

    def _push(self, thread: Thread, actor: str, stroke: Stroke) -> None:
        stacks = thread.stroke(actor)
        stacks.done.append(stroke)
        stacks.undone.clear()

    def edit(self, thread: Thread, actor: str, message: Ref, text: str, seen: Ref | None) -> Ref:
        entry = self.standing(thread, message)
        self._seen(entry, seen)
        if self.words[entry.revision] == text:
            return entry.revision
        ref = Ref(thread.id, thread.head + 1)
        self.words[ref] = text
        thread.alternatives[message].append((ref, entry.alternative))
        self._change(thread, actor, "edited", {message: {"revision": ref}})
        return ref

    def _seen(self, entry: Entry, seen: Ref | None) -> None:
        if seen is not None and seen != entry.revision:
            raise Conflict("changed since")

    def regenerate(self, thread: Thread, actor: str, message: Ref, text: str, live: bool) -> Ref:
        entry = self.standing(thread, message)
        ref = Ref(thread.id, thread.head + 1)
        self.words[ref] = text
        number = entry.alternatives
        thread.alternatives[message].append((ref, number))
        fields: dict[str, Any] = {"alternatives": number + 1}
        if live:
            fields |= {"revision": ref, "alternative": number}
        self._change(thread, actor, "regenerated", {message: fields})
        return ref

    def choose(self, thread: Thread, actor: str, message: Ref, which: Ref | int) -> None:
        entry = self.standing(thread, message)
        options = [(r, n) for r, n in thread.alternatives[message] if r not in self.forgotten]
        fitting = [(r, n) for r, n in options if which in (r, n)]
        if not fitting:
            raise NotFound("no such revision")
        revision, number = fitting[-1]
        if revision != entry.revision:
            fields = {"revision": revision, "alternative": number}
            self._change(thread, actor, "chosen", {message: fields})

    # -- flags and places ------------------------------------------------------------------------------------

    def flag(self, thread: Thread, actor: str, kind: str, messages: Sequence[Ref]) -> int:
        name, value = FLAGS[kind]
        wanted: dict[Ref, dict[str, Any]] = {}
        for message in messages:
            entry = self.standing(thread, message, deleted=name == "deleted")
            if message not in wanted and getattr(entry, name) is not value:
                wanted[message] = {name: value}
        if wanted:
            self._change(thread, actor, kind, wanted)
        return len(wanted)

    def move(self, thread: Thread, actor: str, message: Ref, after: Ref | None) -> None:
        self.standing(thread, message)
        position = self._between(thread, after, thread.head + 1)
        self._change(thread, actor, "moved", {message: {"position": position}})

    # -- the thread as a whole -------------------------------------------------------------------------------

    def describe(self, thread: Thread, actor: str, kind: str, changes: dict[str, Any]) -> None:
        changed = {k: (thread.about[k], v) for k, v in changes.items() if thread.about[k] != v}
        if changed:
            self._event(thread, kind, actor)
            thread.about = {**thread.about, **changes}
            thread.names |= thread.bears()
            self._push(thread, actor, Stroke(about=changed))
            self._keep(thread)

    def note(self, thread: Thread, actor: str, kind: str) -> None:
        self._event(thread, kind, actor)
        self._keep(thread)

    # -- undo ------------------------------------------------------------------------------------------------

    def undo(self, thread: Thread, actor: str) -> None:
        stacks = thread.stroke(actor)
        self._take_back(thread, actor, stacks.done, stacks.undone, "undone", 1, 0)

    def redo(self, thread: Thread, actor: str) -> None:
        stacks = thread.stroke(actor)
        self._take_back(thread, actor, stacks.undone, stacks.done, "redone", 0, 1)

    def _take_back(
        self,
        thread: Thread,
        actor: str,
        source: list[Stroke],
        target: list[Stroke],
        kind: str,
        now: int,
        then: int,
    ) -> None:
        while source and self._is_void(thread, source[-1]):
            source.pop()
        if not source:
            raise NotFound(f"nothing to be {kind}")
        stroke = source[-1]
        touched = {r: f for r, f in stroke.messages.items() if not thread.entries[r].forgotten}
        for ref, fields in touched.items():
            for name, pair in fields.items():
                if getattr(thread.entries[ref], name) != pair[now]:
                    raise Conflict("changed since")
                if name == "revision" and pair[then] in self.forgotten:
                    raise Conflict("its words are forgotten")
        if any(thread.about[name] != pair[now] for name, pair in stroke.about.items()):
            raise Conflict("described anew since")
        source.pop()
        target.append(stroke)
        self._event(thread, kind, actor)
        for ref, fields in touched.items():
            self._set(thread, ref, {name: pair[then] for name, pair in fields.items()})
        thread.about = {**thread.about, **{name: pair[then] for name, pair in stroke.about.items()}}
        self._keep(thread)

    def _is_void(self, thread: Thread, stroke: Stroke) -> bool:
        gone = all(thread.entries[ref].forgotten for ref in stroke.messages)
        return gone and (stroke.void or not stroke.about)

    # -- forgetting ------------------------------------------------------------------------------------------

    def forget(self, thread: Thread, messages: Sequence[Ref]) -> None:
        if any(message not in thread.entries for message in messages):
            raise NotFound("no such message")
        for kin in self.family(thread):
            for message in messages:
                self.forgotten.update(r for r, _ in kin.alternatives.get(message, ()))
                if message in kin.entries:
                    kin.entries[message] = replace(kin.entries[message], forgotten=True)

    def forget_thread(self, thread: Thread) -> None:
        self.forget(thread, [ref for ref in thread.entries if ref.thread == thread.id])
        own = {r for options in thread.alternatives.values() for r, _ in options if r.thread == thread.id}
        self.forgotten |= own
        for kin in self.family(thread):
            for message, entry in kin.entries.items():
                if entry.revision in own:
                    kin.entries[message] = replace(entry, forgotten=True)
        for kin in self.family(thread):
            if self._descends(kin, thread) and kin.names & thread.names:
                self._disown(kin, thread.names)
        blank = {"title": "", "project": "", "language": "", "tags": (), "metadata": {}}
        self._rename(thread, {**thread.about, **blank})

    def _descends(self, thread: Thread, ancestor: Thread) -> bool:
        return thread.parent is not None and (
            thread.parent is ancestor or self._descends(thread.parent, ancestor)
        )

    def _disown(self, thread: Thread, names: set[tuple[str, str]]) -> None:
        title = "" if ("title", thread.about["title"]) in names else thread.about["title"]
        tags = tuple(tag for tag in thread.about["tags"] if ("tag", tag) not in names)
        self._rename(thread, {**thread.about, "title": title, "tags": tags})

    def _rename(self, thread: Thread, about: dict[str, Any]) -> None:
        """What was told about a thread before is gone, and with it the chance to undo it."""
        thread.about = about
        thread.names = thread.bears()
        for stacks in thread.stacks.values():
            for stroke in (*stacks.done, *stacks.undone):
                stroke.void = True

    def caught_up(self, heads: dict[str, int]) -> None:
        """How many events a forget writes in which fork is its own affair; what they say is not."""
        for name, head in heads.items():
            thread = self.threads[name]
            thread.log += [(seq, "forgotten", "") for seq in range(thread.head + 1, head + 1)]
            before = thread.moments[thread.head]
            for seq in range(thread.head + 1, head):
                thread.moments[seq] = before
            thread.head = head
            thread.moments[head] = dict(thread.entries)

    # -- search ----------------------------------------------------------------------------------------------

    def revisions_with(self, word: str, threads: Iterable[Thread]) -> set[tuple[Ref, Ref]]:
        """Every message and live revision that holds a word, in any of these threads."""
        return {
            (ref, entry.revision)
            for thread in threads
            for ref, entry, text in self.live(thread)
            if word in text.split()
        }


FLAGS = {
    "deleted": ("deleted", True),
    "restored": ("deleted", False),
    "hidden": ("hidden", True),
    "unhidden": ("hidden", False),
    "pinned": ("pinned", True),
    "unpinned": ("pinned", False),
}


def outcome(work: Callable[[], Any]) -> tuple[Any, type[BackscrollError] | None]:
    """What a call gives, or the class of its refusal."""
    try:
        return work(), None
    except BackscrollError as error:
        return None, type(error)
