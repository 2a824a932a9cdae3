"""Commit exactly the agent's changes to the user's repository.

Owns building a commit from HEAD and the agent's changes alone, moving the branch, and updating the user's index for these
paths only. The working tree is never written. What the user has staged stays staged; of a file that also has other people's
uncommitted edits only the agent's part is committed, or the file is rejected by name if the two cannot be separated. Which
changes are the agent's: `engine/folder/commits`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from backscroll.errors import Conflict, InvalidInput, NotFound
from backscroll.workspace.files.safe_paths import check_path
from backscroll.workspace.git.git import GitFailed
from backscroll.workspace.git.index import IndexLock, build_index, changed_index
from backscroll.workspace.git.merge import Blob, RepositoryBlobs, merged_with_head, merged_with_index
from backscroll.workspace.git.modes import Kind
from backscroll.workspace.git.repository import Repository, find_repository
from backscroll.workspace.git.trust import find_untrusted, programs_of, refuse, switched_off

_TRAILER = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*: \S")


@dataclass(frozen=True, slots=True)
class Delta:
    """One change by the agent to one file, as bytes of the working tree. None: the file does not exist on that side.

    A rename is a deletion of the old path and a creation of the new one. Several changes to one file are in order.
    """

    path: str  # inside the folder
    before: bytes | None
    after: bytes | None
    kind: Kind | None = None  # of `after`; None: as it is in HEAD


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit that was made, or with `dry_run` would be."""

    id: str  # empty for a dry run
    files: tuple[str, ...]  # inside the folder
    branch: str = ""  # empty: HEAD is on no branch
    skipped: tuple[str, ...] = ()  # files that git ignores
    message: str = ""


def commit(
    root: str | Path,
    changes: Sequence[Delta],
    message: str,
    *,
    trailers: Mapping[str, str] | None = None,
    hooks: bool = False,
    dry_run: bool = False,
    trusted: Collection[str] | None = None,
) -> Commit:
    """Commit these changes and nothing else. Raises if that is impossible, before anything is changed.

    `hooks`: run the repository's own hooks pre-commit, commit-msg and post-commit; otherwise none runs. Filters that the user
    has set up for their files (line ends, large files) do run, as they do in `git add`. `trusted`: keys of the programs in the
    repository itself that the user has seen; a commit that would run another is refused. Commits are not signed.
    """
    text = with_trailers(message, trailers or {})
    repository = find_repository(Path(root))
    strange = find_untrusted(programs_of(repository.top), trusted)
    repository = replace(repository, settings=tuple(switched_off(strange)))
    repository.check_ready()
    by_path: dict[str, list[Delta]] = {}
    for change in changes:
        by_path.setdefault(repository.inside(check_path(change.path)), []).append(change)
    repository.refuse_nested(sorted(by_path))
    ignored = repository.find_ignored(sorted(by_path))
    wanted = {path: deltas for path, deltas in by_path.items() if path not in ignored}
    if strange:
        refuse(strange, repository.drivers(sorted(wanted)), hooks=hooks)
    blobs = RepositoryBlobs(repository)
    files = _files(blobs, wanted)
    if not files:
        raise NotFound(
            "nothing to commit: the repository already has these changes",
            hint="`backscroll changes` lists what was changed",
        )
    skipped = tuple(repository.strip_prefix(path) for path in sorted(ignored))
    made = tuple(repository.strip_prefix(path) for path in sorted(files))
    if dry_run:
        repository.check_identity()
        return Commit("", made, repository.branch, skipped, text)
    identity = _make(repository, blobs, files, text, hooks=hooks)
    return Commit(identity, made, repository.branch, skipped, text)


def _files(blobs: RepositoryBlobs, wanted: Mapping[str, Sequence[Delta]]) -> dict[str, Blob | None]:
    """Return the paths that the commit changes from HEAD. Raises with the names of all that cannot be determined."""
    blobs.load(sorted(wanted))
    files: dict[str, Blob | None] = {}
    unclear: list[str] = []
    for path, deltas in sorted(wanted.items()):
        now = blobs.head.get(path)
        alone = True  # until a version turns out to contain others' edits too
        for delta in deltas:
            before = blobs.blob(path, delta.before, now.kind if now else delta.kind or "file")
            after = blobs.blob(path, delta.after, delta.kind or (now.kind if now else "file"))
            result = merged_with_head(blobs, now, before, after)
            if result is False:
                unclear.append(path)
                break
            alone = alone and now == before
            if alone and after is not None:
                blobs.steps.setdefault(path, set()).add(after.name)
            now = result
        if now != blobs.head.get(path):
            files[path] = now
    if unclear:
        names = ", ".join(blobs.repository.strip_prefix(path) for path in unclear)
        raise Conflict(
            f"uncommitted edits by others are mixed with the agent's in: {names}",
            hint="commit or stash your own edits of these files first",
            paths=unclear,
        )
    return files


def _make(
    repository: Repository,
    blobs: RepositoryBlobs,
    files: Mapping[str, Blob | None],
    text: str,
    *,
    hooks: bool,
) -> str:
    """Create the commit. The user's index stays locked meanwhile, as git does."""
    repository.check_identity()
    with IndexLock(repository) as lock:
        staged = merged_with_index(blobs, files)
        if hooks:
            text = _run_hooks(repository, files, text)
        with build_index(repository, repository.head, files) as index:
            tree = repository.git("write-tree", index=index).text
        identity = repository.commit_tree(tree, text)
        with changed_index(repository, staged) as index:
            lock.fill(index)
        try:
            repository.move_head(identity, f"commit (backscroll): {text.splitlines()[0]}")
        except GitFailed as error:
            raise Conflict(
                "conflict: the branch was moved by another process", hint="try again", said=error.said
            ) from error
        lock.publish()
    if hooks:
        repository.hook("post-commit")
    return identity


def _run_hooks(repository: Repository, files: Mapping[str, Blob | None], text: str) -> str:
    """Run the hooks; return the message. They may change the message, but not the contents, which must be the agent's."""
    with build_index(repository, repository.head, files) as index:
        tree = repository.git("write-tree", index=index).text
        repository.hook("pre-commit", index=index)
        if repository.git("write-tree", index=index).text != tree:
            raise Conflict(
                "the hook pre-commit changed what is to be committed",
                hint="run the hook first, or commit without hooks",
            )
        place = repository.git_dir / f"backscroll-message-{os.getpid()}"
        try:
            place.write_bytes(_encode_message(text))
            repository.hook("commit-msg", str(place), index=index)
            return place.read_text(encoding="utf-8", errors="replace").strip() or text
        finally:
            place.unlink(missing_ok=True)


def with_trailers(message: str, trailers: Mapping[str, str]) -> str:
    """Return a message with lines such as `Backscroll-Turn: 3` at its end. Raises `InvalidInput` for an empty message."""
    text = "\n".join(line.rstrip() for line in message.replace("\0", "").strip().splitlines())
    if not text:
        raise InvalidInput("the commit message is empty", hint="describe the change in one line")
    lines = [f"{name}: {' '.join(value.split())}" for name, value in trailers.items() if value.strip()]
    if not lines:
        return text
    paragraphs = text.split("\n\n")
    ends_with_trailers = len(paragraphs) > 1 and all(
        _TRAILER.match(line) for line in paragraphs[-1].split("\n") if line
    )
    return text + ("\n" if ends_with_trailers else "\n\n") + "\n".join(lines)


def _encode_message(text: str) -> bytes:
    return text.encode("utf-8", "replace") + b"\n"
