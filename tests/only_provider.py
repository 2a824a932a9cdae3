"""Configure a scripted service as the only provider of a test."""

from __future__ import annotations

from pathlib import Path

import pytest


def configure_only_provider(url: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a settings file that names the service at `url`, with a key that must never be logged."""
    config = folder / "config.toml"
    config.write_text(
        f'[providers.here]\nbase_url = "{url}"\nmodel = "m"\nkey_env = "PLANTED"\ntries = 1\n',
        encoding="utf-8",
    )
    monkeypatch.setenv("BACKSCROLL_CONFIG", str(config))
    monkeypatch.setenv("PLANTED", "sk-planted-0001")
