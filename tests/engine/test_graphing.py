"""The graph as a thread's own: what people change stands through everything, and what is held in memory is what a fresh look gives."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import backscroll
from backscroll.config import Settings
from backscroll.engine.engine import Engine
from backscroll.engine.knowledge.analysis import rebuild
from backscroll.engine.knowledge.graph_acts import known_type, predicate_meant
from backscroll.engine.knowledge.graph_cache import held_graph
from backscroll.engine.thread import Thread
from backscroll.errors import InvalidInput, NotFound
from backscroll.graph.view import Rank
from backscroll.stores.sqlite.store import SqliteStore
from backscroll.vocab.assertion import Change
from tests.properties.living import graph_dump

TALE = (
    ("Who lives in the forest?", "Ellie is a forest elf. Ellie lives in Silverwood."),
    ("Does she have family?", "Toran is Ellie's brother."),
    ("Where is she now?", "Ellie moved to Brackwater."),
    ("And Toran?", "Toran works at Oakmill."),
    ("Is he old?", "Toran is 40 years old."),
)
ELVES = (
    "# Forest elves\nForest elves live in the Mysterious Forest. They are helpful but cautious, belong to no faction, "
    "know every path and pose no threat.\n"
)


@pytest.fixture(
    params=[
        pytest.param("sqlite_url", id="sqlite"),
        pytest.param("prepared_url", id="postgres", marks=pytest.mark.postgres),
    ]
)
def url(request: pytest.FixtureRequest) -> str:
    """An empty store of each kind."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def thread(url: str) -> Iterator[Thread]:
    """The tale, analysed to its end."""
    with backscroll.open(url, background=False) as engine:
        yield told(engine)


def told(engine: Engine) -> Thread:
    made = engine.create("Silverwood", kind="roleplay")
    for asked, answer in TALE:
        made.append("user", asked)
        made.append("assistant", answer)
    made.graph.flush()
    return made


def say(thread: Thread, answer: str) -> None:
    thread.append("user", "And then?")
    thread.append("assistant", answer)
    thread.graph.flush()


def home(thread: Thread, who: str = "Ellie") -> list[str]:
    return [f.object for f in thread.graph.why(who, "lives_in") if f.current]


def fresh(thread: Thread) -> dict[str, Any]:
    """What somebody who holds nothing in memory and trusts no marks sees."""
    thread.engine.memo.clear()
    rebuild(thread.engine, thread.id)
    thread.engine.memo.clear()
    return graph_dump(thread)


# -- what a person changed ---------------------------------------------------------------------------------------


def corrected(thread: Thread) -> None:
    """One change of each kind."""
    graph = thread.graph
    graph.set("Ellie", "lives in", other="Silver Inn")
    graph.set("Toran", "occupation", "miller")
    graph.pin("Toran", "age")
    graph.forbid("Toran", "works_at")
    graph.rename("Silverwood", "Silver Wood")
    graph.add("Rex", "animal", colour="brown")
    graph.add("Torry", "person")
    graph.merge("Toran", "Torry")


def check(thread: Thread) -> None:
    """All of them are still there."""
    graph = thread.graph
    assert home(thread) == ["silver inn"]
    toran = graph.node("Toran")
    assert toran.attribute("occupation") == "miller"
    assert toran.attribute("age") == "40"
    assert not [f for f in toran.relations if f.predicate == "works_at"]
    assert graph.node("Torry").id == toran.id
    assert graph.node("Silverwood").name == "Silver Wood"
    assert graph.node("Rex").attribute("colour") == "brown"


def test_overrides_survive_rebuilds_edits_and_deletions(thread: Thread) -> None:
    """No analysis, edit, deletion or regeneration takes them away, and a rebuild has them too."""
    corrected(thread)
    check(thread)
    now = graph_dump(thread)
    assert fresh(thread) == now
    thread.edit(thread.turn(3).messages[1].id, "Ellie moved to Greywick. Toran is a smith.")
    thread.regenerate(thread.turn(5).messages[1].id, "Toran is 41 years old. Toran works at the forge.")
    say(thread, "Ellie lives in Fernhollow. Rex is white.")
    check(thread)
    thread.delete(*(m.id for m in thread.turn(6).messages))
    check(thread)
    assert fresh(thread) == graph_dump(thread)


def test_contested_override_shows_the_text_as_evidence(thread: Thread) -> None:
    """The override applies; the text is contested evidence and a question until it is settled."""
    thread.graph.set("Ellie", "lives_in", other="Silver Inn")
    say(thread, "Ellie lives in Fernhollow.")
    fact = thread.graph.why("Ellie", "lives_in")[0]
    assert (fact.object, fact.rank) == ("silver inn", Rank.PERSON)
    assert [e.assertion.quote for e in fact.contested if e.assertion] == ["Ellie lives in Fernhollow."]
    asked = [q for q in thread.graph.questions() if q.kind == "override"]
    assert len(asked) == 1
    assert "ellie" in asked[0].nodes
    thread.delete(*(m.id for m in thread.turn(6).messages))
    assert not [
        q for q in thread.graph.questions() if q.kind == "override" and "fernhollow" in repr(q).casefold()
    ]


def test_lifting_an_override_restores_the_text(thread: Thread) -> None:
    """By number or id; undo restores the override; lifting twice is refused."""
    first = thread.graph.set("Ellie", "lives_in", other="Silver Inn")
    assert first.id is not None
    thread.graph.lift(first.id)
    assert home(thread) == ["brackwater"]
    thread.undo()
    assert home(thread) == ["silver inn"]
    thread.graph.lift(first.id.seq)
    with pytest.raises(NotFound) as refused:
        thread.graph.lift(first.id)
    assert "overrides" in (refused.value.hint or "")


def test_undo_reverts_overrides_one_by_one(thread: Thread) -> None:
    """An override of several events (a node with attributes) is one stroke."""
    before = graph_dump(thread)
    thread.graph.add("Rex", "animal", colour="brown", mood="calm")
    thread.graph.delete("Toran")
    with pytest.raises(NotFound):
        thread.graph.node("Toran")
    thread.undo()
    assert thread.graph.node("Toran").attribute("age") == "40"
    assert thread.graph.node("Rex").attribute("mood") == "calm"
    thread.undo()
    assert graph_dump(thread) == before
    thread.redo()
    assert thread.graph.node("Rex").attribute("colour") == "brown"


def test_undo_of_overrides_is_per_actor(thread: Thread) -> None:
    """Bob cannot undo what Ann set; each override names its author."""
    ann, bob = thread.as_actor("user:ann"), thread.as_actor("user:bob")
    ann.graph.set("Ellie", "mood", "glad")
    bob.graph.set("Toran", "mood", "sad")
    bob.undo()
    assert [(o.author, o.value) for o in thread.graph.overrides()] == [("user:ann", "glad")]
    assert all(o.at.startswith("20") for o in thread.graph.overrides())


def test_fork_inherits_overrides_and_diverges(thread: Thread) -> None:
    """Overrides made later stay in their own thread."""
    thread.graph.set("Ellie", "mood", "glad")
    fork = thread.fork(thread.message(-1).id, title="Another way")
    assert fork.graph.node("Ellie").attribute("mood") == "glad"
    thread.graph.set("Ellie", "mood", "sad")
    fork.graph.set("Toran", "mood", "calm")
    assert fork.graph.node("Ellie").attribute("mood") == "glad"
    assert thread.graph.node("Toran").attribute("mood") == ""
    inherited = fork.graph.overrides()[0].id
    assert inherited is not None
    fork.graph.lift(inherited)
    assert fork.graph.node("Ellie").attribute("mood") == ""
    assert thread.graph.node("Ellie").attribute("mood") == "sad"
    assert fresh(fork) == graph_dump(fork)


def test_split_moves_the_facts_of_the_named_turns(thread: Thread) -> None:
    """What some turns say is about another one of the name, through edits of these turns too."""
    say(thread, "Ellie is a queen. Ellie lives in Dunmere.")
    thread.graph.split("Ellie", [6], "Queen Ellie")
    assert home(thread) == ["brackwater"]
    assert home(thread, "Queen Ellie") == ["dunmere"]
    thread.edit(thread.turn(6).messages[1].id, "Ellie lives in Greywick.")
    assert home(thread, "Queen Ellie") == ["greywick"]
    thread.undo()
    thread.undo()
    assert home(thread) == ["dunmere"]


def test_pin_holds_every_value(thread: Thread) -> None:
    """All values of a predicate stay when their turns are deleted."""
    say(thread, "Ellie likes apples. Ellie likes rain.")
    liked = {f.value or f.object for f in thread.graph.why("Ellie", "likes")}
    thread.graph.pin("Ellie", "likes")
    thread.delete(*(m.id for m in thread.turn(6).messages))
    assert {f.value or f.object for f in thread.graph.why("Ellie", "likes")} == liked
    assert len(liked) == 2


def test_text_wins_if_overrides_are_not_preserved(sqlite_url: str) -> None:
    """`preserve_user_edits: false`: changes stay in the log and do not count."""
    how = backscroll.open(sqlite_url, background=False, conflict_resolution_preserve_user_edits=False)
    with how as engine:
        thread = told(engine)
        thread.graph.set("Ellie", "lives_in", other="Silver Inn")
        assert home(thread) == ["brackwater"]
        assert len(thread.graph.overrides()) == 1


@pytest.mark.parametrize("word", ["lives_in", "lives in", "Lives  In", "住在"])
def test_predicate_synonyms_mean_the_same_relation(thread: Thread, word: str) -> None:
    """Setting a synonym supersedes the text."""
    thread.graph.set("Ellie", word, other="Silver Inn")
    assert home(thread) == ["silver inn"]
    assert [f.object for f in thread.graph.history("Ellie", word)][-1] == "silver inn"


def test_unknown_predicates_are_kept_and_unknown_types_refused() -> None:
    """Types must be known because they have defaults."""
    assert predicate_meant("Favourite  Colour") == "favourite_colour"
    assert predicate_meant("最喜欢的酒") == "最喜欢的酒"
    assert (known_type("人物"), known_type("Character"), known_type(""), known_type("dragonish")) == (
        "person",
        "person",
        "",
        None,
    )


def test_invalid_overrides_are_refused(thread: Thread) -> None:
    """Unknown nodes (with the nearest names), types, turns and predicates; nothing to pin; nothing to merge."""
    graph, head = thread.graph, thread.head
    with pytest.raises(NotFound) as unknown:
        graph.set("Elie", "mood", "glad")
    assert "Ellie" in (unknown.value.hint or "")
    for wrong in (
        lambda: graph.add("Rex", "dragonish"),
        lambda: graph.set("Ellie", "type", "dragonish"),
        lambda: graph.set("Ellie", "", "glad"),
        lambda: graph.set("Ellie", "mood"),
        lambda: graph.set("Ellie", "mood", " "),
        lambda: graph.set("Ellie", "friend_of", other="ellie"),
        lambda: graph.set("Ellie", "mood", "glad", other="Toran"),
        lambda: graph.add("  "),
        lambda: graph.rename("Ellie", " "),
        lambda: graph.merge("Ellie", "ellie"),
        lambda: graph.split("Ellie", []),
        lambda: graph.split("Ellie", [4]),
    ):
        with pytest.raises(InvalidInput) as refused:
            wrong()
        assert refused.value.hint
    for missing in (
        lambda: graph.pin("Ellie", "mood"),
        lambda: graph.split("Ellie", [99]),
        lambda: graph.at(99),
        lambda: graph.drop_world("nothing"),
        lambda: graph.lift(1),
    ):
        with pytest.raises(NotFound):
            missing()
    assert thread.head == head


# -- the world ---------------------------------------------------------------------------------------------------


def test_world_description_completes_the_graph_and_can_be_dropped(thread: Thread) -> None:
    """It applies only where the text is silent; drop or undo removes it."""
    before = graph_dump(thread)
    thread.graph.tell_world("elves", ELVES)
    ellie = thread.graph.node("Ellie")
    assert ellie.attribute("disposition") == "helpful but cautious"
    assert {f.rank for f in ellie.attributes if f.predicate == "disposition"} == {Rank.WORLD}
    assert home(thread) == ["brackwater"]
    assert fresh(thread) == graph_dump(thread)
    assert [e.source for e in thread.graph.world()] == ["elves"]
    thread.graph.drop_world("elves")
    assert graph_dump(thread) == before
    thread.undo()
    assert thread.graph.node("Ellie").attribute("threat_level") == "low"
    thread.undo()
    assert (graph_dump(thread), thread.graph.world()) == (before, [])


def test_world_description_of_the_same_name_is_replaced(thread: Thread) -> None:
    """Of the same name; of another name both hold."""
    thread.graph.tell_world("elves", ELVES)
    thread.graph.tell_world("elves", "# Forest elves\nForest elves are shy.\n")
    assert thread.graph.node("Ellie").attribute("disposition") == "shy"
    thread.graph.tell_world("towns", "# Brackwater\nLanguage: Marsh\n")
    assert {e.source for e in thread.graph.world()} == {"elves", "towns"}
    thread.undo()
    thread.undo()
    assert thread.graph.node("Ellie").attribute("disposition") == "helpful but cautious"


def test_empty_world_description_is_refused(thread: Thread) -> None:
    """And leaves no event behind."""
    head = thread.head
    with pytest.raises(backscroll.BackscrollError) as refused:
        thread.graph.tell_world("empty", " \n ")
    assert refused.value.hint
    assert thread.head == head


# -- what is held in memory --------------------------------------------------------------------------------------


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[Engine, Engine]]:
    """Two engines on one file, as two processes have them."""
    file, settings = tmp_path / "store.db", Settings(background=False)
    with Engine(SqliteStore(file), settings) as one, Engine(SqliteStore(file), settings) as other:
        yield one, other


def test_cached_graph_follows_changes_of_another_engine(two: tuple[Engine, Engine]) -> None:
    """New turns, edits, deletions, overrides, liftings, worlds, undos: the graph in memory follows each of them."""
    one, other = two
    mine = told(one)
    theirs = other.thread(mine.id)
    assert home(mine) == ["brackwater"]
    assert held_graph(one, mine.id) is not None
    acts = (
        lambda: say(theirs, "Ellie lives in Greywick."),
        lambda: theirs.edit(theirs.turn(6).messages[1].id, "Ellie lives in Dunmere."),
        lambda: theirs.graph.set("Ellie", "mood", "glad"),
        lambda: theirs.graph.lift(theirs.graph.overrides()[-1].id or 0),
        lambda: theirs.graph.tell_world("elves", ELVES),
        lambda: theirs.delete(*(m.id for m in theirs.turn(6).messages)),
        theirs.undo,
        lambda: theirs.graph.drop_world("elves"),
        lambda: theirs.describe(language="zh"),
    )
    for act in acts:
        act()
        seen = graph_dump(mine)
        one.memo.clear()
        assert seen == graph_dump(mine)
        assert seen == graph_dump(theirs)


def test_forget_reaches_the_graph_in_memory(two: tuple[Engine, Engine]) -> None:
    """Words erased by another engine are gone after the next read."""
    one, other = two
    mine = told(one)
    say(mine, "Ellie lives in Xanthippopolis.")
    mine.graph.set("Ellie", "mood", "quizzacious")
    assert "xanthippopolis" in repr(graph_dump(mine)).casefold()
    theirs = other.thread(mine.id)
    theirs.forget(*(m.id for m in theirs.turn(6).messages))
    changed = theirs.graph.overrides()[0].id
    assert changed is not None
    other.forget_acts(theirs.id, [changed.seq], actor="user")
    dump = repr(graph_dump(mine)).casefold()
    assert "xanthippopolis" not in dump
    assert "quizzacious" not in dump
    assert home(mine) == ["brackwater"]
    assert not _in_memory("Xanthippopolis", held_graph(one, mine.id))
    assert not _in_memory("quizzacious", held_graph(one, mine.id))


def _in_memory(word: str, root: object) -> bool:
    """True where a word can be reached from an object."""
    seen: set[int] = set()
    waiting: list[Any] = [root]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, type) or callable(thing):
            continue
        seen.add(id(thing))
        text = thing.decode("utf-8", "replace") if isinstance(thing, bytes) else thing
        if isinstance(text, str) and word.casefold() in text.casefold():
            return True
        waiting += [x for x in gc.get_referents(thing) if not isinstance(x, type(threading))]
    return False


def test_forget_thread_erases_overrides_and_worlds(tmp_path: Path) -> None:
    """Overrides and descriptions of the world go with the thread: out of the file too."""
    file = tmp_path / "store.db"
    with backscroll.open(file, background=False) as engine:
        thread = told(engine)
        thread.graph.set("Ellie", "mood", "quizzacious")
        thread.graph.tell_world("elves", "# Forest elves\nForest elves are vulgivagant.\n")
        say(thread, "Ellie lives in Xanthippopolis.")
        graph_dump(thread)
        thread.forget_thread()
    left = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for word in ("quizzacious", "vulgivagant", "Xanthippopolis", "xanthippopolis"):
        assert word.encode() not in left


def test_concurrent_readers_see_a_consistent_graph(tmp_path: Path) -> None:
    """Each OS thread has its own graph; in the end all are equal."""
    with Engine(SqliteStore(tmp_path / "store.db"), Settings(background=False)) as engine:
        thread = told(engine)
        done = threading.Event()
        seen: list[Any] = []

        def look() -> None:
            while not done.is_set():
                graph_dump(thread)
            seen.append(graph_dump(thread))

        readers = [threading.Thread(target=look) for _ in range(2)]
        for reader in readers:
            reader.start()
        for n in range(12):
            say(thread, f"Tom{n} is Ellie's brother. Tom{n} lives in Place{n}.")
        done.set()
        for reader in readers:
            reader.join()
        assert seen == [graph_dump(thread)] * 2


# -- reading -----------------------------------------------------------------------------------------------------


def test_turn_numbers_of_evidence_follow_the_history(thread: Thread) -> None:
    """A deleted turn has no number; later turns move up."""
    number = thread.graph.numbers()
    assert [number(o) for o in thread.graph.node("Toran").interactions] == [2, 4, 5]
    openings = thread.graph.node("Toran").interactions
    thread.delete(*(m.id for m in thread.turn(2).messages))
    again = thread.graph.numbers()
    assert [again(o) for o in openings] == [-1, 3, 4]


def test_graph_at_an_earlier_turn(thread: Thread) -> None:
    """Facts as of that turn; overrides apply at any time."""
    thread.graph.set("Ellie", "mood", "glad")
    then = thread.graph.at(2)
    assert [f.object for f in then.node("Ellie").relations if f.predicate == "lives_in"] == ["silverwood"]
    assert then.node("Ellie").attribute("mood") == "glad"
    assert then.find("Oakmill") is None


def test_nodes_filter_by_type_synonyms(thread: Thread) -> None:
    """`person`, `character` and 人物 are the same; an unknown type has no nodes."""
    people = [n.name for n in thread.graph.nodes(type="person")]
    assert people == [n.name for n in thread.graph.nodes(type="人物")]
    assert people == [n.name for n in thread.graph.nodes(type="Character")]
    assert {"Ellie", "Toran"} <= set(people)
    assert thread.graph.nodes(type="dragonish") == []
    assert {c.value for c in Change} == {"set", "pin", "forbid", "rename", "merge", "split", "delete", "add"}
