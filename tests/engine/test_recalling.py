"""Recall over real stores: scopes, edits, budgets, what is brought in by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import backscroll
from backscroll.engine.engine import Engine
from backscroll.engine.inputs.lessons import list_lessons
from backscroll.engine.search import recall_pool
from backscroll.engine.search.embedding import embed_pending, recipe_of
from backscroll.engine.search.recall import RecallResult, preload, recall_across, recall_for_prompt
from backscroll.engine.search.recall_pool import encoder_for
from backscroll.engine.thread import Thread
from backscroll.errors import InvalidInput
from backscroll.vocab.message import Message
from backscroll.vocab.part import Text, ToolCall, ToolResult

OLD = "2026-10-05T10:00:00+08:00"
LATER = "2026-11-01T10:00:00+08:00"


def words(text: str) -> int:
    """A token for every four characters."""
    return len(text) // 4 + 1


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """A store in a file."""
    with backscroll.open(tmp_path / "a.db", background=False) as opened:
        yield opened


def filled(engine: Engine, project: str = "", turns: int = 12) -> Thread:
    """A thread with two things worth remembering among small talk."""
    thread = engine.create("Harbour", project=project)
    thread.append(
        "user", "The staging server listens on port 8443, the key lives in infra/keys/deploy.pem.", at=OLD
    )
    thread.append("assistant", "Noted.", at=OLD)
    thread.append("user", "我最喜欢的电影是《流浪地球》。", at=OLD)
    thread.append("assistant", "记住了。", at=OLD)
    for number in range(turns):
        thread.append("user", f"Tell me about garden number {number}.", at=LATER)
        thread.append("assistant", f"Garden {number} has tulips, roses and a pond.", at=LATER)
    return thread


def told(found: RecallResult) -> list[str]:
    """The texts that were found, best first."""
    return [item.text for item in found.items]


def test_recall_ranks_the_answer_first(engine: Engine) -> None:
    """By words, in English and Chinese, with a handle, a reason and its time."""
    thread = filled(engine)
    found = thread.recall("Which port does the staging server use?", 300)
    first = found.items[0]
    assert "8443" in first.text
    assert thread.expand(first.handle)[0].id == first.message
    assert (first.role, first.at, first.whole) == ("user", OLD, True)
    assert first.why
    assert first.line in found.text
    assert "流浪地球" in told(thread.recall("我喜欢哪部电影？", 300))[0]


def test_recall_finds_by_meaning(engine: Engine) -> None:
    """Static vectors find what words alone do not."""
    thread = filled(engine)
    thread.insert("user", "My physician told me to avoid peanuts.", after=thread.message(3).id)
    assert "physician" in told(thread.recall("what should I not eat, according to the doctor?", 200))[0]


def test_recall_stays_within_the_budget(engine: Engine) -> None:
    """A budget that is too small gives nothing."""
    thread = filled(engine)
    thread.append("assistant", "\n".join(f"line {n}: port {n} is open on staging" for n in range(2000)))
    for budget in (1, 30, 80, 300, 1000):
        found = thread.recall("which port is open on staging?", budget)
        assert found.tokens <= budget
    assert not all(item.whole for item in thread.recall("which port is open on staging?", 1000).items)


def test_recall_respects_the_limit(engine: Engine) -> None:
    """At most so many."""
    assert len(filled(engine).recall("tell me about the garden with the pond", 2000, limit=2).items) == 2


def test_recall_shows_near_duplicates_once(engine: Engine) -> None:
    """The same words again add nothing."""
    thread = filled(engine)
    for _ in range(5):
        thread.append("user", "The backup runs at 03:40 every night on host marten.")
    found = told(thread.recall("when does the backup run?", 1000))
    assert sum("03:40" in text for text in found) == 1


def test_recall_finds_tool_calls_and_results(engine: Engine) -> None:
    """By the arguments of a call and the text of its result."""
    thread = filled(engine)
    thread.append(
        "assistant", [Text("Let me look."), ToolCall("c1", "read_file", {"path": "src/tide_table.py"})]
    )
    thread.append("tool", ToolResult("c1", (Text("def high_water(): return '06:12'"),), name="read_file"))
    filled_more = "\n".join(told(thread.recall("what does high_water in tide_table.py return?", 400)))
    assert "06:12" in filled_more


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"query": "  "}, "empty"),
        ({"query": "x", "budget": 0}, "budget"),
        ({"query": "x", "budget": -5}, "budget"),
        ({"query": "x", "limit": 0}, "recall"),
        ({"query": "x", "scope": "world"}, "scope"),
    ],
)
def test_invalid_recall_arguments_are_refused(
    engine: Engine, arguments: dict[str, object], said: str
) -> None:
    """With a hint, and nothing changed."""
    thread = filled(engine, turns=1)
    with pytest.raises(InvalidInput, match=said) as error:
        thread.recall(**arguments)  # type: ignore[arg-type]
    assert error.value.hint


def test_recall_handles_empty_questions_and_threads(engine: Engine) -> None:
    """Any question to any thread works without an error."""
    assert engine.create("empty").recall("anything?", 100).items == ()
    thread = filled(engine, turns=1)
    for query in ("?!", "\ud800", "的", "\x00\x01", "🙂" * 50, "a" * 30_000):
        assert thread.recall(query, 100).tokens <= 100


# -- what must not appear ----------------------------------------------------------------------------------------


def test_recall_never_shows_words_that_are_not_live(engine: Engine) -> None:
    """Deleted, hidden, edited and forgotten text; restoring makes it available again."""
    thread = filled(engine)
    question, port = "which port does the staging server use?", thread.message(0)
    assert "8443" in thread.recall(question, 500).text
    thread.delete(port.id)
    assert "8443" not in thread.recall(question, 500).text
    thread.restore(port.id)
    thread.hide(port.id)
    assert "8443" not in thread.recall(question, 500).text
    thread.unhide(port.id)
    assert "8443" in thread.recall(question, 500).text
    thread.edit(port.id, "The staging server listens on port 9000.")
    assert "8443" not in thread.recall(question, 500).text
    assert "9000" in thread.recall(question, 500).text
    thread.forget(port.id)
    assert "9000" not in thread.recall(question, 500).text


def test_recall_finds_cropped_messages(engine: Engine) -> None:
    """They left the prompt, not the history: this is what recall is for."""
    thread = filled(engine)
    thread.crop("top", 4, "Settings and a film.")
    assert "8443" in thread.recall("which port does the staging server use?", 500).text


def test_recall_after_a_crop_adds_a_lesson(engine: Engine) -> None:
    """Before the first crop or compaction there is none."""
    thread = filled(engine)
    thread.recall("which port does the staging server use?", 500)
    assert list_lessons(engine) == []
    thread.crop("top", 4, "Settings and a film.")
    thread.recall("which port does the staging server use?", 500)
    assert list_lessons(engine)


# -- scopes ------------------------------------------------------------------------------------------------------


def test_recall_scopes(engine: Engine) -> None:
    """A thread sees itself, a project its own threads, all sees all; a thread of no project has only itself."""
    one = filled(engine, "harbour")
    other = engine.create("Notes", project="harbour")
    other.append("user", "The backup host is called marten.")
    strange = engine.create("Else", project="elsewhere")
    strange.append("user", "The backup host is called weasel.")
    alone = engine.create("Alone")
    alone.append("user", "Nothing about hosts here, only tea.")
    question = "what is the backup host called?"
    assert "marten" not in one.recall(question, 500).text
    within = one.recall(question, 500, scope="project")
    assert "marten" in within.text
    assert "weasel" not in within.text
    everything = one.recall(question, 500, scope="all").text
    assert "marten" in everything
    assert "weasel" in everything
    assert "marten" not in alone.recall(question, 500, scope="project").text
    named = recall_across(engine, question, 500, project="elsewhere")
    assert "weasel" in named.text
    assert "marten" not in named.text


def test_recalled_handles_of_other_threads_can_be_expanded(engine: Engine) -> None:
    """They carry their thread."""
    thread = filled(engine)
    other = engine.create("Other")
    other.append("user", "hello")
    found = other.recall("which port does the staging server use?", 500, scope="all")
    assert "8443" in other.expand(found.items[0].handle)[0].text
    assert found.items[0].thread == thread.id


def test_recall_across_forks_gives_no_duplicates(engine: Engine) -> None:
    """What two forks share is found once; what one of them changed is found as it reads there."""
    thread = filled(engine)
    fork = thread.fork()
    found = recall_across(engine, "which port does the staging server use?", 800)
    assert sum("8443" in text for text in told(found)) == 1
    fork.edit(thread.message(0).id, "The staging server listens on port 7001.")
    inside = fork.recall("which port does the staging server use?", 500).text
    assert "7001" in inside
    assert "8443" not in inside
    assert "8443" in thread.recall("which port does the staging server use?", 500).text


# -- long threads ------------------------------------------------------------------------------------------------


def test_recall_in_long_threads_uses_the_index(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers are the same, marked as not exact; removed text does not appear there either."""
    thread = filled(engine, turns=60)
    monkeypatch.setattr(recall_pool, "EXACT", 10)
    monkeypatch.setattr(recall_pool, "LARGEST", 10)
    found = thread.recall("Which port does the staging server use?", 300)
    assert not found.exact
    assert "8443" in found.items[0].text
    assert "流浪地球" in thread.recall("我喜欢哪部电影？", 300).text
    assert "8443" in thread.recall("deploy.pem", 300).text
    thread.delete(thread.message(0).id)
    assert "8443" not in thread.recall("Which port does the staging server use?", 300).text


# -- by itself ---------------------------------------------------------------------------------------------------


def test_prompt_recalls_if_the_newest_message_asks(engine: Engine) -> None:
    """Text already in the prompt is left out; small talk recalls nothing."""
    thread = filled(engine)
    newest = thread.append("user", "What was the port of the staging server again?")
    shown = {message.revision for message in thread.recent(4)}
    found = recall_for_prompt(thread, newest, 300, words, exclude=shown)
    assert found is not None
    assert "8443" in found.text
    assert words(found.text) <= 300
    assert shown.isdisjoint(found.sources)
    everything = {message.revision for message in thread}
    assert recall_for_prompt(thread, newest, 300, words, exclude=everything) is None
    thanks = thread.append("user", "Thanks, great!")
    assert recall_for_prompt(thread, thanks, 300, words, exclude=shown) is None


def test_prompt_recalls_nothing_without_a_match(engine: Engine) -> None:
    """A question about something that was never said."""
    thread = filled(engine)
    newest = thread.append("user", "What did you say about quantum chromodynamics?")
    shown = {message.revision for message in thread.recent(4)}
    found = recall_for_prompt(thread, newest, 300, words, exclude=shown)
    assert found is None or "8443" not in found.text


def test_preload_prepares_vectors_and_index(engine: Engine) -> None:
    """Before the first question is asked."""
    thread = filled(engine)
    asked = max(n for n, message in enumerate(thread) if message.role == "user")
    assert preload(thread) == asked
    encoder = encoder_for(engine)
    assert encoder is not None
    done = engine.store.read(lambda reader: reader.progress(thread.id, recipe_of(encoder.name)))
    assert done == thread.head


# -- vectors -----------------------------------------------------------------------------------------------------


def test_every_revision_gets_one_vector(engine: Engine) -> None:
    """Every revision gets one, once; a second run has nothing to do."""
    thread = filled(engine, turns=2)
    assert embed_pending(engine, thread.id, 3) == 3
    assert embed_pending(engine, thread.id) == thread.head - 3
    assert embed_pending(engine, thread.id) == 0
    encoder = encoder_for(engine)
    assert encoder is not None
    revisions = [message.revision for message in thread]
    held = engine.store.read(lambda reader: reader.vectors(revisions, encoder.name))
    assert set(held) == set(revisions)
    assert {len(vector) for vector in held.values()} == {2 * encoder.dim}
    thread.edit(thread.message(0).id, "Something else entirely.")
    assert embed_pending(engine, thread.id) == 1


def test_recall_works_without_an_encoder(tmp_path: Path) -> None:
    """With the setting `none`, or if the package is missing, recall uses words."""
    with backscroll.open(tmp_path / "b.db", background=False, encoder="none") as engine:
        thread = filled(engine)
        assert "8443" in told(thread.recall("Which port does the staging server use?", 300))[0]
        assert "流浪地球" in told(thread.recall("我喜欢哪部电影？", 300))[0]
        assert embed_pending(engine, thread.id) == 0


# -- after any edits, the same as anew ---------------------------------------------------------------------------

SAID = [
    "The port is 8443.",
    "端口是八千四百四十三。",
    "Roses are red.",
    "我喜欢喝茶。",
    "The key is in infra/keys.",
    "ok",
    "",
]
QUESTIONS = ("which port?", "我喜欢喝什么？", "where is the key?")
STROKES: dict[str, Callable[[Thread, int, str], object]] = {
    "append": lambda thread, _, text: thread.append("user", text or "…"),
    "edit": lambda thread, n, text: thread.edit(thread.message(n).id, text or "…"),
    "delete": lambda thread, n, _: thread.delete(thread.message(n).id),
    "hide": lambda thread, n, _: thread.hide(thread.message(n).id),
    "regenerate": lambda thread, n, text: thread.regenerate(thread.message(n).id, text or "…"),
    "move": lambda thread, n, _: thread.move(thread.message(n).id, after=None),
    "insert": lambda thread, n, text: thread.insert("assistant", text or "…", after=thread.message(n).id),
    "undo": lambda thread, _, __: thread.undo(),
    "forget": lambda thread, n, _: thread.forget(thread.message(n).id),
}


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    strokes=st.lists(
        st.tuples(st.sampled_from(sorted(STROKES)), st.integers(0, 5), st.sampled_from(SAID), st.booleans()),
        max_size=12,
    ),
    long=st.booleans(),
)
def test_after_any_edits_recall_is_as_if_made_anew(
    tmp_path_factory: pytest.TempPathFactory, strokes: list[tuple[str, int, str, bool]], long: bool
) -> None:
    """What grew step by step gives what a fresh start gives, and only words that are live and not hidden."""
    path = tmp_path_factory.mktemp("recall") / "a.db"
    with pytest.MonkeyPatch.context() as patch, backscroll.open(path, background=False) as engine:
        if long:
            patch.setattr(recall_pool, "EXACT", 0)
            patch.setattr(recall_pool, "LARGEST", 0)
        thread = engine.create("x")
        for text in SAID[:4]:
            thread.append("user", text)
        for name, number, text, ask in strokes:
            try:
                STROKES[name](thread, number, text)
            except backscroll.BackscrollError:
                continue
            if ask:
                thread.recall(QUESTIONS[0], 400)
        grown = [thread.recall(question, 400) for question in QUESTIONS]
        engine.memo.clear()
        assert [thread.recall(question, 400) for question in QUESTIONS] == grown
        live = {message.revision for message in thread if not message.hidden}
        assert {item.revision for found in grown for item in found.items} <= live


def test_recall_index_grows_with_the_thread(engine: Engine) -> None:
    """An append extends the cached index."""
    thread = filled(engine)
    thread.recall("port?", 100)
    shelf = engine.memo.shelf("recall-index")
    (held,) = [shelf[name] for name in shelf]
    thread.append("user", "The port of production is 443.")
    assert "443" in thread.recall("which port does production use?", 100).text
    assert [shelf[name] for name in shelf] == [held]
    assert held.heads == {thread.id: thread.head}
    assert recall_pool.EXACT >= 1000


def test_recall_on_postgresql(prepared_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a whole, through the index, across threads, with vectors."""
    with backscroll.open(prepared_url, background=False) as engine:
        thread = filled(engine)
        assert "8443" in told(thread.recall("Which port does the staging server use?", 300))[0]
        assert embed_pending(engine, thread.id) == thread.head
        assert "8443" in recall_across(engine, "Which port does the staging server use?", 300).text
        monkeypatch.setattr(recall_pool, "EXACT", 0)
        monkeypatch.setattr(recall_pool, "LARGEST", 0)
        assert "8443" in thread.recall("the key in infra/keys/deploy.pem", 300).text
        assert "流浪地球" in thread.recall("我喜欢哪部电影？", 300).text
        thread.delete(thread.message(0).id)
        assert "8443" not in thread.recall("Which port does the staging server use?", 300).text


@pytest.mark.parametrize(
    ("question", "line", "noise"),
    [
        ("数据库的端口是多少？", "database listens on port 15433", "nothing to see in report {n}"),
        ("Which port does the database use?", "数据库监听端口 15433", "第 {n} 份报告没有内容"),
    ],
)
def test_recall_searches_the_index_in_both_languages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: str, line: str, noise: str
) -> None:
    """Long threads are searched through the store, in both languages and by words alone."""
    monkeypatch.setattr(recall_pool, "EXACT", 100)
    monkeypatch.setattr(recall_pool, "LARGEST", 100)
    with backscroll.open(tmp_path / "long.db", background=False, encoder="none") as engine:
        thread = engine.create("long")
        for n in range(1_400):
            if n == 680:  # between the places that are looked at for comparison
                thread.append("assistant", ToolCall("c", "read", {"path": "db.cfg"}))
                thread.append("tool", ToolResult("c", (Text(line),)))
            thread.append("assistant" if n % 2 else "user", noise.format(n=n))
        found = thread.recall(question, 300)
        assert not found.exact
        assert "15433" in told(found)[0]


ACTS = ("say", "reply", "read", "edit", "delete", "hide", "insert", "prompt", "ask")
QUESTIONS = ("Which port does the gateway use?", "网关的端口是多少？", "what about the fox and the contract?")
WORDS = ("gateway", "port", "18443", "fox", "contract", "端口", "网关", "合同", "garden")


def found_by(thread: Thread, number: int) -> list[tuple[str, str, float]]:
    """What one of the questions finds: revisions, excerpts, scores."""
    items = thread.recall(QUESTIONS[number % 3], 200).items
    return [(str(i.revision), i.text, i.score) for i in items]


def do(thread: Thread, act: str, number: int) -> None:
    """Say something, or change something that was said."""
    text = " ".join(WORDS[(number >> n) % len(WORDS)] for n in range(6))
    alive = list(thread)
    message = alive[number % len(alive)] if alive else None
    if act in ("say", "reply"):
        thread.append("user" if act == "say" else "assistant", text, at=LATER)
    elif act == "read":
        thread.append("assistant", ToolCall(f"c{number}", "read", {"path": text}), at=LATER)
        body = "\n".join([*(f"line {n}" for n in range(number % 40)), text])
        thread.append("tool", ToolResult(f"c{number}", (Text(body),)), at=LATER)
    elif act == "prompt":
        thread.prompt(2_000)
    elif message is not None:
        change(thread, act, message, text)


def change(thread: Thread, act: str, message: Message, text: str) -> None:
    """Change something that was said."""
    if act == "edit" and message.role != "tool":
        thread.edit(message.id, f"{text}!")
    elif act == "delete":
        thread.delete(message.id)
    elif act == "hide":
        thread.hide(message.id)
    elif act == "insert" and message.role == "user":
        thread.insert("user", text, after=message.id)


@given(st.permutations(ACTS * 2), st.lists(st.integers(0, 10**6), min_size=18, max_size=18))
@settings(max_examples=10, deadline=None)
def test_recall_follows_from_the_log(
    tmp_path_factory: pytest.TempPathFactory, acts: list[str], numbers: list[int]
) -> None:
    """Whatever was done and asked before: with everything in memory and with nothing the same is found."""
    path = tmp_path_factory.mktemp("recall") / "store.db"
    with backscroll.open(path, background=False) as engine:
        thread = engine.create("t")
        thread.append("user", "The gateway uses port 18443.", at=OLD)
        do(thread, "read", 31)
        for act, number in zip(("ask", *acts), (0, *numbers), strict=True):
            if act == "ask":
                assert_found_without_memory(thread, number)
            else:
                do(thread, act, number)
        for number in range(3):
            assert_found_without_memory(thread, number)


def assert_found_without_memory(thread: Thread, number: int) -> None:
    """What was read before may only save time."""
    found = found_by(thread, number)
    thread.engine.memo.clear()
    assert found_by(thread, number) == found
