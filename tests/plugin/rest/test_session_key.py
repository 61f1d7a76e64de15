"""Sessions are signed by the key of a file, which only the master's user reads."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from buildbot.config.errors import ConfigErrors, capture_config_errors
from buildbot.www.service import BuildbotSession, BuildbotSite
from twisted.web.resource import Resource

from buildbot_bench.plugin.rest.access import BenchAuth

KEY, BUILDBOTS = "k" * 32, "b" * 32


def write(directory: Path, key: str, mode: int = 0o600) -> None:
    path = directory / "session.key"
    path.write_text(key + "\n")
    path.chmod(mode)


def configured(directory: Path, site: BuildbotSite) -> BuildbotSite:
    """The site as Buildbot configures it: first who logs in, then the key of its database."""
    BenchAuth(directory).reconfigAuth(SimpleNamespace(www=SimpleNamespace(site=site)), None)
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


def test_without_a_file_it_is_buildbots_also_after_a_reconfiguration(tmp_path, site) -> None:
    write(tmp_path, KEY)
    configured(tmp_path, site)
    (tmp_path / "session.key").unlink()
    assert configured(tmp_path, site).session_secret == BUILDBOTS


@pytest.mark.parametrize(
    ("key", "mode", "words"),
    [(KEY, 0o640, "chmod 600"), ("short", 0o600, "fewer than 32"), ("", 0o600, "openssl rand")],
)
def test_a_file_that_is_no_secret_is_refused(tmp_path, key, mode, words) -> None:
    write(tmp_path, key, mode)
    with pytest.raises(ConfigErrors, match=words), capture_config_errors(raise_on_error=True):
        BenchAuth(tmp_path)
