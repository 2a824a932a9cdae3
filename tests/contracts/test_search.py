"""Search: what is found, by which words and filters, and how the index follows whatever happens to the history."""

from __future__ import annotations

import pytest

import backscroll
from backscroll import Content, Opaque, Reasoning, Text, ToolCall, ToolResult
from tests.contracts.talk import say


def found(engine: backscroll.Engine, text: str, **filters: object) -> list[str]:
    """The words of the messages that are found, in alphabetical order."""
    hits = engine.search(text, limit=1000, **filters).hits  # pyright: ignore[reportArgumentType]
    return sorted(engine.thread(hit.thread).message(hit.message).text for hit in hits)


def test_english_is_found_by_stem(thread: backscroll.Thread) -> None:
    """Any form of an English word finds the others, ignoring case and punctuation."""
    say(thread, "u The cats were RUNNING, quickly!", "a A cat runs.", "u Dogs sleep")
    for query in ("cat", "cats", "CAT", "running", "runs", "run cat", "ran OR run"):
        assert found(thread.engine, query) == ["A cat runs.", "The cats were RUNNING, quickly!"]
    assert found(thread.engine, "dog") == ["Dogs sleep"]
    assert found(thread.engine, "elephant") == []
    assert found(thread.engine, '"cat runs"') == ["A cat runs."]
    assert found(thread.engine, "cat -quickly") == ["A cat runs."]
    assert found(thread.engine, "quick*") == ["The cats were RUNNING, quickly!"]


def test_chinese_is_found_by_two_adjacent_characters(thread: backscroll.Thread) -> None:
    """The same two characters apart are not a match."""
    say(thread, "u 今天天气很好，我们去公园散步吧。", "a 公司的花园很漂亮", "u 天很蓝，气温很高")
    assert found(thread.engine, "天气") == ["今天天气很好，我们去公园散步吧。"]
    assert found(thread.engine, "公园") == ["今天天气很好，我们去公园散步吧。"]
    assert found(thread.engine, "花园") == ["公司的花园很漂亮"]
    assert found(thread.engine, "去公园散步") == ["今天天气很好，我们去公园散步吧。"]
    assert len(found(thread.engine, "很")) == 3
    assert len(found(thread.engine, "天")) == 2


def test_search_in_mixed_and_other_scripts(thread: backscroll.Thread) -> None:
    """Languages may be mixed in one text; accents, widths and identifiers do not get in the way."""
    say(thread, "u 用Python写getUserName函数", "a Café naïve", "u ＡＢＣ１２３", "u なつやすみ Straße Ελλάδα")
    for query in ("python", "函数", "getusername", "user_name", "写 python"):
        assert found(thread.engine, query) == ["用Python写getUserName函数"]
    assert found(thread.engine, "cafe") == found(thread.engine, "naïve") == ["Café naïve"]
    assert found(thread.engine, "abc123") == ["ＡＢＣ１２３"]
    assert found(thread.engine, "夏休み") == []
    for query in ("やすみ", "strasse", "ελλαδα"):
        assert found(thread.engine, query) == ["なつやすみ Straße Ελλάδα"]


def test_search_covers_every_part_with_words(thread: backscroll.Thread) -> None:
    """Text, reasoning, authors, tool names, arguments and results are found; opaque parts are not read."""
    engine = thread.engine
    content = Content(
        (
            Text("alpha"),
            Reasoning("bravo"),
            ToolCall("id1", "charlie_tool", {"path": ["delta/文件.txt", 17], "flag": True}),
            ToolResult("id1", (Text("echo"), Opaque("v", "k", "foxtrot"))),
            Opaque("v", "k", "golf"),
        ),
        author="Hotel",
    )
    message = thread.append("assistant", content)
    for word in ("alpha", "bravo", "charlie", "charlie_tool", "delta", "文件", "path", "echo", "hotel", "17"):
        assert [h.message for h in engine.search(word).hits] == [message.id], word
    for word in ("foxtrot", "golf"):
        assert engine.search(word).hits == []


def test_search_filters(store: backscroll.Engine) -> None:
    """A search can be narrowed to a thread, project, kind, roles, time and tool, alone and together."""
    one = store.create("one", project="p", kind="agent")
    two = store.create("two", project="q")
    one.append("user", "harbour one", at="2024-01-01T00:00:00+00:00")
    one.append("assistant", "harbour two", at="2024-06-01T00:00:00+08:00")
    one.append(
        "assistant", [Text("harbour three"), ToolCall("c", "read_file", {})], at="2025-01-01T00:00:00Z"
    )
    one.append("tool", ToolResult("c", (Text("harbour four"),), name="grep"), at="2025-02-01T00:00:00Z")
    two.append("user", "harbour five", at="2025-03-01T00:00:00Z")

    def numbers(**filters: object) -> list[str]:
        hits = store.search("harbour", limit=100, **filters).hits  # pyright: ignore[reportArgumentType]
        return sorted(hit.snippet.replace("\x02", "").replace("\x03", "").split()[1] for hit in hits)

    assert numbers() == ["five", "four", "one", "three", "two"]
    assert numbers(thread=two.id[:8]) == ["five"]
    assert numbers(project="p") == ["four", "one", "three", "two"]
    assert numbers(project="nowhere") == numbers(project="\ud800") == []
    assert numbers(kind="agent", roles=["assistant"]) == ["three", "two"]
    assert numbers(roles=["user", "tool"]) == ["five", "four", "one"]
    assert numbers(since="2024-06-01") == ["five", "four", "three"]
    assert numbers(since="2024-05-31T16:00:00Z", until="2025-02-01T00:00:00Z") == ["three", "two"]
    assert numbers(tool="read_file") == ["three"]
    assert numbers(tool="grep", roles=["tool"], project="p", until="2026-01-01") == ["four"]
    assert numbers(tool="read") == numbers(tool="\0") == []
    with pytest.raises(backscroll.InvalidInput):
        numbers(roles=["robot"])
    with pytest.raises(backscroll.InvalidInput):
        numbers(since="soon")
    with pytest.raises(backscroll.NotFound):
        numbers(thread="0" * 32)


@pytest.mark.parametrize("query", ["", " ", "-", "!!!", "-word", '""', "\0", "\ud800"])
def test_query_without_a_word_is_refused(thread: backscroll.Thread, query: str) -> None:
    """The error says what to type instead."""
    say(thread, "u or word")
    with pytest.raises(backscroll.InvalidInput) as refused:
        thread.engine.search(query)
    assert refused.value.hint


@pytest.mark.parametrize(
    "query",
    [
        'a" OR "b',
        "NEAR(a b)",
        "text:a",
        "a AND (b",
        "a*b",
        "'; DROP TABLE words;--",
        "a & !b | c:*",
        "a%_",
        "a\\",
    ],
)
def test_no_query_is_a_syntax_error(thread: backscroll.Thread, query: str) -> None:
    """Input is always words, never query syntax of the database."""
    say(thread, "u a b c")
    thread.engine.search(query)
    assert found(thread.engine, "b") == ["a b c"]


def test_search_is_relaxed_only_if_no_message_has_all_words(thread: backscroll.Thread) -> None:
    """If no message has all words, messages with some are returned, marked as relaxed."""
    say(thread, "u red apple", "u green apple", "u red car")
    engine = thread.engine
    exact = engine.search("red apple")
    assert (len(exact.hits), exact.relaxed) == (1, False)
    loose = engine.search("green car")
    assert (len(loose.hits), loose.relaxed) == (2, True)
    assert engine.search("blue").relaxed is False


def test_hits_name_their_message_and_mark_the_match(thread: backscroll.Thread) -> None:
    """A hit names thread, title, message, revision, role and time, and its snippet marks the match."""
    message = thread.append(
        "assistant", "Far away a lantern burns", author="Ann", at="2024-01-01T00:00:00+00:00"
    )
    (hit,) = thread.engine.search("lanterns").hits
    assert (hit.thread, hit.title, hit.message, hit.revision) == (
        thread.id,
        "Night train",
        message.id,
        message.revision,
    )
    assert (hit.role, hit.at) == ("assistant", "2024-01-01T00:00:00+00:00")
    assert "\x02lantern\x03" in hit.snippet
    assert hit.score > 0


def test_search_ranks_hits_and_respects_the_limit(thread: backscroll.Thread) -> None:
    """A short message that is all about the word comes before a long one that mentions it."""
    say(thread, "u " + "filler " * 200 + "compass", "u compass compass", "u the compass of a ship")
    hits = thread.engine.search("compass", limit=2).hits
    assert hits[0].message.seq == 3
    assert len(hits) == 2
    assert hits[0].score >= hits[1].score
    assert thread.engine.search("compass", limit=0).hits == []
    assert len(thread.engine.search("compass", limit=10**12).hits) == 3


def test_the_index_follows_edits_deletes_and_undo(thread: backscroll.Thread) -> None:
    """Only live text is found, after every operation that changes it."""
    engine = thread.engine
    (message,) = say(thread, "u original")
    thread.edit(message.id, "edited")
    assert (found(engine, "original"), found(engine, "edited")) == ([], ["edited"])
    thread.regenerate(message.id, "swiped")
    thread.regenerate(message.id, "aside", live=False)
    assert [found(engine, w) for w in ("original", "edited", "swiped", "aside")] == [[], [], ["swiped"], []]
    thread.choose(message.id, 2)
    assert [found(engine, w) for w in ("swiped", "aside")] == [[], ["aside"]]
    thread.delete(message.id)
    assert found(engine, "aside") == []
    thread.restore(message.id)
    assert found(engine, "aside") == ["aside"]
    thread.undo()
    assert found(engine, "aside") == []
    for _ in range(4):
        thread.undo()
    assert [found(engine, w) for w in ("edited", "swiped", "aside")] == [["edited"], [], []]
    thread.undo()
    assert [found(engine, w) for w in ("original", "edited")] == [["original"], []]
    thread.hide(message.id)
    assert found(engine, "original") == ["original"]


def test_index_stays_correct_after_delete_and_undo(thread: backscroll.Thread) -> None:
    """After the newest words left the index, new words come in, and the old ones return: each message finds its own."""
    engine = thread.engine
    (first,) = say(thread, "u first")
    thread.delete(first.id)
    (second,) = say(thread, "u second")
    assert found(engine, "second") == ["second"]
    thread.restore(first.id)
    assert (found(engine, "first"), found(engine, "second")) == (["first"], ["second"])
    thread.delete(first.id)
    assert (found(engine, "first"), found(engine, "second")) == ([], ["second"])
    thread.forget(first.id)
    assert found(engine, "second") == ["second"]
    thread.edit(second.id, "third")
    assert (found(engine, "second"), found(engine, "third")) == ([], ["third"])


def test_revision_edited_in_the_parent_is_found_in_the_fork(thread: backscroll.Thread) -> None:
    """A revision stays in the index while any thread shows it."""
    engine = thread.engine
    message, gone = say(thread, "u shared words", "u fading")
    fork = thread.fork(title="fork")
    thread.edit(message.id, "new words")
    thread.delete(gone.id)
    assert [h.thread for h in engine.search("shared").hits] == [fork.id]
    assert [h.thread for h in engine.search("fading").hits] == [fork.id]
    assert engine.search("shared", thread=thread.id).hits == []
    assert [h.message for h in engine.search("shared", thread=fork.id).hits] == [message.id]
    assert [h.thread for h in engine.search("new").hits] == [thread.id]
    fork.delete(message.id, gone.id)
    assert engine.search("shared").hits == engine.search("fading").hits == []
    fork.undo()
    assert [h.thread for h in engine.search("fading").hits] == [fork.id]
    thread.restore(gone.id)
    assert [h.thread for h in engine.search("fading").hits] == [thread.id]
    assert {h.message for h in engine.search("fading", thread=fork.id).hits} == {gone.id}


def test_search_of_a_fork_covers_its_ancestors(thread: backscroll.Thread) -> None:
    """Searching a fork of a fork finds what its ancestors said before, and nothing that they said after."""
    say(thread, "u grandparent")
    child = thread.fork()
    say(child, "u parent")
    grandchild = child.fork()
    say(grandchild, "u child")
    say(thread, "u grandparent later")
    say(child, "u parent later")
    for word in ("grandparent", "parent", "child"):
        hits = thread.engine.search(word, thread=grandchild.id).hits
        assert [(h.thread, h.message) for h in hits] == [
            (grandchild.id, next(m.id for m in grandchild if m.text == word))
        ]
    assert thread.engine.search("later", thread=grandchild.id).hits == []
    assert len(thread.engine.search("later").hits) == 2


def test_forgotten_words_are_not_found(thread: backscroll.Thread) -> None:
    """In no fork."""
    message, _ = say(thread, "u confidential", "u public")
    fork = thread.fork()
    fork.edit(message.id, "confidential too")
    thread.forget(message.id)
    assert thread.engine.search("confidential").hits == []
    assert found(thread.engine, "public") == ["public"]
