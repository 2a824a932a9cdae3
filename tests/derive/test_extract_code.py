"""Coding sessions by rules: what tools did, what was said about code, and what is over."""

from __future__ import annotations

import pytest

from backscroll.derive.extract.assertions import extract
from backscroll.derive.extract.code.errors import trouble_in
from backscroll.derive.extract.code.reader import read
from backscroll.derive.extract.code.shell import files_of, packages_of
from backscroll.derive.extract.code.source import defined_by, packages_in
from backscroll.vocab.assertion import Assertion, Claim
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Message, Role
from backscroll.vocab.part import Json, Part, Text, ToolCall, ToolResult

THREAD = "0" * 32


def message(role: Role, *parts: Part | str, seq: int = 1) -> Message:
    ref = Ref(THREAD, seq)
    told = tuple(Text(p) if isinstance(p, str) else p for p in parts)
    return Message(ref, role, ref, Content(told), "2026-11-01T09:00:00+00:00")


def turn(*rows: tuple[str, Json, str] | str, failed: tuple[int, ...] = ()) -> list[Message]:
    """A turn: words of the user first, then calls with their results, or words of the assistant."""
    out: list[Message] = []
    for n, row in enumerate(rows):
        seq = 2 * n + 1
        if isinstance(row, str):
            out.append(message("user" if not n else "assistant", row, seq=seq))
            continue
        name, arguments, result = row
        out.append(message("assistant", ToolCall(str(n), name, arguments), seq=seq))
        answer = ToolResult(str(n), (Text(result),), n in failed)
        out.append(message("tool", answer, seq=seq + 1))
    return out


def told(found: list[Assertion] | tuple[Assertion, ...]) -> set[tuple[str, str, str]]:
    """Subject, predicate and the other end of everything, ends marked."""
    return {
        (
            c.subject,
            ("end " if c.kind is Claim.END else "") + (c.predicate or c.kind.value),
            c.object or c.value,
        )
        for c in found
    }


def kinds(found: list[Assertion] | tuple[Assertion, ...]) -> dict[str, str]:
    return {c.subject: c.type for c in found if c.type} | {
        c.object: c.object_type for c in found if c.object_type
    }


# -- tools -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments", "path", "how"),
    [
        ("Edit", {"file_path": "src/app.py", "old_string": "a", "new_string": "b"}, "src/app.py", "edited"),
        ("Write", {"file_path": "src/new.py", "content": "x = 1"}, "src/new.py", "created"),
        ("apply_patch", {"input": "*** Begin Patch\n*** Add File: src/a.rs\n+fn go() {}\n*** End Patch"}, "src/a.rs", "created"),
        ("apply_patch", "*** Begin Patch\n*** Delete File: old.py\n*** End Patch", "old.py", "deleted"),
        ("shell", {"command": ["bash", "-lc", "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: src/c.py\n+x = 1\n*** End Patch\nEOF"]}, "src/c.py", "edited"),
        ("shell", {"command": ["apply_patch", "*** Begin Patch\n*** Add File: src/d.py\n+x = 1\n*** End Patch"]}, "src/d.py", "created"),
        ("str_replace_editor", {"command": "create", "path": "/w/b.py", "file_text": "x"}, "/w/b.py", "created"),
        ("str_replace_editor", {"command": "str_replace", "path": "/w/b.py", "new_str": "x"}, "/w/b.py", "edited"),
        ("delete_file", {"path": "src/gone.ts"}, "src/gone.ts", "deleted"),
        ("Bash", {"command": "rm -f src/gone.ts"}, "src/gone.ts", "deleted"),
        ("shell", {"command": ["bash", "-lc", "touch docs/a.md"]}, "docs/a.md", "created"),
        ("replace_in_file", {"path": "文档/说明.md", "diff": "x"}, "文档/说明.md", "edited"),
    ],
)  # fmt: skip
def test_files_changed_by_tools_are_claims(name: str, arguments: Json, path: str, how: str) -> None:
    """For calls of Claude Code, Codex, Cline and OpenHands: who changed which file, and how."""
    found = read(turn("Do it.", (name, arguments, "File created successfully")))
    assert ("assistant", "changed", path) in told(found)
    assert (path, "status", how) in told(found)
    assert kinds(found)[path] == "file"


def test_failed_call_makes_no_change_claim() -> None:
    """An edit that was refused is not a change."""
    found = read(turn("Do it.", ("Edit", {"file_path": "src/app.py"}, "String not found"), failed=(1,)))
    assert not any(c.predicate == "changed" for c in found)


def test_moved_file_claims_its_destination() -> None:
    """The new path replaces the old one."""
    found = read(turn("Do it.", ("Bash", {"command": "git mv src/a.py src/b.py"}, "")))
    assert {("src/a.py", "status", "moved"), ("src/b.py", "replaces", "src/a.py")} <= told(found)


def test_calls_written_in_the_text_are_read() -> None:
    """Cline writes its calls as tags, older OpenHands as functions; answers come in the user's name."""
    cline = [
        message("user", "<task>Fix it.</task>", seq=1),
        message("assistant", "I will edit.\n<write_to_file>\n<path>src/x.py</path>\n<content>\nclass Box:\n    pass\n</content>\n</write_to_file>", seq=2),
        message("user", "[write_to_file for 'src/x.py'] Result:\nThe content was successfully saved.", seq=3),
    ]  # fmt: skip
    found = told(read(cline))
    assert {("assistant", "changed", "src/x.py"), ("Box", "defined_in", "src/x.py")} <= found
    hands = [
        message("user", "Go.", seq=1),
        message(
            "assistant",
            "<function=execute_bash>\n<parameter=command>pytest -q</parameter>\n</function>",
            seq=2,
        ),
        message("user", "EXECUTION RESULT of [execute_bash]:\n3 passed in 0.1s", seq=3),
    ]
    assert ("pytest", "outcome", "3 passed in 0.1s") in told(read(hands))


def test_new_code_claims_definitions_and_packages() -> None:
    """Classes and functions with their file; packages, not what comes with the language or is the project's own."""
    code = "import os\nimport numpy as np\nfrom shop.core import x\n\nclass Cart:\n    def add(self): ...\n\ndef total(cart): ...\n"
    found = read(turn("Do it.", ("Write", {"file_path": "shop/cart.py", "content": code}, "ok")))
    assert {
        ("Cart", "defined_in", "shop/cart.py"),
        ("total", "defined_in", "shop/cart.py"),
        ("shop/cart.py", "depends_on", "numpy"),
    } <= told(found)
    names = {c.object for c in found if c.predicate == "depends_on"}
    assert names == {"numpy"}
    assert not any(c.subject == "add" for c in found)


@pytest.mark.parametrize(
    ("path", "code", "names", "packages"),
    [
        ("a.ts", "import React from 'react'\nimport x from './x'\nexport function useCart() {}", {"useCart"}, {"react"}),
        ("a.tsx", "import {z} from '@scope/pkg/deep'\nexport const Cart = (props: P) => <div/>", {"Cart"}, {"@scope/pkg"}),
        ("m.go", 'import (\n\t"fmt"\n\t"github.com/spf13/cobra/doc"\n)\nfunc (s *S) RunIt() error {', {"RunIt"}, {"github.com/spf13/cobra"}),
        ("/home/x/cli/cmd/app/m.go", 'import "github.com/x/cli/cmd/app/agent"', set(), set()),
        ("l.rs", "use serde::Deserialize;\nuse std::io;\npub struct Config {}\npub async fn load() {}", {"Config", "load"}, {"serde"}),
        ("A.java", "import org.junit.Test;\npublic class Alpha {", {"Alpha"}, {"org.junit"}),
        ("notes.txt", "class Alpha:\nimport numpy", set(), set()),
    ],
)  # fmt: skip
def test_definitions_and_packages_by_file_ending(
    path: str, code: str, names: set[str], packages: set[str]
) -> None:
    """By the ending of the file."""
    assert {d.name for d in defined_by(path, code)} == names
    assert {name for name, _ in packages_in(path, code)} == packages


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("pip install requests==2.31.0 'flask[async]>=2'", {("requests", "2.31.0"), ("flask", "2")}),
        ("cd web && npm install --save-dev vite@5.0.1 @types/node", {("vite", "5.0.1"), ("@types/node", "")}),
        ("uv add -r requirements.txt httpx", {("httpx", "")}),
        ("pip install -e . && pip install ./local", set()),
        ("cargo add serde", {("serde", "")}),
        ("echo pip install x > notes", set()),
        ("go get github.com/spf13/cobra@v1.8.0", {("github.com/spf13/cobra", "v1.8.0")}),
    ],
)
def test_packages_are_read_from_install_commands(command: str, names: set[tuple[str, str]]) -> None:
    """With versions; options, files and URLs are not packages."""
    assert {(p.name, p.version) for p in packages_of(command)} == names


def test_installed_and_removed_packages_are_claims() -> None:
    """Only commands that worked."""
    found = read(
        turn(
            "Do it.",
            ("Bash", {"command": "pip install requests==2.31.0"}, "Successfully installed"),
            ("Bash", {"command": "pip uninstall -y flask"}, "ok"),
            ("Bash", {"command": "pip install nosuchthing"}, "ERROR: No matching distribution"),
            ("Bash", {"command": "apt-get install nosuchlib"}, "E: Unable to locate package nosuchlib"),
            failed=(3,),
        )
    )
    assert {
        ("requests", "status", "installed"),
        ("requests", "version", "2.31.0"),
        ("flask", "status", "removed"),
    } <= told(found)
    assert not any(c.subject.startswith("nosuch") for c in found)


FAILS = 'Traceback (most recent call last):\n  File "src/app.py", line 3, in go\n    x()\nValueError: bad token\n1 failed, 3 passed in 0.2s'


def test_error_opens_and_is_fixed_by_the_change() -> None:
    """The error has message and file; the change before the command succeeded fixes it."""
    rows = (
        "Please run the tests.",
        ("Bash", {"command": "pytest -q"}, FAILS),
        ("Edit", {"file_path": "src/app.py", "old_string": "x()", "new_string": "y()"}, "ok"),
        ("Bash", {"command": "pytest -q tests"}, "4 passed in 0.2s"),
    )
    found = [c for c in read(turn(*rows, failed=(1,))) if c.subject in ("ValueError", "pytest")]
    assert [(c.kind.value, c.predicate, c.object or c.value) for c in found] == [
        ("attribute", "outcome", "1 failed, 3 passed in 0.2s"),
        ("attribute", "status", "open"),
        ("attribute", "message", "bad token"),
        ("relation", "has_error", "ValueError"),
        ("relation", "occurs_in", "src/app.py"),
        ("attribute", "outcome", "4 passed in 0.2s"),
        ("attribute", "status", "fixed"),
        ("end", "occurs_in", "src/app.py"),
        ("relation", "fixed_by", "src/app.py"),
        ("end", "has_error", ""),
    ]


def test_success_in_a_later_turn_ends_errors_of_a_command() -> None:
    """Even if the turn contains only the success."""
    found = read(turn("Again.", ("Bash", {"command": "cd app && npm test"}, "Tests: 12 passed")))
    assert ("npm test", "end has_error", "") in told(found)


def test_outcome_belongs_to_the_last_chained_command() -> None:
    """The earlier commands succeeded, but the output is that of the last one."""
    found = told(
        read(
            turn(
                "Go.", ("Bash", {"command": "cd x && ruff format . && pytest -q | tail -3"}, "3 passed in 1s")
            )
        )
    )
    assert ("pytest", "outcome", "3 passed in 1s") in found
    assert {("ruff", "end has_error", ""), ("pytest", "end has_error", "")} <= found
    assert not any(subject == "ruff" and predicate == "outcome" for subject, predicate, _ in found)


def test_failed_build_is_recognised_from_its_output() -> None:
    """Without an exit code, a clear error line is enough."""
    for output in (
        "cc main.c\nmain.c:3:1: error: expected ';'\nmake: *** [all] Error 1",
        "cd: can't cd to /x\nmake: *** [Makefile:192: build] Error 2",
        "-- Configuring incomplete, errors occurred!\nSee also the log.",
        "BUILD FAILED",
    ):
        found = told(read(turn("Go.", ("Bash", {"command": "make"}, output))))
        assert not any(predicate == "end has_error" for _, predicate, _ in found)
        assert not any(value == "succeeded" for _, _, value in found)
    for output in ("", "all targets are up to date", "compiled with 0 errors"):
        assert ("make", "end has_error", "") in told(read(turn("Go.", ("Bash", {"command": "make"}, output))))


@pytest.mark.parametrize(
    ("text", "name", "place"),
    [
        (FAILS, "ValueError", "src/app.py"),
        ("src/a.ts(3,5): error TS2345: Argument of type", "TS2345", "src/a.ts"),
        ("error[E0308]: mismatched types\n --> src/main.rs:4:5", "E0308", "src/main.rs"),
        ("java.lang.IllegalStateException: no\n\tat java.base/java.lang.Foo.bar(Foo.java:3)\n\tat org.x.Y.z(Y.java:12)", "IllegalStateException", "Y.java"),
        ("E   json.decoder.JSONDecodeError: Expecting value\ntests/test_a.py:14: JSONDecodeError", "JSONDecodeError", "tests/test_a.py"),
        ("    raise ValueError('x')\n    except KeyError:", None, ""),
        ("all good", None, ""),
    ],
)  # fmt: skip
def test_error_names_and_places_are_read(text: str, name: str | None, place: str) -> None:
    """In several languages, with the place in the user's own code; source code that mentions errors has none."""
    found = trouble_in(text)
    assert (found.name if found else None) == name
    assert (found.place if found else "") == place


def test_file_content_is_no_evidence() -> None:
    """Reading a file only claims that the file was read."""
    code = "# notes\nValueError: planted\nMy name is Zara. Zara lives in Rome. class Planted: ..."
    found = extract(turn("Look.", ("Read", {"file_path": "src/app.py"}, code)))
    assert told(found) == {("src/app.py", "node", "")}


# -- words -------------------------------------------------------------------------------------------------------


def said(text: str, role: Role = "user") -> set[tuple[str, str, str]]:
    return told(read([message(role, text)]))


@pytest.mark.parametrize(
    ("text", "new", "old"),
    [
        ("Let's use Redis instead of Memcached for `cache.py`.", "Redis", "Memcached"),
        ("We should switch from `requests` to `httpx` because it is async.", "httpx", "requests"),
        ("Please replace moment with dayjs in src/date.ts.", "dayjs", "moment"),
        ("Use PostgreSQL rather than MySQL (see db.py).", "PostgreSQL", "MySQL"),
        ("我们用 PostgreSQL 代替 MySQL，改 `db.py`。", "PostgreSQL", "MySQL"),
        ("把 moment 换成 dayjs，文件是 src/date.ts。", "dayjs", "moment"),
        ("不用 Redux 了，改用 Zustand，见 store.ts。", "Zustand", "Redux"),
    ],
)
def test_replacement_decision_is_read(text: str, new: str, old: str) -> None:
    """The decision, its subject, and what replaces what."""
    found = said(text)
    assert (new, "replaces", old) in found
    names = {subject for subject, predicate, _ in found if predicate == "concerns"}
    assert len(names) == 1
    assert (names.pop(), "concerns", new) in found


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "We decided to keep the old API in `api.py` because clients depend on it.",
            "keep the old API in api.py",
        ),
        ("我们决定保留旧接口 `api.py`，因为客户端还在用。", "保留旧接口 api.py"),
        ("Let's go with FastAPI for `server.py`.", "use FastAPI"),
    ],
)
def test_decisions_are_read_with_their_reason(text: str, name: str) -> None:
    """In their own words, with the reason."""
    found = said(text)
    assert (name, "node", "") in found
    if "because" in text or "因为" in text:
        assert any(predicate == "reason" for _, predicate, _ in found)


@pytest.mark.parametrize(
    "text",
    [
        "Should we use Redis instead of Memcached in `cache.py`?",
        "If we use Redis instead of Memcached, `cache.py` changes.",
        "Maybe use Redis instead of Memcached in `cache.py`.",
        "Several places create instances using `makeChild` rather than `makeOther`.",
        "我们要不要用 Redis 代替 Memcached？见 `cache.py`。",
        "如果用 Redis 代替 Memcached，`cache.py` 要改。",
        "We haven't decided to keep `api.py`.",
        "Please use a script for `x.py`.",
    ],
)
def test_questions_and_guesses_are_not_decisions(text: str) -> None:
    """Questions, conditions, guesses, descriptions."""
    assert not any(predicate in ("concerns", "replaces") for _, predicate, _ in said(text))


def test_announced_steps_of_a_model_are_not_decisions() -> None:
    """Nor are reports of what was done, although they state what replaced what."""
    assert not any(p == "concerns" for _, p, _ in said("Let's use grep to find `main.py`.", "assistant"))
    done = said("Replaced `os.chdir` with `monkeypatch.chdir` in `test_a.py`.", "assistant")
    assert ("monkeypatch.chdir", "replaces", "os.chdir") in done
    assert not any(p == "concerns" for _, p, _ in done)


def test_expressions_are_not_subjects_of_decisions() -> None:
    """Only things with names are."""
    found = said(
        "I'll replace calls with `countItems` in `a.go`, and use `f(x, y)` instead of `g`.", "assistant"
    )
    assert not any(predicate in ("concerns", "replaces") for _, predicate, _ in found)


def test_everyday_decisions_are_ignored_without_code() -> None:
    """A conversation without code has nothing to read."""
    assert read([message("user", "We decided to marry in May instead of June.")]) == []


@pytest.mark.parametrize(
    ("text", "name", "path"),
    [
        ("The function `parse_config` in `src/config.py` is slow.", "parse_config", "src/config.py"),
        ("`load()` is defined in src/io.py.", "load", "src/io.py"),
        ("`src/io.py` 里的 `load_all` 函数太慢。", "load_all", "src/io.py"),
        ("函数 `load_all` 在 `src/io.py`。", "load_all", "src/io.py"),
    ],
)
def test_function_is_defined_in_the_stated_file(text: str, name: str, path: str) -> None:
    """If the sentence says that the file contains it."""
    assert (name, "defined_in", path) in said(text)


def test_example_file_names_are_not_files() -> None:
    """A pattern for file names is not a file."""
    found = said(
        "If it needs a file, such as buggy.png or input.csv, open src/app.py first. 例如 `demo.py`。"
    )
    names = {subject for subject, _, _ in found}
    assert "src/app.py" in names
    assert not names & {"buggy.png", "demo.py"}


def test_searching_for_a_name_does_not_define_it() -> None:
    """Searching a file for a class is not a statement that it is there."""
    for text in (
        "Let me search for the `CommandParser` class in `cli.py`.",
        "There is no `load_all()` in `src/io.py`.",
    ):
        assert not any(predicate == "defined_in" for _, predicate, _ in said(text, "assistant"))


def test_path_in_the_same_sentence_does_not_define_a_name() -> None:
    """Only a stated definition counts."""
    found = said("I changed `Alpha()` (see `src/a.py`) so that it takes the `BetaConfig` interface.")
    assert ("BetaConfig", "defined_in", "src/a.py") not in found


def test_short_file_name_resolves_to_the_path_of_a_tool() -> None:
    """Where there is only one."""
    found = extract(
        turn("Look at app.py.", ("Edit", {"file_path": "/home/x/src/app.py", "new_string": "y"}, "ok"))
    )
    assert {name for name, kind in kinds(found).items() if kind == "file"} == {"/home/x/src/app.py"}


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("I get a TypeError in src/app.py.", "open"),
        ("运行 src/app.py 时报错 TypeError。", "open"),
        ("The TypeError in src/app.py is fixed.", "fixed"),
        ("src/app.py 的 TypeError 已修复。", "fixed"),
        ("We should handle TypeError in src/app.py.", None),
        ("Please fix the TypeError in src/app.py if you can.", None),
    ],
)
def test_errors_described_in_prose_have_a_status(text: str, status: str | None) -> None:
    """Open, fixed, or only mentioned."""
    found = said(text)
    assert {value for name, predicate, value in found if (name, predicate) == ("TypeError", "status")} == (
        {status} if status else set()
    )
    if status == "fixed":
        assert ("TypeError", "end occurs_in", "") in found


def test_pasted_error_of_a_user_is_read() -> None:
    """In a block; what an assistant shows in one is an example."""
    assert ("ValueError", "message", "bad token") in said(f"It says:\n```\n{FAILS}\n```")
    assert not any(p == "message" for _, p, _ in said(f"Such as:\n```\n{FAILS}\n```", "assistant"))


def test_versions_in_prose_are_read() -> None:
    """Pinned, upgraded, in both languages."""
    assert ("numpy", "version", "2.1.0") in said("Pin `x.txt` to numpy==2.1.0 please.")
    assert ("react", "version", "19.0.1") in said("I upgraded react to 19.0.1 in package.json.")
    assert ("react", "version", "19.0.1") in said("把 react 升级到 19.0.1，见 package.json。")


def test_shell_patterns_are_not_files() -> None:
    """A shell expansion is not a file."""
    assert list(files_of("rm -rf build/* && rm $X.py && rm a.py")) == [("deleted", "a.py", "")]


@pytest.mark.parametrize("text", ["`" * 60_000, "a_" * 40_000, "use " * 20_000, "x/" * 30_000, "<a_b>" * 30_000, "Error" * 20_000, "=1.1" * 20_000])  # fmt: skip
def test_pathological_text_is_read_in_linear_time(text: str) -> None:
    """Nothing is looked for twice; a test that hangs has failed."""
    assert isinstance(read([message("user", text), message("assistant", text, seq=2)]), list)
