"""Gists: short, verbatim, with handles, the same for the same messages, and never of what is hidden."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.derive.essence.clusters import pieces
from backscroll.derive.essence.cues import marked_long, marked_short
from backscroll.derive.essence.sentences import rough_count
from backscroll.derive.summaries.composition import flat
from backscroll.derive.summaries.gist import RECIPE, gist_messages, gist_turn, inputs_of, let_go
from backscroll.derive.summaries.storage import decode_gist, encode_gist
from backscroll.derive.summaries.summary import Summary, summarise, told_by
from backscroll.derive.summaries.tuning import LIMIT, MOST
from backscroll.errors import StoreCorrupt
from backscroll.record.turns import turn_of
from tests.derive.planted import THREAD, Talk


def test_short_turn_is_its_own_gist() -> None:
    talk = Talk()
    talk.say("user", "Which port does the server use?")
    talk.say("assistant", "It listens on 8080.")
    assert gist_messages(talk.messages).text == (
        "User: Which port does the server use?\nAssistant: It listens on 8080.\n[bs:1-2]"
    )


def test_chinese_turn_has_a_chinese_gist() -> None:
    talk = Talk()
    talk.say("user", "服务器用哪个端口？")
    talk.say("assistant", "监听 8080 端口。")
    assert gist_messages(talk.messages).text == "用户：服务器用哪个端口？\n助手：监听 8080 端口。\n[bs:1-2]"


def test_gist_names_authors() -> None:
    """A role-play has no character called `Assistant`."""
    talk = Talk()
    talk.say("user", "The rain has stopped.")
    message = talk.messages[0]
    signed = replace(message, content=replace(message.content, author="Ellie"))
    assert gist_messages([signed]).text == "Ellie: The rain has stopped. [bs:1]"


def test_gist_shows_tool_digests() -> None:
    talk = Talk()
    talk.say("user", "Fix the typo.")
    talk.use(
        "Edit",
        {"file_path": "src/a.py", "old_string": "teh", "new_string": "the"},
        "The file has been updated.",
    )
    talk.say("assistant", "Done.")
    text = gist_messages(talk.messages).text
    assert "- Edit src/a.py" in text
    assert "[bs:3]" in text


def test_gist_quotes_messages_verbatim() -> None:
    """Sentences of a gist are in the messages, letter for letter."""
    talk = Talk()
    talk.say("user", "We must keep the old format. " + "The rest is up to you. " * 30)
    talk.say("assistant", "I changed the writer because the reader was slow. " + "More follows here. " * 40)
    made = gist_messages(talk.messages, limit_tokens=60)
    everything = flat(" ".join(m.text for m in talk.messages))
    assert made.lines
    assert all(flat(line.text) in everything for line in made.lines)
    assert "We must keep the old format." in made.text


def test_gist_leaves_out_hidden_deleted_and_system_messages() -> None:
    talk = Talk()
    for text in ("hidden words", "deleted words", "shown words"):
        talk.say("user", text)
    talk.say("system", "system words")
    one, two, three, four = talk.messages
    made = gist_messages([replace(one, hidden=True), replace(two, deleted=True), three, four])
    assert made.text == "User: shown words [bs:3]"
    assert made.sources == (three.revision,)
    assert gist_messages([replace(one, hidden=True)]).text == ""


def test_gist_prefers_pinned_messages() -> None:
    talk = Talk()
    for number in range(6):
        talk.say("assistant", f"Sentence number {number} speaks about topic {number * 7} in a few words.")
    pinned = [replace(m, pinned=m.id.seq == 3) for m in talk.messages]
    assert "Sentence number 2" in gist_messages(pinned, limit_tokens=40).text


def test_gist_of_a_very_long_message_is_bounded() -> None:
    talk = Talk()
    talk.say(
        "user", " ".join(f"The value {n} of part {n} must stay below {n * 3} units." for n in range(2000))
    )
    size = rough_count(gist_messages(talk.messages).text)
    assert LIMIT < size <= MOST


def test_turn_and_its_messages_have_the_same_gist() -> None:
    talk = Talk()
    talk.say("user", "Hello, is anybody there?")
    talk.say("assistant", "Yes.")
    assert gist_turn(turn_of(THREAD, 1, talk.messages)) == gist_messages(talk.messages)


def test_gist_key_depends_on_visible_content_only() -> None:
    """Another revision, another order and a pin make another artefact; hidden messages do not count at all."""
    talk = Talk()
    talk.say("user", "one")
    talk.say("assistant", "two")
    one, two = talk.messages
    key = RECIPE.key(inputs_of([one, two]))
    assert key == RECIPE.key(inputs_of([one, two, replace(two, hidden=True)]))
    others = [[two, one], [one], [one, replace(two, digest="f" * 64)], [replace(one, pinned=True), two]]
    assert len({key, *(RECIPE.key(inputs_of(messages)) for messages in others)}) == 5


texts = st.text(
    st.one_of(st.sampled_from("aZ .!?。！\n-*#`|\ud800\x00中文1/"), st.characters()), max_size=200
)
calls = st.tuples(
    st.sampled_from(["Read", "Bash", "cancel", "TodoWrite", "搜索"]),
    st.one_of(texts, st.dictionaries(texts, texts, max_size=2)),
)


@given(st.lists(st.one_of(texts, calls), max_size=8), st.integers(0, 240))
@settings(deadline=None, max_examples=150)
def test_any_messages_have_a_gist_within_any_limit(said: list[object], limit: int) -> None:
    """Never longer than allowed, the same the second time, and it comes back from the store as it was."""
    talk = Talk()
    for number, what in enumerate(said):
        if isinstance(what, tuple):
            name, arguments = what
            talk.use(str(name), arguments, str(arguments), error=number % 2 == 0)
        else:
            talk.say("user" if number % 3 == 0 else "assistant", str(what))
    made = gist_messages(talk.messages, limit_tokens=limit)
    assert rough_count(made.text) <= limit or not made.text
    assert made == gist_messages(talk.messages, limit_tokens=limit)
    assert decode_gist(encode_gist(made)) == made
    above = summarise([made, made], limit_tokens=limit)
    assert rough_count(above.text) <= limit or not above.text
    assert decode_gist(encode_gist(above)) == above
    assert isinstance(gist_messages(talk.messages, limit_tokens=limit, named=False).text, str)


def test_essentials_told_by_a_text_are_found() -> None:
    """A summary written by other means reports what it lost."""
    talk = Talk()
    talk.say("user", "Never push to main. Let's use uv because it is quick.")
    made = gist_messages(talk.messages)
    assert [e.text for e in told_by("They said: Never push to main. Fine.", made.essentials)] == [
        "Never push to main."
    ]


@pytest.mark.parametrize("body", [b"{}", b"[]", b"no json", b'{"found": 3}'])
def test_damaged_gist_raises_store_corrupt(body: bytes) -> None:
    with pytest.raises(StoreCorrupt):
        decode_gist(body)


def test_summary_has_its_level_and_handle() -> None:
    talk = Talk()
    talk.say("user", "We must ship on Friday.")
    talk.say("assistant", "Understood, Friday it is.")
    kids = [gist_messages(talk.messages[:1]), gist_messages(talk.messages[1:])]
    made = summarise(kids, level=3)
    assert isinstance(made, Summary)
    assert (made.level, made.handle, made.turns, made.messages) == (3, "[bs:1-2]", 1, 2)
    assert summarise([]).text == ""


def test_summary_merges_similar_sentences() -> None:
    """Similar sentences of many turns make one line of the summary."""
    talk = Talk()
    for number in range(12):
        talk.say(
            "assistant", f"The nightly job number {number} finished and the report was sent to the team."
        )
    kids = [gist_messages([m]) for m in talk.messages]
    assert summarise(kids).text.count("nightly job") == 1


def test_letting_go_clears_all_text_caches() -> None:
    """Results stay the same."""
    talk = Talk()
    talk.say("user", "We must ship on Friday, whatever happens.")
    before = gist_messages(talk.messages)
    assert marked_short.cache_info().currsize > 0
    let_go()
    assert (
        marked_short.cache_info().currsize
        == marked_long.cache_info().currsize
        == pieces.cache_info().currsize
        == 0
    )
    assert gist_messages(talk.messages) == before
