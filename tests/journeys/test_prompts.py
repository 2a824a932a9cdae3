"""Journeys of a user who views prompts and controls their content."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

import backscroll
from backscroll.surfaces.screen.cells import width
from backscroll.vocab.part import Text, ToolCall, ToolResult
from tests import programs
from tests.journeys.conftest import SAMPLES, Cli

HOSTILE = "</pre><script>alert(1)</script>"


@pytest.fixture
def long(cli: Cli) -> str:
    """A session with far more in it than a small prompt can hold; gives its id."""
    with backscroll.open(cli.environment["BACKSCROLL_STORE"], background=False) as store:
        thread = store.create("Harbour 港口")
        thread.append("system", "You are careful.")
        for n in range(12):
            thread.append("user", f"Please mend function_{n} in module{n}.py; the limit is {n}17 ms.")
            call = ToolCall(f"c{n}", "Read", {"path": f"src/module{n}.py"})
            thread.append("assistant", [Text(f"I look at module{n}."), call])
            lines = "".join(f"def helper_{n}_{k}(): return {k}\n" for k in range(60))
            thread.append("tool", [ToolResult(f"c{n}", (Text(lines),))])
            thread.append("assistant", f"Mended function_{n}, because the tests need it.")
    return thread.id


# -- context -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("budget", ["3000", "128000"])
def test_context_fits_the_terminal(cli: Cli, long: str, language: str, budget: str) -> None:
    """With small and large budgets, in both languages: a bar, the figures, every message; at most 80 cells wide."""
    done = cli.ok("context", long, "--budget", budget, "--lang", language, COLUMNS="80")
    lines = done.out.splitlines()
    assert [line for line in lines if width(line) > 80] == []
    assert len(lines[1]) == 72
    assert ("回答" if language == "zh" else "answer") in done.out
    assert ("理由" if language == "zh" else "why") in done.out
    assert "function_11" in done.out


def test_context_writes_nothing(cli: Cli, long: str) -> None:
    """The log stays as it was, however small the budget."""
    before = cli.ok("log", long, "--json", "-n", "1").json
    cli.ok("context", long, "--budget", "3000")
    cli.ok("context", long, "--budget", "3000", "--diff", "--brief")
    cli.ok("prompt", long, "--budget", "3000", "--dry-run")
    assert cli.ok("log", long, "--json", "-n", "1").json == before


def test_context_as_json(cli: Cli, long: str) -> None:
    """The same facts: within the budget, every item with its handle and reason, and a sum that adds up."""
    found = cli.ok("context", long, "--budget", "3000", "--json").json
    assert found["total"] <= found["budget"] == 3000
    assert found["left_out"] > 0
    assert sum(item["tokens"] for item in found["items"]) <= found["tokens"]
    assert all(item["reason"] for item in found["items"])
    assert found["compaction"]["after"] < found["compaction"]["before"]
    assert "helper_" not in json.dumps(found)


def test_brief_prints_only_the_figures(cli: Cli, long: str) -> None:
    whole = cli.ok("context", long, "--budget", "3000").out
    brief = cli.ok("context", long, "--budget", "3000", "--brief").out
    assert whole.startswith(brief)
    assert "[bs:" not in brief


def test_context_shows_changes_since_the_last_prompt(cli: Cli, long: str) -> None:
    """Without a previous prompt there is nothing to compare; later, cached and new parts are marked."""
    first = cli.ok("context", long, "--budget", "9000", "--diff")
    assert "No previous prompt" in first.out
    cli.ok("prompt", long, "--budget", "9000")
    cli.ok("append", long, "user", "And now the last one, please.")
    after = cli.ok("context", long, "--budget", "9000", "--diff").out
    assert "≡" in after
    assert "are the same as last time" in after
    assert any(line.startswith(("+ recent", "+ history")) for line in after.splitlines())
    difference = cli.ok("context", long, "--budget", "9000", "--diff", "--json").json["difference"]
    assert difference["same"] > 0
    assert difference["new"]
    assert "与上次相同" in cli.ok("context", long, "--budget", "9000", "--diff", "--lang", "zh").out


def test_context_as_of_an_earlier_event(cli: Cli, long: str) -> None:
    """With the messages of that moment; an unknown event is not found."""
    early = cli.ok("context", long, "--as-of", "3", "--json").json
    assert (early["event"], early["messages"], early["left_out"]) == (3, 2, 0)
    nothing = cli.ok("context", long, "--as-of", "1").out
    assert "Nothing to send" in nothing
    missing = cli("context", long, "--as-of", "99999")
    assert (missing.code, "event 99999 not found" in missing.err) == (4, True)
    assert cli("context", long, "--as-of", "yesterday").code == 2


def test_tools_are_counted(cli: Cli, long: str) -> None:
    """A list of tools or a request with one; anything else is refused in a sentence, without a traceback."""
    tool = {"type": "function", "function": {"name": "read", "description": "reads", "parameters": {}}}
    whole = cli.folder / "tools.json"
    whole.write_text(json.dumps([tool]), encoding="utf-8")
    request = cli.folder / "request.json"
    request.write_text("\ufeff" + json.dumps({"model": "m", "tools": [tool]}), encoding="utf-8")
    without = cli.ok("context", long, "--json").json
    for path in (whole, request):
        found = cli.ok("context", long, "--tools", path, "--json").json
        assert found["tools"] > 0 == without["tools"]
    for name, content in {"a.json": "{", "b.json": '"x"', "c.json": '{"tools": 3}', "d.json": "[1]"}.items():
        (cli.folder / name).write_text(content, encoding="utf-8")
    (cli.folder / "e.json").write_bytes(b"\xff\xfe\x00")
    for name in ("a.json", "b.json", "c.json", "d.json", "e.json", "none.json", "."):
        refused = cli("context", long, "--tools", name)
        assert refused.code == 2, name
        assert len(refused.err.splitlines()) == 2, refused.err
    assert "Traceback" not in cli("prompt", long, "--tools", "a.json").err
    assert "读不了" in cli("context", long, "--tools", "a.json", "--lang", "zh").err


def test_context_as_a_page(cli: Cli, long: str) -> None:
    """One file, in the language asked for, with all text escaped; an unwritable path is refused."""
    cli.ok("append", long, "user", f"hostile {HOSTILE}")
    cli.ok("rename", long, HOSTILE)
    target = cli.folder / "prompt.html"
    done = cli.ok("context", long, "--budget", "9000", "--html", target)
    assert str(target) in done.out
    text = target.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)" in text
    cli.ok("context", long, "--html", target, "--lang", "zh")
    assert 'lang="zh-CN"' in target.read_text(encoding="utf-8")
    refused = cli("context", long, "--html", cli.folder)
    assert (refused.code, len(refused.err.splitlines())) == (7, 2)
    assert cli.ok("context", long, "--html", target, "--json").json["path"] == str(target)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--budget", "0"), 2),
        (("--budget", "-5"), 2),
        (("--budget", "many"), 2),
        (("--budget", "1.5"), 2),
        (("--budget", "12"), 2),
        (("--reserve", "-1"), 2),
        (("--reserve", "999999"), 2),
        (("--wire", "smoke"), 2),
        (("--model", "no-such-model-9"), 2),
    ],
)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_bad_input_is_refused(cli: Cli, arguments: tuple[str, ...], code: int, language: str) -> None:
    """With a sentence and a hint in the user's language."""
    thread = cli.conversation("hello there", "hello")
    refused = cli("context", thread, *arguments, "--lang", language)
    assert (refused.code, "Traceback" in refused.err) == (code, False)
    assert len(refused.err.splitlines()) == 2
    if language == "zh":
        assert re.search("[\u4e00-\u9fff]", refused.err.splitlines()[0].removeprefix("错误："))
        assert re.search("[\u4e00-\u9fff]", refused.err.splitlines()[1])


@pytest.mark.parametrize("command", ["context", "prompt", "compact"])
def test_unknown_thread_is_refused(stocked: Cli, command: str) -> None:
    refused = stocked(command, "00000000")
    assert (refused.code, "Traceback" in refused.err) == (4, False)


# -- prompt ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wire", "key"), [("openai-chat", "messages"), ("openai-responses", "input"), ("anthropic", "messages")]
)
def test_prompt_prints_the_request_body(cli: Cli, long: str, wire: str, key: str) -> None:
    """On each wire, and `check` finds it valid; with --json the receipt too."""
    done = cli.ok("prompt", long, "--budget", "6000", "--wire", wire)
    assert done.json[key]
    assert "receipt" not in done.json
    sent = cli.folder / "request.json"
    sent.write_text(done.out, encoding="utf-8")
    assert cli.ok("check", sent, "--wire", wire).code == 0
    assert (
        cli.ok("prompt", long, "--budget", "6000", "--wire", wire, "--json").json["receipt"]["wire"] == wire
    )


def test_compaction_is_logged_and_undone(cli: Cli, long: str) -> None:
    """The log has what it saved; `undo` reverts a requested compaction."""
    told = cli.ok("compact", long, "--budget", "9000", "--dry-run").out
    assert told.startswith("Would compact:")
    assert "per call: pays off after" in told
    assert " 0 steps" not in told
    assert "将会压缩" in cli.ok("compact", long, "--budget", "9000", "--dry-run", "--lang", "zh").out
    done = cli.ok("compact", long, "--budget", "9000", "--json").json
    assert done["saved"] == done["before"] - done["after"] > 0
    assert f"{done['before']:,} → {done['after']:,} tokens" in cli.ok("log", long, "-n", "1").out
    assert "Undone: compacted" in cli.ok("undo", long).out


@pytest.mark.parametrize("language", ["en", "zh"])
def test_compact_undo_reverts_an_automatic_compaction(cli: Cli, long: str, language: str) -> None:
    """`undo` reverts the user's own changes; `compact --undo` the compaction in effect, whoever made it."""
    lang = ("--lang", language)
    assert cli("compact", long, "--undo", *lang).code == 4
    cli.ok("prompt", long, "--budget", "6000")
    assert cli("undo", long).code == 4
    told = cli.ok("compact", long, "--undo", *lang).out
    assert {"en": "prompts show the history", "zh": "已撤销"}[language] in told
    assert cli("compact", long, "--undo", *lang).code == 4
    cli.ok("redo", long)
    assert cli.ok("compact", long, "--undo", "--json").json["kind"] == "undone"
    refused = cli("compact", long, "--undo", "--budget", "9000", *lang)
    assert (refused.code, len(refused.err.splitlines())) == (2, 2)


def test_short_conversation_is_not_compacted(cli: Cli) -> None:
    assert "Nothing to compact" in cli.ok("compact", cli.conversation("hello", "hi")).out


# -- crop, uncrop, expand ----------------------------------------------------------------------------------------


def texts(cli: Cli, thread: str) -> str:
    return cli.ok("prompt", thread, "--dry-run", "--budget", "60000").out


def test_crop_and_uncrop(cli: Cli, long: str) -> None:
    """Cropped messages leave the prompt at once, the context names the crop, and uncrop restores every byte."""
    before = texts(cli, long)
    would = cli.ok("crop", long, "top", "8", "--dry-run")
    assert "Would crop" in would.out
    assert texts(cli, long) == before
    done = cli.ok("crop", long, "top", "8", "--summary", "The first two are mended.", "--yes", "--json").json
    assert done["messages"] == 8
    cropped = texts(cli, long)
    assert "helper_0_1(" not in cropped
    assert "The first two are mended." in cropped
    picture = cli.ok("context", long, "--budget", "60000").out
    assert f"cropped: 8 messages, {done['handle']}" in picture
    assert "已裁剪" in cli.ok("context", long, "--budget", "60000", "--lang", "zh").out
    shown = cli.ok("show", long, "--json").json
    assert len(shown) == 49
    originals = cli.ok("expand", long, done["handle"], "--json").json
    assert [m["id"] for m in originals] == [m["id"] for m in shown[1:9]]
    assert "8 messages are back" in cli.ok("uncrop", long, done["handle"]).out
    assert texts(cli, long) == before
    assert "Undone: uncropped" in cli.ok("undo", long).out
    assert texts(cli, long) == cropped


def test_crop_can_be_undone(cli: Cli, long: str) -> None:
    before = texts(cli, long)
    cli.ok("crop", long, "bottom", "1", "--yes")
    assert texts(cli, long) != before
    assert "8 messages" not in cli.ok("log", long, "-n", "1").out
    assert "1 message, [bs:" in cli.ok("log", long, "-n", "1").out
    assert cli.ok("undo", long, "--lang", "zh").out.strip() == "已撤销：裁剪"
    assert texts(cli, long) == before


def test_crop_takes_a_range(cli: Cli, long: str) -> None:
    """By numbers as `show` prints them; half a range is refused."""
    done = cli.ok("crop", long, "--from", "6", "--to", "9", "--yes", "--json").json
    assert done["messages"] == 4
    assert "helper_1_1(" not in texts(cli, long)
    assert "helper_0_1(" in texts(cli, long)
    assert cli("crop", long, "--from", "6").code == 2
    assert cli("crop", long, "--from", "9", "--to", "6").code == 2


def test_crop_of_task_messages_needs_confirmation(cli: Cli) -> None:
    """Without a terminal it is refused, with the option that allows it."""
    thread = cli.conversation(
        "the parser in parser.py fails on empty input",
        "noted",
        "mend the parser in parser.py for empty input",
    )
    before = texts(cli, thread)
    refused = cli("crop", thread, "top", "2")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert texts(cli, thread) == before
    assert "会移走什么" in cli("crop", thread, "top", "2", "--lang", "zh").err
    cli.ok("crop", thread, "top", "2", "--yes")
    assert texts(cli, thread) != before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("top", "0"), "1 or more"),
        (("top", "-1"), ""),
        (("top", "9999"), "or fewer"),
        (("top",), "crop last top 4"),
        ((), ""),
        (("sideways", "2"), ""),
        (("top", "x"), ""),
        (("top", "1", "--summary", ""), "one is made"),
        (("top", "1", "--summary", "word " * 900), "shorten it"),
    ],
)
def test_impossible_crops_are_refused(cli: Cli, long: str, arguments: tuple[str, ...], words: str) -> None:
    """With what would work; nothing is changed."""
    refused = cli("crop", long, *arguments)
    assert (refused.code, "Traceback" in refused.err) == (2, False)
    assert words in refused.err
    assert cli.ok("log", long, "-n", "1", "--json").json[0]["kind"] == "appended"


def test_crop_amount_between_two_units_names_the_nearest(cli: Cli, long: str) -> None:
    """A call stays with its result; the hint gives the amounts that work, in both languages."""
    refused = cli("crop", long, "top", "2")
    assert (refused.code, "1 or 3" in refused.err) == (2, True)
    assert "1 或 3" in cli("crop", long, "top", "2", "--lang", "zh").err


@pytest.mark.parametrize(
    ("handle", "code"), [("x", 2), ("[bs:0]", 2), ("[bs:99999999999]", 2), ("[bs:9999]", 4), ("[bs:1]", 4)]
)
def test_unknown_handles_are_refused(cli: Cli, long: str, handle: str, code: int) -> None:
    for command in ("expand", "uncrop"):
        refused = cli(command, long, handle)
        assert (refused.code, len(refused.err.splitlines())) == (code, 2)


def test_expand_prints_the_messages_behind_a_handle(cli: Cli, long: str) -> None:
    """In full, as text and as JSON; the brackets are optional."""
    handle = cli.ok("show", long, "--json").json[3]["id"].rpartition(".")[2]
    for spelt in (f"[bs:{handle}]", f"bs:{handle}", handle):
        done = cli.ok("expand", long, spelt)
        assert "def helper_0_59(): return 59" in done.out
    assert cli.ok("expand", long, handle, "--json").json[0]["role"] == "tool"


# -- work --------------------------------------------------------------------------------------------------------


def test_work_brings_everything_up_to_date_once(stocked: Cli) -> None:
    """A second call finds nothing to do."""
    first = stocked.ok("work", "--json").json
    assert (first["threads"], first["failed"]) == (2, 0)
    assert first["made"] > 0
    assert stocked.ok("work", "--json").json["threads"] == 0
    assert "0 个对话" in stocked.ok("work", "--lang", "zh").out


def test_work_follow_runs_until_interrupted(stocked: Cli) -> None:
    """It processes new messages, and an interrupt ends it cleanly."""
    running = programs.start(
        stocked.command("work", "--follow"),
        env=stocked.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=stocked.folder,
    )
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and not _up_to_date(stocked.environment["BACKSCROLL_STORE"]):
            time.sleep(0.2)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=120)
    finally:
        running.kill()
        running.wait()
    assert running.returncode == 130
    assert "Traceback" not in said.decode()
    assert _up_to_date(stocked.environment["BACKSCROLL_STORE"])


def _up_to_date(store: str) -> bool:
    from backscroll.engine.background.worker import JOB

    with backscroll.open(store, background=False) as engine:
        return not engine.store.read(lambda reader: reader.behind(JOB, 1))


# -- real material -----------------------------------------------------------------------------------------------


def test_real_session_fits_small_and_large_prompts(cli: Cli) -> None:
    """A long transcript of a coding agent is shown, sent and condensed at every size without a warning."""
    folder = Path(__file__).parents[3] / "shared" / "data" / "transcripts" / "claude-code"
    found = sorted(folder.glob("*.jsonl"), key=lambda path: path.stat().st_size) if folder.is_dir() else []
    if not found:
        pytest.skip("no real transcripts beside the repository")
    cli.ok("import", found[-1])
    for budget in ("8000", "64000"):
        picture = cli.ok("context", "last", "--budget", budget, COLUMNS="80")
        assert [line for line in picture.out.splitlines() if width(line) > 80] == []
        made = cli.ok("prompt", "last", "--budget", budget, "--json").json["receipt"]
        assert made["total"] <= int(budget)


def test_chinese_sample_is_shown_in_chinese(cli: Cli) -> None:
    """The columns line up in cells, not in characters."""
    cli.ok("import", SAMPLES / "roleplay-zh.jsonl")
    lines = cli.ok("context", "last", "--budget", "4000", "--lang", "zh", COLUMNS="80").out.splitlines()
    assert [line for line in lines if width(line) > 80] == []
    rows = [line for line in lines if "[bs:" in line and "原文" in line]
    assert len(rows) > 5
    assert len({width(row[: row.index("[bs:")]) for row in rows}) == 1
    assert any("柿子树" in row for row in rows)
