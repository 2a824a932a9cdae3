"""Many messages in one call: the same log as one append after another, all or none."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import backscroll
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.message import Content, Role, content_of
from backscroll.vocab.part import Media, Text, ToolCall, ToolResult

TEXTS = st.lists(
    st.tuples(st.sampled_from(["user", "assistant", "system"]), st.text(max_size=30)), min_size=1, max_size=8
)


def told(thread: backscroll.Thread) -> list[object]:
    return [(m.role, m.content, m.hidden, m.pinned, m.digest, m.position, m.alternatives) for m in thread]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(TEXTS)
def test_it_is_one_append_after_another(store: backscroll.Engine, texts: list[tuple[Role, str]]) -> None:
    """The same messages, counts and hashes, whichever way they came."""
    one, many, plain = store.create("one"), store.create("many"), store.create("plain")
    for role, text in texts:
        one.append(role, text)
    given_back = many.extend([ForeignMessage(role, content_of(text)) for role, text in texts])
    assert given_back == list(many)
    assert told(one) == told(many)
    assert (one.info.messages, one.info.turns) == (many.info.messages, many.info.turns)
    said = [(role, text) for role, text in texts if text]
    plain.extend([{"role": role, "content": text} for role, text in said])
    assert [(m.role, m.text) for m in plain] == said


def test_extend_keeps_media_calls_flags_and_times(store: backscroll.Engine) -> None:
    """Media are stored and linked, tools named, flags set, times kept; alternatives too."""
    thread = store.create("x")
    picture = Content((Text("see"), Media("image/png", data=b"\x89PNG bytes")))
    call = Content((ToolCall("c1", "look", {"place": "harbour"}),))
    result = Content((ToolResult("c1", (Text("seven ships"),), name="look"),))
    made = thread.extend(
        [
            ForeignMessage("user", picture, at="2020-01-02T03:04:05+00:00", pinned=True),
            ForeignMessage("assistant", call, hidden=True),
            ForeignMessage("tool", result),
        ]
    )
    assert [m.pinned for m in thread] == [True, False, False]
    assert [m.hidden for m in thread] == [False, True, False]
    assert made == list(thread)
    assert thread.message(0).at == "2020-01-02T03:04:05+00:00"
    blob = next(p.blob for p in thread.message(0).content.parts if isinstance(p, Media))
    assert store.blob(str(blob)) == b"\x89PNG bytes"
    assert [hit.message for hit in store.search("harbour").hits] == [made[1].id]
    assert [hit.message for hit in store.search("ships", tool="look").hits] == [made[2].id]
    swipes = (content_of("first"), content_of("second"))
    (swiped,) = thread.extend([ForeignMessage("assistant", swipes[1], alternatives=swipes, chosen=1)])
    assert swiped.text == "second"
    assert thread.extend([]) == []


def test_extend_stores_all_messages_or_none(store: backscroll.Engine) -> None:
    """One message that cannot be stored keeps the others out."""
    thread = store.create("x")
    odd = ForeignMessage("assistant", Content((ToolCall("c", "f", {"a": {1, 2}}),)))
    with pytest.raises(backscroll.InvalidInput):
        thread.extend([ForeignMessage("user", content_of("fine")), odd])
    with pytest.raises(backscroll.BackscrollError):
        thread.extend([{"role": "user", "content": "fine"}, {"role": "nobody", "content": "x"}])
    assert list(thread) == []


def test_extended_messages_are_searchable_at_once(store: backscroll.Engine) -> None:
    """Words of very many messages may wait for the index; a search, within a thread and over all, finds them."""
    thread = store.create("x")
    thread.extend([{"role": "user", "content": f"word{n:04} here"} for n in range(300)])
    assert len(store.search("word0123").hits) == 1
    assert len(store.search("word0299", thread=thread.id).hits) == 1
    assert store.verify().flaws == []


def test_extend_accepts_every_message_shape(store: backscroll.Engine) -> None:
    """Wire messages of both vendors, pairs, and messages of another thread in one list."""
    other, thread = store.create("other"), store.create("x")
    first = other.append("user", "from elsewhere", author="Ann", pinned=True, metadata={"page": 4})
    png = {"url": "data:image/png;base64,iVBORw0KGgo="}
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    thread.extend(
        item
        for item in [
            first,
            ("assistant", "a pair"),
            ("user", [{"type": "text", "text": "a pair of parts"}]),
            {"role": "user", "content": [{"type": "image_url", "image_url": png}]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "six"},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "noon"}}],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": "seven"},
                    {"type": "text", "text": "and then?"},
                ],
            },
        ]
    )
    again, *rest = list(thread)
    assert (again.content, again.at, again.pinned) == (first.content, first.at, True)
    assert [(m.role, [type(p).__name__ for p in m.parts]) for m in rest] == [
        ("assistant", ["Text"]),
        ("user", ["Text"]),
        ("user", ["Media"]),
        ("assistant", ["ToolCall"]),
        ("tool", ["ToolResult"]),
        ("assistant", ["ToolCall"]),
        ("tool", ["ToolResult"]),
        ("user", ["Text"]),
    ]
    assert backscroll.check(thread.prompt(8000).messages) == []


@pytest.mark.parametrize(
    "wrong", ["text", b"bytes", {"role": "user", "content": "x"}, 6, [6], [("user",)], [{}]]
)
def test_extend_refuses_values_that_are_not_messages(store: backscroll.Engine, wrong: object) -> None:
    thread = store.create("x")
    with pytest.raises(backscroll.InvalidInput):
        thread.extend(wrong)  # type: ignore[arg-type]
    assert list(thread) == []


def test_metadata_stays_with_its_message(store: backscroll.Engine) -> None:
    thread = store.create("x")
    noted = {"source": "页面", "tokens": [1, 2], "nested": {"deep": None}}
    said = thread.append("user", "six o'clock", metadata=noted)
    assert said.metadata == noted == thread.message(said.id).metadata
    assert "页面" not in str(thread.prompt(8000).request)
    both = thread.append("assistant", Content((Text("x"),), metadata={"model": "m"}), metadata={"score": 1})
    assert both.metadata == {"model": "m", "score": 1}
    edited = thread.edit(said.id, "seven o'clock")
    assert edited.metadata == noted


@pytest.mark.parametrize(
    "wrong", [{"backscroll": 1}, {"act": {}}, {"openai": {}}, {1: 2}, {"a": {1, 2}}, ["a"]]
)
def test_unstorable_metadata_is_refused(store: backscroll.Engine, wrong: object) -> None:
    thread = store.create("x")
    with pytest.raises(backscroll.InvalidInput):
        thread.append("user", "hello", metadata=wrong)  # type: ignore[arg-type]
    assert list(thread) == []


def test_graph_flush_analyses_new_turns(store: backscroll.Engine) -> None:
    """`graph.flush` is what `graph.flush` and the command `graph flush` are."""
    thread = store.create("x")
    thread.append("user", "Ellie is a forest elf.")
    assert thread.graph.flush() == 1
    assert thread.graph.node("Ellie").attribute("race") == "forest elf"
    assert thread.graph.flush() == 0 == thread.graph.flush()
