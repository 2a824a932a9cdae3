"""A parsed result: its text without wrappers, the exit status, whether it is an error.

Owns: the wrappers in which tools send their output (`{"output": …, "metadata": {"exit_code": 1}}`, MCP content lists,
fences, tags, exit lines) and data that is not text at all. Refuses: judging what matters; the rules by kind do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

from backscroll.derive.digests.cues import any_of, shapes
from backscroll.derive.digests.logs import extract_log, is_log, loud_lines
from backscroll.derive.digests.output_text import GAP, SLICE, is_binary, is_encoded, lines_of, middle, plain
from backscroll.formats.sources.json_text import words_parsed
from backscroll.vocab.part import Json, Media, Opaque, Text, ToolResult
from backscroll.vocab.values.pattern import late

_FENCED = late(r"\A\s*```[\w+-]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_TAGGED = late(
    r"</?(?:tool_use_error|tool_error|bash-stdout|bash-stderr|stdout|stderr|output|result|error|file_content)>"
)
_OUTPUTS = ("output", "stdout", "aggregated_output", "content", "text", "result")
_EXITS = ("exit_code", "exitCode", "returncode", "return_code", "exit_status", "code", "退出码")
_PARSED = 400_000  # characters up to which JSON is parsed whole


@dataclass(frozen=True)
class ResultDetails:
    """A parsed result. Without slots, because its properties are cached."""

    text: str  # plain, bounded
    lines: int = 0  # of the whole result
    size: int = 0  # characters of the whole result
    value: Json = None  # the result as JSON, where it is a mapping or a list
    is_error: bool = False
    exit_code: int | None = None
    media: tuple[str, ...] = ()  # other content: kinds of images and files
    unreadable: str = ""  # "binary" or "encoded", if the text is unreadable
    loud: tuple[str, ...] = ()  # lines of the middle, which no other rule reads, that may report errors

    @cached_property
    def said(self) -> list[str]:
        """The informative lines, in order."""
        noise = any_of("errors", "noise")
        return [line for line in lines_of(self.text) if not noise.search(line)]

    @cached_property
    def heard(self) -> list[str]:
        """The lines that are searched for errors, in order: the informative ones, and error lines of the middle."""
        if not self.loud:
            return self.said
        noise = any_of("errors", "noise")
        head, _, tail = self.text.partition(GAP)
        out = [*lines_of(head), *self.loud, *lines_of(tail)]
        return [line for line in out if not noise.search(line)]

    @cached_property
    def is_log(self) -> bool:
        """True if most lines are log lines."""
        return is_log(self.said)


def parse_result(result: ToolResult) -> ResultDetails:
    """Parse a result."""
    texts = [part.text for part in result.content if isinstance(part, Text)]
    texts += [part.raw for part in result.content if isinstance(part, Opaque)]
    media = tuple(_medium(part) for part in result.content if isinstance(part, Media))
    out = _parse_output("\n".join(texts), 0)
    return replace(out, media=media, is_error=out.is_error or result.is_error)


def _medium(part: Media) -> str:
    return " ".join(piece for piece in (part.media_type or "media", part.name or part.url or "") if piece)


def _parse_output(text: str, depth: int) -> ResultDetails:
    if is_binary(text):
        return ResultDetails("", 0, len(text), unreadable="binary")
    if len(text) < 4 * SLICE:
        for shape in shapes("errors", "blocks"):
            text = shape.sub("", text)
        if fenced := _FENCED.match(text):
            text = fenced[1]
    value = _json(text)
    if depth < 3 and value is not None:
        inner = _unwrap_output(value)
        if inner is not None:
            words, code, failed = inner
            out = _parse_output(words, depth + 1)
            code = out.exit_code if code is None else code
            return replace(out, exit_code=code, is_error=out.is_error or failed or bool(code))
    if value is not None and (lines := extract_log(value)):
        return replace(_parse_output(lines, depth + 1), is_error=_says_error(value))
    if is_encoded(text):
        return ResultDetails("", 0, len(text), value, unreadable="encoded")
    clean = plain(text)
    loud = loud_lines(text[slice(*middle(text))])
    tagged = _TAGGED.sub("\n", clean) if "</" in clean else clean
    code = _exit_code(clean)
    failed = value is None and any_of("errors", "begins").search(clean.lstrip()[:300]) is not None
    failed = failed or bool(code) or _says_error(value)
    return ResultDetails(tagged.strip("\n"), _count(text), len(text), value, failed, code, loud=loud)


def _count(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n")) if text else 0


def _json(text: str) -> Json:
    """Return the JSON mapping or list that a text holds, if any."""
    start = text.lstrip()[:1]
    if start not in ("{", "[") or len(text) > _PARSED:
        return None
    value = words_parsed(text)
    return cast("Json", value) if isinstance(value, dict | list) else None


def _unwrap_output(value: Json) -> tuple[str, int | None, bool] | None:
    """Return the text inside a wrapper, the exit status, and whether the wrapper reports a failure."""
    if isinstance(value, list):
        return _content_list(cast("list[Json]", value))
    given = cast("Mapping[str, Json]", value)
    inner = given.get("metadata")
    code = _code(given) if not isinstance(inner, dict) else _code(cast("Mapping[str, Json]", inner))
    failed = given.get("is_error") is True or given.get("isError") is True
    if isinstance(given.get("content"), list) and (
        found := _content_list(cast("list[Json]", given["content"]))
    ):
        return found[0], code, failed
    held = [key for key in _OUTPUTS if isinstance(given.get(key), str)]
    extra = given.get("stderr")
    if not held and not isinstance(extra, str):
        return None
    if code is None and not isinstance(extra, str) and len(given) > 2:
        return None  # a record with a field of that name, not a wrapper
    words = cast("str", given[held[0]]) if held else ""
    if isinstance(extra, str) and extra.strip():
        words = f"{words}\n{extra}" if words else extra
    return words, code, failed


def _content_list(items: Sequence[Json]) -> tuple[str, int | None, bool] | None:
    """Return content blocks as MCP and the vendors' wires send them."""
    if not items or not all(isinstance(item, dict) and "type" in item for item in items):
        return None
    blocks = [cast("Mapping[str, Json]", item) for item in items]
    texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    return ("\n".join(texts), None, False) if len(texts) == len(blocks) else None


def _code(given: Mapping[str, Json]) -> int | None:
    found = next((given[key] for key in _EXITS if isinstance(given.get(key), int)), None)
    return None if found is None or isinstance(found, bool) else cast("int", found)


def _exit_code(text: str) -> int | None:
    """Return the exit code, if the first or last lines state it."""
    ends = text if len(text) <= 1200 else f"{text[:400]}\n{text[-800:]}"
    for shape in shapes("errors", "exit"):
        if found := shape.search(ends):
            digits = found[1]
            return int(digits) if len(digits) <= 10 else None
    return None


def _says_error(value: Json) -> bool:
    """Return True if the JSON answer is itself an error."""
    if not isinstance(value, dict):
        return False
    given = cast("Mapping[str, Json]", value)
    flagged = given.get("success") is False or given.get("ok") is False or given.get("isError") is True
    return flagged or any(given.get(key) for key in ("error", "errors", "exception", "错误"))
