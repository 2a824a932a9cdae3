"""The word index of the SQLite file: which revisions are in it, and under which words.

FTS5 keeps no copy of the words. They follow from the sealed body, and removing a revision from the index needs exactly the
words that went in. So each row of `indexed` names the recipe that made them; if it is not ours (another Python has other
characters, another stemmer other stems), the words are read back from the index itself, which is slow but exact.

Words of many messages written at once may wait (`events.doc` is 0): the first search, or background work, indexes them.
Callers decide what belongs in the index.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, cast

from backscroll.errors import BackscrollError
from backscroll.recall.text.words import index_words, recipe_number
from backscroll.record.chain import DAMAGE
from backscroll.record.content import original, searchable
from backscroll.record.ports import SearchFilter
from backscroll.stores.columns import plain
from backscroll.stores.sqlite.compression import unpack_body
from backscroll.vocab.message import checked_role

#: In `events.doc`: shown by some history, and not in the index yet.
WAITING = 0
#: Messages indexed per transaction, which limits the wait of other writers.
AT_ONCE = 500


def register(connection: sqlite3.Connection) -> None:
    """Register the SQL functions that compute index words, used by the view `indexed_words` and its migration."""
    connection.create_function("index_words", 2, _words_or_nothing, deterministic=True)
    connection.create_function("words_recipe", 3, _recipe_of, deterministic=True)


def words_of(body: bytes | None, size: int) -> str | None:
    """Return the index words of a stored body; None if it cannot be read."""
    try:
        return None if body is None else index_words(searchable(original(unpack_body(body, size) or b"")))
    except (*DAMAGE, BackscrollError):
        return None


def _words_or_nothing(body: Any, size: Any) -> str:
    return words_of(body, size) or ""


def _recipe_of(text: Any, body: Any, size: Any) -> int:
    """Return our recipe if it makes these words from this body; else 0, which no recipe has."""
    return recipe() if words_of(body, size) == text else 0


def recipe() -> int:
    """Return the number of the recipe by which this process makes index words."""
    return recipe_number()


def add(connection: sqlite3.Connection, key: int, words: str) -> int:
    """Add a revision to the index; return its number there."""
    sql = "INSERT INTO indexed (event, recipe) VALUES (?, ?)"
    doc = connection.execute(sql, (key, recipe())).lastrowid
    connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (doc, words))
    return doc or 0


def add_all(connection: sqlite3.Connection, words: Sequence[tuple[int, str]]) -> dict[int, int]:
    """Add many revisions to the index, by their keys; return their numbers there."""
    if not words:
        return {}
    first = connection.execute("SELECT coalesce(max(doc), 0) + 1 FROM indexed").fetchone()[0]
    made_by = recipe()
    docs = {key: doc for doc, (key, _) in enumerate(words, first)}
    rows = ((doc, key, made_by) for key, doc in docs.items())
    connection.executemany("INSERT INTO indexed (doc, event, recipe) VALUES (?, ?, ?)", rows)
    texts = ((docs[key], text) for key, text in words)
    connection.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", texts)
    return docs


def remove(connection: sqlite3.Connection, key: int | None) -> None:
    """Remove a revision from the index, or from those waiting for it."""
    sql = (
        "SELECT v.doc, i.recipe, v.body, v.unpacked FROM events v LEFT JOIN indexed i ON i.doc = v.doc AND i.event = v.key "
        "WHERE v.key = ? AND v.doc IS NOT NULL"
    )
    row = connection.execute(sql, (key,)).fetchone()
    if row is None:
        return
    doc, made_by, body, size = row
    if made_by is not None:  # else it waits, or the row is damaged, and the number belongs to another
        words = words_of(body, size) if made_by == recipe() else None
        remove_words(connection, doc, held_words(connection, doc) if words is None else words)
    # The number may be reused for the next entry: the event must not keep it.
    connection.execute("UPDATE events SET doc = NULL WHERE key = ?", (key,))


def remove_words(connection: sqlite3.Connection, doc: int, words: str) -> None:
    """Remove one entry with these words from the index."""
    connection.execute("INSERT INTO words (words, rowid, text) VALUES ('delete', ?, ?)", (doc, words))
    connection.execute("DELETE FROM indexed WHERE doc = ?", (doc,))


def held_words(connection: sqlite3.Connection, doc: int) -> str:
    """Return the words that the index itself holds for an entry: one pass over the whole index."""
    _see_places(connection)
    sql = "SELECT term FROM temp.word_places WHERE doc = ? ORDER BY offset"
    return " ".join(row[0] for row in connection.execute(sql, (doc,)))


def _see_places(connection: sqlite3.Connection) -> None:
    connection.execute(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.word_places USING fts5vocab (main, words, instance)"
    )


def waiting(connection: sqlite3.Connection) -> bool:
    """Return True if text is waiting to be indexed."""
    sql = "SELECT 1 FROM events INDEXED BY events_waiting WHERE doc = 0 LIMIT 1"
    return connection.execute(sql).fetchone() is not None


def index_waiting(connection: sqlite3.Connection, most: int) -> int:
    """Index waiting text, oldest first; return how many entries."""
    sql = (
        "SELECT key, body, unpacked FROM events INDEXED BY events_waiting WHERE doc = 0 ORDER BY key LIMIT ?"
    )
    rows = connection.execute(sql, (most,)).fetchall()
    found = [(key, words) for key, body, size in rows if (words := words_of(body, size))]
    docs = add_all(connection, found)
    updates = ((docs.get(key), key) for key, _, _ in rows)
    connection.executemany("UPDATE events SET doc = ? WHERE key = ?", updates)
    return len(rows)


def rebuild(connection: sqlite3.Connection) -> None:
    """Rebuild the whole index from the bodies of the revisions that belong in it."""
    connection.execute("DELETE FROM indexed WHERE event NOT IN (SELECT key FROM events)")
    connection.execute("UPDATE indexed SET recipe = ?", (recipe(),))
    connection.execute("INSERT INTO words (words) VALUES ('rebuild')")


def misfits(connection: sqlite3.Connection) -> list[int]:
    """Return the events whose index words are wrong; one pass over the whole index."""
    _see_places(connection)
    held: dict[int, int] = {}
    for term, doc, offset in connection.execute("SELECT term, doc, offset FROM temp.word_places"):
        held[doc] = held.get(doc, 0) + hash((term, offset))
    rows = connection.execute(
        "SELECT i.doc, i.event, v.body, v.unpacked FROM indexed i JOIN events v ON v.key = i.event"
    )
    return [
        event
        for doc, event, body, size in rows
        if held.get(doc, 0) != sum(map(hash, _places(words_of(body, size) or "")))
    ]


def _places(words: str) -> list[tuple[str, int]]:
    return [(word, offset) for offset, word in enumerate(words.split())]


def filters(wanted: SearchFilter, number: Callable[[str], int | None]) -> tuple[str, str, list[object]]:
    """Return the joins, conditions and values that filter a search; `number` maps a thread to its number."""
    joins, where, values = "", "", cast("list[object]", [])
    if wanted.roles or wanted.tool is not None or wanted.since_us is not None or wanted.until_us is not None:
        joins += " JOIN events v ON v.key = i.event"
    if wanted.project is not None or wanted.kind is not None or wanted.users is not None:
        joins += " JOIN threads t ON t.no = i.event >> 32"
    if wanted.threads is not None:
        numbers = [n for n in map(number, wanted.threads) if n is not None]
        where += f" AND i.event >> 32 IN ({','.join('?' * len(numbers))})"
        values += numbers
    if wanted.users is not None:
        where += f" AND t.person IN ({','.join('?' * len(wanted.users))})"
        values += map(plain, wanted.users)
    if wanted.roles:
        where += f" AND v.role IN ({','.join('?' * len(wanted.roles))})"
        values += [checked_role(role) for role in wanted.roles]
    for column, sign, value in (
        ("v.said_us", ">=", wanted.since_us),
        ("v.said_us", "<", wanted.until_us),
        ("t.project", "=", wanted.project),
        ("t.kind", "=", wanted.kind),
    ):
        if value is not None:
            where += f" AND {column} {sign} ?"
            values.append(plain(value) if isinstance(value, str) else value)
    if wanted.tool is not None:
        where += " AND instr(v.tools, ?)"
        values.append(f"\n{plain(wanted.tool)}\n")
    return " JOIN indexed i ON i.doc = words.rowid" + joins if where else "", where, values
