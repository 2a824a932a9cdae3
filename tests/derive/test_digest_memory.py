"""Digests are worked out once for the same call and result, and never taken for those of another."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backscroll.derive import digest
from backscroll.derive.digest import digest_call
from backscroll.derive.summaries import gist
from backscroll.vocab.ids import Ref
from backscroll.vocab.part import Media, Opaque, Text, ToolCall, ToolResult

_WORDS = st.text(st.sampled_from("ab \n1/.错误\ud800"), max_size=12)
_PARTS = st.one_of(
    st.builds(Text, _WORDS),
    st.builds(Media, st.sampled_from(["image/png", "text/plain"])),
    st.builds(lambda words: Opaque("v", "k", words), _WORDS),
)
_CALLS = st.builds(
    lambda name, value: ToolCall("c", name, value),
    st.sampled_from(["run_command", "read_file", "web_fetch"]),
    st.one_of(_WORDS, st.dictionaries(st.sampled_from(["path", "command"]), _WORDS, max_size=2), st.none()),
)
_RESULTS = st.one_of(
    st.none(),
    st.builds(
        lambda parts, failed: ToolResult("c", tuple(parts), failed),
        st.lists(_PARTS, max_size=3),
        st.booleans(),
    ),
)
_ASKED = st.tuples(_CALLS, _RESULTS, st.sampled_from([16, 40, 160]), st.booleans())


def _line(asked: tuple[ToolCall, ToolResult | None, int, bool]) -> digest.Digest:
    call, result, limit, grows = asked
    ref = Ref("0" * 32, 7)
    return digest_call(call, result, at="t", call_message=ref, result_message=ref, limit=limit, grows=grows)


@given(st.lists(_ASKED, min_size=1, max_size=8))
def test_what_is_remembered_is_what_would_be_made_anew(
    asked: list[tuple[ToolCall, ToolResult | None, int, bool]],
):
    """Digests that come from memory are equal to those of a process that remembers nothing."""
    digest.let_go()
    together = [_line(each) for each in [*asked, *asked]]
    alone: list[digest.Digest] = []
    for each in asked:
        digest.let_go()
        alone.append(_line(each))
    assert together == [*alone, *alone]


def test_results_with_different_parts_have_separate_cached_digests():
    """Two results whose words only end elsewhere have digests of their own."""
    call = ToolCall("c", "run_command", {"command": "x"})
    whole = ToolResult("c", (Text("a\nb"),))
    marked = ToolResult("c", (Text("a"), Text("Text 1 b")))
    assert _line((call, whole, 160, True)).summary != _line((call, marked, 160, True)).summary


def test_digest_cache_is_bounded():
    """However many results there are, only so many of their lines stay in memory."""
    digest.let_go()
    kept = digest._kept
    most = digest._KEPT
    call = ToolCall("c", "run_command", {"command": "x"})
    for number in range(most + 50):
        _line((call, ToolResult("c", (Text(f"done {number}"),)), 160, True))
    assert len(kept) <= most
    assert _line((call, ToolResult("c", (Text("done 3"),)), 160, True)).summary == "done 3"


def test_letting_go_of_texts_clears_the_digest_cache():
    """After words are forgotten no line of them is left in memory."""
    _line((ToolCall("c", "run_command", {"command": "x"}), ToolResult("c", (Text("a secret"),)), 160, True))
    gist.let_go()
    assert not digest._kept
