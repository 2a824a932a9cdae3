"""What a message may hold: every kind of part comes back as it went in, and bytes are kept once."""

from __future__ import annotations

import hashlib
from typing import Any, cast

import pytest

import backscroll
from backscroll import Content, Media, Opaque, Reasoning, Role, Text, ToolCall, ToolResult
from backscroll.vocab.part import Part
from tests.contracts.talk import say, texts

PICTURE = bytes(range(256)) * 40
ODD = "NUL \0, lone \ud800 and \udfff, \x7f\x1b[0m, é e\u0301, \u202eשלום, 👩‍👩‍👧, 𠮷野家, \r\n\t"

PARTS: dict[str, tuple[Part, ...]] = {
    "none": (),
    "empty text": (Text(""),),
    "blank text": (Text(" \n "),),
    "several texts": (Text("a"), Text(""), Text("b", {"cache_control": {"type": "ephemeral"}})),
    "odd text": (Text(ODD),),
    "reasoning": (Reasoning("hm", "c2lnbmF0dXJl", {"vendor": [1, 2.5, None, True]}),),
    "call": (ToolCall("call_1", "read_file", {"path": "a.py", "lines": [1, 2], "深": {"x": None}}),),
    "call with text arguments": (ToolCall("call_1", "run", '{"not": json, really'),),
    "call without arguments": (ToolCall("", "", None),),
    "result": (ToolResult("call_1", (Text("out"), Opaque("x", "y", "{}")), True, "read_file", {"ms": 3}),),
    "empty result": (ToolResult("call_1", ()),),
    "address": (Media("image/png", url="https://example.org/a b.png", name="a b.png"),),
    "opaque": (Opaque("vendor", "kind", '{"b":1, "a" : "\\u00e9", "n":1.0e2}' + ODD, {"k": "v"}),),
    "everything": (Text("t"), Reasoning("r"), ToolCall("c", "n", []), Opaque("v", "k", "raw")),
}


@pytest.mark.parametrize("name", PARTS)
def test_every_kind_of_part_round_trips(store: backscroll.Engine, name: str) -> None:
    """Exactly, with author and metadata."""
    content = Content(PARTS[name], author=ODD, metadata={"usage": {"in": 3}, ODD: [ODD]})
    message = store.create().append("assistant", content)
    found = store.thread(message.id.thread).message(message.id)
    assert found.content == content
    assert found == message


def test_content_may_be_a_string_part_or_sequence(thread: backscroll.Thread) -> None:
    """A text, one part, several parts and a whole content are all accepted."""
    for given in ("a", Text("a"), [Text("a")], (Text("a"),), Content((Text("a"),))):
        assert thread.append("user", given).parts == (Text("a"),)
    assert thread.append("user", "b", author="Ann").author == "Ann"


def test_blobs_are_stored_once_by_hash(store: backscroll.Engine) -> None:
    """The same image in a message and in a tool result is stored once and read back."""
    thread = store.create()
    picture = Media("image/png", data=PICTURE, name="a.png")
    first = thread.append("user", [Text("look"), picture])
    second = thread.append("tool", ToolResult("c", (Media("image/png", data=PICTURE), Text("done"))))
    digest = hashlib.sha256(PICTURE).hexdigest()
    assert first.parts[1] == Media("image/png", blob=digest, name="a.png")
    assert thread.message(second.id).parts == (
        ToolResult("c", (Media("image/png", blob=digest), Text("done"))),
    )
    assert store.blob(digest) == PICTURE
    assert (store.stats()["blobs"], store.stats()["blob_bytes"]) == (1, len(PICTURE))
    assert store.put_blob(PICTURE) == digest
    assert store.stats()["blobs"] == 1
    assert store.blob("0" * 64) is None
    assert store.blob("\ud800\0") is None
    assert store.blob(store.put_blob(b"")) == b""


def test_content_hash_covers_role_author_and_parts(thread: backscroll.Thread) -> None:
    """Not the message id or the metadata."""
    a, b = say(thread, "u same", "u same")
    assert a.digest == b.digest
    assert len(a.digest) == 64
    noted = thread.append("user", Content((Text("same"),), metadata={"x": 1}))
    assert noted.digest == a.digest
    others = [
        thread.append("assistant", "same"),
        thread.append("user", "same", author="Ann"),
        thread.append("user", [Text("same"), Text("")]),
        thread.append("user", Text("same", {"x": 1})),
    ]
    assert len({m.digest for m in [a, *others]}) == 5


def test_message_of_fifty_megabytes(thread: backscroll.Thread) -> None:
    """It is accepted, read back unchanged and found by its first words."""
    huge = "lighthouse 灯塔 " + "0123456789" * 5_000_000
    message = thread.append("tool", huge)
    found = thread.engine.thread(thread.id).message(message.id)
    assert len(found.text) == len(huge)
    assert found.text == huge
    say(thread, "a ok")
    assert [m.id for m in thread] == [message.id, thread.message(-1).id]
    assert [hit.message for hit in thread.engine.search("灯塔").hits] == [message.id]


def test_empty_messages_are_kept(thread: backscroll.Thread) -> None:
    """A message without words is a message, in its place."""
    thread.append("assistant", "")
    thread.append("assistant", [])
    say(thread, "u ")
    assert texts(thread) == ["", "", ""]
    assert [m.parts for m in thread][1] == ()
    assert thread.info.turns == 1
    assert thread.engine.search("anything").hits == []


def test_index_ignores_nul_and_surrogates(thread: backscroll.Thread) -> None:
    """Words around NUL and lone surrogates are found although the text is stored exactly."""
    message = thread.append("user", f"before{ODD}after harbour\0master")
    assert thread.message(message.id).text == f"before{ODD}after harbour\0master"
    for word in ("after", "harbourmaster", "野家", "שלום"):
        assert [hit.message for hit in thread.engine.search(word).hits] == [message.id]


WRONG: dict[str, Any] = {
    "nothing": None,
    "a number": 5,
    "bytes": b"bytes",
    "a message of a wire": {"role": "user"},
    "texts in a list": ["text"],
    "nothing in a list": [Text("a"), None],
    "text that is a number": Text(cast("Any", 5)),
    "reasoning about nothing": Reasoning(cast("Any", None)),
    "a signature of bytes": Reasoning("r", cast("Any", b"s")),
    "raw bytes": Opaque("v", "k", cast("Any", b"raw")),
    "a call to nothing": ToolCall("c", cast("Any", None), {}),
    "a result of texts": ToolResult("c", cast("Any", ("text",))),
    "a result that calls": ToolResult("c", cast("Any", (ToolCall("c", "n", {}),))),
    "a result that is text": ToolResult("c", cast("Any", "text")),
    "media of text": Media("image/png", data=cast("Any", "text")),
    "media with a number as name": Media("image/png", name=cast("Any", 5)),
    "an author who is a number": Content((Text("a"),), author=cast("Any", 5)),
    "metadata in a list": Content((Text("a"),), metadata=cast("Any", [1])),
    "metadata that is no JSON": Content((Text("a"),), metadata={"x": object()}),
    "an extra that is no JSON": Text("a", {"x": {1, 2}}),
    "an extra that is a list": Text("a", cast("Any", [1])),
    "text instead of parts": Content(cast("Any", "text")),
    "arguments that are no JSON": ToolCall("c", "n", float),
    "a number beyond reason": ToolCall("c", "n", 10**5000),
}


@pytest.mark.parametrize("name", WRONG)
def test_invalid_content_is_refused(thread: backscroll.Thread, name: str) -> None:
    """Values that are not text, parts or JSON are refused, and nothing is written."""
    content = WRONG[name]
    (first,) = say(thread, "u a")
    for work in (
        lambda: thread.append("user", content),
        lambda: thread.insert("user", content),
        lambda: thread.edit(first.id, content),
        lambda: thread.regenerate(first.id, content),
    ):
        with pytest.raises(backscroll.InvalidInput):
            work()
    assert thread.head == 2


def test_circular_or_too_deep_json_is_refused(thread: backscroll.Thread) -> None:
    """JSON within the depth limit round-trips."""
    circle: dict[str, object] = {}
    circle["x"] = circle
    deep: list[object] = []
    for _ in range(150):
        deep = [deep]
    kept = thread.append("assistant", ToolCall("c", "n", deep))
    assert thread.message(kept.id) == kept
    deeper = deep
    for _ in range(100):
        deeper = [deeper]
    deepest = deep
    for _ in range(100_000):
        deepest = [deepest]
    for arguments in (circle, deeper, deepest):
        with pytest.raises(backscroll.InvalidInput):
            thread.append("assistant", ToolCall("c", "n", arguments))
    assert len(thread) == 1


@pytest.mark.parametrize("role", ["", "User", "developer", "function", "\ud800", None, 5, ["user"]])
def test_unknown_roles_are_refused(thread: backscroll.Thread, role: Role) -> None:
    """The error lists the four valid roles."""
    for work in (lambda: thread.append(role, "x"), lambda: thread.insert(role, "x")):
        with pytest.raises(backscroll.InvalidInput, match="role") as refused:
            work()
        assert "assistant" in refused.value.hint
    assert len(thread) == 0


@pytest.mark.parametrize("at", ["", "yesterday", "2024-13-01", 5, b"2024-01-01", "2024-01-01T25:00"])
def test_invalid_time_is_refused(thread: backscroll.Thread, at: str) -> None:
    """A time that cannot be understood is refused rather than guessed."""
    with pytest.raises(backscroll.InvalidInput, match="time"):
        thread.append("user", "x", at=at)
    with pytest.raises(backscroll.InvalidInput, match="time"):
        thread.log_code_change("x", "y", at=at)
    assert thread.head == 1
