"""What one stretch of messages says about essentials: what it opens and what it settles. Local, so that an edit re-derives little.

Words are read by the cues of their sentences, tool calls by their digests: an error that a tool reports is open until the same
tool succeeds at the same target; a list of to-dos replaces the list before it. Before: `derive/essence/cues`,
`derive/digest`. After: `derive/essence/essentials` folds the marks.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, cast

from backscroll.derive.digest import Digest, digests_of
from backscroll.derive.digests.asking import Asked, asked, scalars
from backscroll.derive.essence.cues import CODE, ID, NUMBER, Marked, box_text, ids_in, marked, paths_in
from backscroll.derive.essence.essentials import LONGEST_NAME, Close, Essential, Findings, Kind, Mark, fold
from backscroll.derive.essence.sentences import Sentence
from backscroll.derive.essence.settling import (
    ANNOUNCED,
    NearClose,
    bare_verb,
    claimed_well,
    done_clauses,
    is_courtesy,
)
from backscroll.derive.summaries.clusters import pieces
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message, Role
from backscroll.vocab.part import Json, Text, ToolCall
from backscroll.vocab.values.pattern import late

LONGEST = 320  # characters of an essential; longer sentences are cut in their middle
_NAME = 240  # characters of a sentence about something done that are kept to recognise it
_FEW = 8
_BARE = 40  # characters of a heading that says nothing without what follows
_WIDE = 400_000  # characters of one message that are read; the rest of a dump is data
_STRONG = late(r"decid|decision|chose|opted|agreed|settled|决定|采用|改用|敲定|选用|商定")
_FIRM = late(r"\b(?:i|we)(?:'ve| have)? decided\b|(?:我们?|咱们?)(?:已经)?决定")
_HARD = late(r"must|never|forbidden|not allowed|under no circumstances|必须|禁止|不得|严禁|务必")
_STILL = late(r"still|fail|remain|unresolved|not (?:yet )?(?:fixed|working)|失败|报错|仍|无法|没有解决")
_LOUD = late(
    r"^(?![ \t]*(?:\d+[ \t]*[:|→]|except|raise|throw|at |import|from|#|//|public|catch|\*))"
    r"[^\n]{0,80}?(?:\b[\w.]*(?:Error|Exception)(?:[:：]| [A-Z])|\b(?:error|fatal|panic)(?:\[\w+\])?[:：]|(?:错误|异常)[:：])[^\n]{0,240}$",
    re.MULTILINE,
)
_QUIET = frozenset({"grep", "rg", "egrep", "diff", "test", "cmp", "which", "pgrep"})  # they fail to say no
_SCRIPTS = frozenset(
    {"python", "python3", "node", "bash", "sh", "ruby", "perl", "java", "uv", "npx", "deno", "bun", "php"}
)
_READ = 1024  # messages of which it is remembered what their words say
_RUN = frozenset({"run", "exec", "x"})
_TITLES = ("content", "step", "title", "description", "text", "task", "name", "subject")
_FINISHED = frozenset(
    {
        "completed",
        "complete",
        "done",
        "finished",
        "cancelled",
        "canceled",
        "skipped",
        "closed",
        "已完成",
        "完成",
    }
)
_ID_KEY = late(r"(?:^|_|[a-z])(?:ids?|Ids?|ID|number|email|sha|hash|uuid|code|ticket|order|account)$")
_ACTED: Mapping[str, float] = {"edit": 1.0, "write": 1.0, "command": 0.5, "read": 0.6, "database": 0.5}


def findings(messages: Sequence[Message], digests: Sequence[Digest] | None = None) -> Findings:
    """What these messages leave open and settle; a reply must stand with the results of its calls."""
    done = digests_of(messages) if digests is None else digests
    return fold(marks(messages, done))


def marks(messages: Sequence[Message], digests: Sequence[Digest]) -> Iterator[Mark]:
    """What the messages say, in order."""
    ended: dict[Ref, list[Digest]] = {}
    for digest in digests:
        if digest.result is not None:
            ended.setdefault(digest.result, []).append(digest)
    for message in messages:
        if message.role in ("user", "assistant"):
            yield from _marks_of(message.id, message.revision, message.role, message.text)
        for part in message.parts:
            if isinstance(part, ToolCall):
                yield from _call(message, part)
        for digest in ended.pop(message.id, ()):
            yield from _outcome(digest, message.revision)


@lru_cache(maxsize=_READ)
def _marks_of(name: Ref, revision: Ref, role: Role, text: str) -> tuple[Mark, ...]:
    """What the words of one message say. Remembered: gists, and every compaction as long as it is in the window, ask for it."""
    return tuple(_words(Message(name, role, revision, Content((Text(text),)), "")))


def let_go() -> None:
    """Forget what is remembered of words."""
    _marks_of.cache_clear()


class _Place(NamedTuple):
    """A sentence where it stands: its message, all words of it, all sentences, and which one it is."""

    message: Message
    text: str
    pieces: tuple[Marked, ...]
    at: int

    @property
    def piece(self) -> Marked:
        """The sentence."""
        return self.pieces[self.at]

    @property
    def following(self) -> Marked | None:
        """The one after it."""
        return self.pieces[self.at + 1] if self.at + 1 < len(self.pieces) else None


# -- words -------------------------------------------------------------------------------------------------------


def _words(message: Message) -> Iterator[Mark]:
    text = message.text[:_WIDE]
    if not text.strip():
        return
    user = message.role == "user"
    yield Close("question/assistant" if user else "question/user")
    pieces_ = marked(text)
    if not user and any("todo" in p.cues and p.sentence.shape != "code" for p in pieces_):
        yield Close("todo/next")  # a reply that says what comes next replaces what the last one said
    well = claimed_well([p.text for p in pieces_ if p.sentence.shape in ("prose", "item")])
    if well:
        yield Close("error/near", str(NearClose(message.id.seq, "", well)))
    for index, piece in enumerate(pieces_):
        if piece.sentence.shape == "code":
            if user:
                yield from _pasted(message, piece.sentence)
            continue
        yield from _sentence(_Place(message, text, pieces_, index), user=user)
    if user:
        paths = paths_in(text)
        # A few paths are what the user speaks of; many are a listing that was pasted.
        yield from _named(message, paths, Kind.PATH, 0.8 if len(paths) <= _FEW else 0.3)
    yield from _named(message, ids_in(text), Kind.ID, 0.9 if user else 0.5)


def _named(message: Message, names: Sequence[str], kind: Kind, weight: float) -> Iterator[Mark]:
    for name in [n for n in names if len(n) <= LONGEST_NAME][:40]:
        yield Essential(kind, name, message.revision, message.id, kind.value, name, weight)


def _sentence(place: _Place, *, user: bool) -> Iterator[Mark]:
    message, piece = place.message, place.piece
    cues, text = piece.cues, piece.text
    if cues & {"box", "ticked"}:
        yield from _box(message, piece)
        return
    if piece.sentence.shape in ("heading", "row"):
        return
    yield from _settled(message, piece, user=user)
    asks = "question" in cues
    if "todo" in cues and not asks and "filler" not in cues:
        whole = _with_items(place)
        yield _essential(
            Kind.TODO, whole, message, "todo/said" if user else "todo/next", _name(text), 1.2 if user else 1.0
        )
    elif "constraint" in cues and not asks and (user or _HARD.search(text.lower())):
        whole = _with_items(place)
        if len(whole) > _BARE or not whole.endswith((":", "：", "*")):
            yield _essential(
                Kind.CONSTRAINT, whole, message, "constraint", _name(whole), 1.3 if user else 0.6
            )
    decided = ("decision" in cues or (user and "contrast" in cues)) and (
        not asks or bool(_FIRM.search(text.lower()))
    )
    if decided:
        reasoned = "reason" in cues or _gives_reason(place.following)
        if user or (reasoned and "filler" not in cues) or _STRONG.search(text.lower()):
            yield _decision(place, weight=1.2 if user else 0.8)
    if "error" in cues and not decided:
        yield from _trouble(message, piece, user=user)
    if asks and (user or not is_courtesy(text)):
        group = "question/user" if user else "question/assistant"
        yield _essential(Kind.QUESTION, text, message, group, _name(text), 1.0)


def _box(message: Message, piece: Marked) -> Iterator[Mark]:
    what = box_text(piece.text)
    if "ticked" in piece.cues:
        yield Close("todo/box", _name(what))
        yield Close("todo", what[:_NAME])
    else:
        yield _essential(Kind.TODO, what, message, "todo/box", _name(what), 1.4)


def _settled(message: Message, piece: Marked, *, user: bool) -> Iterator[Mark]:
    """What a sentence says is over; what it asks, it does not say."""
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
    """What stands before the last comma of a question: "Added it, anything else?"."""
    return question[: max(question.rfind(","), question.rfind("，"), 0)]


def _with_items(place: _Place) -> str:
    """A sentence that announces a list is nothing without it."""
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


def _gives_reason(following: Marked | None) -> bool:
    return following is not None and "reason" in following.cues and following.sentence.shape == "prose"


def _decision(place: _Place, *, weight: float) -> Essential:
    """A decision together with its reason, which may be the next sentence."""
    message, piece, following = place.message, place.piece, place.following
    text = piece.text
    if "reason" not in piece.cues and following is not None and _gives_reason(following):
        both = place.text[piece.sentence.start : following.sentence.end]
        text = both if len(both) <= LONGEST else text
    return _essential(Kind.DECISION, text, message, "decision", _name(text), weight)


def _trouble(message: Message, piece: Marked, *, user: bool) -> Iterator[Mark]:
    text = piece.text
    settled = bool(piece.cues & {"done", "success"}) or bool(claimed_well([text]))
    if user:
        vague = "question" in piece.cues and not (NUMBER.search(text) or CODE.search(text) or ID.search(text))
        if not settled and not vague and (len(text) > _BARE or not text.endswith((":", "："))):
            yield _essential(Kind.ERROR, text, message, "error/said", _name(text), 1.0)
    elif not settled and "question" not in piece.cues and _STILL.search(text.lower()):
        yield _essential(Kind.ERROR, text, message, "error/told", _name(text), 0.6)


def _pasted(message: Message, fence: Sentence) -> Iterator[Mark]:
    """An error in a block that a user pasted: its last loud line."""
    loud = [m[0].strip() for m in _LOUD.finditer(fence.text[-8000:])]
    if loud:
        yield _essential(Kind.ERROR, loud[-1], message, "error/said", _name(loud[-1]), 1.1)


# -- tools -------------------------------------------------------------------------------------------------------


def _call(message: Message, call: ToolCall) -> Iterator[Mark]:
    wanted = asked(call.name, call.arguments)
    yield from _list(message, wanted)
    weight = _ACTED.get(wanted.kind)
    if weight is not None:
        source = (
            wanted.target
            if wanted.kind in ("read", "edit", "write")
            else "\n".join(scalars(dict(wanted.arguments)))[:4000]
        )
        found = paths_in(source)
        if wanted.kind in ("read", "edit", "write") and source and not found and " " not in source:
            found = (
                [source] if any(c.isalpha() for c in source) else []
            )  # a name without slash or suffix, or in another script
        for path in [p for p in found if len(p) <= LONGEST_NAME and not p.startswith("/dev/")][:6]:
            yield Essential(Kind.PATH, path, message.revision, message.id, "path", path, weight)
    elif wanted.kind in ("other", "web", "task"):
        for name in list(dict.fromkeys(n for n in _ids(wanted) if len(n) <= LONGEST_NAME))[:12]:
            yield Essential(Kind.ID, name, message.revision, message.id, "id", name, 0.8)


def _ids(wanted: Asked) -> Iterator[str]:
    for key, value in wanted.arguments.items():
        for text in scalars(value):
            if len(text) <= 80 and _ID_KEY.search(key) and text.strip() and "\n" not in text:
                yield text.strip()
            elif len(text) <= 400:
                yield from ids_in(text)


def _list(message: Message, wanted: Asked) -> Iterator[Mark]:
    """A list of to-dos that a tool keeps; the latest one wins."""
    items = next((v for v in wanted.arguments.values() if _is_list(v)), None)
    progress = wanted.arguments.get("task_progress")
    if wanted.kind != "todo" and items is None and not isinstance(progress, str):
        return
    rows: list[tuple[str, bool]] = []
    if items is not None:
        rows = [(_title(row), _finished(row)) for row in cast("list[Mapping[str, Json]]", items)]
    else:
        text = progress if isinstance(progress, str) else "\n".join(scalars(dict(wanted.arguments)))
        rows = [
            (box_text(p.text), "ticked" in p.cues) for p in marked(text[:_WIDE]) if p.cues & {"box", "ticked"}
        ]
    if not rows and wanted.kind != "todo":
        return
    if wanted.arguments.get("merge") is not True and (rows or items is not None):
        yield Close("todo/list")
    for what, finished in rows:
        if finished:
            yield Close("todo/list", _name(what))
        elif what:
            yield _essential(Kind.TODO, what, message, "todo/list", _name(what), 1.5)


def _is_list(value: Json) -> bool:
    if not isinstance(value, list) or not value:
        return False
    rows = cast("list[Json]", value)
    return all(
        isinstance(row, dict) and "status" in row and _title(cast("Mapping[str, Json]", row)) for row in rows
    )


def _title(row: Mapping[str, Json]) -> str:
    return next((str(row[k]).strip() for k in _TITLES if isinstance(row.get(k), str) and row[k].strip()), "")


def _finished(row: Mapping[str, Json]) -> bool:
    return str(row.get("status", "")).strip().lower().replace("-", "_") in _FINISHED


def _outcome(digest: Digest, revision: Ref) -> Iterator[Mark]:
    name = f"{digest.tool_name}|{_aim(digest)}"
    failed = digest.is_error or bool(digest.exit_code)
    if not failed:
        yield Close("error/tool", name)
        return
    if digest.kind == "search" or (digest.exit_code == 1 and _program(digest.target) in _QUIET):
        return
    text = (
        f"{digest.tool_name} {digest.target}: {digest.summary}"
        if digest.target
        else f"{digest.tool_name}: {digest.summary}"
    )
    home = digest.result or digest.call
    yield Essential(Kind.ERROR, _cut(text), revision, home, "error/tool", name, 1.0)


def _aim(digest: Digest) -> str:
    """What a call was aimed at, so that a later success is recognised as one of the same thing."""
    if digest.kind == "command":
        return command_name(digest.target)
    return digest.target if digest.kind in ("read", "write", "edit", "list", "web") else ""


def _program(command: str) -> str:
    return command_name(command).split(" ")[0]


def command_name(command: str) -> str:
    """A command without its place, its settings and its options: what two runs of the same thing have in common."""
    last = re.split(r"&&|;|\|\||\n", command.strip())
    parts = [
        p.strip()
        for p in last
        if p.strip() and not re.match(r"\s*(?:cd|export|source|set|echo)\b", p.strip())
    ]
    words = (parts[0] if parts else command).split("|")[0].split()
    while words and ("=" in words[0] or words[0] in ("sudo", "time", "env", "timeout")) and len(words) > 1:
        words = words[1:]
    if not words:
        return ""
    program = words[0].rsplit("/", 1)[-1]
    rest = words[1:]
    if program in _SCRIPTS and rest[:1] == ["-m"] and len(rest) > 1:
        return rest[1]
    plain = [w for w in rest if not w.startswith("-")]
    if program in _SCRIPTS:
        if plain and plain[0] in _RUN and len(plain) > 1:
            return command_name(" ".join(plain[1:]))
        return f"{program} {plain[0]}" if plain else program
    named = [w for w in plain[:2] if re.fullmatch(r"[a-z][a-z0-9:_-]*", w)]
    if not named or named[0] != (plain[0] if plain else ""):
        return program
    return " ".join([program, *(named if named[0] in _RUN else named[:1])])


def _essential(kind: Kind, text: str, message: Message, group: str, name: str, weight: float) -> Essential:
    return Essential(kind, _cut(text), message.revision, message.id, group, name, weight)


def _cut(text: str) -> str:
    text = text.strip()
    if len(text) <= LONGEST:
        return text
    return text[: LONGEST * 3 // 4].rstrip() + " … " + text[-LONGEST // 4 :].lstrip()


def _name(text: str) -> str:
    """Which to-do (constraint, …) it is, however it is spelled: a mark of its telling words."""
    words = " ".join(sorted(pieces(text))) or text.strip()
    return hashlib.blake2s(words.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
