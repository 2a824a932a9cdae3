"""Logs: lines prefixed with a timestamp, service or level, and which of them report errors.

Owns: recognising a log whatever program wrote it (ISO and syslog times, docker compose, kubernetes, nginx, logging libraries, JSON
lines, Chinese levels), removing what precedes the message, the level of a line, and finding error lines in the middle of
a huge result, which no other rule reads. Refuses: choosing among them; `derive/digests/trouble` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import cast

from backscroll.derive.digests.output_text import lines_of, plain
from backscroll.vocab.part import Json

_SCANNED = 1_000_000  # characters of the middle of a result that are searched, from each end of it
_LOOKED_AT = 2_000  # lines with a keyword that are examined
_FOUND = 20  # error lines that are kept from each end, for each of two sorts
_MOST_OF = 0.6  # share of lines that must look like a log's

_CLOCK = r"\d{1,2}:\d{2}:\d{2}(?:[.,]\d{1,9})?"
_DAY = r"(?:(?<!\d)\d{2}-\d{2}(?= )|\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/](?:\d{1,2}|[A-Z][a-z]{2})[-/]\d{4}|\d{4}年\d{1,2}月\d{1,2}日)"
_MONTH = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),?\s+)?(?:\d{1,2}\s+)?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\s+(?:\d{1,2}\s+)?(?:\d{4}\s+)?"
_MOMENT = rf"(?:(?:{_DAY}[T :]\s*|{_MONTH})?{_CLOCK}|\d{{10}}(?:\.\d{{1,9}}|\d{{3}})?(?=[\s\]]))(?:\s?(?:Z\b|UTC\b|GMT\b|(?:CES?T|[ECMP][SD]T|JST|IST|BST)\b|[+-]\d{{2}}:?\d{{2}}))?(?:\s\d{{4}}(?=[\s\]]))?"
_LEVELS = "TRACE|DEBUG|INFO|INFORMATION|NOTICE|LOG|WARN|WARNING|ERROR|ERR|CRITICAL|CRIT|FATAL|SEVERE|PANIC|EMERG|ALERT"
_LEVELS_ZH = "调试|信息|提示|警告|错误|严重|致命|异常|失败"

#: What may precede a timestamp: the line number of grep, a docker compose service, a pod.
_BEFORE = r"(?:\d{1,7}[:-](?=\d{4}-|\[))?(?:[A-Za-z][\w./-]{0,60}[-_]\d{1,3}\s*\|\s*|[a-z][\w.-]{0,40}\s+\|\s+|\[pod/[\w./-]{1,120}\]\s+)?"
_KLOG = r"[IWEF]\d{4} \d{2}:\d{2}:\d{2}\.\d{1,9}\s+\d+ [\w./-]+:\d+\]\s*"
_STAMPED = re.compile(rf"{_BEFORE}(?:{_KLOG}|[\[(<]?{_MOMENT}[\])>]?)")
_ACCESS = re.compile(r"\S{1,64} \S{1,64} \S{1,64} \[\d{2}/[A-Z][a-z]{2}/\d{4}:[^\]\n]{8,20}\] ")
_REFUSED = re.compile(r"\" 5\d\d ")  # requests that a web server could not answer
_SERVED = re.compile(r"(?:[A-Za-z][\w./-]{0,60}[-_]\d{1,3}\s*\||\[pod/[\w./-]{1,120}\])\s")
_LEVELLED = re.compile(
    rf"[\[<(]?(?:{_LEVELS})[\]>)]?[:\s|]|[\[<(](?:(?i:{_LEVELS})|{_LEVELS_ZH})[\]>)]|【(?:{_LEVELS_ZH})】|(?:{_LEVELS_ZH})[:：]"
)
_JSONED = re.compile(r"\{.{0,400}\"(?:level|severity|lvl|levelname|log\.level|loglevel)\"\s*:\s*\"?\w")
_KEYED = re.compile(
    r"(?:^|\s)(?:level|severity|lvl|log_level)=\"?\w+\"?\s.{0,400}(?:msg|message|error|err|event)=|(?:^|\s)(?:msg|message)=.{0,400}(?:level|severity|lvl)="
)
#: The writer of a line in a system log, after the timestamp: `host sshd[123]: `.
_WRITER = re.compile(
    r"\s*(?:[\w.-]{1,64}\s+)?[\w./@-]{1,64}\[\d{1,9}\]:\s+|\s*[\w.-]{1,64}\s+(?:kernel|systemd|cron):\s+"
)
#: Anything else between a timestamp and the message.
_BETWEEN = re.compile(r"[\s|,:;-]+(?=\S)")

_WORD = r"[\"']?\s*[=:]\s*[\"']?"
_LEVEL = re.compile(
    rf"\b(?P<loud>ERROR|ERR|FATAL|CRITICAL|CRIT|SEVERE|PANIC|EMERG|ALERT|FAILED)\b|[\[<(](?:\w{1, 20}:)?(?P<loud2>error|err|fatal|crit|critical|emerg|alert|panic|severe|Error|Fatal|Critical)[\])>]"
    rf"|(?i:\b(?:level|severity|lvl|levelname|log_level|loglevel){_WORD}(?:(?P<loud3>error|err|fatal|crit|critical|panic|dpanic|emerg|alert|severe|5\d|6\d|错误|严重)|(?P<warn2>warn(?:ing)?|40)|(?P<quiet3>\w+)))"
    r"|[\[【<](?P<loud4>错误|严重|致命|异常|失败|故障)[\]】>]|^(?P<loud5>[EF]\d{4} \d\d:|\d\d-\d\d [\d:.]{8,18}\s+\d+\s+\d+ [EF] |错误[:：]|严重[:：]|致命[:：])"
    r"|\b(?P<warn>WARN|WARNING)\b|[\[【<](?P<warn3>warn|warning|Warning|警告|告警)[\]】>]|^(?P<warn4>W\d{4} \d\d:)"
    r"|\b(?P<quiet>TRACE|DEBUG|INFO|INFORMATION|NOTICE)\b|[\[【<](?P<quiet2>trace|debug|info|notice|Info|Information|信息|调试|提示|通知)[\]】>]|^(?P<quiet4>[ID]\d{4} \d\d:|\d\d-\d\d [\d:.]{8,18}\s+\d+\s+\d+ [VDI] )"
)
_COUNTED = re.compile(
    r"(?<![\d.])0 (?:failed|failures?|errors?|problems?|issues?|warnings?)|(?:failures?|failed|errors?|失败|错误)\s*[:=：]\s*0\b",
    re.IGNORECASE,
)
_STRONG = (
    "ERROR", "FATAL", "CRITICAL", "PANIC", "SEVERE", "Error", "xception", "panic", "Traceback", "error:", "error]", "crit]", "=error", "fatal", '"error"',
    '" 500 ', '" 502 ', '" 503 ', '" 504 ', "Violation", "violates", "segmentation fault", "Segmentation fault", "out of memory", "Out of memory", "Caused by",
)  # fmt: skip
_STRONG_ZH = ("错误", "异常", "严重", "致命", "崩溃")
_WEAK = (
    "error",
    "ailed",
    "ailure",
    "FAIL",
    "denied",
    "refused",
    "timed out",
    "already ",
    "annot ",
    "ould not",
    "nable to",
    "ot found",
    "o such",
    "illed",
    "borted",
    "rashed",
    "nvalid",
    "ERR",
)
_WEAK_ZH = ("失败", "无法", "超时", "拒绝", "故障", "中断")


class LogLevel(IntEnum):
    """The level of a log line."""

    QUIET = 0
    PLAIN = 1  # no level
    WARNS = 2
    LOUD = 3


def looks_logged(line: str) -> bool:
    """Return True for a line that starts with a timestamp, a service or a level."""
    return bool(
        _STAMPED.match(line)
        or _LEVELLED.match(line)
        or _SERVED.match(line)
        or _ACCESS.match(line)
        or _JSONED.match(line)
        or _KEYED.search(line[:600])
    )


def is_stamped(line: str) -> bool:
    """Return True for a line that begins with a timestamp: `2026-03-01` is not a path with a line number."""
    return bool(_STAMPED.match(line))


def is_log(lines: Sequence[str]) -> bool:
    """Return True if most lines of a result are log lines."""
    looked = lines if len(lines) <= 120 else [*lines[:60], *lines[-60:]]
    fits = sum(looks_logged(line) for line in looked)
    return len(looked) > 1 and fits >= _MOST_OF * len(looked)


def body(line: str) -> str:
    """Return the message of a line, without timestamp, host, service and process; levels stay."""
    served = _SERVED.match(line)
    if served:
        line = line[served.end() :].lstrip()
    found = _STAMPED.match(line)
    if found is None:
        return line
    rest = line[found.end() :]
    if writer := _WRITER.match(rest):
        rest = rest[writer.end() :]
    elif gap := _BETWEEN.match(rest):
        rest = rest[gap.end() :]
    return rest.strip() or line


def loudness(line: str) -> LogLevel:
    """Return the level that a line states; the first one counts: `INFO retry after ERROR 7` is quiet."""
    if _ACCESS.match(line):
        return LogLevel.LOUD if _REFUSED.search(line) else LogLevel.QUIET
    found = _LEVEL.search(line[:300])
    if found is None:
        return LogLevel.PLAIN
    kind = (found.lastgroup or "").rstrip("2345")
    return {"loud": LogLevel.LOUD, "warn": LogLevel.WARNS}.get(kind, LogLevel.QUIET)


def loud_lines(text: str) -> tuple[str, ...]:
    """Return lines of a long text that may report errors, in order: a few from each end, found by keywords."""
    if len(text) <= 2 * _SCANNED:
        return _loud(text)
    return (*_loud(text[:_SCANNED]), *_loud(text[-_SCANNED:]))


def _loud(text: str) -> tuple[str, ...]:
    chinese = not text.isascii()
    starts: set[int] = set()
    for words in ((*_STRONG, *(_STRONG_ZH if chinese else ())), (*_WEAK, *(_WEAK_ZH if chinese else ()))):
        starts |= _ends(sorted({at for word in words for at in _places(text, word)}))
    return tuple(line for at in sorted(starts) for line in lines_of(plain(_line_at(text, at))))


def _places(text: str, word: str) -> Iterator[int]:
    """Yield the offsets of the first and last lines with a keyword, except lines that report no error."""
    at, count, looked = text.find(word), 0, 0
    while at >= 0 and count < _FOUND and looked < _LOOKED_AT:
        start = text.rfind("\n", 0, at) + 1
        if _may_report(_line_at(text, start)):
            count += 1
            yield start
        after = text.find("\n", at)
        at, looked = (text.find(word, after) if after >= 0 else -1), looked + 1
    at, count, looked = text.rfind(word) if at >= 0 else -1, 0, 0
    while at >= 0 and count < _FOUND and looked < _LOOKED_AT:
        start = text.rfind("\n", 0, at) + 1
        if _may_report(_line_at(text, start)):
            count += 1
            yield start
        at, looked = (text.rfind(word, 0, start) if start else -1), looked + 1


def _may_report(line: str) -> bool:
    return loudness(line) > LogLevel.QUIET and not counts_nothing(line)


def counts_nothing(line: str) -> bool:
    """Return True for a line that counts errors and finds none: `0 failed`, `errors=0`."""
    return bool(_COUNTED.search(line))


def _ends(starts: list[int]) -> set[int]:
    return set(starts if len(starts) <= 2 * _FOUND else [*starts[:_FOUND], *starts[-_FOUND:]])


def _line_at(text: str, start: int) -> str:
    end = text.find("\n", start)
    return text[start : len(text) if end < 0 else end][:4_000]


def extract_log(value: Json) -> str:
    """Return the lines of a log stored as JSON (a list of lines, or of records with a level); empty for anything else."""
    rows: Json = value
    if isinstance(value, Mapping):
        inner = cast("Mapping[str, Json]", value).values()
        held = [cast("list[Json]", v) for v in inner if isinstance(v, list) and v]
        rows = max(held, key=len) if held else None
    if not isinstance(rows, list) or len(cast("list[Json]", rows)) < 2:
        return ""
    lines = [_row(row) for row in cast("list[Json]", rows)]
    kept = [line for line in lines if line]
    return "\n".join(kept) if len(kept) == len(lines) and is_log(kept) else ""


def _row(row: Json) -> str:
    if isinstance(row, str):
        return row.strip().split("\n")[0]
    if not isinstance(row, dict):
        return ""
    given = cast("dict[str, Json]", row)
    level = next(
        (str(given[k]) for k in ("level", "severity", "levelname", "lvl") if isinstance(given.get(k), str)),
        "",
    )
    words = [
        str(v)
        for k, v in given.items()
        if isinstance(v, str | int | float) and k not in ("level", "severity", "levelname", "lvl")
    ]
    return f"[{level.lower()}] {' '.join(words)}".replace("\n", " ") if level else ""
