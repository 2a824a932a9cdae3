"""Sign and check the thinking of a scripted model.

Owns: signatures bound to the prefix of the thinking, and the rejection of a request that sends it back after another prefix,
worded like the vendor. A signature is self-contained, so another server, or a restarted one, decides alike; requests are kept
only to report where a prompt differs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, cast

from backscroll.assemble.validity.binding import (
    BoundThinking,
    RequestForm,
    RequestPiece,
    Sent,
    form_of,
    mismatch,
)
from backscroll.testing.request import ScriptedRequest
from backscroll.vocab.part import Json

_MARK: Final = "scripted"
_FIELDS: Final = 6
_KEPT: Final = 50  # remembered requests, to report where a prompt differs
_BOUND: Final = (
    "this `{kind}` block is bound to a different conversation: the system prompt, the tools or a message before it are not "
    "what they were when it was generated{where}. Send them unchanged, or remove this block and all later thinking blocks."
)


class ThinkingSignature(NamedTuple):
    """The content of a signature."""

    head: str  # system and tools
    chain: str  # the blocks before, thinking aside
    before: str  # the thinking block before
    number: str  # of the answer
    proof: str  # over all of these and the thinking

    def text(self) -> str:
        """Return the signature."""
        return ".".join((_MARK, *self))


@dataclass(frozen=True, slots=True)
class SignatureCheck:
    """The result of checking the thinking in a request."""

    refusal: str = ""
    dropped: tuple[tuple[int, int], ...] = ()  # message and block of dropped thinking
    last: str = ""  # signature proof of the last accepted thinking block


class SignatureIssuer:
    """Makes and checks the signatures of one service."""

    def __init__(self) -> None:
        self._asked: dict[str, RequestForm] = {}  # the request behind each answer

    def sign(self, asked: ScriptedRequest, number: int, thinking: str, last: str) -> str:
        """Return the signature for the thinking of an answer."""
        form = _form(asked)
        self._asked[str(number)] = form
        if len(self._asked) > _KEPT:
            del self._asked[next(iter(self._asked))]
        head, chain = _head(form), _chain(form.pieces)
        return ThinkingSignature(
            head, chain, last, str(number), _proof(head, chain, last, str(number), thinking)
        ).text()

    def judge(self, asked: ScriptedRequest) -> SignatureCheck:
        """Check whether the thinking in a request is at its original place."""
        form = _form(asked)
        dropping = _drops(asked.body)
        dropped: list[tuple[int, int]] = []
        head, chain, last = _head(form), hashlib.sha256(), ""
        for place, piece in enumerate(form.pieces):
            if not piece.thought:
                chain.update(_link(piece))
                continue
            kind, thinking = _content(asked.body, piece)
            seal = _read(piece.thought)
            path = f"messages.{piece.message}.content.{piece.block}"
            if seal is None or seal.proof != _proof(*seal[:4], thinking):
                return SignatureCheck(
                    f"{path}: Invalid `{'data' if 'redacted' in kind else 'signature'}` in `{kind}` block"
                )
            kept = (seal.head, seal.chain) == (head, chain.hexdigest()[:16])
            if kept and (not last or seal.before == last):
                last = seal.proof
            elif dropping:
                dropped.append((piece.message, piece.block))
            else:
                return SignatureCheck(
                    f"{path}: {_BOUND.format(kind=kind, where=self._difference(seal, form, place))}"
                )
        return SignatureCheck(dropped=tuple(dropped), last=last)

    def _difference(self, seal: ThinkingSignature, form: RequestForm, place: int) -> str:
        """Return where a request differs from the one behind an answer, if that is still known."""
        made = self._asked.get(seal.number)
        if made is None or (_head(made), _chain(made.pieces)) != (seal.head, seal.chain):
            return ""
        piece = form.pieces[place]
        found = mismatch({piece.thought: BoundThinking(made, made.pieces, piece.digest)}, form)
        return "" if found is None else f" (first difference: {found.where})"


def transformations(dropped: Sequence[tuple[int, int]]) -> list[Json]:
    """Return an answer's report of dropped blocks."""
    return [
        {"type": "block_dropped", "reason": "prefix_mismatch", "message_index": n, "content_index": m}
        for n, m in dropped
    ]


def _form(asked: ScriptedRequest) -> RequestForm:
    body = asked.body
    given: Json = body.get("messages")
    messages = cast("list[Json]", given) if isinstance(given, list) else []
    nothing: Mapping[str, Json] = {}
    spoken = [cast("Mapping[str, Json]", m) if isinstance(m, Mapping) else nothing for m in messages]
    return form_of(Sent(spoken, "anthropic", body.get("system"), asked.tools))


def _head(form: RequestForm) -> str:
    return hashlib.sha256(f"{form.system}{form.tools}".encode()).hexdigest()[:16]


def _chain(pieces: Sequence[RequestPiece]) -> str:
    told = b"".join(_link(piece) for piece in pieces if not piece.thought)
    return hashlib.sha256(told).hexdigest()[:16]


def _link(piece: RequestPiece) -> bytes:
    return f"{piece.role}{piece.digest}".encode("utf-8", "replace")


def _proof(head: str, chain: str, before: str, number: str, thinking: str) -> str:
    told = f"{head}\n{chain}\n{before}\n{number}\n{thinking}"
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:16]


def _read(signature: str) -> ThinkingSignature | None:
    fields = signature.split(".")
    return ThinkingSignature(*fields[1:]) if len(fields) == _FIELDS and fields[0] == _MARK else None


def _content(body: Mapping[str, Json], piece: RequestPiece) -> tuple[str, str]:
    block: Json = body["messages"][piece.message]["content"][piece.block]
    return str(block["type"]), str(block.get("thinking") or "")


def _drops(body: Mapping[str, Json]) -> bool:
    """Return True if a request wants such blocks dropped instead of rejected."""
    thinking: Json = body.get("thinking")
    binding: Json = (
        cast("Mapping[str, Json]", thinking).get("block_binding") if isinstance(thinking, Mapping) else None
    )
    if not isinstance(binding, Mapping):
        return False
    return cast("Mapping[str, Json]", binding).get("prefix_mismatch_behavior") == "drop_block"
