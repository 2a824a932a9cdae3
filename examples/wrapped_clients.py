"""Two lines make an existing program remember: clients of OpenAI and Anthropic, plain, streamed and asynchronous, in one conversation.

Runs offline against a scripted model; with a key of yours, leave `base_url` and `api_key` out.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from anthropic import Anthropic
from openai import AsyncOpenAI, OpenAI

import backscroll
from backscroll.testing import Line, Scenario, ScriptedServer


def chat(base_url: str, thread: backscroll.Thread) -> str:
    """A program that keeps its own list of messages, as most do; nothing of it changes but the client."""
    with OpenAI(base_url=base_url, api_key="none") as plain:
        client = backscroll.wrap(plain, thread=thread)
        messages: list[Any] = [{"role": "user", "content": "Name a tree."}]
        answer = client.chat.completions.create(model="gpt-4o", messages=messages)
        return answer.choices[0].message.content or ""


async def streamed(base_url: str, thread: backscroll.Thread) -> str:
    """An asynchronous client that sends only what is new: with `assemble` the rest comes from the thread, within a budget."""
    async with AsyncOpenAI(base_url=base_url, api_key="none") as plain:
        client = backscroll.wrap(plain, thread=thread, assemble=True, budget=4_000)
        pieces = await client.chat.completions.create(
            model="gpt-4o", messages=[{"role": "user", "content": "How old can it get?"}], stream=True
        )
        return "".join([p.choices[0].delta.content or "" async for p in pieces if p.choices])


def another_vendor(base_url: str, thread: backscroll.Thread) -> str:
    """The same conversation goes on with a model of somebody else."""
    with Anthropic(base_url=base_url.removesuffix("/v1"), api_key="none") as plain:
        client = backscroll.wrap(plain, thread=thread, assemble=True, budget=4_000)
        with client.messages.stream(
            model="claude-sonnet-5-5",
            max_tokens=200,
            messages=[{"role": "user", "content": "Which tree was that?"}],
        ) as stream:
            return "".join(stream.text_stream)


def main(base_url: str, folder: Path) -> list[str]:
    """Three programs, one memory."""
    with backscroll.open(folder / "trees.db", background=False) as store:
        thread = store.create("Trees")
        said = [chat(base_url, thread), asyncio.run(streamed(base_url, thread))]
        said.append(another_vendor(base_url, thread))
        return [*said, f"{len(thread)} messages"]


#: What the scripted model says; the later answers need what came before them to be in the prompt.
SCRIPT = Scenario(
    lines=(
        Line(contains=("Name a tree",), text="The oak."),
        Line(contains=("How old",), anywhere=("The oak.",), text="A thousand years."),
        Line(contains=("Which tree",), anywhere=("A thousand years.",), text="It was the oak."),
    ),
    budget=4_000,
)

if __name__ == "__main__":
    with ScriptedServer(SCRIPT) as server, tempfile.TemporaryDirectory() as place:
        for line in main(server.url, Path(place)):
            print(line)
