"""Errors of the package survive the way from one process to another."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator

import pytest

from backscroll import errors
from backscroll.workspace.git.git import GitFailed


def kinds(kind: type[errors.BackscrollError]) -> Iterator[type[errors.BackscrollError]]:
    """An error class and all below it."""
    yield kind
    for each in kind.__subclasses__():
        yield from kinds(each)


def made(kind: type[errors.BackscrollError]) -> errors.BackscrollError:
    """One error of a class."""
    if issubclass(kind, errors.BudgetTooSmall):
        return kind("8 tokens are too few", minimum=90, hint="give 90", waiting=3)
    if issubclass(kind, GitFailed):
        return kind("git failed", hint="see above", said="fatal", code=128)
    return kind("no such thread: 3f", hint='run "backscroll threads"')


@pytest.mark.parametrize("kind", list(kinds(errors.BackscrollError)), ids=lambda kind: kind.__name__)
def test_error_survives_pickling(kind: type[errors.BackscrollError]) -> None:
    error = made(kind)
    error.add_note("while it was read")
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(other) is kind
        assert str(other) == str(error)
        assert other.args == error.args
        assert vars(other) == vars(error)
