"""Logs as programs write them: a line without trouble and a line with it, for each format, and a whole log with one error anywhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple

Writes = Callable[[int, str], str]


class LogFormat(NamedTuple):
    """How a program writes: lines without trouble, and the line of an error (a code or an id is in `{what}`)."""

    name: str
    calm: Callable[[int], str]
    error: Callable[[int, str], str]


def _clock(n: int) -> str:
    return f"{n // 3600 % 24:02d}:{n // 60 % 60:02d}:{n % 60:02d}"


def _levelled(stamp: Writes, calm: str, error: str) -> tuple[Callable[[int], str], Callable[[int, str], str]]:
    return (
        lambda n: stamp(n, calm) + f" request {n} served in {n % 90} ms",
        lambda n, what: stamp(n, error) + f" {what}",
    )


FORMATS = [
    LogFormat("iso", *_levelled(lambda n, level: f"2026-03-01T{_clock(n)}Z {level} api", "INFO", "ERROR")),
    LogFormat("iso with comma", *_levelled(lambda n, level: f"2026-03-01 {_clock(n)},123 - app.orders - {level} -", "INFO", "ERROR")),
    LogFormat("brackets", *_levelled(lambda n, level: f"[2026-03-01 {_clock(n)}] [{level}] [worker-{n % 4}]", "info", "error")),
    LogFormat("spring", *_levelled(lambda n, level: f"2026-03-01 {_clock(n)}.123  {level} 4711 --- [nio-8080-exec-{n % 9}] c.e.shop.OrderService :", "INFO", "ERROR")),
    LogFormat("postgres", *_levelled(lambda n, level: f"2026-03-01 {_clock(n)}.123 UTC [{1000 + n}] {level}: ", "LOG", "ERROR")),
    LogFormat("syslog", lambda n: f"Mar  1 {_clock(n)} web01 app[{900 + n}]: connection from 10.0.0.{n % 250} closed", lambda n, what: f"Mar  1 {_clock(n)} web01 app[{900 + n}]: fatal: {what}"),
    LogFormat("kernel", lambda n: f"Mar  1 {_clock(n)} web01 kernel: [{n}.123456] eth0: link up", lambda n, what: f"Mar  1 {_clock(n)} web01 kernel: [{n}.123456] Out of memory: Killed process {what}"),
    LogFormat("klog", lambda n: f"I0301 {_clock(n)}.123456       1 controller.go:{n}] synced deployment {n}", lambda n, what: f"E0301 {_clock(n)}.123456       1 controller.go:{n}] sync failed: {what}"),
    LogFormat("compose", lambda n: f"web-1  | 10.0.0.{n % 250} GET /health 200 {n}", lambda _, what: f"db-1   | Error response from daemon: Bind for {what} failed: port is already allocated"),
    LogFormat("compose with times", lambda n: f"worker_1  | {_clock(n)} job {n} done", lambda n, what: f"api_1     | {_clock(n)} panic: runtime error: index out of range {what}"),
    LogFormat("pods", lambda n: f"[pod/api-7d9f/api] 2026-03-01T{_clock(n)}Z handled {n}", lambda n, what: f"[pod/api-7d9f/api] 2026-03-01T{_clock(n)}Z panic: assignment to entry in nil map {what}"),
    LogFormat("nginx errors", lambda n: f"2026/03/01 {_clock(n)} [notice] 12#12: signal {n} received", lambda n, what: f"2026/03/01 {_clock(n)} [error] 31#31: *{n} connect() failed (111: Connection refused) while connecting to upstream, upstream: {what}"),
    LogFormat("nginx access", lambda n: f'10.0.0.{n % 250} - - [01/Mar/2026:{_clock(n)} +0000] "GET /orders/{n} HTTP/1.1" 200 512 "-" "curl/8.0"', lambda n, what: f'10.0.0.7 - - [01/Mar/2026:{_clock(n)} +0000] "POST /pay/{what} HTTP/1.1" 502 157 "-" "curl/8.0"'),
    LogFormat("apache", lambda n: f"[Sun Mar 01 {_clock(n)}.123 2026] [mpm_event:notice] [pid {n}] AH00489: resuming", lambda n, what: f"[Sun Mar 01 {_clock(n)}.123 2026] [proxy:error] [pid {n}] AH00957: attempt to connect to {what} failed"),
    LogFormat("logfmt", lambda n: f'time="2026-03-01T{_clock(n)}Z" level=info msg="reconciled {n}"', lambda n, what: f'time="2026-03-01T{_clock(n)}Z" level=error msg="cannot reconcile" object={what}'),
    LogFormat("JSON lines", lambda n: json.dumps({"ts": 1772366400 + n, "level": "info", "msg": f"tick {n}"}), lambda n, what: json.dumps({"ts": 1772366400 + n, "level": "error", "msg": "insert failed", "id": what})),
    LogFormat("journal", lambda n: f"Mar 01 {_clock(n)} host systemd[1]: Started job {n}.", lambda n, what: f"Mar 01 {_clock(n)} host systemd[1]: {what}: Failed with result 'exit-code'."),
    LogFormat("logcat", lambda n: f"03-01 {_clock(n)}.123  1234  1250 I ActivityManager: start {n}", lambda n, what: f"03-01 {_clock(n)}.123  1234  1250 E AndroidRuntime: FATAL EXCEPTION: {what}"),
    LogFormat("level first", lambda n: f"INFO:     10.0.0.{n % 250}:5{n:04d} - GET /items/{n} 200 OK", lambda _, what: f"ERROR:    Exception in ASGI application {what}"),
    LogFormat("中文", lambda n: f"2026-03-01 {_clock(n)} 【信息】 处理订单 {n} 完成", lambda n, what: f"2026-03-01 {_clock(n)} 【错误】 订单 {what} 写入数据库失败：主键冲突"),
    LogFormat("中文年月日", lambda n: f"2026年3月1日 {_clock(n)} 心跳正常，第 {n} 次", lambda n, what: f"2026年3月1日 {_clock(n)} 支付网关异常，流水号 {what}"),
    LogFormat("中文方括号", lambda n: f"[{_clock(n)}] [信息] 同步第 {n} 批", lambda n, what: f"[{_clock(n)}] [严重] 同步失败，批次 {what} 超时"),
    LogFormat("pytest", lambda n: f"tests/test_mod{n}.py ........ [{n % 100:3d}%]", lambda _, what: f"E   KeyError: '{what}'"),
    LogFormat("cargo", lambda n: f"   Compiling crate{n} v0.{n}.1", lambda _, what: f"error[E0425]: cannot find value `{what}` in this scope"),
    LogFormat("go", lambda n: f"ok  	example.com/mod{n}	0.0{n}s", lambda _, what: f"panic: runtime error: invalid memory address or nil pointer dereference {what}"),
    LogFormat("rust", lambda n: f"test parser::case_{n} ... ok", lambda _, what: f"thread 'main' panicked at src/main.rs:7: called unwrap on None {what}"),
    LogFormat("java", lambda n: f"\tat com.example.Service.step{n}(Service.java:{n})", lambda _, what: f"java.lang.IllegalStateException: order {what} is closed"),
    LogFormat("make", lambda n: f"cc -O2 -c src/part{n}.c -o part{n}.o", lambda n, what: f"src/part{n}.c:12:5: error: unknown type name '{what}'"),
    LogFormat("npm", lambda n: f"added package-{n} 1.{n}.0", lambda _, what: f"npm ERR! code ELIFECYCLE {what}"),
]  # fmt: skip


def code_of(number: int) -> str:
    """A code as errors carry them."""
    return f"TX-{number:05d}"


def log_of(form: LogFormat, before: int, after: int, what: str, *, beside: str = "") -> str:
    """A log with one error in it; `beside` is at the end of every seventh line without trouble."""
    calm = [form.calm(n) + (beside if n % 7 == 3 else "") for n in range(before + after)]
    return "\n".join([*calm[:before], form.error(before, what), *calm[before:]])
