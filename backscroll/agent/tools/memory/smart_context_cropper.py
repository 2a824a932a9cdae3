"""The tool `smart_context_cropper`: let the model replace messages of its own prompt with a summary.

Owns showing what would go: each message with its relevance to the current task, and what is saved. Nothing is lost: the messages
stay in the history, and `uncrop` and `undo` restore them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from backscroll.agent.commands.output import one_line
from backscroll.agent.person import Preview
from backscroll.agent.tool import ToolContext, ToolOutput
from backscroll.agent.toolbox import tool
from backscroll.engine.crops.crops import RELEVANT, Crop, each_relevance
from backscroll.engine.prompts.history_tools import render_message
from backscroll.vocab.handle import handle_of
from backscroll.vocab.message import Message
from backscroll.vocab.part import Json

_LISTED = 40  # messages shown one by one


def _preview(context: ToolContext, arguments: Mapping[str, Json]) -> Preview:
    direction, amount = str(arguments["crop_direction"]), int(arguments["crop_amount"])
    summary = str(arguments.get("deleted_messages_summary") or "")
    rehearsed = context.thread.crop(direction, amount, summary or None, dry_run=True)
    going = each_relevance(context.thread, direction, amount)
    rows = [_row(message, share) for message, share in going[:_LISTED]]
    if len(going) > _LISTED:
        rows.append(f"… and {len(going) - _LISTED} more")
    near = [message for message, share in going if share >= RELEVANT]
    warnings: list[str] = []
    if rehearsed.ask_first:
        warnings.append(f"what goes has to do with the task at hand ({rehearsed.relevance:.0%})")
    if near:
        warnings.append(
            f"relevant: {' '.join(handle_of(m.id) for m in near[:8])}{' …' if len(near) > 8 else ''}"
        )
    saved = rehearsed.tokens - rehearsed.summary_tokens
    rows.append(_price(rehearsed))
    return Preview(
        f"crop {rehearsed.messages} messages from the {direction}, {saved:,} tokens less",
        text="\n".join([*rows, "", "Replacement:", rehearsed.summary]),
        subject=direction,
        warnings=tuple(warnings),
    )


def _price(crop: Crop) -> str:
    if crop.pays_back_after is None:
        return f"costs {crop.cost_now:,.0f} input tokens once and never pays"
    calls = f"{crop.pays_back_after} call{'' if crop.pays_back_after == 1 else 's'}"
    return f"costs {crop.cost_now:,.0f} input tokens once, saves {crop.saves_per_call:,.0f} a call: pays after {calls}"


def _row(message: Message, share: float) -> str:
    head, _, body = render_message(message).partition("\n")
    mark = " !" if share >= RELEVANT else ""
    return f"{head.rstrip(':')}, relevance {share:.0%}{mark}: {one_line(body, 100)}"


@tool(effect="memory", preview=_preview)
def smart_context_cropper(
    context: ToolContext,
    crop_direction: Literal["top", "bottom"],
    crop_amount: int,
    deleted_messages_summary: str = "",
    need_user_approve: bool = True,  # noqa: ARG001 - read by the rules that decide whether approval is required
) -> ToolOutput:
    """Take messages that are no longer needed out of your prompt and put your summary of them in their place.

    Use it when finished or failed work fills the prompt. Nothing is lost: the summary gets a handle that opens the originals.
    The person is shown what goes and how relevant it still seems.

    Args:
        crop_direction: "top" takes the oldest messages, "bottom" the newest before the latest request.
        crop_amount: How many messages. A number that would part a call from its result is refused, with the nearest possible ones.
        deleted_messages_summary: What has to be known about them from now on: results, decisions, what failed and why. Left
            out, one is made by rules, which is worse.
        need_user_approve: False asks to go ahead without approval, where the person's rules allow that.
    """
    done = context.thread.crop(crop_direction, crop_amount, deleted_messages_summary or None)
    saved = done.tokens - done.summary_tokens
    line = f"{done.messages} messages cropped, {saved:,} tokens less"
    return ToolOutput(
        f"{line}. The originals are behind {done.handle}.",
        line=line,
        facts={
            "handle": done.handle,
            "messages": done.messages,
            "tokens": saved,
            "relevance": round(done.relevance, 3),
            "pays_back_after": done.pays_back_after,
        },
    )
