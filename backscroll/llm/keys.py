"""Store services' API keys in the system keyring (Keychain, Credential Manager, Secret Service), instead of the environment.

Owns storing, finding and removing them, and the list of stored names: the keyring is opened only for a provider whose key was
stored here. It never prompts: a keyring that is locked or asks for a password is an error within seconds. Keys never appear
in messages or files.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from backscroll.config import default_store
from backscroll.errors import InvalidInput, KeyRefused, MissingExtra, StoreError

T = TypeVar("T")
_SERVICE = "backscroll"
_PATIENCE = 5.0  # seconds for a keyring to open; longer means that it waits for the user
_LONGEST = 10_000


def names() -> list[str]:
    """Return the providers with a stored key, sorted, without opening the keyring."""
    try:
        return sorted(set(filter(None, _list().read_text(encoding="utf-8").splitlines())))
    except (OSError, UnicodeDecodeError):
        return []


def stored_key(name: str) -> str:
    """Return the key of a provider from the keyring; empty if none was stored."""
    if name not in names():
        return ""
    try:
        found = _within(lambda: _safe().get_password(_SERVICE, name))
    except (MissingExtra, StoreError) as error:
        raise KeyRefused(
            f"the key of {name} is in the system's keyring, which cannot be opened: {error.message}",
            hint=error.hint or "unlock it, or put the key into an environment variable",
        ) from error
    return str(found or "").strip()


def check_safe() -> None:
    """Raise if the system has no keyring; called before the user types a key."""
    _within(_safe)


def store_key(name: str, key: str) -> None:
    """Store the key of a provider in the keyring, replacing an older one."""
    _check_name(name)
    key = key.strip()
    # A header cannot hold other characters, which pasting often adds.
    if not key or len(key) > _LONGEST or not key.isascii() or not key.isprintable() or " " in key:
        raise InvalidInput("not a key", hint="a key is one word of letters, digits and signs")
    _within(lambda: _safe().set_password(_SERVICE, name, key))
    _remember([*names(), name])


def remove_key(name: str) -> bool:
    """Remove the key of a provider from the keyring; False if there was none."""
    if name not in names():
        return False
    import keyring.errors

    def remove() -> None:
        # Already removed by other means: only update the list.
        with contextlib.suppress(keyring.errors.PasswordDeleteError):
            _safe().delete_password(_SERVICE, name)

    _within(remove)
    _remember([n for n in names() if n != name])
    return True


def _check_name(name: str) -> None:
    if not name.strip() or name != name.strip() or not name.isprintable():
        raise InvalidInput(f"{name!r} cannot be the name of a provider", hint="use letters, digits, - and _")


def _safe() -> Any:
    """Return the system keyring, or raise with the reason why there is none."""
    try:
        import keyring
    except ImportError as error:
        raise MissingExtra(
            "keys in the system's keyring need the package keyring", hint="pip install 'backscroll[keyring]'"
        ) from error
    found = cast("Any", keyring.get_keyring())
    where = f"{type(found).__module__}.{type(found).__name__}"
    # The package returns `fail` if there is none; keyrings.alt stores keys in plain files, or asks for a password.
    if where.startswith(("keyring.backends.fail", "keyring.backends.null", "keyrings.alt")):
        raise StoreError(
            "this system has no keyring",
            hint="put the key into an environment variable and name that in key_env",
        )
    return found


def _within(work: Callable[[], T]) -> T:
    """Use the keyring with a timeout: one that waits for the user raises an error."""
    outcome: list[T] = []
    failure: list[Exception] = []

    def run() -> None:
        try:
            outcome.append(work())
        except (MissingExtra, StoreError) as error:
            failure.append(error)
        except Exception as error:  # noqa: BLE001 - backends of all systems raise what they like; it becomes ours below
            failure.append(error)

    worker = threading.Thread(target=run, name="keyring", daemon=True)
    worker.start()
    worker.join(_PATIENCE)
    if outcome:
        return outcome[0]
    if not failure:
        raise StoreError(
            "the system's keyring does not answer; it may be locked",
            hint="unlock it, or put the key into an environment variable",
        )
    if isinstance(failure[0], MissingExtra | StoreError):
        raise failure[0]
    raise StoreError(
        f"the system's keyring cannot be used ({type(failure[0]).__name__})",
        hint="unlock it, or put the key into an environment variable",
    ) from failure[0]


def _list() -> Path:
    return default_store().parent / "keys-in-keyring"


def _remember(found: list[str]) -> None:
    path = _list()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".keys-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write("".join(f"{name}\n" for name in sorted(set(found))))
        Path(temporary).replace(path)
    except OSError as error:
        raise StoreError(
            f"cannot write to {path.parent}: {error.strerror or error}", hint="check space and permissions"
        ) from error
