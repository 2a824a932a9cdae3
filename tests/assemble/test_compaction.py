"""The body of a compaction: written and read back, and damage named."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.assemble.view.compaction import Compaction, CompactionNote, IndexedString
from backscroll.errors import InvalidInput
from backscroll.vocab.ids import Ref
from backscroll.vocab.prompt import Level

refs = st.builds(Ref, st.sampled_from(["a" * 32, "b" * 32, "c" * 32]), st.integers(1, 10**9))
ranges = st.integers(0, 999).flatmap(lambda a: st.tuples(st.just(a), st.integers(a + 1, a + 99)))
counts = st.integers(0, 10**6)
indexed = st.builds(IndexedString, st.text(), refs, counts, counts, counts, counts, counts)
compactions = st.builds(
    Compaction,
    upto=st.none() | refs,
    start=st.none() | refs,
    levels=st.dictionaries(refs, st.sampled_from(Level), max_size=6),
    keeps=st.dictionaries(refs, st.lists(ranges, max_size=4).map(tuple), max_size=6),
    notes=st.lists(st.builds(CompactionNote, st.text(), refs, refs), max_size=6).map(tuple),
    cuts=st.lists(refs, max_size=4).map(tuple),
    reason=st.sampled_from(["must", "pays", "free", "asked"]),
    before=st.integers(0, 10**9),
    after=st.integers(0, 10**9),
    fresh=st.integers(0, 10**9),
    indexed=st.lists(indexed, max_size=6).map(tuple),
)


@given(compactions)
@settings(max_examples=100, deadline=None)
def test_what_is_written_is_read_back(compaction: Compaction) -> None:
    """Through JSON text and back it is the same, lone surrogates in notes included."""
    text = json.dumps(compaction.to_json())
    assert Compaction.from_json(json.loads(text)) == compaction


@given(compactions)
@settings(max_examples=50, deadline=None)
def test_a_body_of_the_version_before_is_read(compaction: Compaction) -> None:
    """It said nothing about what was fresh: everything counts as kept. Nor did it have an index of what was read."""
    body: dict[str, Any] = json.loads(json.dumps(compaction.to_json()))
    del body["fresh"], body["indexed"]
    found = Compaction.from_json(body)
    assert (found, found.kept) == (replace(compaction, fresh=0, indexed=()), compaction.after)


@given(compactions, st.data())
@settings(max_examples=150, deadline=None)
def test_damage_is_named_or_harmless(compaction: Compaction, data: st.DataObject) -> None:
    """Whatever a field is replaced by, reading gives a compaction or the one error that says what to do."""
    body: dict[str, Any] = json.loads(json.dumps(compaction.to_json()))
    name = data.draw(st.sampled_from(sorted(body)))
    body[name] = data.draw(
        st.sampled_from([None, 7, -1, "x", [], [[]], [[1]], [[1, 99]], {"a": 1}, [["x", 1, 2]]])
    )
    try:
        found: Compaction | InvalidInput = Compaction.from_json(body)
    except InvalidInput as error:
        found = error
    if isinstance(found, InvalidInput):
        assert "compaction that cannot be read" in found.message
        assert found.hint


@pytest.mark.parametrize("body", [None, [], "x", 3, {}, {"shape": 99}])
def test_body_that_is_not_a_compaction_is_refused(body: object) -> None:
    """Bodies of another shape are not guessed at."""
    with pytest.raises(InvalidInput, match="cannot be read"):
        Compaction.from_json(body)
