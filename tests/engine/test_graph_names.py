"""What `thread.graph` shows of stories, films and drawers: names that are names, facts on the right node, nothing assumed against the text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

import backscroll
from backscroll.engine.engine import Engine
from backscroll.engine.knowledge.graph import ThreadGraph


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with backscroll.open(tmp_path / "names.db", background=False) as store:
        yield store


def told(engine: Engine, *turns: tuple[str, str], kind: str = "chat") -> ThreadGraph:
    thread = engine.create("story", kind=kind)
    for said, answer in turns:
        thread.append("user", said)
        thread.append("assistant", answer)
    thread.graph.flush()
    return thread.graph


def names(graph: ThreadGraph) -> dict[str, str]:
    return {node.name: node.type for node in graph.nodes() if node.id != "user"}


def test_chinese_story_has_its_people_and_no_fragments(engine: Engine) -> None:
    graph = told(
        engine,
        ("*余光扫过檐下* 阁下跟了我三十里？", "“墨烟从不白跑。”那姑娘抬起头来，指了指点北地的方向。"),
        ("墨烟？青鹞卫的墨烟？", "“早就不是了。”墨烟拍掉肩上的雪，“要失望就失望吧。”"),
        ("你如今在阿里云上班？", "阿炎从门后探出头：“她骗你的！”"),
        ("阿炎，别闹。", "阿炎吐了吐舌头，躲到墨烟身后。"),
    )
    shown = names(graph)
    assert shown.get("墨烟") == shown.get("阿炎") == "person"
    assert {"余光", "点北地", "要失望", "assistant"}.isdisjoint(shown)
    assert shown.get("阿里云") != "person"


def test_an_english_story_has_each_of_its_people_once(engine: Engine) -> None:
    graph = told(
        engine,
        (
            "I'm looking for a man called Osric Vane.",
            'Mabel sets the mug down. "Nobody says that name here." Wick, the pot boy, tugs at your sleeve.',
        ),
        ("*I wink at Wick.* Where is Osric, Mabel?", '"Upstairs," Wick whispers. Mabel shakes her head.'),
        ("Come down, Vane!", 'Osric comes down slowly. "Who is asking?" he says. "Wick, bar the door."'),
    )
    assert names(graph) == {"Osric Vane": "person", "Mabel": "person", "Wick": "person"} or names(graph) == {
        "Osric": "person",
        "Mabel": "person",
        "Wick": "person",
    }


def test_facts_about_a_film_stay_with_the_film(engine: Engine) -> None:
    """Six turns of which only the first names it; the country that is named last has no box office."""
    graph = told(
        engine,
        ("你看过电影《无耻混蛋》吗？", "看过，是昆汀·塔伦蒂诺导演的，2009年在美国上映。"),
        ("主演是谁？", "布拉德·皮特和梅拉尼·罗兰主演。"),
        ("票房怎么样？", "票房有3.2亿美元。"),
        ("片长多少？", "153分钟。"),
        ("是哪里拍的？", "主要在德国拍摄的，也有美国的资金。"),
        ("好的。", "还想知道什么？"),
    )
    film = graph.node("无耻混蛋")
    assert film.type == "work"
    assert film.attribute("box_office") == "3.2亿美元"
    assert film.attribute("runtime") == "153分钟"
    assert {f.object for f in film.relations} >= {"昆汀·塔伦蒂诺", "布拉德·皮特", "梅拉尼·罗兰"}
    assert graph.node("美国").type == "place"
    assert not graph.node("美国").attribute("box_office")
    assert not [name for name in names(graph) if "《" in name or "》" in name]
    thread = cast("backscroll.Thread", graph.thread)
    thread.delete(*(m.id for m in thread.turn(1).messages))
    assert not [n for n in graph.nodes() if n.attribute("box_office")]  # nothing names a film any more


@pytest.mark.parametrize(
    ("said", "thing", "place"),
    [
        ("The keys are in the blue drawer.", "keys", "blue drawer"),
        ("I left my passport on the kitchen table.", "user's passport", "kitchen table"),
        ("钥匙在蓝色抽屉里。", "钥匙", "蓝色抽屉"),
        ("我把护照放在书房的保险柜里了。", "护照", "书房的保险柜"),
    ],
)
def test_location_of_a_thing_is_a_fact(engine: Engine, said: str, thing: str, place: str) -> None:
    graph = told(engine, (said, "好的。"))
    assert [f.object for f in graph.why(thing, "located_in")] == [place]


@pytest.mark.parametrize(
    "said",
    [
        "Are the keys in the drawer?",
        "The keys are not in the drawer.",
        "The ball is in your court.",
        "钥匙在抽屉里吗？",
    ],
)
def test_questions_denials_and_figures_of_speech_are_not_locations(engine: Engine, said: str) -> None:
    assert not [f for n in told(engine, (said, "Hm.")).nodes(candidates=True) for f in n.relations]


@pytest.mark.parametrize(
    ("said", "who"),
    [
        ("我丈夫就是死在那里的。", "user的老公"),
        ("They buried Corvane in Vell. Corvane was my aunt.", "Corvane"),
    ],
)
def test_dead_person_is_not_alive_by_default(engine: Engine, said: str, who: str) -> None:
    node = told(engine, (said, "I see.")).node(who)
    assert not [f for f in node.attributes if f.predicate == "status" and f.rank == "default"]


def test_bare_answer_in_the_next_turn_belongs_to_the_subject_asked_about(engine: Engine) -> None:
    """The assistant asks, the user answers in the next turn; without the question the answer makes no fact."""
    graph = told(
        engine, ("你知道林晓梅吗？", "知道，她的生日是哪天？"), ("1974年11月11日。", "好的，记下了。")
    )
    assert graph.node("林晓梅").attribute("birthday") == "1974年11月11日"
    thread = cast("backscroll.Thread", graph.thread)
    thread.edit(thread.turn(1).messages[1].id, "知道，她挺好的。")
    assert not graph.node("林晓梅").attribute("birthday")


def test_film_in_book_title_marks_is_shown_with_its_facts(engine: Engine) -> None:
    graph = told(
        engine,
        ("你看过电影《雾港来信》吗？", "看过，《雾港来信》拍得不错。"),
        ("票房怎么样？", "票房2.1亿元。"),
        ("什么时候上映的？", "2019年上映的。"),
    )
    film = graph.node("雾港来信")
    assert names(graph).get("雾港来信") == "work"
    assert {film.attribute("box_office"), film.attribute("release_date")} == {"2.1亿元", "2019年"}


def test_residence_is_shown_and_onomatopoeia_is_not(engine: Engine) -> None:
    rustles = "树叶沙沙地响。"
    graph = told(
        engine, ("艾莉是一只森林精灵。", rustles), ("后来艾莉搬到了河镇。", rustles), ("然后呢？", rustles)
    )
    assert names(graph) == {"艾莉": "person", "河镇": "place"}
    assert [f.object for f in graph.node("艾莉").relations if f.predicate == "lives_in"] == ["河镇"]
