"""After a forget, no byte of the text is left in the file, its write-ahead log, or next to it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

import backscroll
from backscroll import Content, Media, Opaque, Reasoning, Text, ToolCall, ToolResult
from backscroll.recall.text.words import index_words
from tests import programs, proof
from tests.contracts.talk import say, texts

ROOT = Path(backscroll.__file__).parents[1]

#: Words that stand nowhere else, so that finding one means that it was left behind.
TEXT = "Ultramarine pelicans rehearse quietly"
CHINESE = "青铜骑士的密码是长颈鹿"
AUTHOR = "Wilhelmina Qvist"
ARGUMENT = "zanzibar/quagmire.txt"
REASONING = "perchance the marmalade"
RESULT = "hieroglyphic turnip"
OPAQUE = "obsidian flute"
EXTRA = "kaleidoscope ledger"
METADATA = "borborygmus"
EDITED = "Crimson walruses improvise loudly"
REGENERATED = "Saffron badgers hibernate 琥珀蜥蜴"
PICTURE = b"\x89PNG" + hashlib.sha256(b"a picture").digest() * 40
EVERYTHING = [
    TEXT,
    CHINESE,
    AUTHOR,
    ARGUMENT,
    REASONING,
    RESULT,
    OPAQUE,
    EXTRA,
    METADATA,
    EDITED,
    REGENERATED,
]

CONTENT = Content(
    (
        Text(f"{TEXT} {CHINESE}", {"note": EXTRA}),
        Reasoning(REASONING, "sig"),
        ToolCall("call_9", "excavate", {"path": ARGUMENT, "deep": [CHINESE]}),
        ToolResult("call_9", (Text(RESULT), Media("image/png", data=PICTURE))),
        Opaque("vendor", "kind", json.dumps({"secret": OPAQUE})),
    ),
    author=AUTHOR,
    metadata={"mood": METADATA},
)


def raw(folder: Path) -> bytes:
    """Every byte of every file in a folder."""
    return b"\0\0".join(p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file())


def traces(folder: Path, words: Sequence[str], digests: Sequence[bytes] = ()) -> list[str]:
    """What is left of some words: as they are, in pieces, as index words, as hashes of any kind that could be guessed."""
    data = raw(folder)
    pieces: dict[str, bytes] = {}
    for word in words:
        for piece in {word, *word.split(), *word.lower().split(), *_pairs(word), *_stems(word)}:
            pieces[piece] = piece.encode()
        pieces[f"sha256 of {word}"] = hashlib.sha256(word.encode()).digest()
        pieces[f"sha256 in hex of {word}"] = hashlib.sha256(word.encode()).hexdigest().encode()
    for digest in digests:
        pieces[f"content hash {digest.hex()[:8]}"] = digest
        pieces[f"content hash in hex {digest.hex()[:8]}"] = digest.hex().encode()
    return [name for name, piece in pieces.items() if len(piece) > 3 and piece in data]


def _pairs(word: str) -> list[str]:
    return [word[i : i + 2] for i in range(len(word) - 1)] if not word.isascii() else []


def _stems(word: str) -> list[str]:
    return [stem for stem in index_words(word).split() if len(stem) > 4]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[backscroll.Engine]:
    """An open store in a folder of its own, with enough other messages that pages are shared."""
    with backscroll.open(tmp_path / "store" / "store.db") as opened:
        other = opened.create("Other")
        say(other, *(f"u ordinary line {n} 普通的一行" for n in range(150)))
        yield opened


def busy(thread: backscroll.Thread) -> backscroll.Message:
    """A message with everything in it, edited and regenerated among others."""
    say(thread, *(f"a before {n}" for n in range(40)))
    message = thread.append("assistant", CONTENT)
    say(thread, *(f"u after {n}" for n in range(40)))
    thread.edit(message.id, EDITED)
    thread.regenerate(message.id, REGENERATED)
    return message


def hashes(thread: backscroll.Thread, message: backscroll.Message) -> list[bytes]:
    """The content hashes of all revisions, and of the picture."""
    found = [bytes.fromhex(r.digest) for r in thread.revisions(message.id) if r.digest]
    assert len(found) == 3
    return [*found, hashlib.sha256(PICTURE).digest()]


def test_text_is_found_before_the_forget(engine: backscroll.Engine, tmp_path: Path) -> None:
    """So that the other tests would notice leftovers."""
    thread = engine.create("Visible")
    message = busy(thread)
    engine.store.scrub()
    found = traces(tmp_path, EVERYTHING, hashes(thread, message))
    missing = [word for word in EVERYTHING if word not in found]
    assert missing == []
    assert PICTURE[:40] in raw(tmp_path)
    assert {f"content hash {d.hex()[:8]}" for d in hashes(thread, message)[:3]} <= set(found)


@pytest.mark.parametrize("state", ["live", "deleted", "old"])
def test_nothing_of_a_forgotten_message_is_left(
    engine: backscroll.Engine, tmp_path: Path, state: str
) -> None:
    """Text, arguments, author, metadata, bytes, index words and hashes are gone from every file at once."""
    thread = engine.create("Kept")
    message = busy(thread)
    digests = hashes(thread, message)
    if state == "deleted":
        thread.delete(message.id)
    if state == "old":
        engine.store.scrub()
    done = thread.forget(message.id)
    assert (done.revisions, done.blobs) == (3, 1)
    assert traces(tmp_path, EVERYTHING, digests) == []
    assert PICTURE[:40] not in raw(tmp_path)
    assert (texts(thread)[0], len(thread)) == ("before 0", 80)
    proof.assert_sound(engine)
    say(thread, "u life goes on")
    assert [h.message for h in engine.search("life").hits] == [thread.message(-1).id]
    assert traces(tmp_path, EVERYTHING, digests) == []


def test_nothing_is_left_in_forks(engine: backscroll.Engine, tmp_path: Path) -> None:
    """Including what forks made of the message, and text that only a fork still showed."""
    thread = engine.create("Root")
    message = busy(thread)
    fork = thread.fork(title="Fork")
    fork.edit(message.id, f"{CHINESE} in the fork, by {AUTHOR}")
    deeper = fork.fork()
    deeper.regenerate(message.id, f"{OPAQUE} deeper")
    digests = hashes(thread, message) + [
        bytes.fromhex(r.digest) for t in (fork, deeper) for r in t.revisions(message.id) if r.digest
    ]
    deeper.forget(message.id)
    assert traces(tmp_path, EVERYTHING, digests) == []
    assert [len(t) for t in (thread, fork, deeper)] == [80, 80, 80]
    proof.assert_sound(engine)


def test_nothing_of_a_forgotten_thread_is_left(engine: backscroll.Engine, tmp_path: Path) -> None:
    """Title, tags, project, metadata, code changes and every message, from the forks as well."""
    words = [
        "Marzipan obelisk",
        "verdigris",
        "chrysanthemum-vault",
        "神秘的标题",
        "velocipede",
        "sarsaparilla.py",
    ]
    thread = engine.create(
        f"{words[0]} {words[3]}", project=words[2], tags=[words[1]], metadata={"k": words[4]}
    )
    message = busy(thread)
    thread.rename("Plain")
    thread.undo()
    thread.log_code_change(words[4], words[5])
    digests = hashes(thread, message)
    fork = thread.fork()
    fork.rename("Renamed")
    fork.undo()
    fork.describe(project="elsewhere")
    say(fork, "u the fork's own")
    engine.set_tokens({message.revision: 11}, "cl100k_base")
    thread.mark_processed(1, thread.turn(1).version)
    thread.forget_thread()
    assert traces(tmp_path, [*EVERYTHING, *words], digests) == []
    assert (texts(fork), fork.info.title, fork.info.project) == (["the fork's own"], "", "elsewhere")
    proof.assert_sound(engine)


def test_idle_reader_keeps_nothing(engine: backscroll.Engine, tmp_path: Path) -> None:
    """A process that has the store open but is not reading does not keep the text."""
    thread = engine.create("Shared")
    message = busy(thread)
    script = (
        "import sys, backscroll; e = backscroll.open(sys.argv[1]); t = e.thread(sys.argv[2]); n = len(list(t));"
        "print(n, flush=True); input(); print(len(list(t)), flush=True)"
    )
    place = str(tmp_path / "store" / "store.db")
    with programs.start(
        [sys.executable, "-c", script, place, thread.id],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        assert reader.stdout.readline() == "81\n"
        done = thread.forget(message.id)
        assert traces(tmp_path, EVERYTHING) == []
        assert not any("another program" in what for what in done.unreachable)
        reader.stdin.write("\n")
        reader.stdin.flush()
        assert reader.stdout.readline() == "80\n"


def test_active_reader_is_reported(tmp_path: Path) -> None:
    """If another program keeps old pages in use, the report says so, and a later forget finishes the work."""
    place = tmp_path / "store.db"
    with backscroll.open(place, patience=0.2) as engine:
        thread = engine.create("Shared")
        message = busy(thread)
        with closing(sqlite3.connect(place, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM events").fetchone()
            done = thread.forget(message.id)
            assert any("another program" in what for what in done.unreachable)
            assert engine.search("pelicans").hits == []
        thread.forget(message.id)
        assert traces(tmp_path, EVERYTHING) == []


def test_shared_blobs_are_kept_on_request(engine: backscroll.Engine, tmp_path: Path) -> None:
    """With `keep_shared` the picture stays for the other message; the text is erased."""
    thread, other = engine.create("One"), engine.create("Two")
    message = busy(thread)
    other.append("user", Media("image/png", data=PICTURE))
    thread.forget(message.id, keep_shared=True)
    assert PICTURE[:40] in raw(tmp_path)
    assert engine.blob(hashlib.sha256(PICTURE).hexdigest()) == PICTURE
    assert traces(tmp_path, EVERYTHING) == []


def test_fingerprint_of_a_forgotten_message_proves_no_guess(engine: backscroll.Engine) -> None:
    """It fits thousands of other texts, and is salted anew for each."""
    thread = engine.create("Marks")
    first, second = say(thread, f"u {TEXT}", f"u {TEXT}")
    thread.forget(first.id, second.id)
    event = next(e for e in thread.events(newest_first=True) if e.kind == "forgotten")
    one, two = event.head["messages"]
    assert one["salt"] != two["salt"]
    assert [len(mark) for mark in one["marks"] + two["marks"]] == [3, 3]
    assert set(one) == {"message", "salt", "marks"}
