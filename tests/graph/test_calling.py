"""Names by which speakers are called: counted over the whole conversation, following every change of it."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backscroll.graph.fold import Graph
from backscroll.vocab.assertion import Assertion, TurnClaims
from tests.graph.claims import alias, person, ref, told, turn


def says(who: str, number: int, *calls: str, uses: tuple[str, ...] = ()) -> list[Assertion]:
    """One signed message: who speaks, whom they call, whom they mention."""
    source = ref(number)
    return [
        person(who, speaker=who, source=source),
        *(alias("@you", name, speaker=who, source=source, sure=0.8, type="person") for name in calls),
        *(person(name, speaker=who, source=source) for name in uses),
    ]


def named(graph: Graph, who: str) -> set[str]:
    node = graph.node(who)
    return {node.name, *node.aliases}


def test_answering_when_a_name_is_called_makes_it_the_speakers_name() -> None:
    talk = [*says("Speaker 1", 1, "Ann"), *says("Speaker 2", 2), *says("Speaker 3", 3)]
    graph = Graph([turn(1, *talk)])
    assert named(graph, "Speaker 2") == {"Speaker 2", "Ann"}
    assert named(graph, "Speaker 3") == {"Speaker 3"}


def test_single_call_answered_by_another_speaker_is_outvoted() -> None:
    first = [*says("Speaker 1", 1, "Ann"), *says("Speaker 3", 2), *says("Speaker 2", 3)]
    graph = Graph([turn(1, *first)])
    assert named(graph, "Speaker 3") == {"Speaker 3", "Ann"}
    graph.put(
        turn(2, *says("Speaker 1", 4, "Ann"), *says("Speaker 2", 5), *says("Speaker 3", 6, uses=("Ann",)))
    )
    graph.put(turn(3, *says("Speaker 3", 7, "Ann"), *says("Speaker 2", 8)))
    assert named(graph, "Speaker 2") == {"Speaker 2", "Ann"}
    graph.drop(ref(2))
    graph.drop(ref(3))
    assert named(graph, "Speaker 3") == {"Speaker 3", "Ann"}


def test_speaker_who_states_their_name_gets_it() -> None:
    """A name stated by its owner counts, whoever is being addressed."""
    own = alias("Speaker 4", "Tom", speaker="Speaker 4", source=ref(4), sure=0.95)
    talk = [*says("Speaker 1", 1, "Tom"), *says("Speaker 2", 2), *says("Speaker 3", 3)]
    graph = Graph([turn(1, *talk, *says("Speaker 4", 4), own)])
    assert named(graph, "Tom") == {"Tom", "Speaker 4"}


def test_speaker_called_by_several_names_gets_none() -> None:
    """An assistant called by several names in turn gets none of them; called by one name, it may get it."""
    plays = [
        turn(n, *says("user", n, name), *says("assistant", 20 + n))
        for n, name in enumerate(("红姑", "Pip", "Tilda"), 1)
    ]
    graph = Graph(plays)
    assert [n.name for n in graph.nodes() if n.type == "person" and n.id != "user"] == [
        "红姑",
        "Pip",
        "Tilda",
    ]
    assert len(Graph(plays[:1]).nodes()) == 2


@st.composite
def talks(draw: st.DrawFn) -> TurnClaims:
    number = draw(st.integers(1, 6))
    speakers = st.sampled_from(["Ann", "Speaker 1", "Speaker 2", "Speaker 3", "user", "assistant"])
    name = st.sampled_from(["Ann", "Bo", "Cy"])
    claims: list[Assertion] = []
    for at in range(draw(st.integers(1, 4))):
        calls, uses = draw(st.lists(name, max_size=2)), draw(st.lists(name, max_size=1))
        claims += says(draw(speakers), number * 10 + at, *calls, uses=tuple(uses))
    place = draw(st.sampled_from([number, number, 20 - number]))
    return TurnClaims(ref(number), bytes([place]), tuple(claims))


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(st.one_of(talks(), st.integers(1, 6)), max_size=10))
def test_however_it_came_about_it_equals_one_built_from_what_is_left(steps: list[TurnClaims | int]) -> None:
    graph, left = Graph(), dict[int, TurnClaims]()
    for step in steps:
        if isinstance(step, int):
            graph.drop(ref(step))
            left.pop(step, None)
        else:
            graph.put(step)
            left[step.opening.seq] = step
        graph.nodes()
    assert told(graph) == told(Graph(left.values()))
