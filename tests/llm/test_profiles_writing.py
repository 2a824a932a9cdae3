"""Writing providers into the configuration: everything else in the file stays byte for byte."""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.config import load, mcp_table, providers_table
from backscroll.errors import BackscrollError, Conflict, InvalidInput, NotFound
from backscroll.llm.provider_file import add_provider, presets, remove_provider
from backscroll.llm.providers import providers

ENTRY = {"kind": "openai", "base_url": "http://127.0.0.1:1/v1", "model": "m"}
FILE = """# my settings
language = "zh"  # for mother

[providers.first]   # the good one
# it answers
model = "x"
note = '''
[providers.fake]
'''

# about tools
[mcp.files]
command = "tool"

[providers."the second"]
model = "y"
"""
PLAIN = FILE.replace("note = '''\n[providers.fake]\n'''\n", "")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration file that does not exist yet."""
    path = tmp_path / "sub" / "config.toml"
    monkeypatch.setenv("BACKSCROLL_CONFIG", str(path))
    return path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def test_adding_creates_a_private_file(file: Path) -> None:
    """Folder and file are made for the owner only, and the content reads back."""
    assert add_provider("work", ENTRY) == file
    assert providers()["work"].model == "m"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [p.name for p in file.parent.iterdir()] == ["config.toml"]


def test_other_content_is_kept(file: Path) -> None:
    """Adding appends; removing takes out the table and nothing else; comments of the next table stay."""
    write(file, PLAIN)
    add_provider("third", {**ENTRY, "summaries": False, "timeout": 2.5, "tries": 3})
    text = file.read_text(encoding="utf-8")
    assert text.startswith(PLAIN)
    assert list(providers()) == ["first", "the second", "third"]
    assert providers()["third"].timeout == 2.5
    remove_provider("third")
    assert file.read_text(encoding="utf-8").rstrip() == PLAIN.rstrip()
    remove_provider("first")
    text = file.read_text(encoding="utf-8")
    assert "# about tools\n[mcp.files]" in text
    assert '# my settings\nlanguage = "zh"  # for mother\n' in text
    assert list(providers()) == ["the second"]
    remove_provider("the second")
    assert providers_table() == {}
    assert load().language == "zh"
    assert mcp_table() == {"files": {"command": "tool"}}


def test_line_ends_are_kept(file: Path) -> None:
    """A file from Windows keeps CRLF."""
    write(file, PLAIN.replace("\n", "\r\n"))
    add_provider("third", ENTRY)
    assert b"\n" not in file.read_bytes().replace(b"\r\n", b"")
    remove_provider("third")
    assert file.read_bytes().rstrip() == PLAIN.replace("\n", "\r\n").encode().rstrip()


@pytest.mark.parametrize(
    "text",
    [
        'providers = { a = { model = "x" } }\n',
        'providers.a.model = "x"\n',
        '[providers]\na = { model = "x" }\n',
        '[providers]\na.model = "x"\n',
        FILE.replace("first", "a"),
    ],
)
def test_unsafe_edits_are_refused_with_the_lines_to_change(file: Path, text: str) -> None:
    """Tables written in other ways: the file stays, or it is edited correctly."""
    write(file, text)
    before = tomllib.loads(text)["providers"]
    refused: InvalidInput | None = None
    try:
        remove_provider("a")
    except InvalidInput as error:
        refused = error
    if refused is not None:
        assert "providers.a" in refused.hint
        assert file.read_bytes() == text.encode()
    else:
        rest = {k: v for k, v in before.items() if k != "a"}
        assert tomllib.loads(file.read_text(encoding="utf-8"))["providers"] == rest


def test_inline_tables_are_not_extended(file: Path) -> None:
    """TOML forbids it; the lines to write are printed and nothing is written."""
    text = 'providers = { a = { model = "x" } }\n'
    write(file, text)
    with pytest.raises(InvalidInput, match="by hand") as caught:
        add_provider("b", ENTRY)
    assert '[providers.b]\nkind = "openai"' in caught.value.hint
    assert file.read_text(encoding="utf-8") == text


def test_yaml_is_left_for_manual_editing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the exact lines."""
    import yaml

    path = tmp_path / "config.yaml"
    monkeypatch.setenv("BACKSCROLL_CONFIG", str(path))
    path.write_text("language: zh\nproviders:\n  a:\n    model: x\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="by hand") as caught:
        add_provider("b", ENTRY)
    told = yaml.safe_load(caught.value.hint.partition("\n")[2])
    assert told == {"providers": {"b": ENTRY}}
    with pytest.raises(InvalidInput, match="by hand"):
        remove_provider("a")


def test_symlink_is_kept(file: Path, tmp_path: Path) -> None:
    """Some keep their settings in a repository."""
    real = tmp_path / "dotfiles.toml"
    real.write_text("", encoding="utf-8")
    file.parent.mkdir()
    file.symlink_to(real)
    add_provider("work", ENTRY)
    assert file.is_symlink()
    assert "[providers.work]" in real.read_text(encoding="utf-8")


def test_mistakes_are_reported_before_anything_is_written(file: Path) -> None:
    """Bad settings, keys or names, duplicates, unknown names, an unreadable file."""
    for name, entry in (
        ("a", {"kind": "telegraph", "model": "m"}),
        ("a", {**ENTRY, "api_key": "sk-1"}),
        ("a", {"kind": "openai"}),
        ("none", ENTRY),
        ("", ENTRY),
        ("a\nb", ENTRY),
    ):
        with pytest.raises(InvalidInput):
            add_provider(name, entry)
    assert not file.exists()
    with pytest.raises(NotFound):
        remove_provider("a")
    add_provider("a", ENTRY)
    with pytest.raises(Conflict):
        add_provider("a", ENTRY)
    write(file, "[broken")
    with pytest.raises(InvalidInput, match="cannot read"):
        add_provider("b", ENTRY)
    assert file.read_text(encoding="utf-8") == "[broken"


@given(st.text(min_size=1, max_size=12), st.text(min_size=1, max_size=12))
def test_any_name_and_any_model_come_back(
    tmp_path_factory: pytest.TempPathFactory, name: str, model: str
) -> None:
    """Quotes, Chinese, control characters: written and read back the same, or refused with the file untouched."""
    path = tmp_path_factory.mktemp("any") / "config.toml"
    path.write_text("# mine\n", encoding="utf-8")
    try:
        add_provider(name, {"model": model}, path)
    except (BackscrollError, UnicodeEncodeError):
        assert path.read_text(encoding="utf-8") == "# mine\n"
        return
    assert tomllib.loads(path.read_text(encoding="utf-8"))["providers"] == {name: {"model": model}}
    remove_provider(name, path)
    assert path.read_text(encoding="utf-8").startswith("# mine\n")
    assert "providers" not in tomllib.loads(path.read_text(encoding="utf-8"))


def test_every_preset_is_valid() -> None:
    """Kind, address and variable follow the rules for providers."""
    wanted = {
        "openai",
        "anthropic",
        "deepseek",
        "qwen",
        "ollama",
        "vllm",
        "llama.cpp",
        "openrouter",
        "moonshot",
        "zhipu",
    }
    assert wanted <= set(presets())
    for name, entry in presets().items():
        found = providers({name: {**entry, "model": entry["model"] or "any"}})[name]
        assert found.kind == "local" or found.address.startswith("http")


def test_mcp_tables_are_accepted_in_the_file(file: Path) -> None:
    """Any other unknown table is still refused."""
    write(file, '[mcp.a]\ncommand = "x"\n')
    assert load().language == ""
    assert mcp_table() == {"a": {"command": "x"}}
    write(file, "mcp = 3\n")
    with pytest.raises(InvalidInput, match="mcp is not a table"):
        mcp_table()
    write(file, "[mpc.a]\nx = 1\n")
    with pytest.raises(InvalidInput, match="unknown setting"):
        load()
