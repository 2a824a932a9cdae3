"""The program that enters a sandbox and becomes the command.

Started under the supervisor (`agent/commands/supervisor`) as a script, with the standard library alone; its arguments are the number of a descriptor
from which the plan is read (JSON, made by `agent/commands/sandbox`) and the command. Owns the Linux kernel calls: namespaces where
available (places that hold sockets of services covered, everything but the writable folders read-only, a network of its
own), Landlock (files, TCP, signals), a filter of system calls, and giving up what root may do beyond files. All of it is inherited
by everything the command starts, and none of it can be reverted. Refuses to run anything if a restriction cannot be applied: then it
ends with code 126 and says why. Refuses: what the plan is (`agent/commands/sandbox`).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import socket
import struct
import sys
from collections.abc import Sequence
from typing import Any

#: File access rights as Landlock numbers them, with the interface version that introduced them.
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << n for n in range(6))
MAKE_CHAR, MAKE_DIR, MAKE_REG, MAKE_SOCK, MAKE_FIFO, MAKE_BLOCK, MAKE_SYM = (1 << n for n in range(6, 13))
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_SINCE = {1: (1 << 13) - 1, 2: REFER, 3: TRUNCATE, 5: IOCTL_DEV}
#: The rights that a rule on a file, not a folder, may name.
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
_TCP = 0b11  # bind, connect
_SCOPES = 0b11  # abstract sockets, signals
NEWEST = 7  # the newest interface version that everything here was tested with

_CREATE, _ADD, _RESTRICT, _MOUNT_SETATTR = 444, 445, 446, 442  # the same on all machines
_NO_NEW_PRIVS, _SECCOMP, _DROP = 38, 22, 24  # of prctl
_NEWNS, _NEWUSER, _NEWNET = 0x20000, 0x10000000, 0x40000000
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _BIND, _REC, _PRIVATE = 1, 2, 4, 8, 4096, 16384, 1 << 18
_RECURSIVE, _ATTR_RDONLY = 0x8000, 1
_FAILED = 126
TRY = "--try"  # instead of a command: only report by the exit code whether namespaces are available to us

#: By machine: its name for filters, and the numbers of socket, io_uring_setup (which opens sockets too) and of the kernel's own keyring.
_CALLS = {
    "x86_64": (0xC000003E, 41, 425, (248, 249, 250)),
    "aarch64": (0xC00000B7, 198, 425, (217, 218, 219)),
    "riscv64": (0xC00000F3, 198, 425, (217, 218, 219)),
}
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
#: What root keeps: rights on files and on its own processes. Other capabilities could undo the sandbox: modules, raw disks, mounting.
_KEPT = frozenset({0, 1, 3, 4, 5, 6, 7, 10})

_libc: Any = None if sys.platform == "win32" else ctypes.CDLL(None, use_errno=True)


def _check_result(what: str, result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _syscall(what: str, number: int, *arguments: Any) -> int:
    return _check_result(what, _libc.syscall(ctypes.c_long(number), *arguments))


def interface() -> int:
    """Return the version of the kernel's Landlock interface; 0: none."""
    if sys.platform != "linux":
        return 0
    try:
        return _syscall("landlock", _CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    except OSError:
        return 0


def rights(version: int) -> int:
    """Return every file access right that an interface version knows."""
    return sum(bits for since, bits in _SINCE.items() if since <= version)


# -- files, TCP, signals -----------------------------------------------------------------------------------------


def restrict(version: int, rules: Sequence[Sequence[Any]], *, tcp: bool) -> None:
    """Restrict this process by Landlock: from here on only what a rule names (a path, and rights on all below it) can be done."""
    known = rights(version)
    fields = [known]
    if version >= 4:
        fields.append(0 if tcp else _TCP)
    if version >= 6:
        fields.append(_SCOPES)
    wanted = struct.pack(f"={len(fields)}Q", *fields)
    ruleset = _syscall("landlock", _CREATE, wanted, ctypes.c_size_t(len(wanted)), ctypes.c_uint32(0))
    try:
        for path, allowed in rules:
            _allow(ruleset, str(path), int(allowed) & known)
        _check_result("no_new_privs", _libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0))
        _syscall("landlock", _RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, allowed: int) -> None:
    """Add one rule. A path that is gone by now, or became a link, gets none."""
    try:
        place = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        kind = os.fstat(place).st_mode & 0o170000
        if kind == 0o120000:
            return
        allowed &= ~0 if kind == 0o040000 else OF_FILES
        if allowed:
            rule = struct.pack("=Qi", allowed, place)
            _syscall(
                f"landlock, {path}", _ADD, ctypes.c_int(ruleset), ctypes.c_int(1), rule, ctypes.c_uint32(0)
            )
    finally:
        os.close(place)


# -- system calls ------------------------------------------------------------------------------------------------


def program(machine: str, families: Sequence[int] | None) -> bytes:
    """Return a system call filter: no kernel keyring; with `families`, only sockets of these. Empty: the machine is unknown."""
    if machine not in _CALLS:
        return b""
    name, opening, ring, keys = _CALLS[machine]
    kill, refuse, allow = 0x80000000, 0x00050000 | errno.EPERM, 0x7FFF0000
    load, equal, least, give = 0x20, 0x15, 0x35, 0x06
    lines = [(load, 0, 0, 4), (equal, 1, 0, name), (give, 0, 0, kill), (load, 0, 0, 0)]
    if machine == "x86_64":  # the same calls under other numbers
        lines += [(least, 0, 1, 0x40000000), (give, 0, 0, 0x00050000 | errno.ENOSYS)]
    for number in keys if families is None else (*keys, ring):
        lines += [(equal, 0, 1, number), (give, 0, 0, refuse)]
    if families is not None:
        lines += [(equal, 1, 0, opening), (give, 0, 0, allow), (load, 0, 0, 16)]
        for family in families:
            lines += [(equal, 0, 1, family), (give, 0, 0, allow)]
        lines.append((give, 0, 0, refuse))
    else:
        lines.append((give, 0, 0, allow))
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


class _SyscallFilter(ctypes.Structure):
    """A filter in the kernel's format."""

    _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.c_char_p))


def filter_calls(lines: bytes) -> None:
    """Install the filter: from here on it decides about every system call."""
    wanted = _SyscallFilter(len(lines) // 8, lines)
    _check_result("no_new_privs", _libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0))
    _check_result("seccomp", _libc.prctl(_SECCOMP, 2, ctypes.byref(wanted), 0, 0))


# -- namespaces --------------------------------------------------------------------------------------------------


def own_namespaces(*, network: bool) -> bool:
    """Enter own mount (and network) namespaces; False if the system grants none."""
    flags = _NEWNS | (_NEWNET if network else 0)
    user, group = os.geteuid(), os.getegid()
    if _libc.unshare(flags) < 0:
        if _libc.unshare(flags | _NEWUSER) < 0:
            return False
        try:
            for name, text in (
                ("setgroups", "deny"),
                ("uid_map", f"{user} {user} 1"),
                ("gid_map", f"{group} {group} 1"),
            ):
                _write_file(f"/proc/self/{name}", text)
        except OSError as error:
            raise OSError(error.errno, f"the namespace cannot be used: {error.strerror}") from error
    if network:
        _wake_loopback()
    return True


def _write_file(path: str, text: str) -> None:
    place = os.open(path, os.O_WRONLY)
    try:
        os.write(place, text.encode())
    finally:
        os.close(place)


def _wake_loopback() -> None:
    """Bring up loopback: programs that talk to themselves (tests with a server) keep working."""
    import fcntl

    with contextlib.suppress(OSError), socket.socket(_INET, socket.SOCK_DGRAM) as line:
        fcntl.ioctl(line.fileno(), 0x8914, struct.pack("16sH22x", b"lo", 0x41))  # SIOCSIFFLAGS: up, running


def own_mounts(writable: Sequence[str], hidden: Sequence[str]) -> None:
    """Cover places with empty mounts, and make everything read-only except some folders; no other process sees these mounts."""
    _mount("none", "/", "", _REC | _PRIVATE)
    for path in hidden:
        if os.path.isdir(path):  # noqa: PTH112 - loads nothing more than needed
            _mount("none", path, "tmpfs", _NOSUID | _NODEV | _NOEXEC, "size=4k,mode=755")
        elif os.path.exists(path):  # noqa: PTH110
            _mount("/dev/null", path, "", _BIND)
    if "/" in writable:
        return
    for path in writable:
        _mount(path, path, "", _BIND | _REC)
    _attributes("/", set_=_ATTR_RDONLY)
    for path in writable:
        with contextlib.suppress(PermissionError):  # it was read-only before, permanently
            _attributes(path, clear=_ATTR_RDONLY)


def _mount(what: str, where: str, kind: str, flags: int, more: str = "") -> None:
    words = (os.fsencode(each) for each in (what, where, kind))
    result = _libc.mount(*words, ctypes.c_ulong(flags), os.fsencode(more) or None)
    _check_result(f"mount {where}", result)


def _attributes(path: str, *, set_: int = 0, clear: int = 0) -> None:
    wanted = struct.pack("=4Q", set_, clear, 0, 0)
    folder, flags = ctypes.c_int(-100), ctypes.c_uint(_RECURSIVE)
    _syscall(
        f"mount {path}",
        _MOUNT_SETATTR,
        folder,
        os.fsencode(path),
        flags,
        wanted,
        ctypes.c_size_t(len(wanted)),
    )


def _less_than_root() -> None:
    """Make root lose at the next exec what could open the sandbox again."""
    if os.geteuid() == 0:
        for number in range(64):
            if number not in _KEPT:
                _libc.prctl(_DROP, number, 0, 0, 0)


# -- all of it ---------------------------------------------------------------------------------------------------


def enter(plan: dict[str, Any]) -> None:
    """Apply a plan irreversibly, or raise `OSError`."""
    network = plan["network"] == "allow"
    folder = os.getcwd()  # noqa: PTH109
    apart = bool(plan["namespaces"]) and own_namespaces(network=not network)
    if apart:
        own_mounts(plan["writable"], plan["hidden"])
        os.chdir(folder)  # on the mounts that are writable now
    _less_than_root()
    restrict(plan["interface"], plan["rules"], tcp=network or apart)
    families = None if network else (_UNIX, _NETLINK, *((_INET, _INET6) if apart else ()))
    lines = program(os.uname().machine, families)
    if lines:
        filter_calls(lines)
    elif not network and not apart:
        raise OSError(errno.ENOSYS, "the network cannot be denied on this machine")


def main() -> int:
    """Enter the sandbox, and become the command."""
    source, command = int(sys.argv[1]), sys.argv[2:]
    try:
        if command == [TRY]:
            return 0 if own_namespaces(network=True) and not own_mounts([], []) else 1
        with os.fdopen(source, encoding="utf-8", errors="surrogateescape") as file:
            plan = json.load(file)
        enter(plan)
    except OSError as error:
        os.write(
            2, f"the sandbox cannot be entered, so nothing was run: {error.strerror or error}\n".encode()
        )
        return _FAILED
    try:
        os.execvpe(command[0], command, os.environ)  # noqa: S606 - the shell is the command
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    return 127


if __name__ == "__main__":
    sys.exit(main())
