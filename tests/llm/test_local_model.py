"""A model in this process; skipped without the package xllamacpp or the files."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from backscroll.errors import ContextOverflow, InvalidInput, MissingExtra, NotFound, Unreachable
from backscroll.llm.clients import local_model
from backscroll.llm.clients.client import Done, Request, TextDelta
from backscroll.llm.encoders import model_files
from backscroll.llm.prices.windows import window_for
from backscroll.llm.providers import Provider, client_for, providers

#: Where the person who runs the tests has it; tests themselves have another home.
FILE = model_files.folder_of("smollm2") / model_files.model_named("smollm2").files[0].name


def local(**more: Any) -> Provider:
    return providers({"local": {"kind": "local", "model": "smollm2", **more}})["local"]


def test_local_model_defaults() -> None:
    """No key, the chat wire, nothing read from or written to a cache unless told to, a small window."""
    found = local()
    assert (found.wire, found.key({}), found.writer, found.reader) == ("openai-chat", "", "", "")
    assert local(summaries=True).writer == local(summaries=True).reader == "smollm2"
    assert Provider("a", model="m", summaries=False).reader == "m"
    assert window_for("smollm2").tokens == 8192


def test_missing_requirements_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files, a model that cannot run here, an address."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with pytest.raises(MissingExtra, match="not installed") as caught:
        client_for(local())
    assert "backscroll models install smollm2" in caught.value.hint
    with pytest.raises(NotFound, match="can run in this process"):
        client_for(local(model="minilm"))
    with pytest.raises(InvalidInput, match="base_url"):
        client_for(local(base_url="http://127.0.0.1:1"))


def test_missing_program_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the first call, with both ways to install it."""
    import sys

    monkeypatch.setattr(local_model, "_file", lambda _name: Path("none.gguf"))
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    client = client_for(local())
    with pytest.raises(MissingExtra, match="xllamacpp") as caught:
        client.complete(Request([{"role": "user", "content": "x"}]))
    assert "pip install xllamacpp" in caught.value.hint
    client.abort()
    client.close()


def test_requirements_are_installed_by_pip() -> None:
    """Into this Python's environment; a failure shows pip's last lines and the command."""
    ran: list[Sequence[str]] = []

    def run(code: int) -> Any:
        def done(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
            ran.append(command)
            return subprocess.CompletedProcess(list(command), code, "", "ERROR: no space\n")

        return done

    model_files.install_needs("smollm2", run(0))
    assert ran[0][1:4] == ["-m", "pip", "install"]
    assert "xllamacpp" in ran[0]
    with pytest.raises(Unreachable, match="no space") as caught:
        model_files.install_needs("smollm2", run(1))
    assert "pip install" in caught.value.hint
    assert model_files.needs_met("minilm") is True


@pytest.mark.skipif(
    not local_model.engine_installed() or not FILE.exists(),
    reason="needs `backscroll models install smollm2`",
)
def test_local_model_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """For real: whole, streamed, cut at the limit; and its server is gone afterwards."""
    monkeypatch.setattr(local_model, "_file", lambda _name: FILE)
    client = client_for(local())
    try:
        reply = client.complete(Request([{"role": "user", "content": "Say hello."}], max_tokens=8))
        assert reply.usage.output > 0
        events = list(client.stream(Request([{"role": "user", "content": "Say hello."}], max_tokens=8)))
        assert isinstance(events[-1], Done)
        assert any(isinstance(e, TextDelta) for e in events)
        with pytest.raises(ContextOverflow) as caught:
            client.complete(Request([{"role": "user", "content": "hello " * 9000}]))
        assert caught.value.facts["window"] == 8192
    finally:
        client.close()
    assert local_model._running == {}
