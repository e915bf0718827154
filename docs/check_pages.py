"""Open every page of the built site in a browser, and report what a reader would see as a fault.

    python docs/check_pages.py FOLDER [PART ...]

FOLDER: a version's folder of `docs/publish.py`. PART: a text that the paths of pages contain; by default, all pages.
On screens of 1440, 800 and 390 pixels, light and dark: nothing is wider than the window, text has a contrast of at
least 4.5, and no page asks another host for a file. The page search.html finds what people search for (SEARCHES).
Faults are printed, and the exit code is 1.
"""

from __future__ import annotations

import functools
import http.server
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

WIDTHS, THEMES = (1440, 800, 390), ("light", "dark")
SEARCHES = {
    "record video": "record.html",
    "attach": "change.html",
    "lock joint": "change.html",
    "gravity compensation": "recipes.html",
    "LQR": "tutorials/lqr.html",
    "degrees": "conventions.html",
    "inverse kinematics": "tutorials/kinematics.html",
}
FIRST = 3  # results, among which the page must be
ENDED = "() => /finished|matching/.test(document.querySelector('#search-results .search-summary')?.textContent)"
# names of elements that reach beyond the window, unless an ancestor scrolls or clips them
WIDE = """() => {
    const width = document.documentElement.clientWidth, found = [];
    const scrolls = (element) => {
        for (let x = element; x && x !== document.body; x = x.parentElement)
            if (getComputedStyle(x).overflowX !== "visible" || getComputedStyle(x).position === "fixed") return true;
        return false;
    };
    for (const element of document.body.querySelectorAll("*")) {
        const box = element.getBoundingClientRect();
        if (box.width && box.right > width + 1 && element.checkVisibility() && !scrolls(element.parentElement))
            found.push(`<${element.localName} class="${element.className}"> ends at ${Math.round(box.right)}`);
    }
    const whole = document.documentElement.scrollWidth;
    if (whole > width + 1) found.push(`the page is ${whole} wide`);
    return found.slice(0, 3);
}"""
# texts whose contrast (WCAG 2.2) with the colour behind them is too low
PALE = """() => {
    const parsed = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return [...n, 1].slice(0, 4); };
    const mixed = (over, under) => [0, 1, 2].map((k) => over[3] * over[k] + (1 - over[3]) * under[k]).concat(1);
    const light = (c) => [0.2126, 0.7152, 0.0722].reduce((sum, w, k) => {
        const x = c[k] / 255;
        return sum + w * (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    }, 0);
    const behind = (element) => {
        const layers = [];
        for (let x = element; x; x = x.parentElement) {
            const style = getComputedStyle(x);
            if (style.backgroundImage !== "none") return null;
            const c = parsed(style.backgroundColor);
            layers.push(c);
            if (c[3] === 1) break;
        }
        return layers.reverse().reduce((under, c) => mixed(c, under), [255, 255, 255, 1]);
    };
    const found = new Map(), walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const element = node.parentElement;
        if (!node.data.trim() || !element.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
        const style = getComputedStyle(element), under = behind(element);
        if (!under || element.closest("svg, .MathJax") || !element.getClientRects().length) continue;
        const over = mixed(parsed(style.color), under), [a, b] = [light(over), light(under)].sort((x, y) => y - x);
        const ratio = (a + 0.05) / (b + 0.05);
        if (ratio < 4.5 && !found.has(element.className + style.color))
            found.set(element.className + style.color, `${ratio.toFixed(2)}: ${node.data.trim().slice(0, 40)}`);
    }
    return [...found.values()].slice(0, 3);
}"""


def faults_of(page: Any, address: str) -> Iterator[str]:
    """Yield the faults of a page at all widths, in both themes."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address, wait_until="load")
    for theme in THEMES:
        page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            yield from (f"{width} pixels, {theme}: too wide: {fault}" for fault in page.evaluate(WIDE))
        yield from (f"{theme}: contrast {fault}" for fault in page.evaluate(PALE))
    own = address.split("/", 3)[:3]
    own += ["data:", "blob:"]
    yield from (f"asks {url}" for url in asked if not url.startswith(("/".join(own[:3]), *own[3:])))


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Server of files that prints nothing."""

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


def faults_of_search(page: Any, root: str) -> Iterator[str]:
    """Yield the queries whose page is not among the first results."""
    for query, wanted in SEARCHES.items():
        page.goto(f"{root}/search.html?q={query.replace(' ', '+')}")
        page.wait_for_function(ENDED)
        page.wait_for_load_state("networkidle")  # results show parts of their pages
        links = page.locator("#search-results ul.search li > a").evaluate_all("(all) => all.map((x) => x.href)")
        found = [link.removeprefix(f"{root}/").partition("?")[0].partition("#")[0] for link in links[:FIRST]]
        if wanted not in found:
            yield f"{query!r} finds {found}, not {wanted}"


def main(folder: Path, *parts: str) -> int:
    """Print the faults of pages; return 1 if there are any, or no page."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    root, faults = f"http://127.0.0.1:{server.server_port}", 0
    every = [path.relative_to(folder) for path in sorted(folder.rglob("*.html"))]
    pages = [path for path in every if not parts or any(part in path.as_posix() for part in parts)]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        for path in pages:
            page = browser.new_page()
            for fault in faults_of(page, f"{root}/{path.as_posix()}"):
                faults += 1
                print(f"{path}: {fault}")
            if path.name == "search.html":
                for fault in faults_of_search(page, root):
                    faults += 1
                    print(f"{path}: {fault}")
            page.close()
        browser.close()
    print(f"{len(pages)} pages, {faults} faults")
    return int(faults > 0 or not pages)


def chromium() -> str | None:
    """Return the path of the system's Chromium, None for Playwright's own."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
