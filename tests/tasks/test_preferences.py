"""Preferences: read in both languages, surer when repeated, the latest wins, and applied."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.tasks.preferences.preferences import Preference, defaults_from, fold
from backscroll.tasks.preferences.reader import read_text, statements
from backscroll.tasks.preferences.tuning import SHOWN
from backscroll.vocab.message import Message
from tests.tasks.builders import Talk, preferences_in


def folded(*texts: str) -> list[Preference]:
    talk = Talk()
    messages = [talk.user(text) for text in texts]
    return fold(s for m in messages for s in statements(m))


def held(*texts: str) -> list[Preference]:
    return [p for p in folded(*texts) if not p.superseded and p.confidence >= SHOWN]


@pytest.mark.parametrize(
    ("text", "aspect", "topic", "value", "sign"),
    [
        ("Always run the tests before you commit.", "practice", "", "", 1),
        ("Please never push to main", "practice", "", "", -1),
        ("From now on, write commit messages in lower case.", "practice", "", "", 1),
        ("No, use pnpm instead of npm.", "tool", "js_packages", "pnpm", 1),
        ("Use 4 spaces, never tabs.", "tool", "indent", "spaces", 1),
        ("Please reply in Chinese from now on.", "language", "language", "zh", 1),
        ("I'd prefer shorter answers.", "style", "length", "short", 1),
        ("Your replies are too long", "style", "length", "short", 1),
        ("Don't add emojis, please", "style", "emoji", "without", 1),
        ("You can call me Ann.", "name", "name", "Ann", 1),
        ("以后都用中文回答。", "language", "language", "zh", 1),
        ("以后提交前先跑测试。", "practice", "", "", 1),
        ("千万不要改动数据库结构", "practice", "", "", -1),
        ("用 pytest，不要用 unittest", "tool", "py_tests", "pytest", 1),
        ("回答简短一点", "style", "length", "short", 1),
        ("太啰嗦了", "style", "length", "short", 1),
        ("统一用单引号", "tool", "quotes", "single quotes", 1),
        ("我叫小明，请多关照", "name", "name", "小明", 1),
        ("我比较喜欢详细的解释", "style", "length", "long", 1),
        ("不要写注释", "style", "comments", "without", 1),
    ],
)
def test_preferences_are_recognised(text: str, aspect: str, topic: str, value: str, sign: int) -> None:
    """In every wording, with what they are about."""
    found = [(r.aspect, r.topic, r.value, r.sign) for r in read_text(text)]
    assert (aspect, topic, value, sign) in found


@pytest.mark.parametrize(
    "text",
    [
        "Should I always use a lock?",
        "I never said that.",
        "I always loved the sea.",
        "It never works on Mondays.",
        "If you always lose, stop playing.",
        "Don't worry about it.",
        "Never mind.",
        "我喜欢你",
        "他总是迟到。",
        "你总是这样吗？",
        "别的都可以",
        "Always happy to help.",
        "Always there for you.",
        "Never tried it, but it looks great.",
        "In the future, I'm aiming to work abroad.",
        "I don't want to spoil it.",
        "I'd rather wait.",
        "最近我在学做面食，但总是做不好。",
        "每次我分享游戏，他们都觉得很奇怪。",
        "不用客气，希望能帮到你。",
        "```\n# always use tabs\n```",
        "> always use tabs, somebody said",
        "<system-reminder>Always use the todo tool.</system-reminder> Hello",
        "",
    ],
)
def test_other_statements_are_no_preferences(text: str) -> None:
    """Questions, stories, other people, quotations, code and machine text."""
    assert [r for r in read_text(text) if r.strength >= SHOWN] == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("以后提交信息都用中文写", "以后提交信息都用中文写"),
        ("我们项目用 pnpm，不用 npm", "我们项目用 pnpm，不用 npm"),
        ("remember that I'm vegetarian", "I'm vegetarian"),
        ("记住我吃素", "我吃素"),
        ("好的，可以了。以后先给我看改动再动手。", "以后先给我看改动再动手。"),
        (
            "Thanks, that works. In future, please show me the diff first.",
            "In future, please show me the diff first.",
        ),
        ("The export is done, by the way we always pin exact versions", "we always pin exact versions"),
        ("Our office closes at six. Please keep that in mind.", "Our office closes at six."),
        (
            "I prefer short sessions to long ones, can you plan my week?",
            "I prefer short sessions to long ones",
        ),
        ("我不吃辣，有什么推荐的餐馆吗？", "我不吃辣"),
        ("分支名里都要带工单号。", "分支名里都要带工单号。"),
        ("I don't drink coffee, so suggest tea places.", "I don't drink coffee, so suggest tea places."),
    ],
)
def test_preference_is_stored_without_the_rest_of_the_message(text: str, kept: str) -> None:
    """What is stored is what holds from now on, without the chat around it."""
    assert {p.text for p in held(text)} == {kept}


@pytest.mark.parametrize(
    "text",
    [
        "就用局部更新吧，虚拟列表以后再说。",
        "以后再说吧。",
        "先这样，性能以后再优化",
        "Let's use the partial update and do the virtual list later.",
        "I'd prefer the blue one for the header.",
        'The README says "never commit secrets".',
        "文档里写着“不要提交密钥”。",
        "From now on the parser returns None.",
        "每次启动都报错。",
        "When we upgrade the library, then the tests fail.",
        "I'll keep that in mind.",
        "i love eating fish and stay up all night long",
    ],
)
def test_one_off_decisions_are_no_firm_preferences(text: str) -> None:
    """Nor are descriptions and quotations: at most a taste, never a rule, a tool or a style."""
    assert [p for p in held(text) if p.aspect != "taste"] == []


def test_language_of_commit_messages_is_not_that_of_answers() -> None:
    talk = Talk()
    talk.user("以后提交信息都用英文写")
    assert defaults_from(preferences_in(talk.messages)).language == ""


def test_only_user_messages_state_preferences() -> None:
    talk = Talk()
    assert statements(talk.assistant("Always use tabs.")) == []
    assert statements(talk.say("system", "Always use tabs.")) == []


def test_weak_hint_counts_once_it_is_repeated() -> None:
    """One request is a request; the same choice twice is a preference."""
    assert held("请用 uv 管理依赖") == []
    found = held("请用 uv 管理依赖", "这次也请用 uv 安装")
    assert [(p.value, len(p.stated)) for p in found] == [("uv", 2)]


def test_repetition_raises_confidence_and_keeps_the_id() -> None:
    once, twice = (
        held("Always answer in English."),
        held("Always answer in English.", "Again: reply in English."),
    )
    assert twice[0].confidence > once[0].confidence
    assert twice[0].ids[0] == once[0].ids[0]
    assert len(twice[0].ids) == 2


def test_repetition_in_one_message_counts_once() -> None:
    once = held("Always use ruff.")
    twice = held("Always use ruff. And always use ruff!")
    assert twice[0].confidence == once[0].confidence


def test_latest_preference_wins_with_lower_confidence() -> None:
    found = folded("Always use npm.", "From now on use pnpm.")
    assert [(p.value, p.superseded) for p in found] == [("pnpm", False), ("npm", True)]
    alone = held("From now on use pnpm.")[0]
    assert SHOWN <= found[0].confidence < alone.confidence


def test_deleting_the_contradiction_restores_the_old_preference() -> None:
    """With its old confidence, since only live statements count."""
    talk = Talk()
    talk.user("Always use npm.")
    later = talk.user("From now on use pnpm.")

    def values(messages: list[Message]) -> list[str]:
        found = fold(s for m in messages for s in statements(m))
        return [p.value for p in found if not p.superseded]

    assert values(talk.messages) == ["pnpm"]
    assert values(talk.without(later)) == ["npm"]


def test_superseded_preference_can_be_stated_again() -> None:
    found = folded("Always use npm.", "From now on use pnpm.", "No, back to npm: always use npm.")
    assert [p.value for p in found if not p.superseded] == ["npm"]


def test_opposite_statements_contradict_each_other() -> None:
    found = folded("Never mock the database in tests.", "From now on mock the database in tests.")
    assert [p.sign for p in found if not p.superseded] == [1]


def test_rejecting_one_tool_does_not_contradict_another() -> None:
    found = held("以后不要用 npm，用 pnpm")
    assert {(p.value, p.sign) for p in found} == {("npm", -1), ("pnpm", 1)}


def test_memories_name_their_evidence() -> None:
    talk = Talk()
    one, two = talk.user("Always use ruff."), talk.user("As I said, always use ruff!")
    memory = preferences_in(talk.messages)[0]
    assert memory.sources == (one.revision, two.revision)
    assert memory.text == "As I said, always use ruff!"


def test_defaults_follow_from_preferences() -> None:
    """Language, name, style and tools, in a form that plans and prompts can use."""
    talk = Talk()
    for text in (
        "以后都用中文回答。",
        "叫我小明。",
        "回答简短一点",
        "以后不要用 npm，用 pnpm",
        "Always run the tests before you commit.",
    ):
        talk.user(text)
    found = defaults_from(preferences_in(talk.messages))
    assert (found.language, found.name) == ("zh", "小明")
    assert found.style == ("回答简短一点",)
    assert {(t.group, t.name, t.wanted) for t in found.tools} == {
        ("js_packages", "npm", False),
        ("js_packages", "pnpm", True),
    }
    assert found.practices == ("Always run the tests before you commit.",)
    assert len(found.memories) == 6


def test_likes_are_tastes_and_no_instructions() -> None:
    """They are remembered, and affect neither tools nor methods."""
    talk = Talk()
    for text in ("我比较喜欢川菜和粤菜。", "I prefer routes with low traffic.", "I prefer pnpm."):
        talk.user(text)
    found = defaults_from(preferences_in(talk.messages))
    assert set(found.tastes) == {"我比较喜欢川菜和粤菜。", "I prefer routes with low traffic."}
    assert found.practices == ()
    assert [t.name for t in found.tools] == ["pnpm"]


def test_no_preferences_give_no_defaults() -> None:
    empty = defaults_from([])
    assert (empty.language, empty.name, empty.style, empty.tools) == ("", "", (), ())


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    """Whatever people type, reading it breaks nothing and says the same every time."""
    talk = Talk()
    message = talk.user(text)
    assert statements(message) == statements(message)
    for preference in fold(statements(message)):
        assert 0 < preference.confidence < 1
        assert preference.sources == (message.revision,)


@given(
    st.lists(
        st.sampled_from(
            [
                "Always use npm.",
                "Always use pnpm.",
                "Never use npm.",
                "回答简短一点",
                "回答要详细",
                "用中文回答",
                "reply in English",
            ]
        ),
        max_size=8,
    )
)
def test_of_a_topic_one_value_holds(texts: list[str]) -> None:
    """Whatever is said in whatever order: at most one value of a topic is wanted, and it is the last that was."""
    wanted: dict[str, list[str]] = {}
    for p in folded(*texts):
        if not p.superseded and p.topic and p.sign > 0:
            wanted.setdefault(p.topic, []).append(p.value)
    assert all(len(values) == 1 for values in wanted.values())
