"""The outcome of a call on one line: by the kind of tool first, then by the shape of the result.

Owns: which rule applies. A command that prints a file, a listing or JSON is digested like a read, a search or a record, because a
later step needs the same information from it.
"""

from __future__ import annotations

from backscroll.derive.digests.calls import CallDetails, scalars
from backscroll.derive.digests.console import command_outcome, with_terms
from backscroll.derive.digests.edits import change_outcome, diff_outcome, plan_outcome
from backscroll.derive.digests.fields import fields_outcome, record_outcome, rows_outcome
from backscroll.derive.digests.listing import is_listing, listing_outcome, matches_most
from backscroll.derive.digests.output_text import cut, join_items, one_line, width
from backscroll.derive.digests.results import ResultDetails
from backscroll.derive.digests.source import (
    fill_line,
    headings,
    is_numbered,
    looks_like_code,
    read_outcome,
    without_gutter,
)
from backscroll.derive.digests.trouble import error_line, has_error_line
from backscroll.vocab.values.pattern import late

_TITLE = late(
    r"(?im)^\W{0,4}(?:title|标题)\s*[:：]\s*(.{2,120})$|<title[^>]*>([^<]{2,160})</title>|^#\s+(.{2,120})$"
)
_STATUS = late(r"(?i)\b(?:HTTP/\d(?:\.\d)?\s+|status(?:[ _]code)?\s*[:=]\s*)(\d{3})\b")
_OUTPUTS = (".log", ".out", ".err", ".trace", ".txt")  # files that hold the output of programs
_SURE = 9  # weight of a line that reports an error regardless of context
_ADDRESS = late(r"https?://[^\s<>\"'`)\]}，。；]+")


def outcome(asked: CallDetails, told: ResultDetails, limit: int) -> str:
    """Return the outcome of a call, on one line of at most `limit` cells."""
    known = "\n".join([asked.name, asked.raw, *scalars(dict(asked.arguments))])[:40_000]
    line = _outcome(asked, told, limit, known)
    extra = join_items(told.media, 60) if told.media else ""
    line = "; ".join(piece for piece in (extra, line) if piece)
    return cut(one_line(line), limit) or "no output"


def _outcome(asked: CallDetails, told: ResultDetails, limit: int, known: str) -> str:
    if told.unreadable:
        return f"{told.unreadable} data, {told.size} characters"
    if not told.text.strip():
        return (
            f"exit {told.exit_code}, no output"
            if told.exit_code
            else ("" if told.media else _nothing(asked, told, limit))
        )
    short = len(told.text) <= 8 * limit  # a longer text cannot be shown whole, so this work is skipped
    whole = " | ".join(one_line(line) for line in told.said) if short else ""
    if whole and width(whole) <= limit and asked.kind not in ("todo", "edit", "write"):
        code = f"exit {told.exit_code}; " if told.exit_code and str(told.exit_code) not in whole else ""
        return code + whole  # a short result is its own best digest
    if told.is_error and asked.kind != "command":
        return _summarize_failure(told, limit, known)
    return _by_kind(asked, told, limit, known)


def _nothing(asked: CallDetails, told: ResultDetails, limit: int) -> str:
    return _by_kind(asked, told, limit, "") if asked.kind in ("write", "edit", "todo") else "no output"


def _summarize_failure(told: ResultDetails, limit: int, known: str) -> str:
    if told.value is not None:
        return fields_outcome(told.value, limit, known)
    line = error_line(told, limit) or cut(one_line(told.said[0]) if told.said else "failed", limit)
    return with_terms([line], told, limit, known)


def _by_kind(asked: CallDetails, told: ResultDetails, limit: int, known: str) -> str:
    match asked.kind:
        case "write" | "edit":
            return change_outcome(asked, told, limit)
        case "todo":
            return plan_outcome(asked, told, limit)
        case "web":
            return _page(asked, told, limit, known)
        case "database":
            return rows_outcome(told.value, told.text, limit) or _by_shape(told, limit, known)
        case "read":
            return (
                _summarize_fields(told, limit, known)
                or (command_outcome(told, limit, known) if _is_output(asked, told) else "")
                or diff_outcome(without_gutter(told.text)[0], limit, known)
                or read_outcome(told, limit, known)
            )
        case "search" | "list":
            return (
                _summarize_fields(told, limit, known)
                or ("" if told.is_log else listing_outcome(told, limit, known))
                or _by_shape(told, limit, known)
            )
        case "command" | "task" | "other":
            return _by_shape(told, limit, known)


def _summarize_fields(told: ResultDetails, limit: int, known: str) -> str:
    return fields_outcome(told.value, limit, known) if told.value is not None else ""


def _by_shape(told: ResultDetails, limit: int, known: str) -> str:
    """Digest the result of an unknown tool by its shape."""
    if told.value is not None:
        return fields_outcome(told.value, limit, known)
    if told.exit_code or told.is_error:
        return command_outcome(told, limit, known)
    if difference := diff_outcome(told.text, limit, known):
        return difference
    if told.is_log:
        return command_outcome(told, limit, known)
    if not matches_most(told) and has_error_line(told, _SURE) and not looks_like_code(told.text):
        return command_outcome(told, limit, known)
    if is_listing(told) and (line := listing_outcome(told, limit, known)):
        return line
    if is_numbered(told.text):
        return read_outcome(told, limit, known)
    if record := record_outcome(told.text, limit, known):
        return record
    if table := rows_outcome(None, told.text, limit):
        return table
    if looks_like_code(told.text):
        return read_outcome(told, limit, known)
    if len(headings(told.text)) > 1:
        return fill_line("", headings(told.text), told.text, limit, known)
    return command_outcome(told, limit, known)


def _is_output(asked: CallDetails, told: ResultDetails) -> bool:
    """Return True for a log, and for program output in a file if it reports errors."""
    return told.is_log or (asked.target.lower().endswith(_OUTPUTS) and has_error_line(told, _SURE))


def _page(asked: CallDetails, told: ResultDetails, limit: int, known: str) -> str:
    """Digest a page or a list of pages: status, title, addresses, headings."""
    if told.value is not None:
        return fields_outcome(told.value, limit, known)
    if _is_output(asked, told):
        return command_outcome(told, limit, known)
    if record := record_outcome(told.text, limit, known):
        return record
    pieces: list[str] = []
    if status := _STATUS.search(told.text[:600]):
        pieces.append(status[1])
    if title := _TITLE.search(told.text):
        pieces.append(cut(one_line(next(group for group in title.groups() if group)), limit // 2))
    addresses = [a.rstrip(".,;:") for a in dict.fromkeys(_ADDRESS.findall(told.text)) if a not in known]
    if len(addresses) > 2:
        room = limit - sum(width(p) + 2 for p in pieces)
        return "; ".join([*pieces, join_items(addresses, room)])
    names = [name for name in headings(told.text) if name not in pieces]
    return fill_line("; ".join(pieces), names, told.text, limit, known)
