"""Mutations of native files, field by field: a clean refusal with line numbers, or an import after which all is well.

`sample` writes a real export with a little of everything. `mutated` changes one thing in it, as damage would (hashes no longer
fit) or as an ill-meant program would (every seal and link is made anew afterwards). `assert_taken_well` says what must hold.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import backscroll
from backscroll import Media, Text, ToolCall, ToolResult
from backscroll.record.chain import commitment, genesis, hash_link, to_bytes
from backscroll.record.derived import RecipeReply

AT = "2026-11-15T12:00:00+00:00"
DEEP: Any = [[]]
for _ in range(230):
    DEEP = [DEEP]
#: What a field may never hold, or hardly ever.
BAD: tuple[Any, ...] = (
    None, "", "x", 0, -1, 1.5, True, False, [], {}, [1], {"a": 1}, "1", 2**31, 2**53 + 1, 2**64, 10**30, "\0", "a\nb", "\ud800",
    "é" * 300, "0" * 32, "f" * 32, "0" * 32 + ".1", "f" * 64, "00", "2026-13-01T00:00:00+00:00", "2026-01-01T00:00:00",
    "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", [None], [[1, 2**50]], {"message": 1}, [{"message": "x"}], DEEP,
)  # fmt: skip


def sample(folder: Path) -> Path:
    """A native file with forks, tasks, graph, memories, crops, a compaction, changes, something forgotten, and a journal."""
    target = folder / "sample.jsonl"
    if target.exists():
        return target
    with backscroll.open(folder / "sample.db", background=False) as engine:
        thread = engine.create("标题 one", project="p", tags=["x"], metadata={"a": [1]})
        picture = Media("image/png", data=b"\x89PNG\0bytes", name="p.png")
        first = thread.append("user", [Text("look at Ellie, who lives in Qz1zq"), picture])
        answer = thread.append("assistant", [ToolCall("c1", "Read", {"path": "a.py"})], author="Bot")
        thread.append("tool", ToolResult("c1", (Text("lone \ud800 surrogate, NUL \0"),), name="Read"))
        for n in range(6):
            thread.append("user" if n % 2 else "assistant", f"message number {n} 你好 about the harbour")
        messages = list(thread)
        thread.regenerate(answer.id, "another answer")
        thread.choose(answer.id, 0)
        thread.edit(first.id, "edited words about Ellie")
        thread.insert("user", "put in between", after=messages[3].id)
        thread.move(messages[4].id, after=messages[6].id)
        thread.pin(messages[5].id)
        thread.hide(messages[6].id)
        thread.delete(messages[7].id)
        thread.undo()
        thread.log_code_change("a change", "file.py")
        thread.rename("new title")
        thread.tasks.start("paint the shed", keep=True)
        thread.append("user", "paint it red")
        thread.append("assistant", "It is red now.")
        thread.tasks.attempt("the shed is red")
        thread.tasks.incomplete("one side is not")
        thread.memory.add("the shed stands by the harbour", sources=[messages[3].id])
        thread.graph.add("Tom", "person", home="Qz2zq")
        thread.graph.tell_world("world", "# Ellie\nEllie is an elf of the forest.\n")
        thread.crop(first=answer.id, last=messages[3].id, summary="what the tool said")
        thread.compact(4000)
        fork = thread.fork(answer.id, title="fork")
        fork.append("user", "in the fork")
        fork.edit(first.id, "other words in the fork")
        fork.fork().append("user", "in the fork of the fork")
        secret = thread.append("user", "a secret of some length")
        thread.forget(secret.id)
        other = engine.create("bystander", project="q")
        said = other.append("user", [Text("words of a bystander"), Media("image/png", data=b"other bytes")])
        other.append("assistant", "an answer to the bystander")
        for key, home, source in ((b"k1", thread, messages[3]), (b"k2", other, said)):
            reply = RecipeReply(key, "gist", home.id, "m", b'{"a":1}', (source.revision,), AT)
            engine.store.write(lambda tx, one=reply: tx.keep_reply(one))
        engine.export(None, "native", str(target))
    return target


def lines_of(path: Path) -> list[Any]:
    """The lines of a file as JSON values."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# -- mutating ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Mutant:
    """A file with one thing changed."""

    lines: list[Any]  # JSON values; a string is a line as it stands
    what: str
    resealed: bool = False

    def write(self, path: Path) -> Path:
        """Write it down."""
        out = [line if isinstance(line, str) else json.dumps(line) for line in self.lines]
        path.write_text("\n".join(out) + "\n", encoding="utf-8", errors="surrogatepass")
        return path


def mutated(lines: list[Any], chance: random.Random) -> Mutant:
    """One change, picked at random."""
    rows = copy.deepcopy(lines)
    at = chance.choice(
        [0, *[n for n, row in enumerate(rows) if "thread" in row], *range(len(rows)), *range(len(rows))]
    )
    work = chance.choice(
        [_change_field] * 10 + [_drop_line, _double_line, _swap_lines, _cut_line, _flip_bytes, _cut_file]
    )
    what = work(rows, at, chance)
    resealed = work is _change_field and chance.random() < 0.6
    if resealed:
        reseal(rows)
    return Mutant(rows, f"line {at + 1}: {what}" + (", sealed anew" if resealed else ""), resealed)


def _paths(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    keys: Any = (
        value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in keys:
        yield (*before, key)
        yield from _paths(value[key], (*before, key))


def _change_field(rows: list[Any], at: int, chance: random.Random) -> str:
    path = chance.choice(list(_paths(rows[at])))
    holder: Any = rows[at]
    for key in path[:-1]:
        holder = holder[key]
    last, old = path[-1], holder[path[-1]]
    way = chance.choice(["drop", "bad", "bad", "bad", "near", "swap", "rename"])
    if way == "drop":
        del holder[last]
    elif way == "bad":
        holder[last] = copy.deepcopy(chance.choice(BAD))
    elif way == "near":
        holder[last] = _near(old, chance)
    elif way == "swap":
        other = chance.choice(rows)
        held = [each for each in _paths(other) if each[-1] == last]
        value: Any = other
        for key in chance.choice(held) if held else ():
            value = value[key]
        holder[last] = copy.deepcopy(value)
    elif isinstance(holder, dict):
        holder[str(last) + "_"] = holder.pop(last)
    shown = repr(holder.get(last, "gone") if isinstance(holder, dict) else "changed")[:80]
    return f"{way} {'.'.join(map(str, path))}: {shown}"


def _near(old: Any, chance: random.Random) -> Any:
    if isinstance(old, bool) or old is None:
        return not old
    if isinstance(old, int):
        return old + chance.choice([-1, 1, 2, 1000])
    if isinstance(old, str) and old:
        at = chance.randrange(len(old))
        return old[:at] + chance.choice("0123456789abcdef" + string.punctuation) + old[at + 1 :]
    if isinstance(old, list) and old:
        return [*old, old[-1]]
    return [old]


def _drop_line(rows: list[Any], at: int, _: random.Random) -> str:
    del rows[at]
    return "gone"


def _double_line(rows: list[Any], at: int, _: random.Random) -> str:
    rows.insert(at, rows[at])
    return "twice"


def _swap_lines(rows: list[Any], at: int, chance: random.Random) -> str:
    other = chance.randrange(len(rows))
    rows[at], rows[other] = rows[other], rows[at]
    return f"in the place of line {other + 1}"


def _cut_line(rows: list[Any], at: int, chance: random.Random) -> str:
    text = json.dumps(rows[at])
    rows[at] = text[: chance.randrange(len(text))]
    return "cut"


def _cut_file(rows: list[Any], at: int, _: random.Random) -> str:
    del rows[at:]
    return "and the rest gone"


def _flip_bytes(rows: list[Any], at: int, chance: random.Random) -> str:
    text = list(json.dumps(rows[at]))
    for _ in range(chance.choice([1, 1, 3])):
        text[chance.randrange(len(text))] = chr(chance.randrange(32, 127))
    rows[at] = "".join(text)
    return "other bytes"


def reseal(rows: list[Any]) -> None:
    """Make every seal and link fit again, as somebody would who means ill."""
    ends: dict[Any, dict[Any, bytes]] = {}
    now: Any = None
    previous = b""
    for row in rows:
        if not isinstance(row, dict):
            continue
        if "thread" in row:
            now = row
            name, parent = row.get("thread"), row.get("parent")
            start = ends.get(str(parent), {}).get(str(row.get("fork_seq")), b"\0" * 32)
            previous = genesis(str(name).encode("ascii", "replace").decode()) if parent is None else start
        elif "event" in row and now is not None:
            previous = _sealed(row, previous)
            thread, _, seq = str(row.get("event")).rpartition(".")
            ends.setdefault(thread, {})[seq] = previous
            now["hash"] = previous.hex()
            now["head"] = int(seq) if seq.isdecimal() and seq.isascii() and len(seq) < 11 else seq


def _sealed(row: dict[str, Any], previous: bytes) -> bytes:
    try:
        body = (
            base64.b64decode(row["body64"])
            if "body64" in row
            else to_bytes(row["body"])
            if "body" in row
            else None
        )
        salt = bytes.fromhex(row.get("salt", ""))
        if body is not None:
            row["seal"] = commitment(salt, body).hex()
        line = f"{row.get('event')}\n{row.get('kind')}\n{row.get('at')}\n{row.get('target') or ''}\n{row.get('actor')}\n"
        made = hash_link(previous, line, bytes.fromhex(row.get("seal", "")), to_bytes(row.get("head")))
    except (ValueError, TypeError, backscroll.BackscrollError):
        made = hashlib.sha256(previous).digest()
    row["hash"] = made.hex()
    return made


# -- judging -----------------------------------------------------------------------------------------------------


def logs_of(lines: list[Any]) -> dict[str, list[str]]:
    """The events of each thread of a file."""
    out: dict[str, list[str]] = {row["thread"]: [] for row in lines if "thread" in row}
    for row in lines:
        if "event" in row:
            out[row["event"].partition(".")[0]].append(json.dumps(row, sort_keys=True))
    return out


def assert_taken_well(mutant: Mutant, original: Path, folder: Path) -> str:
    """Import a mutant into an empty store and use the store; says how it went."""
    path = mutant.write(folder / "mutant.jsonl")
    whole = logs_of(lines_of(original))
    with backscroll.open(folder / "store.db", background=False) as engine:
        try:
            reports = engine.import_path(path, format="native")
        except backscroll.BackscrollError:
            assert not list(engine.threads()), f"{mutant.what}: refused, and written all the same"
            return "refused"
        problems = [p for r in reports for p in r.problems]
        verdict = engine.verify()
        assert verdict.ok, f"{mutant.what}: {verdict.flaws}"
        have = _logs(engine, folder / "copy.jsonl")
        lost = [name for name, log in whole.items() if have.get(name) != log]
        if not mutant.resealed:
            assert not lost or any(p.line for p in problems), f"{mutant.what}: {lost} silently differ"
            for name, log in have.items():
                assert log == whole[name][: len(log)], f"{mutant.what}: {name} holds what was never said"
        _use(engine, mutant.what, folder)
        if not mutant.resealed:
            engine.import_path(original)
        assert engine.verify().ok, f"{mutant.what}: not sound after it was used: {engine.verify().flaws}"
    return "in part" if lost else "whole"


def _logs(engine: backscroll.Engine, path: Path) -> dict[str, list[str]]:
    engine.export(None, "native", str(path))
    return logs_of(lines_of(path))


def _use(engine: backscroll.Engine, what: str, folder: Path) -> None:
    """Everything that people do with a store works, whatever came in."""
    steps: list[Callable[[], object]] = [
        engine.stats,
        engine.doctor,
        lambda: engine.search("harbour"),
        lambda: engine.export(None, "markdown", str(folder / "out") + "/"),
    ]
    for info in engine.threads():
        thread = engine.thread(info.id)
        steps += [
            lambda t=thread: [list(t), list(t.events()), list(t.turns()), list(t.code_changes())],
            lambda t=thread: [t.revisions(m.id) for m in t],
            lambda t=thread: [list(t.at(n)) for n in range(t.head + 1)][-1:],
            lambda t=thread: t.tasks.list(),
            lambda t=thread: t.memory.list(),
            lambda t=thread: (t.graph.current(), t.graph.overrides(), t.graph.world()),
            lambda t=thread: t.summary(),
            lambda t=thread: t.append("user", "one more about the harbour"),
        ]
    for number, step in enumerate(steps):
        try:
            step()
        except backscroll.Forgotten:
            continue
        except Exception as error:
            raise AssertionError(f"{what}: step {number} raised {error!r}") from error
    for info in list(engine.threads()):
        thread = engine.thread(info.id)
        try:
            thread.prompt(8000)
        except (backscroll.BudgetTooSmall, backscroll.InvalidInput):
            continue  # nothing to say, or too much of it
        except Exception as error:
            raise AssertionError(f"{what}: a prompt raised {error!r}") from error
    shown = [(i.id, m.id) for i in engine.threads() for m in engine.thread(i.id).messages(0, 1)]
    for thread, message in shown[:1]:
        engine.thread(thread).forget(message)


def fuzz(seed: int, folder: Path) -> None:
    """One mutant of one real file."""
    original = sample(folder)
    chance = random.Random(seed)
    mutant = mutated(lines_of(original), chance)
    place = folder / f"native-{seed}"
    place.mkdir()
    try:
        assert_taken_well(mutant, original, place)
    except AssertionError as error:
        raise AssertionError(f"native_files.fuzz({seed}): {mutant.what}: {error}") from error
