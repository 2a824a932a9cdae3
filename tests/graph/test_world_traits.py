"""Traits shown by what a description says of people, in both languages, with negations and contrasts."""

from __future__ import annotations

import pytest

from backscroll.graph.world.traits import traits

BOTH = {"disposition": "helpful but cautious", "faction": "neutral", "knowledge_level": "local expert"}
ZH = {"disposition": "乐于助人但谨慎", "faction": "中立", "knowledge_level": "本地通"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "They distrust strangers but will help travellers; take no side; nobody knows the woods better.",
            BOTH,
        ),
        (
            "Slow to trust, they still shelter anyone caught in a storm. They stay out of the wars and could cross the bog blindfolded.",
            BOTH,
        ),
        ("他们不信任陌生人，但会帮助迷路的旅人；从不站队；没有人比他们更了解这片森林。", ZH),
        ("沼民对外人心存戒备，却从不拒绝收留落难的人。他们两不相帮，对每一条水道都了如指掌。", ZH),
        ("They never attack first.", {"threat_level": "low"}),
        ("The wardens never help outsiders and attack on sight.", {"disposition": "hostile"}),
        ("They help the lost. They attack travellers.", {}),
        ("They do not distrust anyone.", {}),
        ("他们从不帮助外人。", {}),
        ("The inn has four rooms and a leaking roof.", {}),
    ],
)
def test_traits_are_found_in_a_text(text: str, found: dict[str, str]) -> None:
    assert {t.predicate: t.value for t in traits(text)} == found
