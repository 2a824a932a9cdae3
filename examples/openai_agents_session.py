"""An agent of the OpenAI Agents SDK whose session is a thread: every item in the log, every call within a budget.

Runs offline against a scripted model; with a key of yours, leave the client out and name the model.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from agents import Agent, OpenAIResponsesModel, RunConfig, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

import backscroll
from backscroll.openai_agents import BackscrollSession
from backscroll.testing import Line, Scenario, ScriptedServer
from backscroll.testing.scenario import ScriptedCall


@function_tool
def look(at: str) -> str:
    """Look at something in the garden."""
    return f"{at}: an oak, 300 years old"


async def main(base_url: str, folder: Path) -> list[str]:
    """Two runs; between them everything is cleared and given back, because nothing is ever destroyed."""
    set_tracing_disabled(True)
    with backscroll.open(folder / "garden.db", background=False) as store:
        session = BackscrollSession(store.create("The garden"), budget=8_000)
        config = RunConfig(call_model_input_filter=session.fit)
        async with AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0) as client:
            model = OpenAIResponsesModel(model="gpt-4o", openai_client=client)
            agent = Agent(name="Gardener", instructions="You are a gardener.", model=model, tools=[look])
            first = await Runner.run(
                agent, "What stands by the pond?", session=session, run_config=config, hooks=session.hooks
            )
            await session.clear_session()
            await session.give_back()
            second = await Runner.run(
                agent, "How old is it?", session=session, run_config=config, hooks=session.hooks
            )
        items = await session.get_items()
        return [first.final_output, second.final_output, f"{len(items)} items"]


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
