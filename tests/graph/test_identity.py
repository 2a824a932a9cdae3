"""Which names are one node: stated by texts, inferred by unambiguous rules, or set by the user."""

from __future__ import annotations

import pytest

from backscroll.errors import InvalidInput, NotFound
from backscroll.graph.fold import Graph
from backscroll.graph.naming.identity import NameLinks, NameTie
from tests.graph.claims import alias, has, is_, node, now, override, person, ref, turn


def same(graph: Graph, one: str, two: str) -> bool:
    return graph.find(one) == graph.find(two) is not None


def test_same_name_in_any_spelling_is_one_node() -> None:
    graph = Graph([turn(n, person(name)) for n, name in enumerate(["Ellie", "ellie", "ELLIE", "“Ellie”"], 1)])
    assert graph.ids() == ["ellie"]
    assert len(graph.node("Ellie").interactions) == 4


def test_stated_alias_joins_nodes_until_its_turn_is_dropped() -> None:
    graph = Graph(
        [turn(1, person("Ellie")), turn(2, has("艾莉", "mood", "glad")), turn(3, alias("Ellie", "艾莉"))]
    )
    assert same(graph, "Ellie", "艾莉")
    assert graph.node("艾莉").aliases == ("艾莉",)
    graph.drop(ref(3))
    assert not same(graph, "Ellie", "艾莉")
    assert graph.ids() == ["ellie", "艾莉"]


def test_name_in_two_scripts_joins_both() -> None:
    graph = Graph([turn(1, person("艾莉（Ellie）")), turn(2, has("Ellie", "mood", "glad"))])
    assert graph.node("艾莉").attribute("mood") == "glad"


def test_hint_of_an_alias_is_only_suggested() -> None:
    graph = Graph([turn(1, person("Ellie"), person("Nora")), turn(2, alias("Ellie", "Nora", sure=0.4))])
    assert not same(graph, "Ellie", "Nora")
    assert [(s.first, s.second) for s in graph.suggestions()] == [("ellie", "nora")]


def test_first_name_joins_the_only_full_name() -> None:
    graph = Graph([turn(1, person("John Smith")), turn(2, person("John"), has("John", "mood", "glad"))])
    assert graph.node("John Smith").attribute("mood") == "glad"


def test_second_full_name_separates_them_until_it_is_dropped() -> None:
    graph = Graph([turn(1, person("John Smith")), turn(2, person("John"))])
    graph.put(turn(3, person("John Brown")))
    assert graph.ids() == ["john smith", "john", "john brown"]
    graph.drop(ref(3))
    assert graph.ids() == ["john smith"]


def test_only_nodes_of_the_same_kind_are_joined() -> None:
    graph = Graph([turn(1, person("Paris Hilton")), turn(2, node("Paris", "place"))])
    assert not same(graph, "Paris", "Paris Hilton")
    graph = Graph([turn(1, node("New York", "place")), turn(2, node("York", "place"))])
    assert len(graph.ids()) == 2


@pytest.mark.parametrize("short", ["Dr. Smith", "Smith", "Captain John", "Dr. John Smith"])
def test_titles_and_parts_of_a_name_join_the_full_name(short: str) -> None:
    graph = Graph([turn(1, person("John Smith")), turn(2, person(short))])
    assert same(graph, short, "John Smith")


def test_couple_with_one_family_name_stays_two_people() -> None:
    graph = Graph([turn(1, person("Mr. Smith"), person("Mrs. Smith"), person("John Smith"))])
    assert not same(graph, "Mr. Smith", "Mrs. Smith")


@pytest.mark.parametrize(
    ("short", "full"), [("小王", "王小明"), ("王老师", "王小明"), ("小明", "王小明"), ("王先生", "王明")]
)
def test_chinese_short_forms_join_the_only_full_name(short: str, full: str) -> None:
    graph = Graph([turn(1, person(full)), turn(2, person(short))])
    assert same(graph, short, full)


def test_two_chinese_short_forms_stay_apart() -> None:
    graph = Graph([turn(1, person("王小明")), turn(2, person("小王"), person("老王"))])
    assert len(graph.ids()) == 3


def test_shorter_path_joins_the_only_matching_file() -> None:
    files = [
        turn(1, node("src/table.py", "file")),
        turn(2, node("table.py", "file")),
        turn(3, node("/home/m/src/table.py")),
    ]
    graph = Graph(files)
    assert graph.ids() == ["src/table.py"]
    graph.put(turn(4, node("tests/table.py", "file")))
    assert not same(graph, "table.py", "tests/table.py")
    assert same(graph, "src/table.py", "/home/m/src/table.py")


def test_user_node_takes_the_stated_name() -> None:
    graph = Graph(
        [
            turn(1, has("user", "mood", "glad")),
            turn(2, alias("user", "Li Lei")),
            turn(3, has("Li Lei", "age", "30")),
        ]
    )
    view = graph.node("Li Lei")
    assert (view.name, view.attribute("mood"), view.attribute("age")) == ("Li Lei", "glad", "30")
    assert graph.find("user") == view.id


def test_id_changes_when_the_first_name_is_dropped() -> None:
    """Views of neighbouring nodes use the current id."""
    graph = Graph(
        [
            turn(1, person("Nell")),
            turn(2, alias("Ellie", "Nell")),
            turn(3, is_("Tom", "visited", "Ellie")),
        ]
    )
    assert now(graph, "Tom", "visited") == ["nell"]
    graph.drop(ref(1))
    assert now(graph, "Tom", "visited") == ["ellie"]
    assert graph.node("nell").id == "ellie"


def test_ambiguous_or_unknown_names_are_refused() -> None:
    graph = Graph([turn(1, person("John Smith"), person("John Brown"))])
    with pytest.raises(InvalidInput, match=r"john brown, john smith"):
        graph.node("John")
    with pytest.raises(NotFound, match="John Smith"):
        graph.node("Jon Smith")
    with pytest.raises(NotFound):
        Graph().node("anybody")
    assert graph.find("John") is None
    assert graph.node("brown").id == "john brown"
    assert graph.find("brown") is None


def test_query_for_part_of_a_name_does_not_match() -> None:
    """A query for Rome does not mean Rome Airport."""
    graph = Graph([turn(1, node("Rome Airport", "place"))])
    with pytest.raises(NotFound, match="Rome Airport"):
        graph.node("Rome")


def test_split_keeps_two_names_apart_despite_aliases() -> None:
    said = [
        turn(1, person("Ann"), person("Anna"), person("Annie")),
        turn(2, alias("Ann", "Annie"), alias("Anna", "Annie")),
    ]
    assert same(Graph(said), "Ann", "Anna")
    graph = Graph(said, [override("split", "Ann", object="Anna")])
    assert not same(graph, "Ann", "Anna")
    graph.set_overrides([override("forbid", "Ann", "alias", "Annie")])
    assert not same(graph, "Ann", "Annie")


def test_alias_stated_twice_survives_dropping_one_turn() -> None:
    """The names stay joined when one of the two turns is dropped."""
    links = NameLinks()
    links.tie("a", "b", NameTie.STATED, 1)
    links.tie("a", "b", NameTie.STATED, 1)
    links.tie("a", "b", NameTie.STATED, -1)
    assert links.group("a") == ("a", "b")
    links.tie("b", "a", NameTie.STATED, -1)
    assert links.group("a") == ("a",)


def test_chinese_given_name_is_not_also_read_as_a_family_name() -> None:
    """小明 may be short for 王小明 or a familiar form of 明; never both at once."""
    graph = Graph([turn(1, person("王小明"), person("明月"), person("小明"))])
    assert not same(graph, "小明", "明月")
    assert same(graph, "小明", "王小明")


def test_possessive_names_follow_the_identity_of_their_owner() -> None:
    said = [turn(1, has("user's sister", "age", "9")), turn(2, has("Li Lei's sister", "mood", "glad"))]
    graph = Graph(said)
    assert len(graph.ids()) == 2
    graph.put(turn(3, alias("user", "Li Lei")))
    assert graph.node("Li Lei's sister").attribute("age") == "9"
    graph.drop(ref(3))
    assert not same(graph, "user's sister", "Li Lei's sister")


def test_hinted_description_is_a_name_while_only_one_node_has_it() -> None:
    """我妹妹叫小红: the sister is 小红, until another sister is named."""
    graph = Graph(
        [
            turn(1, person("小红"), alias("小红", "user的妹妹", sure=0.45)),
            turn(2, has("user的妹妹", "age", "9")),
        ]
    )
    assert (graph.node("小红").attribute("age"), graph.node("user的妹妹").name) == ("9", "小红")
    graph.put(turn(3, person("小兰"), alias("小兰", "user的妹妹", sure=0.45)))
    assert not same(graph, "小红", "user的妹妹")
    graph.drop(ref(3))
    assert same(graph, "小红", "user的妹妹")


def test_hint_alone_creates_no_node() -> None:
    assert Graph([turn(1, person("小红"), alias("小红", "user的妹妹", sure=0.45))]).ids() == ["小红"]
