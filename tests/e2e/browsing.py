"""Steps and look-ups in a browser for the tests of our pages."""

import json
import os
from pathlib import Path

from tests.chromium import Page
from tests.e2e.replay_farm import ReplayFarm
from tests.words import words

NARROW = 400
LUMINANCE = """
(() => {
  const linear = (c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = (css) => {
    const [r, g, b] = css.match(/[\\d.]+/g).map(Number).map(linear);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const back = light(getComputedStyle(document.querySelector(".bench")).backgroundColor);
  const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const letters = ".bench :is(h1, h2, th, td, a, b, .faint, .state, text)";
  return Math.min(...[...document.querySelectorAll(letters)].map((e) => {
    const style = getComputedStyle(e);
    return ratio(light(e.tagName === "text" ? style.fill : style.color), back);
  }));
})()"""

# What sticks out of our part of the page without being in a box that scrolls.
OVERHANG = """
(() => {
  const edge = document.querySelector(".bench").getBoundingClientRect().right + 1;
  const boxes = [...document.querySelectorAll(".bench *")]
    .filter((e) => !e.parentElement.closest(".scrolls, .plot, pre"));
  return boxes.filter((e) => e.getBoundingClientRect().right > edge)
    .map((e) => e.outerHTML.slice(0, 120));
})()"""
# Words of a table's cells that do not stand on one line, or not within the screen.
BROKEN_WORDS = words(
    ".bench td > span",
    "new Set(lines.map(({ top }) => Math.round(top))).size > 1"
    " || lines.some(({ right }) => right > innerWidth)",
)

SIZES = (1400, NARROW)
# What is cut off by its own box, or shortened to an ellipsis.
CLIPPED = """
[...document.querySelectorAll(".bench :is(h1, h2, dt, dd, td, th, p, summary, text)")]
  .filter((e) => e.clientWidth > 0 && !e.closest("thead") && (e.scrollWidth > e.clientWidth + 1)
    || e.textContent.includes("\u2026"))
  .map((e) => e.outerHTML.slice(0, 120))"""


def show(
    page: Page, farm: ReplayFarm, path: str, drawn: str = "document.querySelector('.bench h1')"
) -> None:
    """Open one of our pages as somebody who follows a link from elsewhere."""
    page.open("about:blank")
    page.wait("location.href === 'about:blank'")
    page.open(f"{farm.url}#/bench/{path}")
    page.wait(drawn)
    page.wait(f"{drawn} && !document.querySelector('.loading, .wait')")


def click(page: Page, words: str) -> None:
    """Press the button with these words once it can be pressed."""
    button = f"[...document.querySelectorAll('button')].find(b => b.innerText === {words!r})"
    page.wait(f"{button} && !{button}.disabled")
    page.run(f"{button}.click()")


def text(page: Page, selector: str = ".bench") -> str:
    return page.run(f"document.querySelector({selector!r}).textContent")


def keep(page: Page, name: str) -> None:
    """Leave pictures to look at where somebody asks for them."""
    if directory := os.environ.get("BENCH_SCREENSHOTS"):
        for theme in ("light", "dark"):
            page.dark(on=theme == "dark")
            for width in (400, 1400):
                path = Path(directory) / f"{name}-{theme}-{width}.png"
                page.screenshot(path, width=width, height=1300)
        page.dark(on=False)


def log_in(page: Page, farm: ReplayFarm) -> None:
    password = farm.local.plan.password_file.read_text().strip()
    show(page, farm, "reports")
    page.run(
        "fetch('auth/login', {headers: {Authorization: 'Basic ' + "
        f"btoa({json.dumps(f'bench:{password}')})}}}})"
    )


def log_out(page: Page) -> None:
    page.run("fetch('auth/logout')")


def choose(page: Page, label: str, value: str) -> None:
    """Pick an option as a person does, so that React hears of it."""
    box = f"document.querySelector('select[aria-label={json.dumps(label)}]')"
    page.wait(box)
    page.run(
        "Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, 'value')"
        f".set.call({box}, {value!r}); "
        f"{box}.dispatchEvent(new Event('change', {{bubbles: true}}))"
    )


def with_links(farm: ReplayFarm) -> None:
    """The repository is a path, which has no site: bench.yml says where its commits are read."""
    with (farm.directory / "bench.yml").open("a") as file:
        file.write("\nlinks: {commit: 'https://git.example.org/src/commit/?id={commit}'}\n")
