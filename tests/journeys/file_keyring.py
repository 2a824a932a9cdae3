"""A keyring that keeps its keys in a file of the test, so that several processes find them."""

from __future__ import annotations

import json
import os
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError


class Keyring(KeyringBackend):
    """Named by PYTHON_KEYRING_BACKEND."""

    priority = 1  # type: ignore[assignment]

    def _held(self) -> dict[str, str]:
        path = Path(os.environ["TEST_KEYRING"])
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def _keep(self, held: dict[str, str]) -> None:
        Path(os.environ["TEST_KEYRING"]).write_text(json.dumps(held), encoding="utf-8")

    def get_password(self, service: str, username: str) -> str | None:
        """One key."""
        return self._held().get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        """Keep one."""
        self._keep({**self._held(), f"{service}/{username}": password})

    def delete_password(self, service: str, username: str) -> None:
        """Remove one."""
        held = self._held()
        if f"{service}/{username}" not in held:
            raise PasswordDeleteError(username)
        del held[f"{service}/{username}"]
        self._keep(held)
