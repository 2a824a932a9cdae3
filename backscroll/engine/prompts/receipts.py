"""Receipts of a thread's last prompts, as stored; the newest is cached."""

from __future__ import annotations

from backscroll.assemble.receipt import Receipt, receipt_from_bytes
from backscroll.engine.core.thread_scope import ThreadScope
from backscroll.engine.prompts.composition.composer import WINDOWS

#: Receipts stored per thread.
KEPT = 20


def receipts(thread: ThreadScope, limit: int = KEPT) -> list[Receipt]:
    """Return the receipts of the last prompts, newest first."""
    rows = thread.store.read(lambda reader: reader.receipts(thread.id, limit))
    return [receipt_from_bytes(row) for row in rows]


def last_receipt(thread: ThreadScope) -> Receipt | None:
    """Return the receipt of the last prompt, decoded only if this process has not made it."""
    rows = thread.store.read(lambda reader: reader.receipts(thread.id, 1))
    if not rows:
        return None
    shelf = thread.engine.memo.shelf("receipts", WINDOWS)
    body, receipt = shelf.get(thread.id, (None, None))
    if receipt is None or body != rows[0]:
        receipt = receipt_from_bytes(rows[0])
        shelf[thread.id] = (rows[0], receipt)
    return receipt


def keep_receipt(thread: ThreadScope, receipt: Receipt) -> None:
    """Store the receipt of a prompt."""
    engine, body = thread.engine, receipt.to_bytes()
    engine.store.write(lambda tx: tx.keep_receipt(thread.id, receipt.at, body, KEPT))
    engine.memo.shelf("receipts", WINDOWS)[thread.id] = (body, receipt)
