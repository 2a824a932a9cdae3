"""Reading Chinese by rules: what a turn says, what it only asks or supposes, and what must never break."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.derive.extract.utterance import Utterance
from backscroll.derive.extract.zh.reader import LONGEST, read
from backscroll.vocab.assertion import Assertion, Claim
from backscroll.vocab.ids import Ref

THREAD = "a" * 32


def told(*texts: str, least: float = 0.5) -> set[tuple[str, ...]]:
    """What a turn says, surely enough; messages alternate between the user and the assistant."""
    return {_row(a) for a in claims(*texts) if a.sure >= least and a.kind is not Claim.NODE}


def claims(*texts: str) -> list[Assertion]:
    """Everything that a turn of these messages gives."""
    roles = ("user", "assistant")
    return read(
        [
            Utterance(text, Ref(THREAD, n + 1), "", roles[n % 2], addressee=roles[1 - n % 2])
            for n, text in enumerate(texts)
        ]
    )


def nodes(*texts: str) -> dict[str, str]:
    """Names and types."""
    return {a.subject: a.type for a in claims(*texts) if a.kind is Claim.NODE}


def _row(a: Assertion) -> tuple[str, ...]:
    return tuple(x for x in (a.kind.value, a.subject, a.predicate, a.value or a.object) if x)


# -- people ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("我叫赵敏，今年26岁，是一名护士。", ("attribute", "user", "age", "26岁")),
        ("我叫赵敏，今年26岁，是一名护士。", ("attribute", "user", "occupation", "护士")),
        ("我叫赵敏，今年26岁，是一名护士。", ("alias", "user", "赵敏")),
        ("我妹妹吴欣在上海工作。", ("relation", "吴欣", "sibling_of", "user")),
        ("我妹妹吴欣在上海工作。", ("relation", "吴欣", "works_at", "上海")),
        ("李静是我的老师。", ("relation", "李静", "teacher_of", "user")),
        ("王小明和李静是同事。", ("relation", "王小明", "colleague_of", "李静")),
        ("我妈妈今年六十岁了。", ("attribute", "user的妈妈", "age", "六十岁")),
        ("我妈妈叫陈玉兰。", ("alias", "陈玉兰", "user的妈妈")),
        ("我有一个好朋友，叫周明远。", ("relation", "周明远", "friend_of", "user")),
        ("王小明住在杭州。", ("relation", "王小明", "lives_in", "杭州")),
        ("王小明来自四川成都。", ("relation", "王小明", "comes_from", "四川成都")),
        ("王小明在北京大学读书。", ("relation", "王小明", "studies_at", "北京大学")),
        ("我特别喜欢吃火锅和爬山。", ("relation", "user", "likes", "吃火锅")),
        ("我特别喜欢吃火锅和爬山。", ("relation", "user", "likes", "爬山")),
        ("我不喜欢香菜。", ("relation", "user", "dislikes", "香菜")),
        ("我养了一只猫，叫团团。", ("relation", "user", "has_pet", "团团")),
        ("我对花生过敏。", ("attribute", "user", "health", "花生过敏")),
        ("小王把钥匙给了李总。", ("relation", "李总", "owns", "钥匙")),
        ("小王把钥匙给了李总。", ("end", "小王", "owns", "钥匙")),
        ("王小明和李静离婚了。", ("end", "王小明", "spouse_of", "李静")),
        ("王小明和李静分手了。", ("end", "王小明", "partner_of", "李静")),
        ("王小明已经辞职了。", ("end", "王小明", "works_at")),
        ("王小明去世了。", ("attribute", "王小明", "status", "dead")),
        ("李静外号小辣椒。", ("alias", "李静", "小辣椒")),
        ("我的邮箱是ming_w@example.com。", ("attribute", "user", "email", "ming_w@example.com")),
        ("我叔叔的电话号码是13800138000。", ("attribute", "user的叔叔", "phone", "13800138000")),
        ("李静不是我的妹妹。", ("end", "李静", "sibling_of", "user")),
        ("我昨天把车卖给了小李。", ("relation", "小李", "owns", "车")),
        ("国王阿尔德里克被刺客杀死了。", ("attribute", "阿尔德里克", "status", "dead")),
        ("我和小美上个月分手了。", ("end", "user", "partner_of", "小美")),
        ("Alice是我大学同学，她现在在Google工作。", ("relation", "Alice", "works_at", "Google")),
        ("我去年从腾讯辞职了。", ("end", "user", "works_at", "腾讯")),
        ("小明和好朋友张伟去爬山了。", ("relation", "张伟", "friend_of", "小明")),
        ("李晓芸是我的同事，其生日是10月09日。", ("attribute", "李晓芸", "birthday", "10月09日")),
        ("我將要參加讀書會。", ("relation", "user", "attends", "讀書會")),
    ],
)
def test_facts_about_people_are_found(text: str, wanted: tuple[str, ...]) -> None:
    """Each sentence gives the expected claim."""
    assert wanted in told(text)


def test_omitted_subject_is_the_previous_one() -> None:
    """Later clauses of a sentence speak of its subject."""
    found = told("陈晓雯住在南京，是一名律师，养了两只狗，讨厌下雨天。")
    assert ("attribute", "陈晓雯", "occupation", "律师") in found
    assert ("relation", "陈晓雯", "hates", "下雨天") in found


def test_clauses_after_a_naming_describe_the_named_person() -> None:
    """After 叫… the following clauses are about the person named."""
    found = told("我有一个女儿叫朵朵，今年5岁。")
    assert ("relation", "朵朵", "child_of", "user") in found
    assert ("attribute", "user", "age", "5岁") not in found


def test_feelings_for_somebody_are_not_their_feelings() -> None:
    """为你感到高兴 says nothing about the addressee's feelings."""
    assert not {row for row in told("我真为你感到高兴。") if row[1] == "assistant"}


def test_traditional_chinese_is_read() -> None:
    """Names keep the characters in which they are written."""
    found = told("我叫陳雅婷，來自臺灣，喜歡聽音樂。")
    assert ("alias", "user", "陳雅婷") in found
    assert ("relation", "user", "comes_from", "臺灣") in found
    assert ("relation", "user", "likes", "聽音樂") in found


# -- pronouns -------------------------------------------------------------


def test_unambiguous_pronoun_is_resolved() -> None:
    """她 is the only woman named before."""
    assert ("relation", "吴欣", "lives_in", "纽约") in told("我妹妹吴欣今年26岁。她住在纽约。")


def test_pronoun_does_not_mean_the_speaker() -> None:
    """A speaker who says 我叫林晓 does not refer to herself as 她."""
    found = told("我叫林晓，住在上海，我妹妹林欣是一名护士。她喜欢画画。")
    assert ("relation", "林欣", "likes", "画画") in found


def test_pronoun_of_another_gender_is_not_resolved() -> None:
    """他 after a sister is not the sister."""
    found = claims("我妹妹叫林欣。他住在杭州。")
    assert [a.subject for a in found if a.predicate == "lives_in"] == ["@he"]


def test_ambiguous_pronoun_is_kept() -> None:
    """Two people were named; the fold decides whom 他 means."""
    found = claims("王小明和张伟吵架了。他住在杭州。")
    homes = [a for a in found if a.predicate == "lives_in"]
    assert [(a.subject, a.hint) for a in homes] == [("@he", "male")]


def test_second_person_is_the_addressee() -> None:
    """你 of a user is the assistant, unless the addressee is unknown."""
    assert ("attribute", "assistant", "occupation", "厨师") in told("你是一名厨师。")
    alone = read([Utterance("你是一名厨师。")])
    assert [a.subject for a in alone if a.predicate == "occupation"] == ["@you"]


def test_form_of_address_names_the_addressee() -> None:
    """A name before a comma is the name of the one addressed; a pet name is only a hint."""
    assert ("alias", "@you", "艾莉丝") in told("艾莉丝，你今天怎么样？")
    pets = [a for a in claims("亲爱的，你今天怎么样？") if a.kind is Claim.ALIAS]
    assert [a.value for a in pets] == ["亲爱的"]
    assert pets[0].sure < 0.5


def test_quoted_speech_belongs_to_its_speaker() -> None:
    """我 inside a quotation is the quoted speaker, not the author of the message."""
    found = told("艾莉丝笑着说：“我来自月光森林，是一个森林精灵。”")
    assert ("relation", "艾莉丝", "comes_from", "月光森林") in found
    assert ("attribute", "艾莉丝", "race", "森林精灵") in found


def test_narration_between_asterisks_is_read() -> None:
    """Role-play marks its narration; the marks are not part of names or values."""
    assert ("relation", "艾莉丝", "fears", "黑暗") in told("*艾莉丝害怕黑暗。* （她后退了一步）")


# -- what is not said -----------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "王小明住在杭州吗？",
        "如果王小明住在杭州，我就去看他。",
        "要是我住在上海就好了。",
        "我希望王小明住在杭州。",
        "谁住在杭州？",
        "我以为王小明住在杭州。",
        "王小明可能住在杭州。",
        "难道王小明住在杭州？",
        "请给我推荐一个评分4.5分以上、门票免费的景点。",
    ],
)
def test_questions_and_suppositions_make_no_claims(text: str) -> None:
    """Nor do wishes."""
    assert not {row for row in told(text) if row[0] in ("relation", "attribute")}


def test_tag_question_makes_a_less_sure_claim() -> None:
    """A sentence with …，对吧？ is a claim with lower confidence."""
    found = [a for a in claims("王小明住在杭州，对吧？") if a.predicate == "lives_in"]
    assert [(a.subject, a.object) for a in found] == [("王小明", "杭州")]
    assert found[0].sure < 0.9


def test_denial_makes_no_positive_claim() -> None:
    """没有 and 不 never make the opposite claim."""
    assert ("relation", "王小明", "lives_in", "杭州") not in told("王小明不住在杭州。")
    assert ("attribute", "王小明", "occupation", "医生") not in told("王小明不是医生。")


# -- works, places, things -----------------------------------------------


def test_bare_answer_completes_the_question() -> None:
    """The question names subject and predicate, the answer the value."""
    found = told("你知道《远山的灯》这部电影吗？导演是谁？", "是周明远。")
    assert ("relation", "远山的灯", "directed_by", "周明远") in found


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ("它的导演是周明远，主演有李静、王小明。", ("relation", "远山的灯", "starring", "王小明")),
        ("这部电影是2015年6月3日上映的。", ("attribute", "远山的灯", "release_date", "2015年6月3日")),
        ("片长是118分钟。", ("attribute", "远山的灯", "runtime", "118分钟")),
        ("这是一部喜剧片，票房高达3亿元。", ("attribute", "远山的灯", "genre", "喜剧")),
        ("这是一部喜剧片，票房高达3亿元。", ("attribute", "远山的灯", "box_office", "3亿元")),
    ],
)
def test_facts_about_a_film_are_found(answer: str, wanted: tuple[str, ...]) -> None:
    """The film of the turn is what 它 and 这部电影 mean."""
    assert wanted in told("你看过《远山的灯》吗？", answer)


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ("地址在云州市青石区松林路12号。", ("attribute", "松林公园", "address", "云州市青石区松林路12号")),
        ("门票20元。", ("attribute", "松林公园", "price", "20元")),
        ("开放时间是8:00-17:00。", ("attribute", "松林公园", "opening_hours", "8:00-17:00")),
        ("电话是010-12345678。", ("attribute", "松林公园", "phone", "010-12345678")),
        ("评分是4.5分。", ("attribute", "松林公园", "rating", "4.5分")),
    ],
)
def test_facts_about_a_place_are_found(answer: str, wanted: tuple[str, ...]) -> None:
    """Address, price, hours, telephone and rating of the place that the turn talks about."""
    assert wanted in told("你知道松林公园吗？", answer)


def test_rating_does_not_belong_to_the_street_of_an_address() -> None:
    """The subject stays a pronoun for the fold to resolve."""
    found = told("这家餐馆的地址在哪？", "地址是松林路12号，评分4.5分。")
    assert ("attribute", "@it", "rating", "4.5分") in found
    assert not {row for row in found if row[1] == "松林路"}


def test_possessive_phrase_becomes_an_attribute() -> None:
    """In X的…是…, a known word gives a known predicate."""
    found = told("青年读书会的持续时间是三天。青年读书会的地点是广东广州。")
    assert ("attribute", "青年读书会", "duration", "三天") in found
    assert ("relation", "青年读书会", "located_in", "广东广州") in found


# -- the shape of what comes out -----------------------------------------


def test_assertions_carry_quote_source_and_speaker() -> None:
    """The quote is in the message as it is, the source names the revision, the speaker the author."""
    text = "你好！*我叫赵敏。* 我住在杭州，`x`"
    for one in claims(text):
        assert one.quote in text
        assert one.source == Ref(THREAD, 1)
        assert one.speaker == "user"


def test_first_person_is_the_named_author() -> None:
    """我 is the author."""
    found = read([Utterance("我住在杭州。", None, "赵敏", "user", "助手")])
    assert [(a.subject, a.object) for a in found if a.predicate == "lives_in"] == [("赵敏", "杭州")]


def test_code_and_tables_are_not_read() -> None:
    """Fences and tables are not speech."""
    assert not told("```\n我住在杭州。\n```\n| 我住在杭州 | 我叫赵敏 |\n")


def test_long_message_is_read_at_both_ends() -> None:
    """The middle of a very long message is left out, its end is not."""
    filler = "今天天气不错。" * (LONGEST // 4)
    found = told("我住在杭州。" + filler + "我住在南京。" + filler + "我叫赵敏。")
    assert ("relation", "user", "lives_in", "杭州") in found
    assert ("alias", "user", "赵敏") in found
    assert ("relation", "user", "lives_in", "南京") not in found


@pytest.mark.parametrize(
    "piece",
    [
        "我",
        "我的",
        "，我是",
        "“",
        "《",
        "·",
        "马克·",
        "第一届奖",
        "导演是",
        "他她它",
        "的是",
        "王明、",
        "1",
        " ",
        "爸爸妈妈",
    ],
)
def test_repetitive_text_is_read_in_time(piece: str) -> None:
    """200 kB of a piece with which rules begin; it gives few claims."""
    assert len(claims(piece * (200_000 // len(piece)))) < 200


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.text(
            st.sampled_from(
                "我你他她是叫在住的和王小明李静，。？！“”《》（）·导演票价3元岁喜欢不\ud800\U000f0003\x00 \n*"
            ),
            max_size=60,
        ),
        max_size=3,
    )
)
def test_any_text_is_read_twice_alike(texts: list[str]) -> None:
    """No text breaks the reader; the same turn gives the same assertions; quotes are in their message."""
    first = claims(*texts)
    assert first == claims(*texts)
    assert all(one.quote in texts[one.source.seq - 1] for one in first if one.source)
    assert all(one.subject and 0 < one.sure <= 1 for one in first)
