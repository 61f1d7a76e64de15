"""A review's patch is had from the site over HTTP, whole or not at all."""

import contextlib
import time
from collections.abc import Iterator

import pytest

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.patch import MOST_BYTES
from buildbot_bench.plugin.requests.review_site import fetch_review
from tests.fakes import web

PATCH = b"--- sys/net/if.c\n+++ sys/net/if.c\n@@ -1 +1 @@\n-old\n+new \xe9\n"
SLOW_S = 5.0

REDIRECTS = {
    "/D8526?download=true": "/file/raw",  # as Phabricator does, by way of its files
    "/D6?download=true": "file:///etc/passwd",
    "/D7?download=true": "http://localhost:{port}/file/raw",
    "/D8?download=true": "/D8?download=true",
    "/D11?download=true": "http://[::1",
    "/D12?download=true": "ftp://127.0.0.1/x",
}


class Site(web.Handler):
    """A Phabricator whose reviews each misbehave in their own way."""

    def do_GET(self) -> None:
        if self.path in REDIRECTS:
            port = self.server.server_address[1]
            self._answer(302, b"", Location=REDIRECTS[self.path].format(port=port))
            return
        match self.path:
            case "/file/raw":
                self._answer(200, PATCH)
            case "/D1?download=true":
                self._answer(200, b"<html>log in</html>")
            case "/D2?download=true":
                self._answer(503, b"")
            case "/D3?download=true":
                self._answer(200, PATCH + b" " * (MOST_BYTES * 2))
            case "/D4?download=true":
                time.sleep(SLOW_S)
            case "/D5?download=true":
                self._answer(200, PATCH, **{"Content-Length": "999"})
            case "/D10?download=true":
                self._drip()
            case _:
                self._answer(404, b"")

    def _drip(self) -> None:
        self.send_response(200)
        self.end_headers()
        with contextlib.suppress(OSError):
            for byte in PATCH:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                time.sleep(0.2)
        self.close_connection = True

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        with contextlib.suppress(OSError):  # the farm has had enough
            self.answer(status, body, headers)
        self.close_connection = True


@pytest.fixture
def site() -> Iterator[str]:
    with web.served(Site) as url:
        yield f"{url}/"


async def test_the_patch_comes_byte_for_byte(site: str) -> None:
    assert await fetch_review(site, 8526) == PATCH


@pytest.mark.parametrize(
    ("number", "kind", "complaint"),
    [
        (9, UsageError, "has no review D9"),
        (1, UsageError, "for D1 is no patch"),
        (2, InfraError, r"answers D2 with HTTP 503; or fetch it by hand .* \+file:D2.diff"),
        (3, UsageError, f"more than {MOST_BYTES}"),
        (4, InfraError, "cannot fetch D4 from .*: no answer in time"),
        (5, InfraError, "cannot fetch D5"),
        (6, InfraError, "cannot fetch D6 .*it redirects to file:///etc/passwd"),
        (7, InfraError, "cannot fetch D7 .*it redirects into a private network: http://localhost"),
        (8, InfraError, "cannot fetch D8 .*it redirects more than 5 times"),
        (10, InfraError, "cannot fetch D10 from .*: no answer in time"),
        (11, InfraError, "cannot fetch D11"),
        (12, InfraError, "cannot fetch D12"),
    ],
)
async def test_what_is_wrong_is_told_in_one_line(
    site: str, number: int, kind: type[Exception], complaint: str
) -> None:
    with pytest.raises(kind, match=complaint):
        await fetch_review(site, number, timeout_s=1.5 if "in time" in complaint else 30.0)


async def test_a_site_that_is_away_is_no_fault_of_the_patch() -> None:
    with pytest.raises(InfraError, match=r"cannot fetch D8526 from http://127\.0\.0\.1:1/"):
        await fetch_review("http://127.0.0.1:1/", 8526)


async def test_a_name_is_looked_up_once_for_each_url_and_that_address_is_asked(site: str) -> None:
    asked: list[str] = []

    def resolve(name: str) -> list[str]:
        asked.append(name)
        return ["127.0.0.1"]

    named = site.replace("127.0.0.1", "reviews.invalid")  # which no server of names knows
    assert await fetch_review(named, 8526, resolve=resolve) == PATCH
    assert asked == ["reviews.invalid"] * 2  # the review, and the file that it redirects to


async def test_a_name_that_leads_inside_by_one_of_its_addresses_is_refused(site: str) -> None:
    addresses = {"127.0.0.1": ["127.0.0.1"], "localhost": ["8.8.8.8", "127.0.0.1"]}
    with pytest.raises(InfraError, match="into a private network"):
        await fetch_review(site, 7, resolve=addresses.__getitem__)


async def test_an_address_that_does_not_answer_is_followed_by_the_next(site: str) -> None:
    # Nothing listens on the second address of the loopback network.
    there = {"127.0.0.1": ["127.0.0.2", "127.0.0.1"]}
    assert await fetch_review(site, 8526, resolve=there.__getitem__) == PATCH
