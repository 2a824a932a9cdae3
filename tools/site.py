"""Build the documentation site in `build/site` from the pages in `docs`; any warning is an error.

    python tools/site.py

Pages are copied to `build/docs` with links that work there: a link out of `docs` leads to the page of the site if the
file is part of it (`docs/site.toml`), else to the file in the repository. Zensical renders them, mkdocstrings fills in
the API reference. Afterwards the result is checked: every public class and method is in it, and no page loads
anything from another host.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
STAGE = ROOT / "build" / "docs"
SITE = ROOT / "build" / "site"
#: `](target)` of a link or a picture.
_TARGET = re.compile(r"(?<=\]\()(?!https?://|#|mailto:)(?P<path>[^)\s#]+)(?P<anchor>#[^)\s]*)?(?=\))")
_FENCE = re.compile(r"(?m)^(?P<fence>`{3,})[^\n]*\n(?:.*\n)*?(?P=fence)[ ]*$")
#: Attributes by which a page loads something (a link that is only followed on a click is not among them).
_LOADS = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "object": "data"}
_NOT_LOADED = {"canonical", "alternate", "prev", "next"}


def settings() -> dict[str, Any]:
    """Return the settings in `docs/site.toml`."""
    return tomllib.loads((DOCS / "site.toml").read_text(encoding="utf-8"))


def sources() -> dict[str, Path]:
    """Every page of the site by its path there."""
    own = {path.relative_to(DOCS).as_posix(): path for path in sorted(DOCS.rglob("*.md"))}
    return {**own, **{place: ROOT / name for name, place in settings()["pages"].items()}}


def navigation() -> list[tuple[str, list[str]]]:
    """The sections of the site with their pages, folders expanded."""
    sections = [(str(section["title"]), list(section["pages"])) for section in settings()["nav"]]
    named = {page for _, pages in sections for page in pages}
    return [(title, [one for page in pages for one in _expand(page, named)]) for title, pages in sections]


def _expand(page: str, named: set[str]) -> list[str]:
    if not page.endswith("/"):
        return [page]
    inside = sorted((DOCS / page).glob("*.md"))
    return [name for path in inside if (name := path.relative_to(DOCS).as_posix()) not in named]


def rewrite(text: str, source: Path, place: str, repository: str) -> str:
    """The text of a page with links that work in the site; fenced blocks stay as they are."""
    places = {path: name for name, path in sources().items()}

    def follow(found: re.Match[str]) -> str:
        target = (source.parent / found["path"]).resolve()
        anchor = found["anchor"] or ""
        if target in places:
            return os.path.relpath(places[target], Path(place).parent).replace(os.sep, "/") + anchor
        if target.is_relative_to(DOCS) and target.is_file():
            return os.path.relpath(target.relative_to(DOCS), Path(place).parent).replace(os.sep, "/")
        kind = "tree" if target.is_dir() else "blob"
        return f"{repository}/{kind}/main/{target.relative_to(ROOT).as_posix()}{anchor}"

    out: list[str] = []
    end = 0
    for fence in _FENCE.finditer(text):
        out += [_TARGET.sub(follow, text[end : fence.start()]), _plain_fence(fence[0])]
        end = fence.end()
    return "".join([*out, _TARGET.sub(follow, text[end:])])


def _plain_fence(block: str) -> str:
    """A block without the words for our tests behind its language (`python file=…`)."""
    first, rest = block.split("\n", 1)
    return f"{first.split(' ')[0]}\n{rest}"


def stage(repository: str) -> Path:
    """Copy the pages and write the configuration of the generator; returns its path."""
    shutil.rmtree(STAGE, ignore_errors=True)
    for place, source in sources().items():
        target = STAGE / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(
            rewrite(source.read_text(encoding="utf-8"), source, place, repository), encoding="utf-8"
        )
    made = STAGE.parent / "mkdocs.yml"
    made.write_text(json.dumps(configuration(repository), ensure_ascii=False, indent=2), encoding="utf-8")
    return made


def configuration(repository: str) -> dict[str, Any]:
    """The configuration of the generator. No `repo_url`: with it, pages ask the host of the repository for its figures."""
    about = settings()
    shown = {
        "docstring_section_style": "list",
        "filters": ["!^_"],
        "heading_level": 2,
        "inherited_members": True,
        "members_order": "source",
        "separate_signature": True,
        "show_if_no_docstring": True,
        "show_root_full_path": False,
        "show_root_heading": True,
        "show_source": False,
        "show_symbol_type_heading": True,
        "show_symbol_type_toc": True,
    }
    return {
        "site_name": about["name"],
        "site_description": about["description"],
        "site_url": "",
        "docs_dir": STAGE.name,
        "site_dir": SITE.name,
        "copyright": f'<a href="{repository}">{repository.removeprefix("https://")}</a>',
        "nav": [{title: pages} for title, pages in navigation()],
        "theme": {
            "name": "material",
            "language": "en",
            "font": False,
            "features": ["content.code.copy", "navigation.footer", "navigation.indexes", "navigation.top", "search.highlight"],
            "palette": [
                {"media": "(prefers-color-scheme: light)", "scheme": "default", "toggle": {"icon": "lucide/sun", "name": "Dark"}},
                {"media": "(prefers-color-scheme: dark)", "scheme": "slate", "toggle": {"icon": "lucide/moon", "name": "Light"}},
            ],
        },
        "extra": {
            "alternate": [
                {"name": "English", "link": "./index.html", "lang": "en"},
                {"name": "中文", "link": "./index.zh-CN.html", "lang": "zh"},
            ],
            "generator": False,
        },
        "use_directory_urls": False,
        "markdown_extensions": [
            "tables",
            "sane_lists",
            {"toc": {"permalink": True, "slugify": {"object": "pymdownx.slugs.slugify", "kwds": {"case": "lower"}}}},
            "pymdownx.superfences",
            {"pymdownx.highlight": {"anchor_linenums": False}},
        ],
        "plugins": ["search", {"mkdocstrings": {"handlers": {"python": {"paths": [str(ROOT)], "options": shown}}}}],
    }  # fmt: skip


class _Loaded(HTMLParser):
    """Collects the ids of a page, and what it loads from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.foreign: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        had = {name: value or "" for name, value in attrs}
        self.ids |= {had["id"]} if "id" in had else set()
        address = had.get(_LOADS.get(tag, ""), "")
        if re.match(r"(?:https?:)?//", address) and had.get("rel") not in _NOT_LOADED:
            self.foreign.append(address)


def faults() -> Iterator[str]:
    """Yield the problems of the built site."""
    sys.path.insert(0, str(ROOT))
    from docs.generate_reference import public_paths

    ids: set[str] = set()
    for path in sorted(SITE.rglob("*.html")):
        page = _Loaded()
        page.feed(path.read_text(encoding="utf-8"))
        ids |= page.ids
        yield from (f"{path.relative_to(SITE)} loads {address}" for address in page.foreign)
    for path in SITE.rglob("*.css"):
        for address in re.findall(
            r"(?:url\(|@import )[\"']?((?:https?:)?//[^\"')]+)", path.read_text(encoding="utf-8")
        ):
            yield f"{path.relative_to(SITE)} loads {address}"
    yield from (f"the API reference lacks {path}" for path in public_paths() if path not in ids)
    yield from (
        f"{name} is not built" for name in sources() if not (SITE / name).with_suffix(".html").is_file()
    )


def main() -> None:
    """Build, then check."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    made = stage(project["urls"]["Repository"])
    shutil.rmtree(SITE, ignore_errors=True)
    command = [
        str(Path(sys.executable).with_name("zensical")),
        "build",
        "--strict",
        "--clean",
        "--config-file",
        str(made),
    ]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "NO_COLOR": "1"}, check=False)
    if done.returncode:
        sys.exit(f"docs: zensical failed with exit code {done.returncode}")
    found = list(faults())
    for fault in found:
        print(f"docs: {fault}", file=sys.stderr)
    if found:
        sys.exit(f"docs: {len(found)} errors")
    print(f"docs: {len(sources())} pages in {SITE.relative_to(ROOT)}/index.html")


if __name__ == "__main__":
    main()
