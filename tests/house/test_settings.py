"""Settings in tables, in TOML and YAML; invalid ones are refused with their name and a hint."""

from __future__ import annotations

from pathlib import Path

import pytest

from backscroll.config import config_file, explain_settings, flat, format_setting_name, load
from backscroll.errors import InvalidInput

YAML = """
# as in the design notes
sliding_window:
  size: 3          # turns
  processing_delay: 2
  max_retries: 5
node_creation:
  auto_infer_attributes: false
  min_attributes: 4
conflict_resolution:
  strategy: "latest_wins"
  preserve_user_edits: false
language: zh
"""
TOML = """
language = "zh"
[sliding_window]
size = 3
processing_delay = 2
max_retries = 5
[node_creation]
auto_infer_attributes = false
min_attributes = 4
[conflict_resolution]
strategy = "latest_wins"
preserve_user_edits = false
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty configuration folder."""
    monkeypatch.delenv("BACKSCROLL_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = tmp_path / "backscroll"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    ("name", "text"), [("config.yaml", YAML), ("config.yml", YAML), ("config.toml", TOML)]
)
def test_tables_are_read_in_both_spellings(config: Path, name: str, text: str) -> None:
    """The names in the design notes work as written."""
    (config / name).write_text(text, encoding="utf-8")
    settings = load()
    assert config_file() == config / name
    assert (settings.sliding_window_size, settings.sliding_window_processing_delay) == (3, 2)
    assert settings.sliding_window_max_retries == 5
    assert settings.node_creation_auto_infer_attributes is False
    assert settings.node_creation_min_attributes == 4
    assert settings.conflict_resolution_preserve_user_edits is False
    assert settings.language == "zh"
    assert {s.name: s.source for s in explain_settings()}["sliding_window_size"] == "file"


def test_toml_takes_precedence(config: Path) -> None:
    """One file is read, never a mixture of two."""
    (config / "config.yaml").write_text("actor: yaml", encoding="utf-8")
    (config / "config.toml").write_text('actor = "toml"', encoding="utf-8")
    assert load().actor == "toml"


def test_arguments_may_be_tables(config: Path) -> None:
    """Flat names and tables mean the same."""
    assert load({"sliding_window": {"size": 5}}).sliding_window_size == 5
    assert load({"sliding_window_size": 5}).sliding_window_size == 5
    assert not list(config.iterdir())


def test_full_name_wins_over_the_table(config: Path) -> None:
    """What `config set` writes takes effect, wherever the old value is."""
    (config / "config.yaml").write_text(
        "sliding_window:\n  size: 3\nsliding_window_size: 5\n", encoding="utf-8"
    )
    assert load().sliding_window_size == 5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sliding_window: {size: 4, speed: 9}", "sliding_window.speed"),
        ("sliding_window: {size: 2, processing_delay: 2}", "sliding_window.processing_delay"),
        ("sliding_window: {size: 0, processing_delay: 0}", "at least one turn"),
        ("sliding_window: {size: many}", "not a number"),
        ("conflict_resolution: {strategy: oldest_wins}", "conflict_resolution.strategy"),
        ("conflict_resolution: {settled_edits: maybe}", "conflict_resolution.settled_edits"),
        ("conflict_resolution: {settled_deletes: 7}", "settled_deletes"),
        ("node_creation: {auto_infer_attributes: perhaps}", "neither true nor false"),
        ("sliding_window: 4", "unknown setting 'sliding_window'"),
        ("sliding_window: {size: [", "cannot read the configuration"),
        ("- a\n- b", "holds no settings"),
    ],
)
def test_invalid_files_are_refused_with_the_name_of_the_setting(config: Path, text: str, said: str) -> None:
    """Never ignored, never applied in part."""
    (config / "config.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=said.replace(".", r"\.")):
        load()


def test_setting_names_convert_both_ways() -> None:
    """Both directions."""
    assert format_setting_name("sliding_window_call_retries") == "sliding_window.call_retries"
    assert flat("sliding_window.call_retries") == "sliding_window_call_retries"
    assert (format_setting_name("actor"), flat("actor")) == ("actor", "actor")
