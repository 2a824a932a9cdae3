"""Log requests to a scripted service as JSON lines in a file that tests in other processes can read.

Owns the shape of those lines: one for every request, written before it is answered (`"event": "asked"`), and one for the end of
every answer (`"event": "ended"`). It never contains keys: headers are not logged.
"""

from __future__ import annotations

import json
from pathlib import Path

from backscroll.testing.decision import RequestDecision
from backscroll.testing.request import ScriptedRequest
from backscroll.vocab.part import Json


class RequestLog:
    """A log file that grows by whole lines."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._path.touch()

    def log_request(self, asked: ScriptedRequest, decided: RequestDecision, words: int) -> None:
        """Log a request and its decision."""
        said, fault = decided.said, decided.fault
        line: dict[str, Json] = {
            "event": "asked",
            "number": decided.number,
            "wire": asked.wire,
            "model": asked.model,
            "streamed": asked.streamed,
            "status": 200 if fault is None else fault.status,
            "flaw": decided.flaw,
            "words": words,  # tokens of the text, without wire overhead
        }
        if fault is not None:
            line["fault"] = fault.message
        elif said is not None:
            line["text"] = said.text
            line["calls"] = [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in said.calls]
            line["usage"] = {
                "input": said.input,
                "cached": said.cached,
                "written": said.written,
                "output": said.output,
                "reasoning": said.thought,
            }
        self._write({**line, "body": dict(asked.body)})

    def log_end(self, number: int, how: str) -> None:
        """Log the end of an answer."""
        self._write({"event": "ended", "number": number, "how": how})

    def _write(self, line: dict[str, Json]) -> None:
        text = json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        # One write per line: readers never see a partial line followed by another.
        with self._path.open("ab", buffering=0) as file:
            file.write(text)
