"""The plain model of a conversation that fuzzers judge by: it has to know what the log says, or it finds faults where none are."""

from __future__ import annotations

from pathlib import Path

from backscroll.engine.crops.crops import crops
from tests.fuzz.talk import Talk


def test_fork_of_an_earlier_message_lacks_crops_of_a_later_task(tmp_path: Path) -> None:
    """The early fork has only the manual crop; the late one also what the task cleared."""
    talk = Talk(3, tmp_path / "store.db")
    with talk.told():
        name = talk.create()
        for _ in range(4):
            talk.say(name, "user", 1)
            talk.say(name, "assistant", 1)
        talk.thread(name).crop("top", 1)
        talk.thread(name).tasks.start("Fix the login", again=True)
        at = talk.lines[name][3].id
        early, late = (talk.thread(name).fork(at=at).id, talk.thread(name).fork().id)
        for fork in (early, late):
            talk.adopt(fork)
            marks = crops(talk.thread(fork))
            held = {str(m.id) for m in talk.thread(fork).messages() if any(c.holds(m.id) for c in marks)}
            assert talk.cropped(fork) == held
        assert talk.cropped(early) == {talk.lines[name][0].id}
        assert len(talk.cropped(late)) > 4
