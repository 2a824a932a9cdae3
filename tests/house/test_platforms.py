"""Every module can be imported on a system without the POSIX parts of the standard library (simulated: Windows lacks them)."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.house import tree

PROGRAM = r'''
import importlib, importlib.abc, json, os, signal, sys, types

# What others import is theirs: loaded before anything is taken away.
import asyncio, concurrent.futures, getpass, multiprocessing, shutil, socket, subprocess, tempfile, webbrowser
import click, numpy, rich.console, rich.live, rich.markdown, prompt_toolkit, prompt_toolkit.shortcuts
import anthropic, keyring, mcp, mcp.server.lowlevel, mcp.server.stdio, openai, pgvector, psycopg, tiktoken, tokenizers
import agents, langchain.agents.middleware, pydantic_ai

MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"}
NAMES = """O_NOFOLLOW O_DIRECTORY O_CLOEXEC O_NONBLOCK O_NOCTTY O_PATH O_SYNC fork forkpty killpg getpgid getpgrp setpgid
setsid geteuid getegid getuid getgid getgroups initgroups mkfifo mknod chown fchown lchown fchmod fchdir chroot uname
openpty ttyname tcgetpgrp tcsetpgrp waitid wait3 wait4 WNOHANG sched_getaffinity statvfs fstatvfs pread pwrite
register_at_fork setxattr getxattr listxattr posix_fadvise sysconf nice""".split()
SIGNALS = "SIGKILL SIGHUP SIGCHLD SIGTSTP SIGSTOP SIGCONT SIGQUIT SIGPIPE SIGWINCH SIGUSR1 SIGUSR2 SIGALRM SIGTTOU SIGTTIN SIGBUS".split()


class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


for name in MODULES:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Missing())
for name in NAMES:
    if hasattr(os, name):
        delattr(os, name)
for name in SIGNALS:
    if hasattr(signal, name):
        delattr(signal, name)
sys.platform = "win32"
sys.modules["msvcrt"] = types.ModuleType("msvcrt")
refused = {}
for name in json.loads(sys.argv[1]):
    try:
        importlib.import_module(name)
    except BaseException as error:
        refused[name] = f"{type(error).__name__}: {error}"
print(json.dumps(refused, indent=1))
sys.stdout.flush()
os._exit(bool(refused))
'''


def test_every_module_can_be_imported_without_posix() -> None:
    names = [
        ".".join(path.relative_to(tree.ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in tree.modules()
        if path.name != "__main__.py"
    ]
    assert len(names) > 500
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(names)],
        cwd=tree.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
