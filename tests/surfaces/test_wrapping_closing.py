"""Closing a wrapped client closes its own store, and the client with its last wrapper."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic
from openai import AsyncOpenAI, OpenAI

import backscroll
from backscroll.engine import opening
from backscroll.errors import InvalidInput
from backscroll.testing import Line, Scenario, ScriptedServer

ASK: dict[str, Any] = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Name a tree."}]}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(Scenario(lines=(Line(text="The oak."),))) as running:
        yield running


@pytest.fixture
def plain(server: ScriptedServer) -> Iterator[OpenAI]:
    with OpenAI(base_url=server.url, api_key="none", max_retries=0) as client:
        yield client


def open_stores() -> int:
    return len(opening._open)


def test_two_wrappers_of_one_client_close_independently(plain: OpenAI, tmp_path: Path) -> None:
    with backscroll.open(tmp_path / "s.db") as store:
        one, other = store.create("one"), store.create("other")
        first, second = backscroll.wrap(plain, one), backscroll.wrap(plain, other)
        first.close()
        assert first.is_closed()
        assert not second.is_closed()
        second.chat.completions.create(**ASK)
        assert [m.text for m in other] == ["Name a tree.", "The oak."]
        first.close()  # once more does nothing
        assert not plain.is_closed()
        with second:
            second.chat.completions.create(**ASK)
        assert plain.is_closed()
        assert second.is_closed()


def test_lost_wrapper_keeps_nothing_open(plain: OpenAI, tmp_path: Path) -> None:
    with backscroll.open(tmp_path / "s.db") as store:
        lost, kept = (backscroll.wrap(plain, store.create()) for _ in range(2))
        del lost
        gc.collect()
        kept.close()
        assert plain.is_closed()


def test_copied_client_belongs_to_its_wrapper(plain: OpenAI, tmp_path: Path) -> None:
    client = backscroll.wrap(plain, "Trees", store=tmp_path / "s.db")
    with client.with_options(timeout=5) as copy:
        copy.chat.completions.create(**ASK)
    copy.close()
    assert not client.is_closed()
    client.chat.completions.create(**ASK)  # the store is open too: a warning would be an error
    with type(plain._client)() as own:  # httpx or its successor, as the SDK has it
        apart = client.with_options(http_client=own)
        apart.close()
        assert own.is_closed
    assert not client.is_closed()
    client.close()
    assert plain.is_closed()


def test_only_a_store_opened_for_the_wrapper_is_closed(plain: OpenAI, tmp_path: Path) -> None:
    before = open_stores()
    with backscroll.open(tmp_path / "s.db") as store:
        named = backscroll.wrap(plain, "Trees", store=store)
        named.chat.completions.create(**ASK)
        again = backscroll.wrap(plain, "Trees", store=store)
        named.close()
        again.chat.completions.create(**ASK)
        again.close()
        (info,) = store.threads()  # still open
        assert info.title == "Trees"
        assert open_stores() == before + 1
    assert open_stores() == before


def test_failed_wrap_leaves_no_store_open(plain: OpenAI, tmp_path: Path) -> None:
    before = open_stores()
    with pytest.raises(InvalidInput, match="user"):
        backscroll.wrap(plain, "Trees", store=tmp_path / "s.db", user=6)  # type: ignore[arg-type]
    assert open_stores() == before


def test_anthropic_clients_follow_the_same_rules(server: ScriptedServer, tmp_path: Path) -> None:
    url = server.url.removesuffix("/v1")
    with backscroll.open(tmp_path / "s.db") as store, Anthropic(base_url=url, api_key="none") as plain:
        first, second = (backscroll.wrap(plain, store.create()) for _ in range(2))
        with first:
            pass
        assert not plain.is_closed()
        second.close()
        assert plain.is_closed()


@pytest.mark.parametrize("ending", ["close", "with"])
def test_asynchronous_clients_follow_the_same_rules(
    server: ScriptedServer, tmp_path: Path, ending: str
) -> None:
    import asyncio

    async def work() -> None:
        async with AsyncOpenAI(base_url=server.url, api_key="none", max_retries=0) as plain:
            first, second = (backscroll.wrap(plain, store.create()) for _ in range(2))
            if ending == "close":
                await first.close()
            else:
                async with first:
                    pass
            assert first.is_closed()
            assert not plain.is_closed()
            await second.chat.completions.create(**ASK)
            await second.close()
            assert plain.is_closed()

    with backscroll.open(tmp_path / "s.db") as store:
        asyncio.run(work())
