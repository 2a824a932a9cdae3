"""A user's changes to memories: add, reword, pin, hide, restore, erase.

Each change is one event in the log of the thread that the memory belongs to, so `undo` there reverts it, and lifting it
restores what the rules say. A text that a user wrote about messages names them, so that it is withheld when they change.
Hiding erases nothing; `forget` with `erase` permanently destroys the user's own text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from backscroll.engine.core.checks import in_valid_text
from backscroll.engine.core.pen import Pen
from backscroll.engine.log.erasure import forget_acts
from backscroll.engine.log.scrub import scrub
from backscroll.engine.work.memory.memories import memory_of
from backscroll.engine.work.memory.reader import collect
from backscroll.errors import Conflict, InvalidInput, NotFound
from backscroll.record.ports import Writer
from backscroll.tasks.memory.acts import MemoryAct, added_id, checked_kind, memory_named
from backscroll.vocab.event import SPEAKING, Event, Kind
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.part import Json
from backscroll.vocab.task import Memory, MemoryKind

if TYPE_CHECKING:
    from backscroll.engine.core.thread_scope import ThreadScope

LONGEST = 4_000  # characters that one memory may have


@in_valid_text
def add(
    thread: ThreadScope,
    text: str,
    *,
    kind: MemoryKind | str = MemoryKind.FACT,
    sources: Sequence[Ref | str] = (),
) -> Memory:
    """Add a memory; `sources` are messages it rests on: when one changes, it is withheld."""
    words, what = _check_text(text), checked_kind(str(kind))
    messages = [parse_ref(source) for source in sources]

    def work(pen: Pen) -> Ref:
        revisions = [_live(pen, message) for message in messages]
        head = _head(MemoryAct.ADD, "", messages, revisions)
        return pen.write(Kind.REMEMBERED, head={**head, "kind": what.value}, body={"text": words}).id

    return memory_of(thread, added_id(thread.stroke(work)))


@in_valid_text
def edit(thread: ThreadScope, name: str, text: str) -> Memory:
    """Replace the text of a memory; the new text applies as long as its sources are unchanged."""
    words = _check_text(text)
    now = memory_of(thread, name)
    if now.text == words:
        return now
    head = _about(thread, MemoryAct.EDIT, now)
    _write(thread, now, head, words)
    return memory_of(thread, now.id)


def pin(thread: ThreadScope, name: str) -> Memory:
    """Pin a memory: every prompt includes it as long as there is room, and it does not fade."""
    return _mark(thread, name, MemoryAct.PIN)


def unpin(thread: ThreadScope, name: str) -> Memory:
    """Unpin a memory."""
    return _mark(thread, name, MemoryAct.UNPIN)


def hide(thread: ThreadScope, name: str) -> Memory:
    """Hide a memory from lists and prompts; nothing is erased, and `bring_back` reverts it."""
    return _mark(thread, name, MemoryAct.HIDE)


def _mark(thread: ThreadScope, name: str, act: MemoryAct) -> Memory:
    now = memory_of(thread, name)
    found = collect(thread)
    hidden = any(m.id == now.id for m in found.hidden)
    so = {MemoryAct.PIN: now.pinned, MemoryAct.UNPIN: not now.pinned, MemoryAct.HIDE: hidden}[act]
    if not so:
        _write(thread, now, _about(thread, act, now), None)
    return memory_of(thread, now.id)


def bring_back(thread: ThreadScope, name: str) -> Memory:
    """Lift a user's changes to a memory: what the rules say (or the user's first text) applies again."""
    now = memory_of(thread, name)
    acts = [e for e in collect(thread).acts.get(now.id, ()) if e.head.get("act") != MemoryAct.ADD]
    if not acts:
        raise NotFound(
            f"no changes to memory {now.id}", hint="`backscroll memory why` shows what it rests on"
        )
    for home in dict.fromkeys(e.thread for e in acts):
        numbers = sorted(e.seq for e in acts if e.thread == home)
        owner = _owner(thread, home)
        owner.stroke(lambda pen, of=numbers: pen.write(Kind.LIFTED, head={"of": of}))
    return memory_of(thread, now.id)


def forget(thread: ThreadScope, name: str, *, erase: bool = False) -> int:
    """Hide a memory; `erase` also destroys what users wrote about it. Return how many texts were destroyed.

    What the rules found in messages lasts as long as the messages do: forget those to remove it permanently.
    """
    now = memory_of(thread, name)
    hide(thread, now.id)
    if not erase:
        return 0
    aliases = {other for other, own in collect(thread).aliases.items() if own == now.id} | {now.id}
    engine, gone = thread.engine, 0
    for home in dict.fromkeys([now.thread, thread.id]):

        def work(tx: Writer, home: str = home) -> int:
            events = [e for e in _list_remembered(tx, home) if memory_named(e) in aliases]
            if events:
                forget_acts(tx, engine.means, home, [e.seq for e in events], thread.actor)
            return len(events)

        gone += engine.store.write(work)
    if gone:
        scrub(engine, [now.thread, thread.id], thread.actor)
    return gone


def _list_remembered(tx: Writer, thread: str) -> list[Event]:
    return [e for e in tx.others(thread) if e.kind is Kind.REMEMBERED and e.body is not None]


# -- one event ---------------------------------------------------------------------------------------------------


def _check_text(text: str) -> str:
    words = text.strip()
    if not words:
        raise InvalidInput("the text of the memory is empty", hint="give the text to remember")
    if len(words) > LONGEST:
        raise InvalidInput(
            f"a memory of {len(words)} characters is too long", hint=f"keep it within {LONGEST} characters"
        )
    return words


def _live(pen: Pen, message: Ref) -> Ref:
    entry = pen.entry(message)
    if entry is None or not entry.live:
        raise NotFound(
            f"message {message.short} is not in the history of {pen.state.id[:8]}",
            hint="run `backscroll show` to list messages",
        )
    return entry.revision


def _head(act: MemoryAct, memory: str, messages: Sequence[Ref], revisions: Sequence[Ref]) -> dict[str, Json]:
    head: dict[str, Json] = {"act": act.value, "sources": [str(m) for m in messages]}
    if memory:
        head["memory"] = memory
    return {**head, "revisions": [str(r) for r in revisions]}


def _about(thread: ThreadScope, act: MemoryAct, memory: Memory) -> dict[str, Json]:
    """Return the sources of a change for its event: messages, for forgetting, and revisions, for reading."""
    events = thread.store.read(lambda reader: [reader.event(ref) for ref in memory.sources])
    messages = [e.message for e in events if e is not None and e.kind in SPEAKING and e.message is not None]
    revisions = [e.id for e in events if e is not None]
    return _head(act, memory.id, list(dict.fromkeys(messages)), revisions)


def _write(thread: ThreadScope, memory: Memory, head: dict[str, Json], words: str | None) -> None:
    owner = _owner(thread, memory.thread)
    body = None if words is None else {"text": words}
    seen = memory.sources

    def work(pen: Pen) -> Event:
        spoken = pen.tx.read_spoken(seen)
        if any(ref in spoken and spoken[ref].body is None for ref in seen):
            raise Conflict("what this memory rests on was forgotten since", hint="look at it again")
        return pen.write(Kind.REMEMBERED, head=head, body=body)

    owner.stroke(work)


def _owner(thread: ThreadScope, home: str) -> ThreadScope:
    """Return the thread that a memory belongs to, with the same actor."""
    return thread if home == thread.id else thread.engine.thread(home, actor=thread.actor)
