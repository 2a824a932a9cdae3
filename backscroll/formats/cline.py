"""Cline tasks (and those of its relatives): a folder with `api_conversation_history.json`, or that file alone.

The history is a list of Anthropic messages with a few keys of Cline's own (`ts`, `modelInfo`, `metrics`), which stay with the
message. Tool calls that Cline wrote as XML into the text stay text, because their boundaries are not documented; native
`tool_use` blocks are calls. Times come from `ts`, or from `ui_messages.json`, whose entries record the length of the history
when they were shown. The other files of the folder are kept verbatim as asides, lists entry by entry. A truncated history, as
crashes leave it, gives its complete messages, the position of the break, and the remaining text.

An export is the history file alone, not a folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from backscroll.errors import FormatError
from backscroll.formats.anthropic.message import ROLES, Joiner, message_from_anthropic
from backscroll.formats.anthropic.parts import VENDOR
from backscroll.formats.language import language_of
from backscroll.formats.losses import ExportLosses
from backscroll.formats.shape import Blobs, Format, FormatOutput, Source
from backscroll.formats.sources.json_text import ArrayBreak, NotJson, dumps, elements, try_parse
from backscroll.formats.sources.rows import as_array, as_object, as_text, short_title, stem
from backscroll.vocab.foreign import Aside, ForeignMessage, ForeignThread, Item, Problem
from backscroll.vocab.part import Json

KEY = "cline"
HISTORY = "api_conversation_history.json"
UI = "ui_messages.json"
METADATA = "task_metadata.json"
_FILE = "cline:"  # kind of an aside that is a file of the folder or an entry of one; its name follows
_CUT = "#rest"  # ... or the text after the break
_ENTRY = "cline-entry"  # an entry of the history that is not a message
_REST = "cline-rest"  # the text after the break in a history

_TASK = re.compile(r"<(task|user_message|feedback)>\s*(.*?)\s*(?:</\1>|\Z)", re.DOTALL)
_FOLDER = re.compile(r"# Current Work(?:ing|space) Directory \((.+?)\)(?: Files)?")
_MARKS = re.compile(r"<environment_details>|<task>|\[ERROR\] You did not use a tool")
_ROLE = re.compile(r'"role"\s*:\s*"(?:user|assistant)"')
_MILLISECONDS = re.compile(r"\d{13}")


def sniff(source: Source) -> float:
    """Return the confidence that this is a Cline task."""
    if source.is_folder:
        return 0.98 if HISTORY in source.children() else 0.0
    head = source.head()
    if not head.lstrip().startswith("[") or not _ROLE.search(head):
        return 0.0
    if source.name == HISTORY:
        return 0.97
    return 0.9 if _MARKS.search(head) else 0.0


@dataclass(slots=True)
class _ClineTask:
    """A task being read into a thread."""

    name: str
    where: str
    entries: list[Json]
    cut: ArrayBreak | None
    ui: list[Json]
    models: list[str] = field(default_factory=list[str])
    files: list[Aside] = field(default_factory=list[Aside])
    problems: list[Problem] = field(default_factory=list[Problem])


def read(source: Source) -> Iterable[ForeignThread]:
    """Return the one conversation of a task."""
    task = _task(source)
    if not task.entries and not task.ui and not (task.cut and task.cut.rest.strip()):
        raise FormatError(
            f"{source.name} holds no history of Cline", hint=f"expected a list of messages in {HISTORY}"
        )
    opening = _opening(task)
    folder = _FOLDER.search("\n".join(_texts(task.entries[:1])))
    kept: dict[str, Json] = {"models": task.models} if task.models else {}
    return [
        ForeignThread(
            format="cline",
            source_id=task.name,
            items=_items(task),
            title=short_title(opening) or task.name,
            project=folder[1] if folder else "",
            kind="agent",
            language=language_of(opening or "\n".join(_texts(task.entries[:20]))[:100_000]),
            started=_find_start_time(task),
            metadata={KEY: kept} if kept else {},
        )
    ]


def _task(source: Source) -> _ClineTask:
    """Return the files of a task; for a history file alone, also the files beside it."""
    history = source.child(HISTORY) if source.is_folder else source
    if history is None or history.is_folder:
        raise FormatError(f"{source.name} has no {HISTORY}", hint="give the folder of one task")
    if source.is_folder:
        name = source.name
        beside = {child: source.child(child) for child in source.children() if child != HISTORY}
    else:
        folders = [part for part in re.split(r"[/\\]", source.path)[:-1] if part]
        named = source.name == HISTORY
        name = folders[-1] if folders and named else stem(source.name)
        beside = {child: source.child(f"../{child}") for child in (UI, METADATA) if named}
    text = history.text()
    value = try_parse(text)
    cut = None
    if isinstance(value, NotJson):
        whole, cut = elements(text)
        entries = [element.value for element in whole]
        if cut is None:  # a whole list, and something after it
            cut = ArrayBreak(value.what, value.at, 1 + text.count("\n", 0, value.at), text[value.at :])
    else:
        entries = as_array(value) or []
    task = _ClineTask(name, history.name, entries, cut, [])
    for child, file in beside.items():
        _keep(task, child, file)
    return task


def _keep(task: _ClineTask, name: str, file: Source | None) -> None:
    if file is None:
        return
    if file.is_folder:
        task.problems.append(Problem("a folder inside the task was left out", where=name))
        return
    try:
        text = file.data().decode("utf-8")
    except UnicodeDecodeError:
        task.problems.append(Problem("a file of the task is not text and was left out", where=name))
        return
    if name == UI:
        whole, cut = elements(text)
        task.ui = [element.value for element in whole]
        task.files += [Aside(_FILE + name, e.raw, _at((as_object(e.value) or {}).get("ts"))) for e in whole]
        if cut:
            task.problems.append(Problem(f"breaks off at character {cut.at + 1}: {cut.what}", cut.line, name))
            task.files.append(Aside(_FILE + name + _CUT, cut.rest))
    elif name == METADATA:
        task.files += _in_pieces(name, text)
        task.models = _models(text)
    else:
        task.files.append(Aside(_FILE + name, text))


def _in_pieces(name: str, text: str) -> list[Aside]:
    """Return the lists of the metadata entry by entry, so that a task read again while it runs brings only what is new."""
    document = as_object(try_parse(text))
    if document is None:
        return [Aside(_FILE + name, text)]
    out: list[Aside] = []
    for key, value in document.items():
        opens = (
            re.search(re.escape(dumps(key)) + r"\s*:\s*(?=\[)", text) if as_array(value) is not None else None
        )
        whole = elements(text, opens.end())[0] if opens else []
        raws = [e.raw for e in whole] if [e.value for e in whole] == value else [dumps(value)]
        out += [Aside(f"{_FILE}{name}#{key}", raw) for raw in raws]
    return out


def _models(text: str) -> list[str]:
    """Return the models that worked on the task, each once."""
    usage = as_array((as_object(try_parse(text)) or {}).get("model_usage")) or []
    names = [as_text((as_object(entry) or {}).get("model_id")) for entry in usage]
    return [name for name in dict.fromkeys(names) if name]


def _items(task: _ClineTask) -> Iterator[Item]:
    times = _times(task)
    for index, value in enumerate(task.entries):
        data = as_object(value)
        where = f"{task.where}, message {index + 1}"
        if data is None or as_text(data.get("role")) not in ROLES:
            yield Problem("not a message: kept as it is", where=where)
            yield Aside(_ENTRY, dumps(value))
            continue
        said = _at(data.get("ts"))
        at = said or times.get(index)
        guessed: dict[str, Json] = {KEY: {"time_from": UI}} if at and not said else {}
        for role, content in message_from_anthropic(data):
            yield ForeignMessage(role, replace(content, metadata={**content.metadata, **guessed}), at)
    if task.cut:
        place = f"the history breaks off at character {task.cut.at + 1}: {task.cut.what}"
        yield Problem(place, task.cut.line, task.where)
        if task.cut.rest.strip():
            yield Aside(_REST, task.cut.rest, line=task.cut.line)
    yield from task.problems
    yield from task.files


def _at(value: Json) -> str | None:
    """Return milliseconds since 1970 as an ISO time."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1e11 <= value < 1e14:
        return None
    return datetime.fromtimestamp(value / 1000, UTC).isoformat()


def _times(task: _ClineTask) -> dict[int, str]:
    """Infer missing message times from the screen entries shown when the history had that length.

    An entry on the screen names the newest message of the history. A request is announced before its user message joins the
    history, and a reply is shown while its user message is the newest: both therefore name the message before.
    """
    requests: dict[int, str] = {}
    shown: dict[int, str] = {}
    for entry in (as_object(value) or {} for value in task.ui):
        index, at = entry.get("conversationHistoryIndex"), _at(entry.get("ts"))
        if at and isinstance(index, int):
            (requests if entry.get("say") == "api_req_started" else shown).setdefault(index, at)
    out: dict[int, str] = {}
    for index, value in enumerate(task.entries):
        source = requests if (as_object(value) or {}).get("role") == "user" else shown
        if index - 1 in source:
            out[index] = source[index - 1]
    first = _at((as_object(task.ui[0]) or {}).get("ts")) if task.ui else None
    if first and task.entries:
        out.setdefault(0, first)
    return out


def _find_start_time(task: _ClineTask) -> str | None:
    first = as_object(task.entries[0]) if task.entries else None
    named = _at(int(task.name)) if _MILLISECONDS.fullmatch(task.name) else None
    return _at((first or {}).get("ts")) or _times(task).get(0) or named


def _texts(entries: Iterable[Json]) -> Iterator[str]:
    """Yield the plain text of messages."""
    for value in entries:
        content = (as_object(value) or {}).get("content")
        if isinstance(content, str):
            yield content
        for block in as_array(content) or []:
            text = (as_object(block) or {}).get("text")
            if isinstance(text, str):
                yield text


def _opening(task: _ClineTask) -> str:
    """Return the user's request."""
    for text in _texts(task.entries[:1]):
        found = _TASK.search(text)
        if found:
            return found[2]
    shown = as_text((as_object(task.ui[0]) or {}).get("text")) if task.ui else ""
    return shown or next(_texts(task.entries[:1]), "")


def write(thread: ForeignThread, blobs: Blobs) -> FormatOutput:
    """Return the history of a task."""
    problems: list[Problem] = []
    return FormatOutput(_pieces(thread, blobs, ExportLosses("Cline's history", problems)), problems)


def _pieces(thread: ForeignThread, blobs: Blobs, unsaid: ExportLosses) -> Iterator[str]:
    yield "["
    gap = ""
    for text in _entries(thread, blobs, unsaid):
        yield gap + text
        gap = ","
    yield "]"
    unsaid.close()


def _entries(thread: ForeignThread, blobs: Blobs, unsaid: ExportLosses) -> Iterator[str]:
    joiner = Joiner(blobs, unsaid.note, top_level=False)
    opened: ForeignMessage | None = None  # the message with which the open entry began
    for item in thread.items:
        if isinstance(item, ForeignMessage):
            unsaid.flags(item)
            for wire in joiner.add(item):
                yield dumps(_stamp_time(wire, opened))
                opened = None
            opened = opened or item
        elif isinstance(item, Aside) and item.kind == _ENTRY:
            yield from (dumps(_stamp_time(wire, opened)) for wire in joiner.end())
            opened = None
            yield item.raw
        else:
            unsaid.leave_out(item)
    yield from (dumps(_stamp_time(wire, opened)) for wire in joiner.end())


def _stamp_time(wire: dict[str, Json], message: ForeignMessage | None) -> Mapping[str, Json]:
    """Add Cline's timestamp to messages from other tools; Cline's own stay as they are."""
    if message is None or message.at is None or VENDOR in message.content.metadata:
        return wire
    return {**wire, "ts": round(datetime.fromisoformat(message.at).timestamp() * 1000)}


FORMAT = Format("cline", "Cline task", ".json", sniff, read, write)
