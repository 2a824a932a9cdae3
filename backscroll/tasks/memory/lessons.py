"""What was learned in a task: what failed and why, what then worked, what was refused, why it was given up.

Owns the pairing of errors with what mended them: of tools by their aim, of people by what they said before and after. Every note
quotes its sources. Before: `derive/digest`, `derive/essence/cues`. After: `tasks/memory/memory`; `engine/work/memory/memories` gives them as
hints when the like comes up again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from backscroll.derive.digest import Digest
from backscroll.derive.essence.cues import Marked, marked
from backscroll.tasks.memory.arcs import Arc, trouble_before
from backscroll.tasks.memory.notes import Note, aim, deed, failed, quoted, worked
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.task import MemoryKind, Task, TaskState

MOST = 10  # lessons from errors, the newest
CORRECTIONS = 4
_DEEDS = 4
_WIDE = 20_000
_BARE = 14  # bytes of a correction that says nothing by itself


def lessons_of(
    state: TaskState,
    said: Sequence[Message],
    digests: Sequence[Digest],
    words: Mapping[str, str],
    arcs: Sequence[Arc] = (),
) -> list[Note]:
    """What the messages of a task teach that ended in this state."""
    paired, left = _paired(said, digests, words)
    if state is not TaskState.COMPLETED:
        paired = [*paired, *left]
    # What tools showed and people told may be the same trouble: one lesson is enough.
    known = {source for note in paired for source in note.sources}
    learned = [note for note in _learned(said, arcs, words) if not known & set(note.sources)]
    known |= {source for note in learned for source in note.sources}
    heard = [note for note in _said(state, said, words) if not known & set(note.sources)]
    return [*paired[-MOST:], *learned, *heard[-MOST:], *_corrections(said, words)]


def _learned(said: Sequence[Message], arcs: Sequence[Arc], words: Mapping[str, str]) -> Iterator[Note]:
    """What was wrong, why, what was done about it and what shows that it helped."""
    after = 0
    for arc in arcs:
        if arc.cause is None:
            continue
        trouble = trouble_before(said, after, arc)
        line = words["cause"].format(text=arc.line())
        told = arc.parts if trouble is None else (trouble, *arc.parts)
        text = line if trouble is None else words["stop"].join((_trouble(trouble.text, words), line))
        sources = tuple(dict.fromkeys(part.message.revision for part in told))
        sure = 0.8 if arc.fix is not None and arc.evidence is not None else 0.6
        home = arc.cause.message
        yield Note(MemoryKind.LESSON, text, (home.id,), sources, told[-1].message.at, sure, sort="arc")
        after = 1 + max(n for n, m in enumerate(said) if any(m is part.message for part in arc.parts))


def _trouble(text: str, words: Mapping[str, str]) -> str:
    return words["trouble"].format(text=quoted(text, 160)).rstrip(".。!！?？")


# -- what was decided about the task -----------------------------------------------------------------------------


def verdicts_of(task: Task, words: Mapping[str, str]) -> Iterator[Note]:
    """What was refused and why, and why a task was given up."""
    for attempt in task.attempts:
        if attempt.verdict != "refused":
            continue
        result = words["refused_result"].format(text=quoted(attempt.result)) if attempt.result.strip() else ""
        if attempt.feedback.strip():
            key = "refused" if attempt.result.strip() else "incomplete"
            text = f"{words[key].format(text=quoted(attempt.feedback, 500))} {result}".strip()
        else:
            text = words["refused_silently"].format(text=quoted(attempt.result) or "–")
        yield Note(
            MemoryKind.LESSON, text, (attempt.event,), (attempt.event,), attempt.at, 1.0, sort="verdict"
        )
    if task.state is TaskState.CANCELLED:
        reason = quoted(task.reason, 500)
        title = f" ({quoted(task.title, 120)})" if task.title else ""
        text = words["cancelled"].format(text=reason) if reason else words["cancelled_silently"]
        yield Note(
            MemoryKind.LESSON,
            f"{text}{title}",
            (task.event,),
            (task.event,),
            task.ended or task.began,
            1.0,
            sort="cancelled",
        )


# -- errors of tools ---------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Trouble:
    """The same thing failing, perhaps several times."""

    first: Digest
    last: int  # place of the last failure among the digests
    times: int = 1
    homes: list[Ref] = field(default_factory=list[Ref])


def _paired(
    said: Sequence[Message], digests: Sequence[Digest], words: Mapping[str, str]
) -> tuple[list[Note], list[Note]]:
    """Lessons of what failed and then worked; and of what still failed at the end."""
    revisions = {m.id: m.revision for m in said}
    order = {m.id: place for place, m in enumerate(said)}
    open_now: dict[str, _Trouble] = {}
    out: list[Note] = []
    for place, digest in enumerate(digests):
        name, home = aim(digest), digest.result or digest.call
        if failed(digest):
            trouble = open_now.get(name)
            if trouble is None:
                open_now[name] = _Trouble(digest, place, homes=[home])
            else:
                trouble.last, trouble.times = place, trouble.times + 1
        elif worked(digest) and name in open_now:
            trouble = open_now.pop(name)
            between = digests[trouble.last + 1 : place]
            cause = _cause(said, order.get(trouble.homes[0], 0), order.get(home, len(said)))
            note = _lesson(trouble, digest, between, cause, revisions, words)
            if note is not None:
                out.append(note)
    failing = [
        _note(
            words["unresolved"].format(text=f"{deed(t.first)}{words['colon']}{quoted(t.first.summary)}"),
            t.homes,
            revisions,
            t.first.timestamp,
            0.6,
        )
        for t in open_now.values()
    ]
    return out, failing


def _lesson(
    trouble: _Trouble,
    success: Digest,
    between: Sequence[Digest],
    cause: tuple[str, Message] | None,
    revisions: Mapping[Ref, Ref],
    words: Mapping[str, str],
) -> Note | None:
    why = quoted(trouble.first.summary)
    key = "failed_then" if trouble.times == 1 else "failed_times"
    parts = [words[key].format(what=deed(trouble.first), why=why, n=trouble.times)]
    homes = list(trouble.homes)
    if cause is not None:
        parts.append(words["cause"].format(text=quoted(cause[0])))
        homes.append(cause[1].id)
    mended = [d for d in between if worked(d) and d.kind in ("edit", "write")]
    mended = mended or [d for d in between if worked(d) and d.kind == "command"]
    deeds = list(dict.fromkeys(deed(d) for d in mended))[-_DEEDS:]
    other = deed(success) if not deeds and deed(success) != deed(trouble.first) else ""
    if deeds or other:
        parts.append(words["worked_after"].format(deeds=words["comma"].join(deeds) or other))
        homes += [d.call for d in mended[-_DEEDS:]]
    elif cause is None and trouble.first.kind in ("edit", "write", "read", "list"):
        return None  # a slip of the pen that the next try put right
    else:
        parts.append(words["then_worked"])
    homes.append(success.result or success.call)
    # The first failure names the lesson; more tries do not make it another one.
    return _note(
        words["stop"].join(part.rstrip(".。") for part in parts), homes, revisions, success.timestamp, 0.8
    )


def _note(text: str, homes: Sequence[Ref], revisions: Mapping[Ref, Ref], at: str, confidence: float) -> Note:
    sources = tuple(dict.fromkeys(revisions.get(home, home) for home in homes))
    return Note(MemoryKind.LESSON, text, (homes[0],), sources, at, confidence, sort="tool")


def _cause(said: Sequence[Message], first: int, last: int) -> tuple[str, Message] | None:
    """What the assistant found out between two messages: the sentence that says why, the last one of the best."""
    best: tuple[float, str, Message] | None = None
    for message in said[first + 1 : last + 1]:
        if message.role != "assistant":
            continue
        for piece in marked(message.text[:_WIDE]):
            score = _explains(piece)
            if score and (best is None or score >= best[0]):
                best = (score, piece.text, message)
    return None if best is None else (best[1], best[2])


def _explains(piece: Marked) -> float:
    if piece.sentence.shape in ("code", "heading", "row") or piece.cues & {"question", "filler"}:
        return 0.0
    if "finding" in piece.cues:
        return 2.0 + ("reason" in piece.cues)
    return 1.0 if {"error", "reason"} <= piece.cues else 0.0


# -- errors that people tell -------------------------------------------------------------------------------------


def _said(state: TaskState, said: Sequence[Message], words: Mapping[str, str]) -> Iterator[Note]:
    """What the user said was wrong, with what the assistant found, once the user (or a verdict) says that it works."""
    trouble: tuple[str, Message] | None = None
    began = 0
    for place, message in enumerate(said):
        if message.role != "user":
            continue
        pieces = [p for p in marked(message.text[:_WIDE]) if p.sentence.shape != "code"]
        well = any("success" in p.cues and not p.cues & {"error", "question"} for p in pieces)
        if trouble is not None and well:
            note = _solved(trouble, said, began, place, words)
            if note is not None:
                yield note
            trouble = None
        wrong = [p for p in pieces if "error" in p.cues and not p.cues & {"success", "done"}]
        if wrong and not well:
            if trouble is None:
                began = place
            trouble = (wrong[-1].text, message)
    if trouble is not None and state is TaskState.COMPLETED:
        note = _solved(trouble, said, began, len(said) - 1, words)
        if note is not None:
            yield note


def _solved(
    trouble: tuple[str, Message], said: Sequence[Message], first: int, last: int, words: Mapping[str, str]
) -> Note | None:
    found = _cause(said, first, last)
    if found is None:
        return None
    text = words["stop"].join(
        (
            words["trouble"].format(text=quoted(trouble[0])),
            words["cause"].format(text=quoted(found[0])),
        )
    )
    asked, answer = trouble[1], found[1]
    sources = tuple(dict.fromkeys((asked.revision, answer.revision)))
    return Note(MemoryKind.LESSON, text, (asked.id,), sources, answer.at, 0.7, sort="told")


def _corrections(said: Sequence[Message], words: Mapping[str, str]) -> list[Note]:
    """What the user put right, where it says what is right."""
    out: list[Note] = []
    for place, message in enumerate(said):
        if message.role != "user" or not any(m.role == "assistant" for m in said[:place]):
            continue
        for piece in marked(message.text[:_WIDE]):
            if "correction" not in piece.cues or piece.cues & {"question", "success"}:
                continue
            if piece.sentence.shape == "code" or len(piece.text.encode("utf-8", "surrogatepass")) < _BARE:
                continue
            text = words["corrected"].format(text=quoted(piece.text))
            out.append(
                Note(
                    MemoryKind.LESSON,
                    text,
                    (message.id,),
                    (message.revision,),
                    message.at,
                    0.7,
                    sort="correction",
                )
            )
    return out[-CORRECTIONS:]
