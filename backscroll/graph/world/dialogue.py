"""Descriptions written as a dialogue: `{{user}}: "Describe yourself."`, then `{{char}}: *smiles* "I am the warden of this wood."`

Role-play programs teach a character's voice that way, in cards and in lorebooks. Separates the parts: what is outside the dialogue, what the answers say about others (read as any description is), and what the character says of itself, in the first
person or by what it is seen to look like.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from backscroll.derive.essence.sentences import sentences
from backscroll.graph.world.en import read_english
from backscroll.graph.world.words import WorldStatement, is_han, noun_of, plain, tidy, words
from backscroll.graph.world.zh import read_chinese

_LINE = re.compile(
    r"^[ \t]*\{\{(user|char)\}\}[ \t]*[:：]([^\n]*(?:\n(?![ \t]*(?:\{\{|<START>|\[))[^\n]*)*)",
    re.MULTILINE | re.IGNORECASE,
)
_START = re.compile(r"^[ \t]*<START>[ \t]*$", re.MULTILINE | re.IGNORECASE)
_ACTED = re.compile(r"\*([^*\n]{1,800})\*")
_QUOTES = re.compile(r"[\"“”「」『』]")
_FIRST = re.compile(r"\b(?:I|I['’]m|I['’]ve|[Mm]y|[Mm]yself)\b|我(?!们)")
_BOX = re.compile(r"[ \t]*\[[^\[\]]{3,4000}\][ \t]*\Z", re.DOTALL)
_FEATURE = r"(eyes|eye|hair|skin|lips|wings|tail|ears|horns|fur|feathers|scales|beard|teeth)"
_SEEN = re.compile(
    rf"\b(?:[Hh]er|[Hh]is|[Tt]heir|[Ii]ts|[A-Z]\w+['’]s)\s+((?:[a-z-]+,?\s+){{1,3}}){_FEATURE}\b"
)
_SEEN_ZH = re.compile(
    r"((?:浅|深|暗|淡|亮)?(?:绯红|酒红|鲜红|雪白|银白|银灰|墨绿|翠绿|湛蓝|天蓝|琥珀|玫瑰|琉璃|[红赤粉橙金黄棕褐绿碧青蓝紫黑墨白银灰])色)的?"
    r"(眼睛|双眼|眼眸|眸子|头发|长发|短发|秀发|翅膀|耳朵|尾巴|皮肤|羽毛|鳞片)"
)
#: 我是赤羽卫的统领: a person's role there, unless it is a relation.
_POST_ZH = re.compile(r"我(?!们)是[^，。！？；\s的]{2,10}的([\u4e00-\u9fff]{2,4})(?=[，。！？；…”」]|$)")
_MINE = re.compile(
    rf"\b[Mm]y\s+{_FEATURE}(?:,[^,]{{1,60}},)?\s+(?:is|are)\s+(?:the (?:hue|colou?r) of\s+)?([a-z][\w -]{{2,40}})"
)
_AS = re.compile(r"\b[Aa]s (?:the |a |an |its )?([a-z][\w -]{2,40}?)(?: of [^,]{2,60})?, I\b")
_GIFTS = re.compile(
    r"\bI (?:possess|have|wield|command)\b[^-—:.]{0,40}\b(?:gifts?|powers?|abilities|skills?|talents?)\b\s*[-—–:,]\s*([^.!?]{3,160})"
)
_CAN = re.compile(
    r"\b(?:I can|I am able to|I know how to|[Mm]y (?:powers?|magic|gifts?) can)\s+([a-z][^.!?;—]{3,160})"
)
_LISTED = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+")
_VAGUE = re.compile(
    r"^(?:the like|so on|more|such|others?|not|never|see|hear|feel|only|hardly|tell)\b", re.IGNORECASE
)
_MY_ZH = re.compile(r"我(?!们)(?:能够|能|会|可以|擅长|精通)([^，。！？；\s]{2,16})")
#: Statements in the first person, and their form in the third.
_THIRD = (
    (re.compile(r"\bI['’]m\b|\bI am\b"), "{char} is"),
    (re.compile(r"\bI['’]ve\b|\bI have\b"), "{char} has"),
    (
        re.compile(r"\bI (live|dwell|reside|serve|love|like|hate|fear|want|come|lead|rule|guard|belong)\b"),
        r"{char} \1s",
    ),
    (re.compile(r"(?<=is )(?:its|this|their|your|my)\b(?= [a-z]+)"), "the"),
    (re.compile(r"\b[Mm]y name is\b"), "{char} is called"),
    (re.compile(r"我的"), "{char}的"),
    (re.compile(r"我(?!们)"), "{char}"),
)
#: The start of a new statement about oneself.
_APART = re.compile(
    r"(?:,\s*(?:and|but|so)?\s*|\s+(?:and|but)\s+)(?=(?:I|I['’]m|I['’]ve|my)\b)|(?<=[，；])(?=我)"
)
#: What follows it is about others.
_CLAUSE = re.compile(r",?\s+(?:who|whom|which|that|those)\s")
_MOST = 6  # skills that one answer gives


class DialogueReading(NamedTuple):
    """The rest to be read as a description, and the character's statements about itself."""

    rest: str
    said: tuple[WorldStatement, ...] = ()  # the subject is the character's name


def read_dialogue(text: str, char: str) -> DialogueReading:
    """Split a description in the form of a dialogue; any other is returned unchanged. `char`: empty if unknown."""
    if not _LINE.search(text):
        return DialogueReading(text)
    answers = [line[2] for line in _LINE.finditer(text) if line[1].lower() == "char"]
    boxes = [box[0] for line in _LINE.finditer(text) if (box := _BOX.search(line[2]))]
    outside = _START.sub("", _LINE.sub("\n", text))
    acted = [piece[1] for answer in answers for piece in _ACTED.finditer(answer)]
    spoken = [_QUOTES.sub(" ", _ACTED.sub("\n", _BOX.sub("", answer))) for answer in answers]
    own: list[str] = []
    others: list[str] = []
    for sentence in _sentences("\n".join(spoken)):
        (own if _FIRST.search(sentence) else others).append(sentence)
    rest = "\n".join(part for part in (outside.strip(), *boxes, *others) if part.strip())
    if not char:
        return DialogueReading(rest)
    said = [*_of_self(own, char), *_looks(acted)]
    return DialogueReading(rest, tuple(dict.fromkeys(s._replace(subject=char) for s in said)))


def _sentences(text: str) -> Iterator[str]:
    for sentence in sentences(text):
        yield from (piece for line in sentence.text.split("\n") if (piece := line.strip()))


def _of_self(own: Sequence[str], char: str) -> Iterator[WorldStatement]:
    """Yield the statements of sentences in the first person."""
    names = frozenset({plain(char)})
    for whole in own:
        if found := _AS.search(whole):
            yield from read_english(f"{char} is a {found[1]}.", names)
    for sentence in (clause for whole in own for clause in _APART.split(whole)):
        if found := _MINE.search(sentence):
            yield WorldStatement("", "appearance", _feature(found[1], found[2].strip()))
        if (found := _POST_ZH.search(sentence)) and noun_of(found[1]) is None and not _is_kin(found[1]):
            yield WorldStatement("", "occupation", found[1])
            continue
        yield from _skills(sentence)
        third = sentence
        for first, other in _THIRD:
            third = first.sub(
                other.format(char=char) if "\\" not in other else other.replace("{char}", char), third
            )
        start = third.find(char)
        if start >= 0 and third != sentence:
            told = _CLAUSE.split(third[start:], maxsplit=1)[0]
            reader = read_chinese if is_han(told) else read_english
            yield from (
                s for s in reader(told, names) if not s.subject and s.predicate not in ("owns", "appearance")
            )


def _is_kin(noun: str) -> bool:
    return any(noun.endswith(kin) for nouns in words("kin_zh").values() for kin in nouns)


def _skills(sentence: str) -> Iterator[WorldStatement]:
    for pattern in (_GIFTS, _CAN):
        if found := pattern.search(sentence):
            pieces = [tidy(piece) for piece in _LISTED.split(found[1])]
            kept = [
                p for p in pieces if 2 < len(p) <= 60 and not _VAGUE.match(p) and not re.search(r"\byou\b", p)
            ]
            yield from (WorldStatement("", "skill", piece) for piece in kept[:_MOST])
    yield from (WorldStatement("", "skill", found[1]) for found in _MY_ZH.finditer(sentence))


def _looks(acted: Sequence[str]) -> Iterator[WorldStatement]:
    """Yield what the character looks like in the scenes: of two eye colours the more frequent one."""
    seen: Counter[tuple[str, str]] = Counter()
    colours = words("colours")["words"]
    for text in acted:
        for found in _SEEN.finditer(text):
            kept = " ".join(w.strip(",") for w in found[1].split() if w.strip(",") in colours)
            if kept:
                seen[found[2], f"{kept} {found[2]}"] += 1
        for found in _SEEN_ZH.finditer(text):
            seen[found[2], f"{found[1]}的{found[2]}"] += 1
    done: set[str] = set()
    for (feature, value), _ in seen.most_common():
        if feature not in done:
            done.add(feature)
            yield WorldStatement("", "appearance", value)


def unseen_before(said: Sequence[WorldStatement], more: Sequence[WorldStatement]) -> list[WorldStatement]:
    """Return the additions to what is known: if the eye colour is stated, no other is taken from a scene."""
    known = " ".join(s.value for s in said if not s.subject and s.predicate == "appearance").casefold()
    out: list[WorldStatement] = []
    for one in more:
        feature = one.value.split()[-1].casefold() if one.predicate == "appearance" and one.value else ""
        if not one.subject and feature and feature.isascii() and feature in known:
            continue
        out.append(one)
        known += f" {one.value.casefold()}" if feature and not one.subject else ""
    return out


def _feature(feature: str, value: str) -> str:
    value = re.split(r"\s+(?:that|which|and|but|with|like|as)\s+|\s+[-—–]", value, maxsplit=1)[0].strip(" -")
    value = re.sub(r"\s+(?:stones?|gems?)$", "", value)
    return f"{value} {feature}" if len(value.split()) <= 2 else f"{feature}: {value}"
