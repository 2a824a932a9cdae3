"""Thinking that is bound to its prefix: every row of the vendor's table, and prompts that only grow."""

from __future__ import annotations

import base64
import copy
import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from backscroll.assemble.validity.binding import Sent, check_binding, check_growth
from backscroll.assemble.validity.models import binds_thinking

MODEL = "claude-opus-5-5"
TOOLS = [{"name": "ls", "input_schema": {"type": "object"}}, {"name": "cat", "input_schema": {}}]


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def thought(name: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": f"about {name}", "signature": f"sig-{name}"}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": [text(b) if isinstance(b, str) else b for b in blocks]}


def reply(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [text(b) if isinstance(b, str) else b for b in blocks]}


def call(id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "ls", "input": {"path": "."}}


def result(id: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": "a.txt"}


FIRST = [user("go"), reply(thought("one"), call("c1")), user(result("c1"), "hint")]
SECOND = [*FIRST, reply(thought("two"), "so"), user("and?")]
THIRD = [*SECOND, reply({"type": "redacted_thinking", "data": "three"}, "end"), user("more")]


def sent(messages: list[Any], **more: Any) -> Sent:
    return Sent(messages, "anthropic", **{"system": "Be brief.", "tools": TOOLS, "model": MODEL, **more})


def changed(change: Callable[[list[Any]], Any]) -> list[Any]:
    messages = copy.deepcopy(THIRD)
    change(messages)
    return messages


def found(after: Sent, before: list[Sent] | None = None) -> tuple[str, str] | None:
    flaws = check_binding(before or [sent(FIRST), sent(SECOND)], after)
    if not flaws:
        return None
    assert [flaw.rule.id for flaw in flaws] == ["A16"]
    return flaws[0].where, flaws[0].what.partition("invalid from here on: ")[2]


ONE, TWO, THREE = "messages[1].content[0]", "messages[3].content[0]", "messages[5].content[0]"


def mark(messages: list[Any]) -> None:
    messages[0]["content"][0]["cache_control"] = {"type": "ephemeral"}


def without_thinking(count: int) -> Callable[[list[Any]], None]:
    """The oldest so many left out."""

    def change(messages: list[Any]) -> None:
        for place in (1, 3, 5)[:count]:
            del messages[place]["content"][0]

    return change


@pytest.mark.parametrize(
    "after",
    [
        sent(THIRD),
        sent([*THIRD, reply("x"), user("y")]),
        sent(changed(mark)),
        sent(THIRD, system=[{**text("Be brief."), "cache_control": {"type": "ephemeral"}}]),
        sent(THIRD, tools=[TOOLS[0], {**TOOLS[1], "cache_control": {"type": "ephemeral"}}]),
        sent(THIRD, options={"max_tokens": 9, "tool_choice": {"type": "none"}, "metadata": {}, "effort": "low"}),
        sent([{**THIRD[0], "content": "go"}, *THIRD[1:]]),  # a text is one text block
        sent([user("go"), THIRD[1], user(result("c1")), user("hint"), *THIRD[3:]]),  # neighbours are one message
        *(sent(changed(without_thinking(count))) for count in (1, 2, 3)),
        sent(THIRD, tools=[*TOOLS, {"name": "later", "input_schema": {}, "defer_loading": True}]),
        sent(THIRD, tools=TOOLS[::-1]),
        sent([reply({"type": "compaction", "content": "far past"}), *THIRD[3:]]),
    ],
)  # fmt: skip
def test_changes_that_keep_thinking_valid(after: Sent) -> None:
    """Append, marks, choices, thinking left out from the front, tools that are not loaded, the service's own compaction."""
    assert found(after) is None


@pytest.mark.parametrize(
    ("after", "where", "invalid"),
    [
        (sent(THIRD, system="Be long."), "system", f"{ONE}, {TWO}, {THREE}"),
        (sent(THIRD, tools=TOOLS[:1]), "tools", f"{ONE}, {TWO}, {THREE}"),
        (sent(THIRD, tools=[*TOOLS, {"name": "new"}]), "tools", f"{ONE}, {TWO}, {THREE}"),
        (sent(THIRD, tools=[{**TOOLS[0], "name": "dir"}, TOOLS[1]]), "tools", f"{ONE}, {TWO}, {THREE}"),
        (sent(changed(lambda m: m[0]["content"].__setitem__(0, text("stop")))), "messages[0].content[0]", f"{ONE}, {TWO}, {THREE}"),
        (sent(changed(lambda m: m[2]["content"].append(text("added")))), "messages[2].content[2]", f"{TWO}, {THREE}"),
        (sent(changed(lambda m: m[2]["content"].pop())), TWO, f"{TWO}, {THREE}"),
        (sent(changed(lambda m: m[3]["content"].pop())), "messages[4].content[0]", THREE),
        (sent(changed(lambda m: m[2]["content"].reverse())), "messages[2].content[0]", f"{TWO}, {THREE}"),
        (sent(changed(lambda m: m.__delitem__(slice(2, 4)))), "messages[2].content[0]", "messages[3].content[0]"),
        (sent(changed(lambda m: m[3]["content"].pop(0))), THREE, THREE),  # from the middle
        (sent(changed(lambda m: m[1]["content"][0].update(thinking="else"))), ONE, f"{ONE}, {TWO}, {THREE}"),
        (sent(changed(lambda m: m[4]["content"].insert(0, text("tail")))), "messages[4].content[0]", THREE),
    ],
)  # fmt: skip
def test_changes_that_make_thinking_invalid(after: Sent, where: str, invalid: str) -> None:
    """The first place that differs is named, and every thinking block from there on."""
    assert found(after) == (where, invalid)


def test_removing_a_trailing_block_invalidates_later_thinking() -> None:
    """A text block on the newest message that is not sent again invalidates thinking made after it."""
    before = sent([user("go", "recalled: a.txt")])
    after = sent([user("go"), reply(thought("one"), "done"), user("more")])
    assert found(after, [before]) == ("messages[1].content[0]", "messages[1].content[0]")


def test_thinking_between_calls_is_bound_to_earlier_blocks() -> None:
    """The second thinking block of a reply is bound to what precedes it in the reply."""
    asked = sent([user("go")])
    both = [
        user("go"),
        reply(thought("one"), call("c1"), thought("two"), call("c2")),
        user(result("c1"), result("c2")),
    ]
    assert found(sent(both), [asked]) is None
    cut = copy.deepcopy(both)
    del cut[1]["content"][1]
    first = check_binding([asked, sent(both)], sent(cut))
    assert [flaw.where for flaw in first] == ["messages[1].content[1]"]


def test_deferred_tool_binds_thinking_after_its_first_mention() -> None:
    """Thinking before the first mention stays valid; later thinking depends on the tool's definition."""
    later = {"name": "later", "input_schema": {}, "defer_loading": True}
    pointed = {
        "type": "tool_result",
        "tool_use_id": "c1",
        "content": [{"type": "tool_reference", "tool_name": "later"}],
    }
    one = [user("go"), reply(thought("one"), call("c1")), user(pointed)]
    two = [*one, reply(thought("two"), "so"), user("and?")]
    before = [sent(one[:1], tools=[*TOOLS, later]), sent(one, tools=[*TOOLS, later])]
    assert found(sent(two, tools=[*TOOLS, later]), before) is None
    other = {**later, "description": "changed"}
    assert found(sent(two, tools=[*TOOLS, other]), before) == (
        "messages[2].content[0]",
        "messages[3].content[0]",
    )


def test_images_are_compared_by_their_bytes() -> None:
    """The same bytes under another address are the same; an address with other bytes is not."""
    bytes_of = {"https://a/1.png": b"one", "https://b/2.png": b"one", "https://c/3.png": b"two"}

    def fetched(url: str) -> str | None:
        return hashlib.sha256(bytes_of[url]).hexdigest()

    def request(source: dict[str, Any], *rest: Any) -> Sent:
        return sent([user({"type": "image", "source": source}), *rest])

    def at(url: str) -> dict[str, Any]:
        return {"type": "url", "url": url}

    rest = (reply(thought("one"), "seen"), user("more"))
    before = request(at("https://a/1.png"))
    same = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(b"one").decode()}
    assert check_binding(before, request(at("https://b/2.png"), *rest), fetched=fetched) == []
    assert check_binding(before, request(same, *rest), fetched=fetched) == []
    assert len(check_binding(before, request(at("https://c/3.png"), *rest), fetched=fetched)) == 1
    assert (
        len(check_binding(before, request(at("https://b/2.png"), *rest))) == 1
    )  # nothing is known of the bytes


def test_models_that_bind_thinking() -> None:
    """By family and version; older models and other vendors do not, unless enforced."""
    for name in (
        "claude-fable-5-1",
        "claude-mythos-5-2-20261109",
        "anthropic/claude-opus-5.5",
        "claude-haiku-5-5",
        "claude-new-6",
    ):
        assert binds_thinking(name), name
    for name in (
        None,
        "claude-opus-5-1",
        "claude-sonnet-4-8",
        "claude-3-5-sonnet",
        "gpt-5.6",
        "claude-fable-5-0",
    ):
        assert not binds_thinking(name), name
    broken = sent(THIRD, system="Be long.", model="claude-opus-4-8")
    assert check_binding(sent(SECOND), broken) == []
    assert len(check_binding(sent(SECOND), broken, enforced=True)) == 1
    assert check_binding(sent(SECOND), Sent(THIRD, "openai-chat", model=MODEL), enforced=True) == []


@pytest.mark.parametrize(
    ("before", "after", "where"),
    [
        (["a"], ["a", "b"], None),
        (["a"], ["a\n\nmore"], None),
        (["a"], ["ab"], "messages[0]"),
        (["a", "b"], ["a\n\nmore", "b"], "messages[0]"),
        (["a", "b"], ["a"], "messages[1]"),
    ],
)
def test_growth_on_the_openai_wires(before: list[str], after: list[str], where: str | None) -> None:
    """V11: the newest message may grow, everything else must stay the same."""
    one, two = ([{"role": "user", "content": words} for words in side] for side in (before, after))
    flaws = check_growth(Sent(one, "openai-chat"), Sent(two, "openai-chat"))
    assert [(f.rule.id, f.where) for f in flaws] == ([] if where is None else [("V11", where)])


def test_growth_on_the_anthropic_wire() -> None:
    """Blocks may follow in the newest message; system text and tools stay."""
    assert check_growth(sent(FIRST), sent(THIRD)) == []
    grown = [*FIRST[:2], user(result("c1"), "hint", "more")]
    assert check_growth(sent(FIRST), sent(grown)) == []
    assert [f.where for f in check_growth(sent(grown), sent(FIRST))] == ["messages[2]"]
    assert [f.where for f in check_growth(sent(FIRST), sent(THIRD, system="x"))] == ["system"]
    assert [f.where for f in check_growth(sent(FIRST), sent(THIRD, tools=[]))] == ["tools"]
