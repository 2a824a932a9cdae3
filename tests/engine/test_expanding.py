"""From a handle to the full originals: exactly those, as they stand now, and what was asked for is noted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

import backscroll
from backscroll.engine.engine import Engine
from backscroll.engine.inputs.lessons import weights_of
from backscroll.engine.prompts.expansion import expand
from backscroll.engine.thread import Thread
from backscroll.errors import Forgotten, InvalidInput, NotFound
from backscroll.vocab.handle import handle_of
from backscroll.vocab.part import Text, ToolCall, ToolResult

STORES = [
    pytest.param("sqlite_url", id="sqlite"),
    pytest.param("prepared_url", id="postgres", marks=pytest.mark.postgres),
]


@pytest.fixture(params=STORES)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    url = request.getfixturevalue(request.param)
    with closing(backscroll.open(url, background=False, encoder="none")) as opened:
        yield opened


@pytest.fixture
def thread(engine: Engine) -> Thread:
    """Three turns: a question, a call with its result, an answer."""
    made = engine.create("expand me")
    for n in range(1, 4):
        made.append("user", f"question{n}")
        made.append("assistant", [Text(f"looking{n}"), ToolCall(f"c{n}", "Read", {"path": f"file{n}.py"})])
        made.append("tool", [ToolResult(f"c{n}", (Text(f"content{n}\n" * 200),))])
        made.append("assistant", f"answer{n}")
    return made


def test_expand_returns_a_message_in_full(thread: Thread) -> None:
    """However long it is, nothing is cut; brackets and the prefix may be left out."""
    wanted = thread.message(2)
    handle = handle_of(wanted.id)
    for spelt in (handle, handle.strip("[]"), str(wanted.id.seq), f" {handle} "):
        assert thread.expand(spelt) == [wanted]
    assert wanted.parts[0] == ToolResult("c1", (Text("content1\n" * 200),))


def test_expand_returns_a_range_in_order(thread: Thread) -> None:
    """From the first to the last, both included, whichever is named first."""
    first, last = thread.message(1).id, thread.message(5).id
    assert thread.expand(handle_of(first, last)) == list(thread.messages(1, 6))
    assert thread.expand(handle_of(last, first)) == list(thread.messages(1, 6))


def test_expand_returns_a_long_range_completely(engine: Engine) -> None:
    """Ranges longer than a page of the store lose nothing at the seams."""
    long = engine.create("long")
    for n in range(600):
        long.append("user" if n % 2 else "assistant", f"message {n}")
    every = list(long)
    assert long.expand(handle_of(every[0].id, every[-1].id)) == every
    assert long.expand(handle_of(every[255].id, every[256].id)) == every[255:257]


def test_expand_returns_the_live_revision(thread: Thread) -> None:
    """An edit shows; a handle that names an older revision leads to the message it belongs to."""
    old = thread.message(0)
    thread.edit(old.id, "asked differently")
    assert [m.text for m in thread.expand(handle_of(old.id))] == ["asked differently"]
    assert [m.id for m in thread.expand(handle_of(thread.message(0).revision))] == [old.id]


def test_expand_a_crop_by_handle_or_event(thread: Thread) -> None:
    """The handle in the prompt and the one on the receipt lead to the same messages."""
    expected = list(thread.messages(0, 4))
    done = thread.crop("top", 4)
    assert thread.expand(done.handle) == expected
    assert thread.expand(f"[bs:{done.event}]") == expected
    shown = thread.prompt(20_000, recall=False, dry_run=True).receipt.items
    assert all(thread.expand(item.handle) for item in shown if item.handle)


def test_expand_a_crop_by_event_leaves_out_uncropped_messages(thread: Thread) -> None:
    pinned = thread.message(3).id
    thread.pin(pinned)
    done = thread.crop("top", 7)
    assert pinned not in [m.id for m in thread.expand(f"[bs:{done.event}]")]
    assert len(thread.expand(f"[bs:{done.event}]")) == 7


def test_expand_a_handle_of_another_thread(engine: Engine, thread: Thread) -> None:
    """A handle that names its thread is read anywhere; one of the own thread too."""
    other = engine.create("elsewhere")
    other.append("user", "far away")
    handle = handle_of(other.message(0).id, elsewhere=True)
    assert [m.text for m in thread.expand(handle)] == ["far away"]
    assert thread.expand(handle_of(thread.message(0).id, elsewhere=True)) == [thread.message(0)]
    with pytest.raises(NotFound):
        thread.expand("[bs:" + "0" * 8 + ".3]")


def test_expand_in_a_fork_reads_inherited_messages(thread: Thread) -> None:
    fork = thread.fork()
    handle = handle_of(thread.message(0).id)
    assert [m.text for m in fork.expand(handle)] == ["question1"]


def test_expand_reports_a_deleted_message(thread: Thread) -> None:
    """Alone it is an error; in a range it is left out."""
    gone = thread.message(1).id
    first, last = thread.message(0).id, thread.message(3).id
    thread.delete(gone)
    with pytest.raises(NotFound, match="was deleted") as caught:
        thread.expand(handle_of(gone))
    assert "restore" in caught.value.hint
    assert gone not in [m.id for m in thread.expand(handle_of(first, last))]


def test_expand_a_deleted_range_is_not_found(thread: Thread) -> None:
    first, last = thread.message(0).id, thread.message(1).id
    thread.delete(first, last)
    with pytest.raises(NotFound, match="nothing is behind"):
        thread.expand(handle_of(first, last))


def test_expand_reports_a_forgotten_message(thread: Thread) -> None:
    """Alone it is an error; a range is returned without it."""
    gone = thread.message(3)
    first, last = thread.message(0).id, thread.message(5).id
    thread.forget(gone.id)
    with pytest.raises((Forgotten, NotFound)):
        thread.expand(handle_of(gone.id))
    found = thread.expand(handle_of(first, last))
    assert "answer1" not in "".join(m.text for m in found)
    assert len(found) == 5


@pytest.mark.parametrize("handle", ["[bs:999]", "[bs:1]", "[bs:2-999]", "[bs:998-999]"])
def test_expand_a_handle_without_messages_is_not_found(thread: Thread, handle: str) -> None:
    """A number that is no message, or does not exist; the hint says where to look."""
    with pytest.raises(NotFound) as caught:
        thread.expand(handle)
    assert "show" in caught.value.hint


@pytest.mark.parametrize(
    "handle", ["", "bs:", "[bs:0]", "[bs:x]", "[bs:1-]", "[bs:-3]", "1.5", "[bs:3", "７"]
)
def test_expand_refuses_an_invalid_handle(thread: Thread, handle: str) -> None:
    if handle == "[bs:3":
        assert thread.expand(handle)  # a bracket may be left out on either side
        return
    with pytest.raises(InvalidInput, match="not a handle"):
        thread.expand(handle)


def test_expand_teaches_importance_weights(engine: Engine, thread: Thread) -> None:
    """Its like is worth more from now on; looking without learning leaves no trace."""
    assert weights_of(engine) == {}
    expand(thread, handle_of(thread.message(2).id), learn=False)
    assert weights_of(engine) == {}
    thread.expand(handle_of(thread.message(2).id))
    assert weights_of(engine)
    assert all(weight > 1 for weight in weights_of(engine).values())


def test_expand_adds_no_event(thread: Thread) -> None:
    head = thread.head
    thread.expand(handle_of(thread.message(0).id, thread.message(7).id))
    assert thread.head == head
