"""The archive's five published comparisons on the farm of `make farm`, by the README's commands.

Nothing of the farm is said otherwise than as it is shipped, but for its directory and its ports.
"""

import gzip
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from buildbot_bench.core.wire import RECORDED_BOOTS
from buildbot_bench.demo.watching import wait_until
from tests.asking import ASKED
from tests.chromium import chromium
from tests.e2e.browsing import BROKEN_WORDS, CLIPPED, OVERHANG, SIZES, keep, show, text
from tests.e2e.replay_farm import DEADLINE_S, end_processes_in
from tests.ports import free_port
from tests.readme import block_with, blocks
from tests.running import ran

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1200)]

RUNS = "Ctrl-C or closing this terminal stops it"
COMMANDS = block_with("r299288+D8526 -n")
APU2, C2558 = "AMD_GX-412TC_4Cores", "Atom_C2558_4Cores"


@dataclass(frozen=True, kw_only=True)
class Published:
    """A comparison of the archive: what stands for it in a command, and what was published.

    `place` is where its forwarding block is: the DUT and the directory. `said` is what our report
    says of each new variant, as far as the published page says it.
    """

    named: str
    place: tuple[str, str]
    boots: int
    said: tuple[str, ...]


CASES = [
    Published(
        named="VIMAGE",
        place=(APU2, "fbsd12-head.r317849.VIMAGE"),
        boots=5,
        said=("+1.45 %", "better by Student's t"),
    ),
    Published(
        named="D8526",
        place=(C2558, "fbsd12-head.r299288.D8526"),
        boots=10,
        said=("+32.49 %", "better"),
    ),
    Published(
        named="mbuf.patch",
        place=(C2558, "fbsd11-head.r295150.mbuf"),
        boots=10,
        said=(
            "+1.18 %",
            "cannot be decided with one image of each",
            "No difference proven at 95.0%",
        ),
    ),
    Published(
        named="D5330",
        place=(C2558, "fbsd10-stable.r295802.D5330"),
        boots=10,
        said=("-9.04 %", "cannot be decided with one image of each, worse"),
    ),
    Published(
        named="perf_netmap.patch",
        place=(APU2, "fbsd12-head.iflib"),
        boots=5,
        said=("-25.59 %", "-8.24 %", "-6.22 %", "-18.93 %", "-9.13 %", "-4.85 %", "worse"),
    ),
]


@dataclass(kw_only=True)
class Stock:
    """`bench-farm run` in a directory of its own, and somebody at a shell in that directory."""

    home: Path
    port: int
    keeper: subprocess.Popen[bytes]

    @property
    def directory(self) -> Path:
        return self.home / "farm"

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}/"

    def type(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command as it stands."""
        program, *arguments = shlex.split(command)
        return ran(
            [Path(sys.executable).parent / program, *arguments],
            cwd=self.directory,
            env=environment(self.home) | {"BENCH_FARM": self.url},
            timeout=600,
        )


def environment(home: Path) -> dict[str, str]:
    return os.environ | {"XDG_CONFIG_HOME": str(home / "config")}


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stock]:
    home = tmp_path_factory.mktemp("stock").resolve()
    port, said = free_port(), home / "said"
    with said.open("wb") as log:
        keeper = subprocess.Popen(
            [
                Path(sys.executable).parent / "bench-farm",
                *("run", f"--dir={home / 'farm'}", f"--port={port}", f"--pb-port={free_port()}"),
            ],
            cwd=home,
            env=environment(home),
            stdout=log,
            stderr=log,
        )
    try:
        wait_until(
            lambda: RUNS in said.read_text() or keeper.poll() is not None,
            what="the farm runs",
            timeout_s=DEADLINE_S,
        )
        assert keeper.poll() is None, said.read_text()
        yield Stock(home=home, port=port, keeper=keeper)
    finally:
        keeper.send_signal(signal.SIGINT)
        keeper.wait(timeout=DEADLINE_S)
        end_processes_in(home)


def command_of(case: Published) -> str:
    """The README's."""
    (command,) = [command for command in COMMANDS if case.named in command]
    return command


def forwarding_block(case: Published, data: Path) -> dict:
    """What was published."""
    with gzip.open(data / "ministat" / "blocks.jsonl.gz", "rt", encoding="utf-8") as rows:
        found = [json.loads(row) for row in rows]
    dut, directory = case.place
    (block,) = [
        row
        for row in found
        if row["source"].startswith(f"{dut}/")
        and row["source"].endswith(f"/{directory}/README.md")
        and row["block"] == 0
    ]
    return block


def figures(text: str, *, with_relative_error: bool) -> list[str]:
    """The picture and the table of a ministat block: all but the names of its data sets."""
    lines = [line.rstrip() for line in text.expandtabs().splitlines()]
    first = next(number for number, line in enumerate(lines) if line.startswith("+--"))
    end = next((n for n, line in enumerate(lines) if n > first and not line), len(lines))
    found = [line for line in lines[first:end] if not line.startswith(("note:", "recorded"))]
    if with_relative_error:
        return found
    return [line.split("+/-")[0] if "% +/- " in line else line for line in found]


def number_of(farm: Stock, named: str) -> int:
    """The number of the comparison that has a variant of that name."""
    answer = httpx.get(f"{farm.url}api/v2/bench/comparisons", **ASKED)
    (found,) = [
        one["comparisonid"]
        for one in answer.raise_for_status().json()["comparisons"]
        if any(named in variant["variant"] for variant in one["variants"])
    ]
    return int(found)


@pytest.mark.parametrize("case", CASES, ids=[case.named for case in CASES])
def test_a_published_comparison_comes_out_as_published(
    farm: Stock, data: Path, case: Published
) -> None:
    done = farm.type(command_of(case))
    assert done.returncode == 0, done.stderr
    block = forwarding_block(case, data)
    # Before November 2016 ministat had another formula for the error of the percentage.
    current = block["relative_error"] == "current"
    assert figures(done.stdout, with_relative_error=current) == figures(
        block["expected"], with_relative_error=current
    )
    for words in case.said:
        assert words in done.stdout
    told = f"{RECORDED_BOOTS} of each variant: {case.boots} on {case.place[0]}, dealt in order"
    assert f"note: {told}\n" in done.stdout


def test_the_readme_shows_what_one_of_them_answers(farm: Stock) -> None:
    (shown,) = [block for block in blocks("text") if "r299288+D8526" in block]
    number = number_of(farm, "D8526")
    assert shown.strip() in farm.type(f"bench-compare --follow {number}").stdout


def test_a_variant_that_was_not_recorded_is_refused_in_words(farm: Stock) -> None:
    mine = (farm.directory / "mbuf.patch").read_text().replace("none of", "None of")
    (farm.directory / "mine.patch").write_text(mine)
    done = farm.type("bench-compare r295150 r295150+file:mine.patch -n 3")
    assert done.returncode == 3, done.stderr
    assert "r295150+file:mine.patch is untestable: nothing was recorded of" in done.stdout
    assert "recorded are r295150, r295150+mbuf; a patch is known by its SHA-256" in done.stdout


def test_a_review_that_is_not_there_is_refused_in_one_line(farm: Stock) -> None:
    done = farm.type("bench-compare r295150 r295150+D1")
    assert (done.returncode, done.stdout) == (2, "")
    assert "has no review D1" in done.stderr.splitlines()[-1]


@pytest.mark.browser
def test_seven_variants_fit_the_page_and_a_telephone(farm: Stock, tmp_path: Path) -> None:
    number = number_of(farm, CASES[-1].named)
    with chromium(tmp_path) as new_tab:
        page = new_tab()
        drawn = "document.querySelector('.set-up') && document.querySelector('.dots')"
        show(page, farm, f"comparisons/{number}", drawn)
        keep(page, "seven")
        for width in SIZES:
            page.resize(width)
            assert page.run(OVERHANG) == []
            assert page.run("document.documentElement.scrollWidth <= innerWidth")
            assert page.run(CLIPPED) == []
            assert page.run(BROKEN_WORDS) == []
        assert "313448perf_netmapnoprefetch" in text(page)
        assert page.complaints == []
