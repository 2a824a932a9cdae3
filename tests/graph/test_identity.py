"""Which names are one node: what texts state, what rules can only read in one way, what a person says."""

from __future__ import annotations

import pytest

from backscroll.errors import InvalidInput, NotFound
from backscroll.graph.fold import Graph
from backscroll.graph.naming.identity import NameLinks, NameTie
from tests.graph.claims import alias, has, is_, node, now, override, person, ref, turn


def same(graph: Graph, one: str, two: str) -> bool:
    return graph.find(one) == graph.find(two) is not None


def test_the_same_name_is_one_node_however_often_it_comes() -> None:
    graph = Graph([turn(n, person(name)) for n, name in enumerate(["Ellie", "ellie", "ELLIE", "“Ellie”"], 1)])
    assert graph.ids() == ["ellie"]
    assert len(graph.node("Ellie").interactions) == 4


def test_a_stated_alias_joins_and_goes_with_its_turn() -> None:
    graph = Graph(
        [turn(1, person("Ellie")), turn(2, has("艾莉", "mood", "glad")), turn(3, alias("Ellie", "艾莉"))]
    )
    assert same(graph, "Ellie", "艾莉")
    assert graph.node("艾莉").aliases == ("艾莉",)
    graph.drop(ref(3))
    assert not same(graph, "Ellie", "艾莉")
    assert graph.ids() == ["ellie", "艾莉"]


def test_both_scripts_in_one_name_join() -> None:
    graph = Graph([turn(1, person("艾莉（Ellie）")), turn(2, has("Ellie", "mood", "glad"))])
    assert graph.node("艾莉").attribute("mood") == "glad"


def test_a_hint_of_an_alias_joins_nothing_but_is_suggested() -> None:
    graph = Graph([turn(1, person("Ellie"), person("Nora")), turn(2, alias("Ellie", "Nora", sure=0.4))])
    assert not same(graph, "Ellie", "Nora")
    assert [(s.first, s.second) for s in graph.suggestions()] == [("ellie", "nora")]


def test_a_first_name_joins_the_only_full_name() -> None:
    graph = Graph([turn(1, person("John Smith")), turn(2, person("John"), has("John", "mood", "glad"))])
    assert graph.node("John Smith").attribute("mood") == "glad"


def test_a_second_full_name_parts_them_again_until_it_goes() -> None:
    graph = Graph([turn(1, person("John Smith")), turn(2, person("John"))])
    graph.put(turn(3, person("John Brown")))
    assert graph.ids() == ["john smith", "john", "john brown"]
    graph.drop(ref(3))
    assert graph.ids() == ["john smith"]


def test_only_the_same_kind_is_joined() -> None:
    graph = Graph([turn(1, person("Paris Hilton")), turn(2, node("Paris", "place"))])
    assert not same(graph, "Paris", "Paris Hilton")
    graph = Graph([turn(1, node("New York", "place")), turn(2, node("York", "place"))])
    assert len(graph.ids()) == 2


@pytest.mark.parametrize("short", ["Dr. Smith", "Smith", "Captain John", "Dr. John Smith"])
def test_titles_and_parts_of_a_name(short: str) -> None:
    graph = Graph([turn(1, person("John Smith")), turn(2, person(short))])
    assert same(graph, short, "John Smith")


def test_a_couple_with_one_family_name_is_two_people() -> None:
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


def test_a_shorter_path_is_the_only_file_that_it_can_be() -> None:
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


def test_the_user_gets_a_name() -> None:
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


def test_the_id_moves_on_when_the_first_name_goes_and_neighbours_follow() -> None:
    """Views of other nodes name the node by its id of now."""
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


def test_names_that_fit_several_or_none() -> None:
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


def test_part_of_the_name_of_a_thing_is_not_enough() -> None:
    """Who asks for Rome does not mean Rome Airport."""
    graph = Graph([turn(1, node("Rome Airport", "place"))])
    with pytest.raises(NotFound, match="Rome Airport"):
        graph.node("Rome")


def test_a_person_keeps_two_names_apart_whatever_leads_round() -> None:
    said = [
        turn(1, person("Ann"), person("Anna"), person("Annie")),
        turn(2, alias("Ann", "Annie"), alias("Anna", "Annie")),
    ]
    assert same(Graph(said), "Ann", "Anna")
    graph = Graph(said, [override("split", "Ann", object="Anna")])
    assert not same(graph, "Ann", "Anna")
    graph.set_overrides([override("forbid", "Ann", "alias", "Annie")])
    assert not same(graph, "Ann", "Annie")


def test_ties_count() -> None:
    """A tie that two turns state stays when one of them goes."""
    links = NameLinks()
    links.tie("a", "b", NameTie.STATED, 1)
    links.tie("a", "b", NameTie.STATED, 1)
    links.tie("a", "b", NameTie.STATED, -1)
    assert links.group("a") == ("a", "b")
    links.tie("b", "a", NameTie.STATED, -1)
    assert links.group("a") == ("a",)


def test_a_given_name_is_not_read_as_a_family_name_as_well() -> None:
    """小明 may be the 小明 of 王小明, or a familiar 明; never both at once."""
    graph = Graph([turn(1, person("王小明"), person("明月"), person("小明"))])
    assert not same(graph, "小明", "明月")
    assert same(graph, "小明", "王小明")


def test_whose_sister_follows_who_is_who() -> None:
    said = [turn(1, has("user's sister", "age", "9")), turn(2, has("Li Lei's sister", "mood", "glad"))]
    graph = Graph(said)
    assert len(graph.ids()) == 2
    graph.put(turn(3, alias("user", "Li Lei")))
    assert graph.node("Li Lei's sister").attribute("age") == "9"
    graph.drop(ref(3))
    assert not same(graph, "user's sister", "Li Lei's sister")


def test_a_hinted_description_is_a_name_while_only_one_has_it() -> None:
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


def test_a_hint_alone_makes_no_node() -> None:
    assert Graph([turn(1, person("小红"), alias("小红", "user的妹妹", sure=0.45))]).ids() == ["小红"]
