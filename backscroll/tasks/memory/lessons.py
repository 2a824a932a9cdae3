"""Lessons of a task: failures and their causes, fixes, refused results, reasons for giving up.

Owns the pairing of errors with their fixes: for tools by target, for people by what they said before and after. Every note
quotes its sources.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from backscroll.derive.digest import Digest
from backscroll.derive.essence.cues import CueSentence, mark_sentences
from backscroll.tasks.memory.arcs import Arc, trouble_before
from backscroll.tasks.memory.tuning import BARE_CORRECTION, CORRECTIONS, DEEDS, LESSONS, READ
from backscroll.tasks.notes import (
    MemoryNote,
    aim,
    describe_call,
    has_failed,
    has_succeeded,
    quote_text,
)
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.task import MemoryKind, Task, TaskState


def lessons_of(
    state: TaskState,
    said: Sequence[Message],
    digests: Sequence[Digest],
    words: Mapping[str, str],
    arcs: Sequence[Arc] = (),
) -> list[MemoryNote]:
    """Return the lessons in the messages of a task that ended in this state."""
    paired, left = _learn_from_failures(said, digests, words)
    if state is not TaskState.COMPLETED:
        paired = [*paired, *left]
    # Tools and people may report the same problem: one lesson is enough.
    known = {source for note in paired for source in note.sources}
    learned = [note for note in _learn_from_arcs(said, arcs, words) if not known & set(note.sources)]
    known |= {source for note in learned for source in note.sources}
    heard = [note for note in _learn_from_user(state, said, words) if not known & set(note.sources)]
    return [*paired[-LESSONS:], *learned, *heard[-LESSONS:], *_corrections(said, words)]


def _learn_from_arcs(
    said: Sequence[Message], arcs: Sequence[Arc], words: Mapping[str, str]
) -> Iterator[MemoryNote]:
    """Yield the problem, its cause, the fix and the evidence."""
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
        yield MemoryNote(MemoryKind.LESSON, text, (home.id,), sources, told[-1].message.at, sure, sort="arc")
        after = 1 + max(n for n, m in enumerate(said) if any(m is part.message for part in arc.parts))


def _trouble(text: str, words: Mapping[str, str]) -> str:
    return words["trouble"].format(text=quote_text(text, 160)).rstrip(".。!！?？")


# -- what was decided about the task -----------------------------------------------------------------------------


def verdicts_of(task: Task, words: Mapping[str, str]) -> Iterator[MemoryNote]:
    """Yield refused results with the reasons, and why a task was given up."""
    for attempt in task.attempts:
        if attempt.verdict != "refused":
            continue
        result = (
            words["refused_result"].format(text=quote_text(attempt.result)) if attempt.result.strip() else ""
        )
        if attempt.feedback.strip():
            key = "refused" if attempt.result.strip() else "incomplete"
            text = f"{words[key].format(text=quote_text(attempt.feedback, 500))} {result}".strip()
        else:
            text = words["refused_silently"].format(text=quote_text(attempt.result) or "–")
        yield MemoryNote(
            MemoryKind.LESSON, text, (attempt.event,), (attempt.event,), attempt.at, 1.0, sort="verdict"
        )
    if task.state is TaskState.CANCELLED:
        reason = quote_text(task.reason, 500)
        title = f" ({quote_text(task.title, 120)})" if task.title else ""
        text = words["cancelled"].format(text=reason) if reason else words["cancelled_silently"]
        yield MemoryNote(
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
class _RepeatedFailure:
    """One recurring failure."""

    first: Digest
    last: int  # index of the last failure among the digests
    times: int = 1
    homes: list[Ref] = field(default_factory=list[Ref])


def _learn_from_failures(
    said: Sequence[Message], digests: Sequence[Digest], words: Mapping[str, str]
) -> tuple[list[MemoryNote], list[MemoryNote]]:
    """Return lessons from failures that were fixed, and from those that still failed at the end."""
    revisions = {m.id: m.revision for m in said}
    order = {m.id: place for place, m in enumerate(said)}
    open_now: dict[str, _RepeatedFailure] = {}
    out: list[MemoryNote] = []
    for place, digest in enumerate(digests):
        name, home = aim(digest), digest.result or digest.call
        if has_failed(digest):
            trouble = open_now.get(name)
            if trouble is None:
                open_now[name] = _RepeatedFailure(digest, place, homes=[home])
            else:
                trouble.last, trouble.times = place, trouble.times + 1
        elif has_succeeded(digest) and name in open_now:
            trouble = open_now.pop(name)
            between = digests[trouble.last + 1 : place]
            cause = _cause(said, order.get(trouble.homes[0], 0), order.get(home, len(said)))
            note = _lesson(trouble, digest, between, cause, revisions, words)
            if note is not None:
                out.append(note)
    failing = [
        _note(
            words["unresolved"].format(
                text=f"{describe_call(t.first)}{words['colon']}{quote_text(t.first.summary)}"
            ),
            t.homes,
            revisions,
            t.first.timestamp,
            0.6,
        )
        for t in open_now.values()
    ]
    return out, failing


def _lesson(
    trouble: _RepeatedFailure,
    success: Digest,
    between: Sequence[Digest],
    cause: tuple[str, Message] | None,
    revisions: Mapping[Ref, Ref],
    words: Mapping[str, str],
) -> MemoryNote | None:
    why = quote_text(trouble.first.summary)
    key = "failed_then" if trouble.times == 1 else "failed_times"
    parts = [words[key].format(what=describe_call(trouble.first), why=why, n=trouble.times)]
    homes = list(trouble.homes)
    if cause is not None:
        parts.append(words["cause"].format(text=quote_text(cause[0])))
        homes.append(cause[1].id)
    mended = [d for d in between if has_succeeded(d) and d.kind in ("edit", "write")]
    mended = mended or [d for d in between if has_succeeded(d) and d.kind == "command"]
    deeds = list(dict.fromkeys(describe_call(d) for d in mended))[-DEEDS:]
    other = (
        describe_call(success) if not deeds and describe_call(success) != describe_call(trouble.first) else ""
    )
    if deeds or other:
        parts.append(words["worked_after"].format(deeds=words["comma"].join(deeds) or other))
        homes += [d.call for d in mended[-DEEDS:]]
    elif cause is None and trouble.first.kind in ("edit", "write", "read", "list"):
        return None  # a typo that the next try corrected
    else:
        parts.append(words["then_worked"])
    homes.append(success.result or success.call)
    # The first failure names the lesson; more attempts do not make another one.
    return _note(
        words["stop"].join(part.rstrip(".。") for part in parts), homes, revisions, success.timestamp, 0.8
    )


def _note(
    text: str, homes: Sequence[Ref], revisions: Mapping[Ref, Ref], at: str, confidence: float
) -> MemoryNote:
    sources = tuple(dict.fromkeys(revisions.get(home, home) for home in homes))
    return MemoryNote(MemoryKind.LESSON, text, (homes[0],), sources, at, confidence, sort="tool")


def _cause(said: Sequence[Message], first: int, last: int) -> tuple[str, Message] | None:
    """Return the assistant's explanation between two messages: the last of the best sentences that state a cause."""
    best: tuple[float, str, Message] | None = None
    for message in said[first + 1 : last + 1]:
        if message.role != "assistant":
            continue
        for piece in mark_sentences(message.text[:READ]):
            score = _explains(piece)
            if score and (best is None or score >= best[0]):
                best = (score, piece.text, message)
    return None if best is None else (best[1], best[2])


def _explains(piece: CueSentence) -> float:
    if piece.sentence.shape in ("code", "heading", "row") or piece.cues & {"question", "filler"}:
        return 0.0
    if "finding" in piece.cues:
        return 2.0 + ("reason" in piece.cues)
    return 1.0 if {"error", "reason"} <= piece.cues else 0.0


# -- errors that people report -------------------------------------------------------------------------------------


def _learn_from_user(
    state: TaskState, said: Sequence[Message], words: Mapping[str, str]
) -> Iterator[MemoryNote]:
    """Yield problems that the user reported, with the assistant's findings, once the user (or a verdict) confirms the fix."""
    trouble: tuple[str, Message] | None = None
    began = 0
    for place, message in enumerate(said):
        if message.role != "user":
            continue
        pieces = [p for p in mark_sentences(message.text[:READ]) if p.sentence.shape != "code"]
        well = any("success" in p.cues and not p.cues & {"error", "question"} for p in pieces)
        if trouble is not None and well:
            note = _make_lesson(trouble, said, began, place, words)
            if note is not None:
                yield note
            trouble = None
        wrong = [p for p in pieces if "error" in p.cues and not p.cues & {"success", "done"}]
        if wrong and not well:
            if trouble is None:
                began = place
            trouble = (wrong[-1].text, message)
    if trouble is not None and state is TaskState.COMPLETED:
        note = _make_lesson(trouble, said, began, len(said) - 1, words)
        if note is not None:
            yield note


def _make_lesson(
    trouble: tuple[str, Message], said: Sequence[Message], first: int, last: int, words: Mapping[str, str]
) -> MemoryNote | None:
    found = _cause(said, first, last)
    if found is None:
        return None
    text = words["stop"].join(
        (
            words["trouble"].format(text=quote_text(trouble[0])),
            words["cause"].format(text=quote_text(found[0])),
        )
    )
    asked, answer = trouble[1], found[1]
    sources = tuple(dict.fromkeys((asked.revision, answer.revision)))
    return MemoryNote(MemoryKind.LESSON, text, (asked.id,), sources, answer.at, 0.7, sort="told")


def _corrections(said: Sequence[Message], words: Mapping[str, str]) -> list[MemoryNote]:
    """Return the user's corrections that state what is right."""
    out: list[MemoryNote] = []
    for place, message in enumerate(said):
        if message.role != "user" or not any(m.role == "assistant" for m in said[:place]):
            continue
        for piece in mark_sentences(message.text[:READ]):
            if "correction" not in piece.cues or piece.cues & {"question", "success"}:
                continue
            if (
                piece.sentence.shape == "code"
                or len(piece.text.encode("utf-8", "surrogatepass")) < BARE_CORRECTION
            ):
                continue
            text = words["corrected"].format(text=quote_text(piece.text))
            out.append(
                MemoryNote(
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
