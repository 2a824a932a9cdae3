"""Services with their own dialect of Chat Completions are understood."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import (
    ContextOverflow,
    CutShort,
    InvalidInput,
    KeyRefused,
    ModelBusy,
    ModelError,
    ModelUnknown,
)
from backscroll.llm.clients.client import CallDelta, Reply
from backscroll.llm.clients.dialects import adapt_request, complaint
from backscroll.llm.clients.faults import build_response_error, in_stream
from backscroll.llm.clients.server_sent import events_of, lines_of
from backscroll.testing.scenario import Fault
from tests.testing.scripted_talk import TOOLS, Line, Scenario, ScriptedServer, ask, client_at, streamed

DONE = "data: [DONE]\n\n"


def chunk(delta: Any = None, finish: Any = None, **more: Any) -> str:
    """One event of a stream."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    body = {
        "id": "1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": choices,
        **more,
    }
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n"


def called(name: str | None = None, arguments: Any = None, **more: Any) -> dict[str, Any]:
    """A piece of a tool call."""
    function = {k: v for k, v in (("name", name), ("arguments", arguments)) if v is not None}
    return {"tool_calls": [{"type": "function", "function": function, **more}]}


def heard(*events: str) -> tuple[list[Any], Reply]:
    """What the client makes of a stream to the letter."""
    with ScriptedServer(None, Line(raw=events)) as server, client_at(server.url) as client:
        return streamed(client, ask())


def test_calls_without_ids_get_ids() -> None:
    """All different, and the same in pieces and in the whole (old versions of Ollama)."""
    events, reply = heard(
        chunk(called("read", '{"a":1}', index=0)),
        chunk(called("read", '{"a":2}', index=1)),
        chunk({}, "stop"),
        DONE,
    )
    ids = [c.id for c in reply.tool_calls]
    assert len(set(ids)) == 2
    assert all(ids)
    assert [e.id for e in events if isinstance(e, CallDelta)] == ids
    assert [c["id"] for c in reply.raw["tool_calls"]] == ids
    assert reply.finish == "tools"


@pytest.mark.parametrize("index", [{"index": 0}, {}], ids=["all the same", "none"])
def test_new_id_starts_a_new_call(index: dict[str, int]) -> None:
    """Whatever the index says; pieces without an id continue the last call."""
    _, reply = heard(
        chunk(called("read", '{"p":', id="a", **index)),
        chunk(called(None, '"x"}', **index)),
        chunk(called("write", '{"p":"y"}', id="b", **index)),
        chunk({}, "tool_calls"),
        DONE,
    )
    assert [(c.id, c.name, c.arguments) for c in reply.tool_calls] == [
        ("a", "read", '{"p":"x"}'),
        ("b", "write", '{"p":"y"}'),
    ]


def test_calls_without_ids_and_indexes_are_separated_by_name() -> None:
    """Names tell them apart."""
    _, reply = heard(chunk(called("a", "{}")), chunk(called("b", "{}")), chunk({}, "stop"), DONE)
    assert [c.name for c in reply.tool_calls] == ["a", "b"]


def test_interleaved_calls_are_kept_apart() -> None:
    """With correct indexes pieces may come in any order, and a name may be repeated."""
    _, reply = heard(
        chunk(called("a", "{", id="1", index=0)),
        chunk(called("b", "[", id="2", index=1)),
        chunk(called("a", "}", id="1", index=0)),
        chunk(called(None, "]", index=1)),
        chunk({}, "tool_calls"),
        DONE,
    )
    assert [(c.id, c.name, c.arguments) for c in reply.tool_calls] == [("1", "a", "{}"), ("2", "b", "[]")]


def test_object_arguments_become_text() -> None:
    """As the wire requires."""
    _, reply = heard(
        chunk(called("read", {"路径": "潮汐.txt"}, id="a", index=0)), chunk({}, "tool_calls"), DONE
    )
    assert json.loads(reply.tool_calls[0].arguments) == {"路径": "潮汐.txt"}
    assert isinstance(reply.raw["tool_calls"][0]["function"]["arguments"], str)


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_thinking_is_read_under_either_name(name: str) -> None:
    """DeepSeek, Qwen and llama.cpp say one, OpenRouter, Ollama and vLLM the other."""
    _, reply = heard(
        chunk({name: "hm", "content": None}), chunk({"content": "yes", name: None}), chunk({}, "stop"), DONE
    )
    assert (reply.reasoning, reply.text) == ("hm", "yes")
    assert reply.raw["reasoning_content"] == "hm"


def test_thinking_and_text_are_read_from_parts() -> None:
    """Mistral sends lists of parts while it thinks."""
    thinking = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]
    _, reply = heard(
        chunk({"content": thinking}),
        chunk({"content": [{"type": "text", "text": "yes"}]}),
        chunk({}, "stop"),
        DONE,
    )
    assert (reply.reasoning, reply.text) == ("hm", "yes")


def test_openrouter_reasoning_details_are_kept() -> None:
    """They have to be sent back as they are."""
    details = [{"type": "reasoning.encrypted", "data": "xyz", "index": 0}]
    _, reply = heard(
        chunk({"reasoning": "hm", "reasoning_details": details}), chunk({"content": "a"}, "stop"), DONE
    )
    assert reply.raw["reasoning_details"] == details


@pytest.mark.parametrize(
    ("events", "tokens"),
    [
        (
            (
                chunk({"content": "a"}, usage={"prompt_tokens": 1}),
                chunk({}, "stop", usage={"prompt_tokens": 5}),
            ),
            5,
        ),
        ((chunk({"content": "a"}), chunk({}, "stop"), chunk(None, usage={"prompt_tokens": 5})), 5),
        ((chunk({"content": "a"}), chunk({}, "stop", x_groq={"usage": {"prompt_tokens": 5}})), 5),
        ((chunk({"content": "a"}), chunk({}, "stop", usage=None)), 0),
    ],
    ids=["in each", "in the last", "beside", "nowhere"],
)
def test_usage_is_read_wherever_it_is(events: tuple[str, ...], tokens: int) -> None:
    """The last report counts; without one, usage is unknown."""
    _, reply = heard(*events, DONE)
    assert reply.usage.input == tokens
    assert reply.usage.known is bool(tokens)


def test_separate_cache_counts_are_read() -> None:
    """DeepSeek counts hits and misses separately."""
    usage = {
        "prompt_tokens": 10,
        "prompt_cache_hit_tokens": 8,
        "prompt_cache_miss_tokens": 2,
        "completion_tokens": 3,
    }
    _, reply = heard(chunk({"content": "a"}, "stop", usage=usage), DONE)
    assert (reply.usage.input, reply.usage.cached, reply.usage.output) == (10, 8, 3)


def test_stream_may_end_without_done_or_without_a_reason() -> None:
    """Either is enough; neither means it was cut."""
    assert heard(chunk({"content": "a"}), chunk({}, "stop"))[1].text == "a"
    assert heard(chunk({"content": "a"}), DONE)[1].finish == "stop"
    assert heard(chunk({"content": "a"}), chunk(None, usage={"prompt_tokens": 3}))[1].text == "a"
    with pytest.raises(CutShort):
        heard(chunk({"content": "a"}))
    with pytest.raises(CutShort):
        heard(DONE)


def test_noise_between_events_is_ignored() -> None:
    """Comments, keep-alives, empty choices, unusual line ends and characters that look like them."""
    words = "一\u2028二\x85三"
    _, reply = heard(
        ": OPENROUTER PROCESSING\n\n",
        chunk(None),
        "event: ping\ndata: {}\n\n",
        "data:\n\n",
        chunk({"content": words}).replace("\n", "\r\n"),
        chunk({"role": "assistant", "content": ""}),
        chunk({}, "stop").rstrip("\n"),
    )
    assert reply.text == words


@pytest.mark.parametrize(
    ("word", "finish"),
    [
        ("eos", "stop"),
        ("max_tokens", "length"),
        ("sensitive", "refused"),
        ("function_call", "tools"),
        ("odd", "other"),
    ],
)
def test_finish_reasons_are_translated(word: str, finish: str) -> None:
    """Other names for the same reasons."""
    assert heard(chunk({"content": "a"}, word), DONE)[1].finish == finish


def test_service_out_of_capacity_may_be_retried() -> None:
    """DeepSeek ends answers that way: never a complete answer."""
    with pytest.raises(ModelBusy, match="gave up"):
        heard(chunk({"content": "half"}, "insufficient_system_resource"), DONE)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 502, "message": "upstream died"}, ModelBusy),
        ({"code": "429", "message": "slow down"}, ModelBusy),
        ({"code": 401, "message": "no"}, KeyRefused),
        (
            {"message": "the request exceeds the available context size (4096 tokens)", "type": "x"},
            ContextOverflow,
        ),
        ("just words", ModelBusy),
    ],
)
def test_errors_inside_a_stream_are_recognised(error: Any, kind: type[Exception]) -> None:
    """In any shape; some repeat a status as a code."""
    with pytest.raises(kind):
        heard(chunk({"content": "a"}), f"data: {json.dumps({'error': error})}\n\n")


def test_unsupported_field_is_left_out_from_then_on() -> None:
    """Refused by name: left out, asked again at once, and remembered."""
    lines = (
        Line(times=1, fault=Fault(400, "Unrecognized request argument supplied: stream_options")),
        Line(
            times=1,
            fault=Fault(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        ),
        Line(text="fine"),
    )
    with ScriptedServer(None, *lines) as server, client_at(server.url) as client:
        assert streamed(client, ask())[1].text == "fine"
        assert streamed(client, ask())[1].text == "fine"
        bodies = [a.body for a in server.asked]
    assert ["stream_options" in b for b in bodies] == [True, False, False, False]
    assert ["max_tokens" in b for b in bodies] == [True, True, False, False]
    assert bodies[-1]["max_completion_tokens"] == 4096


def test_unwanted_reasoning_is_not_sent_back() -> None:
    """Some models take their own thinking back, some refuse it; the service decides."""
    fault = Fault(400, "reasoning_content is not allowed in messages")
    said = {"role": "assistant", "content": "a", "reasoning_content": "hm"}
    request = type(ask())([{"role": "user", "content": "q"}, said, {"role": "user", "content": "r"}])
    with (
        ScriptedServer(Scenario((Line(fault=fault, times=1), Line(text="x")), validate=False)) as server,
        client_at(server.url) as client,
    ):
        assert client.complete(request).text == "x"
        kept = [["reasoning_content" in m for m in a.body["messages"]] for a in server.asked]
    assert kept == [[False, True, False], [False, False, False]]


def test_repeated_refusal_is_an_error() -> None:
    """No endless retries: the same refusal twice is an error."""
    with (
        ScriptedServer(None, Line(fault=Fault(400, "max_tokens must be smaller"))) as server,
        client_at(server.url) as client,
    ):
        with pytest.raises(InvalidInput):
            client.complete(ask())
        assert len(server.asked) == 1


def test_adapting_changes_nothing_else() -> None:
    """And nothing at all if no field was refused."""
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "x"}],
        "max_tokens": 5,
        "tools": [TOOLS["openai"]],
    }
    assert adapt_request(body, frozenset()) == body
    assert adapt_request(body, frozenset({"stream_options", "reasoning_content"})) == body
    assert complaint("max_tokens is too large", body, frozenset()) == ""
    assert complaint("use max_completion_tokens", body, frozenset({"max_completion_tokens"})) == ""


# -- what services say when they refuse ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "said", "window"),
    [
        (
            400,
            "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens.",
            65536,
        ),
        (400, "This endpoint's maximum context length is 131,072 tokens.", 131072),
        (400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 4096),
        (
            400,
            "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
            4096,
        ),
        (500, "the request exceeds the available context size, try increasing it", None),
        (400, "Range of input length should be [1, 30720]", 30720),
        (400, "prompt too long; exceeded max context length by 12 tokens", None),
        (400, "Invalid request: Your request exceeded model token limit: 8192", 8192),
        (400, "The input token count (9) exceeds the maximum number of tokens allowed (8).", 8),
        (400, "This model's maximum prompt length is 131072 but the request contains 140000 tokens.", 131072),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", 200000),
        (400, "Prompt contains 50000 tokens, too large for model with 32768 maximum context length", 32768),
        (400, "Your input exceeds the context window of this model.", None),
        (400, "Prompt 超长", None),
        (400, "输入过长，请缩短", None),
        (413, "too many input tokens", None),
    ],
)
def test_overflow_is_recognised_for_every_vendor(status: int, said: str, window: int | None) -> None:
    """With the size of the window, if given."""
    error = build_response_error(status, {"error": {"message": said}}, {}, provider="p", model="m")
    assert isinstance(error, ContextOverflow)
    assert error.facts["window"] == window


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {"error": {"message": "Model Not Exist", "code": "invalid_request_error"}}, ModelUnknown),
        (400, {"error": {"message": "x/y is not a valid model ID", "code": 400}}, ModelUnknown),
        (404, {"error": {"message": "model 'x' not found, try pulling it first"}}, ModelUnknown),
        (400, {"error": {"code": "1211", "message": "模型不存在，请检查模型代码。"}}, ModelUnknown),
        (403, {"error": {"code": "model_not_found", "message": "no access to m"}}, ModelUnknown),
        (402, {"error": {"message": "Insufficient Balance"}}, ModelError),
        (
            429,
            {"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}},
            ModelError,
        ),
        (400, {"error": {"message": "Content Exists Risk"}}, ModelError),
        (
            400,
            {"code": "DataInspectionFailed", "message": "Input data may contain inappropriate content."},
            ModelError,
        ),
        (429, {"error": {"message": "Rate limit reached for requests"}}, ModelBusy),
        (413, {"error": {"message": "Request too large: tokens per minute"}}, InvalidInput),
        (403, {"error": {"message": "not allowed"}}, KeyRefused),
        (422, {"detail": [{"msg": "field required"}]}, InvalidInput),
    ],
)
def test_other_refusals_are_classified(status: int, body: Any, kind: type[Exception]) -> None:
    """So that only temporary ones are retried."""
    assert type(build_response_error(status, body, {}, provider="p", model="m")) is kind


def test_content_filter_is_reported() -> None:
    """Also in the middle of a stream."""
    body = {"error": {"code": "content_filter", "message": "flagged"}}
    for error in (
        build_response_error(400, body, {}, provider="p", model="m"),
        in_stream(body, provider="p", model="m"),
    ):
        assert error.facts["filtered"] is True
        assert "filter" in error.message


# -- lines and events ----------------------------------------------------------------------------------------------


@given(
    st.lists(st.sampled_from([b"data: 1", b"", b"x\xe2\x80\xa8y", b"\xc2\x85", b": c"]), max_size=8),
    st.data(),
)
def test_lines_do_not_depend_on_how_they_are_cut(lines: list[bytes], data: Any) -> None:
    """However the bytes arrive and whichever ends they have, the lines are the same."""
    whole = b"".join(line + data.draw(st.sampled_from([b"\n", b"\r\n", b"\r"])) for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert list(lines_of(pieces)) == whole.splitlines()


@given(st.lists(st.dictionaries(st.text(), st.text() | st.integers()), max_size=5), st.integers(1, 7))
def test_events_survive_any_cutting(events: list[dict[str, Any]], size: int) -> None:
    """Whatever JSON, in pieces of whatever size."""
    whole = b"".join(
        b"data: %s\n\n" % json.dumps(e, ensure_ascii=False).encode("utf-8", "replace") for e in events
    )
    pieces = [whole[n : n + size] for n in range(0, len(whole), size)]
    assert list(events_of(pieces)) == [
        json.loads(json.dumps(e, ensure_ascii=False).encode("utf-8", "replace")) for e in events
    ]
