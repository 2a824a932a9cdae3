"""Reader of essentials: what a stretch of messages opens and settles. Local, so that an edit re-derives little.

Words are read by the cues of their sentences, tool calls by their digests: an error that a tool reports is open until the
same tool succeeds at the same target; a list of to-dos replaces the list before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from backscroll.derive.digest import Digest, digests_of
from backscroll.derive.essence.cues import (
    CODE,
    ID,
    NUMBER,
    CueSentence,
    box_text,
    ids_in,
    mark_sentences,
    paths_in,
)
from backscroll.derive.essence.essentials import (
    LONGEST_NAME,
    Close,
    Essential,
    EssentialKind,
    Findings,
    Mark,
    fold,
)
from backscroll.derive.essence.resolution import (
    ANNOUNCED,
    NearClose,
    bare_verb,
    claimed_well,
    done_clauses,
    is_courtesy,
)
from backscroll.derive.essence.sentences import Sentence
from backscroll.derive.essence.tool_calls import (
    LONGEST,
    WIDE,
    make_essential,
    name_essential,
    read_call,
    read_outcome,
)
from backscroll.derive.essence.tuning import (
    BOX_WEIGHT,
    CONSTRAINT_WEIGHTS,
    DECISION_WEIGHTS,
    ERROR_WEIGHTS,
    FEW_PATHS,
    FEW_PATHS_WEIGHT,
    ID_WEIGHTS,
    MANY_PATHS_WEIGHT,
    PASTED_ERROR_WEIGHT,
    TODO_WEIGHTS,
)
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message, Role
from backscroll.vocab.part import Text, ToolCall
from backscroll.vocab.values.pattern import late

_NAME = 240  # characters of a completion sentence that are kept to recognise it
_BARE = 40  # characters of a heading that needs the following text
_STRONG = late(r"decid|decision|chose|opted|agreed|settled|决定|采用|改用|敲定|选用|商定")
_FIRM = late(r"\b(?:i|we)(?:'ve| have)? decided\b|(?:我们?|咱们?)(?:已经)?决定")
_HARD = late(r"must|never|forbidden|not allowed|under no circumstances|必须|禁止|不得|严禁|务必")
_STILL = late(r"still|fail|remain|unresolved|not (?:yet )?(?:fixed|working)|失败|报错|仍|无法|没有解决")
_LOUD = late(
    r"^(?![ \t]*(?:\d+[ \t]*[:|→]|except|raise|throw|at |import|from|#|//|public|catch|\*))"
    r"[^\n]{0,80}?(?:\b[\w.]*(?:Error|Exception)(?:[:：]| [A-Z])|\b(?:error|fatal|panic)(?:\[\w+\])?[:：]|(?:错误|异常)[:：])[^\n]{0,240}$",
    re.MULTILINE,
)
_READ = 1024  # messages whose findings are cached


def findings(messages: Sequence[Message], digests: Sequence[Digest] | None = None) -> Findings:
    """Return what these messages leave open and settle; a reply must come with the results of its calls."""
    done = digests_of(messages) if digests is None else digests
    return fold(marks(messages, done))


def essentials(messages: Sequence[Message]) -> tuple[Essential, ...]:
    """Return the essentials that are open at the end of these messages."""
    return findings(messages).open


def marks(messages: Sequence[Message], digests: Sequence[Digest]) -> Iterator[Mark]:
    """Yield what the messages open and settle, in order."""
    ended: dict[Ref, list[Digest]] = {}
    for digest in digests:
        if digest.result is not None:
            ended.setdefault(digest.result, []).append(digest)
    for message in messages:
        if message.role in ("user", "assistant"):
            yield from _marks_of(message.id, message.revision, message.role, message.text)
        for part in message.parts:
            if isinstance(part, ToolCall):
                yield from read_call(message, part)
        for digest in ended.pop(message.id, ()):
            yield from read_outcome(digest, message.revision)


@lru_cache(maxsize=_READ)
def _marks_of(name: Ref, revision: Ref, role: Role, text: str) -> tuple[Mark, ...]:
    """Return what one message opens and settles. Cached: gists need it, and every compaction while it is in the window."""
    return tuple(_words(Message(name, role, revision, Content((Text(text),)), "")))


def let_go() -> None:
    """Clear the cache of messages."""
    _marks_of.cache_clear()


class _SentencePlace(NamedTuple):
    """A sentence in context: its message, the text, all sentences, and its number."""

    message: Message
    text: str
    pieces: tuple[CueSentence, ...]
    at: int

    @property
    def piece(self) -> CueSentence:
        """The sentence."""
        return self.pieces[self.at]

    @property
    def following(self) -> CueSentence | None:
        """The next sentence."""
        return self.pieces[self.at + 1] if self.at + 1 < len(self.pieces) else None


# -- words -------------------------------------------------------------------------------------------------------


def _words(message: Message) -> Iterator[Mark]:
    text = message.text[:WIDE]
    if not text.strip():
        return
    user = message.role == "user"
    yield Close("question/assistant" if user else "question/user")
    pieces_ = mark_sentences(text)
    if not user and any("todo" in p.cues and p.sentence.shape != "code" for p in pieces_):
        yield Close("todo/next")  # the next steps of a reply replace those of the last one
    well = claimed_well([p.text for p in pieces_ if p.sentence.shape in ("prose", "item")])
    if well:
        yield Close("error/near", str(NearClose(message.id.seq, "", well)))
    for index, piece in enumerate(pieces_):
        if piece.sentence.shape == "code":
            if user:
                yield from _read_pasted_error(message, piece.sentence)
            continue
        yield from _sentence(_SentencePlace(message, text, pieces_, index), user=user)
    if user:
        paths = paths_in(text)
        # A few paths are the user's subject; many are a pasted listing.
        yield from _read_names(
            message,
            paths,
            EssentialKind.PATH,
            FEW_PATHS_WEIGHT if len(paths) <= FEW_PATHS else MANY_PATHS_WEIGHT,
        )
    yield from _read_names(message, ids_in(text), EssentialKind.ID, ID_WEIGHTS[not user])


def _read_names(message: Message, names: Sequence[str], kind: EssentialKind, weight: float) -> Iterator[Mark]:
    for name in [n for n in names if len(n) <= LONGEST_NAME][:40]:
        yield Essential(kind, name, message.revision, message.id, kind.value, name, weight)


def _sentence(place: _SentencePlace, *, user: bool) -> Iterator[Mark]:
    message, piece = place.message, place.piece
    cues, text = piece.cues, piece.text
    if cues & {"box", "ticked"}:
        yield from _box(message, piece)
        return
    if piece.sentence.shape in ("heading", "row"):
        return
    yield from _read_closes(message, piece, user=user)
    asks = "question" in cues
    if "todo" in cues and not asks and "filler" not in cues:
        whole = _with_items(place)
        yield make_essential(
            EssentialKind.TODO,
            whole,
            message,
            "todo/said" if user else "todo/next",
            TODO_WEIGHTS[not user],
            name=name_essential(text),
        )
    elif "constraint" in cues and not asks and (user or _HARD.search(text.lower())):
        whole = _with_items(place)
        if len(whole) > _BARE or not whole.endswith((":", "：", "*")):
            weight = CONSTRAINT_WEIGHTS[not user]
            yield make_essential(EssentialKind.CONSTRAINT, whole, message, "constraint", weight)
    decided = ("decision" in cues or (user and "contrast" in cues)) and (
        not asks or bool(_FIRM.search(text.lower()))
    )
    if decided:
        reasoned = "reason" in cues or _gives_reason(place.following)
        if user or (reasoned and "filler" not in cues) or _STRONG.search(text.lower()):
            yield _decision(place, weight=DECISION_WEIGHTS[not user])
    if "error" in cues and not decided:
        yield from _trouble(message, piece, user=user)
    if asks and (user or not is_courtesy(text)):
        group = "question/user" if user else "question/assistant"
        yield make_essential(EssentialKind.QUESTION, text, message, group, 1.0)


def _box(message: Message, piece: CueSentence) -> Iterator[Mark]:
    what = box_text(piece.text)
    if "ticked" in piece.cues:
        yield Close("todo/box", name_essential(what))
        yield Close("todo", what[:_NAME])
    else:
        yield make_essential(EssentialKind.TODO, what, message, "todo/box", BOX_WEIGHT)


def _read_closes(message: Message, piece: CueSentence, *, user: bool) -> Iterator[Mark]:
    """Yield what a sentence says is done; a question states nothing."""
    cues = piece.cues
    told = piece.text if "question" not in cues else _before_last(piece.text)
    for clause in done_clauses(told):
        if ANNOUNCED.search(clause):
            continue
        yield Close("todo", clause)
        verb = bare_verb(clause)
        if verb is not None:
            yield Close("todo/near", str(NearClose(message.id.seq, verb, "")))
    if "success" in cues and not cues & {"error", "question"}:
        yield Close("error/told")
        if user:
            yield Close("error/said")


def _before_last(question: str) -> str:
    """Return what precedes the last comma of a question: "Added it, anything else?"."""
    return question[: max(question.rfind(","), question.rfind("，"), 0)]


def _with_items(place: _SentencePlace) -> str:
    """Return a sentence that announces a list together with its items."""
    piece, following = place.piece, place.following
    if (
        not piece.text.rstrip("* ").endswith((":", "："))
        or following is None
        or following.sentence.shape != "item"
    ):
        return piece.text
    start, end = piece.sentence.start, piece.sentence.end
    for number in range(place.at + 1, len(place.pieces)):
        other = place.pieces[number].sentence
        if other.shape != "item" or other.end - start > LONGEST:
            break
        end = other.end
    return place.text[start:end]


def _gives_reason(following: CueSentence | None) -> bool:
    return following is not None and "reason" in following.cues and following.sentence.shape == "prose"


def _decision(place: _SentencePlace, *, weight: float) -> Essential:
    """Return a decision together with its reason, which may be the next sentence."""
    message, piece, following = place.message, place.piece, place.following
    text = piece.text
    if "reason" not in piece.cues and following is not None and _gives_reason(following):
        both = place.text[piece.sentence.start : following.sentence.end]
        text = both if len(both) <= LONGEST else text
    return make_essential(EssentialKind.DECISION, text, message, "decision", weight)


def _trouble(message: Message, piece: CueSentence, *, user: bool) -> Iterator[Mark]:
    text = piece.text
    settled = bool(piece.cues & {"done", "success"}) or bool(claimed_well([text]))
    if user:
        vague = "question" in piece.cues and not (NUMBER.search(text) or CODE.search(text) or ID.search(text))
        if not settled and not vague and (len(text) > _BARE or not text.endswith((":", "："))):
            yield make_essential(EssentialKind.ERROR, text, message, "error/said", ERROR_WEIGHTS[0])
    elif not settled and "question" not in piece.cues and _STILL.search(text.lower()):
        yield make_essential(EssentialKind.ERROR, text, message, "error/told", ERROR_WEIGHTS[1])


def _read_pasted_error(message: Message, fence: Sentence) -> Iterator[Mark]:
    """Yield the error in a block that a user pasted: its last error line."""
    loud = [m[0].strip() for m in _LOUD.finditer(fence.text[-8000:])]
    if loud:
        yield make_essential(EssentialKind.ERROR, loud[-1], message, "error/said", PASTED_ERROR_WEIGHT)
