"""Services that send too much, nothing, or nonsense: limited, reported, and the answer kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import CutShort, InvalidInput, ModelBusy
from backscroll.llm.clients import server_sent
from backscroll.llm.clients.anthropic_events import usage_of
from backscroll.llm.clients.client import Client, Done, Reply, Request, Usage, broken_calls
from backscroll.llm.clients.fault_words import output_limit_in
from backscroll.llm.clients.faults import build_response_error
from backscroll.llm.clients.retries import Patience
from backscroll.llm.clients.server_sent import lines_of
from backscroll.llm.clients.stream_bounds import REFUSAL
from backscroll.llm.prices.ledger import Tokens, heard_tokens, tokens_of
from backscroll.llm.providers import Provider, client_for
from backscroll.testing import Line, Scenario, ScriptedServer
from backscroll.testing.scenario import Fault
from backscroll.vocab.part import ToolCall

KINDS = ("openai", "openai-responses", "anthropic")


def ask(**more: Any) -> Request:
    return Request([{"role": "user", "content": "hello"}], **{"max_tokens": 100, **more})


def opened(server: ScriptedServer, kind: str, **more: Any) -> Client:
    url = server.url if kind != "anthropic" else server.url.removesuffix("/v1")
    return client_for(Provider("here", kind=kind, base_url=url, model="m", **more))  # type: ignore[arg-type]


def streamed(client: Client, request: Request) -> Reply:
    *_, last = client.stream(request)
    assert isinstance(last, Done)
    return last.reply


@pytest.mark.parametrize("kind", KINDS)
def test_endless_answer_is_cut_and_kept(kind: str) -> None:
    with ScriptedServer(None, Line(text="on and on ", endless=True, chunk=4000)) as server:
        client = opened(server, kind)
        reply = streamed(client, ask())
        client.close()
    assert reply.finish == "endless"
    assert reply.text.startswith("on and on on")
    assert 100_000 < len(reply.text) < 1_000_000


@pytest.mark.parametrize("kind", KINDS)
def test_keep_alives_alone_time_out(kind: str) -> None:
    comments = (": still here\n\n",) * 2000
    with ScriptedServer(None, Line(raw=comments, pace=0.02)) as server:
        client = opened(server, kind, timeout=0.6)
        with pytest.raises(ModelBusy, match="did not answer"):
            streamed(client, ask())
        client.close()


def test_endless_line_is_refused_and_not_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_sent, "LONGEST", 50_000)
    with ScriptedServer(None, Line(raw=("data: " + "x" * 200_000,))) as server:
        client = opened(server, "openai")
        with pytest.raises(CutShort, match="more than 50,000 bytes") as caught:
            streamed(client, ask())
        client.close()
    assert Patience().pause(caught.value, 1) is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["stream", "complete"])
def test_huge_error_is_shortened(kind: str, way: str) -> None:
    with ScriptedServer(None, Line(fault=Fault(400, "no " * 4_000_000))) as server:
        client = opened(server, kind)
        with pytest.raises(InvalidInput) as caught:
            streamed(client, ask()) if way == "stream" else client.complete(ask())
        client.close()
    assert len(caught.value.message) < 1000
    assert REFUSAL < 1_000_000


ODD = [-5, 1e30, 10**40, "many", True, float("inf"), 1.5, [1], {"n": 1}]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("figure", ODD, ids=repr)
@pytest.mark.parametrize("way", ["stream", "complete"])
def test_absurd_usage_does_not_lose_the_answer(kind: str, figure: Any, way: str) -> None:
    with ScriptedServer(None, Line(text="fine", usage={"output": figure, "input": 12})) as server:
        client = opened(server, kind)
        reply = streamed(client, ask()) if way == "stream" else client.complete(ask())
        client.close()
    assert reply.text == "fine"
    if way == "stream" or figure not in (True, float("inf")):  # the SDKs make ordinary values of these
        assert not reply.usage.known
        assert reply.usage.odd


@given(st.recursive(st.none() | st.integers() | st.floats() | st.text(max_size=5), st.lists, max_leaves=4))
def test_no_shape_of_usage_raises(value: Any) -> None:
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "output_tokens_details")
    for name in names:
        found = usage_of({"input_tokens": 5, "output_tokens": 5, name: value})
        Tokens(found.input, found.cached, found.written, output=found.output, reasoning=found.reasoning)
        heard_tokens(lambda name=name: tokens_of({"prompt_tokens": 5, "completion_tokens": 1, name: value}))
    assert not usage_of(value).known or isinstance(value, dict)


def test_parts_larger_than_the_total_are_added_to_it() -> None:
    with ScriptedServer(
        None, Line(text="x", usage={"output": 5, "reasoning": 90, "cached": 400, "input": 100})
    ) as server:
        client = opened(server, "openai")
        usage = client.complete(ask()).usage
        client.close()
    assert (usage.output, usage.reasoning, usage.cached) == (95, 90, 100)
    assert Usage().known


# -- half calls ----------------------------------------------------------------------------------------------------


@given(
    st.dictionaries(st.text(max_size=8), st.text(max_size=20) | st.integers() | st.booleans(), max_size=4),
    st.data(),
)
def test_every_beginning_of_arguments_is_known_as_such(
    arguments: dict[str, Any], data: st.DataObject
) -> None:
    whole = json.dumps(arguments, ensure_ascii=False)
    cut = data.draw(st.integers(0, len(whole) - 1))
    calls = [ToolCall("a", "t", whole), ToolCall("b", "t", whole[:cut])]
    assert broken_calls(calls) == (1,)
    assert broken_calls([*calls, ToolCall("c", "t", whole)]) == ((1,) if whole[:cut].strip() else ())
    assert broken_calls([ToolCall("d", "t", arguments)]) == ()


@pytest.mark.parametrize(
    ("said", "most"),
    [
        ("max_tokens is too large: 100000. This model supports at most 16384 completion tokens", 16_384),
        ("max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for m", 64_000),
        ("Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 128000, but got 2", 128_000),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8192),
        ("Range of max_tokens should be [1, 16384]", 16_384),
        ("`max_tokens` must be less than or equal to `32768`, less than the `context_window` for this model", 32_768),
        ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", None),
        ("This model's maximum context length is 8192 tokens", None),
        ("max_tokens 不能超过 4096", 4096),
    ],
)  # fmt: skip
def test_output_limit_is_read_from_error_texts(said: str, most: int | None) -> None:
    assert output_limit_in(said) == most
    error = build_response_error(400, {"error": {"message": said}}, {}, provider="p", model="m")
    assert error.facts.get("output_limit") == most


# -- lines ---------------------------------------------------------------------------------------------------------


@given(
    st.lists(st.binary(max_size=6).map(lambda b: b.translate(bytes([10, 13, 97] * 85 + [97]))), max_size=12)
)
def test_lines_are_the_same_however_the_bytes_come(pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    assert list(lines_of(pieces)) == list(lines_of([whole])) == whole.splitlines()


def test_long_line_in_many_pieces_is_read_in_linear_time() -> None:
    """Counted, not timed: each byte of the line is scanned only a few times."""
    looked = 0

    class Counting(bytes):
        def __contains__(self, key: Any) -> bool:
            nonlocal looked
            looked += len(self)
            return super().__contains__(key)

    def pieces() -> Iterator[bytes]:
        for _ in range(2000):
            yield Counting(b"x" * 1000)
        yield Counting(b"\n")

    assert [len(line) for line in lines_of(pieces())] == [2_000_000]
    assert looked <= 2 * 2_000_001 + 10


# -- the scripted service itself -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_scripted_service_refuses_answers_longer_than_the_model_allows(kind: str) -> None:
    with ScriptedServer(Scenario(lines=(Line(text="x"),), max_output=50)) as server:
        client = opened(server, kind)
        with pytest.raises(InvalidInput) as caught:
            client.complete(ask(max_tokens=51))
        assert caught.value.facts["output_limit"] == 50
        assert client.complete(ask(max_tokens=50)).text == "x"
        client.close()


@pytest.mark.parametrize("kind", KINDS)
@given(
    limit=st.integers(1, 60), text=st.text(st.characters(codec="utf-8"), max_size=60), thinks=st.booleans()
)
def test_no_scripted_answer_is_longer_than_it_was_asked_for(
    kind: str, limit: int, text: str, thinks: bool
) -> None:
    from backscroll.testing.answer import speak
    from backscroll.testing.cache import CacheTokens, rough_count
    from backscroll.testing.request import read_request
    from backscroll.testing.scenario import ScriptedCall

    wire = {"openai": "openai-chat", "anthropic": "anthropic"}.get(kind, kind)
    name = "max_output_tokens" if kind == "openai-responses" else "max_tokens"
    asked = read_request(wire, {"model": "m", name: limit, "messages": [{"role": "user", "content": "x"}]})  # type: ignore[arg-type]
    line = Line(text=text, reasoning="hm" if thinks else "", calls=(ScriptedCall("t", {"a": text, "b": 2}),))
    said = speak(line, asked, CacheTokens(1), 1, 1, rough_count)
    assert said.output <= limit + 1
    assert (said.finish == "length") == (
        said.half is not None or (said.reasoning, said.text, len(said.calls)) != (line.reasoning, text, 1)
    )
