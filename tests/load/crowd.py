"""One of several processes that write to the same store at once. Run as `python -m tests.load.crowd`.

Arguments: address, seconds, number, ids of the shared conversations. Says as one line of JSON what it wrote: how many messages
to each conversation, and what it had to give up on.
"""

from __future__ import annotations

import json
import random
import sys
import time
from contextlib import closing

import backscroll

#: What each of them writes at least, however busy the machine is, and the seconds after which it gives up on that.
LEAST, PATIENCE = 6, 300


def main(address: str, seconds: float, number: int, shared: list[str]) -> None:
    """Write until the time is up."""
    chance = random.Random(number)
    counts = dict.fromkeys(shared, 0)
    edits = conflicts = 0
    with closing(backscroll.open(address, actor=f"process:{number}")) as engine:
        own = engine.create(f"own {number}")
        counts[own.id] = 0
        end = time.monotonic() + seconds
        while time.monotonic() < end or (sum(counts.values()) < LEAST and time.monotonic() < end + PATIENCE):
            name = own.id if chance.random() < 0.3 else chance.choice(shared)
            thread = engine.thread(name)
            message = thread.append("user", f"{number} {counts[name]} 你好")
            counts[name] += 1
            dice = chance.random()
            if dice < 0.1:
                thread.edit(message.id, f"{message.text} edited", seen=message.revision)
                edits += 1
            elif dice < 0.15:
                thread.delete(message.id)
                thread.undo()
            elif dice < 0.25:
                last = thread.recent(5)
                assert last
                try:
                    thread.regenerate(last[0].id, last[0].text + ".", live=False, seen=last[0].revision)
                except backscroll.Conflict:
                    conflicts += 1
            elif dice < 0.3:
                engine.search("你好", thread=name, limit=3)
    print(json.dumps({"number": number, "counts": counts, "edits": edits, "conflicts": conflicts}))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
