"""An agent in a few lines of Python: two tools of one's own, a run to the end, and one that streams asynchronously.

Runs offline against a scripted model; with services of yours configured (`backscroll config provider`), leave `provider` out.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import backscroll
from backscroll.agent.events import Called, Finished, Said
from backscroll.llm.providers import Provider
from backscroll.testing import Line, Scenario, ScriptedServer
from backscroll.testing.scenario import ScriptedCall as Call
from backscroll.tool import tool


@tool(effect="read")
def tide(harbour: str) -> str:
    """Tell the height of the tide.

    Args:
        harbour: The name of a harbour.
    """
    return f"{harbour}: 2.1 m"


class Ships:
    """Tell which ships lie in a harbour."""

    effect = "read"

    def run(self, harbour: str, most: int = 2) -> list[str]:
        """The first few of them."""
        return [f"{harbour} {n}" for n in range(1, most + 1)]


async def streamed(agent: backscroll.Agent) -> list[str]:
    """What happens, as it happens."""
    lines: list[str] = []
    async for happening in agent.stream("Which ships are there?"):
        match happening:
            case Called():
                lines.append(f"{happening.tool}: {happening.text}")
            case Said():
                lines.append(happening.text)
            case Finished():
                lines.append(f"{happening.end} after {happening.steps} steps")
            case _:
                pass
    return lines


def main(base_url: str, folder: Path) -> list[str]:
    """One question to the end, one as a stream."""
    provider = Provider("scripted", kind="openai", base_url=base_url, model="gpt-4o")
    with backscroll.open(folder / "harbour.db", background=False) as store:
        thread = store.create("The harbour")
        with backscroll.Agent(
            thread,
            [tide, Ships],
            provider=provider,
            root=folder,
            standard=False,  # only these two tools
            system="You are a harbour master.",
            budget=8_000,
        ) as agent:
            finished = agent.run("How high is the tide in Oslo?")
            return [finished.text, *asyncio.run(streamed(agent)), f"{agent.counted().calls} calls"]


#: What the scripted model says, one after another.
SCRIPT = Scenario(
    lines=(
        Line(calls=(Call("tide", {"harbour": "Oslo"}),), times=1),
        Line(contains=("2.1 m",), text="2.1 metres.", times=1),
        Line(calls=(Call("ships", {"harbour": "Oslo"}),), times=1),
        Line(contains=("Oslo 2",), text="Two.", times=1),
    ),
    budget=8_000,
)

if __name__ == "__main__":
    with ScriptedServer(SCRIPT) as server, tempfile.TemporaryDirectory() as place:
        for line in main(server.url, Path(place)):
            print(line)
