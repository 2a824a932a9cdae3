"""`thread.graph` over texts in different styles: plays, chats with English names in Chinese, quotations, questions with a statement before them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import backscroll
from backscroll.engine.engine import Engine
from backscroll.engine.knowledge.graph import ThreadGraph


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with backscroll.open(tmp_path / "styles.db", background=False) as store:
        yield store


def told(engine: Engine, *messages: str, authors: tuple[str, ...] = ()) -> ThreadGraph:
    thread = engine.create("story", kind="chat")
    for number, text in enumerate(messages):
        author = authors[number % 2] if authors else None
        thread.append("assistant" if number % 2 else "user", text, author=author)
    thread.graph.flush()
    return thread.graph


def shown(graph: ThreadGraph) -> dict[str, str]:
    return {node.name: node.type for node in graph.nodes() if node.id != "user"}


def test_speaker_after_a_quote_is_named_in_full(engine: Engine) -> None:
    graph = told(
        engine,
        "I wait.",
        'The door opened. "You found my ring," Nora Vandermeer said. She sat down.',
        'Nora nods. "Where did you get it?"',
        '"From Silas," Nora says. "Silas was my brother."',
    )
    node = graph.node("Nora")
    assert "Nora Vandermeer" in (node.name, *node.aliases)
    assert "Vandermeer" not in shown(graph)


def test_short_sentence_with_names_is_not_a_headline(engine: Engine) -> None:
    graph = told(
        engine,
        "Whose car is it?",
        '"It was grey. Plates from Porto Alegre. Nobody saw the driver." He shrugs.',
    )
    assert "Porto Alegre" in {n.name for n in graph.nodes(candidates=True)}


def test_subject_of_a_verb_is_a_person_by_default(engine: Engine) -> None:
    graph = told(
        engine,
        "Could Tobias ride with Anselm instead?",
        "I guess Tobias could. Does Anselm know?",
        "Quillmere had burned before dawn.",
        "We should go back to Quillmere. The streets of Quillmere are empty.",
    )
    kinds = shown(graph)
    assert kinds.get("Tobias") == kinds.get("Anselm") == "person"
    assert kinds.get("Quillmere") == "place"


def test_lines_of_a_play_belong_to_the_named_speaker(engine: Engine) -> None:
    graph = told(
        engine,
        "【第一场】\n纪晚：你骗我！\n卫之衡：我没有。\n纪晚：这首曲子是谁写的？",
        "卫之衡：是我妹妹写的。\n纪晚：（沉默）你住在临川？\n卫之衡：我住在临川。",
    )
    assert shown(graph).get("纪晚") == shown(graph).get("卫之衡") == "person"
    assert [f.object for f in graph.node("卫之衡").relations if f.predicate == "lives_in"] == ["临川"]
    about_user = list(graph.node("user").relations) if "user" in {n.id for n in graph.nodes()} else []
    assert not [f for f in about_user if f.predicate in ("lives_in", "sibling_of")]


def test_english_play_lines_are_distinguished_from_lists(engine: Engine) -> None:
    graph = told(
        engine,
        "Thessaly: I live in Brackwater.\nOrin: You do? Since when?",
        "Orin: I had no idea!\nThessaly: Well.",
    )
    assert [f.object for f in graph.node("Thessaly").relations if f.predicate == "lives_in"] == ["brackwater"]
    listed = told(engine, "What should I see?", "Kyoto: temples and gardens.\nOsaka: food, food, food.")
    assert "person" not in {node.type for node in listed.nodes() if node.name in ("Kyoto", "Osaka")}


def test_english_names_in_chinese_chats_are_found(engine: Engine) -> None:
    graph = told(
        engine,
        "今天又被Raymond拉去开会，累死了",
        "Raymond不是说这周不开会吗？先去Seesaw买杯咖啡吧。",
        "我跟Felicia吐槽了，Felicia还劝我忍忍。周五有个deadline，Friday之前要交",
        "Felicia说得对，抱抱你。",
    )
    kinds = shown(graph)
    assert kinds.get("Raymond") == kinds.get("Felicia") == "person"
    assert kinds.get("Seesaw") == "place"
    assert "Friday" not in kinds


@pytest.mark.parametrize(
    ("text", "junk"),
    [
        ("话音未落，门被撞开了。", "话音未落"),
        ("她垂下头，眉心微蹙，一言不发。", "眉心微蹙"),
        ("（摔剧本）这戏不演了。", "摔剧本"),
        ("她最近是不是也在看机会？", "看机会"),
        ("他一个人站在黑里，什么也没说。", "黑里"),
    ],
)
def test_phrases_between_marks_are_not_names(engine: Engine, text: str, junk: str) -> None:
    graph = told(engine, text, "嗯。", text, "嗯嗯。")
    assert junk not in shown(graph)


@pytest.mark.parametrize(
    ("turns", "name", "kind"),
    [
        (("青霄宗山门前落了一夜的雪。", "守山的人拦住了我们。"), "青霄宗", "organisation"),
        (("昨夜落枫镇来了个黑袍人。", "是么？"), "落枫镇", "place"),
        (("郁南栀摘下手套，扫了我一眼。", "“走吧。”郁南栀说。"), "郁南栀", "person"),
        (("玄璃真人，您怎么出关了？", "玄璃真人笑而不语。"), "玄璃真人", "person"),
        (("我怕。", "纪晚，你过来，牵着我的手。"), "纪晚", "person"),
        (("这不是艾德里安吗？", "艾德里安，你还敢回来！"), "艾德里安", "person"),
    ],
)
def test_chinese_names_are_cut_where_they_end(
    engine: Engine, turns: tuple[str, ...], name: str, kind: str
) -> None:
    assert shown(told(engine, *turns)).get(name) == kind


# -- facts ------------------------------------------------------------------

_TWO = ("甲", "乙")


def facts(graph: ThreadGraph, name: str, predicate: str) -> list[str]:
    node = graph.node(name)
    held = [f for f in (*node.attributes, *node.relations) if f.predicate == predicate and f.rank == "said"]
    return [f.value or graph.node(f.object).name for f in held if not f.derived]


def test_third_person_facts_do_not_belong_to_the_speaker(engine: Engine) -> None:
    graph = told(
        engine,
        "听说过加里·奥德曼吗？",
        "听说过，他是一个英国人。",
        "没错，他出生于英国伦敦，知道他多大吗？",
        "我记得他还获得过第90届奥斯卡金像奖最佳男主角奖。",
        authors=_TWO,
    )
    assert facts(graph, "加里·奥德曼", "award") == ["第90届奥斯卡金像奖最佳男主角奖"]
    assert facts(graph, "加里·奥德曼", "born_in") == ["英国伦敦"]
    assert facts(graph, "加里·奥德曼", "nationality") == ["英国"]
    assert facts(graph, "乙", "award") == []


def test_list_answers_across_two_turns_are_combined(engine: Engine) -> None:
    graph = told(
        engine,
        "看过《阿凡达》吗？",
        "看过，还记得主演都有谁吗？",
        "我记得有萨姆·沃辛顿，佐伊·索尔达娜，西格妮·韦弗，你还知道有谁吗？",
        "还有乔·摩尔，拉兹·阿隆索等。",
        authors=_TWO,
    )
    assert facts(graph, "阿凡达", "starring") == [
        "萨姆·沃辛顿", "佐伊·索尔达娜", "西格妮·韦弗", "乔·摩尔", "拉兹·阿隆索",
    ]  # fmt: skip
    assert "西格妮·韦弗" not in graph.node("乙").aliases


def test_visit_time_belongs_to_the_park_not_the_region(engine: Engine) -> None:
    graph = told(
        engine,
        "你对玉渊潭公园有了解吗？",
        "有，是北京市区最大的公园之一，在整个北京都很有名。",
        "能玩多久呢？",
        "2小时 - 4小时吧。",
        authors=_TWO,
    )
    assert facts(graph, "玉渊潭公园", "visit_time") == ["2小时 - 4小时"]


def test_additional_occupation_does_not_end_another(engine: Engine) -> None:
    graph = told(engine, "我同事林若曦是演员。", "好厉害。", "林若曦还是编剧。", "哇。")
    assert sorted(facts(graph, "林若曦", "occupation")) == ["演员", "编剧"]
    changed = told(engine, "我同事林若曦是演员。", "好厉害。", "林若曦现在是编剧。", "哇。")
    assert facts(changed, "林若曦", "occupation") == ["编剧"]


def test_name_that_answers_a_who_question_is_not_an_address(engine: Engine) -> None:
    graph = told(
        engine, "听过《小手拉大手》吗？", "听过。", "谁制作的呀？", "钟成虎，然后填词是陈绮贞。", authors=_TWO
    )
    assert "钟成虎" not in graph.node("甲").aliases


# -- other names ------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("I'm Robert, but I go by Bo.", {"Robert", "Bo"}),
        ("Emi is what they write; my real name is Kate.", {"Kate"}),
        ("我叫林羽，叫我小鱼就行。", {"林羽", "小鱼"}),
        ("同事都喊我鱼哥。", {"鱼哥"}),
        ("他们都叫我早点睡。", set[str]()),
        ("妈妈叫我回家吃饭。", set[str]()),
    ],
)
def test_names_of_the_user_follow_deletion(engine: Engine, text: str, names: set[str]) -> None:
    thread = engine.create("names", kind="chat")
    said = thread.append("user", text)
    thread.append("assistant", "好的 / OK.")
    thread.append("user", "I live in Lisbon.")
    thread.graph.flush()
    user = thread.graph.node("user")
    called = {user.name, *user.aliases} - {"user", "用户"}
    assert names <= called
    assert not called & {"早点睡", "回家", "回家吃饭"}
    thread.delete(said.id)
    thread.graph.flush()
    user = thread.graph.node("user")
    assert not names & {user.name, *user.aliases}
