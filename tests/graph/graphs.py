"""A small graph with everything in it, and one full of hostile words, for tests of exports and pages."""

from __future__ import annotations

from backscroll.graph.view import Evidence, Fact, NodeView, Rank
from backscroll.vocab.assertion import Assertion, Change, Claim, Override
from backscroll.vocab.ids import Ref

THREAD = "c" * 32
HOSTILE = (
    "</script><img src=x onerror=alert(1)>\"'`&]]>-->#;|{}[]\u202e\x00\x1b\ud800\u2028 %% click n0 \\u003c"
)


def ref(seq: int) -> Ref:
    """The opening of a turn."""
    return Ref(THREAD, seq)


def number(turn: Ref) -> int:
    """Turns are numbered by their place in the log, in these tests."""
    return turn.seq


def graph(words: str = "calm") -> tuple[list[NodeView], list[Fact]]:
    """Nodes and the relations between them; `words` stand wherever a conversation's words can stand."""
    claim = Assertion(
        Claim.ATTRIBUTE, "Ellie", "mood", words, quote=f"She is {words}.", source=ref(9), speaker="user"
    )
    change = Override(Change.SET, "ellie", "title", words, author="anna", at="2026-01-01T00:00:00+00:00")
    home = Fact("ellie", "lives_in", "", "mistwood", Rank.SAID, ref(3), evidence=(Evidence(ref(3), claim),))
    guessed = Fact(
        "ellie",
        "comes_from",
        "The North",
        "north",
        Rank.WORLD,
        ref(3),
        evidence=(Evidence(ref(3), note="world: Aldor"),),
        sure=0.6,
    )
    inverse = Fact("mistwood", "holds", "", "ellie", derived=True)
    over = Fact("ellie", "works_at", "", "mistwood", Rank.SAID, ref(1), ref(3))
    facts = (
        Fact(
            "ellie",
            "mood",
            words,
            since=ref(3),
            evidence=(Evidence(ref(3), claim),),
            contested=(Evidence(ref(4), claim),),
        ),
        Fact(
            "ellie",
            "title",
            words,
            rank=Rank.PERSON,
            evidence=(Evidence(ref(3), override=change),),
            pinned=True,
        ),
        Fact(
            "ellie",
            "status",
            "alive",
            rank=Rank.DEFAULT,
            since=ref(3),
            evidence=(Evidence(ref(3), note="default of type person"),),
        ),
        Fact("ellie", "type", "elf"),
        Fact("ellie", "skill", "song"),
        Fact("ellie", "skill", "bow"),
    )
    nodes = [
        NodeView(
            "ellie",
            "ellie_forest_elf",
            f"Ellie {words}",
            "person",
            (f"El {words}",),
            facts,
            (home, guessed),
            (ref(3), ref(4)),
            ref(3),
            ref(4),
            True,
        ),
        NodeView("mistwood", "n1", "Mistwood", "place", (), (), (inverse,), (ref(3),), ref(3), ref(3)),
        NodeView("艾莉", "艾莉", "艾莉", "", (), (Fact("艾莉", words, words),), (), (), None, None),
    ]
    return nodes, [home, over]
