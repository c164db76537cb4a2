"""Hooks of mkdocs: pages from outside of docs/, pages that come from the code, and links to files of the repository."""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
MADE = ROOT / "build" / "site-pages"
# Pages from the root of the repository, by their names on the site.
OUTSIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}
# What pages made from the code show.
SHOWN = {"test/plugin": "reference/plugin-package.md"}
# In tools/, named by mkdocs.yml: style, and what runs the search of pages from files, so that Material fetches nothing.
ASSETS = ("assets/iframe-worker.js", "assets/site.css")
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")


def on_config(config):
    """Fill in what the navigation leaves open: folders whose pages are listed by name."""
    config.nav = [entry for given in config.nav for entry in _filled(given)]
    return config


def _filled(entry):
    """Return an entry with the pages of a folder; nothing for a folder that is not there."""
    if isinstance(entry, str):
        return [entry]
    [(title, inner)] = entry.items()
    if isinstance(inner, list):
        return [{title: [part for each in inner for part in _filled(each)]}]
    if not inner.endswith("/"):
        return [entry]
    made = inner.startswith("reference/")
    folder = MADE / inner.removeprefix("reference/") if made else ROOT / "docs" / inner
    order = folder / "order.txt"  # what wrote the pages knows their order
    pages = order.read_text(encoding="utf-8").split()
    return [{title: [inner + name for name in pages]}] if pages else []


def on_files(files, config):
    """Add pages that are not in docs/."""
    for source, name in OUTSIDE.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text(encoding="utf-8")))
    for name in ASSETS:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / "tools" / Path(name).name)))
    for path in sorted(MADE.rglob("*.md")):
        name = f"reference/{path.relative_to(MADE).as_posix()}"
        files.append(File.generated(config, name, content=path.read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown, page, config, files):
    """Lead links to files that are no pages to the repository."""
    uri = page.file.src_uri
    if uri.startswith("reference/"):
        return markdown
    sources = {name: source for source, name in OUTSIDE.items()}
    folder = posixpath.dirname(sources.get(uri, f"docs/{uri}"))

    def changed(link):
        path, anchor = posixpath.normpath(posixpath.join(folder, link[1])), link[2] or ""
        target = (
            OUTSIDE.get(path) or SHOWN.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else None)
        )
        if target is not None and files.get_file_from_path(target) is not None:
            return posixpath.relpath(target, posixpath.dirname(uri) or ".") + anchor
        if not (ROOT / path).exists():
            return link[0]  # for mkdocs to report
        return f"{config.extra['repository']}/blob/main/{path}{anchor}"

    return _LINK.sub(changed, markdown)
