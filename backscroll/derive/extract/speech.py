"""Speech in a turn: the words of people and models, without text that programs injected.

Owns the guarantee that nothing is ever learned from injected memory, summaries, system reminders or tool output, nor from text
that repeats those: recalled text is never extracted again. The patterns of such text are data (`assertions_injected.toml`).
Refuses: reading sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import cast

from backscroll.derive.digests.calls import kind_of
from backscroll.derive.essence.sentences import sentences
from backscroll.derive.extract.runs import break_long_runs
from backscroll.derive.extract.utterance import Utterance
from backscroll.vocab.handle import IN_TEXT
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.part import Json, Text, ToolResult
from backscroll.vocab.values.pattern import late
from backscroll.vocab.values.table import read_table

#: Our own mark on a message that replaces others.
_OURS = "backscroll"
_TAG = late(r"<(/?)([A-Za-z][A-Za-z0-9_.:-]{1,60})(?:=[^<>\s]{1,80})?(?:[ \t][^<>\n]{0,400})?(/?)>")
_QUOTED = late(r"^[ \t]{0,3}>[^\n]*$", re.MULTILINE)
_SPACE = late(r"\s+")
_EDGE = late(
    r"^[\s>*_`#\"'“”‘’「」『』()（）\[\]•·\-+\d.、)）]+|[\s*_`\"'“”‘’「」『』()（）\[\]。．.!！?？,，;；:：…]+$"
)
_WIDE = 400_000  # characters of one text that are examined
_HAY = 600_000  # characters of tool output that are compared with speech
_TELLING = 8  # letters from which a repeated sentence is not a coincidence; half as many Chinese characters
_CLAUSES = 12  # … and of a clause
_CLAUSE = late(r"[:：,，;；。.!！?？—–\n*_\"“”]+\s*|\s-\s")
_HAN = late(r"[\u3400-\u9fff\uf900-\ufaff]")
_SENTENCE = late(r"(?:[^.!?。！？\n]|\.(?=\S))+[.!?。！？]*")


@cache
def _table() -> Mapping[str, Mapping[str, list[str]]]:
    return read_table("backscroll.derive", "assertions_injected.toml")


def words_of(section: str, key: str) -> tuple[str, ...]:
    """Return a list from the table of injected text."""
    return tuple(_table()[section][key])


@cache
def _names(section: str) -> frozenset[str]:
    return frozenset(words_of(section, "names"))


@cache
def _answer() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{shape})" for shape in words_of("answers", "shapes")))


@cache
def _orders() -> re.Pattern[str]:
    """Return the pattern of sentences that instruct the reader to record something: they state no fact."""
    return re.compile("|".join(f"(?:{shape})" for shape in words_of("orders", "shapes")), re.IGNORECASE)


def counts(message: Message) -> bool:
    """Return True for a visible message of the user or the assistant that no program wrote in their name."""
    if message.role not in ("user", "assistant") or message.hidden or message.deleted:
        return False
    metadata = message.content.metadata
    return _OURS not in metadata and not _is_machine(metadata)


def _is_machine(metadata: Mapping[str, Json]) -> bool:
    """Return True for what another tool records under a role's name: summaries, reminders and errors."""
    for told in metadata.values():
        line: Json = cast("Mapping[str, Json]", told).get("line") if isinstance(told, Mapping) else None
        if isinstance(line, Mapping):
            facts = cast("Mapping[str, Json]", line)
            if any(facts.get(k) is True for k in ("isMeta", "isCompactSummary", "isApiErrorMessage")):
                return True
    return False


def speeches(messages: Sequence[Message]) -> list[Utterance]:
    """Return the messages of a turn that count, in order, each with only its real speech."""
    return collect_speech(messages)[0]


def collect_speech(messages: Sequence[Message]) -> tuple[list[Utterance], Echo]:
    """Return what people and models said in a turn, and what programs inserted."""
    others = _addressees(messages)
    out: list[Utterance] = []
    programs = Echo()
    for message in messages:
        if counts(message):
            said, injected = separate_injected(message)
            programs.note(message.revision, injected)
            text = programs.without(said)
            if text.strip():
                speaker = (message.author or "").strip()
                who = speaker or message.role
                out.append(Utterance(text, message.revision, speaker, message.role, others.get(who, "")))
        elif message.role != "system":
            programs.note(message.revision, (p.text for p in message.parts if isinstance(p, Text)))
        programs.note(message.revision, _results(message))
    return out, programs


def _addressees(messages: Sequence[Message]) -> dict[str, str]:
    """Return the addressee of each speaker, if exactly two speak."""
    names = list(dict.fromkeys((m.author or "").strip() or m.role for m in messages if counts(m)))
    return {names[0]: names[1], names[1]: names[0]} if len(names) == 2 else {}


def _results(message: Message) -> Iterator[str]:
    for part in message.parts:
        if isinstance(part, ToolResult):
            yield from (inner.text for inner in part.content if isinstance(inner, Text))


def separate_injected(message: Message) -> tuple[str, list[str]]:
    """Return what was said in a message, and what a program inserted into it."""
    said: list[str] = []
    injected: list[str] = []
    for part in message.parts:
        if isinstance(part, Text):
            kept, gone = cleaned_text(part.text)
            said.append(kept)
            injected += gone
    return "\n\n".join(text for text in said if text.strip()), injected


def cleaned_text(text: str) -> tuple[str, list[str]]:
    """Return a text without what a program inserted, and that part. White space replaces what was removed."""
    text = break_long_runs(text[:_WIDE])
    gone: list[str] = []
    answered = bool(_answer().match(text.lstrip()))
    kept = _without_blocks(text, gone, only_wrapped=answered)
    kept = _without_frames(kept, gone)
    gone += _QUOTED.findall(kept)
    kept = _QUOTED.sub("", kept)
    if IN_TEXT.search(kept):
        lines = kept.split("\n")
        gone += [line for line in lines if IN_TEXT.search(line)]
        kept = "\n".join("" if IN_TEXT.search(line) else line for line in lines)
    if _orders().search(kept):
        kept = _SENTENCE.sub(lambda one: " " if _orders().search(one[0]) else one[0], kept)
    return kept, gone


def _normalize_tag(tag: str) -> str:
    return tag.lower().replace("-", "_").rsplit(":", 1)[-1]


@lru_cache(maxsize=1024)
def _goes(name: str) -> bool:
    """Return True for the name of a block that a program wrote."""
    if name in _names("wrappers"):
        return False
    return (
        name in _names("blocks")
        or name.endswith(words_of("blocks", "endings"))
        or ("_" in name and kind_of(name) != "other")  # a tool call written out in the text
    )


def _without_blocks(text: str, gone: list[str], *, only_wrapped: bool) -> str:
    """Return the text without blocks of programs and tags of wrappers, in one pass over its tags."""
    tags = list(_TAG.finditer(text)) if "<" in text else []
    if only_wrapped and not any(_normalize_tag(t[2]) in _names("wrappers") for t in tags):
        gone.append(text)
        return ""
    ends = _ends(tags)
    out: list[str] = []
    at = 0
    inside = 0  # wrappers that are open
    for n, tag in enumerate(tags):
        if tag.start() < at:
            continue
        name = _normalize_tag(tag[2])
        if name in _names("wrappers"):
            _keep(out, gone, text[at : tag.start()], said=not only_wrapped or inside > 0)
            inside = max(0, inside + (-1 if tag[1] else 1))
            at = tag.end()
        elif not tag[1] and not tag[3] and _goes(name):
            end = ends.get(n)
            if end is None and not _opens_rest(text, tag, name):
                continue
            stop = len(text) if end is None else end
            _keep(out, gone, text[at : tag.start()], said=not only_wrapped or inside > 0)
            gone.append(text[tag.end() : stop])
            at = stop
    _keep(out, gone, text[at:], said=not only_wrapped or inside > 0)
    return "\n\n".join(out)


def _keep(out: list[str], gone: list[str], piece: str, *, said: bool) -> None:
    if piece.strip():
        (out if said else gone).append(piece)


def _opens_rest(text: str, tag: re.Match[str], name: str) -> bool:
    """Return True if an opening tag without an end hides the rest: only if it looks like a program's, alone on its line."""
    line = text.rfind("\n", 0, tag.start()) + 1
    after = text[tag.end() : tag.end() + 1]
    return not text[line : tag.start()].strip() and after in ("", "\n") and "_" in name


def _ends(tags: Sequence[re.Match[str]]) -> dict[int, int]:
    """Return the end of the closing tag for each opening tag. Tags of one name may nest."""
    open_: dict[str, list[int]] = {}
    out: dict[int, int] = {}
    for n, tag in enumerate(tags):
        name = _normalize_tag(tag[2])
        if tag[3]:
            continue
        if not tag[1]:
            open_.setdefault(name, []).append(n)
        elif open_.get(name):
            out[open_[name].pop()] = tag.end()
    return out


def _without_frames(text: str, gone: list[str]) -> str:
    """Return the text without paragraphs that begin as memories and summaries do, and without our own frames at its end."""
    low = text.lower()
    tails, heads = words_of("tails", "heads"), words_of("paragraphs", "heads")
    if not any(head in low for head in (*tails, *heads)):
        return text
    out: list[str] = []
    lines = text.split("\n")
    dropping = False
    for n, line in enumerate(lines):
        begins = _SPACE.sub(" ", line.strip(" \t*#_>-")).lower()
        raw = _SPACE.sub(" ", line.strip()).lower()
        if begins.startswith(tails) or raw.startswith(tails):
            gone += lines[n:]
            break
        if begins.startswith(heads) or raw.startswith(heads):
            dropping = True
        elif not line.strip():
            dropping = False
        if dropping:
            gone.append(line)
        out.append("" if dropping else line)
    return "\n".join(out)


# -- echoes ------------------------------------------------------------------------------------------------------


def fold_text(text: str) -> str:
    """Return a text in lower case with single spaces, for comparing."""
    return _SPACE.sub(" ", text.casefold())


def bare(sentence: str) -> str:
    """Return a sentence without marks, quotes and punctuation around it, for comparing."""
    return fold_text(_EDGE.sub("", _EDGE.sub("", sentence)))


class Echo:
    """Program output so far in a turn, for recognising repetitions."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._room = _HAY
        self._before: dict[Ref, int] = {}  # number of pieces when a message was said

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def note(self, message: Ref, texts: Iterable[str]) -> None:
        """Record what a program said in, or as, this message; only the beginning of long output."""
        for text in texts:
            if self._room > 0 and text.strip():
                self._pieces.append(fold_text(text[: self._room]))
                self._room -= len(text)
        self._before[message] = len(self._pieces)

    def is_injected(self, text: str, message: Ref) -> bool:
        """Return True if a program had said this, in the same words, before a message."""
        needle = fold_text(text).strip()
        return bool(needle) and any(needle in piece for piece in self._pieces[: self._before.get(message, 0)])

    def without(self, text: str) -> str:
        """Return a text without sentences that a program said earlier in the same words."""
        if not self._pieces or not text.strip():
            return text
        out: list[str] = []
        at = 0
        for piece in sentences(text):
            if piece.shape != "code" and self._repeats(piece.text):
                out.append(text[at : piece.start])
                at = piece.end
        return "\n".join([*out, text[at:]]) if at else text

    def _repeats(self, sentence: str) -> bool:
        """Return True if a program said a sentence, or a whole clause of it, before."""
        needles = [n for n in (bare(clause) for clause in _CLAUSE.split(sentence)) if _is_clause(n)]
        whole = bare(sentence)
        if len(whole) >= _TELLING or len(_HAN.findall(whole)) >= _TELLING // 2:
            needles.append(whole)
        # The latest output is repeated most often.
        return any(needle in hay for hay in reversed(self._pieces) for needle in needles)


def _is_clause(text: str) -> bool:
    """Return True if a clause is long enough to be distinctive: three words, or five characters."""
    return (len(text) >= _CLAUSES and text.count(" ") >= 2) or len(_HAN.findall(text)) >= _CLAUSES // 2 - 1
