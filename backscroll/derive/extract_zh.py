"""Assertions by rules from Chinese: what the messages of one turn say about people, places, works and things.

Local: reads one turn and nothing else; who a pronoun means is settled here only where the turn makes it plain. Owns the order of
reading: which stretches are read, who speaks in a quotation, who is addressed by name. Refuses code, tables and what is asked or
supposed. Before: `derive/said`. After: `derive/assertions`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from backscroll.derive.extract_zh_context import Context, definites, introduced
from backscroll.derive.extract_zh_kin import together
from backscroll.derive.extract_zh_marks import KIND_OF, compiled, is_mark, mark
from backscroll.derive.extract_zh_names import PERSON, Found, names_of
from backscroll.derive.extract_zh_reading import note_questions, read_sentence
from backscroll.derive.extract_zh_scene import Scene
from backscroll.derive.extract_zh_words import listed, normal, one_of
from backscroll.derive.said import Said
from backscroll.derive.sentences import sentences
from backscroll.vocab.assertion import Assertion, Claim

#: Of a longer message the first and the last part are read.
LONGEST = 20_000
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_URL = re.compile(r"https?://[^\s\u4e00-\u9fff，。]{1,500}")
_EMPHASIS = re.compile(r"[*#`>|]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_SPEECH = re.compile(r"“([^“”\n]{4,600})”?")
_SAYS = re.compile(
    r"(?:说道|说着|说|道|问道|问|喊道|喊|答道|回答|答|叫道|笑道|低语|低声|嘟囔|解释|补充|叹道|告诉[^，。“]{1,6})[^，。！？“]{0,6}[：:，,]?$"
)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A sentence of a message, with who speaks in it."""

    said: Said
    number: int
    plain: str
    normal: str
    quoted: bool = False  # somebody's words inside a narration
    after: str = ""  # the narration before the quotation, which may say whose words they are


def read(sentences: Sequence[Said]) -> list[Assertion]:
    """What these messages (one turn, in order) say about the world."""
    pieces = [p for number, said in enumerate(sentences) for p in _pieces(said, number)]
    new = [introduced(p.normal) for p in pieces]
    names = [[*fresh, *names_of(p.normal)] for p, fresh in zip(pieces, new, strict=True)]
    lexicon = _Lexicon(pieces, names)
    context = Context()
    out: list[Assertion] = []
    speaker = ""
    for piece, found, fresh in zip(pieces, names, new, strict=True):
        for f in fresh:  # what a sentence brings up, the rest of it may already speak of
            context.open_topic(f.kind, piece.plain[f.start : f.end], f.sure)
        marked = mark(piece.normal, piece.plain, lexicon.more(piece.normal, found), definites(piece.normal))
        me, sure = piece.said.who, 1.0
        if piece.quoted:
            me, sure = (speaker, 0.8) if _SAYS.search(piece.after) and speaker else (piece.said.who, 0.6)
        scene = Scene(
            piece.said, me, "" if piece.quoted else piece.said.addressee, marked, context, piece.number, sure
        )
        joined = together(marked, piece.normal, scene.settle)
        scene = Scene(piece.said, me, scene.you, joined, context, piece.number, sure)
        said = [*_called(scene), *read_sentence(scene)]
        out += [*_nodes(scene, said), *said]
        context.selves |= {
            a.value for a in said if a.kind is Claim.ALIAS and a.subject == me and a.sure >= 0.5
        }
        brought = {piece.plain[f.start : f.end] for f in fresh}
        context.heard(
            joined, brought, {a.object or a.value for a in said if a.kind is not Claim.ALIAS} - {""}
        )
        note_questions(scene)
        if not piece.quoted:
            speaker = _last_person(scene) or speaker
    return _once(out)


def _clip(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST // 2] + "\n" + text[-LONGEST // 2 :]


def _pieces(said: Said, number: int) -> Iterator[_Piece]:
    if not _HAN.search(said.text):
        return
    for part in sentences(_clip(said.text)):
        if part.shape in ("code", "row") or len(_HAN.findall(part.text[:400])) < 1:
            continue
        yield from _speech(said, number, part.text)


def _speech(said: Said, number: int, plain: str) -> Iterator[_Piece]:
    """A sentence, and the words that somebody speaks inside it, each for itself."""
    text = _EMPHASIS.sub(" ", _URL.sub(lambda m: " " * len(m[0]), normal(plain)))
    inner: list[tuple[int, int]] = [
        m.span(1)
        for m in _SPEECH.finditer(text)
        if m.start() > 0 and (_SAYS.search(text[: m.start()]) or len(m[1]) > 12)
    ]
    at = 0
    for start, end in inner:
        if text[at : start - 1].strip():
            yield _Piece(said, number, plain[at : start - 1], text[at : start - 1])
        yield _Piece(said, number, plain[start:end], text[start:end], True, text[at : start - 1].rstrip("“ "))
        at = end + 1
    if text[at:].strip("”，。 "):
        yield _Piece(said, number, plain[at:], text[at:])


class _Lexicon:
    """The names that the turn shows plainly, to be found again where they stand less plainly."""

    def __init__(self, pieces: list[_Piece], names: list[list[Found]]) -> None:
        kinds: dict[str, str] = {}
        for piece, found in zip(pieces, names, strict=True):
            for one in found:
                text = piece.normal[one.start : one.end]
                if len(text) > 1 and one.sure >= 0.7:
                    kinds.setdefault(text, one.kind)
        self._kinds = kinds

    def more(self, text: str, found: list[Found]) -> list[Found]:
        """The names of a sentence: its own, and those known from elsewhere in the turn."""
        again: list[Found] = []
        for name, kind in self._kinds.items():
            at = text.find(name)
            while at >= 0:
                again.append(Found(at, at + len(name), kind, 0.9))
                at = text.find(name, at + len(name))
        longer = [
            f for f in found if not any(a.start <= f.start and f.end <= a.end and a != f for a in again)
        ]
        return sorted([*longer, *again], key=lambda f: (-(f.end - f.start), f.start))


@cache
def _vocatives() -> tuple[re.Pattern[str], ...]:
    greet = one_of(listed("greetings"))
    term = f"(?:我(?:的|亲爱的))?{one_of(listed('endearments'))}"
    who = f"(?P<x>{{P}}|{term})"
    return (
        compiled(f"^(?:{greet}[，,！!。.…、\\s~]{{0,3}}){{0,3}}{who}(?=[，,！!…？?~] ?[^\\s])"),
        compiled(f"^(?:{greet}[，,！!。.…、\\s~]{{0,3}}){{1,3}}{who}(?=[，,。！!？?….~]|$)"),
        compiled(f"[，,]{who}(?=[。！!？?….~]{{0,3}}$)"),
        compiled("^(?P<x>{P})(?=[。.！!]{1,3}$)"),
        compiled("^(?P<x>{P}) ?(?={P}[^的和跟与]|你|我)"),
        compiled(f"[，,] ?{who}(?=[，,] ?(?:{{P}}|别|请|不|快|来|可以|能))"),
    )


def _called(scene: Scene) -> Iterator[Assertion]:
    """By which name somebody is addressed."""
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
            sure = 0.7 * known.sure if known is not None else 0.35
            made = scene.claim(Claim.ALIAS, scene.you or "@you", sure=sure, value=name, type=PERSON)
            if made and made.value != made.subject:
                yield made
            return


def _nodes(scene: Scene, said: list[Assertion]) -> Iterator[Assertion]:
    """What is there: every name that the sentence uses, with its type."""
    typed = {a.subject: a.type for a in said if a.type} | {
        a.object: a.object_type for a in said if a.object_type
    }
    used = {a.subject for a in said} | {a.object for a in said}
    for one in scene.marked.mentions:
        if one.kind in KIND_OF and not one.name.startswith("@") and not one.of:
            # what only looks like a name counts where something is said of it
            sure = one.sure if one.sure >= 0.6 else 0.6 if one.name in used else 0.4
            made = scene.claim(Claim.NODE, one.name, sure=sure, type=typed.get(one.name) or KIND_OF[one.kind])
            if made:
                yield made


def _last_person(scene: Scene) -> str:
    people = [scene.settle(m) for m in scene.marked.mentions if m.kind == "P" and m.name != "@i"]
    return people[0] if people else ""


def _once(found: list[Assertion]) -> list[Assertion]:
    """Each thing once, where it is said most surely; nodes that only repeat a name are left out."""
    best: dict[tuple[str, ...], Assertion] = {}
    for one in found:
        # a pronoun means somebody else in another message
        where = str(one.source) if one.subject.startswith("@") or one.object.startswith("@") else ""
        key = (one.kind.value, one.subject, one.predicate, one.value, one.object, where)
        if key not in best or one.sure > best[key].sure:
            best[key] = one
    return list(best.values())
