"""Providers: their settings, which one is used, and where keys come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from backscroll.config import load, providers_table
from backscroll.errors import InvalidInput, KeyRefused, NotFound
from backscroll.llm.provider import KINDS, Provider
from backscroll.llm.providers import choose_provider, client_for, providers

MINE = {"model": "m"}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config.toml"
    monkeypatch.setenv("BACKSCROLL_CONFIG", str(path))
    return path


def test_no_file_means_no_providers(file: Path) -> None:
    """Everything is rule-based by default."""
    assert providers() == {}
    assert choose_provider() is None
    assert providers_table() == {}


def test_provider_tables_share_a_file_with_settings(file: Path) -> None:
    """The settings are read as before."""
    file.write_text(
        'language = "zh"\n[providers.a]\nmodel = "x"\n[providers.b]\nkind = "anthropic"\nmodel = "y"\nsummary_model = "z"\n'
        'base_url = "http://localhost:1"\ntimeout = 5\n',
        encoding="utf-8",
    )
    assert load().language == "zh"
    found = providers()
    assert list(found) == ["a", "b"]
    assert (found["a"].wire, found["a"].writer, found["a"].structured) == ("openai-chat", "x", True)
    assert (found["b"].wire, found["b"].writer, found["b"].structured) == ("anthropic", "z", False)
    assert found["b"].timeout == 5.0
    first, second = choose_provider(), choose_provider("b")
    assert first is not None
    assert second is not None
    assert (first.name, second.name) == ("a", "b")
    assert choose_provider("none") is None
    with pytest.raises(NotFound) as caught:
        choose_provider("c")
    assert "a, b" in caught.value.hint


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("text", "not a table"),
        ({}, "model is missing"),
        ({"model": 7}, "model is not a text"),
        ({**MINE, "colour": "red"}, "unknown setting 'colour'"),
        ({**MINE, "kind": "gemini"}, "unknown kind 'gemini'"),
        ({**MINE, "base_url": "localhost:80"}, "not an address"),
        ({**MINE, "base_url": "ftp://x/y"}, "not an address"),
        ({**MINE, "base_url": "http://user:pass@host/v1"}, "keys do not belong"),
        ({**MINE, "api_key": "sk-1"}, "keys do not belong"),
        ({**MINE, "Token": "sk-1"}, "keys do not belong"),
        ({**MINE, "timeout": 0}, "more than 0"),
        ({**MINE, "timeout": float("nan")}, "more than 0"),
        ({**MINE, "timeout": True}, "not a number"),
        ({**MINE, "tries": 1.5}, "not a whole number"),
        ({**MINE, "tries": 0}, "more than 0"),
        ({**MINE, "summaries": "yes"}, "not true or false"),
    ],
)
def test_mistakes_name_file_table_and_setting(file: Path, entry: Any, told: str) -> None:
    """A planted key is not repeated."""
    with pytest.raises(InvalidInput, match=told) as caught:
        providers({"here": entry})
    assert str(file) in caught.value.message
    assert "[providers.here]" in caught.value.message
    assert "sk-1" not in str(caught.value)


def test_list_of_providers_is_refused(file: Path) -> None:
    """`providers` itself must be a table."""
    file.write_text("providers = [1]\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="not a table"):
        providers()


def test_keys_come_from_the_environment_only() -> None:
    """A missing one names its variable; a custom server gets no vendor's key unless told to."""
    environ = {"OPENAI_API_KEY": "sk-openai", "MINE": " sk-mine\n"}
    assert Provider("a", model="m").key(environ) == "sk-openai"
    assert Provider("a", base_url="http://elsewhere/v1", model="m").key(environ) == ""
    assert Provider("a", base_url="http://elsewhere/v1", model="m", key_env="MINE").key(environ) == "sk-mine"
    with pytest.raises(KeyRefused, match="ANTHROPIC_API_KEY"):
        Provider("a", "anthropic", model="m").key(environ)
    with pytest.raises(KeyRefused, match="NOWHERE"):
        Provider("a", model="m", key_env="NOWHERE").key({"NOWHERE": "  "})


@pytest.mark.parametrize("kind", KINDS)
def test_client_does_not_show_its_key(kind: Any) -> None:
    """Neither a client nor its provider prints it."""
    client = client_for(
        Provider("a", kind, "http://127.0.0.1:1", "m", key_env="K"), {"K": "sk-secret-123456"}
    )
    try:
        assert "sk-secret" not in f"{client!r} {vars(client)!r}"
    finally:
        client.close()
