"""An agent of Pydantic AI that remembers in a thread, with every call of its model within a budget.

Runs offline against a scripted model; with a service of yours only the model is another one.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

import backscroll
from backscroll.pydantic_ai import BackscrollMemory, load_history
from backscroll.testing import Line, Scenario, ScriptedServer
from backscroll.testing.scenario import ScriptedCall


def look(at: str) -> str:
    """Look at something in the garden."""
    return f"{at}: an oak, 300 years old"


async def main(base_url: str, folder: Path) -> list[str]:
    """Two questions, each a run of its own without a message history; the second one is answered from the thread."""
    with backscroll.open(folder / "garden.db", background=False) as store:
        thread = store.create("The garden")
        async with AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0) as client:
            agent = Agent(
                OpenAIChatModel("gpt-4o", provider=OpenAIProvider(openai_client=client)),
                instructions="You are a gardener.",
                tools=[look],
                capabilities=[BackscrollMemory(thread, budget=8_000)],
            )
            answers = [(await agent.run(q)).output for q in ("What stands by the pond?", "How old is it?")]
        answers.append(", ".join(m.kind for m in load_history(thread)))
        return answers


#: What the scripted model says, one after another.
SCRIPT = Scenario(
    lines=(
        Line(calls=(ScriptedCall("look", {"at": "pond"}),), times=1),
        Line(text="An oak stands there.", times=1),
        Line(anywhere=("300 years old",), text="300 years.", times=1),
    ),
    budget=8_000,
)

if __name__ == "__main__":
    with ScriptedServer(SCRIPT) as server, tempfile.TemporaryDirectory() as place:
        for line in asyncio.run(main(server.url, Path(place))):
            print(line)
