"""Sessions are signed by the key of a file, which only the master's user reads."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from buildbot.config.errors import ConfigErrors, capture_config_errors
from buildbot.www.service import BuildbotSession, BuildbotSite
from twisted.web.resource import Resource
from twisted.web.test.requesthelper import DummyChannel

from buildbot_bench.plugin.rest.access import BenchAuth

KEY, BUILDBOTS = "k" * 32, "b" * 32


def write(directory: Path, key: str, mode: int = 0o600) -> None:
    path = directory / "session.key"
    path.write_text(key + "\n")
    path.chmod(mode)


def configured(directory: Path, site: BuildbotSite, url: str = "http://x/") -> BuildbotSite:
    """The site as Buildbot configures it: first who logs in, then the key of its database."""
    master = SimpleNamespace(www=SimpleNamespace(site=site))
    BenchAuth(directory).reconfigAuth(master, SimpleNamespace(buildbotURL=url))
    site.setSessionSecret(BUILDBOTS)
    return site


@pytest.fixture
def site() -> BuildbotSite:
    return BuildbotSite(Resource(), None, 0, 0)


def test_the_key_of_the_file_signs_and_not_that_of_the_database(tmp_path, site) -> None:
    write(tmp_path, KEY)
    assert configured(tmp_path, site).session_secret == KEY
    cookie = site.makeSession().uid
    forger = BuildbotSite(Resource(), None, 0, 0)
    forger.setSessionSecret(BUILDBOTS)
    assert BuildbotSession(site, cookie).user_info == {"anonymous": True}
    with pytest.raises(KeyError):
        site.getSession(forger.makeSession().uid)


def test_without_a_file_one_is_drawn_and_not_that_of_the_database(tmp_path, site) -> None:
    drawn = configured(tmp_path, site).session_secret
    path = tmp_path / "session.key"
    assert (path.read_text().strip(), path.stat().st_mode & 0o777) == (drawn, 0o600)
    assert drawn != BUILDBOTS
    assert configured(tmp_path, site).session_secret == drawn


def test_a_key_that_cannot_be_kept_is_not_that_of_the_database(tmp_path, site) -> None:
    drawn = configured(tmp_path / "missing", site).session_secret
    assert len(drawn) == 64
    assert configured(tmp_path / "missing", site).session_secret != drawn


@pytest.mark.parametrize(("url", "secure"), [("https://x/", True), ("http://x/", False)])
def test_no_script_and_no_other_site_has_the_cookie(tmp_path, site, url, secure) -> None:
    request = configured(tmp_path, site, url).requestFactory(DummyChannel())
    request.site, request.sitepath = site, []
    session = request.getSession()
    session.updateSession(request)
    assert len(request.cookies) == 2
    for cookie in request.cookies:
        _, *attributes = cookie.split(b"; ")
        assert {b"HttpOnly", b"SameSite=lax"} <= set(attributes)
        assert (b"Secure" in attributes) is secure


@pytest.mark.parametrize(
    ("key", "mode", "words"),
    [(KEY, 0o640, "chmod 600"), ("short", 0o600, "fewer than 32"), ("", 0o600, "openssl rand")],
)
def test_a_file_that_is_no_secret_is_refused(tmp_path, key, mode, words) -> None:
    write(tmp_path, key, mode)
    with pytest.raises(ConfigErrors, match=words), capture_config_errors(raise_on_error=True):
        BenchAuth(tmp_path)
