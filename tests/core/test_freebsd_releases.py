"""The table of what FreeBSD's releases need: in their order, with modules that there are."""

from pathlib import Path

import buildbot_bench
from buildbot_bench.core.freebsd_releases import NEEDS
from manual.reference import TEXTS

PACKAGE = Path(buildbot_bench.__file__).parent


def test_each_need_has_its_release_and_what_meets_it() -> None:
    releases = [tuple(map(int, one.since.split("."))) for one in NEEDS.values()]
    assert releases == sorted(releases)
    assert [one.where for one in NEEDS.values() if not (PACKAGE / one.where).is_file()] == []


def test_the_manual_shows_the_table() -> None:
    page = TEXTS["freebsd-releases"]()
    assert "| 15.0 | MINIMAL has no file system" in page
    assert len(page.splitlines()) == len(NEEDS) + 2
