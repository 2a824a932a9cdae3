"""Ways out of the sandbox of commands: each is tried for real, and none leads anywhere."""

from __future__ import annotations

import os
import shlex
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from backscroll.agent.commands.sandbox import KernelSupport
from tests.agent.sandboxes import ABLE, SECRET, SYSTEMS, Yard, needs_landlock, needs_namespaces, only, yard

pytestmark = pytest.mark.disk
PYTHON = shlex.quote(sys.executable)


@pytest.fixture
def at(tmp_path: Path) -> Yard:
    return yard(tmp_path)


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in ("Z", "X")


WRITES = [
    "echo x > ../other/new",
    "echo x >> ../other/keep",
    ": > ../other/keep",
    "truncate -s 0 ../other/keep",
    "rm -f ../other/keep",
    "rm -rf ../other/* ../other",
    "mkdir ../other/folder",
    "mkfifo ../other/pipe",
    "mv ../other/keep .",
    "mv ../other stolen",
    "mv own ../other/own",
    "cp own ../other/own",
    "ln own ../other/hard",
    "ln -s /etc/passwd ../other/link",
    "ln -s ../other way && echo x > way/new; echo y >> way/keep",
    "ln ../other/keep hard && echo x >> hard",
    "echo x > /proc/self/root$PWD/../other/new",
    "echo x > /proc/self/cwd/../other/new",
    "exec 9< ../other; echo x > /proc/self/fd/9/new",
    "exec 9< ../other/keep; echo x >> /proc/self/fd/9",
    "cd ..; mv work/own other/own; mv other work/other",
    "mkdir deep && mv ../other deep/ ; mv deep ../other/deep",
    f"{PYTHON} -c \"import os; os.rename('own', '../other/own')\"",
    f"{PYTHON} -c \"import os; os.rename('../other/keep', 'mine')\"",
    f"{PYTHON} -c \"import os; os.truncate('../other/keep', 0)\"",
    "mkdir m && mount --bind ../other m && echo x > m/new",
    "unshare -rm sh -c 'mkdir -p m; mount --bind ../other m && echo x > m/new'",
    "mount -o remount,rw /; echo x > ../other/new",
    "chroot .. sh -c 'echo x > /other/new'",
    "(setsid sh -c 'echo x > ../other/new' &) ; sleep 0.3",
    "sudo -n sh -c 'echo x > ../other/new'",
]


@pytest.mark.parametrize("able", SYSTEMS)
def test_sandbox_cannot_write_outside(able: KernelSupport, at: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links, renames across the border, /proc, mounts, namespaces: the folder beside it stays as it was after each."""
    only(monkeypatch, able)
    for line in WRITES:
        (at.root / "own").write_text("own\n")
        done = at.run(line)
        assert not done.timed_out, line
        assert at.others() == {"keep": "kept\n"}, line


READS = [
    "cat ../secret/store.db",
    "cat < ../secret/store.db",
    "ln -s ../secret way; cat way/store.db",
    "ln ../secret/store.db hard; cat hard",
    "cp -r ../secret copy; cat copy/*",
    "mv ../secret mine; cat mine/*",
    "mv ../secret/store.db mine.db; cat mine.db",
    "cat /proc/self/root$PWD/../secret/store.db",
    "cat /proc/self/cwd/../secret/store.db",
    "cat /proc/$PPID/cwd/../secret/store.db /proc/$PPID/root$PWD/../secret/store.db",
    "cd ../secret && cat store.db",
    "tar cf - ../secret; dd if=../secret/store.db",
    "mkdir m; mount --bind ../secret m; cat m/*",
    "unshare -rm sh -c 'mkdir -p n; mount --bind ../secret n; cat n/*'",
    "mkdir o; mount -t overlay -o lowerdir=../secret,upperdir=o,workdir=o overlay o; cat o/*",
    f"{PYTHON} -c \"print(open('../secret/store.db').read())\"",
]


@pytest.mark.parametrize("able", SYSTEMS)
def test_sandbox_cannot_read_protected_files(
    able: KernelSupport, at: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor copy them into the working folder."""
    only(monkeypatch, able)
    with (at.secret / "store.db").open() as held:  # as the agent holds its store open
        for line in READS:
            done = at.run(line)
            assert not done.timed_out, line
            assert SECRET not in done.output, line
            assert (at.secret / "store.db").read_text() == SECRET, line
            found = [p for p in at.root.rglob("*") if p.is_file() and SECRET.encode() in p.read_bytes()]
            assert found == [], line
        assert held.read() == SECRET


@needs_landlock
def test_store_in_the_working_folder_is_protected(tmp_path: Path) -> None:
    """Then one walks around it: what lies beside it can be used, it cannot."""
    at = yard(tmp_path)
    inside = at.root / "talk.db"
    inside.write_text(SECRET)
    (at.root / "src").mkdir()
    held = type(at)(
        at.root, at.other, inside, type(at.sandbox)("workspace", "allow", at.root, protected=(inside,))
    )
    done = held.run(
        "echo new > src/new; cat own; cat talk.db; echo x > talk.db; rm -f talk.db; mv talk.db src/; ls"
    )
    assert SECRET not in done.output
    assert done.output.startswith("own\n")
    assert "talk.db" in done.output.splitlines()
    assert inside.read_text() == SECRET
    assert (at.root / "src" / "new").read_text() == "new\n"


_PEEK = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
pid = int(sys.argv[1])
print("attach", libc.ptrace(16, pid, 0, 0))
class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
room = ctypes.create_string_buffer(64)
here, there = Piece(ctypes.addressof(room), 64), Piece(int(sys.argv[2]), 64)
print("read", libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0))
for name in ("environ", "mem", "maps", "root", "cwd", "fd/0"):
    try:
        path = f"/proc/{pid}/{name}"
        got = os.readlink(path) if name in ("root", "cwd", "fd/0") else open(path, "rb").read(64)
        print(name, "open", len(got))
    except OSError as error:
        print(name, "closed")
"""


@needs_landlock
def test_sandbox_cannot_inspect_the_agent_process(at: Yard) -> None:
    """No ptrace, no memory, no environment, no open files of the program that started the command."""
    import ctypes

    ours = ctypes.create_string_buffer(SECRET.encode() + b"\0" * 64)
    (at.root / "peek.py").write_text(_PEEK)
    done = at.run(f"{PYTHON} peek.py {os.getpid()} {ctypes.addressof(ours)}")
    assert done.output.splitlines() == [
        "attach -1",
        "read -1",
        *(f"{name} closed" for name in ("environ", "mem", "maps", "root", "cwd", "fd/0")),
    ]


@pytest.mark.skipif(
    ABLE.interface < 6, reason="signals can be held from version 6 of Landlock's interface on"
)
def test_sandbox_cannot_kill_outside_processes(at: Yard) -> None:
    """Neither other programs, nor the supervisor, nor the agent; it can kill its own processes."""
    other = subprocess.Popen(["sleep", "600"])
    try:
        for line in (f"kill -9 {other.pid}", "kill -9 $PPID", f"kill -0 {os.getpid()}"):
            assert "not permitted" in at.run(f"LC_ALL=C; {line}").output, line
        assert at.run("sleep 600 & kill $! && echo ended").output.splitlines()[-1] == "ended"
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


@pytest.mark.parametrize("able", SYSTEMS)
def test_daemon_does_not_outlive_its_command(
    able: KernelSupport, at: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In any session and namespace."""
    only(monkeypatch, able)
    done = at.run(
        "(setsid nohup sh -c 'echo $$ > pid; exec sleep 600' >/dev/null 2>&1 &); until [ -s pid ]; do sleep 0.02; done"
    )
    assert done.code == 0
    assert done.left >= 1
    assert not _alive(int((at.root / "pid").read_text()))


# -- the network -------------------------------------------------------------------------------------------------

_CALL = """
import socket, sys
def tried(name, work):
    try:
        work()
        print(name, "went out")
    except OSError as error:
        print(name, "held")
port = int(sys.argv[1])
tried("tcp", lambda: socket.create_connection(("127.0.0.1", port), 5))
tried("udp", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", int(sys.argv[2]))))
tried("abstract", lambda: socket.socket(socket.AF_UNIX).connect("\\0" + sys.argv[3]))
"""


@pytest.fixture
def listeners() -> Iterator[tuple[socket.socket, socket.socket, socket.socket]]:
    """Somebody outside who would hear: TCP, UDP, an abstract socket."""
    tcp, udp = socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    unix = socket.socket(socket.AF_UNIX)
    udp.bind(("127.0.0.1", 0))
    unix.bind(f"\0backscroll-test-{os.getpid()}")
    unix.listen()
    for each in (tcp, udp, unix):
        each.setblocking(False)
    yield tcp, udp, unix
    for each in (tcp, udp, unix):
        each.close()


@pytest.mark.parametrize("able", SYSTEMS)
def test_sandbox_without_network_cannot_send(
    able: KernelSupport,
    tmp_path: Path,
    listeners: tuple[socket.socket, socket.socket, socket.socket],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """TCP, UDP (which Landlock does not know) and abstract sockets; whether by namespaces or by the filter."""
    only(monkeypatch, able)
    at = yard(tmp_path, network="deny")
    tcp, udp, unix = listeners
    (at.root / "call.py").write_text(_CALL)
    name = unix.getsockname()[1:].decode()
    done = at.run(f"{PYTHON} call.py {tcp.getsockname()[1]} {udp.getsockname()[1]} {name}")
    assert done.code == 0, done.output
    assert "tcp held" in done.output
    for hears in (tcp.accept, lambda: udp.recv(1)):
        with pytest.raises(BlockingIOError):
            hears()
    if able.namespaces or able.interface >= 6:
        with pytest.raises(BlockingIOError):
            unix.accept()


@needs_landlock
def test_sandbox_with_network_can_send(
    at: Yard, listeners: tuple[socket.socket, socket.socket, socket.socket]
) -> None:
    """Files and network are separate settings."""
    tcp, udp, _ = listeners
    (at.root / "call.py").write_text(_CALL)
    done = at.run(f"{PYTHON} call.py {tcp.getsockname()[1]} {udp.getsockname()[1]} nobody")
    assert "tcp went out\nudp went out" in done.output


@needs_namespaces
def test_loopback_works_without_network(tmp_path: Path) -> None:
    """Tests that start their own server keep working."""
    at = yard(tmp_path, network="deny")
    code = "import socket; s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname()); print('heard')"
    assert at.run(f'{PYTHON} -c "{code}"').output == "heard\n"


@needs_namespaces
def test_service_sockets_are_hidden(at: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container service would be a way out; its environment variable is not passed on either."""
    place = at.other / "docker.sock"
    service = socket.socket(socket.AF_UNIX)
    monkeypatch.chdir(at.other)  # the whole path may be too long for a socket
    service.bind("docker.sock")
    service.listen()
    service.setblocking(False)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{place}")
    code = "import socket, os; os.chdir('../other'); socket.socket(socket.AF_UNIX).connect('docker.sock'); print('connected')"
    with service:
        done = at.run(f'echo "[$DOCKER_HOST]"; {PYTHON} -c "{code}"')
        assert done.output.startswith("[]\n")
        assert "connected" not in done.output
        with pytest.raises(BlockingIOError):
            service.accept()


@needs_namespaces
def test_sandbox_cannot_chmod_outside(at: Yard) -> None:
    """Landlock does not cover chmod; the read-only mount does."""
    keep = at.other / "keep"
    keep.chmod(0o640)
    at.run("chmod 777 ../other/keep ../other; touch -d 2001-01-01 ../other/keep; chmod 600 own")
    assert stat.S_IMODE(keep.stat().st_mode) == 0o640
    assert keep.stat().st_mtime > 1_100_000_000
    assert stat.S_IMODE((at.root / "own").stat().st_mode) == 0o600
