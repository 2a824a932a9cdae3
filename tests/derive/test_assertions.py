"""The recipe: its key, its stored shape, its order and bounds; every quote is in the message it names."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.derive.extract.assertions import MOST, extract, from_body, limit_claims, rule_key, to_body
from backscroll.derive.extract.speech import fold_text
from backscroll.derive.flat import flat
from backscroll.errors import StoreCorrupt
from backscroll.vocab.assertion import Assertion, Claim
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message, Role
from backscroll.vocab.part import Part, Text, ToolCall, ToolResult

THREAD, OTHER = "0" * 32, "1" * 32


def message(
    role: Role, *parts: Part | str, seq: int = 1, author: str | None = None, thread: str = THREAD
) -> Message:
    ref = Ref(thread, seq)
    told = tuple(Text(p) if isinstance(p, str) else p for p in parts)
    return Message(ref, role, ref, Content(told, author), "2026-11-01T09:00:00+00:00")


TURN = [
    message("user", "My name is Tom. I live in Berlin. We decided to use SQLite in `src/app.py`.", seq=1),
    message("assistant", ToolCall("1", "Edit", {"file_path": "src/app.py", "new_string": "x"}), seq=2),
    message("tool", ToolResult("1", (Text("done"),)), seq=3),
    message("assistant", "好的，汤姆。", seq=4),
]


def test_equal_turns_share_a_rule_key() -> None:
    """The key depends on roles and text, not on revision ids."""
    elsewhere = [replace(m, id=Ref(OTHER, n), revision=Ref(OTHER, n)) for n, m in enumerate(TURN, 7)]
    assert rule_key(TURN) == rule_key(elsewhere)
    assert rule_key(TURN) != rule_key(TURN[:3])
    assert rule_key(TURN) != rule_key([*TURN[:1], *reversed(TURN[1:])])
    signed = replace(TURN[0], content=replace(TURN[0].content, author="Ann"))
    assert rule_key([signed, *TURN[1:]]) != rule_key(TURN)
    assert rule_key([replace(TURN[0], hidden=True), *TURN[1:]]) != rule_key(TURN)
    assert rule_key([message("system", "You are kind.", seq=9), *TURN]) == rule_key(TURN)


def test_stored_assertions_name_message_positions_not_revisions() -> None:
    """Read back for other revisions, it names those; the bytes are the same wherever the turn is."""
    found = extract(TURN)
    assert found
    body = to_body(found, TURN)
    assert THREAD.encode() not in body
    assert from_body(body, [m.revision for m in TURN]) == found
    elsewhere = [replace(m, id=Ref(OTHER, n), revision=Ref(OTHER, n)) for n, m in enumerate(TURN, 7)]
    assert to_body(extract(elsewhere), elsewhere) == body
    moved = from_body(body, [m.revision for m in elsewhere])
    assert {claim.source.thread for claim in moved if claim.source} == {OTHER}
    assert [replace(c, source=None) for c in moved] == [replace(c, source=None) for c in found]


@pytest.mark.parametrize("body", [b"{", b'[{"kind": "odd", "subject": "x"}]', b'[{"subject": "x"}]', b"[7]"])
def test_damaged_assertions_raise_store_corrupt(body: bytes) -> None:
    """What cannot be read is an error of the store, with what to do."""
    with pytest.raises(StoreCorrupt) as error:
        from_body(body, [])
    assert error.value.hint


def test_claims_of_all_readers_follow_the_order_of_the_text() -> None:
    """English, decisions and tool calls of one turn together; later words come later."""
    found = extract(TURN)
    predicates = [claim.predicate for claim in found]
    assert "changed" in predicates
    assert any(claim.type == "decision" for claim in found)
    assert any("Berlin" in (claim.object, claim.value) for claim in found)
    places = [[m.revision for m in TURN].index(claim.source) for claim in found if claim.source]
    assert places == sorted(places)


def test_chinese_and_english_sentences_of_one_turn_are_both_read() -> None:
    """Each sentence is read in its own language."""
    turn = [message("user", "My sister Anna lives in Paris. 我叫李雷，住在北京。")]
    names = {name for claim in extract(turn) for name in (claim.subject, claim.object, claim.value)}
    assert {"Anna", "Paris"} <= names
    assert any("北京" in name for name in names)
    assert any("李雷" in name for name in names)


def test_limit_drops_mere_mentions_first() -> None:
    """Mere mentions go first; what stays is in the order of the words."""
    many = [
        Assertion(Claim.NODE, f"Name{n}", quote="q", source=Ref(THREAD, 1), sure=0.9) for n in range(MOST)
    ]
    told = [
        Assertion(Claim.RELATION, f"Person{n}", "knows", object="Ann", quote="q", source=Ref(THREAD, 1))
        for n in range(10)
    ]
    kept = limit_claims([*many, *told])
    assert len(kept) == MOST
    assert list(kept[-10:]) == told
    assert list(kept[:-10]) == many[: MOST - 10]


def test_repeated_claims_are_dropped_but_a_return_is_kept() -> None:
    """A repetition is dropped; moving away and back gives three claims."""

    def lives(value: str, kind: Claim = Claim.RELATION) -> Assertion:
        return Assertion(kind, "Ann", "lives_in", object=value, quote="q", source=Ref(THREAD, 1))

    assert limit_claims([lives("Rome"), lives("Rome")]) == (lives("Rome"),)
    back = [lives("Rome"), lives("Rome", Claim.END), lives("Rome")]
    assert list(limit_claims(back)) == back
    moves = [lives("Rome"), lives("Oslo"), lives("Rome")]
    assert list(limit_claims(moves)) == moves


parts = st.one_of(
    st.text(max_size=200),
    st.sampled_from(
        [
            "Ellie is a forest elf who lives in Greenvale.",
            "她叫艾莉，是森林精灵。",
            "I get a TypeError in src/app.py",
            "let's use Redis instead of Memcached because it is faster.",
            "<system-reminder>x",
            "`parse_config()` in `src/config.py`",
            "\ud83d\x00\u202e",
            "```\nTraceback\nValueError: no\n```",
        ]
    ),
)


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), parts), max_size=5))
def test_any_turn_gives_claims_that_stand(rows: list[tuple[Role, str]]) -> None:
    """Nothing crashes, the same turn gives the same bytes, there are not too many, and every quote is where it says."""
    turn = [message(role, text, seq=n) for n, (role, text) in enumerate(rows, 1)]
    found = extract(turn)
    assert to_body(found, turn) == to_body(extract(turn), turn)
    assert from_body(to_body(found, turn), [m.revision for m in turn]) == found
    assert len(found) <= MOST
    texts = {m.revision: fold_text(flat(m)) for m in turn}
    for claim in found:
        assert claim.subject
        assert claim.source is not None
        assert fold_text(claim.quote).strip() in texts[claim.source]
        assert {m.revision: m.role for m in turn}[claim.source] != "tool"
