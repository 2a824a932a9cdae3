"""Check and repair prompts in files, for `backscroll check`.

Owns: reading a prompt, a request or a file of them from disk, and writing the repaired one. The rules are in the validity
engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from backscroll.assemble.validity import PromptFlaw, RepairAction, ValidityRule, check, repair, rules
from backscroll.assemble.validity.request import RequestBody, request_of
from backscroll.engine.exchange.exports import write_file
from backscroll.engine.folder.files import FileSource
from backscroll.errors import FormatError, InvalidInput
from backscroll.formats.sources.json_text import NotJson, dumps, try_parse
from backscroll.formats.sources.rows import as_object
from backscroll.vocab.part import Json

__all__ = ["PromptFile", "PromptFlaw", "RepairAction", "ValidityRule", "check", "repair", "rules"]

_LINES = "one message or one request per line was expected"


@dataclass(frozen=True, slots=True)
class PromptFile:
    """The prompts of a file in their original layout: one document, one message per line, or one request per line."""

    requests: tuple[RequestBody, ...]
    shape: str  # document, messages, requests

    def flaws(self) -> list[list[PromptFlaw]]:
        """Return every broken rule, by prompt."""
        return [request.flaws() for request in self.requests]

    def unmendable(self) -> list[PromptFlaw]:
        """Return what is still wrong after a repair: only the sender can fix it."""
        return [flaw for request in self.requests for flaw in request.apply_repair().flaws()]

    def render_file(self) -> tuple[str, list[RepairAction]]:
        """Return the text of the repaired file, and the repairs made."""
        done = [(request, request.repair_prompt()) for request in self.requests]
        values = [request.with_prompt(repaired) for request, repaired in done]
        changes = [change for _, repaired in done for change in repaired.changes]
        if self.shape == "document":
            return dumps(values[0], 2) + "\n", changes
        rows = values[0] if self.shape == "messages" else values
        return "".join(dumps(row) + "\n" for row in rows), changes


def read_prompts(path: str, *, wire: str | None = None, model: str | None = None) -> PromptFile:
    """Return the prompts of a file: a list, a request, or one message or request per line."""
    source = FileSource(Path(path).expanduser())
    if source.is_folder:
        raise InvalidInput(f"{path} is a folder", hint="name one of the files in it")
    return prompts_of(source.text(), path, wire=wire, model=model)


def prompts_of(text: str, name: str = "", *, wire: str | None = None, model: str | None = None) -> PromptFile:
    """Return the prompts in a text."""
    if not text.strip():
        raise FormatError(f"{name}: an empty file", hint="check that it was saved or downloaded completely")

    def of(value: Json) -> RequestBody:
        return request_of(value, wire, model)

    value = try_parse(text)
    if not isinstance(value, NotJson):
        single = as_object(value)
        if single is not None and _is_message(single):
            return PromptFile((of([single]),), "messages")
        return PromptFile((of(value),), "document")
    return _of_lines(text, name, value, of)


def _is_message(value: dict[str, Json]) -> bool:
    return (
        "messages" not in value
        and "input" not in value
        and "body" not in value
        and ("role" in value or "type" in value)
    )


def _of_lines(text: str, name: str, why: NotJson, of: Callable[[Json], RequestBody]) -> PromptFile:
    rows: list[dict[str, Json]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        row = as_object(try_parse(line))
        if row is None and not rows:
            raise FormatError(f"{name} is not valid JSON: {why.what}", hint=_LINES)
        if row is None:
            raise FormatError(f"{name}, line {number}: this line is not a JSON object", hint=_LINES)
        rows.append(row)
    if _is_message(rows[0]):
        return PromptFile((of(rows),), "messages")
    return PromptFile(tuple(of(row) for row in rows), "requests")


def write_prompts(prompts: PromptFile, path: str) -> list[RepairAction]:
    """Write the repaired prompts to a file atomically; return the repairs made."""
    text, changes = prompts.render_file()
    write_file(Path(path).expanduser(), [text])
    return changes
