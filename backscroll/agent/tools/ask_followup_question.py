"""The tool `ask_followup_question`: ask the user, and continue with the answer.

If no user is present, the run ends with the question open.
"""

from __future__ import annotations

from collections.abc import Mapping

from backscroll.agent.commands.output import one_line
from backscroll.agent.person import Preview
from backscroll.agent.tool import ToolContext, ToolOutput
from backscroll.agent.toolbox import tool
from backscroll.errors import InvalidInput
from backscroll.vocab.part import Json


def _preview(_context: ToolContext, arguments: Mapping[str, Json]) -> Preview:
    return Preview(f"ask: {one_line(str(arguments['question']))}", text=str(arguments["question"]))


@tool(effect="ask", preview=_preview)
def ask_followup_question(
    context: ToolContext, question: str, options: list[str] | None = None
) -> ToolOutput:
    """Ask the person one question and wait for the answer.

    Only for what you cannot find out yourself and what changes what you do next. Do not ask for permission: every action that needs
    it is put before the person anyway.

    Args:
        question: The question, with what one needs to know to answer it.
        options: Two to five answers to choose from; the person may also answer in their own words.
    """
    if not question.strip():
        raise InvalidInput("the question is empty", hint="say what you want to know")
    answer = context.person.answer(question, tuple(options or ()))
    if answer is None:
        return ToolOutput(
            "Nobody is there to answer now. The question stays open; the person's next message may answer it.",
            line="no answer yet",
            facts={"result": question, "question": question, "options": options or []},
            ends="asked",
        )
    words = answer.strip()
    return ToolOutput(
        f"The person answers: {words}" if words else "The person gave an empty answer.",
        line=one_line(words) or "empty answer",
        facts={"question": question},
    )
