"""Assertions by rules from Chinese: what the messages of one turn say about people, places, works and things.

Local: reads one turn and nothing else; who a pronoun means is settled here only where the turn makes it plain. Owns the order
of reading: which stretches are read, who speaks in a quotation, who is addressed by name. Refuses code, tables, questions
and suppositions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from backscroll.derive.essence.sentences import sentences
from backscroll.derive.extract.tuning import LIKELY
from backscroll.derive.extract.utterance import Utterance
from backscroll.derive.extract.zh.answers import bare_answers, open_questions
from backscroll.derive.extract.zh.context import Context, definites, find_introduced_names
from backscroll.derive.extract.zh.marks import KIND_OF, compile_pattern, is_mark, mark
from backscroll.derive.extract.zh.naming.cues import NameCandidate, candidates, weigh
from backscroll.derive.extract.zh.naming.names import ORGANISATION, PERSON, PLACE, WORK, NameSpan, names_of
from backscroll.derive.extract.zh.relatives import together
from backscroll.derive.extract.zh.scene import Scene
from backscroll.derive.extract.zh.sentence import note_questions, read_sentence
from backscroll.derive.extract.zh.words import is_region, load_words, normal, one_of, words_of
from backscroll.vocab.assertion import REGION, Assertion, Claim

#: Of a longer message only the first and the last part are read.
LONGEST = 20_000
_PLACES = (PLACE, ORGANISATION)
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_URL = re.compile(r"https?://[^\s\u4e00-\u9fff，。]{1,500}")
_EMPHASIS = re.compile(r"[*#`>|]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_SPEECH = re.compile(r"“([^“”\n]{4,600})”?")
_SAYS = re.compile(
    r"(?:说道|说着|说|道|问道|问|喊道|喊|答道|回答|答|叫道|笑道|低语|低声|嘟囔|解释|补充|叹道|告诉[^，。“]{1,6})[^，。！？“]{0,6}[：:，,]?$"
)


@dataclass(frozen=True, slots=True)
class _SpokenSentence:
    """A sentence of a message, with its speaker."""

    said: Utterance
    number: int
    plain: str
    normal: str
    quoted: bool = False  # quoted speech inside a narration
    after: str = ""  # the narration before the quotation, which may name the speaker


def read(sentences: Sequence[Utterance]) -> list[Assertion]:
    """Return what these messages (one turn, in order) say about the world."""
    pieces = [p for number, said in enumerate(sentences) for p in _pieces(said, number)]
    new = [find_introduced_names(p.normal) for p in pieces]
    cut = [words_of(p.normal) for p in pieces]
    maybe = candidates([p.normal for p in pieces], cut)
    here: list[dict[str, NameCandidate]] = [{} for _ in pieces]
    for name, one in maybe.items():
        for number in {use[0] for use in one.uses}:
            here[number][name] = one
    names = [
        _with_candidates(p.normal, [*fresh, *names_of(p.normal, words)], some)
        for p, fresh, words, some in zip(pieces, new, cut, here, strict=True)
    ]
    lexicon = _Lexicon(pieces, names)
    context = Context()
    out: list[Assertion] = []
    speaker = ""
    last: _SpokenSentence | None = None
    for piece, found, fresh, some in zip(pieces, names, new, here, strict=True):
        asked = last.normal if last is not None and last.number != piece.number else ""
        last = piece
        for f in fresh:  # the rest of a sentence may refer to what it introduces
            context.open_topic(f.kind, piece.plain[f.start : f.end], f.sure)
        marked = mark(piece.normal, piece.plain, lexicon.more(piece.normal, found), definites(piece.normal))
        me, sure = piece.said.who, 1.0
        if piece.quoted:
            told = bool(_SAYS.search(piece.after) and speaker)
            story = (
                not piece.said.speaker and piece.said.role == "assistant"
            )  # a speaking person, not the program
            me, sure = (speaker, 0.8) if told else ("" if story else piece.said.who, 0.6)
        scene = Scene(
            piece.said, me, "" if piece.quoted else piece.said.addressee, marked, context, piece.number, sure
        )
        joined = together(marked, piece.normal, scene.settle)
        scene = Scene(piece.said, me, scene.you, joined, context, piece.number, sure)
        called = [] if piece.quoted and not piece.said.speaker else [*_read_vocatives(scene, asked)]
        said = [*called, *read_sentence(scene)]
        out += [*_nodes(scene, found, some), *said]
        context.selves |= {
            a.value for a in said if a.kind is Claim.ALIAS and a.subject == me and a.sure >= 0.5
        }
        brought = {piece.plain[f.start : f.end] for f in fresh}
        context.note_sentence(
            joined, brought, {a.object or a.value for a in said if a.kind is not Claim.ALIAS} - {""}
        )
        note_questions(scene)
        stated = any(a.kind is not Claim.ALIAS for a in said)
        goes_on = piece is not pieces[0] and piece.normal.startswith(("还有", "以及"))
        if (piece is pieces[0] or goes_on) and not piece.quoted and not stated:
            out += bare_answers(scene, more=goes_on)
        if piece is pieces[-1]:
            out += open_questions(scene)
        if not piece.quoted:
            speaker = _last_person(scene) or speaker
    return _once(out)


def _clip(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST // 2] + "\n" + text[-LONGEST // 2 :]


def _pieces(said: Utterance, number: int) -> Iterator[_SpokenSentence]:
    if not _HAN.search(said.text):
        return
    for part in sentences(_clip(said.text)):
        if part.shape in ("code", "row") or len(_HAN.findall(part.text[:400])) < 1:
            continue
        yield from _speech(said, number, part.text)


def _speech(said: Utterance, number: int, plain: str) -> Iterator[_SpokenSentence]:
    """Yield a sentence, and each quotation inside it separately."""
    text = _EMPHASIS.sub(" ", _URL.sub(lambda m: " " * len(m[0]), normal(plain)))
    inner: list[tuple[int, int]] = [
        m.span(1)
        for m in _SPEECH.finditer(text)
        if m.start() > 0 and (_SAYS.search(text[: m.start()]) or len(m[1]) > 12)
    ]
    at = 0
    for start, end in inner:
        if text[at : start - 1].strip():
            yield _SpokenSentence(said, number, plain[at : start - 1], text[at : start - 1])
        yield _SpokenSentence(
            said, number, plain[start:end], text[start:end], True, text[at : start - 1].rstrip("“ ")
        )
        at = end + 1
    if text[at:].strip("”，。 "):
        yield _SpokenSentence(said, number, plain[at:], text[at:])


class _Lexicon:
    """The names that the turn shows plainly, for finding them again in less clear positions."""

    def __init__(self, pieces: list[_SpokenSentence], names: list[list[NameSpan]]) -> None:
        kinds: dict[str, str] = {}
        for piece, found in zip(pieces, names, strict=True):
            for one in found:
                text = piece.normal[one.start : one.end]
                if len(text) > 1 and one.sure >= 0.7:
                    kinds.setdefault(text, one.kind)
        self._kinds = kinds

    def more(self, text: str, found: list[NameSpan]) -> list[NameSpan]:
        """Return the names of a sentence: its own, and those known from elsewhere in the turn."""
        again: list[NameSpan] = []
        for name, kind in self._kinds.items():
            at = text.find(name)
            while at >= 0:
                again.append(NameSpan(at, at + len(name), kind, 0.9))
                at = text.find(name, at + len(name))
        longer = [
            f for f in found if not any(a.start <= f.start and f.end <= a.end and a != f for a in again)
        ]
        return sorted([*longer, *again], key=lambda f: (-(f.end - f.start), f.start))


@cache
def _vocatives() -> tuple[re.Pattern[str], ...]:
    greet = one_of(load_words("greetings"))
    term = f"(?:我(?:的|亲爱的))?{one_of(load_words('endearments'))}"
    who = f"(?P<x>{{P}}|{term})"
    return (
        compile_pattern(f"^(?:{greet}[，,！!。.…、\\s~]{{0,3}}){{0,3}}{who}(?=[，,！!…？?~] ?[^\\s])"),
        compile_pattern(f"^(?:{greet}[，,！!。.…、\\s~]{{0,3}}){{1,3}}{who}(?=[，,。！!？?….~]|$)"),
        compile_pattern(f"[，,]{who}(?=[。！!？?….~]{{0,3}}$)"),
        compile_pattern("^(?P<x>{P})(?=[。.！!]{1,3}$)"),
        compile_pattern("^(?P<x>{P}) ?(?={P}[^的和跟与]|你|我)"),
        compile_pattern(f"[，,] ?{who}(?=[，,] ?(?:{{P}}|别|请|不|快|来|可以|能))"),
    )


_ADDRESS = re.compile(r"(?:位于|地处|坐落[于在]|地址(?:是|在|为|：)?)[^，。！？；]{0,12}$")
_WHO = re.compile(r"谁|哪位|哪个人|哪些人|哪几位|什么名字|叫什么")


def _read_vocatives(scene: Scene, before: str = "") -> Iterator[Assertion]:
    """Yield names in forms of address; none if the previous message asked for a name."""
    if _WHO.search(before):
        return
    text = scene.marked.text
    for number, pattern in enumerate(_vocatives()):
        for m in pattern.finditer(text):
            name = scene.marked.group(m, "x")
            known = scene.marked.at(m["x"]) if len(m["x"]) == 1 and is_mark(m["x"]) else None
            if known is not None and (known.name.startswith("@") or known.of):
                continue
            if known is None and number == 3:
                continue
            follows = text[m.end() :].lstrip("，,！!…？? ")[:1]
            if number == 4 and not (is_mark(follows) and scene.marked.at(follows).name in ("@i", "@you")):
                continue
            if (
                known is not None
                and number in (0, 5)
                and is_mark(follows)
                and not scene.marked.at(follows).name.startswith("@")
            ):
                continue  # an enumeration
            before_it = text[: m.start("x")].rstrip("，,、 ")[-1:]
            if (
                known is not None
                and is_mark(before_it)
                and not scene.marked.at(before_it).name.startswith("@")
            ):
                continue  # the end of one: 甲，乙，你还知道谁
            sure = 0.7 * known.sure if known is not None else 0.35
            made = scene.claim(Claim.ALIAS, "@you", sure=sure, value=name, type=PERSON)
            if made and made.value != made.subject:
                yield made
            return


def _with_candidates(text: str, found: list[NameSpan], maybe: Mapping[str, NameCandidate]) -> list[NameSpan]:
    """Return the names of a sentence, including stretches that the turn makes likely to be names."""
    more: list[NameSpan] = []
    for name, one in maybe.items():
        if one.sure < LIKELY:
            continue
        at = text.find(name)
        while at >= 0:
            end = at + len(name)
            if not any(f.start < end and at < f.end and _keeps(f, at, end, one, text) for f in found):
                more.append(NameSpan(at, end, one.kind, min(0.9, one.sure)))
            at = text.find(name, end)
    kept = [f for f in found if not any(m.start < f.end and f.start < m.end for m in more)]
    return [*more, *kept]


def _keeps(known: NameSpan, start: int, end: int, one: NameCandidate, text: str) -> bool:
    """Return True if the finding of another rule stays: a title, a name with a dot, the same stretch as the same kind of thing."""
    if known.kind == WORK or "·" in text[known.start : known.end]:
        return True
    if (known.start, known.end) == (start, end):
        return known.kind == one.kind
    within = known.start <= start and end <= known.end
    return within and known.kind in _PLACES and one.kind in _PLACES  # 幽谷神潭, not 神潭


def _nodes(scene: Scene, found: list[NameSpan], maybe: Mapping[str, NameCandidate]) -> Iterator[Assertion]:
    """Yield the nodes: every name that the sentence uses, with its type and certainty."""
    places = {(f.start, f.end): f for f in found}
    text = normal(scene.marked.plain)
    seen: set[str] = set()
    for one in scene.marked.mentions:
        if one.kind in KIND_OF and not one.name.startswith("@") and not one.of:
            used = places.get((one.start, one.end)) or NameSpan(
                one.start, one.end, KIND_OF[one.kind], one.sure
            )
            sure, kind = weigh(normal(one.name), used, maybe.get(normal(one.name)), text)
            seen.add(one.name)
            if made := scene.claim(Claim.NODE, one.name, sure=sure, type=kind):
                region = kind == PLACE and (
                    is_region(normal(one.name)) or _ADDRESS.search(text, max(0, one.start - 16), one.start)
                )
                yield replace(made, hint=REGION) if region else made
    for name, candidate in maybe.items():
        if candidate.sure < LIKELY and (at := text.find(name)) >= 0:
            written = scene.marked.plain[at : at + len(name)]
            if any(written in known or known in written for known in seen):
                continue
            if made := scene.claim(Claim.NODE, written, sure=candidate.sure, type=candidate.kind):
                yield made


def _last_person(scene: Scene) -> str:
    people = [scene.settle(m) for m in scene.marked.mentions if m.kind == "P" and m.name != "@i"]
    return people[0] if people else ""


def _once(found: list[Assertion]) -> list[Assertion]:
    """Return each assertion once, with its highest certainty; nodes that only repeat a name are left out."""
    best: dict[tuple[str, ...], Assertion] = {}
    for one in found:
        # the same pronoun means another person in another message
        pronoun = one.subject.startswith("@") or one.object.startswith("@")
        where = str(one.source) if pronoun or one.kind is Claim.NODE else ""
        key = (one.kind.value, one.subject, one.predicate, one.value, one.object, where)
        if key not in best or one.sure > best[key].sure:
            best[key] = one
    return list(best.values())
