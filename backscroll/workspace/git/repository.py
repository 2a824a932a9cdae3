"""The user's repository: location, state, identity and hooks.

Owns finding it, rejecting states in which a commit is unsafe, its HEAD, identity and hooks. Elsewhere: contents
(`workspace/git/merge`) and the index (`workspace/git/index`).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from backscroll.errors import Conflict, InvalidInput, NotFound
from backscroll.workspace.git.git import GitFailed, GitResult, run_git

_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
}
_HOOK_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository with a working tree."""

    top: Path
    git_dir: Path  # of this working tree
    prefix: str  # from the top to the folder; empty, or ending with a slash
    head: str  # the commit; empty before the first one
    branch: str  # empty: HEAD is on no branch
    nothing: str = "0" * 40  # how this repository writes "no object"
    settings: tuple[str, ...] = ()  # additional settings for running git here

    def git(
        self,
        *arguments: str,
        stdin: bytes | None = None,
        index: Path | None = None,
        check: bool = True,
    ) -> GitResult:
        """Run git in it, with the user's settings and without hooks."""
        environment = {"GIT_INDEX_FILE": str(index)} if index is not None else {}
        return run_git(
            arguments,
            cwd=self.top,
            sealed=False,
            settings=self.settings,
            stdin=stdin,
            environment=environment,
            check=check,
        )

    def inside(self, path: str) -> str:
        """Return a path of the folder as a path of the repository."""
        return self.prefix + path

    def strip_prefix(self, path: str) -> str:
        """Return a path of the repository as a path of the folder."""
        return path.removeprefix(self.prefix)

    def check_ready(self) -> None:
        """Raise `Conflict` during an unfinished merge, rebase or the like."""
        for name, what in _UNDER_WAY.items():
            if (self.git_dir / name).exists():
                raise Conflict(f"{what} is under way in your repository", hint="finish or abort it first")
        if self.git("ls-files", "-u", "-z").out:
            raise Conflict("there are unmerged files in your repository", hint="resolve and stage them first")

    def check_identity(self) -> None:
        """Raise `InvalidInput` if git does not know the user's name; a guessed name would be wrong."""
        for role in ("AUTHOR", "COMMITTER"):
            for what, setting in (("NAME", "user.name"), ("EMAIL", "user.email")):
                given = os.environ.get(f"GIT_{role}_{what}") or (what == "EMAIL" and os.environ.get("EMAIL"))
                if given or self.git("config", "--get", setting, check=False).text.strip():
                    continue
                if self.git("config", "--get", f"{role.lower()}.{what.lower()}", check=False).text.strip():
                    continue
                raise InvalidInput(
                    f"no git identity: {setting} is not set",
                    hint='git config --global user.name "Your Name", and user.email likewise',
                )

    def find_ignored(self, paths: Sequence[str]) -> set[str]:
        """Return those of the paths that git ignores and does not track."""
        # This command has no literal paths; a leading dot prevents misinterpretation.
        asked = b"".join(b"./" + os.fsencode(path) + b"\0" for path in paths)
        ran = run_git(
            ["check-ignore", "-z", "--stdin"],
            cwd=self.top,
            sealed=False,
            stdin=asked,
            environment={"GIT_LITERAL_PATHSPECS": "0"},
            check=False,
        )
        if ran.code > 1:  # 1: none is ignored
            raise GitFailed(f"git check-ignore failed: {ran.err}", said=ran.err, code=ran.code)
        return {os.fsdecode(path).removeprefix("./") for path in ran.out.split(b"\0") if path}

    def drivers(self, paths: Sequence[str]) -> set[str]:
        """Return the filters that attributes name for some paths, as `git add` would find them."""
        asked = b"".join(os.fsencode(path) + b"\0" for path in paths)
        out = self.git("check-attr", "-z", "--stdin", "filter", stdin=asked).out
        return {os.fsdecode(value) for value in out.split(b"\0")[2::3]} - {"unspecified", "set", "unset", ""}

    def refuse_nested(self, paths: Sequence[str]) -> None:
        """Raise `InvalidInput` for files that belong to another repository inside this one."""
        folders = sorted({folder for path in paths for folder in _folders(path)})
        nested = {folder for folder in folders if (self.top / folder / ".git").exists()}
        if self.head and folders:
            out = self.git("ls-tree", "-z", self.head, "--", *folders).out
            nested |= {
                os.fsdecode(record.partition(b"\t")[2])
                for record in out.split(b"\0")
                if record.startswith(b"160000")
            }
        if nested:
            named = ", ".join(sorted(nested))
            raise InvalidInput(
                f"a submodule or a repository of its own: {named}", hint="commit there, in its own folder"
            )

    def commit_tree(self, tree: str, message: str) -> str:
        """Return a commit of a tree on top of HEAD; nothing points to it yet."""
        parents = ["-p", self.head] if self.head else []
        return self.git(
            "commit-tree", tree, *parents, "-F", "-", stdin=message.encode("utf-8", "replace") + b"\n"
        ).text

    def move_head(self, commit: str, why: str) -> None:
        """Move the branch to a commit. Raises `GitFailed` if it was moved meanwhile."""
        shown = " ".join(why.encode("utf-8", "replace").decode("utf-8").split())
        self.git("update-ref", "-m", shown[:200], "HEAD", commit, self.head or self.nothing)

    def hook(self, name: str, *arguments: str, index: Path | None = None) -> None:
        """Run a hook of the repository, if it exists. Raises `Conflict` with its output if it fails."""
        place = run_git(
            ["rev-parse", "--git-path", f"hooks/{name}"], cwd=self.top, sealed=False, hooks=True
        ).text
        script = self.top / place
        if not (script.is_file() and os.access(script, os.X_OK)):
            return
        environment = dict(os.environ) | {"GIT_EDITOR": ":"}
        for variable in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"):
            environment.pop(variable, None)
        if index is not None:
            environment["GIT_INDEX_FILE"] = str(index)
        try:
            ran = subprocess.run(
                [str(script), *arguments],
                cwd=self.top,
                env=environment,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=_HOOK_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Conflict(
                f"the hook {name} could not be run: {error}", hint="commit without hooks"
            ) from error
        if ran.returncode and not name.startswith("post-"):
            said = (ran.stdout + ran.stderr).decode("utf-8", "replace").strip()
            raise Conflict(
                f"the hook {name} refused the commit: {said[-2000:]}",
                hint="fix what it reports, or commit without hooks",
            )


def find_repository(root: Path) -> Repository:
    """Return the repository that a folder is in. Raise `NotFound` if it is in none."""
    folder = root.resolve()
    if not folder.is_dir():
        raise InvalidInput(f"not a folder: {root}", hint="check the path", path=str(root))
    ran = run_git(
        [
            "rev-parse",
            "--is-inside-work-tree",
            "--show-toplevel",
            "--absolute-git-dir",
            "--show-object-format",
        ],
        cwd=folder,
        sealed=False,
        check=False,
    )
    lines = ran.text.split("\n")
    if ran.code or lines[0] != "true" or len(lines) != 4:
        if "dubious ownership" in ran.err:
            raise Conflict(
                f"the repository around {folder} belongs to another user, so git does not use it",
                hint=f"git config --global --add safe.directory {folder}",
            )
        raise NotFound(
            f"{folder} is not in a git repository",
            hint="run `git init` to create one; snapshots work without it",
            path=str(folder),
        )
    top = Path(lines[1]).resolve()
    prefix = "" if folder == top else folder.relative_to(top).as_posix() + "/"
    head = run_git(
        ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], cwd=folder, sealed=False, check=False
    )
    branch = run_git(["symbolic-ref", "--quiet", "--short", "HEAD"], cwd=folder, sealed=False, check=False)
    if branch.code and head.code:
        raise GitFailed(
            "cannot read HEAD of the repository", hint="check that `git status` works there", said=head.err
        )
    nothing = "0" * (
        64 if lines[3] == "sha256" else 40
    )  # an older git echoes the option, and supports only the short ones
    return Repository(top, Path(lines[2]), prefix, head.text if not head.code else "", branch.text, nothing)


def _folders(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]
