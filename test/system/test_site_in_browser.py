"""The site as a reader has it: pages opened from the folder in a browser, their order, their tables, the search."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fetching import make_docs
from waiting import PATIENCE

# What is typed into the search, and a page that must be among the first three found.
SOUGHT = {
    "nav2": "nav2.html",
    "headless": "in-ci.html",
    "cite": "in-ci.html",
    "license": "in-ci.html",
    "CI": "in-ci.html",
    "gazebo": "coming-from-gazebo.html",
    "urdf": "urdf-robot.html",
    "repeat": "repeatable-runs.html",
}
# Words of keys in tables that stand on two lines.
BROKEN = """() => {
    const broken = [], range = document.createRange();
    for (const code of document.querySelectorAll("table code")) {
        const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
        for (let node; (node = walker.nextNode()); )
            for (const word of node.textContent.matchAll(/\\w+/g)) {
                range.setStart(node, word.index);
                range.setEnd(node, word.index + word[0].length);
                const rows = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
                if (rows.size > 1) broken.push(word[0]);
            }
    }
    return broken;
}"""
NAMES = "nodes => nodes.map(node => node.textContent.trim())"


@pytest.fixture(scope="module")
def site() -> Path:
    return make_docs()


@pytest.fixture
def page(browser: Any) -> Any:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(1000.0 * PATIENCE)
    return page


@pytest.mark.peers
def test_tutorials_are_in_order_and_the_reference_begins_with_what_people_use(page: Any, site: Path) -> None:
    page.goto((site / "index.html").as_uri())
    names = page.eval_on_selector_all(".md-nav--primary .md-nav__link .md-ellipsis", NAMES)
    tutorials = [name for name in names if name.startswith("Tutorial ")]
    assert [name.split(":")[0] for name in tutorials] == [f"Tutorial {number}" for number in range(1, 6)]
    page.goto((site / "reference" / "python" / "index.html").as_uri())
    headings = page.eval_on_selector_all("article h2", NAMES)
    assert [heading.split()[0].rstrip("¶") for heading in headings][:2] != sorted(headings)[:2]
    assert {"sim_node.Simulation", "sim_node.load"} == {
        " ".join(heading.split()).rstrip("¶ ") for heading in headings[:2]
    }


@pytest.mark.peers
def test_the_search_finds_what_people_look_for(page: Any, site: Path) -> None:
    for words, wanted in SOUGHT.items():
        page.goto((site / "index.html").as_uri())
        page.fill(".md-search__input", words)
        # Results of a word are not those of its beginning: wait for the page itself.
        page.wait_for_selector(f".md-search-result__item:nth-child(-n+3) a[href*='{wanted}']", state="attached")


@pytest.mark.peers
def test_no_table_breaks_a_key_within_a_word(page: Any, site: Path) -> None:
    page.route("**/*.js", lambda route: route.abort())  # the search reads its whole index on each page
    broken, tables = {}, 0
    for path in sorted(site.rglob("*.html")):
        if "<table" in path.read_text(encoding="utf-8"):
            page.goto(path.as_uri())
            tables += 1
            for width in (390, 1280):
                page.set_viewport_size({"width": width, "height": 800})
                if words := page.evaluate(BROKEN):
                    broken[path.name, width] = words
                # Wide tables scroll by themselves, the page does not.
                assert page.evaluate("document.documentElement.scrollWidth") <= width, path.name
    assert tables > 50
    assert broken == {}
