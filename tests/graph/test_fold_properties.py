"""However a graph was updated, it equals one built from its current inputs."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backscroll.graph.fold import Graph
from backscroll.graph.view import Options, WorldEntry
from backscroll.vocab.assertion import Assertion, Change, Claim, Override, TurnClaims
from backscroll.vocab.ids import Ref
from tests.graph.claims import ref, strings, told

NAMES = [
    "Ellie",
    "Ellie Hill",
    "Tom Hill",
    "Mr. Hill",
    "Mrs. Hill",
    "Tom",
    "艾莉",
    "艾莉（Ellie）",
    "王小明",
    "小明",
    "小王",
    "王老师",
    "Oak",
    "the Oak",
    "user",
    "assistant",
    "src/App.tsx",
    "user's sister",
    "Ellie's sister",
    "艾莉的妹妹",
]
PRONOUNS = ["@she", "@he", "@it", "@they", "@you", "@we", "@there", "@somebody", "@topic", "@asked"]
ATTRIBUTES = ["race", "mood", "skill", "gender", "status", "name", "email"]
RELATIONS = [
    "spouse_of",
    "works_at",
    "employs",
    "owns",
    "owned_by",
    "likes",
    "hates",
    "friend_of",
    "enemy_of",
    "child_of",
    "parent_of",
    "sibling_of",
    "located_in",
    "killed",
    "visited",
    "whispers to",
]
VALUES = ["elf", "Elf.", "human", "female", "男", "dead", "e@x.org", "Tom"]
TYPES = ["", "", "person", "person", "place", "thing"]

# Few names and relations in one example, so that claims meet.
names = st.shared(st.lists(st.sampled_from(NAMES), min_size=2, max_size=6, unique=True), key="names").flatmap(
    st.sampled_from
)
relations = st.shared(
    st.lists(st.sampled_from(RELATIONS), min_size=1, max_size=4, unique=True), key="relations"
).flatmap(st.sampled_from)
subjects = st.one_of(names, names, st.sampled_from(PRONOUNS))
sures = st.sampled_from([1.0, 1.0, 1.0, 0.7, 0.3])
speakers = st.sampled_from(["", "user", "assistant", "Ellie", "Tom"])


@st.composite
def claims(draw: st.DrawFn) -> Assertion:
    kind = draw(st.sampled_from([Claim.RELATION, Claim.RELATION, *Claim]))
    relation = kind is Claim.RELATION or (kind is Claim.END and draw(st.booleans()))
    return Assertion(
        kind,
        draw(subjects),
        draw(relations if relation else st.sampled_from(ATTRIBUTES)),
        value="" if relation else draw(names if kind is Claim.ALIAS else st.sampled_from(VALUES)),
        object=draw(subjects if kind is Claim.RELATION else st.one_of(subjects, st.just("")))
        if relation
        else "",
        type=draw(st.sampled_from(TYPES)),
        object_type=draw(st.sampled_from(TYPES)),
        speaker=draw(speakers),
        sure=draw(sures),
        hint=draw(st.sampled_from(["", "", "female", "male", "thing", "asked", "place|person"])),
    )


numbers = st.integers(1, 9)


@st.composite
def turns(draw: st.DrawFn) -> TurnClaims:
    number = draw(numbers)
    # Now and then a turn moves: its place is not its number.
    place = draw(st.sampled_from([number, number, number, 20 - number]))
    return TurnClaims(ref(number), bytes([place]), tuple(draw(st.lists(claims(), max_size=4))))


@st.composite
def overrides(draw: st.DrawFn) -> Override:
    change = draw(st.sampled_from(list(Change)))
    name = st.one_of(names, names, st.just("Nobody"))
    relation = draw(st.booleans())
    split = change is Change.SPLIT and draw(st.booleans())
    return Override(
        change,
        draw(name),
        draw(relations if relation else st.sampled_from([*ATTRIBUTES, "type", "alias", ""])),
        value=draw(st.sampled_from([*VALUES, "", "Eleanor"])) if not relation else "",
        object=draw(st.one_of(name, st.just(""))) if relation or change is Change.MERGE else "",
        type=draw(st.sampled_from(TYPES)),
        turns=tuple(ref(n) for n in draw(st.sets(numbers, min_size=1, max_size=3))) if split else (),
        id=draw(st.sampled_from([None, ref(4), ref(99)])),
    )


layers = st.lists(overrides(), max_size=4)
acts = st.one_of(turns(), turns(), numbers, layers)
WORLD = (
    WorldEntry("Ellie", ("Ellie", "艾莉"), "Ellie is a forest elf.", "person", (("race", "forest elf"),)),
)
relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@relaxed
@given(st.lists(acts, max_size=9), st.booleans())
def test_whatever_happened_the_graph_equals_one_built_from_what_is_left(
    steps: list[TurnClaims | int | list[Override]], look: bool
) -> None:
    """After puts, drops and overrides in any order, everything told equals what a fresh graph tells."""
    graph = Graph(world=WORLD)
    live: dict[Ref, TurnClaims] = {}
    layer: list[Override] = []
    for step in steps:
        if isinstance(step, TurnClaims):
            live[step.opening] = step
            graph.put(step)
        elif isinstance(step, int):
            live.pop(ref(step), None)
            graph.drop(ref(step))
        else:
            layer = step
            graph.set_overrides(step)
        if look:  # fills every cache, so that a cache that is not dropped is found out
            assert told(graph) == told(Graph(live.values(), layer, WORLD))
    assert told(graph) == told(Graph(live.values(), layer, WORLD))


few = st.sampled_from(["Ann", "Bea", "Cal", "艾莉"])
FAMILIES = [
    ["likes", "hates"],
    ["friend_of", "enemy_of"],
    ["owns", "owned_by"],
    ["works_at", "employs"],
    ["spouse_of"],
    ["child_of", "parent_of"],
]
one_relation = st.shared(st.sampled_from(FAMILIES), key="family").flatmap(st.sampled_from)


@st.composite
def dense_turns(draw: st.DrawFn) -> TurnClaims:
    """A turn that says one or two things about the same few people, all in one relation or its opposite."""
    said = tuple(
        Assertion(
            draw(st.sampled_from([Claim.RELATION, Claim.RELATION, Claim.RELATION, Claim.END, Claim.ALIAS])),
            draw(few),
            draw(one_relation),
            value=draw(few),
            object=draw(few),
            sure=draw(sures),
        )
        for _ in range(draw(st.integers(1, 2)))
    )
    said = tuple(replace(c, value="") if c.kind is not Claim.ALIAS else replace(c, object="") for c in said)
    return TurnClaims(ref(number := draw(st.integers(1, 5))), bytes([number]), said)


@relaxed
@given(st.lists(st.one_of(dense_turns(), dense_turns(), st.integers(1, 5)), min_size=2, max_size=7))
def test_changes_to_what_somebody_looked_at_are_seen_at_once(steps: list[TurnClaims | int]) -> None:
    """The same with few names and one relation, where nearly every change reaches somebody else's view."""
    graph = Graph(options=Options(min_attributes=0))
    live: dict[Ref, TurnClaims] = {}
    for step in steps:
        if isinstance(step, TurnClaims):
            live[step.opening] = step
            graph.put(step)
        else:
            live.pop(ref(step), None)
            graph.drop(ref(step))
        fresh = Graph(live.values(), options=Options(min_attributes=0))
        assert graph.nodes() == fresh.nodes()
        assert graph.conflicts() == fresh.conflicts()


@st.composite
def talking_turns(draw: st.DrawFn) -> TurnClaims:
    """A turn that calls a few people by name or by pronoun, in a talk of up to ten turns."""
    gender = st.sampled_from(["", "female", "male"])
    said = tuple(
        Assertion(Claim.NODE, draw(few), type="person", hint=draw(gender))
        if draw(st.booleans())
        else Assertion(
            Claim.ATTRIBUTE,
            draw(st.sampled_from(["@she", "@he", "@they"])),
            "skill",
            draw(st.sampled_from(["song", "chess"])),
        )
        for _ in range(draw(st.integers(0, 2)))
    )
    return TurnClaims(ref(number := draw(st.integers(1, 10))), bytes([number]), said)


@relaxed
@given(st.lists(st.one_of(talking_turns(), talking_turns(), st.integers(1, 10)), min_size=3, max_size=12))
def test_a_change_reaches_every_pronoun_that_it_turns(steps: list[TurnClaims | int]) -> None:
    """Whom a pronoun means follows from the turns that are left, however far the change has to be carried."""
    graph = Graph(options=Options(min_attributes=0))
    live: dict[Ref, TurnClaims] = {}
    for step in steps:
        if isinstance(step, TurnClaims):
            live[step.opening] = step
            graph.put(step)
        else:
            live.pop(ref(step), None)
            graph.drop(ref(step))
    fresh = Graph(live.values(), options=Options(min_attributes=0))
    assert graph.nodes() == fresh.nodes()
    assert graph.unsettled == fresh.unsettled


@relaxed
@given(st.lists(turns(), max_size=7, unique_by=lambda t: t.opening), layers, st.randoms())
def test_the_order_of_arrival_does_not_matter(
    said: list[TurnClaims], layer: list[Override], chance: st.DrawFn
) -> None:
    """Turns may be analysed in any order; only their places count."""
    shuffled = list(said)
    chance.shuffle(shuffled)  # pyright: ignore[reportAttributeAccessIssue]
    graph = Graph(overrides=layer)
    for one in shuffled:
        graph.put(one)
    assert told(graph) == told(Graph(said, layer))


@relaxed
@given(st.lists(turns(), max_size=6, unique_by=lambda t: t.opening), turns())
def test_nothing_of_a_dropped_turn_remains(said: list[TurnClaims], gone: TurnClaims) -> None:
    """No string of a turn that was dropped is told anywhere, unless a live turn says it too."""
    marked = tuple(
        replace(
            claim,
            subject=claim.subject if claim.subject.startswith("@") else f"{claim.subject} Zyx{n}",
            value=f"{claim.value} zyx{n}",
            quote=f"Zyx{n} said so.",
        )
        for n, claim in enumerate(gone.claims)
    )
    graph = Graph([t for t in said if t.opening != gone.opening])
    before = told(graph)
    graph.put(replace(gone, claims=marked))
    told(graph)
    graph.drop(gone.opening)
    after = told(graph)
    assert not [text for text in strings(after) if "zyx" in text.casefold()]
    assert after == before


@relaxed
@given(st.lists(turns(), max_size=6, unique_by=lambda t: t.opening), layers, numbers)
def test_the_past_is_a_graph_of_the_turns_up_to_then(
    said: list[TurnClaims], layer: list[Override], place: int
) -> None:
    """What was true at a turn is told by the turns up to it."""
    past = Graph(said, layer).at(bytes([place]))
    assert told(past) == told(Graph([t for t in said if t.position <= bytes([place])], layer))


@relaxed
@given(st.lists(turns(), max_size=6, unique_by=lambda t: t.opening), layers)
def test_every_fact_is_seen_from_both_ends(said: list[TurnClaims], layer: list[Override]) -> None:
    """A relation with an inverse, or a symmetric one, holds at one end exactly where it holds at the other."""
    from backscroll.derive.extract.ontology import predicate

    views = {view.id: view for view in Graph(said, layer, options=Options(min_attributes=0)).nodes()}
    seen = {(f.node, f.predicate, f.object) for view in views.values() for f in view.relations}
    for one, name, two in seen:
        known = predicate(name)
        back = name if known.symmetric else known.inverse
        assert not back or (two, back, one) in seen


@relaxed
@given(st.lists(turns(), max_size=6, unique_by=lambda t: t.opening), layers)
def test_one_value_at_a_time(said: list[TurnClaims], layer: list[Override]) -> None:
    """A predicate with one value has one value, and nobody has two spouses."""
    from backscroll.derive.extract.ontology import predicate

    for view in Graph(said, layer).nodes():
        names = [f.predicate for f in (*view.attributes, *view.relations) if predicate(f.predicate).single]
        assert len(names) == len(set(names))


@relaxed
@given(st.lists(turns(), max_size=6, unique_by=lambda t: t.opening), layers)
def test_a_key_is_one_node(said: list[TurnClaims], layer: list[Override]) -> None:
    """No two nodes share a key, and every key of a node finds it."""
    graph = Graph(said, layer)
    owner: dict[str, str] = {}
    for name in graph.ids():
        for key in graph.members(name):
            assert owner.setdefault(key, name) == name
            assert graph.find(key) == name


@relaxed
@given(st.lists(turns(), max_size=6, unique_by=lambda t: t.opening), layers)
def test_edits_of_a_person_can_be_switched_off(said: list[TurnClaims], layer: list[Override]) -> None:
    """Without `preserve_user_edits` the graph is what the text alone says."""
    off = Options(preserve_user_edits=False)
    graph = Graph(said, layer, options=off)
    graph.set_overrides(layer[1:])
    assert told(graph) == told(Graph(said, (), options=off))
