"""One tree of errors, each with a hint on what to do next.

    BackscrollError
    ├── InvalidInput        the input cannot be accepted (unknown role, bad option, ...)
    │   ├── FormatError     a file or message list is not in the shape it claims
    │   └── BudgetTooSmall  the required part of a prompt does not fit
    ├── NotFound            no thread, message, revision, event or file by that name
    │   └── Ambiguous       a short name matches several things
    ├── Conflict            modified since you read it
    ├── Forgotten           the text was erased by `forget`
    ├── StoreError          the store failed (full, read-only, unreachable)
    │   ├── StoreBusy       other writers held the store past the timeout
    │   ├── StoreCorrupt    the file is damaged, or is not a store
    │   └── StoreTooNew     written by a newer program; left untouched
    ├── MissingExtra        an optional dependency is not installed
    ├── BudgetExceeded      a spending limit would be exceeded; the call was not made
    └── ModelError          a model, or the service it runs on, failed
        ├── KeyRefused      the API key is missing, or the service rejects it
        ├── ModelUnknown    the service has no such model
        ├── ContextOverflow the prompt is longer than the model's window
        ├── ModelBusy       too many calls, an error of the service, or a timeout: worth a retry
        ├── Unreachable     no server at the address
        └── CutShort        the answer was cut off

Every class carries an `exit_code` for the command line, and a `key` by which a surface may translate it.
"""

from __future__ import annotations


class BackscrollError(Exception):
    """An error that the user can do something about, with a hint."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "", **facts: object) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.facts = facts

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def __reduce__(self) -> tuple[object, ...]:
        """Make errors picklable, whatever arguments their constructors take."""
        return _rebuild_error, (type(self), self.args, self.__dict__)


def _rebuild_error(
    kind: type[BackscrollError], args: tuple[object, ...], facts: dict[str, object]
) -> BackscrollError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(facts)
    return error


class InvalidInput(BackscrollError):
    """The input cannot be accepted; nothing was changed."""

    exit_code = 2


class FormatError(InvalidInput):
    """A file or a message list does not have the format it claims to have."""

    exit_code = 3


class BudgetTooSmall(InvalidInput):
    """What must be in a prompt does not fit into the budget; `minimum` is the smallest budget that does."""

    def __init__(self, message: str, *, minimum: int, hint: str = "", **facts: object) -> None:
        super().__init__(message, hint=hint, minimum=minimum, **facts)
        self.minimum = minimum


class NotFound(BackscrollError):
    """The store contains nothing by that name."""

    exit_code = 4


class Ambiguous(NotFound):
    """A short name matches several things."""


class Conflict(BackscrollError):
    """Conflict: modified since you read it; nothing was changed."""

    exit_code = 5


class Forgotten(BackscrollError):
    """The requested text was erased by `forget`."""

    exit_code = 6


class StoreError(BackscrollError):
    """The store could not do it; its previous contents are intact."""

    exit_code = 7


class StoreBusy(StoreError):
    """Other writers held the store for longer than the timeout."""


class StoreCorrupt(StoreError):
    """The store is damaged, or is not a Backscroll store."""

    exit_code = 8


class StoreTooNew(StoreError):
    """The store was written by a newer version; it was left untouched."""

    exit_code = 9


class MissingExtra(BackscrollError):
    """An optional dependency is required and not installed."""

    exit_code = 10


class BudgetExceeded(BackscrollError):
    """A spending limit is reached, or the call would exceed it; nothing was spent."""

    exit_code = 11


class ModelError(BackscrollError):
    """A model, or the service it runs on, failed; nothing was changed."""

    exit_code = 12


class KeyRefused(ModelError):
    """The API key is missing, or the service rejects it."""


class ModelUnknown(ModelError):
    """The service has no model by this name."""


class ContextOverflow(ModelError):
    """The prompt, with the room for the answer, is longer than the model's window."""


class ModelBusy(ModelError):
    """Too many calls, an error of the service, or a timeout; retrying may succeed."""


class Unreachable(ModelError):
    """No server answers at the address of the service."""


class CutShort(ModelError):
    """The answer was cut off in the middle."""
