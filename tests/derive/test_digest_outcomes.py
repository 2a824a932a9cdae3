"""What a digest says: for every kind of tool, in English and Chinese, what a later step would need to the letter."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.derive.digest import Digest, digest_call, room_for
from backscroll.derive.digests.output_text import width
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Media, Opaque, Text, ToolCall, ToolResult

CALL, RESULT = Ref("0" * 32, 16), Ref("0" * 32, 17)


def digest(name: str, arguments: Any, text: str, *, is_error: bool = False, **more: Any) -> Digest:
    return digest_call(
        ToolCall("1", name, arguments),
        ToolResult("1", (Text(text),), is_error),
        at="2026-11-15T10:00:00Z",
        call_message=CALL,
        result_message=RESULT,
        **more,
    )


PYTHON = """import os
from shop.money import Money

MAX_ROWS = 100


class Ledger:
    def add(self, entry):
        pass


def load_ledger(path):
    return Ledger()
"""

TRACEBACK = """Traceback (most recent call last):
  File "/srv/shop/app/main.py", line 88, in <module>
    main()
  File "/srv/shop/app/store.py", line 31, in load
    return json.loads(text)
  File "/usr/lib/python3.11/json/__init__.py", line 346, in loads
    return _default_decoder.decode(s)
json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)
"""


class TestReading:
    def test_file_digest_has_line_count_and_definitions(self) -> None:
        made = digest("Read", {"file_path": "shop/ledger.py"}, PYTHON * 3)
        assert made.line.startswith("Read shop/ledger.py: 39 lines: MAX_ROWS, Ledger, load_ledger")
        assert made.handle == "[bs:17]"

    def test_partial_file_digest_names_its_lines(self) -> None:
        numbered = "\n".join(f"{n:6}→{line}" for n, line in enumerate((PYTHON * 3).split("\n"), 41))
        assert digest("Read", {"file_path": "a.py"}, numbered).summary.startswith(
            "lines 41-80: MAX_ROWS, Ledger"
        )

    @pytest.mark.parametrize(
        ("text", "names"),
        [
            (
                "package main\n\nfunc ParseTotals(r io.Reader) error {\n}\n\ntype Cart struct {\n}\n",
                "ParseTotals, Cart",
            ),
            (
                "export async function loadCart(id) {\n}\nexport const addItem = (a) => {\n}\n",
                "loadCart, addItem",
            ),
            (
                "pub fn total_of(rows: &[Row]) -> u64 {\n}\nimpl Cart {\n    pub fn add(&mut self) {\n    }\n}\n",
                "total_of, Cart",
            ),
            ("public class Cart {\n    public int addItem(String id) {\n    }\n}\n", "Cart, addItem"),
        ],
    )
    def test_file_digest_names_definitions_of_other_languages(self, text: str, names: str) -> None:
        assert names in digest("Read", {"path": "x"}, text + "// filler words of no weight\n" * 20).summary

    def test_document_digest_lists_headings(self) -> None:
        text = "# Plan\n\n" + "words " * 60 + "\n\n## Storage layout\n\nx\n\n## Open questions\n"
        assert "Plan, Storage layout, Open questions" in digest("Read", {"path": "plan.md"}, text).summary

    def test_document_digest_lists_chinese_headings(self) -> None:
        text = "# 计划\n\n" + "文字" * 90 + "\n\n## 存储布局\n\n甲\n\n## 待定问题\n"
        assert "计划, 存储布局, 待定问题" in digest("Read", {"path": "计划.md"}, text).summary

    def test_missing_file_digest_is_an_error(self) -> None:
        made = digest("Read", {"file_path": "a.py"}, "Error: File does not exist: a.py", is_error=True)
        assert made.is_error
        assert "File does not exist: a.py" in made.summary

    def test_binary_and_encoded_data_are_described(self) -> None:
        assert digest("Read", {}, "\x00\x01\x02ELF" * 300).summary == "binary data, 1800 characters"
        assert digest("Read", {}, "QUJD" * 3000).summary == "encoded data, 12000 characters"

    def test_diff_digest_names_its_files(self) -> None:
        text = (
            "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-x = 1\n+x = compute_total(2)\n"
            + " y\n" * 80
        )
        summary = digest("Bash", {"command": "git diff"}, text).summary
        assert summary.startswith("a.py +1 -1")
        assert "compute_total" in summary


class TestCommands:
    def test_traceback_digest_has_error_place_and_exit_code(self) -> None:
        made = digest(
            "Bash",
            {"command": "python app.py"},
            "Exit code 1\n" + "starting up\n" * 20 + TRACEBACK,
            is_error=True,
        )
        assert made.exit_code == 1
        assert made.is_error
        assert made.summary.startswith("exit 1; json.decoder.JSONDecodeError: Expecting value")
        assert "app/store.py:31" in made.summary

    def test_test_run_digest_has_totals_and_first_failure(self) -> None:
        text = (
            ".....F\n"
            * 20
            + "E       assert 1 == 2\n\ntests/test_ledger.py:14: AssertionError\n=== short test summary ===\n"
            "FAILED tests/test_ledger.py::test_total - assert 1 == 2\n===== 1 failed, 41 passed in 0.52s =====\n"
        )
        summary = digest("Bash", {"command": "pytest"}, text).summary
        assert "FAILED tests/test_ledger.py::test_total - assert 1 == 2" in summary
        assert "1 failed, 41 passed in 0.52s" in summary

    @pytest.mark.parametrize(
        ("text", "parts"),
        [
            (
                "error[E0382]: borrow of moved value: `cfg`\n  --> src/main.rs:12:9\n",
                ["borrow of moved value", "src/main.rs:12"],
            ),
            (
                "src/a.c:31:5: error: use of undeclared identifier 'n'\n1 error generated.\n",
                ["src/a.c:31:5: error: use of undeclared"],
            ),
            (
                "--- FAIL: TestParse (0.00s)\n    parse_test.go:44: got 3, want 4\nFAIL\tacme/parse\t0.3s\n",
                ["TestParse", "parse_test.go:44"],
            ),
            (
                "TypeError: bad cart id\n    at addItem (/srv/x.js:3:11)\n",
                ["TypeError: bad cart id", "/srv/x.js:3"],
            ),
            ("Tests:       1 failed, 12 passed, 13 total\nTime: 2.1 s\n", ["1 failed, 12 passed, 13 total"]),
            (
                "[ERROR] Tests run: 14, Failures: 1, Errors: 0\n[INFO] BUILD FAILURE\n",
                ["Tests run: 14, Failures: 1"],
            ),
            ("bash: pyhton: command not found\n", ["pyhton: command not found"]),
            (
                "错误：无法连接到数据库 10.0.0.5:5432，连接被拒绝\n部署失败\n",
                ["无法连接到数据库 10.0.0.5:5432"],
            ),
        ],
    )
    def test_failed_command_digest_shows_the_most_telling_line(self, text: str, parts: list[str]) -> None:
        made = digest("Bash", {"command": "x"}, "a line of no importance\n" * 30 + text, is_error=True)
        assert [part for part in parts if part not in made.summary] == []

    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ("Exit code 2\nboom", 2),
            ("Exit code: 0\nWall time: 1 seconds\nOutput:\nok", 0),
            ("Process exited with code 127\nOutput:\nx", 127),
            ("ok\n[Command finished with exit code 0]", 0),
            ("x\n<returncode>3</returncode>", 3),
            ("完成\n退出码：4", 4),
            ('{"output": "x", "metadata": {"exit_code": 101, "duration_seconds": 1}}', 101),
            ('{"stdout": "a", "stderr": "b", "exitCode": 5}', 5),
            ("the exit was blocked by 12 people", None),
            ("nothing", None),
        ],
    )
    def test_exit_code_is_read_from_the_output(self, text: str, code: int | None) -> None:
        made = digest("shell", {"command": "x"}, text)
        assert made.exit_code == code
        assert made.is_error is bool(code)

    def test_zero_errors_is_not_an_error(self) -> None:
        made = digest("Bash", {"command": "lint"}, "checked 31 files\n" * 30 + "0 errors, 0 warnings\n")
        assert not made.is_error
        assert "0 errors, 0 warnings" in made.summary

    def test_progress_bars_and_colours_are_removed(self) -> None:
        made = digest(
            "Bash", {"command": "x"}, "\x1b[31mget\x1b[0m 10%\r 50%\r100%\n\x1b]0;title\x07done\x08\x08ne"
        )
        assert made.summary == "100% | done"

    def test_short_output_is_kept_as_it_is(self) -> None:
        assert digest("Bash", {"command": "x"}, "a.py\nb.py\n").summary == "a.py | b.py"

    def test_empty_output_is_no_output(self) -> None:
        assert digest("Bash", {"command": "true"}, "").summary == "no output"
        assert digest("Bash", {"command": "x"}, "   \n\n").summary == "no output"

    def test_system_reminders_are_not_output(self) -> None:
        text = "ok\n<system-reminder>never say this</system-reminder>"
        assert digest("Bash", {"command": "x"}, text).summary == "ok"

    def test_unique_line_is_preferred_to_repeated_lines(self) -> None:
        text = "Successfully built the archive\n" + "waiting\n" * 60
        assert "Successfully built the archive" in digest("Bash", {"command": "x"}, text).summary


class TestFinding:
    def test_search_digest_counts_matches_and_names_files(self) -> None:
        rows = "\n".join(f"src/m{n}.py:{n}: total_rows" for n in range(40))
        summary = digest("Grep", {"pattern": "total"}, rows).summary
        assert summary.startswith("40 matches in 40 files: src/m0.py:0, src/m1.py:1")
        assert "+" in summary.split(", ")[-1]

    def test_search_digest_groups_matches_by_file(self) -> None:
        rows = "\n".join(
            f"src/shop/ledger.py:{n}:    row = total({n}) # words words words" for n in range(3, 30)
        )
        assert "src/shop/ledger.py:3,4,5,6" in digest("Grep", {"pattern": "total"}, rows).summary

    def test_search_digest_of_a_file_list(self) -> None:
        text = "Found 30 files\n" + "\n".join(f"src/deep/module_{n}.py" for n in range(30))
        assert digest("Grep", {"pattern": "x"}, text).summary.startswith(
            "Found 30 files: src/deep/module_0.py, "
        )

    def test_search_digest_without_matches(self) -> None:
        assert digest("Grep", {"pattern": "x"}, "No matches found").summary == "No matches found"
        assert digest("Grep", {"pattern": "x"}, "没有找到匹配的内容").summary == "没有找到匹配的内容"

    def test_folder_listing_digest_names_entries(self) -> None:
        rows = "\n".join(f"-rw-r--r--  1 u u  913 Nov 15 12:39 file_{n}.txt" for n in range(20))
        summary = digest(
            "Bash", {"command": "ls -la"}, f"total 48\ndrwxr-xr-x 5 u u 4096 Nov 15 12:39 .\n{rows}"
        ).summary
        assert summary.startswith("20 entries: file_0.txt, file_1.txt")

    def test_tree_digest_names_paths(self) -> None:
        text = "- /srv/shop/\n  - README.md\n  - src/\n" + "".join(f"    - mod{n}.py\n" for n in range(30))
        assert digest("LS", {"path": "."}, text).summary.startswith("33 paths: /srv/shop/, README.md, src/")


class TestChanging:
    def test_edit_digest_counts_lines(self) -> None:
        arguments = {
            "file_path": "a.py",
            "old_string": "def f():\n    return 1\n",
            "new_string": "def f():\n    return 2\n\ndef reset_rows():\n    pass\n",
        }
        made = digest("Edit", arguments, "The file a.py has been updated.")
        assert made.line.startswith("Edit a.py: +4 -1 lines: reset_rows")

    def test_write_digest_names_definitions(self) -> None:
        made = digest("Write", {"file_path": "a.py", "content": PYTHON}, "File created")
        assert made.summary.startswith("+13 lines: MAX_ROWS, Ledger, load_ledger")

    def test_patch_digest_counts_lines(self) -> None:
        patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n+z\n*** Add File: b.py\n+def reset_rows():\n*** End Patch"
        made = digest("apply_patch", patch, "Success")
        assert made.line.startswith("apply_patch a.py +1: +3 -1 lines: reset_rows")

    def test_search_replace_block_digest_counts_lines(self) -> None:
        diff = "<<<<<<< SEARCH\na = 1\n=======\na = 2\nb = 3\n>>>>>>> REPLACE\n"
        assert digest("replace_in_file", {"path": "a.py", "diff": diff}, "ok").summary.startswith(
            "+2 -1 lines"
        )

    def test_multi_edit_digest_adds_up_lines(self) -> None:
        edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c\nd", "new_string": ""}]
        assert digest("MultiEdit", {"file_path": "x", "edits": edits}, "ok").summary == "+1 -3 lines"

    def test_failed_edit_digest_gives_the_reason(self) -> None:
        text = "<tool_use_error>String to replace not found in file.\nString: x</tool_use_error>"
        made = digest("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}, text)
        assert made.is_error
        assert "String to replace not found in file." in made.summary

    def test_todo_digest_groups_by_status(self) -> None:
        todos = [
            {"content": "Read the code", "status": "completed"},
            {"content": "Fix the parser", "status": "in_progress"},
            {"content": "更新文档", "status": "pending"},
        ]
        made = digest("TodoWrite", {"todos": todos}, "Todos have been modified successfully.")
        assert made.summary == "1/3 done; now: Fix the parser; open: 更新文档"


class TestFields:
    def test_record_digest_shows_ids_states_and_amounts_first(self) -> None:
        order = {
            "comment": "please " * 30,
            "vip": False,
            "status": "pending",
            "items": [{"sku": "A-113", "price": 12.5}, {"sku": "B-207", "price": 99}],
            "customer": {"email": "ada@x.test", "notes": None},
        }
        summary = digest("get_order", {"order_id": "W81"}, json.dumps(order)).summary
        for part in ("sku A-113, B-207", "status pending", "price 12.5, 99", "email ada@x.test"):
            assert part in summary
        assert "please" not in summary[: summary.index("price")]

    def test_record_digest_shows_codes_under_any_field_name(self) -> None:
        user = {"membership": "gold", "biography": "words " * 40, "bookings": ["JG7FMM", "2FBBAH", "XEWRD9"]}
        assert "JG7FMM, 2FBBAH, XEWRD9" in digest("get_user", {}, json.dumps(user)).summary

    def test_record_digest_leaves_out_the_arguments_of_the_call(self) -> None:
        row = {"order_id": "ORDER-81", "tracking": "TRK-993", "text": "words " * 40}
        summary = digest("get_order", {"order_id": "ORDER-81"}, json.dumps(row)).summary
        assert "TRK-993" in summary
        assert "ORDER-81" not in summary

    def test_record_digest_reads_chinese_field_names(self) -> None:
        order = {
            "备注": "请放在门口" * 20,
            "状态": "已发货",
            "金额": 318.5,
            "物流单号": "SF1234567890",
            "收件人": {"姓名": "韩梅梅"},
        }
        summary = digest("查询订单", {"订单号": "A-77"}, json.dumps(order, ensure_ascii=False)).summary
        for part in ("物流单号 SF1234567890", "状态 已发货", "金额 318.5", "姓名 韩梅梅"):
            assert part in summary

    def test_yaml_record_is_digested(self) -> None:
        text = (
            "booking_id: DL7K2M\nstatus: completed\nnotes: null\nsegments:\n- flight_number: DL417\n  airline: Delta\n"
            + "detail: words and more words\n" * 9
        )
        summary = digest("get_booking", {}, text).summary
        for part in ("booking_id DL7K2M", "status completed", "flight_number DL417"):
            assert part in summary
        assert "null" not in summary

    def test_json_error_is_an_error(self) -> None:
        made = digest(
            "call", {}, json.dumps({"trace": "x" * 300, "error": {"code": "E42", "message": "No such user"}})
        )
        assert made.is_error
        assert "No such user" in made.summary

    def test_rows_digest_has_count_and_columns(self) -> None:
        rows = [{"id": n, "name": f"Name {n}", "total": n * 1.5} for n in range(30)]
        summary = digest("query", {"sql": "select"}, json.dumps(rows)).summary
        assert summary.startswith("30 rows (id, name, total)")
        assert "Name 0" in summary

    def test_drawn_table_digest_has_count_and_columns(self) -> None:
        text = (
            " id |  name  \n----+--------\n"
            + "".join(f"  {n} | 张三{n}  \n" for n in range(1, 31))
            + "(30 rows)\n"
        )
        assert digest("sql", {"query": "select"}, text).summary.startswith(
            "30 rows (id, name): 1 张三1 | 2 张三2"
        )

    def test_empty_list_is_digested(self) -> None:
        assert digest("search_flights", {}, "[]").summary == "[]"

    def test_truncated_json_is_digested(self) -> None:
        assert digest("x", {}, '{"id": "A-113", "rows": [' + "1, " * 300).summary


class TestPages:
    def test_web_page_digest_has_title_and_first_sentence(self) -> None:
        text = "# Rate limits\n\nThe API allows 600 requests a minute.\n\n## Headers\n\n" + "words " * 60
        summary = digest("WebFetch", {"url": "https://docs.test", "prompt": "?"}, text).summary
        assert summary.startswith("Rate limits")
        assert "The API allows 600 requests a minute." in summary

    def test_web_search_digest_lists_urls(self) -> None:
        text = "\n".join(f"{n}. Page {n}\n   https://a.test/page/{n}" for n in range(12))
        assert (
            "https://a.test/page/0, https://a.test/page/1"
            in digest("web_search", {"query": "x"}, text).summary
        )

    def test_http_digest_starts_with_the_status(self) -> None:
        assert digest(
            "fetch", {"url": "u"}, "HTTP/1.1 503 Service Unavailable\n\n" + "try later " * 30
        ).summary.startswith("503")


class TestWrappings:
    def test_mcp_content_blocks_are_joined(self) -> None:
        blocks = [{"type": "text", "text": "first words"}, {"type": "text", "text": "second words"}]
        assert digest("mcp__a__b", {}, json.dumps(blocks)).summary == "first words | second words"

    def test_code_fences_are_removed(self) -> None:
        assert digest("Bash", {"command": "x"}, "```text\n0 issues.\n```").summary == "0 issues."

    def test_media_and_unknown_parts_are_digested(self) -> None:
        result = ToolResult(
            "1", (Media("image/png", name="shot.png"), Opaque("vendor", "odd", '{"id": "A-1"}'))
        )
        made = digest_call(
            ToolCall("1", "browser", {}), result, at="", call_message=CALL, result_message=RESULT
        )
        assert made.summary.startswith("image/png shot.png; ")
        assert "A-1" in made.summary

    def test_empty_result_is_no_output(self) -> None:
        made = digest_call(
            ToolCall("1", "x", None), ToolResult("1", ()), at="", call_message=CALL, result_message=RESULT
        )
        assert made.summary == "no output"


ODD = st.text(alphabet=st.characters(), max_size=300) | st.sampled_from(
    [
        "{" * 5000,
        "a/" * 20_000,
        "错误" * 20_000,
        "\x1b[" * 9000,
        "x\r" * 9000,
        "a\x08" * 9000,
        "\n" * 30_000,
        "\ud800" * 50,
        "= " * 9000,
    ]
)


@given(
    name=st.sampled_from(
        ["Read", "Edit", "Grep", "LS", "Bash", "WebFetch", "sql", "TodoWrite", "Task", "other", ""]
    ),
    arguments=st.none()
    | ODD
    | st.dictionaries(st.sampled_from(["path", "command", "content", "todos", "x"]), ODD, max_size=3),
    text=ODD,
    is_error=st.booleans(),
    limit=st.integers(-5, 400),
)
def test_any_result_gives_one_line_within_its_room(
    name: str, arguments: Any, text: str, is_error: bool, limit: int
) -> None:
    """Whatever a tool answers: one line, no control characters, within the room, the same each time, writable as UTF-8."""
    made = digest(name, arguments, text, is_error=is_error, limit=limit, grows=False)
    assert made == digest(name, arguments, text, is_error=is_error, limit=limit, grows=False)
    assert made.summary
    assert "\n" not in made.line
    assert "\x1b" not in made.line
    assert width(made.summary) <= max(16, limit) + 1
    made.line.encode()


def test_digest_room_grows_with_the_result_up_to_a_limit() -> None:
    assert room_for(500) == 160
    assert room_for(8_000) > 250
    assert room_for(10**9) == 480
    text = "\n".join(f"def function_number_{n}():\n    pass" for n in range(600))
    assert width(digest("Read", {}, text).summary) > width(digest("Read", {}, text, grows=False).summary)


def test_huge_result_is_read_at_both_ends() -> None:
    """The middle is only counted."""
    text = "def first_function():\n    pass\n" + "x = 1\n" * 400_000 + "def last_function():\n    pass\n"
    summary = digest("Read", {"path": "a.py"}, text).summary
    assert summary.startswith("400004 lines")
    assert "first_function, last_function" in summary
