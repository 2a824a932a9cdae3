"""Names in Chinese text: found by their shape and their place, and by no list of names."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.derive.extract.zh.naming.names import names_of
from backscroll.derive.extract.zh.words import normal, words_of


def found(text: str) -> dict[str, str]:
    """Names and kinds."""
    plain = normal(text)
    return {text[f.start : f.end]: f.kind for f in names_of(plain)}


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("王小明来了。", "王小明", "person"),
        ("欧阳静怡在家。", "欧阳静怡", "person"),
        ("小王和李总谈过了。", "小王", "person"),
        ("小王和李总谈过了。", "李总", "person"),
        ("张医生不在。", "张医生", "person"),
        ("我见过瓦西里·莫罗佐夫。", "瓦西里·莫罗佐夫", "person"),
        ("艾莉丝笑了。", "艾莉丝", "person"),
        ("你看过《远山的灯》吗？", "远山的灯", "work"),
        ("他去了月光森林。", "月光森林", "place"),
        ("我来自山东青岛。", "山东青岛", "place"),
        ("她在北京大学读书。", "北京大学", "organisation"),
        ("他住在高雄。", "高雄", "place"),
        ("Alice昨天来过。", "Alice", "person"),
        ("陳雅婷來了。", "陳雅婷", "person"),
    ],
)
def test_whole_name_is_found_with_its_kind(text: str, name: str, kind: str) -> None:
    """Each name with its kind, in the characters of the text."""
    assert found(text).get(name) == kind


@pytest.mark.parametrize(
    "text",
    [
        "我明白了，马上就来。",
        "谢谢，太棒了！",
        "今天天气真好，我们去公园吧。",
        "一张白纸，两张桌子。",
        "他很温柔，也很安静。",
        "历史博物馆里人很多。",
    ],
)
def test_common_words_are_not_names(text: str) -> None:
    """Everyday words are not names."""
    assert found(text) == {}


def test_normal_form_keeps_the_length_of_the_text() -> None:
    """Offsets in the normal form are offsets in the text, for any text."""
    text = "她說：「我愛你」\ud83d\U000f0001ＡＢＣ１２３\x00・王"
    assert len(normal(text)) == len(text)
    assert normal("我將要參加讀書會") == "我将要参加读书会"


@settings(max_examples=60, deadline=None)
@given(st.text(st.sampled_from("王李小明静·的是在北京大学公司《》张医生，。老阿Alice1 \ud800"), max_size=50))
def test_names_lie_in_the_text_and_apart(text: str) -> None:
    """No name overlaps another, none is empty, and the words of a text put together are the text."""
    plain = normal(text)
    ends = 0
    for one in names_of(plain):
        assert ends <= one.start < one.end <= len(plain)
        ends = one.end
    assert "".join(w.text for w in words_of(plain)) == plain
