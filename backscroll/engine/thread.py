"""The thread that users hold: every operation on a conversation.

Each method is one transaction, durable on return and safe from any OS thread. Reading is inherited from
`engine/core/history`; the graph, tasks, memories and recall from `engine/thread_knowledge`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from backscroll.deprecation import warn_renamed
from backscroll.engine.core.checks import checked_content, checked_label, checked_time
from backscroll.engine.core.history import LoggedChange
from backscroll.engine.core.pen import Pen
from backscroll.engine.core.signatures import doors
from backscroll.engine.core.thread_scope import announce_caller
from backscroll.engine.log import batch, operations
from backscroll.engine.log import erasure as forgetting
from backscroll.engine.log import undo as undoing
from backscroll.engine.log.batch import MessageLike
from backscroll.engine.thread_knowledge import ThreadKnowledge
from backscroll.errors import InvalidInput
from backscroll.vocab.event import Event, Kind
from backscroll.vocab.ids import Ref, parse_ref
from backscroll.vocab.message import ContentLike, Message, Role, checked_role
from backscroll.vocab.part import Json

if TYPE_CHECKING:
    from backscroll.engine.crops.crops import Crop
    from backscroll.engine.engine import Engine
    from backscroll.engine.exchange.sync import SyncReport
    from backscroll.engine.log.differences import Difference
    from backscroll.engine.prompts.builder import Prompt
    from backscroll.engine.prompts.compaction.compaction import CompactionReport
    from backscroll.vocab.foreign import ForeignMessage
    from backscroll.vocab.prompt import Wire

DIALOGUES = "dialogue_history"  # the default folder of dialogue files


@doors
class Thread(ThreadKnowledge):
    """One conversation. Handles keep no state of their own, so two handles on the same thread always agree."""

    def __init__(self, engine: Engine, thread: str, actor: str | None = None) -> None:
        super().__init__(engine, thread, actor)
        self._whole = engine

    @property
    def engine(self) -> Engine:
        """The engine that the thread belongs to."""
        return self._whole

    def __repr__(self) -> str:
        return f"<Thread {self.id[:8]} {self.info.title!r}>"

    def _change_message(self, message: Ref, work: Callable[[Pen], object]) -> Message:
        """Change a message and return it as it is afterwards."""

        def both(pen: Pen) -> Message:
            work(pen)
            entry = operations.standing(pen, message, deleted=True)
            known = pen.spoken.get(entry.revision) or pen.tx.read_spoken([entry.revision])[entry.revision]
            return self._message(entry, known)

        return self.stroke(both)

    # -- appending and editing -------------------------------------------------------------------------------

    def append(
        self,
        role: Role,
        content: ContentLike,
        *,
        author: str | None = None,
        at: str | datetime | None = None,
        hidden: bool = False,
        pinned: bool = False,
        metadata: Mapping[str, Json] | None = None,
    ) -> Message:
        """Append a message; durable on return.

        `metadata` holds JSON values of your own that stay with the message when it is edited; read them from
        `message.metadata`. Prompts do not show them.
        """
        said = partial(batch.append, self, role, content, author=author, at=at)
        message = said(hidden=hidden, pinned=pinned, metadata=metadata)
        if message.role == "user" and self.engine.settings.task_boundaries == "act":
            self.tasks.act_on_boundary()
        return message

    def extend(self, messages: Iterable[MessageLike]) -> list[Message]:
        """Append many messages in one transaction, all or none; durable on return.

        Each is a {role, content} dictionary in the format of OpenAI Chat or Anthropic, a (role, content) pair, or a message
        of another thread. Batches of several hundred or more are indexed for search afterwards: in the background, or by
        the next search.
        """
        return batch.extend(self, messages)

    def append_many(self, messages: Iterable[MessageLike]) -> list[Message]:
        """The old name of `extend`; deprecated."""
        warn_renamed("thread.append_many()", "thread.extend()")
        return self.extend(messages)

    def insert(
        self,
        role: Role,
        content: ContentLike,
        *,
        after: Ref | str | None = None,
        before: Ref | str | None = None,
        author: str | None = None,
        at: str | datetime | None = None,
    ) -> Message:
        """Insert a message between others; without `after` and `before`, at the beginning."""
        if after is not None and before is not None:
            raise InvalidInput("give `after` or `before`, not both")
        checked, what, said = checked_role(role), checked_content(content, author), checked_time(at)

        def work(pen: Pen) -> Event:
            anchor = None if after is None else parse_ref(after)
            if before is not None:
                anchor = operations.one_before(pen, parse_ref(before))
            return operations.insert(pen, checked, what, anchor, said=said)

        return self.message(self.stroke(work).id)

    def edit(self, message: Ref | str, content: ContentLike, *, seen: Ref | str | None = None) -> Message:
        """Replace the content of a message. With `seen` (the revision you read), raise Conflict if it changed since."""
        ref, what = parse_ref(message), checked_content(content, None)
        saw = None if seen is None else parse_ref(seen)
        return self._change_message(ref, lambda pen: operations.edit(pen, ref, what, seen=saw))

    def regenerate(
        self, message: Ref | str, content: ContentLike, *, live: bool = True, seen: Ref | str | None = None
    ) -> Message:
        """Add an alternative (a swipe) to a message; it becomes the live one unless `live` is False."""
        ref, what = parse_ref(message), checked_content(content, None)
        saw = None if seen is None else parse_ref(seen)
        self.stroke(lambda pen: operations.regenerate(pen, ref, what, live=live, seen=saw, sign=True))
        return self.message(ref)

    def choose(self, message: Ref | str, which: Ref | str | int) -> Message:
        """Make an alternative (by number) or a revision (by id) the live one."""
        ref = parse_ref(message)
        target = which if isinstance(which, int) else parse_ref(which)
        return self._change_message(ref, lambda pen: operations.choose(pen, ref, target))

    # -- flags and places ------------------------------------------------------------------------------------

    def _flag(self, kind: Kind, messages: tuple[Ref | str, ...]) -> int:
        refs = [parse_ref(m) for m in messages]

        def work(pen: Pen) -> int:
            group = {"group": pen.state.head + 1} if len(refs) > 1 else None
            return sum(operations.set_flag(pen, kind, ref, head=group) is not None for ref in refs)

        return self.stroke(work)

    def delete(self, *messages: Ref | str) -> int:
        """Delete messages from the history (the log keeps their text); one call is one stroke for `undo`."""
        return self._flag(Kind.DELETED, messages)

    def restore(self, *messages: Ref | str) -> int:
        """Restore deleted messages to their places."""
        return self._flag(Kind.RESTORED, messages)

    def hide(self, *messages: Ref | str) -> int:
        """Hide messages from prompts; they stay in the history."""
        return self._flag(Kind.HIDDEN, messages)

    def unhide(self, *messages: Ref | str) -> int:
        """Show hidden messages in prompts again."""
        return self._flag(Kind.UNHIDDEN, messages)

    def pin(self, *messages: Ref | str) -> int:
        """Pin messages: every prompt includes them."""
        return self._flag(Kind.PINNED, messages)

    def unpin(self, *messages: Ref | str) -> int:
        """Unpin messages."""
        return self._flag(Kind.UNPINNED, messages)

    def move(self, message: Ref | str, *, after: Ref | str | None) -> Message:
        """Move a message after another one; None moves it to the beginning."""
        ref, anchor = parse_ref(message), None if after is None else parse_ref(after)
        return self._change_message(ref, lambda pen: operations.move(pen, ref, anchor))

    def undo(self) -> Event:
        """Undo your last operation on this thread."""
        return self.stroke(undoing.undo)

    def redo(self) -> Event:
        """Redo what your last `undo` reverted."""
        return self.stroke(undoing.redo)

    # -- the thread as a whole -------------------------------------------------------------------------------

    def rename(self, title: str) -> None:
        """Set the title of the thread."""
        self.stroke(lambda pen: operations.rename(pen, title))

    def describe(self, **changes: Json) -> None:
        """Change project, user, kind, language or metadata."""
        self.stroke(lambda pen: operations.describe(pen, changes))

    def tag(self, *names: str) -> None:
        """Add tags to the thread; one call is one stroke for `undo`."""
        self._tag(names, on=True)

    def untag(self, *names: str) -> None:
        """Remove tags from the thread; one call is one stroke for `undo`."""
        self._tag(names, on=False)

    def _tag(self, names: tuple[str, ...], *, on: bool) -> None:
        def work(pen: Pen) -> None:
            group = {"group": pen.state.head + 1} if len(names) > 1 else None
            for name in names:
                operations.tag(pen, name, on=on, head=group)

        self.stroke(work)

    def fork(self, at: Ref | str | None = None, *, title: str | None = None) -> Thread:
        """Return a new thread that shares this one's history up to and including a message; nothing is copied."""
        ref = None if at is None else parse_ref(at)
        made = self.engine.fork(self.id, ref, title=title, actor=self.actor)
        return Thread(self.engine, made, self.actor)

    def log_code_change(
        self,
        description: str,
        file_path: str,
        *,
        at: str | datetime | None = None,
        details: Mapping[str, Json] | None = None,
    ) -> LoggedChange:
        """Record a code change in the log."""
        said = checked_time(at)
        event = self.stroke(
            lambda pen: operations.code_change(pen, description, file_path, said=said, details=details)
        )
        return LoggedChange(event.id, description, file_path, said or event.at)

    def forget(
        self, *messages: Ref | str, keep_shared: bool = False, dry_run: bool = False
    ) -> forgetting.ForgetReport:
        """Erase the text of messages permanently, here and in every fork; `dry_run` only reports what would be erased."""
        refs = [parse_ref(m) for m in messages]
        return self.engine.forget(self.id, refs, actor=self.actor, keep_shared=keep_shared, dry_run=dry_run)

    def forget_thread(self, *, keep_shared: bool = False, dry_run: bool = False) -> forgetting.ForgetReport:
        """Erase the whole thread permanently: the text of its log, and what forks share of it."""
        return self.engine.forget_thread(self.id, actor=self.actor, keep_shared=keep_shared, dry_run=dry_run)

    def sync(
        self,
        messages: Sequence[ForeignMessage | Mapping[str, Any]],
        *,
        mode: Literal["full", "prompt"] = "full",
        complete: bool = False,
        knows_hidden: bool = True,
        names: Sequence[str] = (),
        dry_run: bool = False,
        actor: str | None = None,
    ) -> SyncReport:
        """Compare another program's complete message list with the history and apply the differences; nothing is lost."""
        from backscroll.engine.exchange.sync import sync  # start-up: a store opens without it

        return sync(
            self,
            messages,
            mode=mode,
            complete=complete,
            knows_hidden=knows_hidden,
            names=names,
            dry_run=dry_run,
            actor=actor,
        )

    def sync_file(
        self,
        path: str,
        *,
        format: str | None = None,
        mode: Literal["full", "prompt"] = "full",
        complete: bool = False,
        dry_run: bool = False,
        actor: str | None = None,
    ) -> SyncReport:
        """Sync with the conversation in a file of any readable format; the file is not imported."""
        from backscroll.engine.exchange.imports import read_messages  # start-up: a store opens without it
        from backscroll.engine.exchange.sync import HIDES

        name, messages = read_messages(path, format)
        hides = name in HIDES
        return self.sync(
            messages, mode=mode, complete=complete, knows_hidden=hides, dry_run=dry_run, actor=actor
        )

    def save_dialogue(self, storage_dir: str = DIALOGUES) -> str:
        """Save the dialogue as `dialogue_YYYYmmdd_HHMMSS.json` in a folder; return the path. The log itself needs no saving."""
        from backscroll.engine.exchange.autosave import Autosave  # start-up: a store opens without it

        return str(Autosave(self.engine, Path(storage_dir).expanduser()).save(self.id))

    def diff(self, first: int, second: int | None = None) -> list[Difference]:
        """Return how the live history changed between two events of the log (default: until now)."""
        from backscroll.engine.log.differences import diff_moments  # start-up: a store opens without it

        return diff_moments(self, first, self.head if second is None else second)

    # -- prompts (each lives in a module of its own) ---------------------------------------------------------

    @announce_caller
    def prompt(
        self,
        budget: int | None = None,
        *,
        model: str | None = None,
        tools: Sequence[Mapping[str, Json]] = (),
        reserve: int | None = None,
        wire: Wire | None = None,
        recall: bool | None = None,
        handles: bool | None = True,
        dry_run: bool = False,
    ) -> Prompt:
        """Return the messages to send now: valid, within the budget and cache-friendly, with a receipt.

        `budget` counts everything: tools, prompt and the room for the answer (`reserve`). `handles` says whether the prompt
        may refer to messages it does not show in full ([bs:17]); pass False for a model without a tool to open them. None:
        True if one of `tools` is called expand. With `dry_run` nothing is written: neither a due compaction nor the
        receipt.
        """
        from backscroll.engine.prompts.builder import prompt  # start-up: a store opens without it

        made = partial(prompt, self, budget, model=model, tools=tools, reserve=reserve)
        return made(wire=wire, recall=recall, handles=handles, dry_run=dry_run)

    def compact(
        self, budget: int | None = None, *, model: str | None = None, dry_run: bool = False
    ) -> CompactionReport:
        """Compact now, whether or not it is due; `dry_run` reports what would be condensed, saved and spent."""
        # start-up: a store opens without it
        from backscroll.engine.prompts.compaction.compaction import compact

        return compact(self, budget, model=model, dry_run=dry_run)

    def undo_compaction(self) -> Event:
        """Undo the compaction in force, manual or automatic: prompts show the condensed part again. `redo` reapplies it."""
        return self.stroke(undoing.undo_compaction)

    def crop(
        self,
        direction: str | None = None,
        amount: int | None = None,
        summary: str | None = None,
        *,
        first: Ref | str | None = None,
        last: Ref | str | None = None,
        dry_run: bool = False,
    ) -> Crop:
        """Replace messages in prompts with a summary: from the `top`, from the `bottom`, or a range.

        The messages stay in the history; `uncrop` and `undo` restore them to prompts exactly.
        """
        from backscroll.engine.crops.crops import crop  # start-up: a store opens without it

        return crop(self, direction, amount, summary, first=first, last=last, dry_run=dry_run)

    def uncrop(self, handle: str) -> int:
        """Show cropped messages in prompts again; return how many."""
        from backscroll.engine.crops.crops import uncrop  # start-up: a store opens without it

        return uncrop(self, handle)

    def mark_processed(self, turn: int, version: str, at: str | datetime | None = None) -> None:
        """Record that this version of a turn was analysed; once the turn changes, it counts as unprocessed again."""
        found = self.turn(turn)
        opening = found.messages[0].id if turn else Ref(self.id, 0)
        when, name = checked_time(at) or self.engine.means.now(), checked_label(version)
        self.store.write(lambda tx: tx.set_turn_state(self.id, opening, name, when))
