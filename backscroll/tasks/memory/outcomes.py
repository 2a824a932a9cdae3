"""Outcomes of a task: accepted results, decisions, passing tests, the user's confirmations; and changed files.

Owns the rules for these; every note quotes its sources. Not here: outcomes of a cancelled task: there are none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from backscroll.derive.digest import Digest
from backscroll.derive.essence.clusters import pieces
from backscroll.derive.essence.cues import CueSentence, mark_sentences
from backscroll.derive.essence.essentials import Essential, EssentialKind
from backscroll.derive.essence.importance import weigh_sentence
from backscroll.derive.essence.reader import findings
from backscroll.tasks.memory.arcs import Arc, says_something
from backscroll.tasks.memory.moves import asks, wishes, wrong
from backscroll.tasks.memory.tuning import (
    CONFIRMED,
    CONFIRMING,
    DECISIONS,
    FILES,
    LAST_WORD,
    PASSING,
    READ,
    REPORT_LOOKED,
    REPORTED,
)
from backscroll.tasks.memory.turns import size_of
from backscroll.tasks.notes import (
    FileChangeNote,
    MemoryNote,
    aim,
    describe_call,
    has_failed,
    has_succeeded,
    quote_text,
)
from backscroll.tasks.preferences.reader import read_text
from backscroll.tasks.preferences.tuning import SHOWN
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Message
from backscroll.vocab.task import MemoryKind, Task, TaskState
from backscroll.vocab.values.pattern import late

#: The last report of the assistant: it yields to an accepted result.
REPORT = "report"
#: Commands that check something, and the words by which such a check reports success.
_CHECKS = late(
    r"\b(?:pytest|unittest|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|go test|cargo (?:test|check|clippy|build)|"
    r"(?:npm|pnpm|yarn|bun) (?:run )?(?:test|build|lint|check)|make (?:test|check|lint|all)|mypy|pyright|ruff|eslint|tsc|"
    r"mvn (?:test|verify)|gradle\w* (?:test|build|check)|dotnet (?:test|build))\b"
)


def outcomes_of(
    state: TaskState,
    said: Sequence[Message],
    digests: Sequence[Digest],
    words: Mapping[str, str],
    arcs: Sequence[Arc] = (),
) -> list[MemoryNote]:
    """Return the outcomes in the messages of a task that ended in this state: cause, fix and evidence first (`arcs`)."""
    if state is TaskState.CANCELLED:
        return []
    out = [_came(arc, words) for arc in arcs if arc.fix is not None]
    if state is TaskState.COMPLETED and not out:
        out = list(_note_report(said, words))
    told = {arc.evidence.text for arc in arcs if arc.evidence is not None}
    return [
        *out,
        *_note_decisions(said, digests, words),
        *_passing(said, digests, words),
        *(note for note in _note_confirmations(said, words) if not any(text in note.text for text in told)),
    ]


def _came(arc: Arc, words: Mapping[str, str]) -> MemoryNote:
    """Return the fix, its cause, and the evidence that it helped."""
    sources = tuple(dict.fromkeys(part.message.revision for part in arc.parts))
    # The message with the fix names the note: it stays the same when evidence is added.
    home = arc.fix or arc.parts[0]
    sure = 0.8 if arc.evidence is not None else 0.6
    text = words["came"].format(text=arc.line())
    return MemoryNote(
        MemoryKind.OUTCOME, text, (home.message.id,), sources, arc.parts[-1].message.at, sure, sort="arc"
    )


def accepted_of(task: Task, words: Mapping[str, str]) -> Iterator[MemoryNote]:
    """Yield accepted results; one whose text is withheld states nothing."""
    if task.state is TaskState.CANCELLED:
        return
    for attempt in task.attempts:
        if attempt.verdict != "accepted" or not attempt.result.strip():
            continue
        program = (attempt.decided_as or task.decided_as) == "program"
        text = words["accepted_by_program" if program else "accepted"].format(
            text=quote_text(attempt.result, 600)
        )
        yield MemoryNote(
            MemoryKind.OUTCOME,
            text,
            (attempt.event,),
            (attempt.event,),
            attempt.at,
            0.8 if program else 1.0,
            sort="result",
        )


def _note_report(said: Sequence[Message], words: Mapping[str, str]) -> Iterator[MemoryNote]:
    """Yield the last report of a completed task without a written result: its heaviest sentences.

    A last message without content ("You're welcome!"), or one that only reacts to the outcome ("Fingers crossed!"), is not a report:
    the one before it is used.
    """
    places = [n for n, m in enumerate(said) if m.role == "assistant" and m.text.strip()]
    spoken = [said[n] for n in reversed(places) if not _closes(said, n)]
    for last in spoken[:REPORT_LOOKED]:
        found = [
            p
            for p in mark_sentences(last.text[:READ])
            if p.sentence.shape in ("prose", "item") and says_something(p.text)
        ]
        ranked = sorted(range(len(found)), key=lambda n: (-_worth(found, n), n))[:REPORTED]
        best = [found[n].text for n in sorted(ranked) if _worth(found, n) > 0]
        if best:
            text = words["reported"].format(text=quote_text(" … ".join(best), 420))
            yield MemoryNote(
                MemoryKind.OUTCOME, text, (last.id,), (last.revision,), last.at, 0.6, sort=REPORT
            )
            return


def _closes(said: Sequence[Message], place: int) -> bool:
    """Return True for a few words after a message of the user that makes no request."""
    before = said[place - 1] if place else None
    if before is None or before.role != "user" or size_of(said[place].text) > LAST_WORD:
        return False
    if len(said[place].content.parts) > 1:
        return False  # with tool calls there is more to it
    return not any(asks(p) or wishes(p.text) or wrong(p) for p in mark_sentences(before.text[:READ]))


def _worth(found: Sequence[CueSentence], number: int) -> float:
    piece = found[number]
    if piece.cues & {"question", "filler"}:
        return 0.0
    first, last = number == 0, number == len(found) - 1
    told = 0.8 * bool(piece.cues & {"done", "success", "finding"})
    return weigh_sentence(piece, role="assistant", first=first, last=last, answers=False).value + told


def _note_decisions(
    said: Sequence[Message], digests: Sequence[Digest], words: Mapping[str, str]
) -> Iterator[MemoryNote]:
    # A lasting wish is a preference, and remembered as one.
    found = [
        e
        for e in findings(said, digests).open
        if e.kind is EssentialKind.DECISION and not any(r.strength >= SHOWN for r in read_text(e.text))
    ]
    at = {m.id: m.at for m in said}
    for essential in _weightiest(found, DECISIONS):
        text = words["decided"].format(text=quote_text(essential.text))
        home = essential.message
        yield MemoryNote(
            MemoryKind.OUTCOME, text, (home,), (essential.source,), at.get(home, ""), 0.8, sort="decision"
        )


def _weightiest(found: Sequence[Essential], most: int) -> list[Essential]:
    """Choose the heaviest and newest, in the order of the conversation."""
    ranked = sorted(range(len(found)), key=lambda n: (-found[n].weight, -n))[:most]
    return [found[n] for n in sorted(ranked)]


def is_check(digest: Digest) -> bool:
    """Return True for a command that tests, builds or lints."""
    return digest.kind == "command" and _CHECKS.search(digest.target) is not None


def _passing(
    said: Sequence[Message], digests: Sequence[Digest], words: Mapping[str, str]
) -> Iterator[MemoryNote]:
    """Return checks that pass at the end: the last run of each."""
    last: dict[str, Digest] = {}
    for digest in digests:
        if is_check(digest) and (has_succeeded(digest) or has_failed(digest)):
            last.pop(aim(digest), None)
            last[aim(digest)] = digest
    revisions = {m.id: m.revision for m in said}
    for digest in [d for d in last.values() if has_succeeded(d)][-PASSING:]:
        home = digest.result or digest.call
        text = words["passing"].format(what=describe_call(digest), outcome=quote_text(digest.summary, 120))
        yield MemoryNote(
            MemoryKind.OUTCOME,
            text,
            (home,),
            (revisions.get(home, home),),
            digest.timestamp,
            0.9,
            sort="check",
        )


def _note_confirmations(said: Sequence[Message], words: Mapping[str, str]) -> Iterator[MemoryNote]:
    """Yield what the user says works, together with its subject: the last ones."""
    found: list[MemoryNote] = []
    for message in said:
        if message.role != "user":
            continue
        for piece in mark_sentences(message.text[:READ]):
            if "success" not in piece.cues or piece.cues & {"error", "question", "todo"}:
                continue
            if len(pieces(piece.text)) < CONFIRMING or piece.sentence.shape == "code":
                continue
            text = words["confirmed"].format(text=quote_text(piece.text))
            found.append(
                MemoryNote(
                    MemoryKind.OUTCOME,
                    text,
                    (message.id,),
                    (message.revision,),
                    message.at,
                    0.8,
                    sort="confirmed",
                )
            )
    yield from found[-CONFIRMED:]


# -- files -------------------------------------------------------------------------------------------------------


def files_of(
    said: Sequence[Message], digests: Sequence[Digest], words: Mapping[str, str]
) -> list[MemoryNote]:
    """Return files that tools changed, one note each; of very many only the last ones."""
    revisions = {m.id: m.revision for m in said}
    touched: dict[str, list[tuple[Ref, Ref, str]]] = {}
    for digest in digests:
        if digest.kind in ("edit", "write") and has_succeeded(digest) and digest.target.strip():
            home = digest.call if digest.call in revisions else digest.result or digest.call
            row = (home, revisions.get(home, home), digest.timestamp)
            touched.setdefault(quote_text(digest.target, 200), []).append(row)
    out: list[MemoryNote] = []
    for path, rows in list(touched.items())[-FILES:]:
        times = words["changed_once"] if len(rows) == 1 else words["changed_times"].format(n=len(rows))
        text = words["changed"].format(path=path, what=times)
        # The first message that touched it names the note: it stays the same when more changes are added.
        sources = tuple(dict.fromkeys(row[1] for row in rows))
        out.append(MemoryNote(MemoryKind.FILE, text, (rows[0][0],), sources, rows[-1][2], 1.0, path))
    return out


def with_changes(
    notes: Sequence[MemoryNote], changes: Sequence[FileChangeNote], words: Mapping[str, str]
) -> list[MemoryNote]:
    """Return notes of files together with the logged changes: a description of a change says more than a number."""
    logged: dict[str, list[FileChangeNote]] = {}
    for change in changes:
        if change.path.strip():
            logged.setdefault(quote_text(change.path, 200), []).append(change)
    out: list[MemoryNote] = []
    for note in notes:
        more = logged.pop(note.path, []) if note.path else []
        out.append(_describe_changes(note, more, words) if more else note)
    for path, more in list(logged.items())[-FILES:]:
        first = MemoryNote(MemoryKind.FILE, "", (more[0].source,), (), more[-1].at, 1.0, path)
        out.append(_describe_changes(first, more, words))
    return out


def _describe_changes(
    note: MemoryNote, changes: Sequence[FileChangeNote], words: Mapping[str, str]
) -> MemoryNote:
    told = dict.fromkeys(quote_text(c.description, 160) for c in changes if c.description.strip())
    what = words["stop"].join(list(told)[-3:]) or words["changed_once"]
    text = words["changed"].format(path=note.path, what=what)
    sources = tuple(dict.fromkeys((*note.sources, *(c.source for c in changes))))
    return replace(note, text=text, sources=sources, at=max(note.at, changes[-1].at))
