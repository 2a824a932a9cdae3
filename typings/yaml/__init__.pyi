from collections.abc import Iterator
from typing import Any

class YAMLError(Exception): ...

def safe_load(stream: str) -> Any: ...

class Mark:
    line: int
    column: int

class MarkedYAMLError(YAMLError):
    problem: str | None
    context: str | None
    problem_mark: Mark | None

class SafeLoader: ...

def parse(stream: str, Loader: type[SafeLoader] = ...) -> Iterator[object]: ...
