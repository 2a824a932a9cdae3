"""A process whose children write to a store until they are killed, and who then looks at what is left.

Run as `python -m tests.crash.victims ADDRESS ROUNDS SEED`, in an interpreter of its own: it loads everything once and forks
for each round, so that two hundred killings take seconds. A child says over a pipe what it is about to do and, once the store
has acknowledged it, that it is done. Whatever was acknowledged must be there afterwards; of what was only begun, either
everything or nothing.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import backscroll
from backscroll.vocab.ids import parse_ref
from tests import proof

WORKERS = 3
#: So often a killing is tried where nobody lived long enough to leave anything, as happens on a busy machine.
PATIENCE = 50
#: Seconds that a child may take before it says anything.
BEGINNING = 120.0


# -- the victim --------------------------------------------------------------------------------------------------


def victim(address: str, threads: list[str], seed: int, pipe: int) -> None:
    """Write as fast as possible, in several OS threads, each to its own conversation."""
    engine = backscroll.open(address)
    lock = threading.Lock()

    def tell(worker: int, *what: Any) -> None:
        with lock:
            os.write(pipe, json.dumps([worker, *what], ensure_ascii=False).encode() + b"\n")

    def work(worker: int) -> None:
        chance = random.Random(seed * 10 + worker)
        thread = engine.thread(threads[worker])
        while True:
            step(thread, worker, chance, tell)

    for worker in range(1, WORKERS):
        threading.Thread(target=work, args=(worker,), daemon=True).start()
    work(0)


def step(thread: backscroll.Thread, worker: int, chance: random.Random, tell: Any) -> None:
    """One operation: announced, done, acknowledged."""
    live = thread.recent(30)
    op = chance.choice(["append"] * 6 + ["edit", "delete", "insert", "undo", "forget"]) if live else "append"
    if op == "forget" and chance.random() < 0.8:
        op = "append"
    text = f"{op} {chance.getrandbits(40):x} 海"
    if op in ("append", "insert"):
        tell(worker, "begin", op, None, text)
        content = [backscroll.Text(text), backscroll.Media("image/png", data=chance.randbytes(3000))]
        given = content if chance.random() < 0.2 else text
        made = thread.append("user", given) if op == "append" else thread.insert("user", given)
        tell(worker, "done", op, str(made.id), text)
    elif op == "undo":
        tell(worker, "begin", op, None, "")
        try:
            thread.undo()
        except backscroll.BackscrollError:
            tell(worker, "done", "nothing", None, "")
        else:
            tell(worker, "done", op, None, "")
    else:
        chosen = str(chance.choice(live).id)
        tell(worker, "begin", op, chosen, text)
        if op == "edit":
            thread.edit(chosen, text)
        elif op == "delete":
            thread.delete(chosen)
        else:
            thread.forget(chosen)
        tell(worker, "done", op, chosen, text)


# -- the coroner -------------------------------------------------------------------------------------------------


@dataclass
class Known:
    """What was acknowledged about one conversation."""

    live: dict[str, str] = field(default_factory=dict)  # message id -> words
    undo: list[tuple[str, str | None, str | None]] = field(default_factory=list)  # message, before, after
    doubtful: bool = False  # an undo was begun: either side of it is right

    def done(self, op: str, message: str | None, text: str) -> None:
        if op in ("append", "insert") and message is not None:
            self.live[message] = text
            if op == "insert":
                self.undo.append((message, None, text))
        elif op == "edit" and message is not None:
            self.undo.append((message, self.live[message], text))
            self.live[message] = text
        elif op == "delete" and message is not None:
            self.undo.append((message, self.live.pop(message), None))
        elif op == "forget" and message is not None:
            self.live.pop(message)
            self.undo = [stroke for stroke in self.undo if stroke[0] != message]
        elif op == "undo":
            message, before, _ = self.undo.pop()
            self._put(message, before)

    def _put(self, message: str, text: str | None) -> None:
        if text is None:
            self.live.pop(message, None)
        else:
            self.live[message] = text

    def settle(self, begun: list[Any] | None, found: dict[str, str]) -> str | None:
        """Compare with what is there; where an operation was only begun, take over how it went."""
        if found == self.live:
            return None
        if begun is None:
            return f"acknowledged {len(self.live)}, found {len(found)}"
        op, message, text = begun
        if op in ("append", "insert"):
            new = [m for m in found if m not in self.live]
            message = new[0] if len(new) == 1 and found[new[0]] == text else None
            if message is None:
                return f"{op} was begun; {len(new)} messages are new"
        if op == "undo" and not self.undo:
            return "there was nothing to undo"
        self.done(op, message, text)
        return None if found == self.live else f"{op} was begun, and something else has changed"


def look(address: str, threads: list[str], known: list[Known], told: bytes) -> tuple[int, list[str]]:
    """How many acknowledgements there were, and what is wrong."""
    begun: list[Any] = [None] * WORKERS
    acknowledged = 0
    for line in told.splitlines():
        worker, stage, op, message, text = json.loads(line)
        if stage == "begin":
            begun[worker] = (op, message, text)
        else:
            acknowledged += 1
            begun[worker] = None
            known[worker].done(op, message, text)
    with closing(backscroll.open(address)) as engine:
        wrong: list[str] = []
        for worker, name in enumerate(threads):
            found = {str(m.id): m.text for m in engine.thread(name)}
            said = known[worker].settle(begun[worker], found)
            if said is not None:
                wrong.append(f"conversation {worker}: {said}")
    return acknowledged, wrong


def killed_after(work: Callable[[int], None], seconds: float, *, begun: bool = False) -> bytes:
    """Let a child work for a moment, kill it, and give back all whole lines that it said over its pipe.

    The moment begins with the child; with `begun`, when it has said something. On a busy machine a child can take longer
    than any moment to open the store: whoever wants it to be killed at work asks for that.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            work(write)
        finally:
            os._exit(1)  # a victim never ends by itself
    os.close(write)
    told = b""
    if begun and select.select([read], [], [], BEGINNING)[0]:
        told = os.read(read, 65536)
    moment = time.monotonic() + seconds
    while (left := moment - time.monotonic()) > 0:
        if select.select([read], [], [], left)[0]:
            some = os.read(read, 65536)
            if not some:
                break
            told += some
    os.kill(child, signal.SIGKILL)
    while some := os.read(read, 65536):
        told += some
    os.close(read)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        raise SystemExit("the victim died of something else")
    return told[: told.rfind(b"\n") + 1]  # the last line may be cut


def stretched(moment: float, number: int, rounds: int) -> float:
    """A moment to live in a round: longer in each of those that are added because nothing was at stake before."""
    return moment * (1 + max(0, number - rounds + 1))


def kill_once(address: str, threads: list[str], seed: int, moment: float) -> bytes:
    """Let a child write for a moment, kill it, and give back all that it said; every other one is surely at work by then."""
    return killed_after(lambda pipe: victim(address, threads, seed, pipe), moment, begun=seed % 2 == 0)


def main(address: str, rounds: int, seed: int) -> None:
    """Kill, look, and say how it went as one line of JSON."""
    chance = random.Random(seed)
    with closing(backscroll.open(address)) as engine:
        threads = [engine.create(f"worker {n}").id for n in range(WORKERS)]
    known = [Known() for _ in range(WORKERS)]
    acknowledged, wrong = 0, list[str]()
    for number in range(PATIENCE * rounds):
        # On a busy machine the moments are too short for much: more and longer ones come, until there is something to lose.
        if number >= rounds and acknowledged > rounds:
            break
        moment = stretched(chance.uniform(0.0, 0.12), number, rounds)
        told = kill_once(address, threads, seed * 1000 + number, moment)
        count, found = look(address, threads, known, told)
        acknowledged += count
        wrong += [f"round {number}: {what}" for what in found]
        if wrong:
            break
    with closing(backscroll.open(address)) as engine:
        for ref in [m for k in known for m in k.live][:5]:
            engine.thread(parse_ref(ref).thread).message(ref)
        proof.assert_sound(engine)
    print(json.dumps({"rounds": rounds, "acknowledged": acknowledged, "wrong": wrong}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
