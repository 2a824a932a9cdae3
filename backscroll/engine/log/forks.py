"""Create a fork: a thread that shares another one's log and copies only counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from backscroll.engine.core.clock import ClockAndIds
from backscroll.engine.core.lineage import View
from backscroll.engine.core.pen import Pen, index_entry
from backscroll.record.content import original
from backscroll.record.ports import ThreadState, Writer
from backscroll.record.thread_info import ThreadDescription
from backscroll.vocab.event import Kind
from backscroll.vocab.ids import Ref


def begin_fork(
    tx: Writer,
    means: ClockAndIds,
    parent: ThreadState,
    position: bytes | None,
    at: Ref | None,
    title: str | None,
    actor: str,
    *,
    as_logged: bool = False,
) -> Pen:
    """Create a fork inside a transaction; return its pen. `as_logged`: see `count_inherited`."""
    name, now = means.new_thread(), means.now()
    state = ThreadState(
        name,
        parent.root,
        parent.head,
        parent.hash,
        ThreadDescription(),
        now,
        now,
        parent=parent.id,
        fork_seq=parent.head,
        fork_position=position,
        fork_message=at,
    )
    state = count_inherited(tx, state, as_logged=as_logged)
    tx.add_thread(state)
    pen = Pen(tx, name, means, actor)
    # A key names one thread: a fork has none.
    about = {**replace(parent.about, key="").to_json(), **({} if title is None else {"title": title})}
    head = {
        "parent": parent.id,
        "at": parent.head,
        "message": None if at is None else str(at),
        "position": None if position is None else position.hex(),
    }
    pen.write(Kind.FORKED, head=head, body={"about": about}, at=now)
    pen.save()
    return pen


def count_inherited(tx: Writer, state: ThreadState, *, as_logged: bool = False) -> ThreadState:
    """Return the row of a new fork with its inherited messages and turns counted.

    `as_logged` counts what existed at that time, forgotten or not: the fork's own log, which follows, records what was
    forgotten.
    """
    parent = None if state.parent is None else tx.thread(state.parent)
    if parent is None:
        return state
    view = View(tx, parent, state.fork_seq)
    upto = state.fork_position
    if parent.head > state.fork_seq:
        _index_past(tx, view, upto)
    if as_logged:
        roles = list(_roles(view, upto))
        return replace(state, messages=len(roles), turns=roles.count("user"))
    return replace(state, messages=view.count(upto=upto), turns=view.count(role="user", upto=upto))


def _roles(view: View, upto: bytes | None) -> Iterator[str]:
    """Yield the role of each message as of a moment, forgotten since or not."""
    low: bytes | None = None
    while rows := view.page(500, after=low, gone=True):
        for entry, _ in rows:
            if upto is not None and entry.position > upto:
                return
            if entry.live:
                yield entry.role
        low = rows[-1][0].position


def _index_past(tx: Writer, view: View, upto: bytes | None) -> None:
    """Index text that a fork of an earlier moment shows although its parent has changed it since."""
    low: bytes | None = None
    while rows := view.page(500, after=low):
        for entry, spoken in rows:
            if upto is not None and entry.position > upto:
                return  # the fork does not have it
            if spoken.body is not None and tx.read_index_tokens(entry.revision) is None:
                tx.index(entry.revision, index_entry(original(spoken.body)))
        low = rows[-1][0].position
