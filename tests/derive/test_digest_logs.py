"""The error line of a log survives in the digest of a result, whatever program wrote the log and wherever the line is."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.derive.digest import digest_call, room_for
from backscroll.derive.digests.logs import LogLevel, body, is_stamped, loud_lines, loudness
from backscroll.derive.digests.output_text import width
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Json, Text, ToolCall, ToolResult
from tests.derive.log_lines import FORMATS, LogFormat, code_of, log_of

#: Output of programs without moments or levels: not fetched or searched as a log.
OUTPUTS = {"pytest", "cargo", "go", "rust", "java", "make", "npm"}
CALLS: list[tuple[str, dict[str, Json]]] = [
    ("bash", {"command": "docker logs api"}),
    ("get_logs", {"service": "api"}),
    ("read_file", {"path": "build.log"}),
    ("grep", {"pattern": "x"}),
    ("fetch", {"url": "https://example.com/run/7"}),
]
BESIDE = ["", " (0 errors)", " errors=0 failed=0"]


def summary(tool: str, arguments: Json, text: str) -> str:
    """What replaces a result."""
    ref = Ref("0" * 32, 2)
    call, result = ToolCall("c", tool, arguments), ToolResult("c", (Text(text),))
    return digest_call(call, result, at="", call_message=ref, result_message=ref).summary


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
@settings(max_examples=25)
@given(
    before=st.integers(0, 400),
    after=st.integers(0, 400),
    number=st.integers(0, 99_999),
    call=st.sampled_from(CALLS),
    beside=st.sampled_from(BESIDE),
)
def test_the_error_of_a_log_survives(
    form: LogFormat, before: int, after: int, number: int, call: tuple[str, dict[str, Json]], beside: str
) -> None:
    """One error line anywhere: its code is in the digest, which is not longer than it may be."""
    if form.name in OUTPUTS and call[0] in ("grep", "fetch"):
        call = CALLS[0]
    text = log_of(form, before, after, code_of(number), beside="" if form.name == "JSON lines" else beside)
    made = summary(*call, text)
    assert code_of(number) in made, f"{form.name}, {call[0]}, line {before} of {before + after + 1}: {made}"
    assert width(made) <= room_for(len(text))


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_error_in_the_middle_of_a_huge_log_is_found(form: LogFormat) -> None:
    """300 kB, of which both ends are read: the error is in between."""
    lines = 300_000 // len(form.calm(1_000))
    assert "TX-88121" in summary(
        "bash", {"command": "docker logs api"}, log_of(form, lines // 2, lines // 2, "TX-88121")
    )


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("2026-03-01 12:09:11 ERROR api UniqueViolation TX-88121: duplicate key value", "UniqueViolation TX-88121"),
        ("db-1   | Bind for 0.0.0.0:5432 failed: port is already allocated", "0.0.0.0:5432 failed: port is already allocated"),
        ("web-1  | goroutine panic: close of closed channel", "close of closed channel"),
        (f"2026-03-01 12:09:11 ERROR {'while handling the request of a user ' * 9}: UniqueViolation TX-88121", "TX-88121"),
    ],
)  # fmt: skip
def test_digest_keeps_the_error_line_of_a_log(line: str, kept: str) -> None:
    """Results that were digested as `81 matches: 2026:03,03`."""
    calm = [f"2026-03-01 12:0{n % 10}:{n % 60:02d} INFO  api request {n} served" for n in range(40)]
    if line.split(" ", maxsplit=1)[0].endswith("-1"):
        calm = [f"web-1  | 12:00:{n:02d} GET /health 200" for n in range(40)]
    assert kept in summary("bash", {"command": "docker logs api"}, "\n".join([*calm, line, *calm]))


def test_json_logs_are_read_as_logs() -> None:
    """A list of lines, and a list of records with a level."""
    lines = [FORMATS[0].calm(n) for n in range(60)]
    lines.insert(20, FORMATS[0].error(20, "TX-88121"))
    rows = [{"level": "info", "msg": f"tick {n}", "n": n} for n in range(60)]
    rows.insert(33, {"level": "error", "msg": "insert failed: TX-88121", "n": 33})
    for value in (lines, {"logs": lines}, rows, {"entries": rows, "next": 7}):
        assert "TX-88121" in summary("get_logs", {"service": "api"}, json.dumps(value))


def test_search_for_an_error_is_digested_as_a_search() -> None:
    """Matches are shown by file and line."""
    found = "\n".join(f"src/part{n}.py:{n + 1}: raise ValueError('bad')  # error: {n}" for n in range(40))
    assert summary("bash", {"command": "grep -rn error src"}, found).startswith(
        "40 matches in 40 files: src/part0.py:1"
    )
    assert not is_stamped("src/2026-03-01.py:12: x")


@pytest.mark.parametrize(
    ("line", "said", "level"),
    [
        ("2026-03-01T12:00:00.123Z INFO retry after ERROR 7", "INFO retry after ERROR 7", LogLevel.QUIET),
        ("Mar  1 12:00:00 web01 sshd[812]: Failed password", "Failed password", LogLevel.PLAIN),
        ("web-1  | 12:00:00 GET /health 200", "GET /health 200", LogLevel.PLAIN),
        ("E0301 12:00:00.123456       1 main.go:12] sync failed", "sync failed", LogLevel.LOUD),
        ('time="2026-03-01T12:00:00Z" level=warning msg="slow"', 'time="2026-03-01T12:00:00Z" level=warning msg="slow"', LogLevel.WARNS),
        ("2026年3月1日 12:00:00 【错误】 连接失败", "【错误】 连接失败", LogLevel.LOUD),
    ],
)  # fmt: skip
def test_log_line_body_and_level_are_parsed(line: str, said: str, level: LogLevel) -> None:
    """The text after timestamp and prefix, and the level stated by the line."""
    assert (body(line), loudness(line)) == (said, level)


@given(st.text(max_size=400), st.integers(0, 30))
def test_any_text_can_be_looked_through(text: str, times: int) -> None:
    """Whatever a result holds, looking for loud lines finds whole lines of it, and few."""
    found = loud_lines(f"{text}\n" * times)
    assert len(found) <= 160
    assert all(line == line.strip() and "\n" not in line for line in found)
