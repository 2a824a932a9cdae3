"""Which memories matter for a task, and why."""

from __future__ import annotations

from collections.abc import Sequence

from backscroll.derive.essence.sentences import rough_count
from backscroll.tasks.memory.words import handles_of, line_of, render_memories
from backscroll.tasks.relevance import kind_of, rank, within
from backscroll.vocab.ids import Ref
from backscroll.vocab.task import Memory, MemoryKind
from tests.tasks.builders import HOME


def memory(name: str, text: str, **more: object) -> Memory:
    kind = more.pop("kind", MemoryKind.LESSON)
    return Memory(name, kind, text, HOME, sources=(Ref(HOME, 3),), **more)  # type: ignore[arg-type]


LOGIN = memory("login", "pytest tests/test_login.py failed: KeyError user; the cookie had expired")
TIDES = memory("tides", "The tide table was read from the harbour's page")
ZH = memory("zh", "数据库迁移失败：没有先备份表结构")


def names(query: str, **more: object) -> list[str]:
    return [r.memory.id for r in rank(query, [LOGIN, TIDES, ZH], **more)]  # type: ignore[arg-type]


def test_memories_are_found_by_words_in_both_languages() -> None:
    assert names("the login test fails with a KeyError") == ["login"]
    assert names("帮我做数据库迁移") == ["zh"]
    assert names("write a poem about spring") == []


def test_memories_are_found_by_files_in_any_spelling() -> None:
    found = rank("look at test_login.py", [LOGIN, TIDES], files=())
    assert found[0].memory.id == "login"
    assert any("same files: test_login.py" in reason for reason in found[0].reasons)
    assert names("go on", files=["/home/ann/app/tests/test_login.py"]) == ["login"]


def test_memories_are_found_by_meaning_with_an_encoder() -> None:
    vectors = {
        "sign in is broken": [1.0, 0.0],
        LOGIN.text: [0.9, 0.1],
        TIDES.text: [0.0, 1.0],
        ZH.text: [0.0, 1.0],
    }

    def encode(texts: Sequence[str]) -> list[list[float]]:
        # A part of a memory is as near as the memory.
        return [next(v for whole, v in vectors.items() if text in whole) for text in texts]

    found = rank("sign in is broken", [LOGIN, TIDES, ZH], encode=encode)
    assert [r.memory.id for r in found] == ["login"]
    assert "similar meaning" in found[0].reasons


def test_one_similar_sentence_of_a_long_memory_is_enough() -> None:
    """The mean of a long memory says nothing about any of it."""
    long = memory(
        "long", "The invoices were renamed; The list stutters when it scrolls; The logo is larger now"
    )

    def encode(texts: Sequence[str]) -> list[list[float]]:
        near = {
            "jerky scrolling on the home page": [1.0, 0.0],
            "The list stutters when it scrolls": [0.5, 0.866],
        }
        return [near.get(text, [0.0, 1.0]) for text in texts]

    found = rank("jerky scrolling on the home page", [long, TIDES], encode=encode)
    assert [r.memory.id for r in found] == ["long"]


def test_same_kind_of_work_counts() -> None:
    plain = rank("fix the login error", [LOGIN])[0]
    same = rank("fix the login error", [LOGIN], kinds={"login": "fix"})[0]
    assert same.score > plain.score
    assert "same kind of task" in same.reasons


def test_faded_memories_rank_lower() -> None:
    old = memory("old", LOGIN.text, weight=0.1)
    found = rank("the login test fails with a KeyError", [old, LOGIN])
    assert [r.memory.id for r in found] == ["login", "old"]


def test_kinds_of_work_are_recognised() -> None:
    assert [kind_of(t) for t in ("Fix the crash", "重构登录模块", "Write unit tests", "部署到线上", "hm")] == [
        "fix", "refactor", "test", "deploy", "",
    ]  # fmt: skip


def test_selection_fits_and_does_not_repeat() -> None:
    again = memory("again", LOGIN.text + " today")
    found = rank("login KeyError tide harbour table cookie", [LOGIN, again, TIDES])
    few = within(found, 60, rough_count, lambda m: m.text)
    assert sum(rough_count(r.memory.text) + 1 for r in few) <= 60
    assert (
        len({r.memory.id for r in within(found, 10_000, rough_count, lambda m: m.text)} & {"login", "again"})
        == 1
    )


def test_handles_name_their_thread_elsewhere() -> None:
    assert handles_of(LOGIN, HOME) == ["[bs:3]"]
    assert handles_of(LOGIN, "b" * 32) == ["[bs:aaaaaaaa.3]"]
    assert line_of(LOGIN, HOME, "zh").startswith("- 教训：")
    assert render_memories([], HOME, "en", "title_memory") == ""


def test_name_of_a_kind_of_work_finds_such_work() -> None:
    found = rank("fix", [LOGIN, TIDES], kinds={"login": "fix", "tides": "docs"})
    assert [(r.memory.id, r.reasons) for r in found] == [("login", ("same kind of task",))]
    assert rank("Deploy", [LOGIN], kinds={"login": "fix"}) == []
