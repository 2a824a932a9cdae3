"""Three wires, one meaning: the same scripted answer gives the same reply, whole or in pieces."""

from __future__ import annotations

import json

import pytest

from backscroll.errors import (
    ContextOverflow,
    CutShort,
    InvalidInput,
    KeyRefused,
    ModelBusy,
    ModelError,
    ModelUnknown,
    Unreachable,
)
from backscroll.llm.clients.client import CallDelta, ReasoningDelta, TextDelta
from backscroll.testing.scenario import Fault, ScriptedCall
from tests.testing.scripted_talk import (
    KEY,
    KINDS,
    TOOLS,
    Kind,
    Line,
    Scenario,
    ScriptedServer,
    ask,
    client_at,
    streamed,
)

every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
def test_complete_returns_text_model_reason_and_usage(kind: Kind) -> None:
    """A whole answer: its words, its model, why it ended, what it used."""
    with (
        ScriptedServer(None, Line(text="潮水 12 点。 The tide.")) as server,
        client_at(server.url, kind) as client,
    ):
        reply = client.complete(ask("when?", system="You know tides."))
    assert reply.text == "潮水 12 点。 The tide."
    assert (reply.model, reply.finish) == ("m", "stop")
    assert reply.usage.known
    assert reply.usage.input > 0
    assert reply.usage.output > 0
    (asked,) = server.asked
    assert (asked.system, asked.said) == ("You know tides.", (("user", "when?"),))


@every_kind
def test_streamed_answer_equals_the_whole_answer(kind: Kind) -> None:
    """Thinking and tool calls with Chinese arguments included."""
    line = Line(
        text="Let me look.",
        reasoning="They want 潮汐.",
        calls=(
            ScriptedCall("read", {"path": "潮汐.txt", "lines": [1, 2]}, "c1"),
            ScriptedCall("read", {}, "c2"),
        ),
        chunk=3,
    )
    with ScriptedServer(None, line) as server, client_at(server.url, kind) as client:
        request = ask(tools=[TOOLS[kind]])
        whole = client.complete(request)
        events, put_together = streamed(client, request)
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "Let me look."
    assert "".join(e.text for e in events if isinstance(e, ReasoningDelta)) == "They want 潮汐."
    pieces: dict[int, str] = {}
    for event in events:
        if isinstance(event, CallDelta):
            pieces[event.index] = pieces.get(event.index, "") + event.arguments
    assert [json.loads(p) for p in pieces.values()] == [{"path": "潮汐.txt", "lines": [1, 2]}, {}]
    for reply in (whole, put_together):
        assert (reply.text, reply.reasoning, reply.finish) == ("Let me look.", "They want 潮汐.", "tools")
        assert [(c.id, c.name) for c in reply.tool_calls] == [("c1", "read"), ("c2", "read")]
        arguments = reply.tool_calls[0].arguments
        read = json.loads(arguments) if isinstance(arguments, str) else arguments
        assert read == {"path": "潮汐.txt", "lines": [1, 2]}
    assert whole.usage.output == put_together.usage.output


@every_kind
def test_answer_cut_at_the_limit_says_so(kind: Kind) -> None:
    """The limit of tokens cuts the answer, and the reply tells."""
    with ScriptedServer(None, Line(text="x" * 400)) as server, client_at(server.url, kind) as client:
        whole = client.complete(ask(max_tokens=10))
        _, pieces = streamed(client, ask(max_tokens=10))
    assert whole.finish == pieces.finish == "length"
    assert whole.text == pieces.text == "x" * 40


@every_kind
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault(401, f"bad key {KEY}"), KeyRefused),
        (Fault(403, "not allowed"), KeyRefused),
        (Fault(404, "no model"), ModelUnknown),
        (Fault(429, "slow down", retry_after=7), ModelBusy),
        (Fault(500, "oops"), ModelBusy),
        (Fault(529, "overloaded"), ModelBusy),
        (Fault(400, "prompt is too long: 9 tokens > 8 maximum"), ContextOverflow),
        (Fault(400, "temperature: must be small"), InvalidInput),
    ],
    ids=lambda value: f"{value.status}-{value.message[:8]}" if isinstance(value, Fault) else "",
)
def test_refusals_have_their_own_errors(kind: Kind, fault: Fault, error: type[Exception]) -> None:
    """For both kinds of calls; a key is never repeated."""
    with ScriptedServer(None, Line(fault=fault)) as server, client_at(server.url, kind) as client:
        with pytest.raises(error) as whole:
            client.complete(ask())
        with pytest.raises(error) as pieces:
            list(client.stream(ask()))
    for caught in (whole, pieces):
        assert KEY not in str(caught.value)
    if isinstance(whole.value, ModelBusy):
        assert whole.value.facts["retry_after"] == fault.retry_after


@every_kind
def test_refused_connection_names_the_address(kind: Kind) -> None:
    """A refused connection is told as such, with the address."""
    with ScriptedServer() as server:
        url = server.url
    with client_at(url, kind) as client:
        with pytest.raises(Unreachable, match=r"127\.0\.0\.1"):
            client.complete(ask())
        with pytest.raises(Unreachable):
            list(client.stream(ask()))


@every_kind
def test_hanging_service_times_out(kind: Kind) -> None:
    """After the timeout of the provider."""
    with (
        ScriptedServer(None, Line(hang=30.0)) as server,
        client_at(server.url, kind, timeout=0.2) as client,
    ):
        with pytest.raises(ModelBusy, match=r"0\.2 seconds"):
            client.complete(ask())
        with pytest.raises(ModelBusy, match=r"0\.2 seconds"):
            list(client.stream(ask()))


@every_kind
@pytest.mark.parametrize("pieces", [1, 4, 6])
def test_broken_stream_is_an_error(kind: Kind, pieces: int) -> None:
    """A connection dropped in the middle is never a short answer."""
    line = Line(text="one two three four five six seven", cut_after=pieces)
    with ScriptedServer(None, line) as server, client_at(server.url, kind) as client, pytest.raises(CutShort):
        list(client.stream(ask()))


@every_kind
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault(529, "overloaded right now", "overloaded_error"), ModelBusy),
        (Fault(400, "prompt is too long: 9 tokens > 8 maximum"), ContextOverflow),
    ],
    ids=["busy", "overflow"],
)
def test_error_in_the_middle_of_a_stream_is_classified(
    kind: Kind, fault: Fault, error: type[Exception]
) -> None:
    """After the first text there is no status any more."""
    line = Line(text="one two three four five", cut_after=5, fault=fault)
    with (
        ScriptedServer(None, line) as server,
        client_at(server.url, kind) as client,
        pytest.raises(error, match=fault.message[:12]),
    ):
        list(client.stream(ask()))


@every_kind
def test_broken_whole_answer_may_be_retried(kind: Kind) -> None:
    """Half a body is an error."""
    with (
        ScriptedServer(None, Line(text="one two three", cut_after=40)) as server,
        client_at(server.url, kind) as client,
        pytest.raises((CutShort, Unreachable)),
    ):
        client.complete(ask())


@every_kind
def test_lone_surrogates_do_not_break_a_call(kind: Kind) -> None:
    """No service can read them."""
    with ScriptedServer(None, Line(text="fine")) as server, client_at(server.url, kind) as client:
        assert client.complete(ask("cut \ud83d off")).text == "fine"


@every_kind
def test_stopping_early_leaves_nothing_behind(kind: Kind) -> None:
    """The connection of the unread stream is closed, and the client still works."""
    with ScriptedServer(None, Line(text="word " * 500)) as server, client_at(server.url, kind) as client:
        stream = client.stream(ask())
        next(stream)
        stream.close()  # type: ignore[attr-defined]
        assert client.complete(ask()).finish == "stop"


@every_kind
def test_page_of_another_server_is_no_answer(kind: Kind) -> None:
    """It is not mistaken for a model's text."""
    with (
        ScriptedServer(Scenario(models=("other",))) as server,
        client_at(server.url, kind) as client,
        pytest.raises(ModelError),
    ):
        client.complete(ask())
    with (
        ScriptedServer() as server,
        client_at(f"{server.url}/nowhere/at/all", kind) as client,
        pytest.raises((ModelError, InvalidInput)),
    ):
        client.complete(ask())


def test_schema_is_sent_only_where_it_is_supported() -> None:
    """Compatible services are asked for JSON in words; the original ones get the schema."""
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    where = {"openai": "response_format", "openai-responses": "text", "anthropic": "output_config"}
    for kind in KINDS:
        for structured in (True, False):
            with (
                ScriptedServer(None, Line(text="{}")) as server,
                client_at(server.url, kind, structured=structured) as client,
            ):
                client.complete(ask(schema=schema))
            assert (where[kind] in server.asked[0].body) is structured
