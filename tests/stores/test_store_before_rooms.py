"""A store and a native export written by the version before the rooms were rearranged: they open, verify, know the same and continue.

`before_rooms/store.db.gz` and `export.jsonl` were written by that version (two threads: edits, an answer generated again, a pin, a tag, a crop,
a compaction, a fork, a task with its memory, an override of the graph, a code change); `known.json` is what it read from a copy of that store
with the calls of `observation.py`.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import backscroll
from tests.stores.observation import observe
from tests.stores.test_migrations import exported

BEFORE = Path(__file__).parent / "before_rooms"


@pytest.fixture
def old(tmp_path: Path) -> str:
    path = tmp_path / "old.db"
    path.write_bytes(gzip.decompress((BEFORE / "store.db.gz").read_bytes()))
    return str(path)


def known() -> dict[str, dict[str, object]]:
    return json.loads((BEFORE / "known.json").read_text(encoding="utf-8"))


def test_old_store_verifies_and_exports_the_same_lines(old: str, tmp_path: Path) -> None:
    with backscroll.open(old) as engine:
        assert engine.verify().flaws == []
        engine.export(None, "native", str(tmp_path / "now.jsonl"))
    now = (tmp_path / "now.jsonl").read_text(encoding="utf-8").splitlines()
    assert exported(now) == exported((BEFORE / "export.jsonl").read_text(encoding="utf-8").splitlines())


def test_old_store_gives_the_same_answers(old: str) -> None:
    with backscroll.open(old) as engine:
        assert json.loads(json.dumps(observe(engine))) == known()


def test_old_export_gives_the_same_answers(tmp_path: Path) -> None:
    with backscroll.open(str(tmp_path / "new.db")) as engine:
        engine.import_path(str(BEFORE / "export.jsonl"))
        assert engine.verify().flaws == []
        seen, then = json.loads(json.dumps(observe(engine))), known()
        for title, thread in seen.items():
            for part in ("messages", "turns", "nodes", "facts", "tasks", "memories", "found"):
                assert thread[part] == then[title][part], (title, part)


def test_old_store_can_be_continued(old: str) -> None:
    with backscroll.open(old) as engine:
        for info in engine.threads():
            thread = engine.thread(info.id)
            count = sum(1 for _ in thread.messages())
            thread.append("user", "Ellie sold the golden bow. 她现在住在山谷镇。")
            thread.append("assistant", "Noted.")
            prompt = thread.prompt(2000, model="gpt-5", reserve=0)
            assert prompt.receipt.total <= 2000
            assert "golden bow" in json.dumps(prompt.request, ensure_ascii=False)
            assert sum(1 for _ in thread.messages()) == count + 2
        assert engine.verify().flaws == []
