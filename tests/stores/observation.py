"""What a store knows, by the public calls, as plain data."""

from __future__ import annotations

from typing import Any

import backscroll

WIRES = ("openai-chat", "openai-responses", "anthropic")


def observe(engine: backscroll.Engine) -> dict[str, Any]:
    """Return what each thread says, knows, remembers and sends, by title."""
    return {info.title: _observe_thread(engine.thread(info.id)) for info in engine.threads()}


def _observe_thread(thread: backscroll.Thread) -> dict[str, Any]:
    nodes = sorted(thread.graph.nodes(), key=lambda node: node.name)
    names = {node.id: node.name for node in nodes}
    return {
        "messages": [[m.role, m.text, m.pinned, m.hidden] for m in thread.messages()],
        "turns": [[turn.id, turn.sequence, turn.version] for turn in thread.turns()],
        "nodes": [node.name for node in nodes],
        "facts": sorted(
            [node.name, fact.predicate, fact.value or names.get(fact.object, fact.object)]
            for node in nodes
            for fact in (*node.attributes, *node.relations)
        ),
        "tasks": [[task.title, task.state.value] for task in thread.tasks.list()],
        "memories": sorted(memory.text for memory in thread.memory.list()),
        "prompts": {
            f"{wire} {budget}": thread.prompt(budget, model="gpt-5", wire=wire, reserve=0).request[
                "messages" if wire != "openai-responses" else "input"
            ]
            for wire in WIRES
            for budget in (700, 4000)
        },
        "found": [hit.snippet for hit in thread.engine.search("harbour", thread=thread.id).hits],
        "recalled": thread.recall("Where does Ellie live?", 300).text,
    }
