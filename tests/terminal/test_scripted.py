"""The chat against a scripted model in a process of its own."""

from __future__ import annotations

from pathlib import Path

from tests.terminal.conftest import READY, Desk
from tests.terminal.scripted import scripted


def test_terminal_journey_uses_its_own_server(desk: Desk, tmp_path: Path) -> None:
    """What the chat sends arrives there, and is logged."""
    with scripted(tmp_path, [{"text": "From another process."}]) as server:
        desk.use(server.url)
        terminal = desk.chat()
        terminal.wait_for(READY)
        terminal.enter("hello over there")
        terminal.wait_for("From another process.", READY)
        assert "hello over there" in str(server.seen())
