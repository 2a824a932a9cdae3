"""Where summaries and placed texts stand does not depend on what comes later."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backscroll.engine.prompts.composition.arrangement import PlacedKey, arrange, placed_unseen
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message
from backscroll.vocab.part import Text
from backscroll.vocab.prompt import Block, Section

THREAD = "a" * 32
BESIDE = [Block("user", (Text("far past"),), Section.SUMMARIES)]


def message(seq: int, place: int) -> Message:
    ref = Ref(THREAD, seq)
    return Message(ref, "user", ref, Content((Text(str(seq)),)), "", position=bytes([place]))


def block(message: Message) -> Block:
    return Block("user", message.parts, Section.HISTORY, sources=(message.revision,), message=message.id)


@given(
    st.permutations(range(1, 9)),
    st.sets(st.integers(0, 7)),
    st.integers(0, 9),
    st.integers(1, 6),
)
def test_a_prompt_is_the_beginning_of_the_next(
    order: list[int], condensed: set[int], cut: int, new: int
) -> None:
    """Eight messages in any order, some spoken for by summaries alone, then others; with each prompt something is placed."""
    window = [message(seq, place) for place, seq in enumerate(order, 1)]
    hidden = {window[n].id for n in condensed}
    cuts = (Ref(THREAD, cut),) if cut else ()
    placed: dict[PlacedKey, list[Block]] = {}
    before: list[Block] = []
    for number in range(new):
        history = [block(m) for m in window if m.id not in hidden]
        now = arrange(
            history,
            BESIDE,
            cuts,
            placed_unseen(placed, window, history),
            {m.id: m.position for m in window},
            lambda _key, _block, _then: (),
            lambda key: placed.get(key, ()),
        )
        assert now[: len(before)] == before
        fresh = Block("user", (Text(f"placed {number}"),), Section.MEMORY)
        newest = window[-1]
        placed.setdefault((newest.id, newest.revision), []).append(fresh)
        before = [*now, fresh]
        window.append(message(20 + number, 20 + number))
