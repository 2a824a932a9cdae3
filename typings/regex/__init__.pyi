# What is used of the package regex: patterns whose matching can be timed out.

IGNORECASE: int

class error(Exception):
    msg: str
    pos: int | None

class Match:
    def start(self) -> int: ...
    def end(self) -> int: ...

class Pattern:
    def search(
        self, string: str, *, timeout: float | None = None, concurrent: bool | None = None
    ) -> Match | None: ...

def compile(pattern: str, flags: int = 0) -> Pattern: ...
def escape(pattern: str) -> str: ...
