"""Children that forget and are killed, one at each step of it: `python -m tests.crash.forgetting STORE FOLDER FILES EVERY`.

STORE is a PostgreSQL address, in which every child is a tenant of its own, or a folder, in which it has a file; EVERY: only each n-th step. A step is a statement of SQL, counted from
the commit of the forget: through commit, dialogue files (in FOLDER), rewriting and the end of the note. After each
death the store is opened again, and FILES, where its bytes are, are searched for the secret. Prints what was seen, as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import backscroll


def secret(step: int) -> str:
    """What the child of one step forgets."""
    return f"xylophone{step}quartz"


class Counter:
    """Kills the process at the n-th moment."""

    def __init__(self, step: int) -> None:
        self.left = step
        self.armed = self.counting = False

    def moment(self, sql: object) -> None:
        """One more moment has come; the first is the commit of the forget."""
        self.counting = self.counting or (self.armed and sql in ("COMMIT", b"COMMIT"))
        if self.counting and self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= self.counting


def watch_sqlite(counter: Counter) -> None:
    """Every statement that a connection begins is a moment; those inside of VACUUM are one."""
    from backscroll.stores.sqlite import store as module

    connect = module.connect

    def watched(*arguments: Any, **options: Any) -> Any:
        connection = connect(*arguments, **options)
        connection.set_trace_callback(lambda sql: None if sql.startswith("--") else counter.moment(sql))
        return connection

    module.connect = watched


def watch_postgres(counter: Counter) -> None:
    """Every statement that goes to the server is a moment."""
    import psycopg

    execute = psycopg.Cursor.execute

    def watched(self: Any, *arguments: Any, **options: Any) -> Any:
        counter.moment(arguments[0])
        return execute(self, *arguments, **options)

    psycopg.Cursor.execute = watched


def forget(place: str, step: int, folder: str) -> None:
    """Make a conversation, begin to forget some of it, and be killed."""
    counter = Counter(step)
    (watch_postgres if place.startswith("postgresql:") else watch_sqlite)(counter)
    store = backscroll.open(place, background=False, storage_dir=folder, tenant=f"step {step}")
    thread = store.create("talk")
    thread.append("user", "kept words")
    said = thread.append("user", f"{secret(step)} was said " * 40)
    thread.fork().append("user", "in the fork")
    counter.armed = True
    thread.forget(said.id)
    store.close()


def killed(place: str, step: int, folder: str) -> bool:
    """True where the child was killed at that step; False where it came to its end before."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            forget(place, step, folder)
            code = 0
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL), code
    return code != 0


def holders(word: str, *folders: str) -> list[str]:
    """Files that hold a word."""
    out: list[str] = []
    for folder in folders:
        for place, _, names in os.walk(folder):
            for name in names:
                try:
                    if word.encode() in Path(place, name).read_bytes():
                        out.append(name)
                except FileNotFoundError:  # the server takes files away while we look
                    continue
    return out


def was_due(place: str) -> bool:
    """True where the store says that a rewrite is due, asked without opening it as a store."""
    if place.startswith("postgresql:"):
        import psycopg

        others = (
            "pid <> pg_backend_pid() AND backend_type = 'client backend' AND datname = current_database()"
        )
        with psycopg.connect(place, autocommit=True) as admin:
            # The server may not have noticed yet that the child is gone.
            while admin.execute(
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}"
            ).fetchall():
                pass
            found = admin.execute("SELECT count(*) FROM backscroll_meta WHERE key LIKE 'scrub:%'").fetchone()
    else:
        import sqlite3
        from contextlib import closing

        with closing(sqlite3.connect(place)) as look:
            found = look.execute("SELECT count(*) FROM meta WHERE key LIKE 'scrub:%'").fetchone()
    return bool(found and found[0])


def look_after(place: str, folder: str, files: str, step: int) -> dict[str, Any]:
    """What a death left, and what the next opening made of it."""
    due = was_due(place)
    with backscroll.open(place, background=False, storage_dir=folder, tenant=f"step {step}") as engine:
        texts = [m.text for info in engine.threads() for m in engine.thread(info.id)]
        gone = not any(secret(step) in text for text in texts)
        verdict = engine.verify()
        if place.startswith("postgresql:"):
            import psycopg

            with psycopg.connect(place, autocommit=True) as admin:
                admin.execute("CHECKPOINT")
    found = holders(secret(step), files, folder)
    wrong: list[str] = []
    if not verdict.ok or verdict.scrub_due:
        wrong.append(f"step {step}: verify says {verdict}")
    if gone and found:
        wrong.append(f"step {step}: forgotten, and still in {found}")
    if not gone and (due or not found):
        wrong.append(f"step {step}: not forgotten, note {due}, in {found}")
    return {"due": due, "gone": gone, "wrong": wrong}


def main() -> None:
    """Kill a child at every step and look."""
    place, folder, files, every = sys.argv[1:]
    seen: list[dict[str, Any]] = []
    while True:
        step = len(seen) * int(every)
        at = place if place.startswith("postgresql:") else f"{place}/{step}/store.db"
        own = f"{folder}/dialogues-{step}"
        if not killed(at, step, own):
            break
        seen.append(look_after(at, own, files or f"{place}/{step}", step))
    wrong = [what for each in seen for what in each["wrong"]]
    due, gone = sum(each["due"] for each in seen), sum(each["gone"] for each in seen)
    print(json.dumps({"steps": len(seen), "due": due, "gone": gone, "wrong": wrong}))


if __name__ == "__main__":
    main()
