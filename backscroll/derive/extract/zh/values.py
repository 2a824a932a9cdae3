"""Cleaned values in Chinese sentences: without particles, cut where a new thought begins, rejected if they are not values.

Owns what may be an attribute's value, or the unnamed object of a relation. Refuses sentences,
questions and pronouns.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from backscroll.derive.extract.zh.naming.names import ORGANISATION
from backscroll.derive.extract.zh.words import cutter, load_words, normal, words_of

_TAIL = re.compile(r"(?:[了的吧啊呀呢哦嘛啦哈噢喔~～]|来着|之类的|什么的|左右|一样|而已|罢了|等等|等地|等)+$")
_HEAD = re.compile(
    r"^(?:[的了着过是在到才仅]|门票|票价|只有|只要|只需|大概|大约|也就|差不多|一下|这么|那么|那种|这种)+"
)
_CUT = re.compile(r"但是?|而且|因为|所以|不过|然后|虽然|如果|的时候|之后|以后|以来|以及|来|并且|，")
_NO = re.compile(
    r"^[那这它他她此其]|什么|怎么|哪[里儿个些]|谁|多少|吗|为什么|[？?@□]|这样|那样|这么|那么|这个|那个|不了|起来|一下"
)
_SENTENCE = re.compile(r"(?:我|你|他|她)(?:们)?(?:不|也|都|就|会|要|想|能|说|有|是|去|做)")
_SINGLE_THINGS = set("车房刀剑书枪弓盾酒伞表包琴船马牛羊猫狗花笔灯锁钥药糖茶画")
_EVENTS = tuple(
    "会 赛 展 节 论坛 之旅 活动 行动 仪式 婚礼 典礼 派对 讲座 培训 课程 项目 行 营 盛宴 工作坊 大会 比赛".split()
)
_VERB_HEAD = re.compile(
    r"^(?:吃|喝|看|听|玩|读|写|画|唱|跳|打|踢|骑|爬|跑|游|做|弹|拉|养|收集|旅|逛|睡|钓|种|拍|去|在|和|跟|穿|戴|用|学|练|研究)"
)


def value_of(text: str, longest: int = 24) -> str:
    """Return a plain value, trimmed; empty if it is not one."""
    text = _HEAD.sub("", text.strip(" 　“”\"'‘’*（）()：:，,、；;"))
    cut = _CUT.search(text, 2)
    if cut:
        text = text[: cut.start()]
    text = _TAIL.sub("", text).strip(" 　“”\"'‘’，,、；;")
    if not text or len(text) > longest or _NO.search(text) or _SENTENCE.search(text):
        return ""
    return text


def as_written(clean: Callable[[str], str], text: str) -> str:
    """Return what `clean` makes of the normal form of a text, in the text's own characters."""
    plain = normal(text)
    found = clean(plain)
    at = plain.find(found) if found else -1
    return text[at : at + len(found)] if at >= 0 else ""


def is_noun(text: str, strict: bool = False) -> bool:
    """Return True if the words form a noun phrase and nothing else (`strict`: without any verb)."""
    words = words_of(text)
    if not words or len(text) < 2:
        return False
    if strict and any(w.tag in ("v", "d", "vd", "vi") for w in words):
        return False
    for word in words[:-1]:
        if (word.tag[0] in "pcyrued" and word.tag not in ("uj", "eng")) or (
            word.tag == "v" and len(word.text) == 1
        ):
            return False
    last = words[-1].tag
    return (
        last[0] in "nsljx"
        or last in ("vn", "eng", "an", "nz", "k", "f", "t", "zg", "ng")
        or last.startswith("nr")
    )


def place_of(text: str) -> str:
    """Return an unnamed place (山脚下的木屋); empty if it is not one."""
    text = value_of(text, 14)
    text = re.sub(r"(?:里面|里|中|上|内)$", "", text) if len(text) > 2 else text
    bad = load_words("not_names") | {
        "一起",
        "家",
        "这里",
        "那里",
        "哪里",
        "外面",
        "里面",
        "公司",
        "学校",
        "那边",
        "这边",
        "附近",
        "这儿",
        "那儿",
        "一家",
        "别处",
        "身边",
        "心里",
    }
    some = text.startswith(("一", "某", "这", "那", "几", "各"))
    return text if is_noun(text, strict=True) and text not in bad and not some else ""


def event_of(text: str) -> str:
    """Return an event by its name (读书会); empty if it is not one."""
    text = value_of(text, 16)
    return text if text.endswith(_EVENTS) and len(text) > 2 else ""


def thing_of(text: str) -> str:
    """Return an unnamed thing (一把旧剑 -> 旧剑); empty if it is not one."""
    text = re.sub(
        r"^(?:一|两|几|这|那|我的|他的|她的|你的|自己的)(?:个|把|辆|台|件|本|张|款|颗|枚|块|根|双|顶|套|条|只|支)?",
        "",
        value_of(text, 14),
    )
    dull = {
        "东西",
        "事情",
        "事",
        "问题",
        "机会",
        "时间",
        "想法",
        "感觉",
        "办法",
        "朋友",
        "人",
        "消息",
        "好消息",
        "坏消息",
        "电话",
        "方面",
        "样子",
        "建议",
        "点子",
        "主意",
        "计划",
        "原因",
        "世纪",
        "下午",
        "晚上",
        "小时",
        "部分",
        "孩子",
        "地方",
        "故事",
        "梦",
        "习惯",
        "选择",
        "女儿",
        "儿子",
    }
    if len(text) == 1:
        return text if text in _SINGLE_THINGS else ""
    return text if is_noun(text) and text not in dull else ""


def clean_taste(text: str) -> str:
    """Return what a person likes or hates: a thing, or an activity."""
    text = value_of(text, 16)
    if "《" in text and "》" in text:
        return text[text.index("《") + 1 : text.index("》")]  # the film is liked, not watching it
    text = re.sub(r"^(?:吃|喝|看|听|玩|用|穿|读|去|做)的", "", text)
    text = re.sub(r"^(?:一个|这个|那个|一些|各种各样的|各种|所有的?|上了?|着)", "", text)
    if len(text) < 2 or text in {
        "东西",
        "事情",
        "这里",
        "那里",
        "自己",
        "别人",
        "大家",
        "一个人",
        "感觉",
        "时候",
    }:
        return ""
    if text.endswith(("的", "得", "地", "和", "跟")) or "的是" in text or re.search(r"[了过]", text):
        return ""
    return (
        text
        if _VERB_HEAD.match(text)
        or is_noun(text)
        or (
            words_of(text)[-1].tag in ("v", "vn", "vi", "n", "l", "i", "a", "z", "an", "b") and len(text) <= 6
        )
        else ""
    )


def suits(match: str, kind: str, name: str) -> bool:
    """Return True if a name is of the kind that a rule requires."""
    if match.startswith("unit "):
        return name.endswith(tuple(match.split()[1:]))
    if match == "country":
        return not name.endswith(("省", "市", "区", "县", "州", "路", "街", "镇", "村", "岛"))
    if match == "school":
        return kind == ORGANISATION and name.endswith(
            ("大学", "学院", "中学", "高中", "小学", "学校", "初中", "幼儿园", "研究院")
        )
    return True


def is_deed(text: str) -> bool:
    """Return True for a request rather than a form of address: 早点睡, 一声."""
    return any(w.tag[0] in "vdmprcu" and cutter().has_word(w.text) for w in words_of(text))
