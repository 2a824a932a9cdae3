"""A small program in the manner of SillyTavern, and a history of ours in memory, for the tests of sync.

`Client` has a chat that people send to, edit, delete from, swipe, hide and move in, and shows it in two ways: as the chat array that
it would save (`chat`), and as the prompt that it would send (`prompt`: joined, trimmed, with lore injected). `Memory` carries out
plans by the letter, refuses operations that make no sense, and never lets go of a revision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from backscroll.reconcile import operations as op
from backscroll.vocab.foreign import ForeignMessage
from backscroll.vocab.ids import Ref
from backscroll.vocab.message import Content, Role
from backscroll.vocab.part import Text

THREAD = "0" * 32


def said(text: str, author: str | None = None) -> Content:
    """Words, and who signed them."""
    return Content((Text(text),), author)


def msg(role: Role, text: str, **more: object) -> ForeignMessage:
    """A message of theirs."""
    return ForeignMessage(role, said(text), **more)  # type: ignore[arg-type]


def chat_of(*lines: str) -> list[ForeignMessage]:
    """A list of theirs from lines like `u hello`, `a hi`, `s be kind`."""
    roles: dict[str, Role] = {"u": "user", "a": "assistant", "s": "system", "t": "tool"}
    return [msg(roles[line[0]], line[2:]) for line in lines]


@dataclass(slots=True)
class Slot:
    """One message of ours with every revision it ever had."""

    id: Ref
    role: Role
    live: int
    revisions: list[tuple[Ref, Content]]
    at: str | None = None
    source_ids: tuple[str, ...] = ()
    hidden: bool = False
    deleted: bool = False
    forgotten: bool = False
    forget_check: op.ForgetCheck | None = None

    @property
    def content(self) -> Content:
        return self.revisions[self.live][1]


@dataclass(slots=True)
class Memory:
    """Our history in memory: the reference for what the operations of a plan mean."""

    slots: list[Slot] = field(default_factory=list[Slot])
    numbers: int = 0

    @classmethod
    def holding(cls, messages: Iterable[ForeignMessage]) -> Memory:
        """A history that says what a list of theirs says."""
        memory = cls()
        for message in messages:
            memory.slots.append(memory._slot(message))
        return memory

    def _ref(self) -> Ref:
        self.numbers += 1
        return Ref(THREAD, self.numbers)

    def _slot(self, message: ForeignMessage) -> Slot:
        contents = list(message.alternatives) or [message.content]
        live = message.chosen if message.alternatives else 0
        contents[live] = message.content
        ids = (message.source_id,) if message.source_id else ()
        revisions = [(self._ref(), content) for content in contents]
        return Slot(self._ref(), message.role, live, revisions, message.at, ids, message.hidden)

    def ours(self) -> list[op.OurEntry]:
        """The instructions of a planner."""
        return [
            op.OurEntry(
                slot.id,
                slot.role,
                Content(()) if slot.forgotten else slot.content,
                slot.at,
                slot.source_ids,
                tuple(op.KnownRevision(r, c) for k, (r, c) in enumerate(slot.revisions) if k != slot.live),
                slot.hidden,
                slot.deleted,
                slot.forgotten,
                slot.forget_check,
            )
            for slot in self.slots
        ]

    def live(self) -> list[Slot]:
        """What is in the history, hidden messages included."""
        return [slot for slot in self.slots if not slot.deleted and not slot.forgotten]

    def texts(self) -> list[str]:
        """The words of the live history."""
        return [slot.content.text for slot in self.live()]

    def everything(self) -> set[tuple[Ref, Ref, str]]:
        """Every revision that can still be reached."""
        return {(slot.id, r, c.text) for slot in self.slots for r, c in slot.revisions}

    def slot(self, name: Ref) -> Slot:
        """The message by this id."""
        return next(slot for slot in self.slots if slot.id == name)

    def apply(self, plan: op.SyncPlan) -> None:
        """Carry out a plan, in order."""
        names: dict[op.NewRef, Ref] = {}
        for operation in plan.operations:
            self._apply(operation, names)

    def _apply(self, operation: op.Operation, names: dict[op.NewRef, Ref]) -> None:
        match operation:
            case op.Append(new, message):
                self.slots.append(self._slot(message))
                names[new] = self.slots[-1].id
            case op.Insert(new, message, after):
                slot = self._slot(message)
                self.slots.insert(self._after(after, names), slot)
                names[new] = slot.id
            case op.Move(name, after):
                slot = self._standing(name)
                assert name != after
                self.slots.remove(slot)
                self.slots.insert(self._after(after, names), slot)
            case op.Restore(name):
                slot = self.slot(name)
                assert slot.deleted
                assert not slot.forgotten
                slot.deleted = False
            case _:
                self._change(operation)

    def _change(self, operation: op.Operation) -> None:
        assert not isinstance(operation, op.Append | op.Insert | op.Move | op.Restore)
        slot = self._standing(operation.id)
        match operation:
            case op.Delete():
                slot.deleted = True
            case op.Hide() | op.Unhide():
                assert slot.hidden == isinstance(operation, op.Unhide)
                slot.hidden = not slot.hidden
            case op.Choose(_, revision):
                found = [k for k, (r, _) in enumerate(slot.revisions) if r == revision]
                assert found
                assert found[0] != slot.live
                slot.live = found[0]
            case op.AddAlternative(_, content):
                slot.revisions.append((self._ref(), content))
            case op.Edit(_, content) | op.Regenerate(_, content):
                assert content != slot.content
                slot.revisions.append((self._ref(), content))
                slot.live = len(slot.revisions) - 1
                if isinstance(operation, op.Regenerate):
                    slot.at = operation.at or slot.at

    def _standing(self, name: Ref) -> Slot:
        slot = self.slot(name)
        assert not slot.deleted
        assert not slot.forgotten
        return slot

    def _after(self, place: op.Place, names: dict[op.NewRef, Ref]) -> int:
        if place is None:
            return 0
        name = names[place] if isinstance(place, op.NewRef) else place
        slot = self.slot(name)
        assert not slot.deleted
        return self.slots.index(slot) + 1


@dataclass(slots=True)
class Line:
    """One message of the client. It has no id: its place identifies it."""

    role: Role
    name: str
    swipes: list[str]
    chosen: int = 0
    hidden: bool = False
    source: str | None = None  # an id and a time, which copies share; SillyTavern itself has no ids
    at: str | None = None

    @property
    def text(self) -> str:
        return self.swipes[self.chosen]

    def copy(self) -> Line:
        return replace(self, swipes=list(self.swipes))


@dataclass(frozen=True, slots=True)
class Rendering:
    """How the client makes a prompt."""

    keep: int | None = None  # how many visible messages fit, counted from the end
    join: bool = False
    names: bool = False
    lore: tuple[tuple[int, str], ...] = ()  # (depth from the end, text), as system blocks
    system: str = "You are Ellie, a forest elf."
    marker: str = "[Start a new Chat]"


@dataclass(slots=True)
class Client:
    """A program with a chat. `pick` chooses among so many possibilities; `words` says something."""

    pick: Callable[[int], int]
    words: Callable[[], str]
    user: str = "Sam"
    character: str = "Ellie"
    lines: list[Line] = field(default_factory=list[Line])

    def act(self, what: str) -> None:
        """Do one of `ACTIONS`; does nothing where it makes no sense."""
        if what in {"send", "reply"} or self.lines:
            getattr(self, what)()

    def send(self) -> None:
        self.lines.append(Line("user", self.user, [self.words()]))

    def reply(self) -> None:
        self.lines.append(Line("assistant", self.character, [self.words()]))

    def _any(self) -> int:
        return self.pick(len(self.lines))

    def edit(self) -> None:
        line = self.lines[self._any()]
        line.swipes[line.chosen] = self.words()

    def touch_up(self) -> None:
        line = self.lines[self._any()]
        line.swipes[line.chosen] += "!"

    def delete(self) -> None:
        del self.lines[self._any()]

    def delete_from_here(self) -> None:
        del self.lines[self._any() :]

    def regenerate(self) -> None:
        if self.lines[-1].role == "assistant":
            self.lines[-1] = Line("assistant", self.character, [self.words()])

    def swipe_new(self) -> None:
        last = self.lines[-1]
        if last.role == "assistant":
            last.swipes.append(self.words())
            last.chosen = len(last.swipes) - 1

    def swipe(self) -> None:
        last = self.lines[-1]
        last.chosen = self.pick(len(last.swipes))

    def hide(self) -> None:
        line = self.lines[self._any()]
        line.hidden = not line.hidden

    def move(self) -> None:
        line = self.lines.pop(self._any())
        self.lines.insert(self.pick(len(self.lines) + 1), line)

    def move_up(self) -> None:
        at = self._any()
        if at:
            self.lines[at - 1], self.lines[at] = self.lines[at], self.lines[at - 1]

    def copy(self) -> None:
        at = self._any()
        self.lines.insert(at + 1, self.lines[at].copy())

    def insert(self) -> None:
        self.lines.insert(self._any(), Line("user", self.user, [self.words()]))

    def branch(self) -> None:
        self.lines = [line.copy() for line in self.lines[: self._any() + 1]]

    def rename(self) -> None:
        self.character += "a"
        for line in self.lines:
            if line.role == "assistant":
                line.name = self.character

    def chat(
        self, *, keep: int | None = None, swipes: bool = True, names: bool = True
    ) -> list[ForeignMessage]:
        """The chat array, or its last so many messages."""
        shown = self.lines[-keep:] if keep else self.lines
        return [
            ForeignMessage(
                line.role,
                said(line.text, line.name if names else None),
                line.at,
                line.source,
                alternatives=tuple(said(s, line.name if names else None) for s in line.swipes)
                if swipes and len(line.swipes) > 1
                else (),
                chosen=line.chosen if swipes and len(line.swipes) > 1 else 0,
                hidden=line.hidden,
            )
            for line in shown
        ]

    def shown(self, how: Rendering) -> list[Line]:
        """The messages that a prompt has room for."""
        visible = [line for line in self.lines if not line.hidden]
        return visible[-how.keep :] if how.keep else visible

    def prompt(self, how: Rendering) -> list[ForeignMessage]:
        """What is sent to the model: a rendering of the chat."""
        chat = [
            msg(line.role, f"{line.name}: {line.text}" if how.names else line.text.replace("\r", ""))
            for line in self.shown(how)
        ]
        for depth, text in sorted(how.lore):
            chat.insert(max(len(chat) - depth, 0), msg("system", text))
        out = [msg("system", how.system), *([msg("system", how.marker)] if how.marker else []), *chat]
        return joined(out) if how.join else out


def joined(messages: Sequence[ForeignMessage]) -> list[ForeignMessage]:
    """Neighbours of one role made one, with a blank line between."""
    out: list[ForeignMessage] = []
    for message in messages:
        if out and out[-1].role == message.role:
            text = f"{out[-1].content.text}\n\n{message.content.text}"
            out[-1] = replace(out[-1], content=said(text))
        else:
            out.append(message)
    return out


ACTIONS = (
    "send",
    "reply",
    "edit",
    "touch_up",
    "delete",
    "delete_from_here",
    "regenerate",
    "swipe_new",
    "swipe",
    "hide",
    "move",
    "move_up",
    "copy",
    "insert",
    "branch",
    "rename",
)
