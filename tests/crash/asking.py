"""A program that asks a model and is killed while it waits. Run by `test_kill_asking`.

`python -m tests.crash.asking STORE THREAD FOLDER URL [WORDS]`: says the words in a thread, or goes on where it stopped, and prints how that
ended.
"""

from __future__ import annotations

import sys
from pathlib import Path

import backscroll
from backscroll.agent.agent import Agent
from backscroll.agent.approval.approval import Rules
from backscroll.agent.events import Finished
from backscroll.llm.providers import Provider


def main(store: str, name: str, folder: str, url: str, words: str | None = None) -> None:
    """One run."""
    provider = Provider("here", kind="openai", base_url=url, model="gpt-4o", tries=3)
    with backscroll.open(store, background=False) as engine:
        thread = engine.thread(name)
        rules = Rules("all", root=Path(folder))
        with Agent(thread, provider=provider, root=folder, rules=rules, budget=30_000) as agent:
            for happening in agent.events(words):
                if isinstance(happening, Finished):
                    print(happening.end, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
