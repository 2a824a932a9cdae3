"""An agent of LangChain that remembers in a thread, with every call of its model within a budget.

Runs offline against a scripted model; with an integration of yours (`langchain-openai`, say) the model is `ChatOpenAI("gpt-4o")` and
the rest stays as it is.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, convert_to_openai_messages
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from openai import OpenAI

import backscroll
from backscroll.langchain import BackscrollChatMessageHistory, BackscrollMiddleware
from backscroll.testing import Line, Scenario, ScriptedServer
from backscroll.testing.scenario import ScriptedCall


class SmallChat(BaseChatModel):
    """A chat model on the OpenAI wire in a few lines, for want of an integration package."""

    base_url: str
    model: str = "gpt-4o"

    @property
    def _llm_type(self) -> str:
        return "small-chat"

    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool], **kwargs: Any
    ) -> Runnable[Any, AIMessage]:
        """The same model with tools."""
        return self.bind(tools=[convert_to_openai_tool(t) for t in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002 - theirs
        **kwargs: Any,
    ) -> ChatResult:
        body: dict[str, Any] = {"model": self.model, "messages": convert_to_openai_messages(messages)}
        body |= {"tools": kwargs["tools"]} if kwargs.get("tools") else {}
        body |= {"stop": stop} if stop else {}
        with OpenAI(base_url=self.base_url, api_key="none", max_retries=0) as client:
            told = client.chat.completions.create(**body)
        said = told.choices[0].message
        calls: Any = [
            {
                "id": c.id,
                "type": "tool_call",
                "name": c.function.name,
                "args": json.loads(c.function.arguments),
            }
            for c in said.tool_calls or ()
        ]
        usage: Any = {
            "input_tokens": told.usage.prompt_tokens,
            "output_tokens": told.usage.completion_tokens,
            "total_tokens": told.usage.total_tokens,
        }
        message = AIMessage(content=said.content or "", tool_calls=calls, usage_metadata=usage)
        return ChatResult(generations=[ChatGeneration(message=message)])


def look(at: str) -> str:
    """Look at something in the garden."""
    return f"{at}: an oak, 300 years old"


def main(base_url: str, folder: Path) -> list[str]:
    """Two questions to an agent without a checkpointer; the second one is answered from the thread."""
    with backscroll.open(folder / "garden.db", background=False) as store:
        thread = store.create("The garden")
        agent: Any = create_agent(
            SmallChat(base_url=base_url),
            tools=[look],
            system_prompt="You are a gardener.",
            middleware=[BackscrollMiddleware(thread, budget=8_000)],
        )
        answers: list[str] = []
        for question in ("What stands by the pond?", "How old is it?"):
            state = agent.invoke({"messages": [{"role": "user", "content": question}]})
            answers.append(state["messages"][-1].text)
        history = BackscrollChatMessageHistory(thread)
        answers.append(", ".join(m.type for m in history.messages))
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
        for line in main(server.url, Path(place)):
            print(line)
