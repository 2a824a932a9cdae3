"""The file of permissions: readable and writable by hand, strict, atomic."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.agent.approval.permissions import add, read_tables, remove, rules_in_force
from backscroll.agent.approval.rules import Rule, rule_of
from backscroll.config import permissions_file
from backscroll.errors import InvalidInput, NotFound, StoreError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "settings" / "permissions.toml"


def allow(text: str) -> Rule:
    return rule_of(text, "allow")


def test_rules_round_trip_per_folder(file: Path, tmp_path: Path) -> None:
    """For everything, for a folder, for the folders below it; not for its neighbours."""
    add(allow("run_command(git status *)"), None, file)
    add(rule_of("write_file(文档/**)", "deny"), tmp_path / "项目", file)
    inside = rules_in_force(tmp_path / "项目" / "src", file)
    assert {(r.text, r.verdict, r.source) for r in inside} == {
        ("run_command(git status *)", "allow", "always"),
        ("write_file(文档/**)", "deny", "project"),
    }
    assert [r.source for r in rules_in_force(tmp_path / "项目2", file)] == ["always"]
    assert [r.source for r in rules_in_force(None, file)] == ["always"]


def test_missing_file_means_no_rules(file: Path) -> None:
    assert rules_in_force(None, file) == []
    assert not file.exists()


def test_permissions_file_ignores_the_settings_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A settings file inside a workspace must not move the permissions there."""
    monkeypatch.setenv("BACKSCROLL_CONFIG", str(tmp_path / "work" / "config.toml"))
    assert tmp_path / "work" not in permissions_file().parents


def test_comments_and_layout_are_preserved(file: Path) -> None:
    """Adding and removing touches one line."""
    file.parent.mkdir()
    written = '# mine\n[always]\n"read_file" = "ask"  # careful\n\n\n["/p"]  # the project\n"a(b)" = "deny"\n'
    file.write_text(written, encoding="utf-8")
    add(allow("c(d)"), None, file)
    add(allow("e"), Path("/p"), file)
    text = file.read_text(encoding="utf-8")
    assert text == (
        '# mine\n[always]\n"read_file" = "ask"  # careful\n"c(d)" = "allow"\n\n\n'
        '["/p"]  # the project\n"a(b)" = "deny"\n"e" = "allow"\n'
    )
    remove("c(d)", None, file)
    remove("e", Path("/p"), file)
    assert file.read_text(encoding="utf-8") == written


def test_new_verdict_replaces_the_old_one(file: Path) -> None:
    assert add(allow("a(b)"), None, file) is True
    assert add(allow("a(b)"), None, file) is False
    assert add(rule_of("a(b)", "deny"), None, file) is True
    assert read_tables(file) == {"always": {"a(b)": "deny"}}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("[always]\nx = 3\n", "line 2"),
        ('[always]\n"x" = "maybe"\n', "line 2"),
        ('[always]\n\n"not a rule" = "allow"\n', "line 3"),
        ('[project]\n"x" = "allow"\n', "line 1"),
        ('always = "x"\n', "line 1"),
        ('[always]\n"x" = "allow"\n"x" = "deny"\n', "line 3"),
        ("[always\n", "line 1"),
        ("\x00", "line 1"),
    ],
)
def test_invalid_permissions_file_is_refused_with_the_line(file: Path, content: str, told: str) -> None:
    """Never ignored; and never overwritten by adding a rule."""
    file.parent.mkdir()
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInput, match=told):
        rules_in_force(None, file)
    with pytest.raises(InvalidInput):
        add(allow("a"), None, file)
    assert file.read_text(encoding="utf-8") == content


def test_non_utf8_permissions_file_is_refused(file: Path) -> None:
    file.parent.mkdir()
    file.write_bytes(b"[always]\n\xff\xfe = 1\n")
    with pytest.raises(InvalidInput, match="cannot be used"):
        rules_in_force(None, file)


def test_removing_a_missing_rule_is_an_error(file: Path) -> None:
    with pytest.raises(NotFound, match="no rule"):
        remove("a", None, file)


def test_rules_in_another_layout_are_read_but_not_rewritten(file: Path) -> None:
    """Rules written in another way are understood, but not rewritten."""
    file.parent.mkdir()
    content = 'always = { "a(b)" = "allow" }\n'
    file.write_text(content, encoding="utf-8")
    assert [r.text for r in rules_in_force(None, file)] == ["a(b)"]
    with pytest.raises(InvalidInput):
        remove("a(b)", None, file)
    assert file.read_text(encoding="utf-8") == content


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_folder_is_reported(file: Path) -> None:
    file.parent.mkdir()
    file.parent.chmod(0o500)
    try:
        with pytest.raises(StoreError, match="cannot write"):
            add(allow("a"), None, file)
    finally:
        file.parent.chmod(0o700)


def test_symlinked_permissions_file_stays_a_link(file: Path, tmp_path: Path) -> None:
    """People keep their settings in a repository and link to them."""
    kept = tmp_path / "dotfiles" / "permissions.toml"
    kept.parent.mkdir()
    kept.write_text("", encoding="utf-8")
    file.parent.mkdir()
    file.symlink_to(kept)
    add(allow("a"), None, file)
    assert file.is_symlink()
    assert "a" in kept.read_text(encoding="utf-8")


def test_concurrent_additions_are_all_kept(file: Path) -> None:
    """Each change is read, applied and written atomically."""
    names = [f"tool_{n}" for n in range(24)]

    def work(some: list[str]) -> None:
        for name in some:
            add(allow(name), None, file)

    threads = [threading.Thread(target=work, args=(names[n::4],)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(read_tables(file)["always"]) == sorted(names)
    assert [p.name for p in file.parent.iterdir()] == [file.name], "something was left behind"


@given(st.text(max_size=30).map(str.strip).filter(lambda s: s not in ("", "=")))
def test_any_pattern_survives_the_file(tmp_path_factory: pytest.TempPathFactory, pattern: str) -> None:
    """Quotes, line ends, control characters, Chinese: what is written down is read back, and can be removed."""
    file = tmp_path_factory.mktemp("any") / "permissions.toml"
    rule = allow(f"run_command({pattern})")
    add(rule, None, file)
    assert [r.text for r in rules_in_force(None, file)] == [rule.text]
    remove(rule.text, None, file)
    assert rules_in_force(None, file) == []
