"""Keys in the system's keyring: stored, found, removed, never shown, never requested in the background."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backscroll.errors import InvalidInput, KeyRefused, StoreError
from backscroll.llm import keys
from backscroll.llm.providers import Provider, client_for

keyring = pytest.importorskip("keyring")
from keyring.backend import KeyringBackend  # noqa: E402 - only where it is installed

SECRET = "sk-planted-0123456789"


class Safe(KeyringBackend):
    """A keyring in memory."""

    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[tuple[str, str], str] = {}
        self.opened = 0

    def get_password(self, service: str, username: str) -> str | None:
        self.opened += 1
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.held[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if (service, username) not in self.held:
            raise keyring.errors.PasswordDeleteError(username)
        del self.held[service, username]


class Locked(Safe):
    """One that waits for somebody to type a password."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = threading.Event()

    def get_password(self, service: str, username: str) -> str | None:
        self.let_go.wait(30)
        return super().get_password(service, username)


class Broken(Safe):
    """One that fails in its own way."""

    def get_password(self, service: str, username: str) -> str | None:
        raise OSError(f"D-Bus said no to {service} {username}")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def use() -> Iterator[Any]:
    """Put a keyring in place of the system's."""
    before = keyring.get_keyring()
    yield keyring.set_keyring
    keyring.set_keyring(before)


def test_key_can_be_stored_found_and_removed(use: Any, folder: Path) -> None:
    """Under the name of the provider; our files hold the name and nothing else."""
    safe = Safe()
    use(safe)
    keys.store_key("work", f" {SECRET}\n")
    assert keys.names() == ["work"]
    assert keys.stored_key("work") == SECRET
    for path in folder.rglob("*"):
        assert path.is_dir() or SECRET not in path.read_text(encoding="utf-8")
    keys.store_key("work", "sk-other-key")
    assert keys.stored_key("work") == "sk-other-key"
    assert keys.remove_key("work") is True
    assert (keys.stored_key("work"), keys.names(), safe.held) == ("", [], {})
    assert keys.remove_key("work") is False


def test_keyring_is_opened_only_for_stored_keys(use: Any) -> None:
    """No desktop prompts for a password because of a provider without a key."""
    safe = Safe()
    use(safe)
    assert keys.stored_key("work") == ""
    assert Provider("work", base_url="http://127.0.0.1:1", model="m").key({}) == ""
    assert safe.opened == 0


def test_environment_comes_first(use: Any) -> None:
    """A variable wins over the keyring; otherwise the keyring answers, also for a custom server."""
    use(Safe())
    keys.store_key("work", SECRET)
    assert Provider("work", model="m").key({"OPENAI_API_KEY": "sk-env"}) == "sk-env"
    assert Provider("work", model="m").key({}) == SECRET
    assert Provider("work", base_url="http://127.0.0.1:1", model="m").key({}) == SECRET
    with pytest.raises(KeyRefused, match="OPENAI_API_KEY") as caught:
        Provider("other", model="m").key({})
    assert "backscroll config key set other" in caught.value.hint
    client = client_for(Provider("work", model="m"), {})
    try:
        assert SECRET not in f"{client!r} {vars(client)!r}"
    finally:
        client.close()


@pytest.mark.parametrize("bad", ["", "  ", "two words", "密钥", "sk-\x07bell", "x" * 20_000])
def test_invalid_key_is_refused(use: Any, bad: str) -> None:
    """And not repeated."""
    use(Safe())
    with pytest.raises(InvalidInput) as caught:
        keys.store_key("work", bad)
    assert not bad.strip() or bad not in str(caught.value)
    assert keys.names() == []


@pytest.mark.parametrize("name", ["", " work", "a\nb"])
def test_invalid_names_are_refused(use: Any, name: str) -> None:
    """The list has one line per name."""
    use(Safe())
    with pytest.raises(InvalidInput):
        keys.store_key(name, SECRET)


def test_locked_keyring_is_not_waited_for(use: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error within the time limit, with what to do."""
    monkeypatch.setattr(keys, "_PATIENCE", 0.05)
    safe = Locked()
    use(safe)
    keys.store_key("work", SECRET)
    try:
        with pytest.raises(KeyRefused, match="locked"):
            Provider("work", model="m").key({})
    finally:
        safe.let_go.set()


def test_broken_keyring_is_reported(use: Any) -> None:
    """Any exception of the backend becomes our error, without its text."""
    use(Broken())
    keys.store_key("work", SECRET)
    with pytest.raises(KeyRefused, match="OSError") as caught:
        keys.stored_key("work")
    assert SECRET not in str(caught.value)


def test_missing_keyring_is_reported(use: Any) -> None:
    """At once, with the alternative; a key stored elsewhere is mentioned too."""
    from keyring.backends.fail import Keyring

    use(Keyring())
    with pytest.raises(StoreError, match="no keyring"):
        keys.store_key("work", SECRET)
    assert keys.names() == []


def test_removing_a_key_that_is_gone_updates_the_list(use: Any) -> None:
    """It was removed by other means."""
    safe = Safe()
    use(safe)
    keys.store_key("work", SECRET)
    safe.held.clear()
    assert keys.stored_key("work") == ""
    assert keys.remove_key("work") is True
    assert keys.names() == []


def test_keyring_is_checked_before_a_key_is_typed(use: Any) -> None:
    """A missing one is reported first; otherwise nothing is said."""
    from keyring.backends.fail import Keyring

    from backscroll.llm.keys import check_safe

    use(Keyring())
    with pytest.raises(StoreError, match="no keyring"):
        check_safe()
    use(Safe())
    check_safe()
