"""What is derived from the log: kept under its key, found, out of date never, erased with the words it was made of."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import backscroll
from backscroll.record.derived import Artefact, Charge, Lesson, RecipeReply, SummaryNode, TurnMark
from backscroll.record.history import PINNED
from backscroll.record.ports import Bounds, SearchFilter
from backscroll.vocab.event import PLENTY
from backscroll.vocab.ids import Ref
from tests.contracts.talk import say

AT = "2026-11-15T12:00:00+00:00"
UNKNOWN = "0123456789abcdef" * 2


def read(store: backscroll.Engine, work: Any) -> Any:
    return store.store.read(work)


def write(store: backscroll.Engine, work: Any) -> Any:
    return store.store.write(work)


def made(
    thread: backscroll.Thread, key: bytes, *sources: backscroll.Message, body: bytes = b'{"x":1}'
) -> Artefact:
    return Artefact(key, "gist", thread.id, body, tuple(m.revision for m in sources), AT)


def reply(thread: backscroll.Thread, key: bytes, *sources: backscroll.Message, at: str = AT) -> RecipeReply:
    return RecipeReply(
        key, "gist", thread.id, "model-1", b'{"said":"hi"}', tuple(m.revision for m in sources), at
    )


# -- artefacts and replies -------------------------------------------------------------------------------------------


def test_artefacts_are_found_by_their_keys(store: backscroll.Engine, thread: backscroll.Thread) -> None:
    """Many at once; unknown keys are missing; the order of the sources and every byte of the body are kept."""
    a, b, c = say(thread, "u one", "a two", "u three")
    body = bytes(range(256)) + "\ud83d".encode("utf-8", "surrogatepass")
    many = [made(thread, b"k%d" % n, c, a, b, body=body) for n in range(700)]
    write(store, lambda tx: tx.make(many))
    found = read(store, lambda r: r.read_artefacts([m.key for m in many] + [b"nothing", b"k1"]))
    assert found == {m.key: m for m in many}
    assert read(store, lambda r: r.read_artefacts([])) == {}


def test_first_artefact_under_a_key_stays(store: backscroll.Engine, thread: backscroll.Thread) -> None:
    """A second artefact under the same key is ignored."""
    a, b = say(thread, "u one", "a two")
    write(store, lambda tx: tx.make([made(thread, b"k", a)]))
    write(store, lambda tx: tx.make([made(thread, b"k", b, body=b"later")]))
    assert read(store, lambda r: r.read_artefacts([b"k"]))[b"k"] == made(thread, b"k", a)
    thread.forget(b.id)  # it was not made of this one
    assert read(store, lambda r: r.read_artefacts([b"k"])) != {}


def test_first_reply_under_a_key_stays_and_replies_are_listed_by_thread(
    store: backscroll.Engine, thread: backscroll.Thread
) -> None:
    """The first reply under a key stays; a thread's replies come in the order of their times."""
    (a,) = say(thread, "u one")
    other = store.create("other")
    later = reply(thread, b"r2", a, at="2026-11-15T13:00:00+00:00")
    for one in (later, reply(thread, b"r1", a), reply(other, b"r3")):
        write(store, lambda tx, one=one: tx.keep_reply(one))
    write(store, lambda tx: tx.keep_reply(replace(reply(thread, b"r1", a), body=b"second")))
    assert read(store, lambda r: r.reply(b"r1")) == reply(thread, b"r1", a)
    assert read(store, lambda r: r.replies(thread.id)) == [reply(thread, b"r1", a), later]
    assert read(store, lambda r: (r.reply(b"?"), r.replies(UNKNOWN))) == (None, [])


def test_derived_data_of_an_unknown_thread_is_refused(
    store: backscroll.Engine, thread: backscroll.Thread
) -> None:
    """A thread that is not in the store is named in a clear error, and nothing is written."""
    (a,) = say(thread, "u one")
    lost = Ref(UNKNOWN, 1)
    for work in (
        lambda tx: tx.make([replace(made(thread, b"k"), thread=UNKNOWN)]),
        lambda tx: tx.make([made(thread, b"k2"), replace(made(thread, b"k"), sources=(lost,))]),
        lambda tx: tx.keep_reply(replace(reply(thread, b"r"), thread=UNKNOWN)),
        lambda tx: tx.set_vectors("e", [(lost, b"\0\0")]),
        lambda tx: tx.set_tokens([(lost, "o200k", 3)]),
        lambda tx: tx.set_node(replace(node(thread, 1, a), thread=UNKNOWN)),
        lambda tx: tx.set_progress(UNKNOWN, "gist", 3),
        lambda tx: tx.keep_receipt(UNKNOWN, AT, b"{}", 3),
    ):
        with pytest.raises(backscroll.NotFound):
            write(store, work)
    assert store.stats()["artefacts"] == 0


def test_derived_data_of_forgotten_words_is_not_stored(
    store: backscroll.Engine, thread: backscroll.Thread
) -> None:
    """A worker that was reading words while they were forgotten stores nothing of them."""
    a, b = say(thread, "u a secret", "a fine")
    thread.forget(a.id)
    write(store, lambda tx: tx.make([made(thread, b"k1", a, b), made(thread, b"k2", b)]))
    write(store, lambda tx: tx.keep_reply(reply(thread, b"r", a)))
    write(store, lambda tx: tx.set_vectors("e", [(a.revision, b"\0\x3c"), (b.revision, b"\0\x3c")]))
    store.set_tokens({a.revision: 3, b.revision: 1}, "o200k")
    both = [a.revision, b.revision]
    assert set(read(store, lambda r: r.read_artefacts([b"k1", b"k2"]))) == {b"k2"}
    assert read(store, lambda r: r.reply(b"r")) is None
    assert set(read(store, lambda r: r.vectors(both, "e"))) == {b.revision}
    assert store.tokens(both, "o200k") == {b.revision: 1}


# -- erasing ---------------------------------------------------------------------------------------------------------


def derive_all(store: backscroll.Engine, thread: backscroll.Thread, *messages: backscroll.Message) -> None:
    """Something of every kind, made of each message, and something made of all that."""

    def work(tx: Any) -> None:
        for m in messages:
            tx.make([made(thread, b"of %d" % m.id.seq, m)])
            tx.keep_reply(reply(thread, b"of %d" % m.id.seq, m))
            tx.set_vectors("e", [(m.revision, b"\0\x3c\0\0")])
            tx.set_tokens([(m.revision, "o200k", 3)])
        tx.make([made(thread, b"of all", *messages), made(thread, b"of artefacts")])
        tx.keep_reply(reply(thread, b"of artefacts"))
        tx.set_node(node(thread, 1, messages[0]))
        tx.keep_receipt(thread.id, AT, b"{}", 5)
        tx.set_progress(thread.id, "gist", thread.head)
        tx.learn(Lesson(AT, thread.id, "tool:read", 1.0))

    write(store, work)


def derived(
    store: backscroll.Engine, thread: backscroll.Thread, *messages: backscroll.Message
) -> dict[str, Any]:
    """What there is of all that."""
    keys = [*(b"of %d" % m.id.seq for m in messages), b"of all", b"of artefacts"]
    refs = [m.revision for m in messages]
    return read(
        store,
        lambda r: {
            "made": set(r.read_artefacts(keys)),
            "replies": {k for k in keys if r.reply(k) is not None},
            "vectors": set(r.vectors(refs, "e")),
            "near": [ref for ref, _ in r.nearest(b"\0\x3c\0\0", "e", SearchFilter(), 10)],
            "tokens": set(r.tokens(refs, "o200k")),
            "nodes": len(r.nodes(thread.id, 1)),
            "receipts": len(r.receipts(thread.id)),
            "progress": r.progress(thread.id, "gist"),
        },
    )


def test_forgetting_a_message_erases_its_derived_data(
    store: backscroll.Engine, thread: backscroll.Thread
) -> None:
    """Artefacts, replies, vectors, counts, tree and receipts; data of other messages stays."""
    a, b = say(thread, "u one word", "a two words")
    derive_all(store, thread, a, b)
    done = thread.forget(a.id)
    now = derived(store, thread, a, b)
    assert now["made"] == {b"of %d" % b.id.seq}
    assert now["replies"] == {b"of %d" % b.id.seq}
    assert now["vectors"] == now["tokens"] == {b.revision}
    assert now["near"] == [b.revision]
    assert (now["nodes"], now["receipts"], now["progress"]) == (0, 0, 0)
    assert done.derived == 9  # four of the message, one of both, two of artefacts, the node, the receipt
    assert len(read(store, lambda r: r.lessons())) == 1


def test_forgetting_a_thread_erases_all_derived_data(
    store: backscroll.Engine, thread: backscroll.Thread
) -> None:
    """Lessons included; charges stay on the ledger."""
    a, b = say(thread, "u one word", "a two words")
    other = store.create("other")
    (c,) = say(other, "u three words")
    derive_all(store, thread, a, b)
    write(store, lambda tx: tx.set_vectors("e", [(c.revision, b"\0\x3c\0\0")]))
    write(store, lambda tx: tx.charge(replace(CHARGE, thread=thread.id)))
    thread.forget_thread()
    now = derived(store, thread, a, b)
    assert now["near"] == [c.revision]
    assert not any(now[what] for what in now if what != "near")
    assert read(store, lambda r: r.lessons(thread.id)) == []
    assert len(read(store, lambda r: r.charges(thread=thread.id))) == 1
    assert derived(store, other, c)["vectors"] == {c.revision}


def test_dry_run_of_forget_erases_nothing(store: backscroll.Engine, thread: backscroll.Thread) -> None:
    """It reports how much derived data would be erased."""
    a, b = say(thread, "u one word", "a two words")
    derive_all(store, thread, a, b)
    before = derived(store, thread, a, b)
    assert thread.forget(a.id, dry_run=True).derived == 9
    assert derived(store, thread, a, b) == before


def test_erasing_one_revision_leaves_the_others(store: backscroll.Engine, thread: backscroll.Thread) -> None:
    """`unmake` names revisions and threads; without threads the tree stays, without revisions only the tree goes."""
    a, b = say(thread, "u one", "a two")
    derive_all(store, thread, a, b)
    assert write(store, lambda tx: tx.unmake([a.revision], [])) == 5
    assert derived(store, thread, a, b)["nodes"] == 1
    assert write(store, lambda tx: tx.unmake([], [thread.id, thread.id])) == 4
    assert derived(store, thread, a, b)["made"] == {b"of %d" % b.id.seq}
    assert write(store, lambda tx: tx.unmake([a.revision, Ref(UNKNOWN, 1)], [UNKNOWN])) == 0


# -- the few among the many ------------------------------------------------------------------------------------------


def test_rare_events_are_read_without_messages_and_asides(
    store: backscroll.Engine, thread: backscroll.Thread
) -> None:
    """Everything but appended messages and asides, in order, within bounds."""
    a, b = say(thread, "u one", "a two")
    thread.edit(a.id, "uno")
    thread.pin(b.id)
    say(thread, "u three")
    thread.undo()
    every = list(thread.events())
    rare = [e for e in every if e.kind not in PLENTY]
    assert read(store, lambda r: r.others(thread.id)) == rare
    first, last = rare[1].seq, rare[-1].seq - 1
    some = [e for e in rare if first <= e.seq <= last]
    assert read(store, lambda r: r.others(thread.id, first, last)) == some
    assert read(store, lambda r: (r.others(thread.id, last + 9), r.others(UNKNOWN))) == ([], [])


def test_marked_messages_as_of_every_event(store: backscroll.Engine, thread: backscroll.Thread) -> None:
    """Live system and pinned messages, compared with a full scan."""
    s, a, b, c = say(thread, "s be kind", "u one", "a two", "u three")
    thread.pin(a.id, c.id)
    thread.edit(a.id, "uno")
    thread.delete(c.id)
    thread.unpin(a.id)
    thread.restore(c.id)
    thread.edit(s.id, "be very kind")
    thread.move(s.id, after=b.id)
    thread.forget(c.id)
    for moment in range(thread.head + 1):
        bounds = Bounds(moment)
        every = read(store, lambda r, b=bounds: r.page(thread.id, b, 100))
        marked = [(e, w) for e, w in every if e.role == "system" or e.flags & PINNED]
        assert read(store, lambda r, b=bounds: r.list_marked_entries(thread.id, b)) == marked, moment
    (entry, _) = read(store, lambda r: r.list_marked_entries(thread.id, Bounds(thread.head)))[0]
    inside = Bounds(thread.head, after=entry.position)
    assert read(store, lambda r: r.list_marked_entries(thread.id, inside)) == []


# -- vectors ---------------------------------------------------------------------------------------------------------

numbers = st.floats(-4, 4, width=16)


def half(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}e", *values)


def cosine(a: bytes, b: bytes) -> float:
    x, y = (struct.unpack(f"<{len(v) // 2}e", v) for v in (a, b))
    lengths = sum(v * v for v in x) * sum(v * v for v in y)
    return sum(p * q for p, q in zip(x, y, strict=True)) / lengths**0.5 if lengths else 0.0


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.lists(numbers, min_size=6, max_size=6), min_size=1, max_size=8),
    asked=st.lists(numbers, min_size=6, max_size=6),
    limit=st.integers(1, 9),
)
def test_the_nearest_are_those_with_the_largest_cosine(
    store: backscroll.Engine, rows: list[list[float]], asked: list[float], limit: int
) -> None:
    """For any vectors, the answer is the exact order by cosine; vectors of zeros are in no answer."""
    thread = store.create()
    messages = say(thread, *(f"u word {n}" for n in range(len(rows))))
    vectors = {m.revision: half(*row) for m, row in zip(messages, rows, strict=True)}
    write(store, lambda tx: tx.set_vectors("e", vectors.items()))
    assert read(store, lambda r: r.vectors(list(vectors), "e")) == vectors
    query = half(*asked)
    got = read(store, lambda r: r.nearest(query, "e", SearchFilter(threads=(thread.id,)), limit))
    right = {ref: cosine(query, v) for ref, v in vectors.items() if any(struct.unpack("<6e", v))}
    right = right if any(struct.unpack("<6e", query)) else {}
    assert len(got) == min(limit, len(right))
    for ref, score in got:
        assert score == pytest.approx(right[ref], abs=2e-3)
    left_out = [score for ref, score in right.items() if ref not in dict(got)]
    assert not left_out or not got or max(left_out) <= min(score for _, score in got) + 2e-3


def test_nearest_respects_the_filters(store: backscroll.Engine) -> None:
    """Thread, project, kind, role, time and tool narrow the answer as they narrow a search."""
    one = store.create("one", project="p", kind="agent")
    two = store.create("two", project="q", kind="chat")
    early = one.append("user", "early bird", at="2020-01-01T00:00:00+00:00")
    late = one.append("assistant", "late bird", at="2024-01-01T00:00:00+00:00")
    call = backscroll.ToolCall("c1", "read_file", {"path": "a.py"})
    tool = two.append("assistant", [backscroll.Text("calling bird"), call])
    every = [early, late, tool]
    write(store, lambda tx: tx.set_vectors("e", [(m.revision, half(1, 0)) for m in every]))

    def found(**wanted: Any) -> list[str]:
        rows = read(store, lambda r: r.nearest(half(1, 0), "e", SearchFilter(**wanted), 10))
        names = {m.revision: m.text.split()[0] for m in every}
        return [names[ref] for ref, _ in rows]

    assert found() == ["calling", "late", "early"]  # equally near: the newest first
    assert found(threads=(one.id,)) == ["late", "early"]
    assert found(threads=(one.id, two.id, UNKNOWN)) == ["calling", "late", "early"]
    assert found(threads=()) == []
    assert found(project="q") == ["calling"]
    assert found(kind="agent", roles=("user",)) == ["early"]
    assert found(project="q", threads=(one.id,)) == []
    edge = 1_600_000_000_000_000
    assert found(since_us=edge) == ["calling", "late"]
    assert found(until_us=edge) == ["early"]
    assert found(tool="read_file") == ["calling"]
    assert found(tool="write_file") == []
    with pytest.raises(backscroll.InvalidInput):
        found(roles=("narrator",))


def test_nearest_finds_live_revisions_only(store: backscroll.Engine, thread: backscroll.Thread) -> None:
    """Old revisions and deleted messages are left out; an undo includes them again."""
    (a,) = say(thread, "u nearest of all")
    rest = say(thread, *(f"u number {n}" for n in range(5)))
    edited = thread.edit(a.id, "changed")
    everyone = [(a.revision, half(1, 0)), (edited.revision, half(1, 0.5))]
    everyone += [(m.revision, half(1, 0.25)) for m in rest]
    write(store, lambda tx: tx.set_vectors("e", everyone))

    def near() -> set[Ref]:
        return {ref for ref, _ in read(store, lambda r: r.nearest(half(1, 0), "e", SearchFilter(), 50))}

    assert near() == {edited.revision, *(m.revision for m in rest)}
    thread.delete(*(m.id for m in rest))
    assert near() == {edited.revision}
    thread.undo()
    thread.undo()
    assert near() == {a.revision, *(m.revision for m in rest)}


def test_new_vector_replaces_the_old_one(store: backscroll.Engine, thread: backscroll.Thread) -> None:
    """Setting again replaces; each encoder has vectors of its own, of its own length."""
    (a,) = say(thread, "u one")
    for vector in (half(1, 0), half(0, 1)):
        write(store, lambda tx, v=vector: tx.set_vectors("e", [(a.revision, v)]))
        assert read(store, lambda r, v=vector: r.nearest(v, "e", SearchFilter(), 5)) == [(a.revision, 1.0)]
    write(store, lambda tx: tx.set_vectors("句子", [(a.revision, half(1, 2, 3))]))
    assert read(store, lambda r: r.vectors([a.revision], "e")) == {a.revision: half(0, 1)}
    assert read(store, lambda r: r.vectors([a.revision], "句子")) == {a.revision: half(1, 2, 3)}
    assert read(store, lambda r: r.vectors([a.revision, Ref(UNKNOWN, 1)], "none")) == {}


@pytest.mark.parametrize("bad", [b"", b"\0", half(1, 2, 3), half(float("nan"), 0), half(0, float("-inf"))])
def test_vectors_that_cannot_be_compared_are_refused(
    store: backscroll.Engine, thread: backscroll.Thread, bad: bytes
) -> None:
    """Another length, half a number, no number: an error with a hint, and nothing is stored."""
    (a,) = say(thread, "u one")
    write(store, lambda tx: tx.set_vectors("e", [(a.revision, half(1, 0))]))
    with pytest.raises(backscroll.InvalidInput):
        write(store, lambda tx: tx.set_vectors("e", [(a.revision, bad)]))
    with pytest.raises(backscroll.InvalidInput):
        read(store, lambda r: r.nearest(bad, "e", SearchFilter(), 5))
    assert read(store, lambda r: r.vectors([a.revision], "e")) == {a.revision: half(1, 0)}


def test_nearest_inside_a_write_sees_that_write(store: backscroll.Engine, thread: backscroll.Thread) -> None:
    """A transaction finds its own vectors, and leaves no trace of them when it fails."""
    a, b = say(thread, "u one", "u two")

    class Regret(Exception):
        pass

    def work(tx: Any) -> None:
        tx.set_vectors("e", [(a.revision, half(1, 0))])
        assert tx.nearest(half(1, 0), "e", SearchFilter(), 5) == [(a.revision, 1.0)]
        raise Regret

    with pytest.raises(Regret):
        write(store, work)
    assert read(store, lambda r: r.nearest(half(1, 0), "e", SearchFilter(), 5)) == []
    write(store, lambda tx: tx.set_vectors("e", [(b.revision, half(1, 0))]))
    assert read(store, lambda r: r.nearest(half(1, 0), "e", SearchFilter(), 5)) == [(b.revision, 1.0)]


# -- the summary tree ------------------------------------------------------------------------------------------------


def node(
    thread: backscroll.Thread, level: int, opening: backscroll.Message, version: str = "v1"
) -> SummaryNode:
    return SummaryNode(
        thread.id, level, opening.id, opening.position, opening.position + b"\x01", version, b"key", 2, 5
    )


def test_tree_nodes_are_read_in_order_of_position(
    store: backscroll.Engine, thread: backscroll.Thread
) -> None:
    """Each level apart, forwards and backwards, between positions, so many as asked for."""
    messages = say(thread, "u one", "u two", "u three", "u four")
    nodes = [node(thread, 1, m) for m in messages]
    top = node(thread, 2, messages[0])

    def work(tx: Any) -> None:
        for one in [nodes[2], nodes[0], nodes[3], nodes[1], top]:
            tx.set_node(one)

    write(store, work)

    def got(**how: Any) -> list[SummaryNode]:
        return read(store, lambda r: r.nodes(thread.id, 1, **how))

    assert got() == nodes
    assert got(newest_first=True, limit=2) == [nodes[3], nodes[2]]
    assert got(after=nodes[0].position, before=nodes[3].position) == nodes[1:3]
    assert got(limit=0) == []
    assert read(store, lambda r: (r.nodes(thread.id, 2), r.nodes(thread.id, 3), r.nodes(UNKNOWN, 1))) == (
        [top],
        [],
        [],
    )


def test_tree_node_can_be_replaced_and_dropped(store: backscroll.Engine, thread: backscroll.Thread) -> None:
    """One node per opening and level, including the very beginning."""
    (a,) = say(thread, "u one")
    start = replace(node(thread, 1, a), opening=Ref(thread.id, 0), position=b"")
    for one in (node(thread, 1, a), node(thread, 1, a, "v2"), start):
        write(store, lambda tx, one=one: tx.set_node(one))
    assert read(store, lambda r: r.nodes(thread.id, 1)) == [start, node(thread, 1, a, "v2")]
    write(store, lambda tx: tx.drop_node(thread.id, 1, a.id))
    write(store, lambda tx: tx.drop_node(thread.id, 7, a.id))
    write(store, lambda tx: tx.drop_node(UNKNOWN, 1, Ref(UNKNOWN, 0)))
    assert read(store, lambda r: r.nodes(thread.id, 1)) == [start]


# -- accounts --------------------------------------------------------------------------------------------------------

CHARGE = Charge(
    "1" * 32, AT, 100, "gpt-x", "answer", 10, 4, 2, 5, 1, 7_000, "openai", "", "", 3, False, "2026-11-15"
)


def test_ledger_sums_charges(store: backscroll.Engine) -> None:
    """Newest first; grouped by any fields, within any bounds; unpriced calls are counted."""
    charges = [
        CHARGE,
        replace(CHARGE, id="2" * 32, at_us=200, model="本地模型", nano=None, turn=None, day="2026-11-16"),
        replace(
            CHARGE,
            id="3" * 32,
            at_us=300,
            thread=UNKNOWN,
            turn=12,
            purpose="failed",
            estimated=True,
            task="tidy",
        ),
    ]

    def work(tx: Any) -> None:
        for charge in [*charges, charges[0]]:
            tx.charge(charge)

    write(store, work)
    write(store, lambda tx: tx.charge(replace(charges[0], input=99)))  # the same call, told twice
    assert read(store, lambda r: r.charges()) == charges[::-1]
    assert read(store, lambda r: r.charges(limit=1)) == charges[2:]
    assert read(store, lambda r: r.charges(thread=UNKNOWN)) == charges[2:]
    assert read(store, lambda r: r.charges(since_us=100, until_us=300)) == [charges[1], charges[0]]
    (total,) = read(store, lambda r: r.sum_spending())
    assert (total.group, total.calls, total.input, total.cached, total.output) == ((), 3, 30, 12, 15)
    assert (total.written, total.reasoning, total.nano, total.unpriced) == (6, 3, 14_000, 1)
    by = read(store, lambda r: r.sum_spending(["model"]))
    assert [(s.group, s.calls, s.unpriced) for s in by] == [(("gpt-x",), 2, 0), (("本地模型",), 1, 1)]
    by = read(store, lambda r: r.sum_spending(["turn", "purpose"]))
    assert [s.group for s in by] == [("", "answer"), ("3", "answer"), ("12", "failed")]
    assert [s.calls for s in read(store, lambda r: r.sum_spending(day="2026-11-16"))] == [1]
    assert [s.group for s in read(store, lambda r: r.sum_spending(["day"], thread=UNKNOWN))] == [
        ("2026-11-15",)
    ]
    assert read(store, lambda r: r.sum_spending(["task"], since_us=1_000)) == []
    assert read(store, lambda r: r.sum_spending(since_us=1_000))[0].calls == 0
    with pytest.raises(backscroll.InvalidInput, match="colour"):
        read(store, lambda r: r.sum_spending(["colour"]))


def test_settled_call_replaces_its_open_charge(store: backscroll.Engine) -> None:
    """The charge keeps its position; until then it counts as unanswered."""
    out = replace(
        CHARGE, purpose="unanswered", cached=0, written=0, output=0, reasoning=0, nano=9_000, estimated=True
    )
    write(store, lambda tx: tx.charge(out))
    write(
        store,
        lambda tx: tx.charge(
            replace(CHARGE, id="2" * 32, purpose="failed", input=0, output=0, estimated=True)
        ),
    )
    (total,) = read(store, lambda r: r.sum_spending())
    assert (total.calls, total.estimated, total.unanswered) == (2, 1, 1)
    assert (total.unanswered_tokens, total.unanswered_nano) == (10, 9_000)
    write(store, lambda tx: tx.settle(CHARGE))
    assert CHARGE in read(store, lambda r: r.charges())
    (total,) = read(store, lambda r: r.sum_spending())
    assert (total.calls, total.estimated, total.unanswered, total.unanswered_nano) == (2, 0, 0, 0)
    write(store, lambda tx: tx.settle(replace(CHARGE, id="3" * 32)))  # nothing stood there: it is added
    assert read(store, lambda r: r.sum_spending())[0].calls == 3


def test_lessons_are_listed_newest_first(store: backscroll.Engine, thread: backscroll.Thread) -> None:
    """Of all threads or one; unlearn returns the number removed."""
    times = [f"2026-11-15T12:00:0{n}+00:00" for n in range(3)]
    lessons = [Lesson(at, thread.id if n else "", "tool:读", n / 4) for n, at in enumerate(times)]
    for lesson in (*lessons, lessons[1]):
        write(store, lambda tx, one=lesson: tx.learn(one))
    assert read(store, lambda r: r.lessons()) == lessons[::-1]
    assert read(store, lambda r: r.lessons(thread.id, limit=1)) == [lessons[2]]
    assert write(store, lambda tx: tx.unlearn(thread.id)) == 2
    assert write(store, lambda tx: tx.unlearn()) == 1
    assert read(store, lambda r: r.lessons()) == []


def test_the_last_receipts_are_kept(store: backscroll.Engine, thread: backscroll.Thread) -> None:
    """Only the last few accounts of prompts, newest first, even at one and the same time."""
    for n in range(5):
        write(store, lambda tx, n=n: tx.keep_receipt(thread.id, AT, b"%d" % n, 3))
    assert read(store, lambda r: r.receipts(thread.id, 10)) == [b"4", b"3", b"2"]
    assert read(store, lambda r: r.receipts(thread.id)) == [b"4"]
    assert read(store, lambda r: r.receipts(UNKNOWN)) == []
    write(store, lambda tx: tx.keep_receipt(thread.id, AT, b"6", 0))
    assert read(store, lambda r: r.receipts(thread.id, 10)) == []


def test_names_may_be_any_text(store: backscroll.Engine, thread: backscroll.Thread) -> None:
    """Surrogates, NUL and any other characters."""
    odd = "模型\ud800\0'; DROP TABLE made; --"
    (a,) = say(thread, "u one")

    def work(tx: Any) -> None:
        tx.make([replace(made(thread, b"k", a), recipe=odd)])
        tx.keep_reply(replace(reply(thread, b"r", a), model=odd, recipe=odd))
        tx.set_vectors(odd, [(a.revision, half(1, 0))])
        tx.set_progress(thread.id, odd, 3)
        tx.charge(replace(CHARGE, model=odd, task=odd, provider=odd, thread=odd, purpose=odd))
        tx.learn(Lesson(AT, odd, odd, 1.0))

    write(store, work)
    assert read(store, lambda r: r.nearest(half(1, 0), odd, SearchFilter(), 3)) == [(a.revision, 1.0)]
    assert read(store, lambda r: (r.progress(thread.id, odd), r.progress(thread.id, ""))) == (3, 0)
    assert len(read(store, lambda r: r.charges(thread=odd))) == 1
    assert len(read(store, lambda r: r.lessons(odd))) == 1
    assert read(store, lambda r: r.read_artefacts([b"k"]))[b"k"].recipe.startswith("模型")


# -- turns under analysis --------------------------------------------------------------------------------------------


def test_turn_marks_are_kept_per_thread_and_rule(store: backscroll.Engine, thread: backscroll.Thread) -> None:
    """In order of position, between two positions, from either end; another rule has marks of its own."""
    a, b, c = say(thread, "u one", "a two", "u three")
    start = TurnMark(thread.id, "4.1", Ref(thread.id, 0), b"", due=3, version="v0")
    first = TurnMark(thread.id, "4.1", a.id, b"\x01", 3, 9, True, b"\x03", "v", b"key", (a.id, b.id))
    last = TurnMark(thread.id, "4.1", c.id, b"\x03\x00\xff")
    other = replace(first, rule="3.0 \x00 é", pinned=0)
    write(store, lambda tx: tx.set_turn_marks([last, first, start, other]))
    marks = lambda **how: read(store, lambda r: r.turn_marks(thread.id, "4.1", **how))  # noqa: E731
    assert marks() == [start, first, last]
    assert marks(newest_first=True, limit=2) == [last, first]
    assert marks(after=b"\x01") == [last]
    assert marks(before=b"\x03\x00\xff", after=b"") == [first]
    assert marks(limit=0) == []
    assert [marks(over=place) for place in (b"", b"\x01", b"\x02\xff", b"\x03")] == [[], [first], [first], []]
    assert read(store, lambda r: r.turn_marks(thread.id, other.rule)) == [other]
    assert read(store, lambda r: r.turn_marks(UNKNOWN, "4.1")) == []
    again = replace(first, pinned=0, gone=False, ends=b"", sources=(b.id,))
    write(store, lambda tx: tx.set_turn_marks([again]))
    assert marks() == [start, again, last]
    write(store, lambda tx: tx.drop_turn_marks(thread.id, "4.1", [a.id, b.id]))
    assert marks() == [start, last]
    write(store, lambda tx: tx.drop_turn_marks(thread.id, "4.1"))
    assert marks() == []
    assert read(store, lambda r: r.turn_marks(thread.id, other.rule)) == [other]


def test_forget_drops_the_turn_marks_of_the_family(
    store: backscroll.Engine, thread: backscroll.Thread
) -> None:
    """What rests on a hash of words goes with them; the analysis starts over."""
    (a,) = say(thread, "u one")
    mark = TurnMark(thread.id, "4.1", a.id, b"\x01", due=1, version="v", key=b"key", sources=(a.id,))
    write(store, lambda tx: (tx.set_turn_marks([mark]), tx.set_progress(thread.id, "turns:4.1", 2)))
    thread.forget(a.id)
    assert read(store, lambda r: r.turn_marks(thread.id, "4.1")) == []
    assert read(store, lambda r: r.progress(thread.id, "turns:4.1")) == 0
