"""Journeys of a reader: overview, lists, conversations, search, log, earlier versions."""

from __future__ import annotations

import pytest

from tests.journeys.conftest import Cli


def thread_of(cli: Cli, kind: str) -> str:
    return cli.ok("threads", "--kind", kind, "--json").json[0]["id"]


def test_first_call_says_how_to_begin(cli: Cli) -> None:
    """`backscroll` alone names the next step and creates no store."""
    for done in (cli.ok(), cli.ok("threads")):
        assert "backscroll demo" in done.out
        assert "backscroll import" in done.out
    assert not cli.store.exists()
    assert cli.ok("--json").json == {"store": str(cli.store), "exists": False}


def test_overview_lists_the_newest_threads(stocked: Cli) -> None:
    """With something in the store, the newest threads are shown."""
    shown = stocked.ok().out
    assert "roleplay-zh" in shown
    assert "backscroll show last" in shown
    assert "夜" not in shown


def test_threads_can_be_filtered(stocked: Cli) -> None:
    """By project, kind and tag, and limited in number."""
    assert len(stocked.ok("threads", "--json").json) == 2
    assert [i["kind"] for i in stocked.ok("threads", "--kind", "roleplay", "--json").json] == ["roleplay"]
    assert [i["project"] for i in stocked.ok("threads", "--project", "阿橘", "--json").json] == ["阿橘"]
    stocked.ok("tag", thread_of(stocked, "agent"), "tides", "#work")
    tagged = stocked.ok("threads", "--tag", "tides", "--tag", "work", "--json").json
    assert [i["tags"] for i in tagged] == [["tides", "work"]]
    assert stocked.ok("threads", "--tag", "tides", "--tag", "play").out.strip() == "No matching threads."
    one = stocked.ok("threads", "-n", "1")
    assert len(one.out.splitlines()) == 2
    assert "-n 0" in one.err


def test_show_prints_a_conversation(stocked: Cli) -> None:
    """Messages have numbers, roles, authors, times, flags and ids; tool calls take one line."""
    shown = stocked.ok("show", thread_of(stocked, "roleplay")).out
    assert "#3   assistant  阿橘 · 2026-10-21" in shown
    assert "answer 3/3" in shown
    assert "hidden" in shown
    agent = stocked.ok("show", thread_of(stocked, "agent"), "--range", "2:5").out
    assert "→ Bash  python -m pytest tests/test_table.py -q" in agent
    assert "← Bash failed:" in agent
    assert "AssertionError" not in agent
    assert "#1 " not in agent
    assert "#6 " not in agent
    full = stocked.ok("show", thread_of(stocked, "agent"), "--range", "2:5", "--full").out
    assert "AssertionError" in full


def test_show_as_json(stocked: Cli) -> None:
    """One document per line, with stable keys and the original text."""
    messages = stocked.ok("show", thread_of(stocked, "roleplay"), "--json").json
    assert [m["number"] for m in messages] == list(range(1, 15))
    third = messages[2]
    assert (third["role"], third["author"], third["alternative"], third["alternatives"]) == (
        "assistant",
        "阿橘",
        3,
        3,
    )
    assert third["text"].startswith("*阿橘慢吞吞地")
    assert [m["hidden"] for m in messages].count(True) == 1
    assert [m["number"] for m in stocked.ok("show", "last", "--recent", "2", "--json").json] == [27, 28]


def test_show_groups_by_turn(stocked: Cli) -> None:
    """What comes before the first user message is turn 0."""
    name = thread_of(stocked, "roleplay")
    turns = stocked.ok("show", name, "--turns", "--json").json
    assert [t["turn"] for t in turns][:3] == [0, 1, 2]
    assert sum(len(t["messages"]) for t in turns) == 14
    assert [m["number"] for t in turns for m in t["messages"]] == list(range(1, 15))
    last = stocked.ok("show", name, "--turns", "--recent", "2", "--json").json
    assert [t["turn"] for t in last] == [turns[-2]["turn"], turns[-1]["turn"]]
    assert [m["number"] for t in last for m in t["messages"]][-1] == 14
    shown = stocked.ok("show", name, "--turns", "--range", "1:2").out
    assert "Turn 1" in shown
    assert "Turn 2" in shown
    assert "Turn 3" not in shown


def test_show_at_an_earlier_event(cli: Cli) -> None:
    """Any earlier moment of a thread can be read again."""
    name = cli.conversation("first words", "an answer")
    moment = cli.ok("log", name, "-n", "1", "--json").json[0]["event"]
    cli.ok("edit", name, "1", "other words")
    cli.ok("delete", name, "2")
    assert [m["text"] for m in cli.ok("show", name, "--json").json] == ["other words"]
    then = cli.ok("show", name, "--as-of", str(moment), "--json").json
    assert [m["text"] for m in then] == ["first words", "an answer"]
    assert "as of event" in cli.ok("show", name, "--as-of", str(moment)).out


def test_deleted_messages_keep_their_place(cli: Cli) -> None:
    """`--deleted` shows them without a number, between their neighbours."""
    name = cli.conversation("one", "two", "three")
    cli.ok("delete", name, "2")
    messages = cli.ok("show", name, "--deleted", "--json").json
    assert [(m["number"], m["text"]) for m in messages] == [(1, "one"), (None, "two"), (2, "three")]
    assert "deleted" in cli.ok("show", name, "--deleted").out


def test_search_works_in_both_languages(stocked: Cli) -> None:
    """Word forms of English and Chinese words are found, marked, and given with ids to open."""
    english = stocked.ok("search", "midnights", "--json").json
    assert english["hits"]
    assert not english["relaxed"]
    chinese = stocked.ok("search", "柿子树", "--json").json["hits"]
    first = chinese[0]
    marked = [first["snippet"][a:b] for a, b in first["matches"]]
    assert "柿子树" in marked
    opened = stocked.ok("show", first["thread"], "--range", str(first["number"]), "--json").json
    assert "柿子树" in opened[0]["text"]
    assert "[柿子树]" in stocked.ok("search", "柿子树").out


def test_search_filters(stocked: Cli) -> None:
    """By thread, role, project, tool and time."""
    agent = thread_of(stocked, "agent")
    hits = stocked.ok("search", "tideclock", "--tool", "Edit", "--json").json["hits"]
    assert hits
    assert {h["thread"] for h in hits} == {agent}
    roles = stocked.ok("search", "table", "--role", "user", "--json").json["hits"]
    assert {h["role"] for h in roles} == {"user"}
    assert (
        stocked.ok("search", "midnight", "--thread", thread_of(stocked, "roleplay"), "--json").json["hits"]
        == []
    )
    assert stocked.ok("search", "柿子", "--until", "2026-10-20", "--json").json["hits"] == []
    assert stocked.ok("search", "柿子", "--since", "2026-10-21", "--until", "2026-10-21", "--json").json[
        "hits"
    ]
    assert stocked.ok("search", "柿子", "--project", "阿橘", "--kind", "roleplay", "-n", "1", "--json").json[
        "hits"
    ]


def test_search_reports_relaxed_matching(stocked: Cli) -> None:
    """If no message has all words, those with some are shown, and this is said."""
    done = stocked.ok("search", "midnight", "kangaroo")
    assert "partial matches" in done.err
    assert stocked.ok("search", "midnight", "kangaroo", "--json").json["relaxed"]
    assert "No results" in stocked.ok("search", "kangaroo").out


def test_log_lists_every_event(cli: Cli) -> None:
    """The newest first."""
    name = cli.conversation("hello", "hi")
    cli.ok("edit", name, "1", "good morning")
    kinds = [e["kind"] for e in cli.ok("log", name, "--json").json]
    assert kinds == ["edited", "appended", "appended", "created"]
    assert [e["kind"] for e in cli.ok("log", name, "--oldest-first", "--json").json] == kinds[::-1]
    printed = cli.ok("log", name, "-n", "1")
    assert "good morning" in printed.out
    assert "3 more events" in printed.err


def test_last_is_the_newest_thread(stocked: Cli) -> None:
    """`last` is the most recently changed thread."""
    agent = thread_of(stocked, "agent")
    stocked.ok("append", agent, "user", "one more thing")
    assert "one more thing" in stocked.ok("show", "last", "--recent", "1").out


def test_control_sequences_never_reach_the_terminal(cli: Cli) -> None:
    """In text, titles and names they are shown, not executed, in every list."""
    attack = "\x1b]0;owned\x07\x1b[2J\x9b31m"
    name = cli.ok("new", f"title {attack}").out.strip()
    cli.ok("append", name, "user", "-", "--author", f"ann{attack}", text=f"findme {attack} rest")
    for arguments in (
        ("show", name),
        ("threads",),
        ("search", "findme"),
        ("log", name),
        ("revisions", name, "1"),
        (),
    ):
        for done in (cli.ok(*arguments), cli.ok(*arguments, "--json")):
            assert not {"\x1b", "\x07", "\x9b"} & set(done.out + done.err), arguments
    assert cli.ok("show", name, "--json").json[0]["text"] == f"findme {attack} rest"


@pytest.mark.parametrize(
    ("language", "words"), [("en", ("messages", "user", "assistant")), ("zh", ("条消息", "用户", "助手"))]
)
def test_language_can_be_chosen(stocked: Cli, language: str, words: tuple[str, ...]) -> None:
    """By option, variable, settings file or locale."""
    option = stocked.ok("show", "last", "--lang", language).out
    assert all(word in option for word in words)
    variable = stocked.ok("show", "last", BACKSCROLL_LANGUAGE=language).out
    locale = stocked.ok("show", "last", LC_ALL={"en": "en_US.UTF-8", "zh": "zh_CN.UTF-8"}[language]).out
    stocked.ok("config", "set", "language", language)
    file = stocked.ok("show", "last").out
    assert option == variable == locale == file
